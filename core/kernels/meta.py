"""Kernels on tensors without memory: what shape, dtype and layout their results have.

The wing that shape inference and tracing use. ATen can run on such tensors itself, but does so in Python for most
operators, and imports its compiler for it; kernels that are not here go that way. Arguments are those of the CPU wing.
RuntimeError where shapes do not fit.
"""

from __future__ import annotations

import math
import operator

import torch
from torch import Tensor

from core import storage
from core.base import MXNetError
from core.kernels.layout import CHANNELS_LAST, memory_format
from core.kernels.precision import wide_type

KERNELS: dict[str, object] = {}


def _enter(room: str):
    def enter(function):
        KERNELS[f"{room}.{function.__name__}"] = function
        return function

    return enter


def broadcast(shapes) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together (torch's own function imports a computer algebra system)."""
    rank = max(map(len, shapes), default=0)
    found = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, rank - len(shape)):
            if n != 1 and found[k] not in (1, n):
                raise RuntimeError(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
            found[k] = n if n != 1 else found[k]
    return tuple(found)


def need_elements(name: str, x: Tensor, axes: tuple[int, ...]) -> None:
    """MXNetError where there is nothing to choose an extreme from."""
    for axis in axes:
        if x.shape[axis] == 0:
            raise MXNetError(f"{name}: axis {axis} of shape {tuple(x.shape)} has no elements to choose from")


def joined(tensors, axis: int) -> Tensor:
    """What joining tensors along an axis gives."""
    first = next((t for t in tensors if t.dim() != 1 or t.numel()), tensors[0])  # ATen leaves out empty vectors
    rest = [t for t in tensors if t.dim() != 1 or t.numel()]
    axis %= first.dim()
    for t in rest:
        same = t.dim() == first.dim() and all(a == b or k == axis for k, (a, b) in enumerate(zip(t.shape, first.shape)))
        _fits(same, f"joining along axis {axis}", *rest)
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in rest)
    kinds = {t.dtype for t in rest}
    dtype = first.dtype if len(kinds) < 2 else torch.cat([torch.empty(1, dtype=t.dtype) for t in rest]).dtype
    return _empty(shape, dtype, first)


def _empty(shape, dtype, like: Tensor | None = None) -> Tensor:
    """A result; channels-last where `like` is so and the ranks agree."""
    layout = torch.contiguous_format if like is None or like.dim() != len(shape) else memory_format(like)
    return torch.empty(tuple(shape), dtype=dtype, device="meta", memory_format=layout)


def _fits(holds: bool, what: str, *tensors: Tensor) -> None:
    if not holds:
        raise RuntimeError(f"{what}: shapes {', '.join(str(tuple(t.shape)) for t in tensors)}")


@_enter("pointwise")
def pointwise(formula, tensors, attrs, dtype):
    if formula.root.op == "input":  # the operand itself
        x = tensors[formula.root.args[0]]
        return x if x.dtype is dtype else _empty(x.shape, dtype, x)
    shape = broadcast([t.shape for t in tensors])
    whole = next((t for t in tensors if t.shape == shape), None)
    return _empty(shape, dtype, whole)


@_enter("pointwise")
def pointwise_rows(program, tensors):
    return tuple(_empty(r.shape, storage.TORCH[r.dtype]) for r in program.results)


def _windows(sizes, kernel, stride, dilate, pads):
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, d, (lo, hi) in zip(sizes, kernel, stride, dilate, pads, strict=True)
    )


