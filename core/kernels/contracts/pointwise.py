"""Scalar formulas applied to tensors, element by element or along rows.

Floor: one read of every operand and one write of every result.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core import storage
from core.kernels.contracts.rules import broadcast, empty
from core.kernels.dispatch import kernel
from core.kernels.formula import Formula
from core.kernels.row_program import RowProgram


@kernel
def pointwise(formula: Formula, tensors: Sequence[Tensor], attrs: Sequence[float], dtype: torch.dtype) -> Tensor:
    """`formula` applied to broadcast `tensors`, with `attrs` in the formula's order; the result has `dtype`."""
    if formula.root.op == "input":  # the operand itself
        x = tensors[formula.root.args[0]]
        return x if x.dtype is dtype else empty(x.shape, dtype, x)
    shape = broadcast([t.shape for t in tensors])
    whole = next((t for t in tensors if t.shape == shape), None)
    return empty(shape, dtype, whole)


@kernel
def pointwise_rows(program: RowProgram, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of a row program over `tensors`, floating point, which broadcast to its shape and have elements."""
    return tuple(empty(r.shape, storage.TORCH[r.dtype]) for r in program.results)
