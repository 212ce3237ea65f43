"""What MXNet keeps in `mx.contrib`: parts are imported when they are first used."""

from __future__ import annotations

import importlib


def __getattr__(name: str):
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"mx.contrib has no part {name!r}") from None
