"""Reductions and scans."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.kernels.row_program import ROW
from core.ops.attributes import Axis, Bool, Choice, Float, Int, OptDType, OptInt, Shape
from core.ops.registry import F, Operator, composite, gradient, operator, specialize, tell
from core.ops.relations import FIRST, Only
from core.ops.rows import by_rows, row_max, row_mean, row_min, summed
from core.ops.shape import normal_axes, normal_axis
from core.ops.storage_types import Told
from core.ops.values import Attrs, Gradients, Namespace, Node, Special, Tensor, Value

K = kernels.reduce


@functools.lru_cache(4096)
def reduction_axes(axis: tuple[int, ...] | None, exclude: bool, ndim: int, name: str) -> tuple[int, ...]:
    """The axes that go away: those given (None or (): all), or with `exclude` all others."""
    axes = normal_axes(axis if axis != () else None, ndim, name)
    if len(set(axes)) != len(axes):
        raise MXNetError(f"{name}: an axis is repeated in {axis}")
    return tuple(a for a in range(ndim) if a not in axes) if exclude and axis not in (None, ()) else tuple(sorted(axes))


def at_least_one_axis(tensor: Tensor) -> Tensor:
    """The nd face has no arrays without axes."""
    return tensor if tensor.dim() else tensor.unsqueeze(0)  # not in place: a plan is made of what the kernel gave


@functools.lru_cache(4096)
def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction that keeps its axes with length 1."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


_FLOAT16, _BOOL = map(kernels.torch_dtype, ("float16", "bool"))


def _mean(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The sum in the data's own type, then divided: a float16 sum may overflow, as in MXNet."""
    if data.dtype is not _FLOAT16 and data.dtype is not _BOOL:
        return K.mean(data, axes, keepdims)
    if data.dtype is _BOOL:
        return kernels.cast(K.any(data, axes, keepdims), "bool")
    count = math.prod(data.shape[a] for a in axes)
    return F._mul_scalar.forward(K.sum(data, axes, keepdims), scalar=1.0 / max(count, 1))


def _enter(name: str, aliases: tuple[str, ...] = ()) -> Operator:
    kernel = _mean if name == "mean" else getattr(K, name)

    def reduction(data: Tensor, *, axis: Axis = None, keepdims: Bool = False, exclude: Bool = False) -> Tensor:
        axes = reduction_axes(axis, exclude, data.dim(), name)
        return at_least_one_axis(kernel(data, axes, keepdims))

    reduction.__doc__ = f"The {name} over the given axes (all by default; with exclude: all others)."
    op = operator(name, aliases=aliases, memory="new", unnamed=True)(reduction)
    specialize(op)(lambda attrs: _bound(kernel, attrs, name))
    return op


def _bound(kernel: Callable[..., Any], attrs: Namespace, name: str) -> Callable[..., Any]:
    """A reduction with its attributes, which remembers for each number of axes which go, and whether one is left."""
    axis, exclude, keepdims = attrs.axis, attrs.exclude, attrs.keepdims
    known: dict[int, tuple[tuple[int, ...], bool]] = {}

    def run(data: Tensor) -> Tensor:
        n = data.dim()
        if n not in known:
            axes = reduction_axes(axis, exclude, n, name)
            known[n] = axes, bool(n) and (keepdims or len(axes) < n)
        axes, left = known[n]
        result = kernel(data, axes, keepdims)
        return result if left else result.resize_(1)  # half the time of a new axis; nothing else holds it

    return run


sum_ = _enter("sum", ("sum_axis",))
mean = _enter("mean")
prod = _enter("prod")
max_ = _enter("max", ("max_axis",))
min_ = _enter("min", ("min_axis",))
nansum = _enter("nansum")
nanprod = _enter("nanprod")


def _reduced(shape: tuple[int, ...], attrs: Namespace) -> tuple[int, ...]:
    """The axes that went away."""
    return reduction_axes(attrs.axis, getattr(attrs, "exclude", False), len(shape), "reduction")


def _spread(dy: Value, shape: tuple[int, ...], attrs: Namespace) -> Value:
    """dy with its axes put back, ready to broadcast against the data."""
    return F._reshape_to(dy, shape=kept_shape(shape, _reduced(shape, attrs)))


@operator("_repeat_over")
def _repeat_over(data: Tensor, *, axes: Shape, shape: Shape) -> Tensor:
    """The data repeated to `shape` over the axes, which it may lack: the adjoint of a sum."""
    return kernels.shape.expand(kernels.shape.reshape(data, kept_shape(shape, axes)), shape)


@gradient(_repeat_over)
def _repeat_over_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._reshape_to(F._sum_to(dy, shape=kept_shape(attrs.shape, attrs.axes)), shape=data_shape)]


@gradient(sum_)
def _sum_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._repeat_over.typed(dy, axes=_reduced(data_shape, attrs), shape=data_shape)]


