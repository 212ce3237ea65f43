"""Functions of `mx.util` that make arrays."""

from __future__ import annotations

import functools

import numpy as onp

from core import ndarray, numpy
from core.util import is_np_array


def default_array(source_array, device=None, dtype=None):
    """`np.array` where `np` arrays are in use, `nd.array` elsewhere."""
    return (numpy if is_np_array() else ndarray).array(source_array, ctx=device, dtype=dtype)


def numpy_fallback(func):
    """Decorator: calls a function of NumPy arrays with what `np` arrays hold, and makes `np` arrays of its results."""

    @functools.wraps(func)
    def run(*args, **kwargs):
        args, kwargs = _mapped((args, kwargs), lambda x: x.asnumpy() if isinstance(x, numpy.ndarray) else x)
        return _mapped(
            func(*args, **kwargs), lambda x: numpy.array(x, dtype=x.dtype) if isinstance(x, onp.ndarray) else x
        )

    return run


def _mapped(values, function):
    if isinstance(values, (list, tuple)):
        return type(values)(_mapped(value, function) for value in values)
    if isinstance(values, dict):
        return {key: _mapped(value, function) for key, value in values.items()}
    return function(values)
