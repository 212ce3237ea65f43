"""Gradients of every differentiable operator of the table against central differences in float64.

Each operator is applied to samples (see `tests.support.samples`), its outputs are weighted by random heads, and the
gradient of each operand is compared with the difference quotient along one random direction.
"""

import numpy as np
import pytest
import torch

import core.mxnet
import core.symbol.numpy_functions  # noqa: F401  (every function of np)
from core import autograd, random
from core.base import MXNetError
from core.context import cpu
from core.kernels import formula
from core.ndarray import NDArray
from core.ops.registry import TABLE
from tests.support.samples import GIVEN, differentiable, draw, samples

NAMES = differentiable()

_LOSS = "an output layer: the gradient of a loss that the result does not show"
_BY_DECREE = "the gradient is MXNet's, which is not the derivative"
_STRAIGHT = "the gradient passes as it is, or scaled, by definition"
_NUMBERS = "an expression whose results are indices, truth values or constants"
_QUANTIZED = "integers, which have no gradient"
_RANDOM = "draws samples"
EXEMPT = {
    **dict.fromkeys(
        ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "MakeLoss", "SVMOutput", "SoftmaxOutput",
         "make_loss", "IdentityAttachKLSparseReg"), _LOSS),
    **dict.fromkeys(("_mean_rrelu", "_selu", "_npi_rot90", "_image_flip_left_right", "_image_flip_top_bottom",
                     "_npi_where_lscalar", "_npi_where_rscalar", "_instance_softmax", "_contrib_box_nms"), _BY_DECREE),
    **dict.fromkeys(("_contrib_gradientmultiplier", "_contrib_round_ste", "_contrib_sign_ste", "BlockGrad"), _STRAIGHT),
    **dict.fromkeys(("_contrib_allclose", "_contrib_arange_like", "_contrib_index_array", "_contrib_isfinite", "_contrib_isinf",
                     "_contrib_isnan", "_contrib_sldwin_atten_mask_like", "_histogram", "_ravel_multi_index", "_unravel_index"), _NUMBERS),
    **{n: _QUANTIZED for n in NAMES if "quantize" in n or "intgemm" in n},
    "_np_function": "calls a function of np, whose operators are swept",
    **dict.fromkeys(("_loop", "_loop_grad"), "runs a compiled body: tests/core/graph/test_loops.py"),
    "_sample_multinomial": _RANDOM,
    **dict.fromkeys(("_gamma_of_shape", "_gamma_slope"), "a draw moves with its quantile held: tests/core/ops/test_gamma_slope.py"),
    "_copyto": "the identity, between devices",
    "multi_sum_sq": "its sums are of float32, too coarse for differences: tests/core/ops/test_contrib.py",
    **dict.fromkeys(("_max_pool_gather", "_roi_pooling_gather"), "differentiated in third derivatives alone"),
    "_dropout_again": "the mask of a draw that was made before; differentiated within Dropout",
}  # fmt: skip
WITHIN = {  # parts of gradients: differentiated in the second derivatives of these
    "_batch_norm_grad": "BatchNorm",
    "_batch_norm_inference_grad": "BatchNorm",
    "_attention_grad": "_attention",
    "_bilinear_sampler_grad": "BilinearSampler",
    "_correlation_grad": "Correlation",
    "_ctc_loss_grad": "CTCLoss",
    "_deformable_columns_grad": "_contrib_DeformableConvolution",
    "_group_norm_grad": "_group_norm",
    "_layer_norm_grad": "LayerNorm",
    "_linear_cross_entropy_grad": "_linear_cross_entropy",
    "_log_softmax_grad": "_log_softmax",
    "_max_pool_grad": "_max_pool",
    "_rnn": "RNN",
    "_rnn_grad": "RNN",
    "_roi_align_grad": "_contrib_ROIAlign",
    "_roi_pooling_grad": "ROIPooling",
    "_rotated_roi_align_grad": "_contrib_RROIAlign",
}
_MASK = "each backend's kernel draws a mask of its own, which no expression knows: asking for it is an error"
ONCE = {  # differentiable once
    "_dropout_attention": _MASK,
}
WIDE = {  # not of float16 and bfloat16, or not of float16
    **dict.fromkeys(
        ("_linalg_det", "_linalg_gelqf", "_linalg_inverse", "_linalg_potrf", "_linalg_potri", "_linalg_slogdet", "_linalg_syevd",
         "_linalg_trsm", "_npi_pinv", "_npi_qr", "_npi_solve", "_npi_svd", "_triangular_solve", "_ctc_loss"),
        (torch.float16, torch.bfloat16)),
    **dict.fromkeys(("_npi_matmul", "sort"), (torch.float16,)),
}  # fmt: skip
SWEPT = [n for n in NAMES if samples(TABLE[n]) and n not in EXEMPT]
TWICE = [n for n in SWEPT if n not in ONCE]