@_enter("conv")
def conv(x, w, b, stride, dilate, pad, groups, activation=None, residual=None, overwrite=False):
    _fits(x.dim() == w.dim() == len(stride) + 2 and x.dtype is w.dtype, "a convolution", x, w)
    _fits(
        x.shape[1] == w.shape[1] * groups and (b is None or b.shape == w.shape[:1]), "channels of a convolution", x, w
    )
    out = _windows(x.shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    _fits(all(n > 0 for n in out), "the kernel of a convolution is larger than its data", x, w)
    y = _empty((x.shape[0], w.shape[0], *out), x.dtype, w if memory_format(x) is torch.contiguous_format else x)
    _fits(residual is None or residual.shape == y.shape, "what is added to a convolution", y, residual)
    return y


@_enter("conv")
def pack(w, x_shape, stride, dilate, pad, groups, exact=False):
    layout = CHANNELS_LAST.get(w.dim(), torch.contiguous_format)
    return torch.empty(w.shape, dtype=w.dtype, device="meta", memory_format=layout)


@_enter("conv")
def code_conv(x, w, b, stride, dilate, pad, groups):
    _fits(w.dtype is torch.int8 and x.dtype in (torch.int8, torch.uint8), "a convolution of codes", x, w)
    real = _empty(x.shape, torch.float32, x), _empty(w.shape, torch.float32, w)
    return conv(*real, b, stride, dilate, pad, groups)


@_enter("conv")
def pack_codes(w, x_shape, stride, dilate, pad, groups, signed):
    return _empty(w.shape, w.dtype)


@_enter("conv")
def conv_data_grad(dy, w, x_shape, stride, dilate, pad, groups):
    _fits(dy.shape[1] == w.shape[0] and x_shape[1] == w.shape[1] * groups, "channels of a convolution", dy, w)
    out = _windows(x_shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    _fits(tuple(dy.shape[2:]) == out, "windows of a convolution", dy, w)
    return _empty(x_shape, dy.dtype, dy)


@_enter("conv")
def conv_weight_grad(dy, x, w_shape, stride, dilate, pad, groups):
    return _empty(w_shape, dy.dtype, dy)


@_enter("conv")
def conv_bias_grad(dy):
    return _empty((dy.shape[1],), dy.dtype)


@_enter("pool")
def max_pool(x, kernel, stride, pad, places=True):
    shape = (*x.shape[:2], *_windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad))
    return _empty(shape, x.dtype, x), _empty(shape, torch.int64, x) if places else None


@_enter("pool")
def max_pool_grad(dy, argmax, x_shape, kernel, stride, pad):
    return _empty(x_shape, dy.dtype, dy)


@_enter("pool")
def avg_pool(x, kernel, stride, pad, count_include_pad):
    return _empty((*x.shape[:2], *_windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad)), x.dtype, x)


@_enter("pool")
def avg_pool_grad(dy, x_shape, kernel, stride, pad, count_include_pad):
    return _empty(x_shape, dy.dtype, dy)


def _channels(x, axis, *parameters):
    for p in parameters:
        _fits(
            p is None or tuple(p.shape) == (x.shape[axis],),
            "a normalisation",
            x,
            *(q for q in parameters if q is not None),
        )


@_enter("norm")
def batch_norm(x, gamma, beta, axis, eps):
    _channels(x, axis, gamma, beta)
    kind = wide_type(x.dtype)
    return _empty(x.shape, x.dtype, x), _empty((x.shape[axis],), kind), _empty((x.shape[axis],), kind)


@_enter("norm")
def batch_norm_inference(x, gamma, beta, mean, var, axis, eps):
    _channels(x, axis, gamma, beta, mean, var)
    return _empty(x.shape, x.dtype, x)


def _grads(x, gamma, size):
    kind = wide_type(x.dtype) if gamma is None else gamma.dtype
    return _empty(x.shape, x.dtype, x), _empty((size,), kind), _empty((size,), kind)


@_enter("norm")
def batch_norm_grad(dy, x, gamma, mean, rstd, axis):
    return _grads(x, gamma, x.shape[axis])


@_enter("norm")
def batch_norm_inference_grad(dy, x, gamma, mean, var, axis, eps):
    return _grads(x, gamma, x.shape[axis])


@_enter("norm")
def move_statistics(moving_mean, moving_var, mean, rstd, momentum, eps):
    """Gives nothing; ATen's description of the steps would import its compiler, which takes 130 MB."""


@_enter("norm")
def layer_norm(x, gamma, beta, axis, eps):
    _channels(x, axis, gamma, beta)
    shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
    return _empty(x.shape, x.dtype), _empty(shape, wide_type(x.dtype)), _empty(shape, wide_type(x.dtype))


