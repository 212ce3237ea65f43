"""Gathering and scattering by index, and sequences of varying length."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.extents import bounds_of
from core.ops.attributes import Any_, Bool, Choice, DType, Float, Int, OptInt, Shape
from core.ops.reduce import at_least_one_axis
from core.ops.registry import F, composite, gradient, operator
from core.ops.shape import normal_axis
from core.ops.storage_types import Told
from core.ops.values import Attrs, Gradients, Input, Namespace, Tensor, Value

K = kernels.index
_BOOL = kernels.torch_dtype("bool")


def _positions(indices: Tensor, n: int, mode: str) -> Tensor:
    """Indices made valid for an axis of length n."""
    return K.wrapped(indices, n) if mode == "wrap" else K.clipped(indices, n)


# ---------------------------------------------------------------------------------------------- take, pick


def _take_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    return "csr" if stypes[0] == "csr" and attrs["axis"] == 0 and attrs["mode"] != "raise" else "default"


@operator(
    "take",
    memory="new",
    storage=Told(_take_storage),
    indexes={"indices": lambda shapes, attrs: shapes["a"][attrs["axis"]]},
)
def take(
    a: Tensor, indices: Tensor, *, axis: Int = 0, mode: Annotated[str, Choice("clip", "wrap", "raise")] = "clip"
) -> Tensor:
    """Slices of a along an axis at the indices, which are clipped (or wrapped) into range."""
    axis = normal_axis(axis, a.dim(), "take")
    if mode == "raise":
        K.check(indices, a.shape[axis])
    n = a.shape[axis]
    return K.take(a, K.wrapped(indices, n) if mode == "wrap" else K.clipped(indices, n), axis)


@gradient(take)
def _take_gradient(dy: Value, indices: Value, a_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._take_grad.typed(dy, indices, shape=a_shape, axis=attrs.axis, mode=attrs.mode), None]


@operator("_take_grad")
def _take_grad(dy: Tensor, indices: Tensor, *, shape: Shape, axis: Int, mode: Any_) -> Tensor:
    """Slices of dy added up where they were taken from."""
    axis %= len(shape)
    return K.take_grad(dy, _positions(indices, shape[axis], mode), axis, shape)


@gradient(_take_grad)
def _take_grad_gradient(dy1: Value, indices: Value, attrs: Namespace) -> Gradients:
    return [F.take(dy1, indices, axis=attrs.axis, mode=attrs.mode), None]


@composite("batch_take")
def batch_take(a: Value, indices: Value) -> Value:
    """One element of each row, in the shape of the indices."""
    return F._reshape_to(F.pick(a, F._reshape_to(indices, shape=(a.shape[0],)), axis=1), shape=indices.shape)


@operator(
    "pick",
    memory="new",
    aliases=("choose_element_0index",),
    indexes={"index": lambda shapes, attrs: shapes["data"][-1 if attrs["axis"] is None else attrs["axis"]]},
)
def pick(
    data: Tensor, index: Tensor, *, axis: OptInt = -1, keepdims: Bool = False,
    mode: Annotated[str, Choice("clip", "wrap")] = "clip",
) -> Tensor:  # fmt: skip
    """One element along an axis for each position of the others."""
    shape = data.shape
    axis, index = _pick_place(shape, axis, index)
    return at_least_one_axis(K.pick(data, _positions(index, shape[axis], mode), axis, keepdims))


def _pick_place(shape: Any, axis: int | None, index: Tensor) -> tuple[int, Tensor]:
    axis = normal_axis(axis, len(shape), "pick")
    rest = shape[:axis] + shape[axis + 1 :]
    if index.shape == rest:
        return axis, index
    if math.prod(index.shape) != math.prod(rest):
        raise MXNetError(
            f"pick: an index of shape {tuple(index.shape)} does not fit data of shape {tuple(shape)} along axis {axis}"
        )
    return axis, kernels.shape.reshape(index, rest)


@gradient(pick)
def _pick_gradient(dy: Value, index: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._pick_grad.typed(dy, index, shape=data_shape, axis=attrs.axis, mode=attrs.mode), None]


@operator("_pick_grad")
def _pick_grad(dy: Tensor, index: Tensor, *, shape: Shape, axis: Int, mode: Any_ = "clip") -> Tensor:
    """Zeros of `shape` with dy at the picked positions."""
    axis, index = _pick_place(shape, axis, index)
    return K.pick_grad(dy, _positions(index, shape[axis], mode), axis, shape)


@gradient(_pick_grad)
def _pick_grad_gradient(dy1: Value, index: Value, dy_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._reshape_to(F.pick(dy1, index, axis=attrs.axis, mode=attrs.mode), shape=dy_shape), None]


@operator("one_hot", memory="new", words={"data": "indices"}, indexes={"indices": lambda shapes, attrs: attrs["depth"]})
def one_hot(
    indices: Tensor, *, depth: Int, on_value: Float = 1.0, off_value: Float = 0.0, dtype: DType = "float32"
) -> Tensor:
    """A new last axis of length depth that is on_value at the index; out of range there is no hot position."""
    if indices.dtype is _BOOL:
        raise MXNetError("one_hot: indices of bool are not accepted; convert with astype")
    return K.one_hot(indices, depth, on_value, off_value, kernels.torch_dtype(dtype))


# ---------------------------------------------------------------------------------------------- n-dimensional


@operator("gather_nd")
def gather_nd(data: Tensor, indices: Tensor) -> Tensor:
    """Slices of data at the columns of indices (M, ...)."""
    return K.gather_nd(data, indices)


@gradient(gather_nd)
def _gather_nd_gradient(dy: Value, indices: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._scatter_nd_add(dy, indices, shape=data_shape), None]


@operator("scatter_nd")
def scatter_nd(data: Tensor, indices: Tensor, *, shape: Shape) -> Tensor:
    """Zeros of `shape` with slices of data at the columns of indices."""
    if not indices.shape[0]:
        raise MXNetError("scatter_nd: indices (M, ...) name one axis or more, given none")
    return K.scatter_nd(data, indices, shape)


@gradient(scatter_nd)
def _scatter_nd_gradient(dy: Value, indices: Value) -> Gradients:
    return [F.gather_nd(dy, indices), None]


@operator("_scatter_nd_add", aliases=("_backward_gather_nd",))
def _scatter_nd_add(data: Tensor, indices: Tensor, *, shape: Shape) -> Tensor:
    """As scatter_nd; slices that meet are added."""
    return K.scatter_nd_add(data, indices, shape)


@gradient(_scatter_nd_add)
def _scatter_nd_add_gradient(dy: Value, indices: Value) -> Gradients:
    return [F.gather_nd(dy, indices), None]


# ---------------------------------------------------------------------------------------------- advanced indexing


@operator("_gather_part")
def _gather_part(data: Tensor, *indices: Tensor, key: Any_, zero_dim: Bool = False) -> Tensor:
    """Advanced indexing: `key` with "$" where an index array stands."""
    part = K.index_get(*_advanced(data, key, indices))
    return part if zero_dim or part.dim() else part.reshape(1)


@operator("_scatter_part_add")
def _scatter_part_add(dy: Tensor, *indices: Tensor, key: Any_, shape: Shape) -> Tensor:
    """Zeros of `shape` with dy added at an advanced index."""
    key, turned = _forwards(key, shape)
    base = kernels.shape.full_like(dy.new_empty(shape), 0)
    added = K.index_put_(base, *_advanced(base, key, indices), dy, True)
    return kernels.shape.flip(added, turned) if turned else added


def _forwards(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """A key without negative steps, and the axes that lie the other way round for it: those have no view to add to."""
    taken = sum(k is not None and k is not Ellipsis and k != "$1" for k in key)
    axis = 0
    out: list[Any] = []
    turned: list[int] = []
    for k in key:
        if isinstance(k, slice) and k.step is not None and k.step < 0:
            start, stop, step = bounds_of(k, shape[axis])
            k = slice(shape[axis] - 1 - start, shape[axis] - 1 - stop, -step)
            turned.append(axis)
        out.append(k)
        axis += len(shape) - taken if k is Ellipsis else k is not None and k != "$1"
    return tuple(out), tuple(turned)


@gradient(_gather_part)
def _gather_part_gradient(dy: Value, indices: list[Value], data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._scatter_part_add(dy, *indices, key=attrs.key, shape=data_shape), *[None] * len(indices)]


@gradient(_scatter_part_add)
def _scatter_part_add_gradient(
    dy1: Value, indices: list[Value], dy_shape: tuple[int, ...], attrs: Namespace
) -> Gradients:
    part = F._gather_part(dy1, *indices, key=attrs.key)
    return [F._reshape_to(part, shape=dy_shape), *[None] * len(indices)]


@operator("_set_places", memory="new")
def _set_places(data: Tensor, value: Tensor, *indices: Tensor, key: Any_) -> Tensor:
    """The data with the value written at an advanced index; of positions that are named twice, one of the values stays."""
    key, turned = _forwards(key, data.shape)
    out = kernels.shape.flip(data, turned) if turned else kernels.shape.clone(data)
    K.index_put_(out, *_advanced(out, key, indices), value, False)
    return kernels.shape.flip(out, turned) if turned else out


@gradient(_set_places)
def _set_places_gradient(
    dy: Value, value: Value, indices: list[Value], attrs: Namespace, value_shape: tuple[int, ...]
) -> Gradients:
    part = F._gather_part(dy, *indices, key=attrs.key)
    return [
        F._set_places(dy, F.zeros_like(value), *indices, key=attrs.key),
        F._sum_to(part, shape=value_shape),
        *[None] * len(indices),
    ]


def _advanced(
    data: Tensor, key: tuple[Any, ...], indices: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor | None, ...]]:
    """A view that basic indexing gives, and one index tensor (or None) for each of its axes."""
    rest = iter(indices)
    consumed = sum(k is not None and k is not Ellipsis and k != "$1" for k in key)
    axis = 0
    basic: list[Any] = []
    arrays: list[Tensor | None] = []
    expanded: list[Any] = []
    for k in key:
        if k is Ellipsis:
            expanded += [slice(None)] * (data.dim() - consumed)
        else:
            expanded.append(k)
    for k in expanded:
        if k == "$1":
            basic.append(None)
            arrays.append(next(rest))
        elif isinstance(k, str):
            basic.append(slice(None))
            n = data.shape[axis]
            arrays.append(K.wrapped_negative(next(rest), n))
            axis += 1
        elif k is None:
            basic.append(None)
            arrays.append(None)
        elif isinstance(k, int):
            basic.append(slice(None))
            arrays.append(kernels.shape.index_tensor([k % data.shape[axis]], data).reshape(()))
            axis += 1
        else:
            basic.append(k)
            arrays.append(None)
            axis += 1
    view = (
        data[tuple(basic)]
        if not any(isinstance(b, slice) and (b.step or 1) < 0 for b in basic)
        else kernels.shape.take_part(data, tuple(basic))
    )
    return view, tuple(arrays) + (None,) * (view.dim() - len(arrays))


@operator("_npx_nonzero")
def nonzero(a: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each, as int64."""
    return K.nonzero(a)