def test_every_differentiable_operator_is_swept_or_exempt():
    assert [n for n in NAMES if n not in SWEPT and n not in EXEMPT and n not in WITHIN] == []
    assert [n for n in [*EXEMPT, *WITHIN, *ONCE, *WIDE, *GIVEN] if n not in TABLE] == []


@pytest.mark.parametrize("name", SWEPT)
def test_gradients_are_the_central_differences(name):
    op = TABLE[name]
    for sample in samples(op):
        point = Point(op, sample)
        found = point.gradients(point.tensors())
        for k, direction, g in zip(point.moved, point.directions, found, strict=True):
            close(inner(g, direction), point.slope(point.objective, k, direction), point.describe(k))


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives_are_the_central_differences(name):
    op = TABLE[name]
    for sample in samples(op):
        point = Point(op, sample)
        found, of_heads = point.second()
        for k, direction, g in zip(point.moved, point.directions, found, strict=True):
            close(inner(g, direction), point.slope(point.first, k, direction), point.describe(k))
        if of_heads:  # in which gradients are linear
            generator = np.random.default_rng(6)
            point.heads = [generator.standard_normal(h.shape) for h in point.heads]
            along = sum(inner(g, point.heads[i]) for i, g in of_heads.items())
            close(along, point.first(point.tensors()), f"{name} {sample.attrs}: gradient of the heads")


@pytest.mark.parametrize("name", ONCE)
def test_second_derivatives_that_are_missing_are_errors(name):
    op = TABLE[name]
    with pytest.raises(MXNetError, match="no second derivative"):
        Point(op, samples(op)[0]).second()


def test_derivatives_without_a_formula_are_errors():
    x = NDArray._wrap(torch.tensor([1.0], dtype=torch.float64), cpu())
    x.attach_grad()
    with autograd.record():
        y = TABLE["digamma"](x)
        for _ in range(2):
            y = autograd.grad(y, [x], create_graph=True)[0]
        assert abs(float(y._data) + 2.4041138063191886) < 1e-12  # -2 zeta(3)
        with pytest.raises(MXNetError, match="digamma cannot be differentiated that often"):
            autograd.grad(y, [x])


def test_steps_of_formulas_have_a_derivative_or_are_flat():
    flat = {"floor", "ceil", "rint", "trunc", "round_away", "sign", "floordiv", "nextafter", *formula.PREDICATES}
    integers = {"bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"}
    assert set(formula.CONSTRUCTORS) - set(formula.RULES) - set(formula.REDUCTIONS) == flat | integers


@pytest.mark.parametrize("part", WITHIN)
def test_parts_of_gradients_are_differentiated_within_others(part):
    op = TABLE[WITHIN[part]]
    entries = [g._entry for sample in samples(op) for g, _ in Point(op, sample).firsts()[2]]
    reached, waiting = set(), [e[0] for e in entries if isinstance(e, tuple)]
    while waiting:
        node = waiting.pop()
        reached.add(node.op.name)
        waiting += [p[0] for p in node.parents if isinstance(p, tuple)]
    assert part in reached


def strided(tensor):
    """The same values under steps, transposed axes and an offset."""
    if not tensor.dim():
        return tensor
    turned = tensor.permute(*reversed(range(tensor.dim())))
    wide = torch.zeros([2 * n + 1 for n in turned.shape], dtype=tensor.dtype)
    view = wide[tuple(slice(1, None, 2) for _ in turned.shape)]
    view.copy_(turned)
    return view.permute(*reversed(range(tensor.dim())))


@pytest.mark.parametrize("name", SWEPT)
def test_memory_layout_does_not_matter(name):
    op = TABLE[name]
    for sample in samples(op):
        point = Point(op, sample)
        straight = point.gradients(point.tensors())
        across = point.gradients([None if t is None else strided(t) for t in point.tensors()])
        for k, a, b in zip(point.moved, straight, across, strict=True):
            assert a.shape == b.shape, point.describe(k)
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-11), point.describe(k)


NEAR = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 8e-2}


