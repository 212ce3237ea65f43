"""Training steps that are captured as CUDA graphs, with a stand-in for the GPU that keeps to a graph's contract.

It notes every launch and every copy while a part of a plan is captured, and repeats them, on the same memory, in a
replay: no Python of the plan runs. What the part computes on the way is spoilt before. Kernels that a capture launches
have to be loaded, for arguments of the same types, before. On a GPU itself this has not been run.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime import interpreter
from triton.tools.tensor_descriptor import TensorDescriptor

import core as mx
import gluon
from core import autograd, kernels, nd, storage
from core.graph import capture, compiled
from gluon import nn, rnn

aten = torch.ops.aten
TAKEN = (aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided)


class Tape(TorchDispatchMode):
    """What a captured function did, in order; a replay does it again."""

    def __init__(self):
        super().__init__()
        self.calls, self.own = [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if function._schema.is_mutable:
            self.calls.append(lambda: function(*args, **kwargs))
        elif not any(returned.alias_info for returned in function._schema.returns):
            self.own += [result] if isinstance(result, torch.Tensor) else result
            if function.overloadpacket not in TAKEN:
                self.calls.append(lambda: result.copy_(function(*args, **kwargs)))
        return result

    def launch(self, run):
        self.calls.append(run)

    def replay(self):
        for t in self.own:
            t.fill_(float("nan") if t.is_floating_point() else 77)
        for call in self.calls:
            call()


def variant(function, args, kwargs):
    """What a launch is compiled for: types of tensors, constants, and of numbers whether they are 1 or of 16."""

    def kind(value):
        if isinstance(value, torch.Tensor):
            return value.dtype, value.data_ptr() % 16 == 0
        if isinstance(value, TensorDescriptor):
            return value.base.dtype, tuple(value.block_shape)
        return value if type(value) is not int else (value == 1, value % 16 == 0)

    return function.__name__, *map(kind, args), *((name, str(value)) for name, value in sorted(kwargs.items()))


class Gpu:
    def __init__(self):
        self.tapes, self.replays, self.current, self.loaded = [], 0, None, set()

    def capture(self, function, pool=None):
        """Nothing is computed while a CUDA graph is captured, so what it wrote to is put back."""
        tape = self.current = Tape()
        memory = [(p, p.clone()) for p in self.parameters()]
        with tape:
            result = function()
        self.current = None
        for target, before in memory:
            target.copy_(before)
        self.tapes.append(tape)

        def replay():
            self.replays += 1
            tape.replay()

        return replay, result, 0


@pytest.fixture
def gpu(monkeypatch):
    device, launch = Gpu(), interpreter.GridExecutor.__call__

    def launched(self, *args, **kwargs):
        tape = device.current
        if tape is None:
            device.loaded.add(variant(self.fn, args, kwargs))
            return launch(self, *args, **kwargs)
        assert variant(self.fn, args, kwargs) in device.loaded
        with torch.utils._python_dispatch._disable_current_modes():
            tape.launch(lambda: launch(self, *args, **kwargs))
            return launch(self, *args, **kwargs)

    monkeypatch.setattr(interpreter.GridExecutor, "__call__", launched)
    monkeypatch.setattr(storage, "capture", device.capture)
    monkeypatch.setattr(storage, "gpu_memory", lambda device_id: (0, 1))
    monkeypatch.setattr(compiled, "considered", lambda graph: True)
    monkeypatch.setattr(
        capture,
        "obstacle",
        lambda graph, parts: "" if all(capture._reads_keys(s) for p in parts for s in p.steps) else "keys",
    )
    with kernels.using("triton"):
        yield device


def network(seed=3):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Dense(5, activation="relu", in_units=4), nn.BatchNorm(in_channels=5), nn.Dropout(0.4))
    net.add(nn.Dense(3, in_units=5))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def recurrent(seed=3):
    """Two layers of an LSTM with dropout between them."""
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(rnn.LSTM(3, num_layers=2, dropout=0.5, input_size=2, layout="NTC"), nn.Dense(3, in_units=6))
    net.initialize(mx.init.Xavier())
    whole = nn.HybridSequential()
    whole.add(nn.HybridLambda(lambda F, x: F.reshape(x, (-1, 2, 2))), net)
    whole.hybridize(static_alloc=True, static_shape=True)
    return whole


class Training:
    """A network, its trainer, and steps on batches that are different each time."""

    def __init__(self, net):
        self.net, self.trainer = (
            net,
            gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}),
        )
        self.loss = gluon.loss.L2Loss()

    def step(self, number, rows=6):
        draw = np.random.RandomState(number)
        x, y = nd.array(draw.standard_normal((rows, 4))), nd.array(draw.standard_normal((rows, 3)))
        mx.random.seed(100 + number)
        with autograd.record():
            out = self.net(x)
            loss = self.loss(out, y)
        loss.backward()
        gradients = [p.grad().asnumpy() for p in self.net.collect_params().values() if p.grad_req != "null"]
        self.trainer.step(rows)
        return [out.asnumpy(), *gradients, *(p.data().asnumpy() for p in self.net.collect_params().values())]


def uncaptured(steps, make=network, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "considered", lambda graph: False)
        training = Training(make())
        return [training.step(k, **how) for k in range(steps)]


def same(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def tensors_of(net):
    return lambda: [p.data()._data for p in net.collect_params().values()]


@pytest.mark.parametrize("make", [network, recurrent])
def test_replayed_steps_are_those_of_kernels_one_by_one(gpu, make):
    """Bit for bit, with new masks in each."""
    steps = 5
    want = uncaptured(steps, make)
    training = Training(make())
    gpu.parameters = tensors_of(training.net)
    for k in range(steps):
        same(training.step(k), want[k])
    assert len(gpu.tapes) == 2 and gpu.replays == 2 * (steps - capture.PROMISED)


def test_what_is_lent_to_the_tape_is_not_written_to(gpu):
    """Of several passes before a backward pass, and of one that is retained, the first alone is a replay."""
    net, x = network(), nd.array(np.random.RandomState(0).standard_normal((2, 4)))
    gpu.parameters = tensors_of(net)
    weight = net[0].weight

    def passes():
        mx.random.seed(7)
        with autograd.record():
            first, second = net(x), net(2 * x)
        results = [first.asnumpy(), second.asnumpy()]
        for y in (second, first):
            y.backward(retain_graph=y is first)
            results.append(weight.grad().asnumpy())
        first.backward()
        return [*results, weight.grad().asnumpy(), first.asnumpy()]

    want = passes()
    for _ in range(3):
        same(passes(), want)
    assert gpu.tapes
    del gpu.tapes[:]


def test_parameters_that_moved_and_other_shapes_are_captured_anew(gpu):
    net = network()
    gpu.parameters = tensors_of(net)
    x, seen = {rows: nd.ones((rows, 4)) for rows in (1, 2)}, []

    def run(rows, times=capture.PROMISED + 2):
        for _ in range(times):
            with autograd.record():
                y = net(x[rows])
            y.backward()
        seen.append(len(gpu.tapes))

    run(2), run(1)
    moved = net[0].weight.data()
    moved._data = moved._data.clone()
    run(2)
    assert seen == [2, 4, 6]
