"""Stretches of plans that oneDNN executes at one go: the same numbers as without it, whatever is changed between calls."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd
from core.graph import explain
from core.graph.passes import PASSES
from core.kernels import torch_dtype
from core.kernels.cpu import _stretch_kernels, onednn, stretch
from core.kernels.cpu._onednn import multiplies_half
from core.kernels.epilogue import ACTIVATIONS
from gluon import nn
from tests.support.graphs import array

pytestmark = pytest.mark.skipif(onednn.loaded() is None, reason="needs the extra `onednn` on an x86 processor")


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """Small networks are taken, too."""
    monkeypatch.setattr(sys.modules["core.graph.passes.stretches"], "LEAST", 1)


class Block(gluon.HybridBlock):
    """A function of arrays and of parameters whose shapes are given by name."""

    def __init__(self, function, **shapes):
        super().__init__()
        self._function = function
        for name, shape in shapes.items():
            setattr(self, name, self.params.get(name, shape=shape))

    def hybrid_forward(self, F, *arrays, **parameters):
        return self._function(F, *arrays, **parameters)


def program_of(net, *inputs) -> str:
    """What oneDNN took, stretch by stretch."""
    steps = net.plan_of(*inputs).forward.steps
    return "; ".join(str(step.node.attrs["program"]) for step in steps if "program" in step.node.attrs)


def check(net, expected, *inputs, tolerance=1e-5, cast=None):
    """The network hybridized gives what it gives eagerly, and oneDNN took what is expected."""
    net.initialize(mx.init.Uniform(0.5))
    if cast:
        net.cast(cast)
    eager = _several(net(*inputs))
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(2):
        for found, wanted in zip(_several(net(*inputs)), eager, strict=True):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert_close(found, wanted, tolerance)
    assert program_of(net, *inputs) == expected


def assert_close(found, wanted, tolerance=1e-5):
    """Sums of many products come in another order: what cancels is as exact as the largest result."""
    found, wanted = found.astype("float32").asnumpy(), wanted.astype("float32").asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


def _several(results):
    return results if isinstance(results, (list, tuple)) else [results]


@pytest.mark.parametrize("how", [
    {"kernel_size": 3, "padding": 1}, {"kernel_size": 1}, {"kernel_size": 3, "strides": 2, "padding": (1, 0)},
    {"kernel_size": 3, "dilation": 2}, {"kernel_size": 3, "groups": 16}, {"kernel_size": 3, "groups": 2},
    {"kernel_size": (1, 5), "use_bias": False},
])  # fmt: skip
def test_convolutions(how):
    check(nn.Conv2D(32, in_channels=16, **how), "oneDNN: conv", array(2, 16, 12, 11))


def test_convolutions_of_volumes():
    check(nn.Conv3D(16, 3, padding=1, in_channels=16), "oneDNN: conv", array(1, 16, 6, 8, 8))


@pytest.mark.parametrize("activation", [a for a in ACTIVATIONS if a])
@pytest.mark.parametrize("layer", ["conv", "linear"])
def test_activations_end_products(activation, layer):
    functions = {
        "gelu": lambda F, y: F.LeakyReLU(y, act_type="gelu"),
        "silu": lambda F, y: y * F.sigmoid(y),
        "hard_swish": lambda F, y: y * F.clip(y + 3, 0, 6) / 6,
        "hard_gate": lambda F, y: F.clip(y + 3, 0, 6) / 6,
        "relu6": lambda F, y: F.clip(y, 0, 6),
    }
    end = functions.get(activation, lambda F, y: F.Activation(y, act_type=activation))

    def function(F, x, w, b):
        if layer == "conv":
            return end(F, F.Convolution(x, w, b, kernel=(3, 3), num_filter=32))
        return end(F, F.FullyConnected(x, w, b, num_hidden=32, flatten=False))

    shape, x = ((32, 16, 3, 3), array(2, 16, 9, 9)) if layer == "conv" else ((32, 16), array(2, 7, 16))
    check(Block(function, w=shape, b=(32,)), f"oneDNN: {layer}", 4 * x)


def test_sums_end_products_in_place_and_elsewhere():
    def function(F, x, v, w, u):
        y = F.relu(F.Convolution(x, v, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=16))
        z = F.relu(F.Convolution(y, w, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=16) + y)  # y is free then
        same = F.Convolution(z, w, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=16) + z  # z is read later
        return F.Convolution(same, u, no_bias=True, kernel=(1, 1), num_filter=16) + z, same + x

    shape = (16, 16, 3, 3)
    net = Block(function, v=shape, w=shape, u=(16, 16, 1, 1))
    check(net, "oneDNN: 4 conv", array(2, 16, 10, 10), tolerance=1e-4)


def test_a_product_that_is_added_to_its_own_data():
    def function(F, x, v, w):
        y = F.Convolution(x, v, no_bias=True, kernel=(1, 1), num_filter=16)
        return F.Convolution(y, w, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=16) + y

    check(Block(function, v=(16, 16, 1, 1), w=(16, 16, 3, 3)), "oneDNN: 2 conv", array(1, 16, 8, 8), tolerance=1e-4)


@pytest.mark.parametrize(("pool", "title"), [
    (nn.MaxPool2D(3, 2, 1), "max_pool"), (nn.MaxPool2D(2, 2), "max_pool"), (nn.AvgPool2D(3, 1, 1), "avg_pool"),
    (nn.AvgPool2D(3, 2, 1, count_include_pad=False), "avg_pool"), (nn.GlobalAvgPool2D(), "mean"),
])  # fmt: skip
def test_pools_and_a_classifier(pool, title):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, in_channels=16), pool, nn.Conv2D(32, 1, in_channels=16), nn.GlobalAvgPool2D())
    net.add(nn.Flatten(), nn.Dense(10, in_units=32))
    middle = "2 mean" if title == "mean" else f"{title}, mean"
    taken = f"oneDNN: 2 conv, {middle}, linear"
    check(net, taken, array(2, 16, 13, 13))


def test_squeeze_and_excitation():
    def function(F, x, w, v, u):
        y = F.relu(F.Convolution(x, w, no_bias=True, kernel=(3, 3), num_filter=16))
        gate = F.sigmoid(
            F.Convolution(F.mean(y, axis=(2, 3), keepdims=True), v, no_bias=True, kernel=(1, 1), num_filter=16)
        )
        return F.Convolution(F.broadcast_mul(y, gate) + y, u, no_bias=True, kernel=(1, 1), num_filter=8)

    for batch in (1, 3):
        net = Block(function, w=(16, 16, 3, 3), v=(16, 16, 1, 1), u=(8, 16, 1, 1))
        check(net, "oneDNN: 3 conv, mean, mul, add", array(batch, 16, 9, 9))


def test_layer_norms():
    def function(F, x, w, gamma, beta):
        y = F.LayerNorm(F.FullyConnected(x, w, no_bias=True, num_hidden=24, flatten=False), gamma, beta, eps=1e-3)
        return y, F.LayerNorm(y + x, gamma, beta)

    net = Block(function, w=(24, 24), gamma=(24,), beta=(24,))
    check(net, "oneDNN: linear, layer_norm", 3 * array(5, 2, 24) + 2)


def test_sums_with_what_lies_in_another_order():
    def function(F, x, w, u):
        y = F.FullyConnected(x, w, no_bias=True, num_hidden=16, flatten=False)
        turned = F.transpose(y, (1, 0, 2))
        return F.FullyConnected(turned, u, no_bias=True, num_hidden=16, flatten=False) + turned

    check(Block(function, w=(16, 16), u=(16, 16)), "oneDNN: linear; oneDNN: linear", array(4, 6, 16))


def test_layer_norms_of_other_axes_and_with_statistics_stay():
    def function(F, x, w, gamma, beta, of_rows):
        y = F.FullyConnected(x, w, no_bias=True, num_hidden=24, flatten=False)
        return F.LayerNorm(y, of_rows, of_rows, axis=0), *F.LayerNorm(y, gamma, beta, output_mean_var=True)

    check(Block(function, w=(24, 16), gamma=(24,), beta=(24,), of_rows=(5,)), "oneDNN: linear", array(5, 16))


def reads(F, x, length, weights, axes, back, causal=False, scale=None):
    """Self-attention of four heads; axes: of their projections, back: of what they read."""
    heads = [
        F.transpose(F.reshape(F.FullyConnected(x, w, no_bias=True, num_hidden=32, flatten=False), (0, 0, 4, 8)), axes)
        for w in weights
    ]
    lengths = [] if length is None else [F.cast(length, "int32")]
    read = F._dropout_attention(*heads, *lengths, causal=causal, scale=scale)
    return F.reshape(F.transpose(read, back), (0, 0, -1))


BATCH_FIRST, LENGTH_FIRST = ((0, 2, 1, 3), (0, 2, 1, 3)), ((1, 2, 0, 3), (2, 0, 1, 3))


@pytest.mark.parametrize("how", [BATCH_FIRST, LENGTH_FIRST])
@pytest.mark.parametrize("lengths", [None, [3, 0, 7], [9, 9, 9], [-2, 1, 20]])
@pytest.mark.parametrize("batch", [1, 3])
def test_attention(how, lengths, batch):
    def function(F, x, *length, u, **weights):
        y = reads(F, x, length[0] if length else None, weights.values(), *how, scale=0.7)
        return F.FullyConnected(y, u, no_bias=True, num_hidden=16, flatten=False)

    x = array(batch, 9, 16) if how is BATCH_FIRST else array(9, batch, 16)
    net = Block(function, q=(32, 16), k=(32, 16), v=(32, 16), u=(16, 32))
    given = [] if lengths is None else [mx.nd.array(lengths[:batch])]
    seen = ", mul" if given else ""
    check(net, f"oneDNN: 4 linear, 2 batch_dot, softmax{seen}", x, *given, tolerance=3e-5)


def test_attention_that_hides_or_keeps_too_many_scores_stays(monkeypatch):
    shapes = {name: (32, 16) for name in "qkv"}
    net = Block(lambda F, x, **weights: reads(F, x, None, weights.values(), *BATCH_FIRST, causal=True), **shapes)
    check(net, "oneDNN: 3 linear", array(2, 9, 16))
    monkeypatch.setattr(_stretch_kernels, "SCORES", 2 * 4 * 9 * 9 * 4 - 1)
    net = Block(lambda F, x, **weights: reads(F, x, None, weights.values(), *LENGTH_FIRST), **shapes)
    check(net, "oneDNN: 3 linear", array(9, 2, 16))


def test_what_reads_nothing_of_a_stretch_runs_before_it():
    def function(F, x, y, w):
        product = F.FullyConnected(x, w, no_bias=True, num_hidden=16, flatten=False)
        other = F.sin(y) + 1
        return F.FullyConnected(product, w, no_bias=True, num_hidden=16, flatten=False), other

    check(Block(function, w=(16, 16)), "oneDNN: 2 linear", array(4, 16), array(4, 3))


def dense_block(F, x, layers):
    """A dense block (Huang et al., 2017), of 16 channels more for each layer, and what was joined."""
    joined, parts = x, []
    for k in range(len(layers) // 3):
        scale, shift, weight = layers[3 * k : 3 * k + 3]
        y = F.relu(F._scaled(joined, scale, shift))
        parts.append(F.Convolution(y, weight, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=16))
        joined = F.concat(joined, parts[-1], dim=1)
    return joined, parts


def dense_shapes(first, count):
    """Of the layers' parameters, by name."""
    found = {}
    for k in range(count):
        channels = first + 16 * k
        found |= {f"p{k}a": (channels, 1, 1), f"p{k}b": (channels, 1, 1), f"p{k}c": (16, channels, 3, 3)}
    return found


