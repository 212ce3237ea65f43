"""Memory that is filled from nothing: one number, even steps, bands of matrices.

Floor: one write of the result, for `band` one read of what is kept as well.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.dispatch import kernel


@kernel
def fill_(x: Tensor, number: float) -> Tensor:
    """`x`, each element of which becomes `number`, an integer or a fraction; 16 bits are rounded from float32."""
    return x


@kernel
def evenly(
    start: float, step: float, count: int, within: torch.dtype, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """start + k step for k from 0 to count - 1: product and sum rounded to `within` each, the result to `dtype`.

    within: int64 (start and step are integers), float32 or float64.
    """
    return empty((count,), dtype)


@kernel
def eye(rows: int, columns: int, offset: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Ones where the column is the row + `offset`, zeros elsewhere."""
    return empty((rows, columns), dtype)


@kernel
def triangle(x: Tensor, lower: bool, offset: int) -> Tensor:
    """The elements up to (from, if not `lower`) a diagonal of the last two axes; zeros elsewhere."""
    return empty(x.shape, x.dtype)
