"""Chains of pointwise steps behind a product that spell an activation become its operator, and the product's epilogue."""

import numpy as np
import pytest

from core import nd
from core.graph.passes import optimize
from core.graph.passes.activations import activations
from gluon import nn
from tests.support.graphs import array, evaluate, names, traced

SPELLINGS = {
    "x * (clip(x + 3) / 6)": (lambda x: x * (nd.clip(x + 3.0, 0, 6) / 6.0), "_hard_swish"),
    "x * clip(x + 3) / 6": (lambda x: x * nd.clip(x + 3.0, 0, 6) / 6.0, "_hard_swish"),
    "clip(x + 3) / 6 * x": (lambda x: nd.clip(x + 3.0, 0, 6) / 6.0 * x, "_hard_swish"),
    "hard_sigmoid": (lambda x: x * nd.hard_sigmoid(x, alpha=1 / 6, beta=0.5), "_hard_swish"),
    "clip(x + 3) / 6": (lambda x: nd.clip(x + 3.0, 0, 6) / 6.0, "_hard_gate"),
    "x * sigmoid(x)": (lambda x: x * nd.sigmoid(x), "silu"),
    "sigmoid(x) * x": (lambda x: nd.sigmoid(x) * x, "silu"),
    "clip": (lambda x: nd.clip(x, 0, 6), "_relu6"),
}


@pytest.fixture
def conv():
    net = nn.Conv2D(24, 3, in_channels=16)
    net.initialize()
    return net


def behind(conv, function, x, **how):
    """The graph of `function` behind the convolution."""
    parameters = [p.data() for p in conv.collect_params().values()]
    return traced(lambda x: function(conv(x)), x, parameters=parameters, **how)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_convolution_ends_in_it(spelling, conv):
    (function, name), x = SPELLINGS[spelling], nd.array(np.random.RandomState(0).randn(2, 16, 20, 20) * 100)
    graph = behind(conv, function, x)
    assert names(activations(graph)) == ["_conv", name]
    graph = optimize(graph)
    assert [n.attrs["activation"] for n in graph.nodes if not n.early] == [name.lstrip("_")]
    np.testing.assert_allclose(evaluate(graph, x)[0], function(conv(x)).asnumpy(), rtol=1e-5, atol=1e-5)


def test_steps_that_others_read_stay(conv):
    def function(x):
        gate = nd.sigmoid(x)
        return x * gate, gate

    x = array(1, 16, 4, 4)
    graph = activations(behind(conv, function, x))
    assert names(graph) == ["_conv", "sigmoid", "silu"]
    for ours, eager in zip(evaluate(graph, x), function(conv(x)), strict=True):
        np.testing.assert_allclose(ours, eager.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nd.clip(x, 0, 5),
        lambda x: x * (nd.clip(x + 2.0, 0, 7) / 6.0),
        lambda x: x * nd.sigmoid(x + 1),
        lambda x: nd.broadcast_mul(x, nd.sigmoid(nd.mean(x, axis=1, keepdims=True))),
        lambda x: nd.clip(nd.tanh(x), 0, 6),
    ],
)
def test_others_stay(function, conv):
    graph = behind(conv, function, array(1, 16, 4, 4))
    assert activations(graph) is graph


def test_training_stays(conv):
    graph = behind(conv, lambda y: y * nd.sigmoid(y), array(1, 16, 4, 4), record=True)
    assert activations(graph) is graph
