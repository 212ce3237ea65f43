"""The `npx` namespace: neural network operators on `np` arrays, and the switches of NumPy semantics."""

from __future__ import annotations

import importlib

from core import late_names, ops  # the table must be full before functions are looked up in it
from core.base import UnknownName
from core.context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from core.dispatch import operator_function
from core.numpy.multiarray import ndarray
from core.ops.registry import TABLE, npx_operator
from core.util import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_default_dtype,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)  # fmt: skip

Device, current_device = Context, current_context
_SUBMODULES = ("random", "image")
_FILES = ("load", "save", "savez")
_CONTROL_FLOW = ("cond", "foreach", "while_loop")


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"core.numpy_extension.{name}")
    if name in _FILES:
        return getattr(importlib.import_module("core.numpy_extension.files"), name)
    if name in _CONTROL_FLOW:
        return getattr(importlib.import_module("core.numpy_extension.control_flow"), name)
    functions = importlib.import_module("core.numpy_extension.functions")
    value = getattr(functions, name, None)
    if value is None or name.startswith("_"):
        op = npx_operator(name)
        if op is None:
            raise UnknownName("npx", name, __dir__)
        value = operator_function(op, ndarray)
    globals()[name] = value
    return value


def __dir__():
    functions = vars(importlib.import_module("core.numpy_extension.functions"))
    operators = {name.removeprefix("_npx_").removeprefix("_contrib_") for name in TABLE}
    return late_names.offered({**functions, **globals()}, {*operators, *_SUBMODULES, *_FILES, *_CONTROL_FLOW})


__all__ = [
    "Device", "cpu", "cpu_pinned", "current_context", "current_device", "gpu", "gpu_memory_info", "is_np_array",
    "is_np_default_dtype", "is_np_shape", "ndarray", "np_array", "np_shape", "num_gpus", "ops", "reset_np", "set_np",
    "set_np_default_dtype", "set_np_shape", "use_np", "use_np_array", "use_np_shape",
]  # fmt: skip
