"""Each pass on a graph where it has something to do: what it leaves, and that the numbers stay."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd
from core.graph import compiled as compiler
from core.graph.ir import Value
from core.graph.memory import Sharing, fresh
from core.graph.passes.absorption import absorption
from core.graph.passes.batch_norm import batch_norm
from core.graph.passes.common_subexpressions import common_subexpressions
from core.graph.passes.constants import constants
from core.graph.passes.copies import copies
from core.graph.passes.dead_code import dead_code
from core.graph.passes.epilogues import epilogues
from core.graph.passes.joins import joins
from core.graph.passes.packing import packing
from core.graph.passes.recompute import recompute
from core.graph.passes.recurrent import recurrent
from core.graph.passes.shapes import shapes
from core.graph.passes.strides import strides
from core.graph.trace import Untraceable
from gluon import nn, rnn
from gluon.contrib.quantization import quantize_net_v2
from tests.support.graphs import array, evaluate, names, traced


def test_a_trace_is_what_was_done():
    w = array(4, 3)
    graph = traced(lambda x: mx.nd.relu(mx.nd.FullyConnected(x, w, None, num_hidden=4, no_bias=True)) + 1, array(2, 3))
    assert names(graph)[-2:] == ["relu", "_plus_scalar"]
    assert [v.shape for v in graph.inputs] == [(2, 3)] and graph.arrays[0] is w
    assert graph.outputs[0].shape == (2, 4) and graph.outputs[0].dtype == "float32"


def test_gradients_are_part_of_the_graph():
    x = array(2, 3)
    x.attach_grad()
    graph = traced(lambda x: mx.nd.tanh(x) * x, x, record=True)
    assert len(graph.gradients) == len(graph.tracked) == 1 and graph.tracked[0] is graph.inputs[0]
    assert graph.gradients[0].shape == (2, 3)
    assert {v.role for v in graph.saved()} <= {"input", "node"}
    assert "_backward_tanh_0" in names(graph, backward=True)


def test_writes_to_arrays_from_outside_are_kept():
    total = mx.nd.zeros((3,))

    def step(x):
        total[:] = total + x
        return total * 2

    graph = traced(step, array(3))
    assert len(graph.writes) == 1
    block = nn.HybridLambda(lambda F, x: step(x))
    block.hybridize()
    x = array(3)
    block(x), block(x)
    np.testing.assert_allclose(total.asnumpy(), 2 * x.asnumpy(), rtol=1e-6)


def test_what_depends_on_values_is_not_traced():
    with pytest.raises(Untraceable, match="depends on values"):
        traced(lambda x, m: mx.nd.contrib.boolean_mask(x, m), array(3, 2), array(3))


def test_a_part_is_written_to_a_new_value():
    def change(x):
        x[0] = 1
        return x * 2

    graph = traced(change, array(3))
    assert names(graph)[-2:] == ["_slice_assign", "_mul_scalar"]
    assert len(graph.writes) == 1  # the caller's array


def test_dead_code():
    def function(x):
        mx.nd.exp(x)
        return mx.nd.relu(x)

    graph = traced(function, array(3))
    assert names(dead_code(graph)) == ["relu"]


def test_dead_code_keeps_what_writes():
    net = nn.BatchNorm(in_channels=3)
    net.initialize()
    x = array(2, 3)
    x.attach_grad()
    graph = dead_code(traced(net, x, record=True))
    assert "_batch_norm_update" in names(graph)


def test_common_subexpressions():
    graph = traced(lambda x: mx.nd.exp(x) * 2 + mx.nd.exp(x) * 2 + mx.nd.exp(x) * 3, x := array(3))
    shorter = common_subexpressions(graph)
    assert names(shorter).count("exp") == 1 and names(shorter).count("_mul_scalar") == 2
    np.testing.assert_array_equal(evaluate(shorter, x)[0], evaluate(graph, x)[0])


def test_common_subexpressions_leave_chance_and_the_callers_arrays():
    graph = traced(
        lambda x: [mx.nd.Dropout(x, p=0.5, mode="always") + mx.nd.Dropout(x, p=0.5, mode="always")], array(3)
    )
    assert names(common_subexpressions(graph)).count("_dropout") == 2
    graph = traced(lambda x: [mx.nd.exp(x), mx.nd.exp(x)], array(3))
    assert names(common_subexpressions(graph)).count("exp") == 2
    x = array(3, 4)
    x.attach_grad()
    graph = traced(lambda x: mx.nd.Dropout(x, p=0.5) + mx.nd.Dropout(x, p=0.5), x, record=True)
    shorter = common_subexpressions(graph)  # the gradients read one head, and draw two masks again
    assert names(shorter, backward=True).count("_dropout_again") == 2
    heads = [mx.nd.ones((3, 4))]
    for a, b in zip(evaluate(shorter, x, heads=heads), evaluate(graph, x, heads=heads), strict=True):
        np.testing.assert_array_equal(a, b)


def test_copies():
    def function(x):
        with autograd.predict_mode():
            y = mx.nd.Dropout(mx.nd.exp(x)).copy()
        return mx.nd.relu(y.astype("float32")) + y, x.copy()

    graph = traced(function, x := array(3))
    assert names(copies(graph)) == ["exp", "relu", "broadcast_add", "_copy"]  # the last one is the caller's
    for a, b in zip(evaluate(copies(graph), x), function(x), strict=True):
        np.testing.assert_array_equal(a, b.asnumpy())


def test_copies_of_what_is_written_stay():
    total = mx.nd.zeros((3,))

    def step(x):
        before = total.copy()
        total[:] = total + x
        return before * 2

    block = nn.HybridLambda(lambda F, x: step(x))
    block.hybridize()
    assert block(mx.nd.ones((3,))).asnumpy()[0] == 0 and block(mx.nd.ones((3,))).asnumpy()[0] == 2


def test_constants():
    w, table = array(3), mx.nd.array([1.0, 2, 3])

    def function(x):
        return x * mx.nd.exp(w) + mx.nd.sqrt(table) + mx.nd.arange(3)

    graph = constants(traced(function, x := array(3), parameters=[w]))
    assert set(names(graph, early=True)) == {"exp", "sqrt", "_arange"}
    np.testing.assert_array_equal(evaluate(graph, x)[0], function(x).asnumpy())
    w.attach_grad()
    graph = constants(traced(function, x, record=True, parameters=[w]))
    assert set(names(graph, early=True)) == {"sqrt", "_arange"}  # w changes with every step


def test_what_depends_on_shapes_alone_is_constant():
    def function(x):
        steps = mx.nd.contrib.arange_like(x, axis=1)
        return x * mx.nd.ones_like(x) + mx.nd.zeros_like(steps) + steps, mx.nd.full_like(x, 3), mx.nd.zeros_like(big)

    big = array(257, 256)
    graph = shapes(traced(function, x := array(2, 3)))
    assert [names(graph).count(name) for name in ("_full", "_arange", "ones_like", "zeros_like")] == [3, 1, 0, 1]
    for a, b in zip(evaluate(graph, x), function(x), strict=True):
        np.testing.assert_array_equal(a, b.asnumpy())


def test_the_early_part_follows_its_parameters():
    net = nn.HybridLambda(lambda F, x: x * F.exp(w))
    w = array(3)
    net.hybridize()
    x = array(3)
    for _ in range(2):
        np.testing.assert_allclose(net(x).asnumpy(), (x * w.exp()).asnumpy())
        w += 1


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_batch_norm_goes_into_the_convolution(scale, bias):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, use_bias=bias), nn.BatchNorm(scale=scale), nn.Activation("relu"))
    net.initialize(mx.init.Uniform(1))
    x = array(2, 3, 6, 6)
    net(x)
    norm = net[1]
    for p in (norm.gamma, norm.beta, norm.running_mean, norm.running_var):
        p.set_data(array(4))
    eager = net(x).asnumpy()
    parameters = [p.data() for p in net.collect_params().values()]
    graph = constants(dead_code(batch_norm(traced(net, x, parameters=parameters))))
    assert names(graph, early=False) == ["_conv", "relu"]
    np.testing.assert_allclose(evaluate(graph, x)[0], eager, rtol=1e-5, atol=1e-5)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-5, atol=1e-5)
    norm.running_mean.set_data(array(4))
    norm.gamma.set_data(array(4))
    compiled = net(x).asnumpy()
    np.testing.assert_array_equal(norm.gamma.data().asnumpy() == 1, not scale)
    net.hybridize(False)
    np.testing.assert_allclose(compiled, net(x).asnumpy(), rtol=1e-5, atol=1e-5)


def test_batch_norm_stays_in_training_and_beside_a_convolution_that_is_read_twice():
    conv, norm = nn.Conv2D(4, 3, in_channels=3), nn.BatchNorm(in_channels=4)
    for block in (conv, norm):
        block.initialize()
    x = array(2, 3, 6, 6)

    def function(x):
        y = conv(x)
        return norm(y) + y

    parameters = [p.data() for block in (conv, norm) for p in block.collect_params().values()]
    found = names(constants(batch_norm(traced(function, x, parameters=parameters))), early=False)
    assert found == ["_conv", "_scaled", "broadcast_add"]
    graph = traced(lambda x: norm(conv(x)), x, record=True, parameters=parameters)
    assert "BatchNorm" in names(batch_norm(graph))


class Residual(gluon.HybridBlock):
    """relu(conv + tanh(conv)), a linear layer of the flattened sum, and gelu."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2D(16, 3, padding=1, in_channels=16), nn.Conv2D(16, 1, in_channels=16)
        self.output = nn.Dense(16, flatten=False, in_units=32)

    def hybrid_forward(self, F, x):
        y = F.relu(self.left(x) + F.tanh(self.right(x)))
        return F.LeakyReLU(self.output(y), act_type="gelu"), y