@gradient(mean)
def _mean_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    axes = _reduced(data_shape, attrs)
    count = math.prod(data_shape[a] for a in axes)
    return [F._repeat_over.typed(dy * (1.0 / count if count else 0.0), axes=axes, shape=data_shape)]


@gradient(prod)
def _prod_gradient(dy: Value, data: Value, out: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    dy = _spread(dy, data_shape, attrs)
    out = _spread(out, data_shape, attrs)
    return [F.broadcast_div(F.broadcast_mul(dy, out), data)]


@gradient(nanprod)
def _nanprod_gradient(dy: Value, data: Value, out: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    dy = _spread(dy, data_shape, attrs)
    out = _spread(out, data_shape, attrs)
    grad = F.broadcast_div(F.broadcast_mul(dy, out), data)
    return [F.where(F.broadcast_equal(data, data), grad, F.zeros_like(grad))]


@gradient(nansum)
def _nansum_gradient(dy: Value, data: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    dy = _spread(dy, data_shape, attrs)
    grad = F._broadcast_from(dy, shape=data_shape)
    return [F.where(F.broadcast_equal(data, data), grad, F.zeros_like(grad))]


def _extremum_rule(op: Operator) -> Any:
    @gradient(op)
    def _op_gradient(dy: Value, data: Value, out: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
        dy = _spread(dy, data_shape, attrs)
        out = _spread(out, data_shape, attrs)
        return [F.broadcast_mul(F.broadcast_equal(data, out), dy)]


_extremum_rule(max_)
_extremum_rule(min_)


@operator("norm", memory="new", unnamed=True)
def norm(
    data: Tensor, *, ord: Int = 2, axis: Axis = None, out_dtype: OptDType = None, keepdims: Bool = False
) -> Tensor:
    """The l1 or l2 norm over the given axes."""
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord {ord} is not 1 or 2")
    result = K.norm(data, ord, reduction_axes(axis, False, data.dim(), "norm"), keepdims)
    if out_dtype is not None or result.dtype is not data.dtype:
        result = kernels.cast(result, out_dtype or kernels.dtype_name(data))
    return at_least_one_axis(result)


@gradient(norm)
def _norm_gradient(
    dy: Value, data: Value, out: Value, data_shape: tuple[int, ...], data_dtype: str, attrs: Namespace
) -> Gradients:
    dy = _spread(dy, data_shape, attrs)
    out = _spread(out, data_shape, attrs)
    other = attrs.out_dtype not in (None, data_dtype)  # the type of the norm
    wide = F.Cast(data, dtype=attrs.out_dtype) if other else data
    rate = F.sign(wide) if attrs.ord == 1 else F.broadcast_div(wide, out)
    slope = F.broadcast_mul(rate, dy)
    return [F.Cast(slope, dtype=data_dtype) if other else slope]


_BOOL = kernels.torch_dtype("bool")


def _enter_place(name: str) -> Operator:
    kernel = getattr(K, name)

    def positions(data: Tensor, *, axis: OptInt = None, keepdims: Bool = False) -> Tensor:
        if data.dtype is _BOOL:
            raise MXNetError(f"{name}: arrays of bool are not accepted; convert with astype")
        if axis is None:
            index = kernel(kernels.shape.reshape(data, (data.numel(),)), 0, False, data.dtype)
            return index.reshape((1,) * data.dim() if keepdims else (1,))
        n = data.dim()
        index = kernel(data, normal_axis(axis, n, name), keepdims, data.dtype)
        return index if n > 1 else at_least_one_axis(index)

    positions.__doc__ = (
        f"The index of the {name[3:]}imum along an axis (of the flat data by default), in the data's type."
    )
    op = operator(name, memory="new", unnamed=True)(positions)

    @specialize(op)
    def special(attrs: Namespace) -> Special:
        axis, keepdims = attrs.axis, attrs.keepdims
        if axis is None:
            return None
        known: dict[int, int] = {}  # the axis from the front, by the number of axes

        def run(data: Tensor) -> Tensor:
            n, kind = data.dim(), data.dtype
            if n not in known:
                known[n] = normal_axis(axis, n, name)
            if n < 2 or kind is _BOOL:
                return positions(data, axis=axis, keepdims=keepdims)
            return kernel(data, known[n], keepdims, kind)

        return run

    return op


argmax = _enter_place("argmax")
argmin = _enter_place("argmin")


@operator("argmax_channel", memory="new", unnamed=True, dtype="float32")
def argmax_channel(data: Tensor) -> Tensor:
    """The index of the maximum along axis 1, in the data's type."""
    return K.argmax(data, 1, False, data.dtype)


@operator("cumsum", aliases=("_np_cumsum",), memory="new", shape=Only(lambda attrs: attrs["axis"] is not None, FIRST))
def cumsum(a: Tensor, *, axis: OptInt = None, dtype: OptDType = None) -> Tensor:
    """Running sums along an axis, counted from the front (of the flat data by default); those of bool are int64."""
    if axis is None:
        a, axis = kernels.shape.reshape(a, (a.numel(),)), 0
    if not 0 <= axis < a.dim():
        raise MXNetError(f"cumsum: axis {axis} is not between 0 and {a.dim() - 1}; negative ones are not accepted")
    if dtype is None and a.dtype is _BOOL:
        dtype = "int64"
    return K.cumsum(a, axis, None if dtype is None else kernels.torch_dtype(dtype))


@gradient(cumsum)
def _cumsum_gradient(dy: Value, a_shape: tuple[int, ...], a_dtype: str, attrs: Namespace) -> Gradients:
    axis = 0 if attrs.axis is None else attrs.axis
    back = F.reverse(F.cumsum(F.reverse(dy, axis=axis), axis=axis), axis=axis)
    return [F._reshape_to(back, shape=a_shape).astype(a_dtype, copy=False)]


@operator("moments", outputs=2, memory="new")
def moments(data: Tensor, *, axes: Axis = None, keepdims: Bool = False) -> Tensor | tuple[Tensor, ...]:
    """Mean and biased variance over the given axes; those of integers are integers."""
    axes = reduction_axes(axes, False, data.dim(), "moments")
    if data.is_floating_point():
        mean, var = K.moments(data, axes, keepdims)
    else:
        centre = F.broadcast_sub.forward(data, _mean(data, axes, True))
        mean, var = _mean(data, axes, keepdims), _mean(F.square.forward(centre), axes, keepdims)
    return at_least_one_axis(mean), at_least_one_axis(var)


@gradient(moments)
def _moments_gradient(
    dy: Value, dy1: Value, data: Value, out: Value, data_shape: tuple[int, ...], attrs: Namespace
) -> Gradients:
    axes = reduction_axes(attrs.axes, False, len(data_shape), "moments")
    kept = kept_shape(data_shape, axes)
    count = 1
    for a in axes:
        count *= data_shape[a]
    dy, dy1, centre = (F._reshape_to(v, shape=kept) for v in (dy, dy1, out))
    spread = F.broadcast_mul(F.broadcast_sub(data, centre), dy1 * 2.0)
    return [F.broadcast_add(spread, dy) * (1.0 / max(1, count))]


def _square_sum_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    by_rows = list(stypes) == ["row_sparse"] and attrs["keepdims"] and attrs["axis"] in (1, (1,))
    return "row_sparse" if by_rows else "default"


@composite("square_sum", aliases=("_square_sum",), storage=Told(_square_sum_storage))
def square_sum(data: Value, *, axis: Axis = None, keepdims: Bool = False, exclude: Bool = False) -> Value:
    """The sum of squares over the given axes."""
    return F.sum(F.square(data), axis=axis, keepdims=keepdims, exclude=exclude)


@composite("L2Normalization", real=True)
def l2_normalization(
    data: Value, *, eps: Float = 1e-10, mode: Annotated[str, Choice("channel", "instance", "spatial")] = "instance"
) -> Value:
    """The data over its l2 norm: of a whole instance, across channels (axis 1), or across space (axes 2 ...)."""
    if mode != "instance" and data.ndim < 3:
        raise MXNetError(f"L2Normalization: mode {mode!r} needs at least three axes, given shape {data.shape}")
    axis = {"instance": tuple(range(1, data.ndim)), "channel": (1,), "spatial": tuple(range(2, data.ndim))}[mode]
    square = F.square(data)
    norm = F.sqrt((F.sum(square, axis=axis, keepdims=True) if axis else square) + eps)
    return F.broadcast_div(data, norm)


# ---------------------------------------------------------------------------------------------- by rows


def _over_rows(node: Node) -> int | None:
    """How many last axes a reduction is over; None for others."""
    rank = len(node.inputs[0].shape)
    axes = reduction_axes(node.attrs["axis"], node.attrs["exclude"], rank, node.op.name)
    return len(axes) if axes and axes == tuple(range(rank - len(axes), rank)) else None


def _over_exact_rows(node: Node) -> int | None:
    """None, too, for what float16 would overflow in."""
    return None if node.inputs[0].dtype == "float16" else _over_rows(node)


by_rows(mean, _over_exact_rows, (ROW,))(lambda node, x: (row_mean(x),))
by_rows(max_, _over_rows, (ROW,))(lambda node, x: (row_max(x),))
by_rows(min_, _over_rows, (ROW,))(lambda node, x: (row_min(x),))
summed(sum_, _over_rows)


@tell(_repeat_over, "expansion")
def _repeated_by_shape(node: Node, apply: Callable[..., Any]) -> list[Node]:
    """Another shape that has the axes that are repeated, and the repetition of what is there."""
    (data,), shape, like = node.inputs, node.attrs["shape"], node.outputs[0]
    whole = kept_shape(shape, node.attrs["axes"])
    kept = apply(F._reshape_to, [data], {"shape": whole}, like, node.backward)
    return [kept, apply(F._broadcast_from, kept.outputs, {"shape": shape}, like, node.backward)]
