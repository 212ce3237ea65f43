"""Functions of the `nd` namespace that are more than an operator: creation, scalars on either side, other libraries."""

from __future__ import annotations

import numbers
import warnings
import weakref

import numpy as onp

from core import dispatch, storage, writes
from core.base import MXNetError
from core.context import Context, current_context
from core.ndarray.ndarray import NDArray, array, binary
from core.ops.attributes import shape_of
from core.ops.registry import TABLE, F
from core.util import is_np_shape, no_more


def _known(shape) -> tuple[int, ...]:
    """The shape; classic semantics take 0 axes, and lengths of 0, for unknown ones."""
    shape = shape_of(shape)
    if not (shape and all(shape)) and not is_np_shape():
        raise MXNetError(f"the shape {shape} is not known: lengths of 0 need npx.set_np() or util.np_shape()")
    return shape


def zeros(shape, ctx: Context | None = None, dtype="float32", stype=None, out=None, **kwargs) -> NDArray:
    """An array of zeros; of few stored rows or elements with stype "row_sparse" or "csr".

    >>> nd.zeros((2, 2), dtype="int32")
    [[0 0]
     [0 0]]
    <NDArray 2x2 @cpu(0)>
    """
    no_more("nd.zeros", kwargs)
    if stype not in (None, "default"):
        from core.ndarray import sparse

        return sparse.zeros(stype, shape, ctx=ctx, dtype=dtype)
    return dispatch.create(TABLE["_zeros"], {"shape": _known(shape), "dtype": dtype or "float32"}, ctx, NDArray, out)


