"""Stretches on quantized values: those that plans give without oneDNN's own primitives, layer by layer."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import core as mx
from core import nd
from core.kernels.cpu import onednn
from core.kernels.cpu._onednn import multiplies_quantized
from gluon import HybridBlock, nn
from gluon.contrib.quantization import quantize_net_v2

pytestmark = pytest.mark.skipif(
    onednn.loaded() is None or not multiplies_quantized(),
    reason="needs the extra `onednn` and sums of quantized values in 32 bits",
)
STRETCHES = importlib.import_module("core.graph.passes.stretches")  # whose name is that of its function, too
RANDOM = np.random.RandomState(0)


def numbers(*shape, least=-1.0):
    return nd.array(np.clip(RANDOM.standard_normal(shape), least, None).astype("float32"))


class Sum(HybridBlock):
    """relu(left(x) + right(x)), or without the rectifier; left out, right is x itself."""

    def __init__(self, left, right=None, relu=True):
        super().__init__()
        self.left, self.right, self._relu = left, right, relu

    def hybrid_forward(self, F, x):
        y = self.left(x) + (x if self.right is None else self.right(x))
        return F.relu(y) if self._relu else y


def conv(channels=16, kernel=3, **how):
    return nn.Conv2D(channels, kernel, padding=kernel // 2, **how)


def both_ways(layers, *inputs, monkeypatch, calib_mode="naive", **options):
    """What plans of the quantized layers give with oneDNN's primitives and without, and what these were."""
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(*layers)
    net.initialize(mx.init.Xavier())
    net(*inputs)
    net = quantize_net_v2(net, calib_mode=calib_mode, calib_data=[list(inputs)], **options)
    found, taken = [], ""
    for least in (1, 10**18):
        monkeypatch.setattr(STRETCHES, "LEAST", least)
        net.hybridize(static_alloc=True, static_shape=True)
        found.append([net(*inputs).asnumpy() for _ in range(2)])
        steps = net.plan_of(*inputs).forward.steps
        taken = taken or "; ".join(str(step.node.attrs["program"]) for step in steps if "program" in step.node.attrs)
    np.testing.assert_array_equal(*found[0])
    return found[0][1], found[1][1], taken


LAYERS = {
    "convolutions": ([conv(activation="relu"), conv(32), conv(8, 1)], "quantize, 3 quantized conv"),
    "signed data": ([conv(), conv(8, use_bias=False)], "quantize, 2 quantized conv"),
    "groups": ([conv(activation="relu"), conv(groups=4), conv(groups=16)], "quantize, 3 quantized conv"),
    "steps": ([conv(strides=2, activation="relu"), conv(dilation=2, kernel=1)], "quantize, 2 quantized conv"),
    "a sum in place": (
        [conv(activation="relu"), Sum(conv(), conv(16, 1)), conv(8, 1)], "quantize, 4 quantized conv",
    ),
    "a sum with what is unsigned": (
        [conv(activation="relu"), Sum(conv()), conv(8, 1)], "quantize, 3 quantized conv",
    ),
    "a signed sum": ([conv(), Sum(conv(), relu=False), conv(8, 1)], "quantize, 3 quantized conv"),
    "a sum with what is read later": (
        [conv(activation="relu"), Sum(Sum(conv())), conv(8, 1)], "quantize, 2 quantized conv, copy",
    ),
    "maxima": ([conv(activation="relu"), nn.MaxPool2D(3, 2, 1), conv()], "quantize, 2 quantized conv, max_pool"),
    "means and a classifier": (
        [conv(activation="relu"), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10)],
        "2 quantize, quantized conv, cast, mean, quantized linear",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_values_are_those_of_plans_without_the_library(name, monkeypatch):
    layers, expected = LAYERS[name]
    found, wanted, taken = both_ways(layers, numbers(2, 16, 12, 11), monkeypatch=monkeypatch)
    step = np.unique(np.abs(wanted))[1]
    assert (found != wanted).mean() < 0.002 and np.abs(found - wanted).max() <= 1.001 * step  # halves, in float32
    assert taken.startswith(f"oneDNN: {expected}")


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("least", [-1.0, 0.0])
@pytest.mark.parametrize("activation", [None, "relu"])
def test_dense_layers(activation, least, granularity, monkeypatch):
    layers = [nn.Dense(24, activation=activation, flatten=False), nn.Dense(7, flatten=False, use_bias=False)]
    found, wanted, taken = both_ways(
        layers, numbers(3, 5, 20, least=least), monkeypatch=monkeypatch, quantize_granularity=granularity
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
    assert taken == "oneDNN: 2 quantize, 2 quantized linear"


def test_what_is_not_a_number_and_what_lies_outside(monkeypatch):
    x = numbers(1, 16, 8, 8)
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(conv(16, 1, use_bias=False))
    net.initialize(mx.init.Xavier())
    net(x)
    net = quantize_net_v2(net, calib_mode="naive", calib_data=[x])
    x[0, :4, 0, 0] = nd.array([np.nan, np.inf, -np.inf, 1e30])
    found = []
    for least in (1, 10**18):
        monkeypatch.setattr(STRETCHES, "LEAST", least)
        net.hybridize(static_alloc=True, static_shape=True)
        found.append(net(x).asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_ranges_of_the_values_that_come(monkeypatch):
    layers = [conv(activation="relu"), conv(8, 1), nn.Flatten(), nn.Dense(4)]
    found, wanted, _ = both_ways(layers, numbers(2, 16, 8, 8), monkeypatch=monkeypatch, calib_mode="none")
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("activation", ["gelu", "tanh", "sigmoid"])
def test_activations_end_dense_layers(activation, monkeypatch):
    end = nn.GELU() if activation == "gelu" else nn.Activation(activation)
    layers = [nn.Dense(24, flatten=False), end, nn.Dense(7, flatten=False)]
    found, wanted, taken = both_ways(layers, numbers(3, 5, 20), monkeypatch=monkeypatch)
    step = np.unique(np.abs(wanted))[1]
    assert (np.abs(found - wanted) > 1e-5 * np.abs(wanted).max()).mean() < 0.02  # halves, and digits of the activation
    assert np.abs(found - wanted).max() <= max(step, 0.02 * np.abs(wanted).max())
    assert taken == "oneDNN: 2 quantize, 2 quantized linear"
