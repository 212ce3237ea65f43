"""The kernels that stretches take: for each a function of what its call is given, which makes oneDNN's primitives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from core.kernels.cpu import _winograd, onednn
from core.kernels.cpu._lengths import additive_mask, seen
from core.kernels.cpu._onednn import multiplies_half, multiplies_quantized
from core.kernels.cpu._stretch_values import (
    Call,
    Data,
    Given,
    Ints,
    Packed,
    Parameter,
    fresh,
    in_blocks,
    in_float32,
    lies_both_ways,
    need,
)
from core.kernels.cpu.onednn import Layout, Primitive
from core.kernels.formula import Expr, Formula
from core.kernels.layout import CHANNELS_LAST

SCORES = 2**23  # bytes of the scores up to which an attention is taken; beyond, ATen's flash kernel is as fast
Pads = tuple[tuple[int, int], ...]
Taken = tuple[list[Call], Data, int]  # with the multiplications


def conv(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    activation: str | None = None, residual: Data | None = None, overwrite: bool = False, begins: bool = False,
) -> Taken:  # fmt: skip
    """begins: the image, of few channels, is read as it comes from outside, and the result lies in blocks."""
    need(isinstance(x, Data) and isinstance(w, Parameter))
    size = tuple(w.tensor.shape)
    need(len(size) == len(x.shape) in CHANNELS_LAST)
    need(not _winograd.suits(w.tensor, x.shape, stride, dilate, pad, groups))
    if begins:
        need(len(size) == 4 and x.memory.key is not None and size[1] < onednn.BLOCK <= size[0] and groups == 1)
        x = x.derived(Tensor.contiguous)
    made, ending, added = _ended(shape, x, activation, residual, overwrite, shape, begins or x.blocked)
    how = stride, dilate, pad, ending
    primitive = onednn.convolution(x.layout(), _any(w, groups), _vector(b), made.layout(), *how)
    return _product("conv", primitive, x.layout(), x, w, b, groups, made.layout(), made, added)


def linear(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None = None, activation: str | None = None,
    residual: Data | None = None, overwrite: bool = False,
) -> Taken:  # fmt: skip
    need(isinstance(x, Data) and isinstance(w, Parameter) and len(x.shape) < 4)
    outputs, inputs = w.tensor.shape
    rows = math.prod(x.shape[:-1])
    made, ending, added = _ended(shape, x, activation, residual, overwrite, (rows, outputs))
    source, target = x.layout(rows, inputs), made.layout(rows, outputs)
    primitive = onednn.product(source, _any(w, 1), _vector(b), target, ending)
    return _product("linear", primitive, source, x, w, b, 1, target, made, added)


def max_pool(shape: Ints, x: Data, kernel: Ints, stride: Ints, pad: Pads, positions: bool = True) -> Taken:
    need(not positions)
    return _pooled("max_pool", shape, x, kernel, stride, pad)


def avg_pool(shape: Ints, x: Data, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Taken:
    need(x.dtype in onednn.FLOATS)
    need(all(hi <= lo < k for (lo, hi), k in zip(pad, kernel, strict=True)))
    return _pooled("avg_pool", shape, x, kernel, stride, pad, mean=True, padded=count_include_pad)


def mean(shape: Ints, x: Data, axes: Ints, keepdims: bool, dtype: torch.dtype | None = None) -> Taken:
    need(isinstance(x, Data) and x.dtype in onednn.FLOATS and dtype in (None, x.dtype))
    need(tuple(axes) == tuple(range(2, len(x.shape))))
    n = len(axes)
    return _pooled("mean", shape, x, x.shape[2:], (1,) * n, ((0, 0),) * n, mean=True)


def pointwise(
    shape: Ints, formula: Formula, operands: Sequence[Any], attrs: Sequence[float], dtype: torch.dtype
) -> Taken:  # fmt: skip
    """Sums and products of two values that calls made, as by squeeze-and-excitation (Hu et al., 2018)."""
    if formula.name in ("nearest", "nearest_scaled"):
        return nearest(shape, attrs, dtype, *operands)
    if formula.name == "scaled":
        return scaled(shape, *operands)
    root = formula.root
    need(root.op in onednn.BINARY and {a.op for a in root.args if isinstance(a, Expr)} == {"input"} and not attrs)
    need(len(operands) == 2 and all(isinstance(a, Data) and a.memory.key is None for a in operands))
    x, other = sorted(operands, key=lambda a: a.shape != shape)
    need(x.shape == shape and len(other.shape) == len(shape) and x.dtype is other.dtype is dtype)
    need(other.blocked is x.blocked or (x.blocked and lies_both_ways(other.shape)))
    made = fresh(shape, dtype, blocked=x.blocked)
    second = in_blocks(other.shape, dtype) if x.blocked else other.layout()
    primitive = onednn.binary(root.op, x.layout(), second, made.layout())
    arguments = [
        (onednn.SOURCE, x.layout(), x),
        (onednn.SECOND, second, other),
        (onednn.DESTINATION, made.layout(), made),
    ]
    return [Call(root.op, primitive, arguments)], made, 0


def scaled(shape: Ints, x: Data, scale: Parameter, shift: Parameter) -> Taken:
    """x * scale + shift of channels: a normalisation whose mean is 0 and whose variance is 1."""
    along = shape[1:2] + (1,) * (len(shape) - 2)
    need(all(isinstance(p, Parameter) and tuple(p.tensor.shape) == along for p in (scale, shift)))
    need(scale.tensor.dtype is torch.float32)
    mean, variance = (Parameter(scale.key, scale.tensor, like) for like in (torch.zeros_like, torch.ones_like))
    return batch_norm_inference(shape, x, scale, shift, mean, variance, 1, 0.0)


def batch_norm_inference(
    shape: Ints, x: Data, gamma: Parameter, beta: Parameter, mean: Parameter, var: Parameter, axis: int, eps: float
) -> Taken:
    need(isinstance(x, Data) and axis == 1 and len(shape) in CHANNELS_LAST and math.prod(shape) > 0)
    need(x.dtype in onednn.FLOATS and x.shape == shape)
    made, vector = fresh(shape, x.dtype, blocked=x.blocked), Layout((shape[1],), (1,), torch.float32)
    given = {onednn.SCALE: gamma, onednn.SHIFT: beta, onednn.MEAN: mean, onednn.VARIANCE: var}
    need(all(isinstance(p, Parameter) for p in given.values()))
    parameters = [(which, vector, in_float32(p)) for which, p in given.items()]

    def call(activation: str | None) -> Call:
        need(activation in (None, "relu"))
        primitive = onednn.batch_norm(x.layout(), made.layout(), eps, activation is not None)
        arguments = [(onednn.SOURCE, x.layout(), x), *parameters, (onednn.DESTINATION, made.layout(), made)]
        return Call("batch_norm", primitive, arguments, None if activation else call)

    return [call(None)], made, 0


def requantized_conv(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None, scale: Parameter, stride: Ints, dilate: Ints, pad: Ints,
    groups: int, signed: bool, residual: Data | None = None, meaning: Parameter | None = None, overwrite: bool = False,
) -> Taken:  # fmt: skip
    need(_are_quantized(x, w, scale) and len(w.tensor.shape) == len(x.shape) in CHANNELS_LAST)
    kind = torch.int8 if signed else torch.uint8
    made, own, factor, before = fresh(shape, kind), kind, 1.0, []
    if residual is not None:
        need(isinstance(residual, Data) and isinstance(meaning, Parameter) and meaning.number is not None)
        own, factor = residual.dtype, meaning.number
        if overwrite and residual.memory.key is None and residual.memory is not x.memory:
            made = Data(residual.tensor.view(kind), memory=residual)
        else:
            before = [copied("copy", residual, made, own)]
    target = made.layout(dtype=own)  # from 0 to 127 an int8 is a uint8
    ending = onednn.attributes(
        None if own is kind else "relu", in_place=residual is not None, factor=factor,
        scaled={onednn.WEIGHTS: 1 if groups == 1 else 3},
    )  # fmt: skip
    how = stride, dilate, pad, ending
    primitive = onednn.convolution(x.layout(), _any(w, groups), _vector(b), target, *how)
    calls, made, work = _product("quantized conv", primitive, x.layout(), x, w, b, groups, target, made, scale=scale)
    return [*before, *calls], made, work


def quantized_linear(
    shape: Ints, x: Data, w: Parameter, scale: Parameter, b: Parameter | None = None, rectify: bool = False
) -> Taken:
    need(_are_quantized(x, w, scale) and len(x.shape) < 4)
    outputs, inputs = w.tensor.shape
    rows, made = math.prod(x.shape[:-1]), fresh(shape, torch.float32)
    source, target = x.layout(rows, inputs), made.layout(rows, outputs)
    scaled = {onednn.WEIGHTS: int(scale.tensor.numel() > 1)}

    def taken(activation: str | None) -> Taken:
        ending = onednn.attributes(activation, scaled=scaled)
        primitive = onednn.product(source, _any(w, 1), _vector(b), target, ending)
        return _product("quantized linear", primitive, source, x, w, b, 1, target, made, scale=scale)

    calls, *rest = taken("relu" if rectify else None)
    if not rectify:
        calls[0].ended = lambda activation: taken(activation)[0][0]
    return calls, *rest


def nearest(shape: Ints, attrs: Sequence[float], dtype: torch.dtype, x: Data, scale: Parameter | None = None) -> Taken:
    """The integers of eight bits nearest to x * scale, all that the type has."""
    limits = torch.iinfo(dtype)
    need(isinstance(x, Data) and x.dtype is torch.float32 and tuple(attrs[:2]) == (limits.max, limits.min))
    need(scale is None or (isinstance(scale, Parameter) and scale.tensor.numel() == 1))
    made = fresh(shape, dtype)
    return [copied("quantize", x, made, dtype, scale)], made, 0


def layer_norm(shape: Ints, x: Data, gamma: Parameter, beta: Parameter, axis: int, eps: float) -> Taken:
    need(isinstance(x, Data) and isinstance(gamma, Parameter) and isinstance(beta, Parameter))
    need(axis == len(shape) - 1 and x.dtype in onednn.FLOATS and math.prod(shape) > 0)
    gamma, beta, made = in_float32(gamma), in_float32(beta), fresh(shape, x.dtype)
    rows = math.prod(shape[:-1]), shape[-1]
    source, target, vector = x.layout(*rows), made.layout(*rows), Layout(shape[-1:], (1,), torch.float32)
    arguments = [
        (onednn.SOURCE, source, x),
        (onednn.SCALE, vector, gamma),
        (onednn.SHIFT, vector, beta),
        (onednn.DESTINATION, target, made),
    ]
    return [Call("layer_norm", onednn.layer_norm(source, target, eps), arguments)], made, 0


def attention(
    shape: Ints, q: Data, k: Data, v: Data, scale: float, causal: bool, length: Data | None, dropout: float,
    key: int | None,
) -> Taken:  # fmt: skip
    """A softmax between two products. Of more scores than caches hold, ATen's flash kernel keeps none."""
    need(all(isinstance(x, Data) and x.dtype is q.dtype for x in (q, k, v)) and q.shape[3] == v.shape[3])
    need(q.dtype is torch.float32 or (q.dtype in onednn.FLOATS and multiplies_half(q.dtype)))
    need(length is None or (isinstance(length, Data) and length.memory.key is not None))
    keys, width = k.shape[2:]
    scores = Data(torch.empty((*q.shape[:3], keys), device="meta"))
    weights = scores if q.dtype is torch.float32 else Data(scores.tensor.to(q.dtype))
    need(not causal and not dropout and scale > 0 and scores.nbytes * width > 0 and scores.nbytes <= SCORES)
    made = Data(torch.empty_like(q.tensor))
    mask = None if length is None else length.derived(additive_mask, keys)
    ending = onednn.attributes(None, mask and mask.layout(), scale=scale)
    lie, weigh, queries, values, read = (_matrices(x) for x in (scores, weights, q, v, made))
    turned = _matrices(Data(k.tensor.mT, memory=k))
    product = [(onednn.SOURCE, queries, q), (onednn.WEIGHTS, turned, k), (onednn.DESTINATION, lie, scores)]
    if mask is not None:
        product.append((onednn.ADDEND, mask.layout(), mask))
    calls = [Call("batch_dot", onednn.batch_product(queries, turned, lie, ending), product)]
    shares = [(onednn.SOURCE, lie, scores), (onednn.DESTINATION, weigh, weights)]
    calls.append(Call("softmax", onednn.softmax(lie, weigh, 3), shares))
    product = [(onednn.SOURCE, weigh, weights), (onednn.WEIGHTS, values, v), (onednn.DESTINATION, read, made)]
    calls.append(Call("batch_dot", onednn.batch_product(weigh, values, read, onednn.attributes(None)), product))
    if length is not None:
        calls.append(_where_seen(made, length))
    return calls, made, 2 * math.prod(scores.shape) * width