@_enter("norm")
def layer_norm_grad(dy, x, gamma, mean, rstd, axis):
    dx, dgamma, dbeta = _grads(x, gamma, x.shape[axis])
    return _empty(x.shape, x.dtype), dgamma, dbeta


@_enter("norm")
def group_norm(x, gamma, beta, num_groups, eps):
    _channels(x, 1, gamma, beta)
    _fits(x.shape[1] % num_groups == 0, f"{num_groups} groups", x)
    shape = (x.shape[0], num_groups)
    return _empty(x.shape, x.dtype, x), _empty(shape, wide_type(x.dtype)), _empty(shape, wide_type(x.dtype))


@_enter("norm")
def group_norm_grad(dy, x, gamma, mean, rstd, num_groups):
    return _grads(x, gamma, x.shape[1])


@_enter("matmul")
def matmul(a, b, transpose_a=False, transpose_b=False):
    _fits(a.dim() > 1 and b.dim() > 1 and a.dtype is b.dtype, "a product of matrices", a, b)
    m, k = a.shape[-2:] if not transpose_a else (a.shape[-1], a.shape[-2])
    k2, n = b.shape[-2:] if not transpose_b else (b.shape[-1], b.shape[-2])
    _fits(k == k2, "a product of matrices", a, b)
    return _empty((*broadcast([a.shape[:-2], b.shape[:-2]]), m, n), a.dtype)


@_enter("matmul")
def linear(x, w, b=None, activation=None, residual=None):
    _fits(w.dim() == 2 and x.dim() > 0 and x.shape[-1] == w.shape[1] and x.dtype is w.dtype, "a linear layer", x, w)
    _fits(b is None or tuple(b.shape) == (w.shape[0],), "the bias of a linear layer", w, w if b is None else b)
    y = _empty((*x.shape[:-1], w.shape[0]), x.dtype)
    _fits(residual is None or residual.shape == y.shape, "what is added to a linear layer", y, residual)
    return y


@_enter("matmul")
def pack(w, rows):  # noqa: F811 - the one of another room
    return _empty(w.shape, w.dtype)


def _same(room, *names):
    def function(x, *rest):
        return _empty(x.shape, x.dtype)

    KERNELS.update({f"{room}.{name}": function for name in names})


_same("softmax", "softmax", "onednn_softmax", "log_softmax", "softmax_grad", "log_softmax_grad")
_same("linalg", "cholesky", "inverse")
_same("index", "index_put")
_same("sort", "sort_values")


@_enter("softmax")
def masked_softmax(x, length, axis):
    _fits(length.shape == _without(x.shape, axis), "lengths of rows", x, length)
    return _empty(x.shape, x.dtype)


@_enter("softmax")
def cross_entropy(logits, label, axis):
    _fits(label.shape == _without(logits.shape, axis), "labels of rows", logits, label)
    return _empty(label.shape, logits.dtype)


@_enter("softmax")
def cross_entropy_grad(dloss, logits, label, axis):
    return _empty(logits.shape, logits.dtype)


def _without(shape, axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _reduction(name):
    def function(x, axes, keepdims, dtype=None):
        _fits(name not in ("max", "min") or all(x.shape[a] for a in axes), f"{name} over nothing", x)
        return _reduced(x, axes, keepdims, dtype or x.dtype)

    function.__name__ = name
    _enter("reduce")(function)


for _name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "logsumexp"):
    _reduction(_name)


def _truth(name):
    def function(x, axes, keepdims):
        return _reduced(x, axes, keepdims, torch.bool)

    function.__name__ = name
    _enter("reduce")(function)


for _name in ("all", "any"):
    _truth(_name)


@_enter("reduce")
def norm(x, ord, axes, keepdims):
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord={ord} was given; accepted are 1 and 2")
    return _reduced(x, axes, keepdims, x.dtype if x.is_floating_point() else torch.float32)


@_enter("reduce")
def moments(x, axes, keepdims):
    return _reduced(x, axes, keepdims, x.dtype), _reduced(x, axes, keepdims, x.dtype)