IN_BLOCKS = "; channels in blocks"


@pytest.mark.parametrize("batch", [1, 3])
def test_networks_of_images_lie_in_blocks_from_the_first_convolution_on(batch):
    """Whole blocks of channels and others, by channel, squeezed and excited (Howard et al., 2019), and sums."""

    def conv(F, x, weight, width, **how):
        return F.Convolution(x, weight, no_bias=True, num_filter=width, **{"kernel": (1, 1)} | how)

    def gate(F, x, squeeze, excite, width):
        y = F.relu(conv(F, F.mean(x, axis=(2, 3), keepdims=True), squeeze, 6))
        return F.broadcast_mul(x, F.sigmoid(conv(F, y, excite, width)))

    def function(F, x, stem, narrow, each, down, up, wide, back, out, s24, e24, s32, e32):
        x = conv(F, F.relu(conv(F, x, stem, 16, kernel=(3, 3), stride=(2, 2))), narrow, 24)
        y = F.relu(conv(F, x, each, 24, kernel=(3, 3), pad=(1, 1), num_group=24))
        x = conv(F, conv(F, gate(F, y, s24, e24, 24), down, 20), up, 24) + x
        x = F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
        x = conv(F, gate(F, conv(F, x, wide, 32), s32, e32, 32), back, 40, kernel=(3, 3))
        return F.FullyConnected(F.mean(x, axis=(2, 3)), out, no_bias=True, num_hidden=8)

    net = Block(
        function, stem=(16, 3, 3, 3), narrow=(24, 16, 1, 1), each=(24, 1, 3, 3), down=(20, 24, 1, 1), up=(24, 20, 1, 1),
        wide=(32, 24, 1, 1), back=(40, 32, 3, 3), out=(8, 40), s24=(6, 24, 1, 1), e24=(24, 6, 1, 1), s32=(6, 32, 1, 1),
        e32=(32, 6, 1, 1),
    )  # fmt: skip
    taken = "oneDNN: 11 conv, 3 mean, 2 mul, max_pool, copy, linear" + IN_BLOCKS
    check(net, taken, array(batch, 3, 33, 29), tolerance=3e-5)


