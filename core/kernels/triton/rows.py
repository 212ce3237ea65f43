"""Rows moved by their numbers, and the numbers of what to keep: what indexing and sorting have in common.

Floors: `gather_rows` reads and writes every row once and reads the numbers; `compact` reads its input twice.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous

TILE = 1024


def gather_rows(x, positions, y, outer, rows, inner):
    """y (outer, count, inner) from x (outer, rows, inner), both contiguous."""
    if y.numel():
        block, count = tile(inner), positions.numel()
        total = outer * count
        _gather[grid(total, inner, block)](as_bytes(x), positions, as_bytes(y), total, count, rows, inner, **block)


def compact(x):
    """Positions of the nonzero elements of `x` in the flattened array, int64, ascending."""
    x = contiguous(x)
    blocks = triton.cdiv(x.numel(), TILE)
    if blocks == 0:
        return torch.empty(0, dtype=torch.int64, device=x.device)
    counts = torch.empty(blocks + 1, dtype=torch.int64, device=x.device)
    _count[(blocks,)](as_bytes(x), counts, x.numel(), TILE=TILE)
    _scan[(1,)](counts, blocks, TILE=TILE)
    positions = torch.empty(int(counts[blocks].item()), dtype=torch.int64, device=x.device)
    _collect[(blocks,)](as_bytes(x), counts, positions, x.numel(), TILE=TILE)
    return positions


def tile(inner):
    """Extents of a block of rows of `inner` elements, as constants of a kernel that calls `tile_of`."""
    width = min(triton.next_power_of_2(max(inner, 1)), TILE)
    return {"ROWS": max(1, TILE // width), "INNER": width}


def grid(rows, inner, block):
    """Programs of a launch that covers `rows` rows of `inner` elements with blocks of that extent.

    All are in the first dimension of the grid: the others end at 65,535.
    """
    return (triton.cdiv(rows, block["ROWS"]) * triton.cdiv(inner, block["INNER"]),)


def as_bytes(x):
    """Booleans as the bytes that they are."""
    return x.view(torch.uint8) if x.dtype is torch.bool else x


@jit
def tile_of(total, inner, ROWS: tl.constexpr, INNER: tl.constexpr):
    """Row numbers (ROWS,), column numbers (1, INNER) and validity (ROWS, INNER) of this program's block."""
    across = blocks_of(inner, INNER)
    row = (tl.program_id(0) // across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % across * INNER + tl.arange(0, INNER)
    return row, column[None, :], (row < total)[:, None] & (column < inner)[None, :]


@jit
def _gather(x_ptr, positions_ptr, y_ptr, total, count, rows, inner, ROWS: tl.constexpr, INNER: tl.constexpr):
    row, column, inside = tile_of(total, inner, ROWS, INNER)
    source = (row // count) * rows + tl.load(positions_ptr + row % count, row < total, 0).to(tl.int64)
    moved = tl.load(x_ptr + source[:, None] * inner + column, inside, 0)
    tl.store(y_ptr + row[:, None] * inner + column, moved, inside)


@jit
def _count(x_ptr, counts_ptr, total, TILE: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    at = block * TILE + tl.arange(0, TILE)
    kept = tl.load(x_ptr + at, at < total, 0) != 0
    tl.store(counts_ptr + block, tl.sum(kept.to(tl.int64), 0))


@jit
def _scan(counts_ptr, blocks, TILE: tl.constexpr):
    """Turns the counts into the sums before each block, and the sum of all at the end."""
    before = tl.zeros((), tl.int64)
    for start in range(0, blocks, TILE):
        at = start + tl.arange(0, TILE)
        counts = tl.load(counts_ptr + at, at < blocks, 0)
        tl.store(counts_ptr + at, before + tl.cumsum(counts, 0) - counts, at < blocks)
        before += tl.sum(counts, 0)
    tl.store(counts_ptr + blocks, before)


@jit
def _collect(x_ptr, before_ptr, positions_ptr, total, TILE: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    at = block * TILE + tl.arange(0, TILE)
    kept = tl.load(x_ptr + at, at < total, 0) != 0
    rank = tl.load(before_ptr + block) + tl.cumsum(kept.to(tl.int64), 0) - 1
    tl.store(positions_ptr + rank, at, kept)


AOT = [
    AotCase(
        _gather,
        {"x_ptr": f"*{kind}", "positions_ptr": "*i64", "y_ptr": f"*{kind}"}
        | dict.fromkeys(("total", "count", "rows", "inner"), "i32"),
        shape,
    )
    for kind, shape in [
        ("fp32", {"ROWS": 1, "INNER": 1024}),
        ("fp16", {"ROWS": 4, "INNER": 256}),
        ("fp32", {"ROWS": 1024, "INNER": 1}),
    ]
]