def _matrices(x: Data) -> Layout:
    """Of the last two axes, behind others; axes of length 1 are the outermost, where oneDNN expects them."""
    need(not x.blocked)
    steps = [step if n > 1 else math.prod(x.shape) for n, step in zip(x.shape, x.tensor.stride(), strict=True)]
    return Layout(x.shape, steps, x.dtype)


def _where_seen(made: Data, length: Data) -> Call:
    """What samples without keys read is 0."""
    axes = sorted(range(4), key=made.tensor.stride, reverse=True)
    inner = math.prod(made.shape[a] for a in axes[axes.index(0) + 1 : 3])
    count, width = math.prod(made.shape[:3]), made.shape[3]
    rows, lies = length.derived(seen, inner, count), Layout((count, width), (width, 1), made.dtype)
    arguments = [(onednn.SOURCE, lies, made), (onednn.SECOND, rows.layout(), rows), (onednn.DESTINATION, lies, made)]
    return Call("mul", onednn.binary("mul", lies, rows.layout(), lies), arguments)


TAKEN: dict[str, Callable[..., Taken]] = {
    "attention.attention": attention,
    "conv.conv": conv,
    "conv.requantized_conv": requantized_conv,
    "matmul.linear": linear,
    "matmul.quantized_linear": quantized_linear,
    "norm.batch_norm_inference": batch_norm_inference,
    "norm.layer_norm": layer_norm,
    "pointwise.pointwise": pointwise,
    "pool.max_pool": max_pool,
    "pool.avg_pool": avg_pool,
    "reduce.mean": mean,
}


