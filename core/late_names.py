"""Names that programs of MXNet find in a module although what they name is built in a layer above it.

`enter` is called by `core` itself, which stands above all; the modules look their names up in their `__getattr__`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from types import ModuleType

_PACKAGES = {"core", "gluon", "gluoncv", "gluonnlp"}
_ENTERED: dict[str, dict[str, str]] = {}


def enter(module: str, names: dict[str, str]) -> None:
    """Lets `module` have names: each with the module that holds it, which is imported on first use."""
    _ENTERED[module] = names


def offered(names: dict[str, object], more: Iterable[str] = ()) -> list[str]:
    """What `dir` shows of a module: its public names, without what it imported from other projects, and `more`."""
    own = {name for name, value in names.items() if not _is_foreign(value)}
    return sorted(name for name in {*own, *more} if name[:1] != "_" or name[:2] == "__")


def defined(names: dict[str, object]) -> list[str]:
    """What `dir` shows of a module of one file: the functions and classes that it defines itself, if public."""
    here = names["__name__"]
    return sorted(n for n, value in names.items() if n[:1] != "_" and getattr(value, "__module__", None) == here)


def _is_foreign(value: object) -> bool:
    """Whether it is a module of another project, or something of the standard library. NumPy's dtypes are users' words."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] not in _PACKAGES
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home != "builtins" and home.partition(".")[0] in sys.stdlib_module_names


def find(module: str, name: str) -> object:
    """What `module` has under a name by `enter`; AttributeError where there is none."""
    home = _ENTERED.get(module, {}).get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
