"""Functions of the `np` namespace that reduce, sort, search and count."""

from __future__ import annotations

import builtins
import math
import numbers

import numpy as onp

from core.base import BadValue, MXNetError, WrongKind
from core.dtypes import FLOATS, dtype_name
from core.ndarray.ndarray import NDArray
from core.numpy.manipulation import ravel
from core.numpy.multiarray import _as_array, _into, array, ndarray
from core.ops.registry import F
from core.ops.shape import normal_axes, normal_axis
from core.util import default_float, require


def _given(**attrs) -> dict:
    return {k: v for k, v in attrs.items() if v is not None}


def _reduction(name: str, op_name: str, typed: bool = False):
    def function(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
        if isinstance(out, int) and keepdims is False and op_name != "_npi_mean":
            out, keepdims = None, bool(out)  # MXNet 1 has `keepdims` before `out`, but for the mean
        if initial is not None or where is not None:
            raise MXNetError(f"np.{name}: initial and where are not supported")
        a = _as_array(a)
        if a.ndim == 0 and axis in (0, -1):  # as NumPy has it
            axis = None
        attrs = {"axis": axis, "keepdims": keepdims} | (_given(dtype=dtype) if typed else {})
        return _into(out, getattr(F, op_name)(a, **attrs))

    def untyped(a, axis=None, out=None, keepdims=False, initial=None, where=None):
        return function(a, axis, None, out, keepdims, initial, where)

    chosen = function if typed else untyped
    chosen.__name__ = name
    chosen.__doc__ = f"NumPy's `{name}` over the given axes (all by default)."
    return chosen


sum = _reduction("sum", "_np_sum", typed=True)
prod = _reduction("prod", "_np_prod", typed=True)
mean = _reduction("mean", "_npi_mean", typed=True)
max = amax = _reduction("max", "_np_max")
min = amin = _reduction("min", "_np_min")
all = _reduction("all", "_npi_all")
any = _reduction("any", "_npi_any")


product, alltrue, sometrue = prod, all, any


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
    """The standard deviation over the given axes (all by default): sqrt(sum((a - mean)^2) / (n - ddof)).

    correction: the array API's word for `ddof`.
    """
    ddof = ddof if correction is None else correction
    return _into(out, F._npi_std(a, axis=axis, ddof=ddof, keepdims=keepdims, **_given(dtype=dtype)))


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
    """The variance over the given axes (all by default): sum((a - mean)^2) / (n - ddof).

    correction: the array API's word for `ddof`.
    """
    ddof = ddof if correction is None else correction
    return _into(out, F._npi_var(a, axis=axis, ddof=ddof, keepdims=keepdims, **_given(dtype=dtype)))


def average(a, axis=None, weights=None, returned=False, out=None):
    """The weighted mean over the given axes, and with `returned` the sum of the weights."""
    a = _as_array(a)
    if weights is None:
        result = mean(a, axis)
        if "int" in dtype_name(a.dtype):  # other than `mean`, MXNet's `average` keeps the type
            result = result.astype(a.dtype)
        total = array(a.size / builtins.max(result.size, 1), dtype=result.dtype, ctx=a._ctx)
    else:
        weights = _as_array(weights, a)
        total = sum(weights, axis if weights.shape == a.shape else None)
        if weights.shape != a.shape:
            if axis is None:
                raise MXNetError("average: an axis is needed where the shapes of array and weights differ")
            shape = [1] * a.ndim
            shape[axis] = a.shape[axis]
            weights = F._broadcast_from(F._reshape_to(weights, shape=tuple(shape)), shape=a.shape)
        result = sum(a * weights, axis) / total
    result = _into(out, result)
    return [result, F.BlockGrad(total)] if returned else result


def argmax(a, axis=None, out=None, keepdims=False):
    """The index of the maximum, as int64."""
    return _into(out, F._npi_argmax(a, axis=axis, keepdims=keepdims))


def argmin(a, axis=None, out=None, keepdims=False):
    """The index of the minimum, as int64."""
    return _into(out, F._npi_argmin(a, axis=axis, keepdims=keepdims))


def cumsum(a, axis=None, dtype=None, out=None):
    """Running sums along an axis (of the flat array by default)."""
    return _into(out, F.cumsum(a, axis=axis, **_given(dtype=dtype)))


def _sortable(name, a):
    if dtype_name(a.dtype) in ("float16", "bool"):
        raise MXNetError(f"{name}: arrays of {dtype_name(a.dtype)} cannot be sorted")
    return a


KINDS = None, "quicksort", "mergesort", "heapsort", "stable"  # one algorithm, a stable one, serves them all


def sort(a, axis=-1, kind=None, order=None, *, descending=False, stable=True):
    """The elements in ascending order (or descending) along an axis (None: of the flat array)."""
    _check_sort("np.sort", kind, order)
    return F.sort(_sortable("sort", a), axis=axis, is_ascend=not descending)


def argsort(a, axis=-1, kind=None, order=None, *, descending=False, stable=True):
    """The indices that sort the array along an axis, as int64; equal elements stay in their order."""
    _check_sort("np.argsort", kind, order)
    return F.argsort(_sortable("argsort", a), axis=axis, is_ascend=not descending, dtype="int64")


def _check_sort(name: str, kind: str | None, order) -> None:
    require(name, "order", order, None)  # fields of structured arrays, which there are none of
    if kind not in KINDS:
        raise ValueError(f"{name}: the kind is {', '.join(map(repr, KINDS[1:]))}; given {kind!r}")


def nonzero(a):
    """The indices of the elements that are not zero, one array per axis."""
    positions = F._npx_nonzero(a if a.ndim else a.reshape(1))
    return tuple(F._reshape_to(positions[:, i : i + 1], shape=(positions.shape[0],)) for i in range(positions.shape[1]))


def flatnonzero(a):
    """The indices in the flat array of the elements that are not zero."""
    return nonzero(ravel(a))[0]


def count_nonzero(a, axis=None, keepdims=False):
    """How many elements are not zero."""
    a = _as_array(a)
    counts = onp.count_nonzero(a.asnumpy(), axis, keepdims=keepdims)
    return int(counts) if axis is None and not keepdims else array(counts, ctx=a._ctx)


def where(condition, x=None, y=None):
    """Elements of x where the condition holds, else of y; with the condition alone its true positions."""
    if x is None and y is None:
        return nonzero(condition)
    if not isinstance(condition, NDArray):
        condition = array(onp.asarray(condition))
    x_is_number, y_is_number = (not isinstance(v, NDArray) for v in (x, y))
    if x_is_number and y_is_number:
        x, y = (array(v, dtype="float32", ctx=condition._ctx) for v in (x, y))
    elif x_is_number:
        return F._npi_where_lscalar(condition, y, scalar=x)
    elif y_is_number:
        return F._npi_where_rscalar(condition, x, scalar=y)
    if dtype_name(x.dtype) != dtype_name(y.dtype):
        raise MXNetError(f"where: arrays of one type are needed, given {dtype_name(x.dtype)} and {dtype_name(y.dtype)}")
    return F._npi_where(condition, x, y)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The different elements (or slices along an axis) in ascending order, and where and how often they stand."""
    ar = _as_array(ar)
    if dtype_name(ar.dtype) == "bool":
        raise MXNetError("unique: arrays of bool are not supported")
    parts = onp.unique(ar.asnumpy(), return_index, return_inverse, return_counts, axis=axis)
    if isinstance(parts, tuple):
        inverse = 2 if return_index else 1
        return tuple(
            array(p.reshape(-1) if return_inverse and i == inverse and axis is None else p, ctx=ar._ctx)
            for i, p in enumerate(parts)
        )
    return array(parts, ctx=ar._ctx)


def histogram(a, bins=10, range=None, normed=None, weights=None, density=None):
    """Counts of the elements in bins, and the edges of the bins."""
    if normed or weights is not None or density:
        raise NotImplementedError("np.histogram: weights and densities are not supported")
    if isinstance(bins, numbers.Integral) and range is None:
        raise NotImplementedError("np.histogram: a number of bins needs a range")
    edges = bins.asnumpy() if isinstance(bins, NDArray) else bins
    counts, edges = onp.histogram(a.asnumpy(), edges, range)
    return [array(counts.astype(onp.int64)), array(edges, dtype=a.dtype)]


# Between two neighbours in order: the share of the upper one, from the fraction of the position and the lower position.
_SHARES = {
    "linear": lambda fraction, lower: fraction,
    "lower": lambda fraction, lower: 0.0 * fraction,
    "higher": lambda fraction, lower: onp.ceil(fraction),
    "midpoint": lambda fraction, lower: 0.5 * onp.ceil(fraction),
    "nearest": lambda fraction, lower: onp.where(fraction == 0.5, lower % 2, onp.round(fraction)),
}


def _quantile(a, q, axis, interpolation, keepdims, scale):
    """By sorting, so that gradients reach the elements that the quantiles lie between."""
    a = _as_array(a)
    interpolation = interpolation or "linear"
    if interpolation not in _SHARES:
        raise ValueError(f"quantiles: one of {', '.join(_SHARES)} is accepted, given {interpolation!r}")
    values = (q.asnumpy() if isinstance(q, NDArray) else onp.asarray(q)).astype("float64") / scale
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"quantiles lie between 0 and {scale:g}, given {q}")
    axes = normal_axes((axis,) if isinstance(axis, numbers.Integral) else axis, a.ndim, "quantile")
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    count = math.prod(a.shape[i] for i in axes)
    if not count:
        raise ValueError(f"quantiles of no elements, given the shape {a.shape}")
    wide = a if dtype_name(a.dtype) == "float64" else a.astype("float32")
    rows = F._reshape_to(F.transpose(wide, axes=rest + axes), shape=(*(a.shape[i] for i in rest), count))
    rows = F.sort(rows, axis=-1)
    position = values.reshape(-1) * (count - 1)
    lower = onp.floor(position)
    share = array(_SHARES[interpolation](position - lower, lower), dtype=wide.dtype, ctx=a._ctx)
    below, above = (
        F._take_places(rows, places=tuple(p.astype(int).tolist()), axis=len(rest)) for p in (lower, onp.ceil(position))
    )
    step = F.broadcast_mul(F._npi_where(below == above, F.zeros_like(below), above - below), share)
    last = F.slice_axis(rows, axis=-1, begin=-1, end=None)  # NaN if there is one
    result = F._npi_where(
        F._broadcast_from(last == last, shape=below.shape), below + step, F._broadcast_from(last, shape=below.shape)
    )
    result = F.transpose(result, axes=(len(rest), *range(len(rest))))
    kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape)) if keepdims else tuple(a.shape[i] for i in rest)
    return F._reshape_to(result, shape=values.shape + kept)


def percentile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False, *, method=None):
    """The q-th percentiles over the given axes; `method` is NumPy's newer word for `interpolation`."""
    return _into(out, _quantile(a, q, axis, method or interpolation, keepdims, 100.0))


def quantile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False, *, method=None):
    """The q-th quantiles over the given axes; `method` is NumPy's newer word for `interpolation`."""
    return _into(out, _quantile(a, q, axis, method or interpolation, keepdims, 1.0))


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The median over the given axes (all by default), between both middle elements where there are two."""
    return _into(out, _quantile(a, 0.5, axis, "linear", keepdims, 1.0))


def bincount(x, weights=None, minlength=0):
    """How often each non-negative integer stands in x, or the sums of its weights."""
    if dtype_name(x.dtype) in FLOATS:
        raise WrongKind(f"bincount: integers are counted, given {dtype_name(x.dtype)}")
    counts = onp.bincount(x.asnumpy(), None if weights is None else weights.asnumpy(), minlength)
    return array(counts, dtype=x.dtype if weights is None else weights.dtype, ctx=x._ctx)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times; `prepend` and `append` are joined to the array before."""
    from core.numpy.manipulation import broadcast_to, concatenate

    if n < 0:
        raise MXNetError(f"diff: n is 0 or more, given {n}")
    edge = tuple(1 if i == axis % a.ndim else m for i, m in enumerate(a.shape))
    ends = (None if v is None else _as_array(v).astype(a.dtype) for v in (prepend, append))
    first, last = (v if v is None or v.ndim else broadcast_to(v, edge) for v in ends)
    if first is not None or last is not None:
        a = concatenate([v for v in (first, a, last) if v is not None], axis)
    for _ in range(n):
        axis = normal_axis(axis, a.ndim, "diff")
        lead = (slice(None),) * axis
        a = a[(*lead, slice(1, None))] - a[(*lead, slice(None, -1))]
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flat array."""
    from core.numpy.manipulation import concatenate

    flat = ravel(_as_array(ary))
    parts = [None if v is None else ravel(_as_array(v).astype(flat.dtype)) for v in (to_begin, to_end)]
    return concatenate([p for p in (parts[0], flat[1:] - flat[:-1], parts[1]) if p is not None])


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values at x of the line through the points (xp, fp), xp ascending; left and right: those beyond its ends.

    period: of xp, which need not ascend then. Computed by NumPy, without gradients.
    """
    values = [v.asnumpy() if isinstance(v, NDArray) else v for v in (x, xp, fp)]
    return array(onp.interp(*values, left, right, period))


