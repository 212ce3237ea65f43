"""Tiles of products shared out among programs, one for each processor, for all to end together.

A program makes some tiles whole. Then it makes blocks of K of the others, the same number as every other program, from
its last tile to its first: so it begins with what the next program waits for, and ends with what it waits for itself.
Sums of a tile that another program ends are left in memory in float32; that one adds them, the nearest first, so results
repeat bit for bit. Programs wait for one another, so they have to run at the same time: a launch is cooperative.

Source: Osama et al., "Stream-K: Work-Centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU",
PPoPP 2023.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._filled import zeros
from core.kernels.triton._kernel import jit
from core.kernels.triton._waiting import wait_for
from core.kernels.triton.autotune import Config
from core.kernels.triton.tiles import MINIMAL_STEPS

# Blocks that are read in the time in which the sums of a tile are written and read: 128 x 128 of them in float32 are
# twice 64 kB, a block of K reads 32.
_HANDED_ON = 4


def shares_of(tiles: int, steps: int, processors: int) -> tuple[int, int] | None:
    """`even_shares`; None where tiles in rounds are as fast, or sums are split as `tiles.split_along` says."""
    whole, each = even_shares(tiles, steps, processors)
    in_rounds = triton.cdiv(tiles, processors) * steps
    if 2 * tiles <= processors or each < MINIMAL_STEPS or whole * steps + each + _HANDED_ON > in_rounds:
        return None
    return whole, each


def even_shares(tiles: int, steps: int, processors: int) -> tuple[int, int]:
    """How tiles of `steps` blocks of K are shared out: how many whole tiles each processor makes, and how many blocks
    after that.
    """
    whole = max(tiles // processors - 1, 0)
    return whole, triton.cdiv((tiles - whole * processors) * steps, processors)


def handed_on(config: Config, processors: int, out: Tensor) -> tuple[Tensor, Tensor]:
    """Memory for a tile of each program that another one ends, and which of them are there."""
    begun = torch.empty((processors, config["BLOCK_M"], config["BLOCK_N"]), dtype=torch.float32, device=out.device)
    return begun, zeros((processors,), torch.int32, out.device)


# ---------------------------------------------------------------- device code


@jit
def share_of(tiles, steps, whole, each):
    """The first block of K that is this program's after its whole tiles, and the one behind its last."""
    every = (tiles - whole * tl.num_programs(0)) * steps
    first = tl.minimum(tl.program_id(0) * each, every)
    return first, tl.minimum(first + each, every)


@jit
def part_of(item, first, last, steps, whole):
    """The tile that a program makes as its `item`th, and its part of it, in blocks of K."""
    shared = item >= whole
    other = tl.cdiv(last, steps) - 1 - (item - whole)
    tile = tl.where(shared, whole * tl.num_programs(0) + other, item * tl.num_programs(0) + tl.program_id(0))
    start = tl.where(shared, tl.maximum(first - other * steps, 0), 0)
    return tile, start, tl.where(shared, tl.minimum(last - other * steps, steps), steps)


@jit
def await_others(start, stop, steps, each, left, THREADS: tl.constexpr):
    """Whether another program ends this tile, and how many have begun it, once they have left their sums."""
    leaves = stop < steps
    others = tl.where(leaves, 0, tl.cdiv(start, each))
    for back in range(1, others + 1):
        wait_for(left + tl.program_id(0) - back, 1, THREADS)
    return leaves, others


@jit
def within(sums):
    """Where the elements of a tile lie in memory that is for it alone."""
    return tl.arange(0, sums.shape[0])[:, None] * sums.shape[1] + tl.arange(0, sums.shape[1])[None, :]


@jit
def with_others(sums, others, mine, SIZE: tl.constexpr):
    """The sums, and those of the programs before this one, the nearest first; `mine` is where this one's would lie."""
    for _ in range(others):
        mine -= SIZE
        sums += tl.load(mine + within(sums))
    return sums
