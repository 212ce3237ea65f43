"""The package that MXNet's users know as `mx`: arrays, autograd, operators and all below a neural network.

`import core as mx`. Parts are imported when they are first used. `install_as_mxnet()` makes programs that say
`import mxnet` run on this package.
"""

from __future__ import annotations

import importlib
import os

from core import late_names, tracebacks
from core.base import MXNetError, UnknownName
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

__version__ = "1.9.1"  # of the MXNet whose behaviour this is; gluon.__version__ is that of the project

# Modules by their own names, then by the short ones that programs use.
_OWN = (
    "attribute autograd base callback context contrib device engine error executor executor_manager image initializer "
    "io kvstore libinfo library log lr_scheduler metric model module monitor name ndarray numpy "
    "notebook numpy_dispatch_protocol numpy_extension numpy_op_signature _numpy_op_doc onnx operator optimizer profiler random recordio "
    "registry rnn rtc runtime storage symbol symbol_doc test_utils util visualization"
).split()
_SHORT = {
    "img": "image", "init": "initializer", "kv": "kvstore", "mod": "module", "mon": "monitor", "nd": "ndarray",
    "np": "numpy", "npx": "numpy_extension", "opt": "optimizer", "rnd": "random", "sym": "symbol",
    "viz": "visualization",
}  # fmt: skip
_MODULES = {
    "gluon": "gluon",
    **{name: f"{__name__}.{name}" for name in _OWN},
    **{short: f"{__name__}.{name}" for short, name in _SHORT.items()},
    "amp": f"{__name__}.contrib.amp",
    "onnx": f"{__name__}.contrib.onnx",
}
# values -> the modules that hold them
_VALUES = {
    "AttrScope": "core.attribute", "install_as_mxnet": "core.alias", "Executor": "core.executor",
    "Device": "core.device", "current_device": "core.device",
    **dict.fromkeys("is_np_array is_np_shape np_array np_shape set_np_shape use_np use_np_array use_np_shape".split(),
                    "core.util"),
}  # fmt: skip


late_names.enter("core.autograd", {"get_symbol": "core.symbol.recorded", "NDArray": "core.ndarray"})
late_names.enter("core.ndarray", {"CachedOp": "core.cached_op", "Custom": "core.operator", "imdecode": "core.image.nd"})
late_names.enter(
    "core.base._LIB",
    dict.fromkeys(
        "MXNDArrayCallDLPackDeleter MXNDArrayFromDLPack MXNDArrayFromDLPackEx MXNDArrayToDLPack MXRecordIOReaderSeek "
        "MXRecordIOReaderTell MXRecordIOWriterTell MXSetNumOMPThreads".split(),
        "core.c_interface",
    ),
)
late_names.enter("core.ndarray.op", {"Custom": "core.operator"})
late_names.enter(
    "core.util",
    {
        "default_array": "core.np_arrays", "numpy_fallback": "core.np_arrays",
        "set_check_values": "core.checks", "is_check_values": "core.checks",
    },
)  # fmt: skip


def __getattr__(name: str):
    if name in _VALUES:
        return getattr(importlib.import_module(_VALUES[name]), name)
    if name not in _MODULES:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName("mxnet", name, __dir__, "part")
    try:
        value = importlib.import_module(_MODULES[name])
    except ModuleNotFoundError as error:
        if error.name != _MODULES[name]:
            raise
        raise AttributeError(f"mxnet.{name} is not part of this project yet") from None
    globals()[name] = value
    return value


def __dir__():
    return late_names.offered(globals(), {*_MODULES, *_VALUES})


tracebacks.install()
if os.environ.get("MXNET_CHECK_VALUES", "0") not in ("", "0"):
    importlib.import_module("core.checks").set_check_values(True)

__all__ = [
    "Context", "MXNetError", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "gpu_memory_info", "num_gpus",
]  # fmt: skip
