"""Parts that MXNet 1.x kept under `gluon.contrib`; imported on first use."""

import importlib

_MODULES = ("cnn", "data", "estimator", "nn", "rnn")


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"gluon.contrib.{name}")
    raise AttributeError(f"module 'gluon.contrib' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
