"""Operators that give arrays another shape: reshape, the order of axes, broadcasting;
and arrays in the shape of others.
"""

import functools
import math
import numbers
import warnings
from functools import reduce as fold
from typing import Annotated, Any

from core import kernels, storage
from core.base import MXNetError, NoAxis, WrongKind
from core.kernels.row_program import kept
from core.ops.attributes import Any_, Axis, Bool, DTypeType, Int, OptInt, OptShape, Scalar, Shape
from core.ops.facts import Quantized, Target
from core.ops.registry import F, Operator, composite, gradient, operator, specialize, tell
from core.ops.relations import FIRST, RESHAPE, TRANSPOSE
from core.ops.rows import by_rows, summed
from core.ops.storage_types import KEEPS_ZERO
from core.ops.values import Attrs, Gradients, Namespace, Node, Special, Tensor, Value

K = kernels.shape


@functools.lru_cache(4096, typed=True)
def normal_axis(axis: int, ndim: int, name: str) -> int:
    """`axis` counted from the front; MXNetError where there is no such axis."""
    if type(axis) is not int and not isinstance(axis, numbers.Integral):  # which takes longer to ask
        raise WrongKind(f"{name}: an axis is an int, given {axis!r}")
    if not -ndim <= axis < ndim:
        raise NoAxis(f"{name}: axis {axis} is out of bounds for an array of {ndim} axes")
    return axis % ndim if ndim else 0


def normal_axes(axes: tuple[int, ...] | None, ndim: int, name: str) -> tuple[int, ...]:
    """Axes counted from the front; None means all of them."""
    if axes is None:
        return tuple(range(ndim))
    return tuple(normal_axis(a, ndim, name) for a in axes)


def expect_shape(name: str, what: str, array: Value | Tensor, shape: tuple[int, ...]) -> None:
    """MXNetError where an input has not the shape that the attributes and the other inputs ask for."""
    if tuple(array.shape) != shape:
        raise MXNetError(f"{name}: {what} of shape {shape} is needed, given {tuple(array.shape)}")


# ---------------------------------------------------------------------------------------------- reshape


class WrongSize(MXNetError, ValueError):
    """A shape for another number of elements than there are."""


# What the numbers of a new shape stand for that are no lengths; -1 is what is left.
CODES = {0: "copy", -2: "rest", -3: "merge", -4: "split"}


