"""Gradients in two bits an element, with error feedback: what is not sent is kept for the next time.

As in Seide et al., "1-bit stochastic gradient descent" (2014), with a dead zone, and in MXNet: what is wanted, the
gradient and the rest of those before, is sent as +threshold where it is that much, as -threshold where it is as far below
zero, else as 0. Four elements share a byte, the first in its lowest bits: 1 for +threshold, 3 for -threshold. The
threshold is that of the elements' type.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.dispatch import kernel


@kernel
def pack_two_bits(x: Tensor, rest: Tensor, threshold: float) -> Tensor:
    """What is sent of gradients x (n,) and the rest (n,) of those before, which both stay: uint8 (ceil(n / 4),).

    Floor: reads both once, 8.25 bytes an element in float32.
    """
    fits(x.dim() == 1 and x.shape == rest.shape, "pack_two_bits", x, rest)
    return empty(((x.shape[0] + 3) // 4,), torch.uint8)


@kernel
def sum_two_bits_(x: Tensor, rest: Tensor, parts: Tensor, own: int, threshold: float) -> None:
    """The rest becomes what was not sent of x and the rest, x the sum of what all have sent; both (n,), contiguous.

    parts: (processes, ceil(n / 4)), of `pack_two_bits`; own: the one that was made of x and the rest.
    Floor: reads and writes both once, 16 bytes an element in float32, and reads the parts.
    """
    fits(x.dim() == 1 and x.shape == rest.shape, "sum_two_bits_", x, rest)
    fits(parts.shape[1] == (x.shape[0] + 3) // 4, "sum_two_bits_", x, parts)
