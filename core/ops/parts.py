"""Operators that take arrays apart and put them together: slices, joins and splits, repeats, pads."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.extents import length_of
from core.ops.attributes import Any_, Bool, Choice, Float, Int, OpenShape, OptInt, OptShape, Positive, Scalar, Shape
from core.ops.facts import Quantized
from core.ops.registry import F, composite, gradient, operator, specialize
from core.ops.relations import JOINED, JOINED_EVENLY, SAME, SPLIT, Cut
from core.ops.shape import expect_shape, normal_axes, normal_axis
from core.ops.storage_types import FIRST_CSR, Kept
from core.ops.values import Attrs, Gradients, Namespace, Special, Tensor, Value

K = kernels.shape


# ---------------------------------------------------------------------------------------------- parts


@operator("_slice_view", index="key")
def _slice_view(data: Tensor, *, key: Any_, zero_dim: Bool = False) -> Tensor:
    """Basic indexing: shares memory where the part is contiguous."""
    part = K.take_part(data, key)
    return part if zero_dim or part.dim() else part.reshape(1)


@gradient(_slice_view)
def _slice_view_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._put_part.typed(dy, key=attrs.key, shape=data_shape)]


@operator("_put_part", memory="new")
def _put_part(data: Tensor, *, key: Any_, shape: Shape) -> Tensor:
    """Zeros with the data at a basic index."""
    return K.put_part(data, key, shape)


@gradient(_put_part)
def _put_part_gradient(dy: Value, attrs: Namespace, data_shape: tuple[int, ...]) -> Gradients:
    return [F._reshape_to(F._slice_view.typed(dy, key=attrs.key, zero_dim=False), shape=data_shape)]


def _slice_key(
    begin: tuple[int | None, ...], end: tuple[int | None, ...], step: tuple[int | None, ...], ndim: int, name: str
) -> tuple[slice, ...]:
    if len(begin) != len(end) or len(begin) > ndim:
        raise MXNetError(f"{name}: begin {begin} and end {end} do not fit an array of {ndim} axes")
    steps = () if tuple(step) == (None,) else tuple(step)  # no step at all
    steps += (None,) * (len(begin) - len(steps))
    if any(s == 0 for s in steps):
        raise MXNetError(f"{name}: a step cannot be 0")
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps, strict=True))


def _slice_length(attrs: Attrs, axis: int, rank: Any, n: int) -> Any:
    return (
        len(range(n)[_slice_key(attrs["begin"], attrs["end"], attrs["step"], rank, "slice")[axis]])
        if axis < len(attrs["begin"])
        else n
    )


@operator("slice", aliases=("crop",), shape=Cut(_slice_length), memory="new", storage=FIRST_CSR, unnamed=True)
def slice_(data: Tensor, *, begin: OpenShape, end: OpenShape, step: OpenShape = ()) -> Tensor:
    """The part from begin to end (exclusive) with one step per axis; None is open."""
    part = K.take_part(data, _slice_key(begin, end, step, data.dim(), "slice"))
    return K.clone(part) if not part.is_meta and part.data_ptr() == data.data_ptr() else part


@gradient(slice_)
def _slice_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [
        F._put_part.typed(
            dy, key=_slice_key(attrs.begin, attrs.end, attrs.step, len(data_shape), "slice"), shape=data_shape
        )
    ]


@operator("_slice_assign", aliases=("_crop_assign",), memory="new")
def slice_assign(lhs: Tensor, rhs: Tensor, *, begin: OpenShape, end: OpenShape, step: OpenShape = ()) -> Tensor:
    """lhs with rhs in the place that `slice` would read."""
    key = _slice_key(begin, end, step, lhs.dim(), "slice_assign")
    lengths = (length_of(part, n) for part, n in zip(key, lhs.shape))
    expect_shape("_slice_assign", "a part", rhs, (*lengths, *lhs.shape[len(key) :]))
    return K.set_part(lhs, rhs, key)


@gradient(slice_assign)
def _slice_assign_gradient(dy: Value, attrs: Namespace) -> Gradients:
    part = {"begin": attrs.begin, "end": attrs.end, "step": attrs.step}
    return [F._slice_assign_scalar(dy, **part), F.slice(dy, **part)]


@composite("_slice_assign_scalar", aliases=("_crop_assign_scalar",), unnamed=True)
def slice_assign_scalar(
    data: Value, *, scalar: Scalar = 0, begin: OpenShape, end: OpenShape, step: OpenShape = ()
) -> Value:
    """The data with a number in the place that `slice` would read."""
    part = F.slice(data, begin=begin, end=end, step=step)
    return F._slice_assign(data, F.full_like(part, fill_value=scalar), begin=begin, end=end, step=step)


def _slice_axis_length(attrs: Attrs, axis: int, rank: Any, n: int) -> Any:
    return len(range(n)[attrs["begin"] : attrs["end"]]) if axis == attrs["axis"] % rank else n


@operator("slice_axis", shape=Cut(_slice_axis_length), memory="new", unnamed=True)
def slice_axis(data: Tensor, *, axis: Int, begin: Int, end: OptInt) -> Tensor:
    """The part from begin to end (exclusive, None: to the last) of one axis."""
    axis = normal_axis(axis, data.dim(), "slice_axis")
    n = data.shape[axis]
    first, last = begin + n if begin < 0 else begin, n if end is None else end + n if end < 0 else end
    if not (0 <= first < last <= n or (first == 0 and last == n)):
        raise MXNetError(f"slice_axis: from {begin} to {end} is no part of an axis of length {n}")
    return K.copy_part(data, axis, first, last - first)


def _axis_key(axis: int, begin: int, end: int | None, ndim: int) -> tuple[slice, ...]:
    return (slice(None),) * normal_axis(axis, ndim, "slice_axis") + (slice(begin, end),)


@gradient(slice_axis)
def _slice_axis_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._put_part.typed(dy, key=_axis_key(attrs.axis, attrs.begin, attrs.end, len(data_shape)), shape=data_shape)]


@operator("slice_like", memory="new")
def slice_like(data: Tensor, shape_like: Tensor, *, axes: OptShape = ()) -> Tensor:
    """The data cut to the lengths of another array."""
    return K.clone(K.take_part(data, _like_key(tuple(data.shape), tuple(shape_like.shape), axes)))


def _like_key(shape: tuple[int, ...], like: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[slice, ...]:
    # MXNet cuts all axes by default, and none where it is told None.
    wanted = () if axes is None else normal_axes(axes or None, len(shape), "slice_like")
    for a in wanted:
        if like[a] > shape[a]:
            raise MXNetError(f"slice_like: axis {a} of length {shape[a]} cannot be cut to {like[a]}")
    return tuple(slice(0, like[a]) if a in wanted else slice(None) for a in range(len(shape)))


@gradient(slice_like)
def _slice_like_gradient(
    dy: Value, data_shape: tuple[int, ...], shape_like_shape: tuple[int, ...], attrs: Namespace
) -> Gradients:
    return [F._put_part.typed(dy, key=_like_key(data_shape, shape_like_shape, attrs.axes), shape=data_shape), None]


# ---------------------------------------------------------------------------------------------- joins and splits


@operator(
    "Concat", aliases=("concat",), memory="new", shape=JOINED, storage=Kept("csr"), joins="dim", layer="layout",
    quantized=Quantized("_contrib_quantized_concat"),
)  # fmt: skip
def concat(*data: Tensor, dim: Int = 1) -> Tensor:
    """Arrays of one type joined along an existing axis."""
    kind = data[0].dtype
    for x in data:
        if x.dtype is not kind:
            _refuse_types("concat", data)
    return K.concat(data, normal_axis(dim, data[0].dim(), "concat"))


@specialize(concat)
def _concat_special(attrs: Namespace) -> Special:
    return _joined(K.concat, attrs.dim)


def _joined(kernel: Callable[..., Tensor], axis: int) -> Special:
    """A join of arrays of one type along an axis, as the kernel counts it, which refuses one that is not there."""

    def run(*data: Tensor) -> Tensor:
        kind = data[0].dtype
        for x in data[1:]:
            if x.dtype is not kind:
                raise ValueError("the operator says what does not fit")
        return kernel(data, axis)

    return run


def _refuse_types(name: str, data: tuple[Tensor, ...]) -> None:
    given = ", ".join(kernels.dtype_name(x) for x in data)
    raise MXNetError(f"{name}: arrays of one dtype are joined, given {given}; convert with astype")


@gradient(concat)
def _concat_gradient(dy: Value, shapes: Sequence[tuple[int, ...]], attrs: Namespace) -> Gradients:
    axis = attrs.dim % len(shapes[0])
    return _parts(dy, [s[axis] for s in shapes], axis)


def _parts(dy: Value, lengths: list[int], axis: int) -> list[Value]:
    grads, start = [], 0
    for n in lengths:
        grads.append(F._slice_view.typed(dy, key=(slice(None),) * axis + (slice(start, start + n),), zero_dim=False))
        start += n
    return grads


@composite("_rnn_param_concat", shape=JOINED_EVENLY)
def rnn_param_concat(*data: Value, dim: Int = 1) -> Value:
    """The parameters of a recurrent network joined; those of which no length is known are of one length."""
    return F.Concat(*data, dim=dim)


@operator("stack", memory="new")
def stack(*data: Tensor, axis: Int = 0) -> Tensor:
    """Arrays of one shape and type joined along a new axis."""
    kind = data[0].dtype
    for x in data:
        if x.dtype is not kind:
            _refuse_types("stack", data)
    return K.stack(data, normal_axis(axis, data[0].dim() + 1, "stack"))


@specialize(stack)
def _stack_special(attrs: Namespace) -> Special:
    return _joined(K.stack, attrs.axis)


@gradient(stack)
def _stack_gradient(dy: Value, shapes: Sequence[tuple[int, ...]], attrs: Namespace) -> Gradients:
    before = (slice(None),) * (attrs.axis % (len(shapes[0]) + 1))
    return [F._slice_view.typed(dy, key=(*before, i), zero_dim=True) for i in range(len(shapes))]


@operator(
    "SliceChannel", aliases=("split",), outputs=lambda attrs: attrs["num_outputs"], memory="new", shape=SPLIT,
    numbered=True,
)  # fmt: skip
def split(
    data: Tensor, *, num_outputs: Positive, axis: Int = 1, squeeze_axis: Bool = False
) -> Tensor | tuple[Tensor, ...]:
    """Equal parts along an axis."""
    axis = normal_axis(axis, data.dim(), "split")
    n = data.shape[axis]
    if num_outputs < 1 or n % num_outputs:
        raise MXNetError(f"split: an axis of length {n} does not divide into {num_outputs} parts")
    if squeeze_axis and n != num_outputs:
        raise MXNetError(f"split: squeeze_axis needs parts of length 1, not {n // num_outputs}")
    return _split(data, (n // num_outputs,) * num_outputs, axis, squeeze_axis)


def _split(data: Tensor, lengths: Sequence[int], axis: int, squeeze_axis: bool) -> tuple[Tensor, ...]:
    parts = K.split(data, lengths, axis)
    return tuple(K.reshape(p, (*p.shape[:axis], *p.shape[axis + 1 :])) for p in parts) if squeeze_axis else parts


@operator(
    "_split_v2",
    outputs=lambda attrs: attrs["sections"] or len(attrs["indices"]) + (attrs["indices"][:1] != (0,)),
    memory="new",
)
def split_v2(
    data: Tensor, *, indices: Shape = (), axis: Int = 1, squeeze_axis: Bool = False, sections: Int = 0
) -> Tensor | tuple[Tensor, ...]:
    """Parts along an axis: `sections` equal ones, or cut at `indices`."""
    axis = normal_axis(axis, data.dim(), "split_v2")
    bounds = _bounds(data.shape[axis], indices, sections)
    return _split(data, [b - a for a, b in pairwise(bounds)], axis, squeeze_axis)


def _bounds(n: int, indices: tuple[int, ...], sections: int) -> list[int]:
    if sections > 0:
        if n % sections:
            raise MXNetError(f"split_v2: an axis of length {n} does not divide into {sections} parts")
        return [n // sections * i for i in range(sections + 1)]
    return [*([0] if indices[:1] != (0,) else []), *indices, n]


for _op in (split, split_v2):

    @gradient(_op)
    def _op_gradient(dys: Sequence[Value], data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
        axis = attrs.axis % len(data_shape)
        if attrs.squeeze_axis:
            dys = [F.expand_dims(h, axis=axis) for h in dys]
        return [F.Concat(*dys, dim=axis)]


# ---------------------------------------------------------------------------------------------- repeats and pads


@operator("tile", memory="new")
def tile(data: Tensor, *, reps: Shape) -> Tensor:
    """The whole array repeated along each axis."""
    if min(reps, default=1) < 1:
        raise MXNetError(f"tile: reps {reps} does not fit; numbers from 1 are accepted")
    return K.tile(data, reps)


@gradient(tile)
def _tile_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    n = max(len(data_shape), len(attrs.reps))
    shape = (1,) * (n - len(data_shape)) + data_shape
    reps = (1,) * (n - len(attrs.reps)) + attrs.reps
    pairs = tuple(v for pair in zip(reps, shape, strict=True) for v in pair)
    folded = F._reshape_to(dy, shape=pairs)
    return [F._reshape_to(F.sum(folded, axis=tuple(range(0, 2 * n, 2))), shape=data_shape)]


@operator("repeat", memory="new")
def repeat(data: Tensor, *, repeats: Int, axis: OptInt = None) -> Tensor:
    """Each element (or each slice along an axis) repeated in place."""
    if repeats < 0:
        raise MXNetError(f"repeat: repeats={repeats} does not fit; numbers from 0 on are accepted")
    if axis is None:
        data, axis = K.reshape(data, (data.numel(),)), 0
    axis = normal_axis(axis, data.dim(), "repeat")
    shape = (*data.shape[: axis + 1], repeats, *data.shape[axis + 1 :])
    x = K.expand(K.reshape(data, (*data.shape[: axis + 1], 1, *data.shape[axis + 1 :])), shape)
    return K.reshape(x, (*data.shape[:axis], data.shape[axis] * repeats, *data.shape[axis + 1 :]))


@gradient(repeat)
def _repeat_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    axis = 0 if attrs.axis is None else attrs.axis % len(data_shape)
    shape = (math.prod(data_shape),) if attrs.axis is None else data_shape
    folded = F._reshape_to(dy, shape=(*shape[: axis + 1], attrs.repeats, *shape[axis + 1 :]))
    return [F._reshape_to(F.sum(folded, axis=(axis + 1,)), shape=data_shape)]


@composite("_identity_with_attr_like_rhs", shape=SAME)
def identity_like(lhs: Value, rhs: Value) -> Value:
    """lhs as it is; in a graph its shape is that of rhs."""
    return F._copy(lhs)


@composite("Pad", aliases=("pad",), real=True)
def pad_space(
    data: Value, *, mode: Annotated[str, Choice("constant", "edge", "reflect")], pad_width: Shape,
    constant_value: Float = 0.0,
) -> Value:  # fmt: skip
    """Positions added around space, the axes behind batch and channels: a constant, the edge, or its reflection."""
    if data.ndim not in (4, 5) or any(pad_width[:4]):
        raise MXNetError(
            f"pad: data of 4 or 5 axes, of which the first two stay, is needed; given {data.shape} and {pad_width}"
        )
    return F._pad(data, mode=mode, pad_width=pad_width, constant_value=constant_value)


@operator("_pad", memory="new")
def pad(
    data: Tensor, *, mode: Annotated[str, Choice("constant", "edge", "reflect")], pad_width: Shape,
    constant_value: Float = 0.0,
) -> Tensor:  # fmt: skip
    """Positions added around the data: a constant, the edge, or its reflection."""
    if len(pad_width) != 2 * data.dim():
        raise MXNetError(f"pad: pad_width needs {2 * data.dim()} numbers for {data.dim()} axes, given {len(pad_width)}")
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if min(pad_width) < 0:
        raise MXNetError(f"pad: widths cannot be negative, given {pad_width}")
    if mode == "constant":
        return K.pad_constant(data, widths, constant_value)
    for axis, (lo, hi) in enumerate(widths):
        n = data.shape[axis]
        if mode == "reflect" and max(lo, hi) >= n and (lo or hi):
            raise MXNetError(f"pad: a reflection of {max(lo, hi)} positions needs an axis longer than {n}")
        if lo or hi:
            data = kernels.index.take(data, K.index_tensor(source_places(n, lo, hi, mode), data), axis)
    return data


def source_places(n: int, lo: int, hi: int, mode: str) -> tuple[int, ...]:
    """The positions of an axis of length n that stand at those of the axis with lo before it and hi behind it.

    mode: "edge", "reflect", or "symmetric", which reflects the edge too.
    """
    positions = range(-lo, n + hi)
    if mode == "edge":
        return tuple(min(max(i, 0), n - 1) for i in positions)
    if mode == "symmetric":
        return tuple(min(i % (2 * n), 2 * n - 1 - i % (2 * n)) for i in positions)
    period = max(2 * (n - 1), 1)
    return tuple(min(i % period, period - i % period) if n > 1 else 0 for i in positions)


@gradient(pad)
def _pad_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    widths = list(zip(attrs.pad_width[::2], attrs.pad_width[1::2], strict=True))
    if attrs.mode == "constant":
        return [F._slice_view(dy, key=tuple(slice(lo, lo + n) for n, (lo, _) in zip(data_shape, widths, strict=True)))]
    for axis, (lo, hi) in reversed(list(enumerate(widths))):
        if lo or hi:
            n = data_shape[axis]
            dy = F._fold_places(dy, places=source_places(n, lo, hi, attrs.mode), axis=axis, length=n)
    return [dy]


@operator("_fold_places", memory="new")
def _fold_places(data: Tensor, *, places: Any_, axis: Int, length: Int) -> Tensor:
    """Slices along an axis added up where `places` says: the adjoint of a take with fixed indices."""
    shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
    return kernels.index.take_grad(data, K.index_tensor(places, data), axis, shape)


@gradient(_fold_places)
def _fold_places_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F._take_places(dy, places=attrs.places, axis=attrs.axis)]


@operator("_take_places", memory="new")
def _take_places(data: Tensor, *, places: Any_, axis: Int) -> Tensor:
    """Slices along an axis at fixed positions."""
    return kernels.index.take(data, K.index_tensor(places, data), axis)


@gradient(_take_places)
def _take_places_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._fold_places(dy, places=attrs.places, axis=attrs.axis, length=data_shape[attrs.axis])]