def ones(shape, ctx: Context | None = None, dtype="float32", out=None, **kwargs) -> NDArray:
    """An array of ones.

    >>> nd.ones((2, 2))
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    no_more("nd.ones", kwargs)
    return dispatch.create(TABLE["_ones"], {"shape": _known(shape), "dtype": dtype or "float32"}, ctx, NDArray, out)


def full(shape, val, ctx: Context | None = None, dtype="float32", out=None) -> NDArray:
    """One value everywhere; or the values of an array or a list, repeated to the shape.

    >>> nd.full((2,), 7)
    [7. 7.]
    <NDArray 2 @cpu(0)>
    """
    if isinstance(val, (NDArray, onp.ndarray, list, tuple)):
        out = empty(shape, ctx, dtype) if out is None else out
        out[:] = val
        return out
    attrs = {"shape": shape_of(shape), "value": val, "dtype": dtype or "float32"}
    return dispatch.create(TABLE["_full"], attrs, ctx, NDArray, out)


def empty(shape, ctx: Context | None = None, dtype="float32", stype=None) -> NDArray:
    """An array whose values are not set.

    >>> nd.empty((2, 3)).shape
    (2, 3)
    """
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype, stype)
    ctx = ctx or current_context()
    return NDArray._wrap(storage.empty(shape_of(shape), dtype or "float32", ctx), ctx)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=None, ctx=None, dtype="float32") -> NDArray:
    """start, start + step, ... below stop (0, 1, ... below start if that is all), each one `repeat` times.

    >>> nd.arange(0, 1, 0.25)
    [0.   0.25 0.5  0.75]
    <NDArray 4 @cpu(0)>
    """
    if infer_range is not None:
        warnings.warn("nd.arange: infer_range is deprecated and has no effect, as in MXNet", DeprecationWarning)
    op = TABLE["_arange"]
    attrs = op.parse({"start": start, "stop": stop, "step": step, "repeat": repeat, "dtype": dtype})
    return dispatch.create(op, attrs, ctx, NDArray)


def linspace(start, stop, num, endpoint=True, ctx=None, dtype="float32") -> NDArray:
    """`num` numbers evenly spaced from start to stop.

    >>> nd.linspace(0, 1, 3)
    [0.  0.5 1. ]
    <NDArray 3 @cpu(0)>
    """
    op = TABLE["_linspace"]
    attrs = op.parse({"start": start, "stop": stop, "num": num, "endpoint": endpoint, "dtype": dtype})
    return dispatch.create(op, attrs, ctx, NDArray)


def eye(N, M=0, k=0, ctx=None, dtype="float32") -> NDArray:
    """Ones on diagonal k of an N x M matrix (M = 0: square).

    >>> nd.eye(2, k=1)
    [[0. 1.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """
    op = TABLE["_eye"]
    return dispatch.create(op, op.parse({"N": N, "M": M, "k": k, "dtype": dtype or "float32"}), ctx, NDArray)


def from_numpy(ndarray: onp.ndarray, zero_copy: bool = True, array_cls: type = NDArray) -> NDArray:
    """An array over the memory of a NumPy array, which then must be contiguous; a copy without `zero_copy`.

    array_cls: the kind of the array, of nd or of np.

    >>> source = onp.array([1.0, 2.0], "float32")
    >>> nd.from_numpy(source)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    if not zero_copy:
        return array(ndarray, dtype=ndarray.dtype, kind=array_cls)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError("only contiguous NumPy arrays can share their memory; pass zero_copy=False")
    if _shared.get(id(ndarray)) is ndarray:
        ndarray.flags["WRITEABLE"] = True
    tensor = storage.from_numpy(ndarray, copy=False)
    if ndarray.flags["WRITEABLE"]:
        ndarray.flags["WRITEABLE"] = False
        _shared[id(ndarray)] = ndarray
    return array_cls._wrap(tensor, Context("cpu", 0))


# Arrays of NumPy that are read-only because of `from_numpy`, by id: their memory may be shared again.
_shared: weakref.WeakValueDictionary[int, onp.ndarray] = weakref.WeakValueDictionary()


def from_dlpack(dlpack) -> NDArray:
    """An array over memory that another library offers by the DLPack protocol.

    >>> nd.from_dlpack(nd.array([1, 2]).to_dlpack_for_read())
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    tensor = storage.from_dlpack(dlpack)
    ctx = Context("gpu", tensor.device.index) if tensor.is_cuda else Context("cpu", 0)
    return NDArray._wrap(tensor, ctx)


def to_dlpack_for_read(data: NDArray):
    """A DLPack capsule over the array's memory.

    >>> nd.from_dlpack(nd.to_dlpack_for_read(nd.array([1, 2])))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray):
    """A DLPack capsule through which others may write to the array; see `NDArray.to_dlpack_for_write`.

    >>> x = nd.array([1, 2])
    >>> y = nd.from_dlpack(nd.to_dlpack_for_write(x))
    >>> y[0] = 5
    >>> x
    [5. 2.]
    <NDArray 2 @cpu(0)>
    """
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Waits until every device has finished its work.

    >>> nd.waitall()
    """
    storage.synchronize()


def concatenate(arrays, axis=0, always_copy=True) -> NDArray:
    """Arrays joined along an axis.

    >>> nd.concatenate([nd.array([1]), nd.array([2, 3])])
    [1. 2. 3.]
    <NDArray 3 @cpu(0)>
    """
    if not arrays:
        raise ValueError("concatenate needs at least one array")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return F.Concat(*arrays, dim=axis)


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Parts along an axis: equal ones, or cut at indices.

    >>> [part.shape for part in nd.split_v2(nd.arange(5), (2,))]
    [(2,), (3,)]
    """
    if isinstance(indices_or_sections, numbers.Integral):
        how = {"sections": int(indices_or_sections)}
        if ary.shape[axis] % indices_or_sections:
            raise ValueError(
                f"an axis of length {ary.shape[axis]} does not divide into {indices_or_sections} equal parts"
            )
    else:
        how = {"indices": (0, *indices_or_sections)}
    return dispatch.own(F._split_v2(ary, axis=axis, squeeze_axis=squeeze_axis, **how))


def moveaxis(tensor: NDArray, source, destination) -> NDArray:
    """Axes moved to new positions; the others keep their order.

    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    source, destination = ([a] if isinstance(a, numbers.Integral) else list(a) for a in (source, destination))
    if len(source) != len(destination):
        raise ValueError("source and destination differ in number of axes")
    n = tensor.ndim
    for a in source + destination:
        if not -n <= a < n:
            raise ValueError(f"axis {a} is out of bounds for an array of {n} axes")
    source, destination = [a % n for a in source], [a % n for a in destination]
    order = [a for a in range(n) if a not in source]
    for to, a in sorted(zip(destination, source, strict=True)):
        order.insert(to, a)
    return dispatch.own(F.transpose(tensor, axes=tuple(order)))


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes one-hot rows for `indices` to `out`.

    >>> nd.onehot_encode(nd.array([0, 2]), nd.zeros((2, 3)))
    [[1. 0. 0.]
     [0. 0. 1.]]
    <NDArray 2x3 @cpu(0)>
    """
    writes.write(out, F.one_hot(indices, depth=out.shape[1]))
    return out


def _either_side(name: str, array_op: str, scalar_op: str, reverse_op: str | None):
    """A function of two arrays or numbers, as `nd.add(1, x)`."""

    def function(lhs, rhs):
        if isinstance(lhs, numbers.Number) and isinstance(rhs, numbers.Number):
            return _PLAIN[name](lhs, rhs)
        if not isinstance(lhs, NDArray) and not isinstance(rhs, NDArray) and hasattr(lhs, "_apply_operator"):
            return TABLE[array_op](lhs, rhs)
        return binary(lhs, rhs, TABLE[array_op], TABLE[scalar_op], TABLE[reverse_op] if reverse_op else None)

    return dispatch.infix(name, TABLE[array_op], TABLE[scalar_op], function, NDArray)


_PLAIN = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "modulo": lambda a, b: a % b,
    "power": lambda a, b: a**b,
    "maximum": max,
    "minimum": min,
    "equal": lambda a, b: int(a == b),
    "not_equal": lambda a, b: int(a != b),
    "greater": lambda a, b: int(a > b),
    "greater_equal": lambda a, b: int(a >= b),
    "lesser": lambda a, b: int(a < b),
    "lesser_equal": lambda a, b: int(a <= b),
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
    "logical_xor": lambda a, b: int(bool(a) != bool(b)),
}
# The functions of two arrays or numbers; `core.documentation` has their docstrings, which `nd` gives them.
OF_NUMBERS = {
    "add": _either_side("add", "broadcast_add", "_plus_scalar", None),
    "subtract": _either_side("subtract", "broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "multiply": _either_side("multiply", "broadcast_mul", "_mul_scalar", None),
    "divide": _either_side("divide", "broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "modulo": _either_side("modulo", "broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "maximum": _either_side("maximum", "broadcast_maximum", "_maximum_scalar", None),
    "minimum": _either_side("minimum", "broadcast_minimum", "_minimum_scalar", None),
    "equal": _either_side("equal", "broadcast_equal", "_equal_scalar", None),
    "not_equal": _either_side("not_equal", "broadcast_not_equal", "_not_equal_scalar", None),
    "greater": _either_side("greater", "broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": _either_side(
        "greater_equal", "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"
    ),
    "lesser": _either_side("lesser", "broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "lesser_equal": _either_side(
        "lesser_equal", "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"
    ),
    "logical_and": _either_side("logical_and", "broadcast_logical_and", "_logical_and_scalar", None),
    "logical_or": _either_side("logical_or", "broadcast_logical_or", "_logical_or_scalar", None),
    "logical_xor": _either_side("logical_xor", "broadcast_logical_xor", "_logical_xor_scalar", None),
}
OF_NUMBERS["true_divide"] = OF_NUMBERS["divide"]
_power = _either_side("power", "broadcast_power", "_power_scalar", "_rpower_scalar")


def power(base, exp):
    return _power(base, exp)


OF_NUMBERS["power"] = power


def histogram(a: NDArray, bins=10, range=None) -> list[NDArray]:
    """Numbers of elements of `a` between edges, and the edges: `bins` (an array), or `bins` equal parts of `range`.

    Without `range` that of the values is used, and the numbers come as float32.

    >>> counts, edges = nd.histogram(nd.array([1, 2, 2, 3]), bins=2, range=(1, 3))
    >>> counts
    [1 3]
    <NDArray 2 @cpu(0)>
    """
    if isinstance(bins, NDArray):
        return F._histogram(a, bins)
    if range is None:
        counts, edges = onp.histogram(a.asnumpy(), bins=bins)
        return array(counts), array(edges)
    return F._histogram(a, bin_cnt=bins, range=tuple(range))
