"""The types in which kernels of both backends compute."""

from __future__ import annotations

import torch


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """float64 for float64, float32 for all others: the type of statistics, states and sums of real numbers."""
    return torch.float64 if dtype is torch.float64 else torch.float32
