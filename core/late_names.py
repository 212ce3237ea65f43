"""Names that programs of MXNet find in a module although what they name is built in a layer above it.

`enter` is called by `core` itself, which stands above all; the modules look their names up in their `__getattr__`.
"""

from __future__ import annotations

import importlib

_ENTERED: dict[str, dict[str, str]] = {}


def enter(module: str, names: dict[str, str]) -> None:
    """Lets `module` have names: each with the module that holds it, which is imported on first use."""
    _ENTERED[module] = names


def find(module: str, name: str) -> object:
    """What `module` has under a name by `enter`; AttributeError where there is none."""
    home = _ENTERED.get(module, {}).get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
