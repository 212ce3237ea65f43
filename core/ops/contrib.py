"""Operators that belong to no other family: index arithmetic, quantisation, mixed precision, straight-through steps."""

import math
from collections.abc import Sequence
from typing import Any

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Bool, DType, Float, Int, OptFloat, OptInt, OptShape, Shape, Str
from core.ops.facts import MOVING
from core.ops.registry import F, composite, gradient, infer, operator
from core.ops.relations import FIRST, PAIRWISE
from core.ops.shape import normal_axes
from core.ops.storage_types import KeepsZero
from core.ops.values import Attrs, Gradients, Input, Namespace, Tensor, Value

FLOATS = ("float16", "bfloat16", "float32", "float64")
INF = math.inf


# ---------------------------------------------------------------------------------------------- places


@composite("_contrib_arange_like", aliases=("_npx_arange_like",), unnamed=True)
def arange_like(
    data: Value, *, start: Float = 0.0, step: Float = 1.0, repeat: Int = 1, ctx: Str = "", axis: OptInt = None
) -> Value:
    """start, start + step, ..., each `repeat` times, in the shape and type of data, or as long as one of its axes."""
    shape = data.shape if axis is None else (data.shape[axis],)
    place = F._arange_like(data, length=math.prod(shape))
    if repeat > 1:
        place = F.floor(place / float(repeat))
    if step != 1:
        place = place * step
    if start:
        place = place + start
    return F.Reshape(place if place.dtype == data.dtype else F.Cast(place, dtype=_name(data)), shape=shape)


@composite("_contrib_index_array")
def index_array(data: Value, *, axes: OptShape = None) -> Value:
    """The coordinates of each element, int64: data.shape + (number of axes); `axes` picks some of them."""
    if not data.ndim:  # a scalar has no coordinates
        return F.Cast(F.slice(F.Reshape(data, shape=(1,)), begin=(0,), end=(0,)), dtype="int64")
    grids = []
    for axis in range(data.ndim) if axes is None else axes:
        axis %= data.ndim
        place = F.Cast(F._arange_like(data, length=data.shape[axis]), dtype="int64")
        shape = [1] * data.ndim
        shape[axis] = -1
        grids.append(F._broadcast_from(F.Reshape(place, shape=tuple(shape)), shape=data.shape))
    return F.stack(*grids, axis=data.ndim)


@composite("_unravel_index", aliases=("unravel_index",))
def unravel_index(data: Value, *, shape: Shape) -> Value:
    """The coordinates of flat indices in an array of `shape`: (axes, *data.shape); the first length may be -1."""
    rest, parts = F.Cast(F.BlockGrad(data), dtype="int64"), []
    for n in shape[:0:-1]:
        part = F._mod_scalar(rest, scalar=n)
        parts.append(part)
        rest = F._div_scalar(rest - part, scalar=n)
    return F.Cast(F.stack(rest, *parts[::-1], axis=0), dtype=_name(data))


@composite("_ravel_multi_index", aliases=("ravel_multi_index",))
def ravel_multi_index(data: Value, *, shape: Shape) -> Value:
    """The flat indices of coordinates data (axes, ...) in an array of `shape`; the first length may be -1."""
    if data.shape[0] != len(shape):
        raise MXNetError(f"ravel_multi_index: {data.shape[0]} coordinates do not fit the shape {shape}")
    flat = None
    for axis, n in enumerate(shape):
        part = F.Cast(F.BlockGrad(F.take(data, _constant(data, axis), axis=0)), dtype="int64")
        flat = part if flat is None else F._mul_scalar(flat, scalar=n) + part
    return F.Cast(F.Reshape(flat, shape=data.shape[1:] or (1,)), dtype=_name(data))


def _constant(like: Value, value: int) -> Value:
    """One number as an int64 array where `like` lives."""
    return F.Cast(F._arange_like(like, length=1) + float(value), dtype="int64")


