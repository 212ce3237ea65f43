"""What NumPy had when programs for MXNet were written, and removed since: `np.int`, `np.fromstring` of bytes,
`int(array)` of an array of one element, `np.array` of lists of different lengths.

`restore` brings it back for the whole process, for programs that `core.mxnet` runs; the first use of any warns.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import warnings

import numpy as np

# Names -> what NumPy of 2019 had under them: Python's types, small functions, or another name of NumPy's own.
_VALUES = {
    "int": int, "float": float, "bool": bool, "object": object, "str": str, "complex": complex, "long": int,
    "unicode": str, "PINF": np.inf, "NINF": -np.inf, "PZERO": 0.0, "NZERO": -0.0,
    "msort": functools.partial(np.sort, axis=0), "asscalar": np.ndarray.item,
}  # fmt: skip
_RENAMED = {
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "NaN": "nan", "float_": "float64", "complex_": "complex128",
    "singlecomplex": "complex64", "cfloat": "complex128", "longfloat": "longdouble", "string_": "bytes_",
    "unicode_": "str_", "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any",
    "in1d": "isin", "row_stack": "vstack", "trapz": "trapezoid", "round_": "round", "mat": "asmatrix",
}  # fmt: skip


def restore() -> None:
    """Brings back what the installed NumPy no longer has."""
    if not hasattr(np.__getattr__, "restores"):
        _restore_names()
    try:
        np.fromstring(b"", np.uint8)
    except ValueError:
        _restore_fromstring()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.array([[1], [1, 2]])
    except ValueError:
        _restore_ragged_arrays()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            np.quantile(np.zeros(1), 0.5, interpolation="lower")
    except TypeError:
        _restore_interpolation()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            int(np.zeros(1))
    except TypeError:
        _restore_conversions()


def _restore_names() -> None:
    missing = np.__getattr__

    def __getattr__(name: str):
        if name in _VALUES:
            value = _VALUES[name]
        elif name in _RENAMED and hasattr(np, _RENAMED[name]):
            value = getattr(np, _RENAMED[name])
        else:
            return missing(name)
        _warn(f"np.{name}")
        setattr(np, name, value)
        return value

    __getattr__.restores = True
    np.__getattr__ = __getattr__


def _restore_fromstring() -> None:
    of_text = np.fromstring

    def fromstring(string, dtype=float, count=-1, *, sep="", like=None):
        """Numbers in a text with separators, or without one those whose memory the bytes are."""
        if sep:
            return of_text(string, dtype, count, sep=sep)
        _warn("np.fromstring of bytes")
        return np.frombuffer(string.encode("latin-1") if isinstance(string, str) else string, dtype, count).copy()

    np.fromstring = fromstring


def _restore_ragged_arrays() -> None:
    of_one_shape = np.array

    def with_objects(function):
        def call(rows, *args, **options):
            try:
                return function(rows, *args, **options)
            except ValueError as error:
                if "inhomogeneous" not in str(error):
                    raise
            _warn(f"np.{function.__name__} of rows of different lengths")
            return function(of_one_shape(rows, np.object_), *args, **options)

        return functools.update_wrapper(call, function)

    for name in ("array", "asarray", "sum", "mean"):
        setattr(np, name, with_objects(getattr(np, name)))


def _restore_interpolation() -> None:
    """Lets quantiles take their method under the name that it had."""

    def renamed(function):
        def call(*args, interpolation=None, **options):
            if interpolation is not None:
                _warn(f"np.{function.__name__} with interpolation=")
                options["method"] = interpolation
            return function(*args, **options)

        return functools.update_wrapper(call, function)

    for name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
        setattr(np, name, renamed(getattr(np, name)))


class _Converted:
    """A class whose conversions are Python functions: NumPy's array borrows the C functions that look these up."""

    def __int__(self):
        raise TypeError

    def __float__(self):
        raise TypeError


# Where CPython keeps things, in words from the start of a type (Include/cpython/object.h) and of its number methods.
_BASIC_SIZE, _NUMBER_METHODS = 4, 12
_CONVERSIONS = {"__int__": (16, int), "__float__": (18, float)}


def _restore_conversions() -> None:
    """Lets `int`, `float` and `%d` take arrays of one element, of any number of axes.

    Only a type's own C functions decide that. Those of `_Converted` take their place, which call what the type's
    dictionary holds. Other interpreters than CPython, or another layout of it, are left as they are.
    """
    word = ctypes.sizeof(ctypes.c_void_p)
    kind = np.ndarray
    if (
        sys.implementation.name != "cpython"
        or ctypes.c_ssize_t.from_address(id(kind) + _BASIC_SIZE * word).value != kind.__basicsize__
    ):
        return

    def slot(owner: type, number: int) -> ctypes.c_void_p:
        methods = ctypes.c_void_p.from_address(id(owner) + _NUMBER_METHODS * word).value
        return ctypes.c_void_p.from_address(methods + number * word)

    (names,) = gc.get_referents(kind.__dict__)
    for name, (number, convert) in _CONVERSIONS.items():
        names[name] = _of_one_element(convert, names[name])
        slot(kind, number).value = slot(_Converted, number).value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _of_one_element(convert: type, original):
    def converted(array):
        if not array.ndim or array.size != 1:
            return original(array)
        _warn(f"{convert.__name__} of an array with axes")
        return convert(array.item())

    return converted


_told = False


def _warn(what: str) -> None:
    global _told
    if not _told:
        _told = True
        warnings.warn(
            f"the program uses {what}, which NumPy {np.__version__} no longer has; this and what else NumPy removed is "
            "restored for it",
            DeprecationWarning,
            stacklevel=3,
        )
