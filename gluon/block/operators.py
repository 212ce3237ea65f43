"""What `F` is for the inputs of a block, which may be nested in lists."""

from __future__ import annotations

import functools
from types import FunctionType

from core import ndarray as nd
from core.base import conversion
from core.dispatch import operator_function
from core.ops.registry import TABLE

__all__ = ["is_array", "is_symbolic", "leaves", "nesting", "numpy_operators", "operators_for", "refuse_mixed"]

NDArray = nd.NDArray


def operators_for(x, args):
    """(operators, context) for inputs among which arrays may be nested; (operators, None) for symbols."""
    for value in leaves((x, *args)):
        if type(value) is NDArray:
            return nd, value._ctx
        if isinstance(value, NDArray):
            from core.numpy import ndarray

            return numpy_operators if isinstance(value, ndarray) else nd, value._ctx
        if hasattr(value, "list_outputs"):
            from core import symbol
            from core.symbol.numpy import _Symbol

            refuse_mixed((x, *args))
            return _numpy_symbol_operators if isinstance(value, _Symbol) else symbol, None
    kind = type(x)
    raise ValueError(
        f"a HybridBlock needs an array or a Symbol among its inputs, got {kind.__module__}.{kind.__name__}"
        f"{conversion(x)}"
    )


def is_symbolic(values):
    """Whether there are symbols among the inputs."""
    return any(hasattr(value, "list_outputs") for value in leaves(values))


def is_array(value):
    """Whether an input is an array or a symbol."""
    return isinstance(value, NDArray) or hasattr(value, "list_outputs")


def refuse_mixed(values):
    """ValueError where there are arrays and symbols among the inputs."""
    if len({isinstance(value, NDArray) for value in leaves(values) if is_array(value)}) > 1:
        raise ValueError("a HybridBlock takes arrays or symbols, given some of both")


def nesting(values):
    """The lists that inputs are nested in, with True for each array and None for an input that is left out."""
    return [None if v is None else nesting(v) if isinstance(v, (list, tuple)) else True for v in values]


def leaves(values):
    """The inputs inside lists, one after the other, without those that are left out."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from leaves(value)
        elif value is not None:
            yield value


# Functions that make arrays, and the one that takes the truth values that comparisons of np arrays give.
_NUMPY_OWN = frozenset({"arange", "array", "empty", "eye", "full", "linspace", "ones", "where", "zeros"})


class _NumpyOperators:
    """What `F` is when inputs are `np` arrays: operators of `nd` with `np` arrays as results, and `np` and `npx`."""

    def __getattr__(self, name):
        from core import numpy

        if name == "np":
            value = numpy
        elif name in _NUMPY_OWN:
            value = getattr(numpy, name)
        elif name == "npx":
            from core import numpy_extension as value
        elif name in TABLE and not name.startswith("_"):
            value = operator_function(TABLE[name], numpy.ndarray)
        else:
            value = getattr(nd, name)
        setattr(self, name, value)
        return value


class _NumpySymbolOperators:
    """What `F` is when inputs are symbols with NumPy's semantics: functions of `sym` with such symbols as results."""

    def __getattr__(self, name):
        from core import symbol

        value = getattr(symbol.np if name == "where" else symbol, name)  # as in _NUMPY_OWN
        if isinstance(value, FunctionType):
            value = _of_numpy_semantics(value)
        setattr(self, name, value)
        return value


def _of_numpy_semantics(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        out = function(*args, **kwargs)
        return out.as_np_ndarray() if hasattr(out, "list_outputs") else out

    return call


numpy_operators = _NumpyOperators()
_numpy_symbol_operators = _NumpySymbolOperators()
