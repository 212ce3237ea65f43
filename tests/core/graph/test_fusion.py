"""The fusion pass: which nodes become one kernel, and that numbers stay, in the pass and in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import core as mx
from core import autograd, kernels
from core.graph.passes.fusion import fusion
from gluon import nn
from tests.core.graph import test_random_programs
from tests.support.graphs import RNG, array, evaluate, names, traced

nd = mx.nd


@pytest.mark.parametrize("record", [False, True])
def test_pointwise_operators_of_one_shape_are_one_kernel(record):
    def function(x, y):
        a = nd.sigmoid(x) * 2 + y
        b = nd.relu(a - x)
        return b * b + nd.broadcast_add(b, y.sum())

    x, y = array(3, 4), array(3, 4)
    x.attach_grad()
    fused = fused_like(function, x, y, record=record)
    forward = names(fused, backward=False)
    # The sum is of another shape; the sigmoid is kept for the backward part, and a pointwise kernel gives one result.
    assert sorted(forward)[-1] == "sum" and len(forward) == (4 if record else 2)
    assert not any("fused" in name for name in names(fusion(traced(function, x, y))))  # on the CPU


@pytest.mark.parametrize("combine", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("axis, keepdims", [(-1, True), ((1, 2), False), (None, False)])
def test_reductions_take_the_formula_before_them(combine, axis, keepdims):
    def function(x, y):
        return getattr(nd, combine)(nd.broadcast_mul(nd.tanh(x), y) - 1, axis=axis, keepdims=keepdims)

    assert names(fused_like(function, array(2, 3, 4), array(2, 1, 4))) == ["_plan_rows"]


def test_reductions_that_stay_by_themselves():
    assert names(fused_like(lambda x: nd.sum(nd.exp(x)), array(1 << 8, 1 << 7))) == ["exp", "sum"]  # a long row
    assert names(fused_like(lambda x: nd.prod(nd.exp(x), axis=1), array(3, 4))) == ["exp", "prod"]  # has no rule
    assert names(fused_like(lambda x: nd.sum(nd.sum(x, axis=1), axis=0), array(3, 4))) == ["sum", "sum"]  # other rows


def masked_softmax(q, mask):
    return nd.softmax(q * 0.125 + (1 - mask) * -1e4, axis=-1) * 2


def residual_layer_norm(x, y, gamma, beta):
    z = x + nd.relu(y)
    return z * 0.5 + nd.LeakyReLU(nd.LayerNorm(z, gamma, beta), act_type="gelu")


def distance(x, y):
    d = nd.broadcast_sub(x, y)
    return nd.broadcast_div(d, nd.sqrt(nd.sum(d * d, axis=(1, 2), keepdims=True) + 1e-6))


def entropy(x):
    return nd.sum(-nd.softmax(x) * nd.log_softmax(x * 3), axis=-1)


GROUPS = {
    masked_softmax: [(2, 3, 4, 5), (2, 3, 4, 5)],
    residual_layer_norm: [(3, 2, 7), (3, 2, 7), (7,), (7,)],
    distance: [(2, 3, 5), (1, 3, 1)],
    entropy: [(4, 6)],
}


@pytest.mark.parametrize("function", GROUPS)
def test_rows_are_one_kernel_with_what_surrounds_them(function):
    assert names(fused_like(function, *(array(*shape) for shape in GROUPS[function]))) == ["_plan_rows"]


@pytest.mark.parametrize("function", GROUPS)
def test_rows_in_gradients(function):
    arrays = [array(*shape) for shape in GROUPS[function]]
    for x in arrays:
        x.attach_grad()
    fused = fused_like(function, *arrays, record=True)
    whole = [n for n in fused.nodes if n.backward and n.op.name not in ("_reshape_to", "sum", "_sum_to")]
    assert len(whole) <= 3, fused


def test_gradients_of_a_softmax_with_lengths_stay_by_themselves():
    x, lengths = array(3, 4), nd.array([1, 4, 2], dtype="int32")
    x.attach_grad()
    fused = fused_like(lambda x: nd.softmax(x * 2, lengths, use_length=True) * 3, x, record=True)
    assert "_softmax_grad" in names(fused, backward=True)


def test_gradients_of_a_layer_norm_bring_their_columns():
    arrays = [array(4, 7), array(4, 7), array(7), array(7)]
    for x in arrays:
        x.attach_grad()
    fused = fused_like(lambda x, y, g, b: nd.LayerNorm(x * y, g, b) * 3, *arrays, record=True)
    assert names(fused, backward=False) == ["_plan_rows"] and names(fused, backward=True) == ["_plan_rows"]


def test_a_sum_over_rows_joins_what_it_sums():
    fused = fused_like(lambda x, y: (nd.relu(x) * y, nd.sum(nd.relu(x) * y, axis=0)), array(5, 3), array(5, 3))
    assert names(fused).count("_plan_rows") == 1


def test_a_value_that_vanishes_comes_first():
    """The square goes to its sum, which alone reads it, rather than to the softmax whose operand it shares."""
    fused = fused_like(lambda x: (nd.softmax(x), nd.sum(nd.square(x), axis=(1, 2))), array(2, 3, 4))
    assert names(fused) == ["_softmax", "_plan_rows"]


def test_a_formula_has_an_operand_of_its_results_shape():
    x = array(4, 1)
    x.attach_grad()
    fused = fused_like(lambda x: nd.broadcast_to(x, shape=(4, 3)) * 2 + 1, x)
    assert names(fused)[-1].startswith("_fused") and len(fused.nodes) == 2
    fused_like(lambda x: (nd.sum(x * 2, axis=1), nd.sum(x)), array(4, 3), record=True)  # heads are broadcast


def test_types_meet_in_rows():
    def function(x, gamma, beta):
        y = nd.LayerNorm((x * 2).astype("float32"), gamma, beta)
        return y.astype("float16"), y

    x = array(3, 8).astype("float16")
    with kernels.using("triton"):
        graph = traced(function, x, array(8), array(8))
        fused = fusion(graph)
    assert names(fused) == ["_plan_rows"]
    for a, b in zip(evaluate(graph, x, *graph_arrays(graph)), evaluate(fused, x, *graph_arrays(graph)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-3)


def test_types_meet_in_formulas():
    def function(x, y):
        return (nd.relu(x.astype("float32") * y) - 1).astype("float16")

    x, y = array(3, 8).astype("float16"), array(3, 8)
    with kernels.using("triton"):
        graph = traced(function, x, y)
        fused = fusion(graph)
    assert len(fused.nodes) == 1 and fused.outputs[0].dtype == "float16"
    (want,), (found,) = evaluate(graph, x, y), evaluate(fused, x, y)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=2e-3, atol=2e-3)


def graph_arrays(graph):
    return [array(*v.shape) * 0 + 0.5 for v in graph.inputs[1:]]


def test_nobody_reads_a_result_before_it_is_there():
    """A convolution between two pointwise steps reads the first: the kernel of both would come too late for it."""

    def function(x, w):
        a = nd.softmax(x * 2)
        b = nd.dot(a, w)
        return nd.softmax(a + b), a

    fused = fused_like(function, array(4, 4), array(4, 4))
    assert names(fused) == ["_plan_rows", "dot", "_plan_rows"] or names(fused) == ["_plan_rows", "_dot", "_plan_rows"]


def test_what_is_written_to_is_read_where_it_was():
    moving = array(4)

    def function(x, gamma, beta, var):
        before = moving * 2
        y = nd.BatchNorm(x, gamma, beta, moving, var, fix_gamma=False, momentum=0.5)
        return before + 1, y

    args = array(3, 4), array(4), array(4), array(4)
    with kernels.using("triton"), autograd.train_mode():
        fused = fusion(traced(function, *args, record=True))
    want = moving.asnumpy() * 2 + 1
    np.testing.assert_allclose(evaluate(fused, *args)[0], want, rtol=1e-6)


def fused_like(function, *args, record=False):
    """The fused graph, which gives the numbers of the graph before, gradients too."""
    with kernels.using("triton"):
        graph = traced(function, *args, record=record)
        fused = fusion(graph)
    heads = [array(*v.shape) for v in graph.dys] if record else None
    expected, found = (evaluate(g, *args, heads=heads) for g in (graph, fused))
    for a, b in zip(expected, found, strict=True):
        assert a.shape == b.shape
        # A gradient of a row is a difference of sums of the size of the largest.
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=max(1e-6, 3e-6 * abs(a).max(initial=0)))
    return fused


# ---------------------------------------------------------------------------------------------- in Triton's interpreter


@pytest.mark.interpreter
def test_fused_kernels_of_the_triton_backend(root):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)}
    program = "from tests.core.graph import test_fusion; test_fusion.compare_backends()"
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr[-3000:]


def compare_backends():
    """Eager on the CPU, and fused in the Triton backend under its interpreter: results and gradients."""
    cases = {**GROUPS, pointwise: [(2, 3), (2, 3)], entropy: [(3, 1100)]}
    for function, shapes in cases.items():
        numbers = [RNG.standard_normal(shape) for shape in shapes]
        backends = []
        for backend in ("cpu", "triton"):
            net = nn.HybridLambda(lambda F, *args, function=function: function(*args))
            net.hybridize(backend == "triton")
            arrays = [nd.array(x) for x in numbers]
            for x in arrays:
                x.attach_grad()
            with kernels.using(backend):
                with autograd.record():
                    y = net(*arrays)
                    (y * y).sum().backward()
                backends.append([y.asnumpy(), net(*arrays).asnumpy(), *(x.grad.asnumpy() for x in arrays)])
        for a, b in zip(*backends, strict=True):
            np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-5, err_msg=function.__name__)
        with kernels.using("triton"), autograd.record():
            steps = [step.kernel for step in net.plan_of(*arrays).forward.steps]
        assert any("rows" in kernel or "fused" in kernel for kernel in steps), steps
    compare_reductions()
    compare_programs()


def pointwise(x, y):
    return nd.relu(nd.sigmoid(x) * 2 - y) * x + 1


def compare_reductions():
    """Fused reductions in the Triton backend against float64 NumPy: rows beyond a block, broadcast operands, a NaN."""
    x, y = RNG.standard_normal((3, 2, 700)).astype("float32"), RNG.standard_normal((1, 2, 1)).astype("float32")
    with_nan = x.copy()
    with_nan[1, 0, 5] = np.nan
    for combine in ("sum", "mean", "max", "min"):
        for axis in (2, (1, 2)):
            net = nn.HybridLambda(
                lambda F, x, y, name=combine, over=axis: getattr(F, name)(F.broadcast_mul(F.exp(x), y) - 1, axis=over)
            )
            net.hybridize()
            with kernels.using("triton"):
                for data in (x, with_nan):
                    found = net(nd.array(data), nd.array(y))
                    want = getattr(np, combine)(np.exp(data.astype("float64")) * y - 1, axis=axis)
                    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-5, atol=1e-4)
                steps = net.plan_of(nd.array(x), nd.array(y)).forward.steps
                assert len(steps) == 1 and "rows" in steps[0].kernel, [step.kernel for step in steps]


def compare_programs():
    """Random programs in the Triton backend, operator by operator and fused."""
    test_random_programs.ONE += [
        lambda F, a: F.LayerNorm(a, F.ones(4), F.zeros(4)),
        lambda F, a: F.log_softmax(a * 2),
        lambda F, a: F.broadcast_div(a, F.sqrt(F.sum(a * a, axis=1, keepdims=True) + 1)),
    ]
    for seed in range(11, 21):
        net = test_random_programs.Program(seed, 18)
        net.initialize()
        x, y = (nd.array(np.random.default_rng(seed).uniform(-1, 1, (4, 4))) for _ in range(2))
        results = []
        with kernels.using("triton"):
            for active in (False, True):
                net.hybridize(active)
                mx.random.seed(seed)
                for z in (x, y):
                    z.attach_grad()
                with autograd.record():
                    outputs = net(x, y)
                autograd.backward(outputs)
                results.append([a.asnumpy() for a in (*outputs, x.grad, y.grad, net.weight.grad())])
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5 * max(1, np.abs(a).max()), err_msg=f"seed {seed}")