# ---------------------------------------------------------------------------------------------- sequences


def _mask(data: Value, length: Value, axis: int) -> Value:
    """1 where the position along `axis` (0 or 1) is inside the sequence of its batch."""
    n = data.shape[axis]
    steps = F._arange_like(data, length=n)
    length = F.trunc(F.Cast(length, dtype=steps.dtype))
    inside = F.broadcast_lesser(F._reshape_to(steps, shape=(n, 1)), F._reshape_to(length, shape=(1, -1)))
    if axis == 1:
        inside = F.transpose(inside)
    return F._reshape_to(inside, shape=(*inside.shape, *(1,) * (data.ndim - 2)))


@operator("_arange_like", constant=lambda attrs: ("_arange", {"stop": float(attrs["length"])}))
def _arange_like(data: Tensor, *, length: Int) -> Tensor:
    """0, 1, ..., length - 1 as float32, where the data lives."""
    return kernels.shape.steps(length, data)


@composite("SequenceMask", aliases=("sequence_mask",), when={"sequence_length": ("use_sequence_length", True)})
def sequence_mask(
    data: Value, sequence_length: Input = None, *, use_sequence_length: Bool = False, value: Float = 0.0, axis: Int = 0
) -> Value:
    """The data with positions behind the end of each sequence set to `value`.

    data (steps, batch, ...), or with axis=1 (batch, steps, ...); sequence_length (batch,). MXNetError for another axis.
    """
    _check_axis_of_steps("SequenceMask", axis)
    if not use_sequence_length:
        return F._bridge(data)
    inside = F._broadcast_from(_mask(data, sequence_length, axis), shape=data.shape)
    return F.where(inside, data, F.full_like(data, fill_value=value))