def test_a_normalization_that_no_convolution_takes_is_scaled():
    """As in networks that normalise first; statistics count, and are read anew when they change."""
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(in_channels=16), nn.Activation("relu"), nn.Conv2D(8, 1, in_channels=16))
    net.initialize()
    random = np.random.RandomState(0)
    x, parameters = array(2, 16, 5, 5), [p.data() for p in net.collect_params().values()]
    for scale in (1, 2):
        for p in net.collect_params().values():
            p.set_data(mx.nd.array(scale * random.uniform(0.5, 1.5, p.shape)))
        net.hybridize(False)
        eager = net(x).asnumpy()
        graph = constants(batch_norm(traced(net, x, parameters=parameters)))
        assert names(graph, early=False) == ["_scaled", "relu", "_conv"]
        np.testing.assert_allclose(evaluate(graph, x)[0], eager, rtol=1e-5, atol=1e-5)
        net.hybridize()
        np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-5, atol=1e-5)
    training = traced(net, x, record=True, parameters=parameters)
    assert batch_norm(training) is training


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("scale", [True, False])
def test_a_normalization_in_half_precision_is_one_kernel_with_its_parameters_in_float32(dtype, scale):
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(in_channels=16, scale=scale), nn.Activation("relu"))
    net.initialize()
    net.cast(dtype)
    random = np.random.RandomState(0)
    for p in net.collect_params().values():
        p.set_data(mx.nd.array(random.uniform(0.5, 1.5, p.shape)))
    x, parameters = array(2, 16, 5, 5).astype(dtype), [p.data() for p in net.collect_params().values()]
    eager = net(x).astype("float32").asnumpy()
    graph = constants(batch_norm(traced(net, x, parameters=parameters)))
    assert names(graph, early=False) == ["_plan_batch_norm", "relu"]
    net.hybridize()
    step = 2.0**-7 if dtype == "bfloat16" else 2.0**-10  # from one number to the next
    np.testing.assert_allclose(net(x).astype("float32").asnumpy(), eager, rtol=step, atol=step)


