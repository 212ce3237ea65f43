"""Memory that is filled from nothing, by ATen."""

from __future__ import annotations

import torch
from torch import Tensor

from core.storage import within


def fill_(x: Tensor, number: float) -> Tensor:
    return x.fill_(within(number, x.dtype))


def evenly(
    start: float, step: float, count: int, within: torch.dtype, dtype: torch.dtype, device: torch.device
) -> Tensor:
    values = torch.arange(count, dtype=within, device=device)
    values = values if step == 1 else values.mul_(step)
    return (values.add_(start) if start else values).to(dtype)


def eye(rows: int, columns: int, offset: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    out = torch.zeros((rows, columns), dtype=dtype, device=device)
    if -rows < offset < columns:
        out.diagonal(offset).fill_(1)
    return out


def triangle(x: Tensor, lower: bool, offset: int) -> Tensor:
    return x.tril(offset) if lower else x.triu(offset)
