"""Capture as a CUDA graph, with a stand-in for the GPU: what is copied when, and when it is captured anew.

On a GPU itself this has not been run.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import core as mx
from core import storage
from core.graph import capture
from core.graph.capture import Captured, capturable
from core.graph.plan import forward_part, sharing_of
from core.graph.trace import trace


class Gpu:
    """Captures by remembering the function; a replay runs it and writes to the captured results, as kernels would."""

    def __init__(self):
        self.captures = self.replays = 0

    def capture(self, function, pool=None):
        self.captures += 1
        results, rest = function()

        def replay():
            self.replays += 1
            for target, source in zip(results, function()[0], strict=True):
                target.copy_(source)

        return replay, pool, (results, rest)


@pytest.fixture
def gpu(monkeypatch):
    device = Gpu()
    monkeypatch.setattr(storage, "capture", device.capture)
    return device


def captured(run):
    """The forward part of a prediction, captured."""
    graph = SimpleNamespace(outputs=[SimpleNamespace(ctx=mx.cpu())], draws=[], writes=[], nodes=[])
    return Captured(graph, SimpleNamespace(run=run)).forward


def tensor(*values):
    return mx.nd.array(values)._data


def test_replays_read_new_inputs_and_give_memory_of_their_own(gpu):
    weight = tensor(10.0, 20.0)
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] * held[0],), []))
    results = [run([tensor(k, k)], [weight], (), [])[0][0] for k in (1.0, 2.0, 3.0, 4.0)]
    assert (gpu.captures, gpu.replays) == (1, 2)
    for k, result in enumerate(results, 1):
        np.testing.assert_array_equal(result.numpy(), [10 * k, 20 * k])
    weight.mul_(2)  # in place: the kernels read the new values
    np.testing.assert_array_equal(run([tensor(1.0, 1.0)], [weight], (), [])[0][0].numpy(), [20, 40])
    assert gpu.captures == 1


def test_arrays_that_moved_are_captured_anew(gpu):
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] + held[0],), []))
    kept = [tensor(float(k)) for k in range(12)]
    for k, weight in enumerate(kept):
        assert float(run([tensor(1.0)], [weight], (), [])[0][0]) == k + 1
    assert gpu.captures == capture.MOST + 1  # and then kernel by kernel


def test_what_cannot_be_captured_is_told(monkeypatch):
    def refuse(function):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(storage, "capture", refuse)
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] + 1,), []))
    run([tensor(1.0)], [], (), []), run([tensor(1.0)], [], (), [])
    with pytest.warns(UserWarning, match="kernel by kernel: operation not permitted"):
        assert float(run([tensor(1.0)], [], (), [])[0][0]) == 2
    assert float(run([tensor(4.0)], [], (), [])[0][0]) == 5


STATIC = {"static_alloc": True, "static_shape": True}


def on_gpu(function, *shape):
    """The graph of `function` and its parts, as of arrays on a GPU."""
    graph = trace(function, (mx.nd.ones(shape),), False).graph
    parts = [forward_part(graph, sharing_of(graph))]
    assert not capturable(graph, parts, STATIC)  # on the CPU
    for v in (*graph.inputs, *graph.held, *graph.outputs):
        v.ctx = mx.gpu(0)
    return graph, parts


def test_what_may_be_captured():
    graph, parts = on_gpu(mx.nd.relu, 2)
    assert capturable(graph, parts, STATIC) and not capturable(graph, parts, {"static_alloc": True})
    assert capturable(*on_gpu(lambda x: mx.nd.Dropout(x, mode="always"), 2), STATIC)  # kernels read keys from memory
    assert not capturable(
        *on_gpu(mx.nd.image.random_flip_left_right, 2, 2, 3), STATIC
    )  # a rule that reads its key itself


@pytest.mark.parametrize("dropout, may", [(0.0, True), (0.5, False)])
def test_recurrent_layers_make_keys_of_their_keys(dropout, may):
    def layers(x):
        weights, state = mx.nd.zeros((2 * (2 * 4 + 4),)), mx.nd.zeros((2, 1, 2))
        return mx.nd.RNN(x, weights, state, mode="rnn_tanh", state_size=2, num_layers=2, p=dropout)

    with mx.autograd.train_mode():
        assert capturable(*on_gpu(layers, 3, 1, 2), STATIC) is may
