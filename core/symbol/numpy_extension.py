"""`sym.npx`: neural network operators over the symbols of `sym.np`."""

from __future__ import annotations

from core.base import nearest
from core.ops.registry import TABLE, npx_operator
from core.symbol.compose import front
from core.symbol.numpy import _Symbol


def __getattr__(name: str):
    op = npx_operator(name)
    if op is None:
        raise AttributeError(f"sym.npx has no function {name!r}.{nearest(name, TABLE)}")
    value = front(op, op.name, _Symbol)
    globals()[name] = value
    return value


def __dir__():
    return sorted(name for name in TABLE if not name.startswith("_"))