def _ended(
    shape: Ints, x: Data, activation: str | None, residual: Data | None, overwrite: bool, as_shape: Ints,
    blocked: bool = False,
) -> tuple[Data, onednn.Handle, list[Given]]:  # fmt: skip
    """The result of a product, how it ends, and the argument for what is added to it from other memory."""
    need(x.dtype in onednn.FLOATS and math.prod(x.shape) * math.prod(shape) > 0)
    if residual is None:
        return fresh(shape, x.dtype, blocked=blocked), onednn.attributes(activation), []
    need(isinstance(residual, Data) and residual.dtype is x.dtype and residual.shape == shape)
    need(residual.blocked is blocked)
    if overwrite and residual.memory.key is None and residual.memory is not x.memory:
        made = Data(residual.tensor, memory=residual, blocked=blocked)
        return made, onednn.attributes(activation, in_place=True), []
    lies = residual.layout(*as_shape)
    made = fresh(shape, x.dtype, blocked=blocked)
    return made, onednn.attributes(activation, lies), [(onednn.ADDEND, lies, residual)]


def _product(
    kernel: str, primitive: Primitive, source: Layout, x: Data, w: Parameter, b: Parameter | None, groups: int,
    target: Layout, made: Data, added: Sequence[Given] = (), scale: Parameter | None = None,
) -> Taken:  # fmt: skip
    chosen = primitive.chosen(onednn.WEIGHTS)
    packed = Parameter(w.key, w.tensor, Packed(chosen, _by_groups(tuple(w.tensor.shape), groups)))
    arguments = [(onednn.SOURCE, source, x), (onednn.WEIGHTS, chosen, packed)]
    if b is not None:
        arguments.append((onednn.BIAS, _vector(b), b))
    if scale is not None:
        arguments.append(_scaled(onednn.WEIGHTS, scale))
    arguments += [*added, (onednn.DESTINATION, target, made)]
    return [Call(kernel, primitive, arguments)], made, math.prod(made.shape) * math.prod(w.tensor.shape[1:])


