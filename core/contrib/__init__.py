"""What MXNet keeps in `mx.contrib`: parts are imported when they are first used."""

from __future__ import annotations

import importlib

_FACES = {"nd": "ndarray", "ndarray": "ndarray", "sym": "symbol", "symbol": "symbol"}

_SHORT = {"quant": "quantization"}


def __getattr__(name: str):
    if name in _FACES:  # the operators of `nd.contrib` and `sym.contrib` under their older names
        return importlib.import_module(f"core.{_FACES[name]}").contrib
    name = _SHORT.get(name, name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"mx.contrib has no part {name!r}") from None
