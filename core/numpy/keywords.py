"""Wrong keywords of `np` functions: the error names the function, the wrong word, the nearest right one and the rest."""

from __future__ import annotations

import functools
import inspect
import re
import types

from core.base import nearest

_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def explained(function, name: str):
    """`function`, which users know as `name`, with such errors; what is no plain function as it is."""
    if not isinstance(function, types.FunctionType) or hasattr(function, "operator"):
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
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

    return call


def explain(module: dict, prefix: str) -> None:
    """Gives all public functions that a module defines such errors."""
    for name, value in list(module.items()):
        if not name.startswith("_") and getattr(value, "__module__", None) == module["__name__"]:
            module[name] = explained(value, prefix + name)
