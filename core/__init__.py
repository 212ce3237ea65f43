"""The package that MXNet's users know as `mx`: arrays, autograd, operators and all below a neural network.

`import core as mx`. Parts are imported when they are first used. `install_as_mxnet()` makes programs that say
`import mxnet` run on this package.
"""

from __future__ import annotations

import importlib

from core.base import MXNetError
from core.context import (
    Context,
    cpu,
    cpu_pinned,
    cpu_shared,
    current_context,
    gpu,
    gpu_memory_info,
    num_gpus,
)  # fmt: skip

__version__ = "1.9.1"

# attribute -> module that it is, or that holds it
_MODULES = {
    "nd": "core.ndarray", "ndarray": "core.ndarray", "np": "core.numpy", "numpy": "core.numpy", "npx": "core.numpy_extension",
    "numpy_extension": "core.numpy_extension", "sym": "core.symbol", "symbol": "core.symbol", "autograd": "core.autograd",
    "random": "core.random", "rnd": "core.random", "init": "core.initializer", "initializer": "core.initializer",
    "optimizer": "core.optimizer", "opt": "core.optimizer", "lr_scheduler": "core.lr_scheduler", "metric": "core.metric",
    "recordio": "core.recordio", "image": "core.image", "img": "core.image", "io": "core.io", "operator": "core.operator",
    "context": "core.context", "base": "core.base", "util": "core.util", "kv": "core.kvstore", "kvstore": "core.kvstore",
    "mod": "core.module", "module": "core.module", "model": "core.model", "callback": "core.callback",
    "monitor": "core.monitor", "mon": "core.monitor", "profiler": "core.profiler", "visualization": "core.visualization",
    "viz": "core.visualization", "engine": "core.engine", "runtime": "core.runtime", "name": "core.name",
    "attribute": "core.attribute", "test_utils": "core.test_utils", "contrib": "core.contrib", "executor": "core.executor",
    "rtc": "core.rtc", "gluon": "gluon", "library": "core.library", "log": "core.log", "registry": "core.registry", "storage": "core.storage",
}  # fmt: skip
_VALUES = {"AttrScope": "core.attribute", "install_as_mxnet": "core.alias", "Executor": "core.executor"}


def __getattr__(name: str):
    if name in _VALUES:
        return getattr(importlib.import_module(_VALUES[name]), name)
    if name not in _MODULES:
        raise AttributeError(f"module 'core' has no attribute {name!r}")
    try:
        value = importlib.import_module(_MODULES[name])
    except ModuleNotFoundError as error:
        if error.name != _MODULES[name]:
            raise
        raise AttributeError(f"mxnet.{name} is not part of this project yet") from None
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_MODULES, *_VALUES})


__all__ = [
    "Context", "MXNetError", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "gpu_memory_info", "num_gpus",
]  # fmt: skip
