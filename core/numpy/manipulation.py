"""Functions of the `np` namespace that rearrange elements: shapes, order, joins, parts, repeats."""

from __future__ import annotations

import builtins
import math
import numbers
from itertools import pairwise

import numpy as onp

from core.base import BadValue, MXNetError
from core.dtypes import dtype_name
from core.numpy.multiarray import _as_array, _into, _make, array, ndarray
from core.ops import parts as _parts
from core.ops.attributes import shape_of
from core.ops.registry import F
from core.ops.shape import normal_axes, normal_axis
from core.util import default_float, is_np_default_dtype, require


def _axes(axis, ndim: int, name: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axis = (axis,) if isinstance(axis, numbers.Integral) else axis
    return tuple(normal_axis(a, ndim, name) for a in axis)


# ---------------------------------------------------------------------------------------------- shape and order


def reshape(a, newshape, order="C", out=None):
    """The same elements in another shape; one length may be -1.

    order: "C", "F", or "A" for the array's own, which is "C".
    """
    if order == "F":  # the first index changes fastest
        lengths = newshape if isinstance(newshape, (tuple, list)) else (newshape,)
        return _into(out, transpose(F._npi_reshape(transpose(a), newshape=tuple(reversed(lengths)))))
    return _into(out, F._npi_reshape(a, newshape=newshape, order="C" if order == "A" else order))


def ravel(x, order="C"):
    """The elements as a vector. order: as in `reshape`; "K" and None are the array's own, too."""
    return reshape(x, (-1,), order="A" if order in ("K", None) else order)


flatten = ravel


def transpose(a, axes=None):
    """The axes in another order, reversed by default."""
    axes = () if axes is None else axes
    if type(axes) is not tuple or min(axes, default=0) < 0:
        axes = normal_axes(shape_of(axes, "axes"), a.ndim, "transpose")
    if len(axes) == a.ndim and len(set(axes)) < a.ndim:
        raise ValueError(f"transpose: an axis is repeated in {axes}")
    return F.transpose(a, axes=axes)


def swapaxes(a, axis1, axis2):
    """Two axes exchanged."""
    return F.SwapAxis(a, dim1=axis1, dim2=axis2)


def moveaxis(a, source, destination):
    """Axes moved to new positions; the others keep their order."""
    source, destination = _axes(source, a.ndim, "moveaxis"), _axes(destination, a.ndim, "moveaxis")
    if len(source) != len(destination):
        raise ValueError("source and destination differ in number of axes")
    if len({*source}) < len(source) or len({*destination}) < len(destination):
        raise BadValue(f"moveaxis: an axis is repeated in {source} or {destination}")
    order = [x for x in range(a.ndim) if x not in source]
    for to, x in sorted(zip(destination, source, strict=True)):
        order.insert(to, x)
    return F.transpose(a, axes=tuple(order))


def rollaxis(a, axis, start=0):
    """An axis moved before another one."""
    axis = normal_axis(axis, a.ndim, "rollaxis")
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def expand_dims(a, axis):
    """New axes of length 1."""
    if isinstance(axis, (tuple, list)):
        for x in sorted(_axes(axis, a.ndim + len(axis), "expand_dims")):
            a = F.expand_dims(a, axis=x)
        return a
    return F.expand_dims(a, axis=axis)


def squeeze(a, axis=None, out=None):
    """Axes of length 1 taken away."""
    if a.ndim == 0 and axis in (0, -1):  # as NumPy has it
        axis = None
    axes = tuple(i for i, n in enumerate(a.shape) if n == 1) if axis is None else _axes(axis, a.ndim, "squeeze")
    for i in axes:
        if a.shape[i] != 1:
            raise BadValue(f"squeeze: cannot take away axis {i}: its length is {a.shape[i]}, not 1")
    return _into(out, F._copy(F._reshape_to(a, shape=tuple(n for i, n in enumerate(a.shape) if i not in axes))))


def broadcast_to(array, shape):
    """The array (or number) repeated along axes of length 1 to `shape`; -2 keeps a length."""
    shape = (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)
    if isinstance(array, numbers.Number):
        return _make("_full", None, shape=shape, value=array, dtype=default_float())
    if -2 in shape and len(shape) >= array.ndim:
        own = (1,) * (len(shape) - array.ndim) + array.shape
        shape = tuple(own[i] if n == -2 else n for i, n in enumerate(shape))
    try:
        fits = onp.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise MXNetError(f"broadcast_to: cannot repeat the shape {array.shape} to {shape}")
    return F._broadcast_from(array, shape=shape)


def broadcast_arrays(*args):
    """All arrays repeated to their common shape."""
    args = [_as_array(a) for a in args]
    shape = onp.broadcast_shapes(*(a.shape for a in args))
    return [broadcast_to(a, shape) for a in args]


def _at_least(n: int, shape_of_more):
    def function(*arrays):
        made = []
        for a in arrays:
            a = _as_array(a)
            made.append(a if a.ndim >= n else F._reshape_to(a, shape=shape_of_more(a.shape)))
        return made[0] if len(made) == 1 else made

    function.__name__ = f"atleast_{n}d"
    function.__doc__ = f"Arrays with at least {n} axes."
    return function


atleast_1d = _at_least(1, lambda s: (1,))
atleast_2d = _at_least(2, lambda s: (1, *s) if s else (1, 1))
atleast_3d = _at_least(3, lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}[len(s)])


