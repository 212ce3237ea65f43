"""The element types: MXNet's names, their numbers in files, and their NumPy counterparts."""

from __future__ import annotations

import os

import numpy as np


class _Equal(type):
    """Makes a type equal to the NumPy type of records under which MXNet shows it."""

    def __eq__(cls, other):
        return other is cls or (isinstance(other, np.dtype) and other.names == (cls.__name__,))

    __hash__ = type.__hash__


class bfloat16(metaclass=_Equal):
    """Stands for the type that NumPy lacks: 8 bits of exponent, 7 of fraction. NumPy sees it as float32."""


# name -> (number in MXNet's files, what `NDArray.dtype` shows)
DTYPES: dict[str, tuple[int | None, type]] = {
    "float32": (0, np.float32),
    "float64": (1, np.float64),
    "float16": (2, np.float16),
    "uint8": (3, np.uint8),
    "int32": (4, np.int32),
    "int8": (5, np.int8),
    "int64": (6, np.int64),
    "bool": (7, np.bool_),
    "int16": (8, np.int16),
    "uint16": (9, np.uint16),
    "uint32": (10, np.uint32),
    "uint64": (11, np.uint64),
    "bfloat16": (12, bfloat16),
}
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
HALF = ("float16", "bfloat16")
_BY_TYPE = {kind: name for name, (_, kind) in DTYPES.items()} | {float: "float64", int: "int64", bool: "bool"}


def dtype_name(dtype) -> str:
    """The name of `dtype`: a name, a NumPy dtype or scalar type, `bfloat16`, float / int / bool, or an array of it.

    Raises TypeError for anything else.
    """
    name = _BY_TYPE.get(dtype) if isinstance(dtype, type) else dtype if isinstance(dtype, str) else None
    if name is None and isinstance(getattr(dtype, "dtype", None), type):
        return dtype_name(dtype.dtype)
    if name not in DTYPES:
        try:
            kind = np.dtype(dtype)
            name = (
                "bfloat16" if kind.names == ("bfloat16",) else kind.name
            )  # NumPy has none: MXNet names a field of 16 bits
        except TypeError:
            name = None
    if name not in DTYPES:
        raise TypeError(f"unknown dtype {dtype!r}; accepted are {', '.join(DTYPES)}")
    return name


def dtype_type(name: str) -> type:
    """What `NDArray.dtype` shows for the type called `name`."""
    return DTYPES[name][1]


def as_integer(number: float, kind: str) -> int:
    """A number as the integer type `kind` takes it: cut towards zero and converted as C does, which never fails.

    What does not fit wraps around; NaN and infinities become the smallest integer (0 in types of 8 bits).
    """
    if -1 < number < 128:
        return int(number)
    with np.errstate(invalid="ignore"):
        return int(np.asarray(number if kind == "int64" else float(number)).astype(kind))


def accumulates_safely() -> bool:
    """Whether the environment asks with MXNET_SAFE_ACCUMULATION=1 for sums in types wider than the data's."""
    return os.environ.get("MXNET_SAFE_ACCUMULATION", "0") not in ("0", "")