@composite("diag")
def diag(data: Value, *, k: Int = 0, axis1: Int = 0, axis2: Int = 1) -> Value:
    """The k-th diagonal over two axes, as a last axis; of a vector, the square matrix that has it as k-th diagonal."""
    if data.ndim == 1:
        n = data.shape[0] + abs(k)
        places = tuple(r * n + r + k for r in range(n) if 0 <= r + k < n)
        return F.Reshape(F._fold_places(data, places=places, axis=0, length=n * n), shape=(n, n))
    first, second = normal_axes((axis1, axis2), data.ndim, "diag")
    rows, columns = data.shape[first], data.shape[second]
    places = tuple(r * columns + r + k for r in range(rows) if 0 <= r + k < columns)
    if first == second:
        raise MXNetError(f"diag: two different axes are needed, given {axis1} and {axis2}")
    if not -rows <= k <= columns:
        raise MXNetError(f"diag: a matrix of {rows} x {columns} has diagonals from {-rows} to {columns}, given k={k}")
    others = tuple(a for a in range(data.ndim) if a not in (first, second))
    lead = tuple(data.shape[a] for a in others)
    flat = F.Reshape(F.transpose(data, axes=(*others, first, second)), shape=(*lead, rows * columns))
    return F._take_places(flat, places=places, axis=len(lead))


@composite("_contrib_boolean_mask")
def boolean_mask(data: Value, index: Value, *, axis: Int = 0) -> Value:
    """Slices of data along its first axis where index (a vector) is not 0; how many depends on the values."""
    if axis != 0:
        raise MXNetError(f"boolean_mask: axis={axis} does not fit; 0 is accepted")
    if index.shape != data.shape[:1]:
        raise MXNetError(f"boolean_mask: an index of shape {index.shape} does not fit data of shape {data.shape}")
    return F.take(data, F._reshape_to(F._npx_nonzero(index), shape=(-1,)), axis=0)


@operator("_contrib_index_copy")
def index_copy(old_tensor: Tensor, index_vector: Tensor, new_tensor: Tensor) -> Tensor:
    """old_tensor with rows of new_tensor written at index_vector."""
    if new_tensor.shape[1:] != old_tensor.shape[1:] or tuple(index_vector.shape) != tuple(new_tensor.shape[:1]):
        raise MXNetError(
            f"index_copy: rows {tuple(new_tensor.shape)} at {tuple(index_vector.shape)} positions do not fit "
            f"{tuple(old_tensor.shape)}"
        )
    return kernels.index.index_put(old_tensor, (kernels.cast(index_vector, "int64"),), new_tensor, False)


@gradient(index_copy)
def _index_copy_gradient(dy: Value, index_vector: Value) -> Gradients:
    rows = F.take(dy, index_vector, axis=0)
    return [F._contrib_index_copy(dy, index_vector, F.zeros_like(rows)), None, rows]


@composite("fill_element_0index", real=True)
def fill_element_0index(lhs: Value, mhs: Value, rhs: Value) -> Value:
    """lhs (N, M) with mhs (N) written at the columns rhs (N)."""
    there = F.one_hot(rhs, depth=lhs.shape[1])
    values = F._broadcast_from(F.Reshape(mhs, shape=(-1, 1)), shape=lhs.shape)
    return F.where(there, values, lhs)


@composite("_histogram", outputs=2)
def histogram(
    data: Value, bins: Value | None = None, *, bin_cnt: OptInt = None, range: Input = None
) -> Sequence[Value]:
    """Numbers of elements between edges (int64), and the edges: `bins`, or bin_cnt equal parts of range (low, high).

    The last part has its upper edge.
    """
    data = F.Reshape(data, shape=(-1,))
    if bins is None:
        if bin_cnt is None or range is None:
            raise MXNetError("histogram: bin_cnt and range are needed where bins are not given")
        low, high = (float(v) for v in range)
        edges = F.Cast(F._arange_like(data, length=bin_cnt + 1) * ((high - low) / bin_cnt) + low, dtype=_name(data))
        place = F.floor((data - low) * (bin_cnt / (high - low)))
        top: Value | float = high
        inside = (data >= low) * (data <= high)
    else:
        edges, bin_cnt = bins, bins.shape[0] - 1
        above = F.broadcast_greater_equal(F.Reshape(data, shape=(1, -1)), F.Reshape(bins, shape=(-1, 1)))
        place = F.sum(above, axis=0) - 1.0
        top = F.slice_axis(bins, axis=0, begin=bin_cnt, end=None)
        inside = (place >= 0.0) * F.broadcast_lesser_equal(data, top)
    place = F.clip(F.where(inside, place, F.zeros_like(place)), a_min=0.0, a_max=float(bin_cnt - 1))
    counts = F._scatter_nd_add(
        F.Cast(inside, dtype="int64"), F.Reshape(F.Cast(place, dtype="int64"), shape=(1, -1)), shape=(bin_cnt,)
    )
    return [counts, edges]