@pytest.mark.parametrize("layout", ["rows", "channels last"])
def test_joins_that_go_on_copy_what_is_new(layout):
    """In one memory, of which all that was joined before stays readable."""

    def block(x):
        x = (
            mx.nd.Pooling(x, kernel=(3, 3), pad=(1, 1))
            if layout == "rows"
            else mx.nd.Convolution(x, *weights, (3, 3), pad=(1, 1), num_filter=8)
        )
        one = mx.nd.concat(x, mx.nd.sin(x), dim=1)
        two = mx.nd.concat(one, mx.nd.cos(one), mx.nd.exp(x), dim=1)
        three = mx.nd.concat(two, mx.nd.sin(two), dim=-3)
        aside = mx.nd.concat(one, mx.nd.tanh(one), dim=1)  # the room behind `one` is taken
        return mx.nd.sqrt(mx.nd.abs(three)), one.sum(axis=1), two * 2, aside

    x, weights = array(2, 4, 6, 5), (array(8, 4, 3, 3), array(8))
    graph = joins(traced(block, x))
    found = [name for name in names(graph) if "oncat" in name]
    assert found == ["_plan_growing_concat", "_plan_grown_concat", "_plan_grown_concat", "Concat"]
    eager = [y.asnumpy() for y in block(x)]
    hybrid = nn.HybridLambda(lambda F, x: block(x))
    hybrid.hybridize()
    for found in (evaluate(graph, x), [y.asnumpy() for y in hybrid(x)]):
        for a, b in zip(found, eager, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_joins_whose_parts_somebody_gets_or_differentiates_stay():
    def block(x, given):
        one = mx.nd.concat(x, x * 2, dim=1)
        two = mx.nd.concat(one, x * 3, dim=1)
        return (two * 2, one) if given else two * 2

    x = array(2, 3)
    graph = traced(lambda x: block(x, True), x)
    assert joins(graph) is graph and names(joins(traced(lambda x: block(x, False), x))) != names(graph)[:-1]
    x.attach_grad()
    graph = traced(lambda x: block(x, False), x, record=True)
    assert joins(graph) is graph
    other = traced(lambda x: mx.nd.concat(mx.nd.concat(x, x, dim=0), mx.nd.concat(x, x, dim=0), dim=1), array(3, 3))
    assert joins(other) is other


def test_places_that_no_convolution_reads_are_not_computed():
    """As in ResNets, whose stages begin with two convolutions of one place that step over three of four."""
    x, pairs = array(2, 4, 9, 10), [(array(4, 4, k, k), array(4)) for k in (1, 3, 1, 1, 1)]

    def conv(x, k, stride=1, pad=0):
        (w, b), kernel = pairs[k], pairs[k][0].shape[2:]
        return mx.nd.Convolution(x, w, b, kernel, (stride,) * 2, pad=(pad,) * 2, num_filter=4)

    def block(x, shared=False):
        y = mx.nd.relu(conv(x, 0))
        stage = mx.nd.relu(conv(mx.nd.relu(conv(y, 1, pad=1)), 2) + y)
        ends = conv(stage, 3, 2) + conv(stage, 4, 2)
        return (ends, stage) if shared else ends

    graph = strides(epilogues(traced(block, x)))
    assert names(graph) == ["_plan_conv"] * 2 + ["_plan_max_pool"] + ["_plan_conv"] * 3
    assert [n.attrs["stride"][0] for n in graph.nodes] == [1, 2, 2, 1, 1, 1]
    assert [n.outputs[0].shape[2:] for n in graph.nodes[1:]] == [(5, 5)] * 5
    expected = block(x).asnumpy()
    np.testing.assert_allclose(evaluate(graph, x)[0], expected, rtol=1e-5, atol=1e-5)
    for other in (lambda x: block(x, True), lambda x: conv(conv(x, 0), 1, 2), lambda x: conv(conv(x, 0), 3, 1)):
        graph = epilogues(traced(other, x))
        assert strides(graph) is graph
    x.attach_grad()
    graph = traced(block, x, record=True)
    assert strides(graph) is graph


def test_means_of_windows_are_taken_before_convolutions_of_one_place():
    """As where a DenseNet's stages end: a quarter of the products is left."""
    x, small, large, bias = array(2, 4, 9, 10), array(6, 4, 1, 1), array(6, 4, 3, 3), array(6)

    def mean(y, kernel=(2, 3), stride=(2, 2), pad=(0, 0), **how):
        return mx.nd.Pooling(y, kernel=kernel, stride=stride, pad=pad, pool_type="avg", **how)

    def twice(y):
        return mean(y) + mx.nd.sum(y)

    def conv(x, w=small, **how):
        return mx.nd.Convolution(x, w, bias, w.shape[2:], num_filter=6, **how)

    graph = dead_code(absorption(epilogues(traced(lambda x: mx.nd.relu(mean(conv(mx.nd.sin(x)))), x))))
    assert names(graph) == ["sin", "_avg_pool", "_plan_conv", "relu"]
    np.testing.assert_allclose(
        evaluate(graph, x)[0], mx.nd.relu(mean(conv(mx.nd.sin(x)))).asnumpy(), rtol=1e-5, atol=1e-6
    )
    for other in (
        lambda x: mean(conv(x, large)), lambda x: mean(mx.nd.relu(conv(x))), lambda x: mean(conv(x), pad=(1, 1)),
        lambda x: mean(conv(x, pad=(1, 1))), lambda x: mean(conv(x, stride=(2, 2))), lambda x: mean(conv(x) + bias.sum()),
        lambda x: mean(conv(x), pooling_convention="full"), lambda x: mean(conv(x), (1, 1), (1, 1)),
        lambda x: twice(conv(x)),
        lambda x: mean(conv(x) + conv(mx.nd.sin(x))),
    ):  # fmt: skip
        graph = epilogues(traced(other, x))
        assert absorption(graph) is graph
    x.attach_grad()
    graph = traced(lambda x: mean(conv(x)), x, record=True)
    assert absorption(graph) is graph


def test_places_of_quantized_convolutions_are_left_out():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1), nn.Activation("relu"), nn.Conv2D(8, 1, strides=2), nn.Conv2D(4, 1))
    net.initialize(mx.init.Xavier())
    x = array(2, 4, 8, 8)
    net(x)
    small = quantize_net_v2(net, calib_mode="naive", calib_data=[[x]], quantize_granularity="channel-wise")
    eager = small(x).asnumpy()
    small.hybridize()
    np.testing.assert_array_equal(small(x).asnumpy(), eager)
    steps = [n.attrs["stride"][0] for n in small.plan_of(x).graph.nodes if n.op.slides]
    assert steps and steps[0] == 2


