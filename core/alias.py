"""Makes this project answer to `import mxnet`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys

import core

_ROOMS = {"mxnet": "core", "mxnet.gluon": "gluon"}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mxnet.a.b` as the module that `core.a.b` (or `gluon...`) is."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "mxnet" or fullname.startswith("mxnet."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _resolve(spec.name)

    def exec_module(self, module):
        return None


def _resolve(fullname: str):
    """The module behind an `mxnet...` name; ModuleNotFoundError names what is missing."""
    if fullname in _ROOMS:
        return importlib.import_module(_ROOMS[fullname])
    parent, _, name = fullname.rpartition(".")
    owner = _resolve(parent)
    found = getattr(owner, name, None)
    if isinstance(found, type(sys)):
        return found
    try:
        return importlib.import_module(f"{owner.__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{owner.__name__}.{name}":
            raise
        raise ModuleNotFoundError(f"{fullname} is not part of this project", name=fullname) from None


def install_as_mxnet() -> None:
    """From now on `import mxnet`, `from mxnet import gluon`, `from mxnet.gluon import nn` give this project.

    ImportError where the original mxnet is imported already.
    """
    known = sys.modules.get("mxnet")
    if known is core:
        return
    if known is not None:
        raise ImportError("another package named mxnet is imported already; call install_as_mxnet() before")
    sys.meta_path.insert(0, _Finder())
    sys.modules["mxnet"] = core
