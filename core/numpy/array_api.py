"""Names of the array API standard that MXNet 2 gave to `np` and `np.linalg`, in terms of NumPy's."""

from __future__ import annotations

from collections import namedtuple

import numpy as onp

from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray, binary
from core.numpy.multiarray import _into, array, ndarray
from core.ops.registry import TABLE, F

# name -> NumPy's name of the same function
ALIASES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "bitwise_invert": "invert", "concat": "concatenate", "permute_dims": "transpose",
    "pow": "power",
}  # fmt: skip
boolean_dtypes = [onp.dtype("bool")]
integer_dtypes = [onp.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
floating_dtypes = [onp.dtype(f"float{bits}") for bits in (16, 32, 64)]
numeric_dtypes = [*integer_dtypes, *floating_dtypes]

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x) -> UniqueAll:
    """The different elements in order, where each stands first, which each element is, and how often each occurs."""
    values, indices, inverse, counts = onp.unique(x.asnumpy(), True, True, True)
    return UniqueAll(*(array(v, ctx=x._ctx) for v in (values, indices, inverse.reshape(x.shape), counts)))


def unique_inverse(x) -> UniqueInverse:
    """The different elements in order, and which one each element is."""
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


def unique_values(x) -> ndarray:
    """The different elements in order."""
    return unique_all(x).values


def can_cast(from_, to) -> bool:
    """Whether a type (or an array's) fits into another without loss, by NumPy's rules."""
    return bool(onp.can_cast(from_.dtype if isinstance(from_, NDArray) else from_, to))


def from_dlpack(x) -> ndarray:
    """An array on the memory of an object that has `__dlpack__` (or of a DLPack capsule)."""
    from core.ndarray import from_dlpack as classic

    return classic(x).as_np_ndarray()


def fill_diagonal(a, val, wrap=False) -> None:
    """Writes `val` (a number, or an array over and over) to the main diagonal of `a`."""
    filled = a.asnumpy().copy()
    onp.fill_diagonal(filled, val.asnumpy() if isinstance(val, NDArray) else val, wrap)
    a[()] = array(filled, ctx=a._ctx)


def cumprod(a, axis=None, dtype=None, out=None) -> ndarray:
    """The product of all elements up to each one, along an axis (None: of the flat array); without a gradient."""
    return _into(out, array(onp.cumprod(a.asnumpy(), axis, dtype), ctx=a._ctx))


def _shift(name: str):
    def function(x1, x2, out=None):
        if not isinstance(x1, NDArray) and not isinstance(x2, NDArray):
            return getattr(onp, name)(x1, x2)
        ops = (TABLE[f"_npi_{prefix}{name.removeprefix('bitwise_')}{kind}"]
               for prefix, kind in (("", ""), ("", "_scalar"), ("r", "_scalar")))  # fmt: skip
        return _into(out, binary(x1, x2, *ops))

    function.__name__ = name
    function.__doc__ = f"NumPy's `{name}` of two arrays of integers, or of an array and a number."
    return function


bitwise_left_shift, bitwise_right_shift = _shift("bitwise_left_shift"), _shift("bitwise_right_shift")


def matrix_transpose(a) -> ndarray:
    """The last two axes exchanged."""
    return F.SwapAxis(a, dim1=-2, dim2=-1)


def vecdot(a, b, axis=None) -> ndarray:
    """The sum of the products along an axis (by default the last)."""
    product = F._npi_multiply(a, b)
    return F._np_sum(product, axis=-1 if axis is None else axis, dtype=dtype_name(product.dtype))


__all__ = [
    "bitwise_left_shift", "bitwise_right_shift", "boolean_dtypes", "can_cast", "cumprod", "fill_diagonal",
    "floating_dtypes", "from_dlpack", "integer_dtypes", "numeric_dtypes", "unique_all", "unique_inverse",
    "unique_values",
]  # fmt: skip