def _pooled(kernel: str, shape: Ints, x: Data, window: Ints, stride: Ints, pad: Pads, **how: bool) -> Taken:
    need(isinstance(x, Data) and len(x.shape) in CHANNELS_LAST and x.dtype in onednn.TYPES)
    whole = *shape, *(1,) * (len(x.shape) - len(shape))
    y = fresh(whole, x.dtype, blocked=x.blocked and not lies_both_ways(whole))
    target = in_blocks(whole, x.dtype) if x.blocked else y.layout()
    primitive = onednn.pooling(x.layout(), target, window, stride, pad, **how)
    calls = [Call(kernel, primitive, [(onednn.SOURCE, x.layout(), x), (onednn.DESTINATION, target, y)])]
    if shape == whole:
        return calls, y, 0
    if y.blocked:
        y, source = fresh(whole, x.dtype), y
        calls.append(copied("copy", source, y, x.dtype))
    return calls, Data(y.tensor.view(shape), memory=y), 0


def copied(title: str, x: Data, made: Data, dtype: torch.dtype, scale: Parameter | None = None) -> Call:
    """Writes the numbers of x, times a scale, as such a type."""
    source, target = x.layout(), made.layout(dtype=dtype)
    arguments = [(onednn.SOURCE, source, x), (onednn.DESTINATION, target, made)]
    if scale is not None:
        arguments.append(_scaled(onednn.SOURCE, scale))
    return Call(title, onednn.copy(source, target, scale is not None), arguments)


def _scaled(argument: int, scale: Parameter) -> Given:
    """What the numbers of an argument stand for."""
    return onednn.SCALES | argument, Layout((scale.tensor.numel(),), (1,), torch.float32), scale


def _are_quantized(x: Data, w: Parameter, scale: Parameter) -> bool:
    """Whether these are integers and what their products stand for, and the processor sums such products in 32 bits."""
    known = isinstance(x, Data) and isinstance(w, Parameter) and isinstance(scale, Parameter)
    return known and math.prod(x.shape) * w.tensor.numel() > 0 and multiplies_quantized()


def _any(w: Parameter, groups: int) -> Layout:
    return Layout(_by_groups(tuple(w.tensor.shape), groups), None, w.tensor.dtype)


def _vector(b: Parameter | None) -> Layout | None:
    if b is None:
        return None
    need(isinstance(b, Parameter) and b.tensor.dtype in onednn.FLOATS)
    return Layout(tuple(b.tensor.shape), (1,), b.tensor.dtype)


def _by_groups(shape: Ints, groups: int) -> Ints:
    return shape if groups == 1 else (groups, shape[0] // groups, *shape[1:])