def _running(name):
    def function(x, axis, dtype=None):
        return _empty(x.shape, dtype or x.dtype)

    function.__name__ = name
    _enter("reduce")(function)


for _name in ("cumsum", "cumprod"):
    _running(_name)


def _reduced(x, axes, keepdims, dtype):
    return _empty([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes], dtype)


def _place(name):
    def function(x, axis, keepdims, dtype=torch.int64):
        need_elements(name, x, (axis,))
        return _reduced(x, (axis % x.dim(),), keepdims, dtype)

    function.__name__ = name
    _enter("reduce")(function)


for _name in ("argmax", "argmin"):
    _place(_name)


@_enter("index")
def pick(x, indices, axis, keepdims):
    axis %= x.dim()
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    _fits(len(rest) == indices.dim() and all(map(operator.le, indices.shape, rest)), "pick", x, indices)
    shape = list(indices.shape)
    if keepdims:
        shape.insert(axis, 1)
    return _empty(shape, x.dtype)


def _gradient(room, name, given):
    """A gradient of the shape that is among the arguments, at the place `given`."""

    def function(dy, *rest):
        return _empty(rest[given - 1], dy.dtype)

    function.__name__ = name
    _enter(room)(function)


for _name, _given in (
    ("take_grad", 3), ("pick_grad", 3), ("scatter_along_add", 3), ("scatter_nd", 2), ("scatter_nd_add", 2),
):  # fmt: skip
    _gradient("index", _name, _given)


@_enter("index")
def take(x, indices, axis):
    return _empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@_enter("index")
def gather_nd(x, indices):
    return _empty((*indices.shape[1:], *x.shape[indices.shape[0] :]), x.dtype)


@_enter("index")
def gather_along(x, indices, axis):
    axis %= x.dim()
    shape = list(broadcast([_without(x.shape, axis), _without(indices.shape, axis)]))
    shape.insert(axis, indices.shape[axis])
    return _empty(shape, x.dtype)


@_enter("index")
def index_get(x, index_tuple):
    if any(i is not None and i.dtype is torch.bool for i in index_tuple):
        return torch.ops.aten.index(x, list(index_tuple))  # which refuses: the shape depends on values
    places = [axis for axis, i in enumerate(index_tuple) if i is not None]
    rest = [n for axis, n in enumerate(x.shape) if axis not in places]
    at = places[0] if places == [*range(places[0], places[-1] + 1)] else 0
    return _empty((*rest[:at], *broadcast([index_tuple[a].shape for a in places]), *rest[at:]), x.dtype)


@_enter("index")
def index_put_add(base, view, index, value):
    return base


@_enter("index")
def embedding(indices, weight):
    return _empty((*indices.shape, *weight.shape[1:]), weight.dtype)


@_enter("index")
def embedding_grad(dy, indices, weight_shape):
    return _empty(weight_shape, dy.dtype)


def _places(name):
    def function(indices, n):
        return _empty(indices.shape, torch.int64)

    function.__name__ = name
    _enter("index")(function)


for _name in ("clipped", "wrapped", "wrapped_negative"):
    _places(_name)


@_enter("index")
def one_hot(indices, depth, on_value, off_value, dtype):
    return _empty((*indices.shape, depth), dtype)


@_enter("index")
def sequence_reverse(x, lengths):
    return _empty(x.shape, x.dtype)


def _sorted(name):
    def function(x, *how):
        k, axis = (how[0], how[1]) if name == "topk" else (x.shape[how[0]], how[0])
        shape = list(x.shape)
        shape[axis] = k
        return _empty(shape, x.dtype), _empty(shape, torch.int64)

    function.__name__ = name
    _enter("sort")(function)


for _name in ("sort", "topk"):
    _sorted(_name)


@_enter("sort")
def topk_indices(x, k, axis, largest, dtype=torch.int64):
    shape = list(x.shape)
    shape[axis] = k
    return _empty(shape, dtype)


def _sampler(name):
    def function(shape, *rest):
        *_, dtype, _, _ = rest  # the device and the key come after it
        return _empty(shape, dtype)

    function.__name__ = name
    _enter("random")(function)