def flip(m, axis=None, out=None):
    """The elements in reverse order along axes (all by default)."""
    return _into(out, m.copy() if m.ndim == 0 else F.reverse(m, axis=_axes(axis, m.ndim, "flip")))


def flipud(m):
    """Rows in reverse order."""
    return flip(m, 0)


def fliplr(m):
    """Columns in reverse order."""
    return flip(m, 1)


def roll(a, shift, axis=None):
    """Elements moved along axes; what falls off comes in at the other end."""
    if axis is None:
        return F._reshape_to(roll(ravel(a), shift, 0), shape=a.shape)
    axes = _axes(axis, a.ndim, "roll")
    shifts = [shift] * len(axes) if isinstance(shift, numbers.Integral) else list(shift)
    for x, s in zip(axes, shifts, strict=True):
        n = a.shape[x]
        if n and s % n:
            cut = n - s % n
            lead = (slice(None),) * x
            a = concatenate([a[(*lead, slice(cut, None))], a[(*lead, slice(None, cut))]], axis=x)
    return a


def rot90(m, k=1, axes=(0, 1)):
    """The plane of two axes turned k times by 90 degrees, from the first towards the second."""
    if len(axes) != 2:
        raise MXNetError(f"rot90: two axes are needed, given {axes}")
    first, second = _axes(axes, m.ndim, "rot90")
    if first == second:
        raise MXNetError(f"rot90: an axis is repeated in {axes}")
    return F._npi_rot90(m, k=k, axes=(first, second))


# ---------------------------------------------------------------------------------------------- repeats and pads


def tile(A, reps):
    """The whole array repeated along each axis."""
    reps = (reps,) if isinstance(reps, numbers.Integral) else tuple(reps)
    n = builtins.max(A.ndim, len(reps))
    wide, reps = F._reshape_to(A, shape=(1,) * (n - A.ndim) + A.shape), (1,) * (n - len(reps)) + reps
    wide = wide[tuple(slice(None) if r else slice(0) for r in reps)] if 0 in reps else wide
    return F.tile(wide, reps=tuple(r or 1 for r in reps))


def repeat(a, repeats, axis=None):
    """Each element (or slice) repeated; `repeats` may differ along the axis."""
    if isinstance(repeats, numbers.Integral):
        return F.repeat(a, repeats=repeats, axis=axis)
    if axis is None:
        a, axis = ravel(a), 0
    if len(repeats) == 1:
        return F.repeat(a, repeats=repeats[0], axis=axis)
    positions = [i for i, r in enumerate(repeats) for _ in range(r)]
    return F._take_places(a, places=tuple(positions), axis=normal_axis(axis, a.ndim, "repeat"))


