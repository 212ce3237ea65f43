"""The kernels: one contract each, and two backends that implement them.

`core.kernels.conv.conv(x, ...)` is declared in `core.kernels.contracts.conv`; it runs `core.kernels.triton.conv.conv`
where `x` lives on a CUDA device and `core.kernels.cpu.conv.conv` on the CPU. `core.kernels.dispatch` chooses.
`core.kernels.shape` moves memory and computes nothing, so both backends share it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from torch import Tensor

from core import storage
from core.kernels import shape as shape
from core.kernels.dispatch import (
    BACKENDS,
    ON_CPU_ONLY,
    WAITING,
    bound,
    deterministic,
    forced_backend,
    implementation,
    observe,
    recorder,
    remembered,
    runs_triton,
    set_deterministic,
    using,
)
from core.kernels.formula_kernels import formula_kernel as formula_kernel
from core.kernels.formula_kernels import inline as inline
from core.kernels.formula_kernels import pointwise_of_first_type as pointwise_of_first_type
from core.kernels.formula_kernels import pointwise_of_one_type as pointwise_of_one_type

if TYPE_CHECKING:
    from core.kernels.contracts import (
        attention,
        boxes,
        compression,
        conv,
        copies,
        correlation,
        ctc,
        deformable,
        fills,
        index,
        linalg,
        linear_loss,
        matmul,
        norm,
        optimizer,
        pointwise,
        pool,
        random,
        reduce,
        rnn,
        softmax,
        sort,
        vision,
    )

FAMILIES = tuple(
    "attention boxes compression conv copies correlation ctc deformable fills index linalg linear_loss matmul norm optimizer pointwise pool "
    "random reduce rnn softmax sort vision".split()
)

torch_dtype = storage.torch_dtype


def dtype_name(tensor: Tensor) -> str:
    """The name of the tensor's element type."""
    return storage.NAMES[tensor.dtype]


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor in another type; itself where it has that type."""
    wanted = storage.TORCH[dtype]
    if tensor.dtype is wanted:
        return tensor
    if tensor.is_meta or (tensor.is_cpu and forced_backend() is None):
        return tensor.type(wanted)  # a microsecond less than `to`
    return shape.cast(tensor, dtype)


def __getattr__(name: str) -> ModuleType:
    if name in FAMILIES:
        family = globals()[name] = importlib.import_module(f"core.kernels.contracts.{name}")
        return family
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
