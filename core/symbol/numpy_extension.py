"""`sym.npx`: neural network operators over the symbols of `sym.np`."""

from __future__ import annotations

from core import numpy_extension
from core.base import nearest
from core.ops.registry import TABLE, npx_operator
from core.symbol.compose import Namespace, documented_wrapper
from core.symbol.numpy import Functions, _Symbol


def __getattr__(name: str):
    op = npx_operator(name)
    if name == "image":
        value = Namespace("npx.image", ("_image_",), _Symbol)
    elif name == "random":
        value = Functions("npx.random", numpy_extension.random)
    elif op is None:
        raise AttributeError(f"sym.npx has no function {name!r}.{nearest(name, TABLE)}")
    else:
        value = documented_wrapper(op, op.name, _Symbol)
    globals()[name] = value
    return value


def __dir__():
    return sorted(name for name in TABLE if not name.startswith("_"))
