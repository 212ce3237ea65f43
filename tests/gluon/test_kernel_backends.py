"""Training steps and a compiled prediction in both backends of kernels, from the same weights: the same numbers."""

import os
import subprocess
import sys

import pytest

STEPS = """
import numpy as np
import core as mx, gluon
from core import autograd, kernels, nd
from gluon import nn

def train(backend):
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, activation="relu", in_channels=2), nn.BatchNorm(in_channels=2), nn.MaxPool2D(),
            nn.Flatten(), nn.Dense(2, in_units=8))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    x, y = nd.array(np.random.RandomState(0).standard_normal((2, 2, 6, 6))), nd.array([0, 1])
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    with kernels.using(backend):
        for _ in range(2):
            with autograd.record():
                loss = loss_function(net(x), y)
            loss.backward()
            trainer.step(2)
        net.hybridize()
        prediction = net(x).asnumpy()
    return {"prediction": prediction} | {name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items()}

cpu, triton = train("cpu"), train("triton")
for name in cpu:
    np.testing.assert_allclose(triton[name], cpu[name], rtol=1e-5, atol=1e-6, err_msg=name)
"""


@pytest.mark.interpreter
def test_both_backends_train_alike(root):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", STEPS], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
