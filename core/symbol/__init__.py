"""The `sym` namespace: symbols and one function for each operator of the table, made on first use."""

from __future__ import annotations

import importlib

from core import late_names, ops
from core.base import NotImplementedForSymbol, UnknownName
from core.ops.registry import TABLE
from core.symbol import compose, control_flow
from core.symbol.functions import (
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    zeros,
)  # fmt: skip
from core.symbol.symbol import Group, Symbol, load, load_json, var

Variable = var
fromjson = load_json

_NAMESPACES = {
    "contrib": ("_contrib_",), "linalg": ("_linalg_",), "image": ("_image_",),
    "op": ("",), "_internal": ("",), "sparse": ("_sparse_", ""),
}  # fmt: skip


_MODULES = {"np": "numpy", "npx": "numpy_extension", "numpy": "numpy", "numpy_extension": "numpy_extension",
            "random": "random"}  # fmt: skip


def __getattr__(name: str):
    if name in _MODULES:
        value = importlib.import_module(f"core.symbol.{_MODULES[name]}")
    elif name == "Custom":
        value = importlib.import_module("core.symbol.custom").Custom
    elif name in _NAMESPACES:
        value = compose.Namespace(name, _NAMESPACES[name], Symbol)
        if name == "_internal":
            value.SymbolBase = Symbol
        if name == "contrib":
            from core.symbol import random

            for function in (control_flow.cond, control_flow.foreach, control_flow.while_loop, random.rand_zipfian):
                setattr(value, function.__name__, function)
    elif name in TABLE and not name.startswith("__"):
        value = compose.documented_wrapper(TABLE[name], name, Symbol)
    else:
        raise UnknownName("sym", name, __dir__)
    globals()[name] = value
    return value


def __dir__():
    return late_names.offered(globals(), {"Custom", *TABLE, *_NAMESPACES, *_MODULES})


__all__ = [
    "Group", "NotImplementedForSymbol", "Symbol", "Variable", "arange", "eye", "fromjson", "full", "histogram", "hypot",
    "linspace", "load", "load_json", "maximum", "minimum", "ones", "pow", "power", "split_v2", "var", "zeros",
]  # fmt: skip
