"""Numbers of programs, blocks and elements in kernels, where they come close to 2^31 or pass it."""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._kernel import jit

WIDE = 2**30  # from this many on, numbers of elements are counted in 64 bits: their sums with a block's pass 2**31


@jit
def program(axis: tl.constexpr, WIDE: tl.constexpr):
    """Program index, in 64 bits where indices need them."""
    if WIDE:
        return tl.program_id(axis).to(tl.int64)
    else:
        return tl.program_id(axis)


@jit
def blocks_of(n, BLOCK):
    """How many blocks cover n elements, of which there is one at least.

    `tl.cdiv` adds before it divides: the sum passes 2^31 where n just does not.
    """
    return (n - 1) // BLOCK + 1
