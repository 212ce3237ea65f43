"""Copies of memory in another order and to addresses, by ATen and the C library."""

from __future__ import annotations

import ctypes

from torch import Tensor


def contiguous(x: Tensor) -> Tensor:
    return x.contiguous()


def at_address_(x: Tensor, address: Tensor, write: bool) -> None:
    here, there = x.data_ptr(), int(address)
    ctypes.memmove(there if write else here, here if write else there, x.nbytes)
