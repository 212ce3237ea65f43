"""Namespaces of operators whose table names share a prefix: `nd.contrib.box_nms` is `_contrib_box_nms`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.base import UnknownName
from core.dispatch import operator_function
from core.ndarray.ndarray import NDArray
from core.ops.registry import TABLE


def lookup(prefixes: tuple[str, ...], title: str, kind: type = NDArray) -> Callable[[str], Callable[..., Any]]:
    """A module-level `__getattr__` that finds operators under the prefixes."""

    def getattr_(name: str) -> Callable[..., Any]:
        for prefix in prefixes:
            op = TABLE.get(prefix + name)
            if op is not None:
                return operator_function(op, kind)
        raise UnknownName(title, name, listing(prefixes))

    return getattr_


def listing(prefixes: tuple[str, ...]) -> Callable[[], list[str]]:
    """A module-level `__dir__` for the same operators."""
    return lambda: sorted({n[len(p) :] for p in prefixes for n in TABLE if n.startswith(p)})