@pytest.mark.parametrize("dtype", NEAR, ids=lambda d: str(d).removeprefix("torch."))
@pytest.mark.parametrize("name", SWEPT)
def test_gradients_in_other_types(name, dtype):
    op = TABLE[name]
    if dtype in WIDE.get(name, ()):
        pytest.skip(f"{name} does not take {dtype}")
    for sample in samples(op):
        point = Point(op, sample)
        low = [t.to(dtype) if t is not None and t.is_floating_point() else t for t in point.tensors()]
        exact = point.gradients([t if t is None or t.dtype != dtype else t.double() for t in low])
        for k, g, e in zip(point.moved, point.gradients(low), exact, strict=True):
            assert g.dtype == dtype, point.describe(k)
            assert (g.double() - e).norm() <= NEAR[dtype] * (e.norm() + 1e-3), point.describe(k)


class Point:
    """One sample of an operator: values, heads and directions, and what follows from them."""

    def __init__(self, op, sample):
        self.op, self.sample = op, sample
        self.values, self.moved, self.directions = draw(op, sample)
        self.heads = None

    def tensors(self):
        return [None if v is None else torch.tensor(np.asarray(v)) for v in self.values]

    def describe(self, k):
        shapes = [None if v is None else np.shape(v) for v in self.values]
        return f"{self.op.name}{shapes} {self.sample.attrs}: gradient of operand {k}"

    def outputs(self, arrays):
        """The outputs that have a gradient."""
        random.seed(7)
        results = self.op(*arrays, **self.sample.attrs)
        results = results if isinstance(results, (list, tuple)) else [results]
        if self.heads is None:
            generator = np.random.default_rng(5)
            self.heads = [generator.uniform(0.5, 1.5, r.shape) for r in results]
        return results

    def objective(self, tensors) -> float:
        """The outputs weighted by the heads."""
        with autograd.Scope(False, self.sample.training):
            results = self.outputs(wrap(tensors))
        return sum(inner(r._data, h) for r, h in zip(results, self.heads, strict=True) if r._data.is_floating_point())

    def recorded(self, tensors):
        """(moved arrays, outputs on the tape, their heads, and the numbers of these)."""
        arrays = wrap(tensors)
        moved = [arrays[k] for k in self.moved]
        for x in moved:
            x.attach_grad()
        with autograd.record(train_mode=self.sample.training):
            results = self.outputs(arrays)
        taped = [i for i, r in enumerate(results) if r._entry is not None]
        heads = wrap([torch.tensor(self.heads[i]).to(results[i]._data.dtype) for i in taped])
        return moved, [results[i] for i in taped], heads, taped

    def gradients(self, tensors):
        moved, results, heads, _ = self.recorded(tensors)
        if not results:
            return [torch.zeros_like(x._data) for x in moved]
        return [g._data for g in autograd.grad(results, moved, heads, train_mode=self.sample.training)]

    def first(self, tensors) -> float:
        """The gradients weighted by the directions: what the second derivative is the derivative of."""
        return sum(inner(g, d) for g, d in zip(self.gradients(tensors), self.directions, strict=True))

    def firsts(self):
        """(moved arrays, heads by number, (gradient on the tape, direction) of each)."""
        moved, results, heads, taped = self.recorded(self.tensors())
        if not results:
            return moved, {}, []
        for h in heads:
            h.attach_grad()
        how = {"train_mode": self.sample.training}
        with autograd.record(**how):
            found = autograd.grad(results, moved, heads, create_graph=True, **how)
            # One array may be the gradient of two operands, and as a head it would count once: hence the products.
            live = [(g * 1.0, d) for g, d in zip(found, self.directions, strict=True) if g._entry is not None]
        return moved, dict(zip(taped, heads, strict=True)), live

    def second(self):
        """(gradients of the moved arrays, those of the heads by number) of what `first` computes."""
        moved, heads, live = self.firsts()
        if not live:
            return [torch.zeros_like(x._data) for x in moved], {}
        weights = wrap([torch.tensor(d) for _, d in live])
        variables = [*moved, *heads.values()]
        found = autograd.grad([g for g, _ in live], variables, weights, train_mode=self.sample.training)
        found = [g._data for g in found]
        return found[: len(moved)], dict(zip(heads, found[len(moved) :], strict=True))

    def slope(self, function, k, direction) -> float:
        """The difference quotient of `function` along a direction of operand k."""
        sides = []
        for sign in (1.0, -1.0):
            tensors = self.tensors()
            tensors[k] = tensors[k] + sign * self.sample.distance * torch.tensor(direction)
            sides.append(function(tensors))
        return (sides[0] - sides[1]) / (2 * self.sample.distance)


def wrap(tensors):
    return [None if t is None else NDArray._wrap(t, cpu()) for t in tensors]


def inner(tensor, weights) -> float:
    return float((tensor.double() * torch.as_tensor(weights)).sum())


def close(found, numeric, what):
    assert abs(found - numeric) <= 1e-6 * (1.0 + abs(numeric)), f"{what}: {found}, central difference {numeric}"
