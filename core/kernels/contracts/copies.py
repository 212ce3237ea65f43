"""Copies of memory: in another order, in another type, one behind the other, and to places that are found in memory.

Floor: one read and one write of every element.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.kernels.contracts import rules
from core.kernels.dispatch import kernel


@kernel
def contiguous(x: Tensor) -> Tensor:
    """`x` in row-major memory: itself where it lies so, else a copy."""
    return x if x.is_contiguous() else rules.empty(x.shape, x.dtype)


@kernel
def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The elements converted, in new memory that lies as that of `x`.

    Fractions lose their rest, and all that is not 0 is True. Where a number is too large for an integer type, the
    result is of no use.
    """
    return x.to(dtype, copy=True)


@kernel
def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Some axes backwards, in new row-major memory."""
    return x.new_empty(x.shape)


@kernel
def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors one behind the other along an axis, in the widest of their types; channels-last if the first is."""
    return rules.joined(tensors, axis)


@kernel
def write_(out: Tensor, x: Tensor) -> Tensor:
    """`out`, whose memory, which is not that of `x`, takes the elements of `x`, broadcast and converted."""
    return out


@kernel
def add_(out: Tensor, x: Tensor) -> Tensor:
    """`out`, whose elements become their sums with those of `x`, broadcast; `x` does not lie in its memory."""
    return out


@kernel
def divided(x: Tensor, lengths: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    """Consecutive parts along an axis, each in new row-major memory; `lengths` add up to its length."""
    axis %= x.dim()
    return tuple(rules.empty((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype) for n in lengths)


@kernel
def roll(x: Tensor, shift: int, axis: int) -> Tensor:
    """The elements `shift` positions further along an axis, the last ones first; in new row-major memory."""
    return rules.empty(x.shape, x.dtype)


@kernel
def at_address_(x: Tensor, address: Tensor, write: bool) -> None:
    """Fills `x` with what lies at an address, or, with `write`, writes it there, byte by byte.

    x: dense memory of its own. address: int64, of one element, which names as many bytes on the same device, aligned
    to 16. A CUDA graph reads it anew each time, so that what it reads and writes may lie elsewhere then.
    """
