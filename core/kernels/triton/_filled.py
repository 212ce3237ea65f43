"""New memory of one number, for launchers."""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.triton.fills import fill_


def zeros(shape, dtype: torch.dtype, device: torch.device) -> Tensor:
    """New row-major memory of zeros."""
    return fill_(torch.empty(shape, dtype=dtype, device=device), 0)


def full(shape, number: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """New row-major memory of one number."""
    return fill_(torch.empty(shape, dtype=dtype, device=device), number)


def zeros_like(x: Tensor) -> Tensor:
    """Zeros of the shape and type of a tensor, in row-major order."""
    return zeros(x.shape, x.dtype, x.device)