for _name in (
    "uniform", "normal", "randint", "bernoulli", "exponential", "gamma", "poisson", "negative_binomial",
    "generalized_negative_binomial",
):  # fmt: skip
    _sampler(_name)


@_enter("linalg")
def triangular_solve(a, b, lower, transpose, rightside):
    return _empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@_enter("linalg")
def det(a):
    return _empty(a.shape[:-2], a.dtype)


@_enter("linalg")
def slogdet(a):
    return det(a), det(a)


def _eigen(name):
    def function(a):
        values, vectors = _empty(a.shape[:-1], a.dtype), _empty(a.shape, a.dtype)
        return (vectors, values) if name == "syevd" else (values, vectors)

    function.__name__ = name
    _enter("linalg")(function)


for _name in ("eigh", "syevd", "eig"):
    _eigen(_name)


@_enter("linalg")
def pinv(a, cutoff):
    return _empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@_enter("linalg")
def solve(a, b):
    if b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]):  # vectors
        return _empty((*broadcast([a.shape[:-2], b.shape[:-1]]), b.shape[-1]), b.dtype)
    return _empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@_enter("linalg")
def qr(a, complete=False):
    *batch, m, n = a.shape
    k = m if complete else min(m, n)
    return _empty((*batch, m, k), a.dtype), _empty((*batch, k, n), a.dtype)


@_enter("linalg")
def lq(a):
    *batch, m, n = a.shape
    return _empty((*batch, min(m, n), n), a.dtype), _empty((*batch, m, min(m, n)), a.dtype)


@_enter("linalg")
def svd(a):
    *batch, m, n = a.shape
    k = min(m, n)
    return _empty((*batch, m, k), a.dtype), _empty((*batch, k), a.dtype), _empty((*batch, k, n), a.dtype)


def _step(name):
    """A step of an optimizer, which changes arrays in place and gives nothing."""

    def function(w, g, *state, **how):
        _fits(w.shape == g.shape, name, w, g)

    function.__name__ = name
    _enter("optimizer")(function)


for _name in (
    "sgd_", "sgd_momentum_", "nag_", "signsgd_", "signum_", "dcasgd_", "adam_", "adamw_", "adamax_", "nadam_", "rmsprop_",
    "rmspropalex_", "adagrad_", "group_adagrad_", "adadelta_", "ftrl_", "ftml_", "sgld_", "lamb_phase2_",
):  # fmt: skip
    _step(_name)


@_enter("optimizer")
def lamb_phase1(w, g, mean, *rest, **how):
    return _empty(w.shape, mean.dtype)


@_enter("optimizer")
def sum_squares(x, segments=None):
    return _empty((1 if segments is None else len(segments),), wide_type(x.dtype))


@_enter("pool")
def max_pool_gather(ddx, argmax):
    return _empty(argmax.shape, ddx.dtype, ddx)


def _sized(name):
    def function(x, size, align_corners=False):
        return _empty((*x.shape[:2], *size), x.dtype)

    function.__name__ = name
    _enter("vision")(function)


for _name in ("resize_bilinear", "adaptive_avg_pool"):
    _sized(_name)
for _name, _given in (
    ("resize_bilinear_grad", 1), ("adaptive_avg_pool_grad", 1), ("roi_pool_grad", 2), ("rotated_roi_align_grad", 5),
):  # fmt: skip
    _gradient("vision", _name, _given)


@_enter("vision")
def rotated_roi_align(data, rois, pooled, scale, ratio):
    return _empty((rois.shape[0], data.shape[1], *pooled), data.dtype)


@_enter("vision")
def roi_pool_gather(x, places):
    return _empty(places.shape, x.dtype)


@_enter("vision")
def bilinear_sample(data, grid):
    return _empty((*data.shape[:2], *grid.shape[2:]), data.dtype)


@_enter("vision")
def bilinear_sample_grad(dy, data, grid):
    return _empty(data.shape, data.dtype), _empty(grid.shape, grid.dtype)


@_enter("vision")
def columns(x, kernel, stride, dilate, pad):
    windows = _windows(x.shape[2:], kernel, stride, dilate, [(p, p) for p in pad])
    _fits(all(n > 0 for n in windows), "the kernel is larger than the data", x)
    return _empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(windows)), x.dtype)


