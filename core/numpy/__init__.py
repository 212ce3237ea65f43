"""The `np` namespace: NumPy's functions on arrays that live on devices and are differentiable."""

from __future__ import annotations

import functools
import importlib
import inspect

import numpy as onp

from core import late_names, ops  # the table must be full before functions are looked up in it
from core.base import UnknownName
from core.dispatch import own
from core.numpy.keywords import explained as _explained
from core.numpy.multiarray import array, empty, ndarray

pi, e, inf, nan, newaxis, euler_gamma = onp.pi, onp.e, onp.inf, onp.nan, None, onp.euler_gamma
PZERO, NZERO, PINF, NINF, NAN, Inf, Infinity, NaN = 0.0, -0.0, onp.inf, -onp.inf, onp.nan, onp.inf, onp.inf, onp.nan
float16, float32, float64 = onp.float16, onp.float32, onp.float64
int8, int16, int32, int64, uint8, uint16, uint32, uint64 = (
    onp.int8, onp.int16, onp.int32, onp.int64, onp.uint8, onp.uint16, onp.uint32, onp.uint64,
)  # fmt: skip
bool_, dtype, finfo, iinfo = onp.bool_, onp.dtype, onp.finfo, onp.iinfo
_SUBMODULES = ("linalg", "random", "_internal", "fallback", "fallback_linalg")
# Functions whose results may be views of what was given, which the user's are not in MXNet.
_OF_VIEWS = frozenset(
    "array_split atleast_1d atleast_2d atleast_3d broadcast_to dsplit expand_dims fliplr flipud flatten flip "
    "hsplit matrix_transpose moveaxis permute_dims ravel repeat reshape resize roll rollaxis rot90 split squeeze "
    "swapaxes tile "
    "transpose unstack vsplit".split()
)


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"core.numpy.{name}")
    if name == "bfloat16":
        from core.dtypes import bfloat16

        return bfloat16
    if name == "bool":
        return onp.bool_
    functions = importlib.import_module("core.numpy.functions")
    value = getattr(functions, name, None)
    if value is None or name.startswith("_"):
        raise UnknownName("np", name, __dir__)
    if name in _OF_VIEWS:
        value = _apart(value)
    value = globals()[name] = _explained(value, name)
    return value


def _apart(function):
    words = list(inspect.signature(function).parameters)
    place = words.index("out") if "out" in words else len(words)

    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        written = kwargs.get("out") is not None or (len(args) > place and args[place] is not None)
        return result if written else own(result, *args)

    return call


def __dir__():
    functions = importlib.import_module("core.numpy.functions")
    shown = {name: value for name, value in vars(functions).items() if not isinstance(value, (dict, set, list, tuple))}
    return late_names.offered({**shown, **globals()}, _SUBMODULES)


__all__ = ["array", "empty", "ndarray"]