# ---------------------------------------------------------------------------------------------- tests of values


@composite("_contrib_isnan")
def isnan(data: Value) -> Value:
    """1 where an element is not a number, in the type of data."""
    return data != data


@composite("_contrib_isinf")
def isinf(data: Value) -> Value:
    """1 where an element is infinite, in the type of data."""
    return F.abs(data) == INF


@composite("_contrib_isfinite")
def isfinite(data: Value) -> Value:
    """1 where an element is a finite number, in the type of data."""
    return (data == data) * (F.abs(data) != INF)


@composite("_contrib_allclose")
def allclose(a: Value, b: Value, *, rtol: Float = 1e-5, atol: Float = 1e-8, equal_nan: Bool = True) -> Value:
    """1 (uint8, a scalar) if |a - b| <= atol + rtol |b| everywhere; equal infinities, and nans, are close."""
    if "int" in _name(a):
        a, b = F.Cast(a, dtype="float64"), F.Cast(b, dtype="float64")
    close = (F.abs(a - b) <= F.abs(b) * rtol + atol) * (F.abs(b) != INF) + (a == b)
    if equal_nan:
        close = close + (a != a) * (b != b)
    return F._reshape_to(F.Cast(F.min(close > 0.0), dtype="uint8"), shape=())


# ---------------------------------------------------------------------------------------------- scaling of gradients


@composite("_contrib_div_sqrt_dim", shape=FIRST, unnamed=True)
def div_sqrt_dim(data: Value) -> Value:
    """Data over the square root of the length of its last axis."""
    return data / math.sqrt(data.shape[-1])


@composite("_contrib_quadratic", shape=FIRST, storage=KeepsZero(lambda attrs: not attrs["c"]))
def quadratic(data: Value, *, a: Float = 0.0, b: Float = 0.0, c: Float = 0.0) -> Value:
    """a x^2 + b x + c."""
    return (data * a + b) * data + c


@operator("_contrib_gradientmultiplier", shape=FIRST, unnamed=True)
def gradient_multiplier(data: Tensor, *, scalar: Float = 1.0, is_int: Bool = True) -> Tensor:
    """The data; its gradient is multiplied by `scalar` (-1 turns it round, as Ganin and Lempitsky, 2015, do)."""
    return kernels.shape.clone(data)


@gradient(gradient_multiplier)
def _gradient_multiplier_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F._mul_scalar(dy, scalar=attrs.scalar)]


@operator("_contrib_round_ste", shape=FIRST, unnamed=True)
def round_ste(data: Tensor) -> Tensor:
    """To the nearest integer, halves away from zero; the gradient passes as it is (Bengio et al., 2013)."""
    return F.round.forward(data)


@operator("_contrib_sign_ste", shape=FIRST, unnamed=True)
def sign_ste(data: Tensor) -> Tensor:
    """The sign; the gradient passes as it is (Bengio et al., 2013)."""
    return F.sign.forward(data)


for _op in (round_ste, sign_ste):

    @gradient(_op)
    def _op_gradient(dy: Value) -> Gradients:
        return [dy]


# ---------------------------------------------------------------------------------------------- mixed precision


@composite("amp_cast", shape=FIRST, precision=True)
def amp_cast(data: Value, *, dtype: DType) -> Value:
    """Data of a floating type in another one; data of other types as it is."""
    return F.Cast(data, dtype=dtype) if _name(data) in FLOATS else F._bridge(data)


@composite("amp_multicast", outputs=lambda attrs: attrs["num_outputs"], shape=PAIRWISE, precision=True)
def amp_multicast(*data: Value, num_outputs: Int, cast_narrow: Bool = False) -> Value | Sequence[Value]:
    """Arrays of floating types, all in the widest (narrowest with cast_narrow) of their types; others as they are."""
    present = [name for name in map(_name, data) if name in FLOATS]
    target = (min if cast_narrow else max)(present, key=FLOATS.index, default="float32")
    cast = [F.amp_cast(x, dtype=target) for x in data]
    return cast if len(cast) > 1 else cast[0]


# ---------------------------------------------------------------------------------------------- normalisation