@functools.lru_cache(4096)
def reshaped(shape: tuple[int, ...], wanted: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that MXNet's reshape codes stand for: 0 copies an axis, -1 takes as often what is left as it fits (the
    shape may then hold fewer elements), -2 copies all that remain, -3 merges two axes, -4 splits one into the two that
    follow."""
    out = decoded(shape, wanted, CODES, reverse)
    size, known = math.prod(shape), math.prod(n for n in out if n != -1)
    if out.count(-1) > 1:
        raise MXNetError(f"reshape: only one length may be -1, given {wanted}")
    if -1 in out:
        if known == 0 or (size < known and size):
            raise MXNetError(f"reshape: cannot bring the shape {tuple(shape)} into {wanted}")
        out[out.index(-1)] = size // known
    elif known != size:
        raise WrongSize(f"reshape: cannot bring the shape {tuple(shape)} of {size} elements into {wanted}")
    return tuple(out)


def decoded(shape: tuple[int, ...], wanted: tuple[int, ...], codes: dict[int, str], reverse: bool = False) -> list[int]:
    """Lengths for the codes, with reverse read from the right; -1 stays. MXNetError where there are more than axes."""
    if reverse:
        mirrored = list(wanted)[::-1]
        for k in range(len(mirrored) - 2):  # a split stands behind its two lengths when read from the right
            if codes.get(mirrored[k + 2]) == "split":
                mirrored[k : k + 3] = mirrored[k + 2], mirrored[k + 1], mirrored[k]
        return decoded(shape[::-1], tuple(mirrored), codes)[::-1]
    out: list[int] = []
    i = k = 0
    try:
        while k < len(wanted):
            code = wanted[k]
            meaning = codes.get(code)
            if meaning == "copy":
                out.append(shape[i])
            elif meaning == "drop":
                if shape[i] != 1:
                    raise MXNetError(f"reshape: {code} drops an axis of length 1, axis {i} has {shape[i]}")
            elif meaning == "rest":
                out.extend(shape[i:])
                i = len(shape) - 1
            elif meaning == "merge":
                out.append(shape[i] * shape[i + 1])
                i += 1
            elif meaning == "split":
                out.extend(halves(shape[i], wanted[k + 1], wanted[k + 2]))
                k += 2
            elif code >= -1:
                out.append(code)
            else:
                known = ", ".join(map(str, sorted([-1, *codes], reverse=True)))
                raise MXNetError(f"reshape: {code} in {wanted} is no length; accepted are lengths and {known}")
            i, k = i + 1, k + 1
    except IndexError:
        raise MXNetError(f"reshape: {wanted} asks for more axes than the shape {tuple(shape)} has") from None
    return out


def halves(length: int, first: int, second: int) -> tuple[int, int]:
    """The two lengths that reshape splits an axis into; one may be -1."""
    if first == -1:
        first = length // second
    elif second == -1:
        second = length // first
    if first * second != length:
        raise MXNetError(f"reshape: cannot split an axis of length {length} into {first} x {second}")
    return first, second


@operator(
    "Reshape", aliases=("reshape",), shape=RESHAPE, unnamed=True, target=Target("shape"), reshapes=True, layer="layout"
)
def reshape(
    data: Tensor, *, shape: Shape = (), reverse: Bool = False, target_shape: Shape = (), keep_highest: Bool = False
) -> Tensor:
    """The same elements in another shape (0, -1, -2, -3, -4: see MXNet's reshape)."""
    now = data.shape
    if not shape and target_shape:
        kept_rows = tuple(now[:1]) if keep_highest else ()
        shape = kept_rows + tuple(-1 if n == 0 else n for n in target_shape[len(kept_rows) :])
    after = reshaped(now, shape, reverse) if shape or data.numel() == 1 else now
    if -1 in shape and (size := math.prod(after)) != data.numel():  # networks leave out a group that is not full
        data = K.take_part(K.reshape(data, (-1,)), (slice(0, size),))
    return K.reshape(data, after)


@operator("_contrib_dynamic_reshape")
def dynamic_reshape(data: Tensor, shape: Tensor) -> Tensor:
    """The same elements in the shape whose codes (see `reshape`) the second array holds.

    It is read, so a trace refuses it.
    """
    return K.reshape(data, reshaped(tuple(data.shape), tuple(map(int, K.numbers(shape)))))


@operator(
    "Flatten", aliases=("flatten", "_npx_batch_flatten"), unnamed=True, reshapes=True, layer="layout",
    quantized=Quantized("_contrib_quantized_flatten"),
)  # fmt: skip
def flatten(data: Tensor) -> Tensor:
    """All axes but the first one merged."""
    if data.dim() == 2:
        return K.alias(data)
    shape = data.shape
    return K.reshape(data, (shape[0], math.prod(shape[1:])))


@specialize(flatten)
def _flatten_special(attrs: Namespace) -> Special:
    def run(data: Tensor) -> Tensor:
        if data.dim() == 2:
            return data._lazy_clone()  # where it cannot, the slow path copies
        return storage.lazy_clone(data.flatten(1))

    return run


@operator("reshape_like", reshapes=True)
def reshape_like(
    lhs: Tensor, rhs: Tensor, *, lhs_begin: OptInt = None, lhs_end: OptInt = None, rhs_begin: OptInt = None,
    rhs_end: OptInt = None,
) -> Tensor:  # fmt: skip
    """lhs in the shape of rhs; with bounds, only those axes are replaced."""

    def part(tensor: Tensor, begin: int | None, end: int | None) -> tuple[int, int]:
        n = tensor.dim()
        begin = 0 if begin is None else begin % (n + 1) if begin >= 0 else begin + n
        end = n if end is None else end if end >= 0 else end + n
        return begin, end

    lb, le = part(lhs, lhs_begin, lhs_end)
    rb, re = part(rhs, rhs_begin, rhs_end)
    shape = tuple(lhs.shape[:lb]) + tuple(rhs.shape[rb:re]) + tuple(lhs.shape[le:])
    return K.reshape(lhs, shape)


@gradient(reshape_like)
def _reshape_like_gradient(dy: Value, lhs_shape: tuple[int, ...]) -> Gradients:
    return [F._reshape_to(dy, shape=lhs_shape), None]


@operator("_reshape_to", reshapes=True)
def _reshape_to(data: Tensor, *, shape: Shape) -> Tensor:
    """The same elements in exactly this shape (0 is a length here)."""
    return K.reshape(data, shape)


def in_shape(x: Value, shape: tuple[int, ...]) -> Value:
    """The elements of x in a shape: x itself, where that is its own."""
    return x if tuple(x.shape) == tuple(shape) else F._reshape_to(x, shape=shape)


@operator("expand_dims", unnamed=True, reshapes=True)
def expand_dims(data: Tensor, *, axis: Int) -> Tensor:
    """A new axis of length 1 before `axis`."""
    return K.expand_dims(data, normal_axis(axis, data.dim() + 1, "expand_dims"))


@specialize(expand_dims)
def _expand_dims_special(attrs: Namespace) -> Special:
    axis = attrs.axis

    def run(data: Tensor) -> Tensor:
        if data.is_contiguous():  # where it cannot be shared, the long way copies
            return data._lazy_clone().unsqueeze_(axis)  # which knows its axes, and makes no second tensor
        return storage.lazy_clone(data.unsqueeze(axis))

    return run


@operator("squeeze", reshapes=True)
def squeeze(data: Tensor, *, axis: Axis = None) -> Tensor:
    """Axes of length 1 taken away: all, or those given."""
    if axis is None:
        kept = [n for n in data.shape if n != 1] or [1]
        return K.reshape(data, kept)
    axes = normal_axes(axis, data.dim(), "squeeze")
    for a in axes:
        if data.shape[a] != 1:
            raise MXNetError(f"squeeze: axis {a} has length {data.shape[a]}, not 1")
    return K.reshape(data, [n for i, n in enumerate(data.shape) if i not in axes] or [1])


def _restore_shape(op: Operator) -> Any:
    """The gradient of everything above: the output gradient in the shape that the data had."""

    @gradient(op)
    def _op_gradient(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
        return [F._reshape_to(dy, shape=data_shape)]


for _op in (reshape, flatten, _reshape_to, expand_dims, squeeze):
    _restore_shape(_op)


@gradient(dynamic_reshape)
def _dynamic_reshape_gradient(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._reshape_to(dy, shape=data_shape), None]


# ---------------------------------------------------------------------------------------------- order of axes


@operator("transpose", shape=TRANSPOSE, unnamed=True)
def transpose(data: Tensor, *, axes: Shape = ()) -> Tensor:
    """The axes in another order, reversed by default; they are counted from the front."""
    order = _order(axes, data.dim())
    return _square(data, axes) if order is None else K.permute(data, order)


@functools.lru_cache(4096)
def _order(axes: tuple[int, ...], ndim: int) -> tuple[int, ...] | None:
    """The axes as they are to lie; None where one of them is named twice."""
    if any(a < 0 for a in axes):
        raise MXNetError(f"transpose: axes {axes} do not fit; negative axes are not accepted")
    if axes and len(axes) != ndim:
        raise MXNetError(f"transpose: {len(axes)} axes given for an array of {ndim}")
    order = normal_axes(axes, ndim, "transpose") if axes else tuple(range(ndim))[::-1]
    return order if len(set(order)) == len(order) else None


def _square(matrix: Tensor, axes: tuple[int, ...]) -> Tensor:
    """What MXNet 1.9.1 makes of a matrix one of whose axes is named twice:
    its transpose's elements in rows as long as that axis.

    Zeros are where elements are missing. Arrays of more axes, for which MXNet reads beyond them, are refused.
    """
    if len(axes) != 2:
        raise MXNetError(f"transpose: an axis is repeated in {axes}")
    n = matrix.shape[axes[0]]
    warnings.warn(f"transpose: an axis is repeated in {axes}; its {n} x {n} positions are filled as MXNet fills them")
    elements = K.reshape(K.permute(matrix, (1, 0)), (-1,))
    elements = K.pad_constant(elements, ((0, max(n * n - matrix.numel(), 0)),), 0)
    return K.reshape(K.take_part(elements, (slice(0, n * n),)), (n, n))


@tell(F.transpose, "permutes")
def _transpose_permutes(attrs: Attrs, ndim: int) -> tuple[int, ...] | None:
    return _order(attrs["axes"], ndim)


@gradient(transpose)
def _transpose_gradient(dy: Value, attrs: Namespace) -> Gradients:
    axes = attrs.axes
    if not axes:
        return [F.transpose(dy)]
    if len(set(axes)) < len(axes):
        raise MXNetError(f"transpose: no gradient is known where an axis is repeated, as in {axes}")
    return [F.transpose(dy, axes=tuple(axes.index(position) for position in range(len(axes))))]


@composite("_np_transpose")
def np_transpose(data: Value, *, axes: OptShape = None) -> Value:
    """The axes in another order, as `transpose`; negative ones are counted from the end."""
    return F.transpose(data, axes=normal_axes(axes, data.ndim, "transpose") if axes else ())


@operator("SwapAxis", aliases=("swapaxes", "SwapAxes"))
def swapaxes(data: Tensor, *, dim1: Int = 0, dim2: Int = 0) -> Tensor:
    """Two axes exchanged."""
    axes = list(range(data.dim()))
    a, b = normal_axis(dim1, data.dim(), "swapaxes"), normal_axis(dim2, data.dim(), "swapaxes")
    axes[a], axes[b] = axes[b], axes[a]
    return K.permute(data, axes)


@gradient(swapaxes)
def _swapaxes_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F.SwapAxis(dy, dim1=attrs.dim1, dim2=attrs.dim2)]


@operator("reverse", aliases=("flip",), shape=FIRST)
def reverse(data: Tensor, *, axis: Shape) -> Tensor:
    """The elements in reverse order along the axes, which are counted from the front."""
    if any(a < 0 for a in axis):
        raise MXNetError(f"reverse: axis {axis} does not fit; negative axes are not accepted")
    return K.flip(data, normal_axes(axis, data.dim(), "flip"))


@gradient(reverse)
def _reverse_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F.reverse(dy, axis=attrs.axis)]