def polyval(p, x):
    """The polynomial with coefficients p, highest first, at x."""
    if not isinstance(x, NDArray):
        if not isinstance(p, NDArray):
            return onp.polyval(p, x)
        x = _as_array(x, p)
    if len(getattr(p, "shape", (0,))) != 1:
        raise BadValue(f"polyval: one axis of coefficients is needed, given the shape {p.shape}")
    coefficients = p.asnumpy().tolist() if isinstance(p, NDArray) else list(p)
    result = F.full_like(x, fill_value=0)
    for k in range(len(coefficients)):
        result = result * x + (p[k] if isinstance(p, ndarray) else coefficients[k])
    return result


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and elements."""
    a1, a2 = _as_array(a1), _as_array(a2)
    return bool(onp.array_equal(a1.asnumpy(), a2.asnumpy(), equal_nan))


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements agree within tolerances."""
    return bool(isclose(a, b, rtol, atol, equal_nan).asnumpy().all())


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where |a - b| <= atol + rtol |b|, as bool; equal_nan: NaN agrees with NaN."""
    given = (x.asnumpy() if isinstance(x, NDArray) else x for x in (_as_array(a), _as_array(b), rtol, atol))
    return array(onp.isclose(*given, equal_nan))


def _window(name: str):
    def function(M, dtype=None, ctx=None, device=None):
        return array(getattr(onp, name)(M), dtype=dtype or default_float(), ctx=ctx or device)

    function.__name__ = name
    function.__doc__ = f"The {name} window of M points."
    return function


hanning, hamming, blackman = _window("hanning"), _window("hamming"), _window("blackman")