@_enter("vision")
def columns_grad(dy, size, kernel, stride, dilate, pad):
    return _empty((dy.shape[0], dy.shape[1] // math.prod(kernel), *size), dy.dtype)


@_enter("vision")
def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    channels = data.shape[1] // (pooled[0] * pooled[1]) if by_position else data.shape[1]
    return _empty((rois.shape[0], channels, *pooled), data.dtype)


@_enter("vision")
def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    return _empty(data_shape, dy.dtype)


@_enter("boxes")
def overlaps(lhs, rhs, center):
    return _empty((*lhs.shape[:-1], *rhs.shape[:-1]), torch.promote_types(lhs.dtype, rhs.dtype))


@_enter("boxes")
def suppress(data, *how):
    return _empty(data.shape, data.dtype), _empty((*data.shape[:2], 1), data.dtype)


@_enter("boxes")
def put_rows(rows, index, count):
    return _empty((count, rows.shape[1]), rows.dtype)


@_enter("boxes")
def take_rows(x, index):
    return _empty((index.shape[0], x.shape[1]), x.dtype)


@_enter("boxes")
def encode(samples, matches, anchors, truth, means, stds):
    kind = torch.promote_types(anchors.dtype, truth.dtype)
    return _empty((*samples.shape, 4), kind), _empty((*samples.shape, 4), kind)


@_enter("boxes")
def decode(data, anchors, stds, clip, center):
    return _empty(data.shape, torch.promote_types(data.dtype, anchors.dtype))


@_enter("boxes")
def targets(anchors, labels, *how):
    shape = labels.shape[0], math.prod(anchors.shape[:-1])
    offsets = shape[0], 4 * shape[1]
    return _empty(offsets, labels.dtype), _empty(offsets, labels.dtype), _empty(shape, labels.dtype)


@_enter("boxes")
def detections(scores, offsets, *how):
    return _empty((scores.shape[0], scores.shape[2], 6), torch.promote_types(scores.dtype, offsets.dtype))


@_enter("boxes")
def priors(data, sizes, ratios, clip, steps, offsets):
    return _empty((1, data.shape[2] * data.shape[3] * (len(sizes) + len(ratios) - 1), 4), data.dtype)


@_enter("boxes")
def proposals(scores, deltas, info, before, after, threshold, least, scales, ratios, stride, plain_corners):
    batch, kinds, *places = scores.shape
    boxes = (batch, 2 * kinds, *places)
    _fits(kinds == 2 * len(scales) * len(ratios) and deltas.shape == boxes, "proposals of anchors", scores, deltas)
    return _empty((batch * after, 5), wide_type(scores.dtype)), _empty((batch * after, 1), scores.dtype)


@_enter("deformable")
def columns(x, offset, mask, kernel, stride, dilate, pad, groups):  # noqa: F811 - the one of another room
    return _empty((*x.shape[:2], kernel[0] * kernel[1], offset.shape[2] * offset.shape[3]), x.dtype)


@_enter("deformable")
def columns_grad(dy, x, offset, mask, kernel, stride, dilate, pad, groups):  # noqa: F811 - the one of another room
    fading = _empty((0,) if mask is None else mask.shape, x.dtype)
    return _empty(x.shape, x.dtype), _empty(offset.shape, offset.dtype), fading


@_enter("random")
def dropout(x, p, key, axes=()):
    return _empty(x.shape, x.dtype, x)


@_enter("correlation")
def correlate(first, second, size, reach, stride, step, pad, multiply):
    out = [-(-(n + 2 * pad - 2 * (reach + size // 2)) // stride) for n in first.shape[2:]]
    _fits(all(n > 0 for n in out), "the patches of a correlation are larger than the maps", first, second)
    return _empty((first.shape[0], (2 * (reach // step) + 1) ** 2, *out), first.dtype)


@_enter("correlation")
def correlate_grad(dy, first, second, *how):
    return _empty(first.shape, dy.dtype), _empty(second.shape, dy.dtype)