def test_images_that_others_read_do_not_lie_in_blocks():
    """They are channels-last instead, and none is copied."""

    def function(F, x, stem, w):
        y = F.Convolution(x, stem, no_bias=True, kernel=(3, 3), num_filter=16)
        y = F.Convolution(F.sin(y), w, no_bias=True, kernel=(3, 3), num_filter=16)
        return F.Convolution(y, w, no_bias=True, kernel=(3, 3), num_filter=16)

    net = Block(function, stem=(16, 3, 3, 3), w=(16, 16, 3, 3))
    check(net, "oneDNN: conv; oneDNN: 2 conv", array(2, 3, 13, 13), tolerance=1e-4)


@pytest.mark.parametrize(("groups", "blocks"), [(1, ""), (16, IN_BLOCKS)])
def test_images_lie_in_blocks_only_where_a_convolution_by_channel_gains_by_it(groups, blocks):
    def function(F, x, stem, w, out):
        y = F.Convolution(x, stem, no_bias=True, kernel=(3, 3), num_filter=16)
        y = F.Convolution(y, w, no_bias=True, kernel=(3, 3), num_filter=16, num_group=groups)
        return F.FullyConnected(F.mean(y, axis=(2, 3)), out, no_bias=True, num_hidden=8)

    net = Block(function, stem=(16, 3, 3, 3), w=(16, 16 // groups, 3, 3), out=(8, 16))
    check(net, "oneDNN: 2 conv, mean, linear" + blocks, array(2, 3, 13, 13), tolerance=3e-5)


def test_a_view_that_blocks_do_not_have_goes_on_channels_last():
    def function(F, x, stem, out):
        y = F.Convolution(x, stem, no_bias=True, kernel=(3, 3), num_filter=16).transpose((0, 2, 3, 1))
        return F.FullyConnected(y.reshape((-1, 16)), out, no_bias=True, num_hidden=8)

    check(Block(function, stem=(16, 3, 3, 3), out=(8, 16)), "oneDNN: conv, linear", array(2, 3, 9, 9))


@pytest.mark.parametrize(("pool", "colours", "copies"), [("avg", 3, ""), ("max", 3, ""), ("max", 16, "2 copy, ")])
def test_dense_blocks_of_one_image_lie_in_blocks_and_are_made_where_they_lie(pool, colours, copies):
    def function(F, x, stem, out, **layers):
        y = F.Convolution(x, stem, no_bias=True, kernel=(3, 3), num_filter=32)
        y, _ = dense_block(F, y, list(layers.values()))
        y = F.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type=pool)
        return F.FullyConnected(F.mean(y, axis=(2, 3)), out, no_bias=True, num_hidden=8)

    net = Block(function, stem=(32, colours, 3, 3), out=(8, 80), **dense_shapes(32, 3))
    taken = f"oneDNN: 4 conv, 3 batch_norm, {copies}{pool}_pool, mean, linear" + IN_BLOCKS
    check(net, taken, array(1, colours, 13, 13), tolerance=3e-5)
    assert "copy" not in program_of(net, array(2, colours, 13, 13))


def test_dense_blocks_in_half_precision():
    if not multiplies_half(torch_dtype("bfloat16")):
        pytest.skip("this processor has no products of bfloat16")

    class Layer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = nn.HybridSequential()
            self.body.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(16, 3, padding=1, use_bias=False))

        def hybrid_forward(self, F, x):
            return F.concat(x, self.body(x), dim=1)

    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 3), Layer(), Layer(), nn.AvgPool2D(), nn.GlobalAvgPool2D(), nn.Dense(8))
    net.initialize()
    net(array(1, 3, 13, 13))
    for p in net.collect_params(".*(gamma|beta|running_mean|running_var)").values():
        p.set_data(array(*p.shape) + 0.5)
    taken = "oneDNN: 3 conv, 2 batch_norm, avg_pool, mean, linear" + IN_BLOCKS
    check(net, taken, array(1, 3, 13, 13).astype("bfloat16"), tolerance=3e-2, cast="bfloat16")


