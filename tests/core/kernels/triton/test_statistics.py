"""Convolutions of a plan that give the statistics of the batch normalization behind them, against the CPU's way."""

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, kernels, nd
from core.graph.compiled import Compiled
from gluon import nn

LIMITS = {"float32": 2e-4, "float16": 3e-2, "bfloat16": 2e-1}


class Residual(gluon.HybridBlock):
    """Two convolutions with statistics, a shortcut with a third one, and one whose gamma is fixed."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(nn.Conv2D(16, 3, padding=1, in_channels=16, use_bias=False), nn.BatchNorm(in_channels=16))
            self.body.add(nn.Activation("relu"))
            self.body.add(nn.Conv2D(24, 1, strides=2, in_channels=16), nn.BatchNorm(in_channels=24, scale=False))
            self.shortcut = nn.HybridSequential()
            self.shortcut.add(nn.Conv2D(24, 3, 2, 1, in_channels=16), nn.BatchNorm(in_channels=24))

    def hybrid_forward(self, F, x):
        return F.relu(self.body(x) + self.shortcut(x))


def trained(backend, dtype, hybridize, steps=3):
    """Results, gradients and running statistics of each step, and the names of the plan's nodes."""
    mx.random.seed(5)
    draw = np.random.RandomState(3)
    net = Residual()
    net.initialize()
    for p in net.collect_params().values():
        if "running" not in p.name:
            p.set_data(nd.array(draw.uniform(0.1, 0.3, p.shape) * draw.choice([-1, 1], p.shape)))
    net.cast(dtype)
    found = []
    with kernels.using(backend):
        if hybridize:
            net.hybridize()
        for _ in range(steps):
            x = nd.array(draw.standard_normal((2, 16, 6, 5)) + 3).astype(dtype)
            x.attach_grad()
            with autograd.record():
                y = net(x)
                loss = (y * y).mean()
            loss.backward()
            seen = [y, x.grad]
            for p in net.collect_params().values():
                seen += [p.data()] + ([p.grad()] if p.grad_req != "null" else [])
            found.append([a.astype("float32").asnumpy() for a in seen])
    compiled = [v for v in vars(net).values() if isinstance(v, Compiled)]
    plans = [p for c in compiled for p in c._plans.values()]
    return found, [node.op.name for p in plans for node in p.graph.nodes]


@pytest.mark.parametrize("dtype", LIMITS)
def test_training_is_that_of_the_cpu(dtype):
    ours, names = trained("triton", dtype, True)
    theirs, plain = trained("cpu", dtype, True)
    assert names.count("_plan_conv_batch_norm") == 3 and not {"BatchNorm", "_conv"} & set(names)
    assert "_plan_conv_batch_norm" not in plain and plain.count("BatchNorm") == 3
    for step, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for one, other in zip(a, b, strict=True):
            assert np.abs(one - other).max() <= LIMITS[dtype] * max(np.abs(other).max(), 1e-2), step


def test_without_a_plan_nothing_changes():
    """What eager calls give is what the plan gives, but for the order of sums."""
    eager, names = trained("triton", "float32", False)
    planned, _ = trained("triton", "float32", True)
    assert not names
    for a, b in zip(eager, planned, strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_prediction_takes_no_statistics():
    net = Residual()
    net.initialize()
    with kernels.using("triton"):
        net.hybridize()
        net(nd.ones((1, 16, 4, 4)))
        compiled = next(v for v in vars(net).values() if isinstance(v, Compiled))
        assert "_plan_conv_batch_norm" not in [n.op.name for n in compiled.whole().graph.nodes]