@operator("depth_to_space")
def depth_to_space(data: Tensor, *, block_size: Int) -> Tensor:
    """Blocks of channels laid out in space: (N, C b^2, H, W) to (N, C, H b, W b)."""
    n, c, h, w = data.shape
    b = block_size
    if b < 1 or c % (b * b) or not data.numel():
        raise MXNetError(f"depth_to_space: {c} channels of {h} x {w} do not divide by the square of the block size {b}")
    x = K.permute(K.reshape(data, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    return K.reshape(x, (n, c // (b * b), h * b, w * b))


@operator("space_to_depth")
def space_to_depth(data: Tensor, *, block_size: Int) -> Tensor:
    """Blocks of space laid out in channels: (N, C, H b, W b) to (N, C b^2, H, W)."""
    n, c, h, w = data.shape
    b = block_size
    if b < 1 or h % b or w % b or not data.numel():
        raise MXNetError(f"space_to_depth: {c} channels of {h} x {w} do not divide by the block size {b}")
    x = K.permute(K.reshape(data, (n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
    return K.reshape(x, (n, c * b * b, h // b, w // b))


@gradient(depth_to_space)
def _depth_to_space_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F.space_to_depth(dy, block_size=attrs.block_size)]


@gradient(space_to_depth)
def _space_to_depth_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F.depth_to_space(dy, block_size=attrs.block_size)]


# ---------------------------------------------------------------------------------------------- broadcasting


@operator("broadcast_to", unnamed=True, target=Target("shape"))
def broadcast_to(data: Tensor, *, shape: Shape) -> Tensor:
    """Axes of length 1 repeated to `shape`; 0 keeps a length."""
    if len(shape) != data.dim():
        raise MXNetError(f"broadcast_to: the shape {shape} has {len(shape)} axes, the array {data.dim()}")
    return K.expand(data, _repeated(data.shape, shape))


@functools.lru_cache(4096)
def _repeated(now: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    wanted = tuple(m if n == 0 else n for m, n in zip(now, shape, strict=True))
    for m, n in zip(now, wanted, strict=True):
        if m not in (1, n):
            raise MXNetError(f"broadcast_to: cannot repeat the shape {tuple(now)} to {shape}")
    return wanted


@operator("broadcast_axis", aliases=("broadcast_axes",), unnamed=True)
def broadcast_axis(data: Tensor, *, axis: Shape = (), size: Shape = ()) -> Tensor:
    """The given axes of length 1 repeated to the given sizes."""
    if len(axis) != len(size):
        raise MXNetError(f"broadcast_axis: {len(axis)} axes, but {len(size)} sizes")
    shape = list(data.shape)
    for a, n in zip(normal_axes(axis, data.dim(), "broadcast_axis"), size, strict=True):
        if shape[a] != 1:
            raise MXNetError(f"broadcast_axis: axis {a} has length {shape[a]}, not 1")
        shape[a] = n
    return K.expand(data, shape)


@operator("broadcast_like")
def broadcast_like(lhs: Tensor, rhs: Tensor, *, lhs_axes: OptShape = None, rhs_axes: OptShape = None) -> Tensor:
    """Axes of length 1 of lhs repeated to the lengths of rhs: of all axes unless both lists are given."""
    if lhs_axes is None or rhs_axes is None:
        if lhs.dim() != rhs.dim():
            raise MXNetError(f"broadcast_like: {lhs.dim()} axes cannot follow {rhs.dim()}")
        shape = list(rhs.shape)
    else:
        shape = list(lhs.shape)
        if not lhs_axes or not rhs_axes or len(lhs_axes) != len(rhs_axes):
            raise MXNetError(
                f"broadcast_like: as many lhs_axes as rhs_axes are needed, one or more; given {lhs_axes} and {rhs_axes}"
            )
        for a, b in zip(lhs_axes, rhs_axes, strict=True):
            shape[normal_axis(a, lhs.dim(), "broadcast_like")] = rhs.shape[normal_axis(b, rhs.dim(), "broadcast_like")]
    for m, n in zip(lhs.shape, shape, strict=True):
        if m not in (1, n):
            raise MXNetError(f"broadcast_like: cannot repeat the shape {tuple(lhs.shape)} to {tuple(shape)}")
    return K.expand(lhs, shape)


for _op in (broadcast_to, broadcast_axis):

    @gradient(_op)
    def _op_gradient_2(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
        return [F._sum_to(dy, shape=data_shape)]


@gradient(broadcast_like)
def _broadcast_like_gradient(dy: Value, lhs_shape: tuple[int, ...]) -> Gradients:
    return [F._sum_to(dy, shape=lhs_shape), None]


@operator("_sum_to")
def _sum_to(data: Tensor, *, shape: Shape) -> Tensor:
    """The sum over the axes along which `shape` was broadcast to the data: the adjoint of broadcasting."""
    lead = data.dim() - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and data.shape[lead + i] != 1)
    total = kernels.reduce.sum(data, axes, True) if axes else data
    return K.reshape(total, shape)


@gradient(_sum_to)
def _sum_to_gradient(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._broadcast_from(dy, shape=data_shape)]


@operator("_broadcast_from")
def _broadcast_from(data: Tensor, *, shape: Shape) -> Tensor:
    """The data broadcast to `shape` by NumPy's rules."""
    return K.expand(data, shape)


@gradient(_broadcast_from)
def _broadcast_from_gradient(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._sum_to(dy, shape=data_shape)]


# ---------------------------------------------------------------------------------------------- constants


@operator("zeros_like", memory="new", shape=FIRST, storage=KEEPS_ZERO, unnamed=True, fills=0)
def zeros_like(data: Tensor) -> Tensor:
    """Zeros of the shape and type of the data."""
    return K.full_like(data, 0)


@operator("ones_like", memory="new", shape=FIRST, unnamed=True, fills=1)
def ones_like(data: Tensor) -> Tensor:
    """Ones of the shape and type of the data."""
    return K.full_like(data, 1)


@operator("full_like", aliases=("_full_like",), memory="new", fills="fill_value")
def full_like(data: Tensor, *, fill_value: Scalar, dtype: Annotated[str | None, DTypeType()] = None) -> Tensor:
    """One value in the shape of the data."""
    return K.full_like(data, fill_value, dtype)


@operator("shape_array", unnamed=True, dtype="int64")
def shape_array(data: Tensor) -> Tensor:
    """The shape, as an int64 array."""
    return K.index_tensor(data.shape, data)


@operator("size_array", unnamed=True, dtype="int64")
def size_array(data: Tensor) -> Tensor:
    """The number of elements, as an int64 array of one."""
    return K.index_tensor([data.numel()], data)


@operator("_copyto", shape=FIRST)
def _copyto(data: Tensor, *, context: Any_, origin: Any_) -> Tensor:
    """The data, which is on the context `origin`, on another one."""
    return storage.copy_to(data, ctx=context)


@gradient(_copyto)
def _copyto_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [dy.as_in_context(attrs.origin)]


@composite("khatri_rao", real=True)
def khatri_rao(*args: Value) -> Value:
    """The column-wise Kronecker product of matrices with equal numbers of columns."""

    def pair(a: Value, b: Value) -> Value:
        product = F.expand_dims(a, axis=1) * F.expand_dims(b, axis=0)
        return F.Reshape(product, shape=(-3, 0))

    return fold(pair, args)


# ---------------------------------------------------------------------------------------------- by rows


def _over_last_axes(node: Node) -> int | None:
    """How many last axes are summed; None for others."""
    shape, left = node.inputs[0].shape, node.outputs[0].shape
    found = [k for k in range(1, len(shape) + 1) if left == kept(shape, k) and shape[-k] != 1]
    return found[0] if found else None


summed(F._sum_to, _over_last_axes)
by_rows(F._broadcast_from, lambda node: 0, shape=lambda node: node.outputs[0].shape)(lambda node, x: (x,))