@pytest.mark.parametrize("end", [None, "relu", "tanh"])
@pytest.mark.parametrize("shape", [(1, 16, 7, 9), (3, 10, 5, 6), (2, 16, 4, 5, 3)])
def test_batch_norms(end, shape):
    """A ReLU ends them, other activations do not."""

    def function(F, x, w, gamma, beta, mean, var):
        y = F.BatchNorm(x, gamma, beta, mean, F.abs(var), fix_gamma=False)
        y = y if end is None else F.Activation(y, act_type=end)
        return F.Convolution(y, w, no_bias=True, kernel=(1,) * (len(shape) - 2), num_filter=8)

    channels = dict.fromkeys(("gamma", "beta", "mean", "var"), shape[1:2])
    net = Block(function, w=(8, shape[1], *(1,) * (len(shape) - 2)), **channels)
    taken = "oneDNN: conv" if end == "tanh" else "oneDNN: batch_norm, conv"
    check(net, taken, array(*shape), tolerance=1e-4)


def test_parts_of_dense_blocks_that_are_read_elsewhere():
    def function(F, x, out, wide, **layers):
        y, parts = dense_block(F, x, list(layers.values()))
        normal = F._scaled(y, wide, wide)
        again = F.Convolution(normal, out, no_bias=True, kernel=(1, 1), num_filter=8)
        return y, F.relu(y), normal, F.relu(normal), again, parts[0], F.sin(parts[1]), parts[2] + parts[1]

    net = Block(function, out=(8, 64, 1, 1), wide=(64, 1, 1), **dense_shapes(16, 3))
    net.initialize(mx.init.Uniform(0.5))
    x = array(1, 16, 9, 9)
    eager = [y.asnumpy() for y in net(x)]
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(2):
        for found, wanted in zip(net(x), eager, strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted, rtol=3e-5, atol=3e-5)
    assert "batch_norm" in program_of(net, x)


