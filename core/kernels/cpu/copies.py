"""Copies of memory, by ATen and the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor


def contiguous(x: Tensor) -> Tensor:
    return x.contiguous()


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype, copy=True)


def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.flip(tuple(axes))


def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    return torch.cat(tuple(tensors), axis)


def write_(out: Tensor, x: Tensor) -> Tensor:
    return out.copy_(x)


def add_(out: Tensor, x: Tensor) -> Tensor:
    return out.add_(x)


def divided(x: Tensor, lengths: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    return tuple(torch.split_with_sizes_copy(x, lengths, axis))


def roll(x: Tensor, shift: int, axis: int) -> Tensor:
    return torch.roll(x, shift, axis)


def at_address_(x: Tensor, address: Tensor, write: bool) -> None:
    here, there = x.data_ptr(), int(address)
    ctypes.memmove(there if write else here, here if write else there, x.nbytes)
