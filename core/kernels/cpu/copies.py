"""Copies of memory in another order, by ATen."""

from __future__ import annotations

from torch import Tensor


def contiguous(x: Tensor) -> Tensor:
    return x.contiguous()