def test_several_results_and_views_of_one():
    def function(F, x, w, v):
        y = F.Convolution(x, w, no_bias=True, kernel=(3, 3), num_filter=16)
        mean = F.mean(y, axis=(2, 3), keepdims=True)
        return y, mean, F.Flatten(mean), F.FullyConnected(mean, v, no_bias=True, num_hidden=8)

    net = Block(function, w=(16, 16, 3, 3), v=(8, 16))
    check(net, "oneDNN: conv, mean, linear", array(2, 16, 9, 9))
    x = array(2, 16, 9, 9)
    _, mean, flat, _ = net(x)
    kept = flat.asnumpy()
    mean[:] = 7
    np.testing.assert_array_equal(flat.asnumpy(), kept)


def test_half_precision():
    if not multiplies_half(torch_dtype("bfloat16")):
        pytest.skip("this processor has no products of bfloat16")
    check(
        two_layers(),
        "oneDNN: conv, mean, linear",
        array(2, 16, 9, 9).astype("bfloat16"),
        tolerance=2e-2,
        cast="bfloat16",
    )


@pytest.mark.parametrize("batch", [1, 3])
def test_attention_and_layer_norm_in_half_precision(batch):
    if not multiplies_half(torch_dtype("bfloat16")):
        pytest.skip("this processor has no products of bfloat16")

    def function(F, x, length, u, gamma, beta, **weights):
        y = reads(F, x, length, weights.values(), *LENGTH_FIRST)
        return F.LayerNorm(F.FullyConnected(y, u, no_bias=True, num_hidden=16, flatten=False), gamma, beta)

    net = Block(function, q=(32, 16), k=(32, 16), v=(32, 16), u=(16, 32), gamma=(16,), beta=(16,))
    inputs = array(9, batch, 16).astype("bfloat16"), mx.nd.array([3, 0, 9][:batch])
    taken = "oneDNN: 4 linear, 2 batch_dot, softmax, mul, layer_norm"
    check(net, taken, *inputs, tolerance=3e-2, cast="bfloat16")


