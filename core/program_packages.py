"""Programs that have a package `core` or `gluon` of their own, beside ours of these names.

Theirs are loaded as parts of a package `_program`: modules of the program that import `core` get theirs, ours get ours.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import os
import sys
import types

CLAIMED = ("core", "gluon")
_OURS = {*CLAIMED, "gluoncv", "gluonnlp", "mxnet"}
_PROGRAM = "_program"


def share_names(folder: str, imported: dict[str, types.ModuleType] | None = None) -> None:
    """Lets a program in `folder` import its own `core` and `gluon`, where it has them.

    imported: its modules of these names that are loaded already.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.abspath(folder)
    if os.path.realpath(folder) == os.path.realpath(home):
        return
    finder = importlib.machinery.PathFinder
    own = {name for name in CLAIMED if finder.find_spec(name, [folder]) is not None}
    if not own:
        return
    _load_ours(home)
    package = sys.modules[_PROGRAM] = types.ModuleType(_PROGRAM)
    package.__path__ = [folder]
    for name, module in (imported or {}).items():
        _rename(module, f"{_PROGRAM}.{name}")
        setattr(sys.modules[module.__package__.rpartition(".")[0] or _PROGRAM], name.rpartition(".")[2], module)
    builtins.__import__ = _importing(builtins.__import__, own)


def _load_ours(home: str) -> None:
    """Imports our packages before the program's folder is looked through."""
    sys.path.insert(0, home)
    try:
        for name in CLAIMED:
            importlib.import_module(name)
    finally:
        sys.path.remove(home)


def _importing(plain, own: set[str]):
    """`__import__` that looks at who imports."""

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        root = name.partition(".")[0]
        importer = (globals or {}).get("__name__", "").partition(".")[0]
        if level or root not in own or importer in _OURS:
            return plain(name, globals, locals, fromlist, level)
        module = plain(f"{_PROGRAM}.{name}", globals, locals, fromlist, 0)
        return module if fromlist else sys.modules[f"{_PROGRAM}.{root}"]

    return import_


def _rename(module: types.ModuleType, name: str) -> None:
    if getattr(module.__spec__, "_initializing", False):
        raise ImportError(
            f"the program's own package {module.__name__} imports mxnet while it is loaded, and mxnet needs the names "
            f"{' and '.join(CLAIMED)} itself: import mxnet before it, or run `python -m core.mxnet SCRIPT`"
        )
    module.__spec__.name = module.__name__ = name
    module.__package__ = module.__spec__.parent
    sys.modules[name] = module
