"""Which function of `np` or `npx` stands for an operator of the table, as MXNet's module of this name tells it."""

from __future__ import annotations

import inspect
import operator

_NAMESPACES = {"_npi_": "numpy", "_np_": "numpy", "_npx_": "numpy_extension"}
_PARTS = ("linalg", "random", "image")


def _get_builtin_op(op_name: str):
    """The function that users call for the operator `_npi_...`, `_np_...` or `_npx_...`, with its `__signature__`;
    None where there is none.
    """
    import core

    for prefix, namespace in _NAMESPACES.items():
        if op_name.startswith(prefix):
            part, _, name = op_name.removeprefix(prefix).lstrip("_").partition("_")
            place = f"{part}.{name}" if part in _PARTS else op_name.removeprefix(prefix)
            try:
                function = operator.attrgetter(f"{namespace}.{place}")(core)
            except AttributeError:
                return None
            if not hasattr(function, "__signature__"):
                function.__signature__ = inspect.signature(function)
            return function
    return None
