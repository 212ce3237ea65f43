"""ONNX: networks to files of other frameworks and back (`pip install 'gluon-triton[onnx]'`).

`export_model` writes, `import_model` and `import_to_gluon` read, `get_model_metadata` lists inputs and outputs.
"""

from __future__ import annotations

import importlib

from core.extras import load

_HOMES = {
    "export_model": "core.contrib.onnx.mx2onnx", "get_operator_support": "core.contrib.onnx.mx2onnx",
    "import_model": "core.contrib.onnx.onnx2mx", "get_model_metadata": "core.contrib.onnx.onnx2mx",
    "import_to_gluon": "gluon.contrib.onnx",
}  # fmt: skip


def __getattr__(name: str):
    if name in ("mx2onnx", "onnx2mx"):
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return sorted({*globals(), *_HOMES, "mx2onnx", "onnx2mx"})


def package():
    """The package `onnx`; ImportError says how to get it."""
    return load("onnx", "reading or writing an ONNX file")
