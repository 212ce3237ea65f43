"""Copies of memory in another order, and to places that are found in memory.

Floor: one read and one write of every element.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.dispatch import kernel


@kernel
def contiguous(x: Tensor) -> Tensor:
    """`x` in row-major memory: itself where it lies so, else a copy."""
    return x if x.is_contiguous() else empty(x.shape, x.dtype)


@kernel
def at_address_(x: Tensor, address: Tensor, write: bool) -> None:
    """Fills `x` with what lies at an address, or, with `write`, writes it there, byte by byte.

    x: dense memory of its own. address: int64, of one element, which names as many bytes on the same device, aligned
    to 16. A CUDA graph reads it anew each time, so that what it reads and writes may lie elsewhere then.
    """
