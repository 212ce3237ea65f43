"""Datasets, tokenizers, vocabularies, embeddings, metrics and models for natural language processing.

The interface is that of GluonNLP 0.10.  `gluonnlp.model` is loaded on first use: reading data
does not pay for the model zoo.
"""

from __future__ import annotations

import importlib
from pathlib import Path as _Path
from runpy import run_path as _run_path

_run_path(str(_Path(__file__).resolve().parents[1] / "gluon" / "_check_packages.py"))["check"](
    "gluonnlp", "core", "gluon"
)

__version__ = "0.10.0"

from . import data, embedding, initializer, loss, metric, optimizer, utils, vocab  # noqa: E402
from .vocab import Vocab  # noqa: E402

__all__ = ["data", "model", "embedding", "Vocab", "vocab", "loss", "initializer", "optimizer", "utils", "metric"]


def __getattr__(name: str):
    if name in ("model", "calibration"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
