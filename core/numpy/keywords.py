"""How `np` functions are called: arrays of `nd` count as those of `np`, as in MXNet 2.

The error of a wrong keyword names the function, the wrong word, the nearest right one and the rest; what is no array is
named with the function too.
"""

from __future__ import annotations

import functools
import inspect
import re
import types

from core import documentation
from core.base import NotAnArray, nearest
from core.ndarray.ndarray import NDArray

_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def explained(function, name: str):
    """`function`, which users know as `name`, called like that; what is no plain function as it is."""
    if not isinstance(function, types.FunctionType) or hasattr(function, "operator"):
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        if NDArray in map(type, args):
            args = [_of_np(x) for x in args]
        if kwargs and NDArray in map(type, kwargs.values()):
            if type(kwargs.get("out")) is NDArray:
                raise TypeError(f"np.{name}: out is to be an array of np, given one of nd; see as_np_ndarray()")
            kwargs = {word: _of_np(x) for word, x in kwargs.items()}
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            wrong = _UNEXPECTED.search(str(error))
            words = list(inspect.signature(function).parameters)
            if wrong is None or wrong[1] not in kwargs or wrong[1] in words:
                raise
            raise TypeError(
                f"np.{name} has no argument {wrong[1]!r}.{nearest(wrong[1], words)} Arguments: {', '.join(words)}"
            ) from None

        except AttributeError as error:
            given = error.obj
            if error.name is None or not any(given is value for value in (*args, *kwargs.values())):
                raise
            raise NotAnArray(f"np.{name} takes an array there, given {type(given).__name__} ({given!r})") from error

    call.__doc__ = documentation.of_function(f"np.{name}", function)
    return call


def _of_np(x):
    return x.as_np_ndarray() if type(x) is NDArray else x


def explain(module: dict, prefix: str) -> None:
    """Has all public functions that a module defines called like that."""
    for name, value in list(module.items()):
        if not name.startswith("_") and getattr(value, "__module__", None) == module["__name__"]:
            module[name] = explained(value, prefix + name)
