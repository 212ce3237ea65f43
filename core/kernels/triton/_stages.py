"""Tile sizes of the reductions, and how the reduced side is split where there are few results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton

from core.kernels.triton._fold import Fold, fold
from core.kernels.triton.aot import AotCase

TILE = 4096  # elements that a program holds: 32 a thread
ROW = 1024  # longest run along a contiguous reduced side
COLUMNS = 128  # widest run along a contiguous kept side: 256 bytes of float16
PROGRAMS = 512  # about four for each processor of the largest GPU


class Tiling(NamedTuple):
    """`BK` x `BR` elements per step; the reduced side in `splits` chunks of `chunk`."""

    BK: int
    BR: int
    num_warps: int
    splits: int
    chunk: int


def tiling(f: Fold) -> Tiling:
    """The tile along whichever side is contiguous in memory. Splits until the device is full, but leaves each program
    four steps of work."""
    if f.rs0 <= f.ks0 or f.kept == 1:
        br = min(triton.next_power_of_2(max(f.reduced, 1)), ROW)
        bk = min(triton.next_power_of_2(max(f.kept, 1)), TILE // br, 64)
    else:
        bk = min(triton.next_power_of_2(max(f.kept, 1)), COLUMNS)
        br = min(triton.next_power_of_2(max(f.reduced, 1)), TILE // bk, 64)
    blocks = triton.cdiv(f.kept, bk)
    splits = max(1, min(triton.cdiv(f.reduced, 4 * br), PROGRAMS // max(blocks, 1)))
    chunk = max(triton.cdiv(triton.cdiv(f.reduced, splits), br) * br, 1)
    return Tiling(bk, br, 4 if bk * br <= 2048 else 8, max(triton.cdiv(f.reduced, chunk), 1), chunk)


def aot_cases(kernel, pointers: dict[str, str], scalars: dict[str, str], constexprs: dict) -> Iterator[AotCase]:
    """`kernel` for the layouts that matter; integers are typed as a launch would specialise them."""
    for shape, axes in LAYOUTS:
        f = fold(torch.empty(shape, device="meta"), axes)
        t = tiling(f)
        integers = f._asdict() | {"chunk": t.chunk}
        del integers["x"]
        ones = {name: 1 for name, value in integers.items() if value == 1}
        signature = {n: "i32" if value % 16 else "i32:16" for n, value in integers.items() if n not in ones}
        fixed = constexprs | ones | f.flags | {"BK": t.BK, "BR": t.BR}
        yield AotCase(kernel, pointers | signature | scalars, fixed, t.num_warps)


LAYOUTS = [
    ((8192, 8192), (1,)),  # rows
    ((8192, 8192), (0,)),  # columns
    ((65536, 10), (1,)),  # short rows
    ((2**24,), (0,)),  # everything
    ((256, 64, 56, 56), (0, 2, 3)),  # channels of NCHW
    ((256, 56, 56, 64), (1, 2)),  # positions of a channels-last image
]
