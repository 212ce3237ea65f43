"""Names that programs of MXNet find in a module although what they name is built in a layer above it.

`enter` is called by `core` itself, which stands above all; the modules look their names up in their `__getattr__`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

_ENTERED: dict[str, dict[str, str]] = {}


def enter(module: str, names: dict[str, str]) -> None:
    """Lets `module` have names: each with the module that holds it, which is imported on first use."""
    _ENTERED[module] = names


def offered(names: dict[str, object], more: Iterable[str]) -> list[str]:
    """What `dir` shows of a module: its public names, without modules that it imported from elsewhere, and `more`."""
    own = {
        name
        for name, value in names.items()
        if not (isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in ("core", "gluon"))
    }
    return sorted(name for name in {*own, *more} - {"annotations"} if name[:1] != "_" or name[:2] == "__")


def find(module: str, name: str) -> object:
    """What `module` has under a name by `enter`; AttributeError where there is none."""
    home = _ENTERED.get(module, {}).get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
