"""The `nd` namespace: arrays and one function for each operator of the table.

Operators are made on first use (`nd.exp` is an attribute that the module fills in), so importing is cheap.
"""

from __future__ import annotations

import importlib

from core import documentation, late_names, ops, storage
from core.base import MXNetError, UnknownName
from core.context import Context, cpu, current_context
from core.dispatch import create, operator_function
from core.ndarray.functions import (
    OF_NUMBERS,
    arange,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    histogram,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
    zeros,
)  # fmt: skip
from core.ndarray.ndarray import NDArray, array
from core.ops.registry import TABLE

_NAMESPACES = ("contrib", "image", "linalg", "op", "random", "sparse", "_internal")
_FILES = ("load", "load_frombuffer", "save")


# MXNet generates `np` and `npx` here too.
_OF_NUMPY = {
    "np": "core.numpy",
    "numpy": "core.numpy",
    "npx": "core.numpy_extension",
    "numpy_extension": "core.numpy_extension",
}


def __getattr__(name: str):
    if name in _NAMESPACES:
        return importlib.import_module(f"core.ndarray.{name}")
    if name in _FILES:
        value = getattr(importlib.import_module("core.serialization"), name)
    elif name in OF_NUMBERS:
        value = OF_NUMBERS[name]
        value.__doc__ = documentation.of_function(f"nd.{name}", value)
    elif name in _OF_NUMPY:
        value = importlib.import_module(_OF_NUMPY[name])
    elif name in TABLE and not name.startswith("__"):
        value = operator_function(TABLE[name], NDArray)
    elif name in ("CSRNDArray", "RowSparseNDArray", "cast_storage", "csr_matrix", "row_sparse_array"):
        value = getattr(importlib.import_module("core.ndarray.sparse"), name)
    else:
        try:
            value = late_names.find(__name__, name)
        except AttributeError:
            raise UnknownName("nd", name, __dir__) from None
    globals()[name] = value
    return value


def __dir__():
    return late_names.offered(globals(), {*TABLE, *OF_NUMBERS, *_NAMESPACES, *_FILES})


__all__ = [
    "Context", "MXNetError", "NDArray", "add", "arange", "array", "concatenate", "cpu", "create",
    "current_context", "divide", "empty", "equal", "eye", "from_dlpack", "from_numpy", "full", "greater",
    "greater_equal", "histogram", "imdecode", "lesser", "lesser_equal", "linspace", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "modulo", "moveaxis", "multiply", "not_equal", "ones", "onehot_encode", "ops",
    "power", "split_v2", "stack", "storage", "subtract", "to_dlpack_for_read", "to_dlpack_for_write", "true_divide",
    "waitall", "zeros",
]  # fmt: skip