def test_weights_that_meet_few_data_are_packed():
    """Those of depthwise windows and of a layer of one row; small products of other kinds stay, digit by digit."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(96, 3, padding=1, groups=96, in_channels=96), nn.Conv2D(32, 1, in_channels=96), nn.Dense(40))
    net.initialize()
    x = array(1, 96, 14, 14)
    net(x)
    graph = packing(epilogues(traced(net, x, parameters=[p.data() for p in net.collect_params().values()])))
    assert [n.inputs[0].shape for n in graph.nodes if n.early] == [(96, 1, 3, 3), (40, 6272)]
    eager = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-4, atol=1e-6)


def test_epilogues_and_packing():
    net = Residual()
    net.initialize()
    x, parameters = array(4, 16, 32, 32), [p.data() for p in net.collect_params().values()]
    eager = [y.asnumpy() for y in net(x)]
    graph = epilogues(traced(net, x, parameters=parameters))
    assert names(graph) == ["_plan_conv", "_plan_conv", "_plan_linear"]
    assert [n.attrs.get("activation") for n in graph.nodes] == ["tanh", "relu", "gelu"]
    for found, expected in zip(evaluate(graph, x), eager, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    packed = packing(graph)
    assert names(packed, early=True) == ["_plan_conv_weight"] * 2 + ["_plan_linear_weight"]
    small = epilogues(traced(net.left, x[:1, :, :4, :4], parameters=parameters))
    assert not names(packing(small), early=True)
    net.hybridize()
    for scale in (1, 2):  # weights are packed anew when parameters change
        for p in net.collect_params().values():
            p.set_data(p.data() * scale)
        found = [y.asnumpy() for y in net(x)]
        net.hybridize(False)
        for a, b in zip(found, net(x), strict=True):
            np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-5, atol=1e-6)
        net.hybridize()


@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_fewer_products_where_sums_need_not_stay_whole(kind):
    """Winograd's convolution rounds; networks on codes count on sums that do not."""
    numbers = np.random.RandomState(0)
    x, w = (numbers.randint(-127, 128, shape) for shape in ((1, 128, 58, 58), (128, 128, 3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
    exact = np.einsum("cyxij,ocij->oyx", windows, w, optimize=True)
    net = Weighted(w)
    net.initialize()
    net.hybridize()
    found = net(mx.nd.array(x, dtype=kind)).asnumpy()[0]
    np.testing.assert_allclose(found, exact, atol=1e-5 * abs(exact).max())
    assert (found == exact).all() == (kind == "int8")


class Weighted(gluon.HybridBlock):
    """A convolution of what the input is as float32."""

    def __init__(self, weight):
        super().__init__()
        self.weight = self.params.get_constant("weight", mx.nd.array(weight))

    def hybrid_forward(self, F, x, weight):
        x = x.astype("float32")
        return F.Convolution(x, weight, kernel=(3, 3), num_filter=128, no_bias=True)


class Shortcut(gluon.HybridBlock):
    """Sums over a shortcut of its own, over the data itself, and over what is read again."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.layers = nn.HybridSequential()
            self.layers.add(*(nn.Conv2D(16, 1, in_channels=16) for _ in range(5)))

    def hybrid_forward(self, F, x):
        a, b, c, d, e = self.layers
        y = F.relu(b(F.tanh(a(x))) + c(x))
        y = F.relu(d(y) + y)
        z = F.relu(a(x))
        return e(y) + z, z


def test_sums_are_written_over_what_nobody_reads_again(monkeypatch):
    monkeypatch.setattr(sys.modules["core.graph.passes.stretches"], "LEAST", 10**9)  # oneDNN takes none
    net = Shortcut()
    net.initialize()
    x = array(4, 16, 32, 32)
    eager = [y.asnumpy() for y in net(x)]
    net.hybridize()
    for _ in range(2):
        for found, expected in zip(net(x), eager, strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    plan = net.plan_of(x)
    sums = [step for step in plan.forward.steps if len(step.node.inputs) == 4]
    buffers = plan.forward.buffers
    assert [buffers[s.node.outputs[0]] == buffers[s.node.inputs[3]] for s in sums] == [True, False, False]


def test_packed_weights_of_many_shapes_are_let_go(monkeypatch):
    net = Residual()
    net.initialize()
    net.hybridize()
    monkeypatch.setattr(compiler.Compiled, "_open", lambda *_: None)  # a plan for each shape
    images = [array(n, 16, 32, 32) for n in (4, 5, 6)]
    plans = [net.plan_of(x) for x in images]
    monkeypatch.setattr(compiler, "MOST_PREPARED", 2 * plans[0].prepared_bytes)
    first = [net(x)[0].asnumpy() for x in images]
    assert [bool(plan._ready) for plan in plans] == [False, True, True]
    np.testing.assert_array_equal(net(images[0])[0].asnumpy(), first[0])
    assert [bool(plan._ready) for plan in plans] == [True, False, True]


def test_recompute():
    first, second, x = nn.Dense(128, in_units=8), nn.Dense(2, in_units=128), array(256, 8)
    for block in (first, second):
        block.initialize()

    def function(x):
        return second(mx.nd.LeakyReLU(first(x), act_type="gelu"))

    parameters = [p.data() for block in (first, second) for p in block.collect_params().values()]
    graph = dead_code(traced(function, x, record=True, parameters=parameters))
    shorter = recompute(graph)
    assert "gelu" in names(shorter, backward=True) and "gelu" not in names(graph, backward=True)

    def held(g):
        return sum(v.nbytes for v in g.saved() if v.source is not None)

    assert held(shorter) == held(graph) - 256 * 128 * 4
    gradients = []
    for step in (function, recomputed := gluon.nn.HybridLambda(lambda F, x: function(x))):
        if step is recomputed:
            step.hybridize()
        with autograd.record():
            loss = step(x).sum()
        loss.backward()
        gradients.append([p.grad.asnumpy() for p in parameters])
    for eager, again in zip(*gradients, strict=True):
        np.testing.assert_array_equal(again, eager)


def _recomputed(function, *shape):
    """What is in the backward part that was not, and bytes of intermediate values that are no longer saved."""
    x = array(*shape)
    x.attach_grad()
    graph = dead_code(traced(function, x, record=True))
    shorter, before = recompute(graph), names(graph, backward=True)
    heads = [mx.nd.ones(v.shape) for v in graph.outputs]
    for a, b in zip(evaluate(shorter, x, heads=heads), evaluate(graph, x, heads=heads), strict=True):
        np.testing.assert_array_equal(a, b)
    held, kept = (sum(v.nbytes for v in g.saved()) for g in (graph, shorter))
    return [name for name in names(shorter, backward=True) if name not in before], held - kept


@pytest.mark.parametrize("name", ["relu", "gelu", "smooth_l1"])  # of few steps, more, and as many as are cheap
def test_recompute_makes_large_values_again(name):
    def activation(x):
        return mx.nd.LeakyReLU(x, act_type="gelu") if name == "gelu" else getattr(mx.nd, name)(x)

    def square(x):
        y = activation(mx.nd.exp(x * 2))
        return y * y

    assert _recomputed(square, 127, 128) == ([], 0)
    again, saved = _recomputed(square, 128, 128)  # 64 KiB
    assert again == [name] and saved == 128 * 128 * 4


def test_recompute_leaves_products_and_chance():
    def squared_product(x):
        y = mx.nd.exp(x)
        return mx.nd.square(mx.nd.dot(y, y, transpose_b=True))

    def squared_mask(x):
        return mx.nd.square(mx.nd.Dropout(mx.nd.exp(x), p=0.5))

    assert _recomputed(squared_product, 128, 128) == _recomputed(squared_mask, 128, 128) == ([], 0)


def test_recompute_leaves_what_the_caller_has():
    def both(x):
        y = mx.nd.LeakyReLU(x * 2, act_type="gelu")
        return y * y, y

    assert _recomputed(both, 256, 128) == ([], 0)


@pytest.mark.parametrize(
    "layer, hidden",
    [
        (rnn.LSTM, {"num_layers": 2, "dropout": 0.5}),
        (rnn.GRU, {"bidirectional": True}),
        (rnn.RNN, {"num_layers": 2, "bidirectional": True}),
    ],
)
@pytest.mark.parametrize("record", [False, True])
def test_recurrent_layers_read_their_parameters_where_they_are(layer, hidden, record):
    net = layer(3, input_size=2, **hidden)
    net.initialize()
    x = array(4, 2, 2)
    with autograd.record() if record else autograd.predict_mode():
        net(x)  # parameters take part in the trace from here on
    graph = dead_code(copies(traced(net, x, record=record)))
    shorter = dead_code(recurrent(graph))
    assert "Concat" in names(graph) and "Concat" not in names(shorter)
    assert "_slice_view" not in names(shorter, backward=True)
    results, head = [], array(4, 2, 3 * net._dir)
    for hybrid in (False, True):
        if hybrid:
            net.hybridize()
        mx.random.seed(1)
        if record:
            with autograd.record():
                y = net(x)
            y.backward(head)
            results.append([y, *(p.grad().copy() for p in net.collect_params().values())])
        else:
            results.append([net(x)])
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled.asnumpy(), eager.asnumpy(), rtol=1e-6, atol=1e-7)


def test_epilogues_flatten():
    dense, x = nn.Dense(3, activation="relu"), array(2, 3, 4)
    dense.initialize()
    expected = dense(x).asnumpy()
    graph = epilogues(traced(dense, x, parameters=[p.data() for p in dense.collect_params().values()]))
    assert names(graph) == ["_reshape_to", "_plan_linear"]
    np.testing.assert_array_equal(evaluate(graph, x)[0], expected)


def test_epilogues_leave_products_that_are_read_twice_and_training():
    conv, x = nn.Conv2D(4, 3, in_channels=3), array(2, 3, 6, 6)
    conv.initialize()
    parameters = [p.data() for p in conv.collect_params().values()]

    def function(x):
        y = conv(x)
        return mx.nd.relu(y), y, conv(x) + y.sum(axis=0, keepdims=True)

    graph = epilogues(traced(function, x, parameters=parameters))
    assert names(graph) == ["_plan_conv", "relu", "_plan_conv", "sum", "broadcast_add"]
    graph = traced(lambda x: mx.nd.relu(conv(x)), x, record=True, parameters=parameters)
    assert epilogues(graph) is graph


def test_memory_is_free_where_nobody_reads_it_again():
    def function(x):
        a = mx.nd.exp(x)
        b = a.reshape((-1,))
        c = mx.nd.tanh(a)
        return c.sum() + b.sum()

    graph = traced(function, array(2, 3))
    places = {n.op.name: k for k, n in enumerate(graph.nodes)}
    sharing = Sharing(graph.nodes, graph.results())
    a = graph.nodes[places["exp"]].outputs[0]
    assert fresh(a) and not sharing.free_after(a, places["tanh"])  # its view is read later
    assert not sharing.free_after(graph.inputs[0], places["exp"])


def test_results_in_place_are_the_same_numbers():
    class Long(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            a = F.broadcast_add(F.exp(x), y)
            b = a * 2 - x / (1 + F.square(a))
            c = F.sigmoid(b) * b + F.relu(b - a)
            d = 1 - c
            return F.where(d > 0, -d, d * d) + F.broadcast_mul(F.sqrt(F.abs(c)), y), a, F.clip(c, 0.1, 0.5)

    net = Long()
    x, y = array(4, 5), array(1, 5)
    for z in (x, y):
        z.attach_grad()
    results = []
    for active in (False, True):
        net.hybridize(active)
        with autograd.record():
            outputs = net(x, y)
        autograd.backward(outputs[:1])
        results.append([*(o.asnumpy() for o in outputs), x.grad.asnumpy(), y.grad.asnumpy()])
        for o in net(x, y):
            results[-1].append(o.asnumpy())
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, eager)
    with autograd.record():
        assert "add_(" in net.plan_of(x, y).forward.source


def test_explain(capsys):
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize()
    x = array(3, 5)
    with pytest.raises(mx.MXNetError, match="hybridize"):
        mx.graph.explain(net, x)
    net.hybridize()
    net(x)
    text = mx.graph.explain(net, x)
    assert text == capsys.readouterr().out.rstrip("\n")
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["step", "kernel", "shape", "bytes", "buffer"]
    assert rows[1][1:3] == ["matmul.linear", "relu"] and rows[1][-2] == str(3 * 4 * 4)
    assert rows[2][1] == "matmul.linear"
    with autograd.record():
        rows = [line.split() for line in mx.graph.explain(net, x).splitlines()]
    assert rows[2][1:3] == ["pointwise", "relu"] and rows[2][-1] == rows[1][-1]  # written in place
    assert rows[-1][0] == "backward:" and ["backward"] in rows
    layer = rnn.LSTM(3, input_size=5)  # whose calls add first states
    layer.initialize()
    layer.hybridize()
    x = array(2, 3, 5)
    layer(x)
    assert "float32[2, 3, 3]" in mx.graph.explain(layer, x)


def test_values_print():
    graph = traced(lambda x: mx.nd.relu(x), array(2))
    assert "float32[2] = relu(input0)" in str(graph)
    assert isinstance(graph.outputs[0], Value) and "float32(2,)" in repr(graph.outputs[0])


@pytest.mark.parametrize(("layer", "count"), [(rnn.LSTM, 4), (rnn.GRU, 3), (rnn.RNN, 3)])
def test_gradients_of_recurrent_layers_are_as_many_as_their_operator_says(layer, count):
    block = layer(3, input_size=2)
    block.initialize()
    parameters = [p.data() for p in block.collect_params().values()]
    graph = traced(block, array(4, 2, 2), record=True, parameters=parameters)
    (node,) = [node for node in graph.nodes if node.op.name == "_rnn_grad"]
    assert len(node.outputs) == node.op.count(node.attrs) == count  # data, parameters, state and the cell's
