"""Kernels on tensors without memory: what shape, dtype and layout their results have.

The wing that shape inference and tracing use. ATen can run on such tensors itself, but does so in Python for most
operators, and imports its compiler for it; kernels that are not here go that way. Arguments are those of the CPU wing.
RuntimeError where shapes do not fit.
"""

from __future__ import annotations

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
    real = torch.empty_like(x, dtype=torch.float32), torch.empty_like(w, dtype=torch.float32)
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


def _same(name):
    def function(x, *rest):
        return _empty(x.shape, x.dtype)

    function.__name__ = name
    _enter("softmax")(function)


for _name in ("softmax", "onednn_softmax", "log_softmax", "softmax_grad", "log_softmax_grad"):
    _same(_name)


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
        _fits(name in ("sum", "mean") or all(x.shape[a] for a in axes), f"{name} over nothing", x)
        return _reduced(x, axes, keepdims, dtype or x.dtype)

    function.__name__ = name
    _enter("reduce")(function)


for _name in ("sum", "mean", "max", "min"):
    _reduction(_name)


def _reduced(x, axes, keepdims, dtype):
    return _empty([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes], dtype)


def _place(name):
    def function(x, axis, keepdims, dtype=torch.int64):
        _fits(x.shape[axis] > 0, f"{name} over nothing", x)
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


@_enter("vision")
def resize_bilinear(x, size, align_corners):
    return _empty((*x.shape[:2], *size), x.dtype)


@_enter("vision")
def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    channels = data.shape[1] // (pooled[0] * pooled[1]) if by_position else data.shape[1]
    return _empty((rois.shape[0], channels, *pooled), data.dtype)


@_enter("vision")
def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    return _empty(data_shape, dy.dtype)


@_enter("boxes")
def priors(data, sizes, ratios, clip, steps, offsets):
    return _empty((1, data.shape[2] * data.shape[3] * (len(sizes) + len(ratios) - 1), 4), data.dtype)


@_enter("boxes")
def proposals(scores, deltas, info, before, after, threshold, least, scales, ratios, stride, plain_corners):
    batch, kinds, *places = scores.shape
    boxes = (batch, 2 * kinds, *places)
    _fits(kinds == 2 * len(scales) * len(ratios) and deltas.shape == boxes, "proposals of anchors", scores, deltas)
    return _empty((batch * after, 5), scores.dtype), _empty((batch * after, 1), scores.dtype)


@_enter("deformable")
def columns(x, offset, mask, kernel, stride, dilate, pad, groups):
    return _empty((*x.shape[:2], kernel[0] * kernel[1], offset.shape[2] * offset.shape[3]), x.dtype)


@_enter("deformable")
def columns_grad(dy, x, offset, mask, kernel, stride, dilate, pad, groups):
    fading = _empty((0,) if mask is None else mask.shape, x.dtype)
    return _empty(x.shape, x.dtype), _empty(offset.shape, offset.dtype), fading


@_enter("random")
def dropout(x, p, key, axes=()):
    return _empty(x.shape, x.dtype, x)
