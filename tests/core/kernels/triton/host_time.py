"""What Python does for a GPU, counted without one: a program for test_host_time.py.

Prints JSON: for each eager operator its host time over that of a bare Triton launch, and its launches; for networks the
launches of a forward pass and of a training step, of blocks that hold their loss also where they are captured as CUDA
graphs: then replays are counted, updates, and copies of tables to the device. Both times come from one process, in turns, and the least of each
counts, so that a busy machine changes little.
"""

import contextlib
import json
import os
import time
import unittest.mock

import torch
import triton
import triton.language as tl

import core as mx
import gluon
from core import autograd, kernels, nd, storage
from core.graph import capture, compiled
from core.kernels.triton import bound
from gluon import nn, rnn
from gluoncv.model_zoo import get_model
from gluonnlp.model import BERTEncoder
from tests.support.fake_gpu import FakeGpu

os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "0"  # nothing can be measured
GPU = FakeGpu("cuda:90").start()


@triton.jit
def bare(x, y, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def operators() -> dict:
    a, b = nd.random.normal(shape=(64, 64)), nd.random.normal(shape=(64, 64))
    g, h = nd.ones((64,)), nd.zeros((64,))
    w, c = nd.random.normal(shape=(32, 64)), nd.zeros((32,))
    image, k = nd.random.normal(shape=(2, 8, 16, 16)), nd.random.normal(shape=(8, 8, 3, 3))
    return {
        "a + b": lambda: a + b,
        "relu": lambda: nd.relu(a),
        "a * 2": lambda: a * 2,
        "sum": lambda: nd.sum(a, axis=1),
        "softmax": lambda: nd.softmax(a),
        "LayerNorm": lambda: nd.LayerNorm(a, g, h),
        "dot": lambda: nd.dot(a, b),
        "FullyConnected": lambda: nd.FullyConnected(a, w, c, num_hidden=32),
        "transpose": lambda: nd.transpose(a),
        "Convolution": lambda: nd.Convolution(image, k, kernel=(3, 3), num_filter=8, no_bias=True, pad=(1, 1)),
        "sgd_update": lambda: nd.sgd_update(a, b, lr=0.1, out=a),
        "Dropout": lambda: nd.Dropout(a, p=0.5, mode="always"),
    }


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Conv2D(50, 5, activation="relu"))
    net.add(nn.MaxPool2D(2, 2), nn.Flatten(), nn.Dense(500, activation="relu"), nn.Dense(10))
    return net, (4, 1, 28, 28)


def resnet():
    return get_model("cifar_resnet20_v1"), (2, 3, 32, 32)


class Bert(gluon.HybridBlock):
    """A layer of BERT with its loss's projection."""

    def __init__(self):
        super().__init__()
        self.encoder = BERTEncoder(num_layers=1, units=32, hidden_size=64, max_length=16, num_heads=2, dropout=0.0)
        self.out = nn.Dense(10)

    def hybrid_forward(self, F, x):
        y = self.encoder(x)
        return self.out(y[0] if isinstance(y, tuple) else y)


def lstm():
    net = nn.HybridSequential()
    net.add(rnn.LSTM(16, layout="NTC"), nn.Dense(10))
    return net, (2, 5, 8)


NETWORKS = {"LeNet": lenet, "ResNet-20": resnet, "BERT layer": lambda: (Bert(), (2, 16, 32)), "LSTM": lstm}


def lstm_with_dropout():
    net = nn.HybridSequential()
    net.add(rnn.LSTM(16, num_layers=2, dropout=0.5, layout="NTC"), nn.Dense(10))
    return net, (2, 5, 8)


CAPTURED = {**NETWORKS, "LSTM": lstm_with_dropout}


def launches(call) -> int:
    for _ in range(4):  # what is compiled, traced and remembered
        call()
    del GPU.launches[:]
    call()
    return len(GPU.launches)


def network(name: str, hybrid: bool) -> dict:
    net, shape = NETWORKS[name]()
    net.initialize()
    x, label = nd.random.normal(shape=shape), nd.zeros((shape[0],))
    net(x)
    if hybrid:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    def step():
        with autograd.record():
            value = loss(net(x), label)
        value.backward()
        trainer.step(shape[0])

    counts = {"forward": launches(lambda: net(x)), "step": launches(step)}
    for _ in range(bound.WARM_UP):
        net(x)
    ratio = ratios({name: lambda: net(x)}, 5)[name]
    return counts | {"bare launches for each of the forward pass": ratio / counts["forward"]}


class WithLoss(gluon.HybridBlock):
    """A network and its loss in one block."""

    def __init__(self, net):
        super().__init__()
        self.net, self.loss = net, gluon.loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F, x, label):
        return self.loss(self.net(x), label)


def captured(name: str) -> dict:
    """Launches and copies of a training step whose parts are captured; a replay is one launch."""
    copies = []

    def capture_(function, pool=None):
        before = len(GPU.launches)
        result = function()
        assert len(GPU.launches) > before
        del GPU.launches[before:]
        return lambda: GPU.launches.append("graph"), result, 0

    stand_ins = {
        (storage, "capture"): capture_,
        (storage, "write"): lambda target, values: copies.append(len(values)),
        (storage, "gpu_memory"): lambda device_id: (0, 1),
        (compiled, "considered"): lambda graph: True,
        (capture, "obstacle"): lambda graph, parts: "",
        (gluon.trainer, "LARGE"): 1 << 60,  # which is a rule for arrays of the CPU
    }
    with contextlib.ExitStack() as stack:
        for (module, part), stand_in in stand_ins.items():
            stack.enter_context(unittest.mock.patch.object(module, part, stand_in))
        net, shape = CAPTURED[name]()
        block = WithLoss(net)
        block.initialize()
        x, label = nd.random.normal(shape=shape), nd.zeros((shape[0],))
        block(x, label)
        block.hybridize()
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

        def step():
            with autograd.record():
                value = block(x, label)
            value.backward()
            trainer.step(shape[0])

        for _ in range(2 * capture.WARM_UP):
            step()
        del GPU.launches[:], copies[:]
        step()
        kinds = ["graph" if launch == "graph" else launch.kernel for launch in GPU.launches]
    return {"launches": kinds, "copies": len(copies)}


def mean(call, turns: int) -> float:
    start = time.perf_counter()
    for _ in range(turns):
        call()
    return (time.perf_counter() - start) / turns


def ratios(cases: dict, turns: int = 50) -> dict:
    """Host times of calls over that of a bare launch."""
    x, y, o = (torch.zeros(64, 64) for _ in range(3))

    def launch():
        bare[(4,)](x, y, o, 4096, BLOCK=1024)

    found = {}
    for name, call in cases.items():
        for _ in range(4):
            call(), launch()
        times = [(mean(call, turns), mean(launch, turns)) for _ in range(60)]
        del GPU.launches[:]
        found[name] = min(t for t, _ in times) / min(t for _, t in times)
    return found


def main() -> None:
    with kernels.using("triton"):
        cases = operators()
        counts = {name: launches(call) for name, call in cases.items()}
        found = {"launches": counts, "ratios": ratios(cases)}
        for name in NETWORKS:
            found[name] = {"eager": network(name, False), "hybrid": network(name, True)}
        found["captured"] = {name: captured(name) for name in CAPTURED}
    print(json.dumps(found))


if __name__ == "__main__":
    mx.random.seed(1)
    main()