@composite("SequenceLast", aliases=("sequence_last",), when={"sequence_length": ("use_sequence_length", True)})
def sequence_last(
    data: Value, sequence_length: Value | None = None, *, use_sequence_length: Bool = False, axis: Int = 0
) -> Value:
    """The last step of each sequence, (batch, ...).

    data (steps, batch, ...), or with axis=1 (batch, steps, ...); sequence_length (batch,). MXNetError for another axis.
    """
    _check_axis_of_steps("SequenceLast", axis)
    if not use_sequence_length:
        return F._reshape_to(
            F.slice_axis(data, axis=axis, begin=-1, end=None), shape=data.shape[:axis] + data.shape[axis + 1 :]
        )
    if axis == 1:
        data = F.SwapAxis(data, dim1=0, dim2=1)
    last = F.Cast(sequence_length, dtype="int64") - 1
    batch = F.Cast(F._arange_like(data, length=data.shape[1]), dtype="int64")
    return F.gather_nd(data, F.stack(last, batch, axis=0))


def _check_axis_of_steps(name: str, axis: int) -> None:
    if axis not in (0, 1):
        raise MXNetError(f"{name}: the axis of steps is 0 or 1, given {axis}")


@operator("_sequence_reverse", input_dtypes={"length": "int32"})
def _sequence_reverse(data: Tensor, length: Tensor) -> Tensor:
    """Each sequence (axis 0) in reverse order; what stands behind its end stays."""
    return K.sequence_reverse(data, length)


@gradient(_sequence_reverse)
def _sequence_reverse_gradient(dy: Value, length: Value) -> Gradients:
    return [F._sequence_reverse(dy, length), None]


@composite("SequenceReverse", aliases=("sequence_reverse",), when={"sequence_length": ("use_sequence_length", True)})
def sequence_reverse(
    data: Value, sequence_length: Value | None = None, *, use_sequence_length: Bool = False, axis: Int = 0
) -> Value:
    """Each sequence in reverse order along the first axis."""
    if axis != 0:
        raise MXNetError(f"SequenceReverse: only axis 0 is accepted, given {axis}")
    if not use_sequence_length:
        return F.reverse(data, axis=(0,))
    return F._sequence_reverse(data, sequence_length)