def two_layers():
    """A convolution and a classifier."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(32, 3, in_channels=16, activation="relu"), nn.GlobalAvgPool2D(), nn.Dense(10, in_units=32))
    return net


def test_changed_parameters_are_brought_in_order_again():
    net = two_layers()
    x = array(2, 16, 9, 9)
    check(net, "oneDNN: conv, mean, linear", x)
    for change in ("written", "replaced", "initialized"):
        for p in net.collect_params().values():
            if change == "written":
                p.data()[:] = p.data() * 2 + 0.1
            elif change == "replaced":
                p.set_data(array(*p.shape))
            else:
                p.initialize(mx.init.Normal(0.3), force_reinit=True)
        found = net(x)
        net.hybridize(False)
        assert_close(found, net(x))
        net.hybridize(static_alloc=True, static_shape=True)


def test_biases_that_are_not_contiguous():
    def function(F, x, w, table):
        bias = F.reshape(F.slice_axis(table, axis=1, begin=1, end=2), (-1,))
        return F.FullyConnected(F.FullyConnected(x, w, bias, num_hidden=16), w, table[:, 2], num_hidden=16)

    net = Block(function, w=(16, 16), table=(16, 4))
    x = array(5, 16)
    check(net, "oneDNN: 2 linear", x)
    net.table.set_data(array(16, 4))
    found = net(x).asnumpy()
    net.hybridize(False)
    np.testing.assert_allclose(found, net(x).asnumpy(), rtol=1e-5, atol=1e-5)


def test_batch_sizes_and_layouts_and_results_that_stay():
    net = two_layers()
    net.initialize()
    xs = [array(n, 16, 9, 9) for n in (1, 2, 3, 8, 2)]
    xs.append(mx.nd.transpose(array(2, 9, 9, 16), (0, 3, 1, 2)))
    eager = [net(x).asnumpy() for x in xs]
    net.hybridize(static_alloc=True, static_shape=True)
    found = [net(x) for x in xs for _ in range(2)]
    for k, y in enumerate(found):
        np.testing.assert_allclose(y.asnumpy(), eager[k // 2], rtol=1e-5, atol=1e-6)


def test_threads_run_one_plan():
    net = two_layers()
    net.initialize()
    xs = [array(4, 16, 20, 20) for _ in range(4)]
    expected = [net(x).asnumpy() for x in xs]
    net.hybridize(static_alloc=True, static_shape=True)
    net(xs[0])
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.allclose(net(xs[k]).asnumpy(), expected[k], rtol=1e-5, atol=1e-6):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_recorded_calls_and_open_lengths_go_without():
    net = two_layers()
    net.initialize()
    net.hybridize()
    x = array(2, 16, 9, 9)
    with autograd.record():
        net(x)
        assert program_of(net, x) == ""
    net(x), net(array(3, 16, 9, 9)), net(array(5, 16, 9, 9))
    assert net.plan_of(array(7, 16, 9, 9)).shapes is not None and program_of(net, array(7, 16, 9, 9)) == ""


def test_weights_that_are_computed_and_small_networks_stay(monkeypatch):
    net = Block(lambda F, x, y: F.FullyConnected(x, y, no_bias=True, num_hidden=8))
    net.hybridize()
    x, y = array(4, 16), array(8, 16)
    net(x, y)
    assert program_of(net, x, y) == ""
    monkeypatch.setattr(sys.modules["core.graph.passes.stretches"], "LEAST", 10**9)
    net = two_layers()
    net.initialize()
    net.hybridize()
    assert net(array(2, 16, 9, 9)).shape == (2, 10) and program_of(net, array(2, 16, 9, 9)) == ""


def test_explain_tells_what_was_taken(capsys):
    net = two_layers()
    net.initialize()
    x = array(2, 16, 9, 9)
    net.hybridize()
    assert "oneDNN: conv, mean, linear" in explain(net, x)


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("MXNET_ONEDNN_ENABLED", "0")
    onednn.loaded.cache_clear()
    try:
        assert onednn.loaded() is None and stretch.recorder() is None
        net = two_layers()
        net.initialize()
        net.hybridize()
        net(array(2, 16, 9, 9))
        assert program_of(net, array(2, 16, 9, 9)) == ""
    finally:
        monkeypatch.undo()
        onednn.loaded.cache_clear()


def test_errors_of_the_library_name_what_failed():
    layout = onednn.Layout((2, 3), (3, 1), torch_dtype("float32"))
    wrong = onednn.Layout((5, 4), None, torch_dtype("float32"))
    with pytest.raises(mx.base.MXNetError, match="inner_product_forward_primitive_desc_create: invalid arguments"):
        onednn.product(layout, wrong, None, layout, onednn.attributes(None))


def test_the_pass_stands_before_packing():
    order = [run.name if hasattr(run, "name") else run.__name__ for run, _ in PASSES]
    assert order.index("constants") < order.index("stretches") < order.index("packing")