def resize(a, new_shape):
    """The elements, over and over, in a new shape."""
    new_shape = (new_shape,) if isinstance(new_shape, numbers.Integral) else tuple(new_shape)
    size, wanted = a.size, math.prod(new_shape)
    if size == 0 or wanted == 0:
        return array(onp.zeros(new_shape), dtype=a.dtype, ctx=a._ctx)
    return F._reshape_to(tile(ravel(a), -(-wanted // size))[:wanted], shape=new_shape)


def pad(x, pad_width, mode="constant", **kwargs):
    """Positions added around the array: constant, edge, reflect, symmetric, maximum, minimum.

    pad_width: ((before, after), ...), a pair for each axis. As in MXNet 1.9, `constant_values` is accepted, but the new
    positions of "constant" are 0.
    """
    if not isinstance(pad_width, tuple):
        raise TypeError(f"pad: pad_width is a tuple of (before, after) for each axis, given {pad_width!r}")
    if x.ndim == 1 and len(pad_width) == 2 and all(isinstance(p, numbers.Integral) for p in pad_width):
        pad_width = (pad_width,)
    widths = [tuple(p) if isinstance(p, (tuple, list)) else (p,) for p in pad_width]
    if len(widths) < x.ndim or any(len(p) != 2 for p in widths):
        raise MXNetError(f"pad: (before, after) is needed for each of {x.ndim} axes, given {pad_width}")
    widths = widths[: x.ndim]
    taken = {"constant": ("constant_values",), "reflect": ("reflect_type",), "symmetric": ("reflect_type",)}.get(
        mode, ()
    )
    for name in kwargs:
        if name not in taken:
            raise ValueError(f"pad: mode {mode!r} does not take {name!r}")
    if not isinstance(kwargs.get("constant_values", 0), numbers.Number):
        raise TypeError(f"pad: constant_values is a number, given {kwargs['constant_values']!r}")
    if kwargs.get("reflect_type", "even") != "even":
        raise ValueError(f"pad: reflect_type {kwargs['reflect_type']!r} does not fit; 'even' is accepted")
    if mode == "constant":
        return F._pad(x, mode="constant", pad_width=tuple(v for pair in widths for v in pair))
    copies = mode in ("edge", "reflect", "symmetric")
    if not copies and mode not in ("maximum", "minimum"):
        raise ValueError(
            f"pad: unknown mode {mode!r}; accepted are constant, edge, reflect, symmetric, maximum, minimum"
        )
    for axis, (lo, hi) in enumerate(widths):
        if not (lo or hi):
            continue
        if x.shape[axis] == 0:
            raise ValueError(f"pad: axis {axis} is empty; mode 'constant' alone adds elements to it, given {mode!r}")
        if copies:
            x = F._take_places(x, places=_parts.source_places(x.shape[axis], lo, hi, mode), axis=axis)
            continue
        extreme = (F._np_max if mode == "maximum" else F._np_min)(x, axis=(axis,), keepdims=True)
        parts = [F._take_places(extreme, places=(0,) * w, axis=axis) for w in (lo, hi)]
        x = concatenate([parts[0], x, parts[1]], axis=axis)
    return x


# ---------------------------------------------------------------------------------------------- joins


def concatenate(seq, axis=0, out=None):
    """Arrays joined along an existing axis (None: as vectors)."""
    seq = [_as_array(a) for a in seq]
    if axis is None:
        seq, axis = [ravel(a) for a in seq], 0
    return _into(out, F.Concat(*seq, dim=axis))


def stack(arrays, axis=0, out=None):
    """Arrays of one shape joined along a new axis."""
    return _into(out, F.stack(*[_as_array(a) for a in arrays], axis=axis))


def vstack(arrays, out=None):
    """Arrays joined along rows."""
    return concatenate([atleast_2d(a) for a in arrays], axis=0, out=out)


row_stack = vstack


def hstack(arrays):
    """Arrays joined along columns (vectors along their only axis)."""
    arrays = [atleast_1d(a) for a in arrays]
    return concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1)


def dstack(arrays):
    """Arrays joined along the third axis."""
    return concatenate([atleast_3d(a) for a in arrays], axis=2)


def column_stack(tup):
    """Vectors as the columns of a matrix, beside matrices."""
    return concatenate([F._reshape_to(a, shape=(a.size, 1)) if a.ndim < 2 else a for a in map(_as_array, tup)], axis=1)


def append(arr, values, axis=None):
    """The values behind the array."""
    return concatenate([_as_array(arr), _as_array(values)], axis=axis)


# ---------------------------------------------------------------------------------------------- parts


def split(ary, indices_or_sections, axis=0):
    """Parts along an axis: equal ones, or cut at indices."""
    axis = normal_axis(axis, ary.ndim, "split")
    if isinstance(indices_or_sections, numbers.Integral):
        if indices_or_sections < 1:
            raise BadValue(f"split makes parts from one on, given {indices_or_sections}")
        if ary.shape[axis] % indices_or_sections:
            raise ValueError(
                f"an axis of length {ary.shape[axis]} does not divide into {indices_or_sections} equal parts"
            )
    return array_split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """Parts along an axis; sections may differ by one in length."""
    axis = normal_axis(axis, ary.ndim, "array_split")
    n = ary.shape[axis]
    if isinstance(indices_or_sections, numbers.Integral):
        each, more = divmod(n, indices_or_sections)
        bounds = [0]
        for i in range(indices_or_sections):
            bounds.append(bounds[-1] + each + (i < more))
    else:
        bounds = [0, *[int(i) for i in indices_or_sections], n]
    lead = (slice(None),) * axis
    return [ary[(*lead, slice(a, builtins.max(a, b)))] for a, b in pairwise(bounds)]


def hsplit(ary, indices_or_sections):
    """Parts along columns (of vectors along their only axis)."""
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    """Parts along rows."""
    if ary.ndim < 2:
        raise ValueError("vsplit needs at least two axes")
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """Parts along the third axis."""
    if ary.ndim < 3:
        raise ValueError("dsplit needs at least three axes")
    return split(ary, indices_or_sections, 2)


def take(a, indices, axis=None, mode="raise", out=None):
    """Elements (or slices along an axis) at indices; out of range: clip, wrap, or raise (MXNetError; negative ones too)."""
    indices = _as_array(indices, a)
    if axis is None:
        a, axis = ravel(a), 0
    return _into(out, F.take(a, indices, axis=axis, mode=mode))


def take_along_axis(arr, indices, axis):
    """Elements at indices along an axis, one for each position of the others."""
    return F._gather_along(arr, F.Cast(indices, dtype="int64"), axis=axis)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonal of the plane of two axes, as the last axis."""
    first, second = _axes((axis1, axis2), a.ndim, "diagonal")
    if first == second:
        raise MXNetError(f"diagonal: two different axes are needed, given {axis1} and {axis2}")
    a = moveaxis(a, (first, second), (-2, -1))
    rows, columns = a.shape[-2:]
    positions = [r * columns + r + offset for r in range(rows) if 0 <= r + offset < columns]
    flat = F._reshape_to(a, shape=(*a.shape[:-2], rows * columns))
    return F._take_places(flat, places=tuple(positions), axis=flat.ndim - 1)


def diag(v, k=0):
    """The diagonal of a matrix, or a matrix with the vector on its diagonal."""
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("diag needs a vector or a matrix")
    n = v.shape[0] + builtins.abs(k)
    positions = tuple((i - builtins.min(k, 0)) * n + i + builtins.max(k, 0) for i in range(v.shape[0]))
    return F._reshape_to(F._fold_places(v, places=positions, axis=0, length=n * n), shape=(n, n))


def diagflat(v, k=0):
    """A matrix with the flat elements on its diagonal."""
    return diag(ravel(v), k)


def trace(a, offset=0, axis1=0, axis2=1, out=None):
    """The sums of diagonal `offset` (above the main one if positive) of the matrices along axis1 and axis2."""
    return _into(out, F._np_sum(diagonal(a, offset, axis1, axis2), axis=-1))


def _triangle(m, name, k):
    if not getattr(m, "ndim", 0):
        raise MXNetError(f"{name}: an array of one axis or more is needed, given {m!r}")
    m = F._broadcast_from(m, shape=(m.shape[0],) * 2) if m.ndim == 1 else m
    return F._triangle(m, lower=name == "tril", offset=k)


def tril(m, k=0):
    """The elements on and below diagonal k; zeros elsewhere."""
    return _triangle(m, "tril", k)


def triu(m, k=0):
    """The elements on and above diagonal k; zeros elsewhere."""
    return _triangle(m, "triu", k)


def tri(N, M=None, k=0, dtype=None, ctx=None, device=None):
    """An N x M matrix (M: N by default) of ones on and below diagonal k, zeros above; float32 unless given."""
    return array(onp.tri(N, M, k), dtype=dtype or default_float(), ctx=ctx or device)


def _positions(name: str, obj, n: int) -> list[int]:
    """Places along an axis of n elements that an int, a slice or an array names, counted from the front."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(n)))
    if isinstance(obj, numbers.Integral):
        return [int(obj)]
    if isinstance(obj, ndarray):
        return [int(i) for i in obj.asnumpy().reshape(-1)]
    raise TypeError(f"{name}: indices are an int, a slice or an np array, given {type(obj).__name__}")


def delete(arr, obj, axis=None):
    """The array without the slices at the given positions (an int, a slice or an array).

    Those of arrays beyond the end are ignored.
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normal_axis(axis, arr.ndim, "delete")
    n = arr.shape[axis]
    gone = _positions("delete", obj, n)
    if isinstance(obj, numbers.Integral) and not -n <= obj < n:
        raise MXNetError(f"delete: index {obj} is out of bounds for an axis of length {n}")
    gone = {i + n if i < 0 else i for i in gone}
    return F._take_places(arr, places=tuple(i for i in range(n) if i not in gone), axis=axis)


def insert(arr, obj, values, axis=None):
    """The array with values put in before the given positions (an int, a slice or an int64 array).

    values: an array that broadcasts to the new part; a number where arr has one axis and obj names one position.
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normal_axis(axis, arr.ndim, "insert")
    n, lead = arr.shape[axis], (slice(None),) * axis
    positions = _positions("insert", obj, n)
    if isinstance(obj, ndarray) and dtype_name(obj.dtype) not in ("int64", "int32"):
        raise MXNetError(f"insert: indices are of type int64, given {dtype_name(obj.dtype)}; convert with astype")
    for p in positions:
        if not -n <= p <= n:
            raise MXNetError(f"insert: index {p} is out of bounds for an axis of length {n}")
    if not isinstance(values, ndarray) and (arr.ndim > 1 or len(positions) != 1):
        raise MXNetError(f"insert: values for {arr.ndim} axes or several indices are an np array, given {values!r}")
    values = _as_array(values, arr).astype(arr.dtype)
    single, width = len(positions) == 1, len(positions)
    if single:  # all of the values go to the one position, however many they are
        if values.ndim < arr.ndim:
            values = F._reshape_to(values, shape=(1,) * (arr.ndim - values.ndim) + values.shape)
        values = moveaxis(values, 0, axis) if isinstance(obj, numbers.Integral) else values
        width = values.shape[axis]
    block = broadcast_to(values, (*arr.shape[:axis], width, *arr.shape[axis + 1 :]))
    positions = [p + n if p < 0 else p for p in positions]
    if single:
        return concatenate(
            [arr[(*lead, slice(None, positions[0]))], block, arr[(*lead, slice(positions[0], None))]], axis=axis
        )
    parts, start = [], 0
    for i in sorted(range(len(positions)), key=positions.__getitem__):
        parts += [arr[(*lead, slice(start, positions[i]))], block[(*lead, slice(i, i + 1))]]
        start = positions[i]
    return concatenate([*parts, arr[(*lead, slice(start, None))]], axis=axis)


def meshgrid(*xi, indexing="xy", sparse=False, copy=True):
    """Coordinate arrays of a grid."""
    require("np.meshgrid", "copy", copy, True)
    n = len(xi)
    grids = [F._reshape_to(x, shape=tuple(x.size if i == k else 1 for i in range(n))) for k, x in enumerate(xi)]
    if not sparse:
        grids = broadcast_arrays(*grids)
    return [swapaxes(g, 0, 1) for g in grids] if indexing == "xy" and n > 1 else list(grids)


def diag_indices_from(arr):
    """The indices of the main diagonal of a square array."""
    if len(set(arr.shape)) != 1 or arr.ndim < 2:
        raise ValueError("all axes must have the same length")
    return tuple(array(onp.arange(arr.shape[0], dtype=onp.int64)) for _ in range(arr.ndim))


def tril_indices(n, k=0, m=None):
    """The indices of the lower triangle of an n x m matrix."""
    return tuple(array(i) for i in onp.tril_indices(n, k, m))


def triu_indices(n, k=0, m=None, ctx=None, device=None):
    """The indices of the upper triangle of an n x m matrix."""
    return tuple(array(i, ctx=ctx or device) for i in onp.triu_indices(n, k, m))


def triu_indices_from(arr, k=0):
    """The indices of the upper triangle of a matrix; ValueError for anything else."""
    if arr.ndim != 2:
        raise ValueError(f"triu_indices_from: a matrix is needed, given the shape {arr.shape}")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def indices(dimensions, dtype=None, ctx=None, device=None):
    """The indices of a grid, stacked along a new first axis; by default int32, or int64 under NumPy's types."""
    dtype = dtype or ("int64" if is_np_default_dtype() else "int32")
    return array(onp.indices(dimensions), dtype=dtype, ctx=ctx or device)


def unravel_index(indices, shape, order="C"):
    """Flat indices as indices of each axis; order: "C", the last axis runs fastest, or "F", the first."""
    flat = _as_array(indices).asnumpy().astype(onp.int64)
    return tuple(array(i) for i in onp.unravel_index(flat, shape, order))


def shares_memory(a, b, max_work=None):
    """Whether two arrays have memory in common. (Views are contiguous: other parts are copies.)"""
    first, second = _bytes(a), _bytes(b)
    return bool(a.size and b.size) and first[0] < second[1] and second[0] < first[1]


may_share_memory = shares_memory


def _bytes(x) -> tuple[int, int]:
    """Where the memory of an array of `np` or of NumPy begins and ends."""
    if isinstance(x, onp.ndarray):
        start = x.__array_interface__["data"][0]
        ends = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
        return start + builtins.sum(e for e in ends if e < 0), start + builtins.sum(
            e for e in ends if e > 0
        ) + x.itemsize
    return x._data.data_ptr(), x._data.data_ptr() + x.size * x._data.element_size()