@composite(
    "_contrib_SyncBatchNorm", outputs=3, visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    mutates=("moving_mean", "moving_var"), names=("output", "mean", "var"), initial=MOVING,
    aliases=("_npx_sync_batch_norm",),
)  # fmt: skip
def sync_batch_norm(
    data: Value, gamma: Value, beta: Value, moving_mean: Value, moving_var: Value, *, eps: Float = 1e-3,
    momentum: Float = 0.9, fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False,
    ndev: Int = 1, key: Str = "",
) -> Value | Sequence[Value]:  # fmt: skip
    """BatchNorm over the second axis; the statistics are those of the batch that this process sees.

    Outputs: result, mean, variance (BatchNorm itself gives 1 / sqrt(variance + eps)).
    """
    outputs = F.BatchNorm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, output_mean_var=output_mean_var,
    )  # fmt: skip
    if not output_mean_var:
        return outputs
    out, mean, rstd = outputs
    return [out, mean, 1 / F.square(rstd) - eps]


@composite(
    "_contrib_BatchNormWithReLU", outputs=3, visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    mutates=("moving_mean", "moving_var"), names=("output", "mean", "var"), initial=MOVING,
)  # fmt: skip
def batch_norm_with_relu(
    data: Value, gamma: Value, beta: Value, moving_mean: Value, moving_var: Value, *, eps: Float = 1e-3,
    momentum: Float = 0.9, fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False,
    axis: Int = 1, cudnn_off: Bool = False, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None,
) -> Value | Sequence[Value]:  # fmt: skip
    """BatchNorm followed by a rectifier."""
    y = F.BatchNorm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, output_mean_var=output_mean_var, axis=axis,
    )  # fmt: skip
    return [F.relu(y[0]), *y[1:]] if output_mean_var else F.relu(y)


for _op in (sync_batch_norm, batch_norm_with_relu):

    @infer(_op)
    def _op_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
        channels = shapes["data"][attrs.get("axis", 1)]
        for name in ("gamma", "beta", "moving_mean", "moving_var"):
            shapes[name] = (channels,)


# ---------------------------------------------------------------------------------------------- point processes


@composite("_contrib_hawkesll", outputs=2, names=("output", "out_state"))
def hawkesll(
    lda: Value, alpha: Value, beta: Value, state: Value, lags: Value, marks: Value, valid_length: Value, max_time: Value
) -> Sequence[Value]:
    """Log likelihood (N) of marked self-exciting point processes, and their states (N, K) at the end (Hawkes, 1971).

    lda (N, K): background rates of K marks; alpha, beta (K): branching ratios and decays; state (N, K) at the start;
    lags (N, T): times between points; marks (N, T): int32; valid_length (N): numbers of points; max_time (N).
    """
    kinds = lda.shape[1]
    alpha, beta = F.Reshape(alpha, shape=(1, -1)), F.Reshape(beta, shape=(1, -1))
    time, last, total = F.zeros_like(max_time), F.zeros_like(state), F.zeros_like(max_time)

    def elapsed(now: Value) -> tuple[Value, Value, Value]:
        d = F.broadcast_sub(F.Reshape(now, shape=(-1, 1)), last)
        left = F.exp(-F.broadcast_mul(beta, d))
        excited = F.broadcast_mul(alpha, state)
        return left, excited, lda * d + excited * (1.0 - left)

    for step in range(lags.shape[1]):
        live = valid_length > float(step)
        time = time + _column(lags, step) * live
        hot = F.Cast(F.one_hot(_column(marks, step), depth=kinds), dtype=_name(lda))
        hot = F.broadcast_mul(hot, F.Reshape(live, shape=(-1, 1)))
        left, excited, compensator = elapsed(time)
        rate = lda + F.broadcast_mul(beta, excited) * left
        total = total + F.sum(hot * (F.log(rate) - compensator), axis=1)
        state = F.where(hot, 1.0 + state * left, state)
        last = F.where(hot, F._broadcast_from(F.Reshape(time, shape=(-1, 1)), shape=last.shape), last)
    left, _, compensator = elapsed(max_time)
    return [total - F.sum(compensator, axis=1), left * state]


def _column(data: Value, step: int) -> Value:
    return F.Reshape(F.slice_axis(data, axis=1, begin=step, end=step + 1), shape=(-1,))


def _name(data: Value) -> str:
    return dtype_name(data.dtype)
