"""Sorting, top-k and unique in Triton.

An element and its index travel as one int64: an integer that orders as the element does in the upper half, the index in
the lower. All keys differ, so any sorting network is stable. Rows of up to 4096 are sorted in registers (bitonic
network); longer ones are cut into such blocks, which are then merged pairwise: every key finds its position by a binary
search in the sibling run. Types of 64 bits are sorted by their lower and then by their upper halves. Each merge adds a
read and a write of 8 bytes per element to the floor.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from core.base import MXNetError
from core.kernels.triton._counting import WIDE, blocks_of, program
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.rows import TILE, as_bytes, compact, gather_rows

_BLOCK = 4096
_LONGEST = 2**32  # what the lower half of a key can number


def sort(x, axis, descending):
    rows = contiguous(x.movedim(axis, -1))
    order = _order(as_bytes(rows).view(-1, rows.shape[-1]), descending) if x.numel() else None
    return _finish(rows, order, rows.shape[-1], axis)


def sort_values(x, axis, descending):
    return sort(x, axis, descending)[0]


def topk(x, k, axis, largest):
    rows = contiguous(x.movedim(axis, -1))
    flat = as_bytes(rows).view(-1, max(rows.shape[-1], 1))
    if not x.numel() or not k:
        order = None
    elif 4 * k > _BLOCK or x.element_size() == 8:  # a longer selection would hardly thin out the blocks
        order = _order(flat, largest)
    else:
        order = _selected(flat, k, largest)
    return _finish(rows, order, k, axis)


def topk_indices(x, k, axis, largest, dtype=torch.int64):
    return contiguous(in_type(topk(x, k, axis, largest)[1], dtype))


def unique(x, axis=None):
    slices = x.reshape(-1, 1) if axis is None else contiguous(x.movedim(axis, 0))
    n, width = slices.shape[0], math.prod(slices.shape[1:])
    flat = slices.view(n, width)
    # The rows in lexicographic order: sorted by the last column, then stably by every one before it.
    order = sort(flat[:, width - 1], 0, False)[1]
    for column in reversed(range(width - 1)):
        key, finer = torch.empty(n, dtype=x.dtype, device=x.device), order
        gather_rows(contiguous(flat[:, column]), finer, key, 1, n, 1)
        coarse, order = sort(key, 0, False)[1], torch.empty_like(finer)
        gather_rows(finer, coarse, order, 1, n, 1)
    ordered = torch.empty_like(flat)
    gather_rows(flat, order, ordered, 1, n, width)
    starts = torch.empty(n, dtype=torch.uint8, device=x.device)
    if n:
        _starts[(triton.cdiv(n, TILE),)](as_bytes(ordered), starts, n, width, TILE=TILE)
    begin = compact(starts)
    runs = begin.numel()
    values = torch.empty((runs, *slices.shape[1:]), dtype=x.dtype, device=x.device)
    first, counts = torch.empty_like(begin), torch.empty_like(begin)
    inverse = torch.empty_like(order)
    gather_rows(ordered, begin, values, 1, n, width)
    if n:
        _runs[(triton.cdiv(runs, TILE),)](begin, order, first, counts, runs, n, TILE=TILE)
        _inverse[(triton.cdiv(n, TILE),)](begin, order, inverse, runs, n, TILE=TILE)
    return (values.view(-1) if axis is None else contiguous(values.movedim(0, axis))), first, inverse, counts


# ------------------------------------------------------------ launching


def _finish(rows, order, k, axis):
    """Values and indices of the first `k` of every row in `order`, with the axis back in its place."""
    shape = (*rows.shape[:-1], k)
    values = torch.empty(shape, dtype=rows.dtype, device=rows.device)
    indices = torch.empty(shape, dtype=torch.int64, device=rows.device)
    if values.numel():
        _unpack[(triton.cdiv(values.numel(), TILE),)](
            as_bytes(rows), order, as_bytes(values), indices, values.numel(), k, order.shape[1], rows.shape[-1],
            TILE=TILE,
        )  # fmt: skip
    return contiguous(values.movedim(-1, axis)), contiguous(indices.movedim(-1, axis))


def _order(x, descending):
    """Indices (or keys with the indices in the lower half) that sort every row of `x` (rows, n)."""
    if x.element_size() < 8:
        return _sorted_keys(x, None, 0, descending)
    return _sorted_keys(x, _sorted_keys(x, None, 1, descending), 2, descending)


def _sorted_keys(x, before, half, descending):
    """Sorted keys of one half (0: all of a narrow type, 1: lower, 2: upper) of the elements, in the order `before`."""
    rows, n = x.shape
    if n > _LONGEST:
        raise MXNetError(f"sort: {n} elements are to be put in order; up to {_LONGEST} can be")
    block = min(_BLOCK, triton.next_power_of_2(n))
    keys = torch.empty((rows, n), dtype=torch.int64, device=x.device)
    _sort_block[(rows * triton.cdiv(n, block),)](
        x, x if before is None else before, keys, n, n,
        HALF=half, ORDERED=before is not None, DESCENDING=descending, PACKED=False, WIDE=n >= WIDE, BLOCK=block,
        KEEP=block, num_warps=_warps(block),
    )  # fmt: skip
    run = block
    while run < n:
        merged = torch.empty_like(keys)
        _merge[(rows * triton.cdiv(n, TILE),)](keys, merged, n, run, WIDE=n >= WIDE, TILE=TILE)
        keys, run = merged, 2 * run
    if before is not None:
        order = torch.empty_like(keys)
        _compose[(triton.cdiv(rows * n, TILE),)](keys, before, order, rows * n, n, TILE=TILE)
        return order
    return keys


def _selected(x, k, descending):
    """The first `k` keys, at least, of every row: block by block, then among what the blocks kept."""
    keep, packed = triton.next_power_of_2(k), False
    while True:
        rows, n = x.shape
        block = max(min(_BLOCK, triton.next_power_of_2(n)), keep)
        blocks = triton.cdiv(n, block)
        keys = torch.empty((rows, blocks * keep), dtype=torch.int64, device=x.device)
        _sort_block[(rows * blocks,)](
            x, x, keys, n, blocks * keep,
            HALF=0, ORDERED=False, DESCENDING=descending, PACKED=packed, WIDE=n >= WIDE, BLOCK=block, KEEP=keep,
            num_warps=_warps(block),
        )  # fmt: skip
        if blocks == 1:
            return keys
        x, packed = keys, True


def _warps(block):
    return max(1, min(8, block // 256))


# ------------------------------------------------------------ kernels


@jit
def _ordered(x, HALF: tl.constexpr, DESCENDING: tl.constexpr):
    """A signed 32-bit integer, as int64, that orders as `x`, or as one half of it: -0 equal to 0, NaN above all."""
    if x.dtype.is_floating():
        if HALF == 0:
            bits = x.to(tl.float32).to(tl.int32, bitcast=True)
            top: tl.constexpr = 0x7FFFFFFF
        else:
            bits = x.to(tl.int64, bitcast=True)
            top: tl.constexpr = 0x7FFFFFFFFFFFFFFF
        bits = tl.where(bits < 0, bits ^ top, bits)
        bits = tl.where(x == 0, 0, tl.where(x == x, bits, top))
    else:
        bits = x
    bits = bits.to(tl.int64)
    if DESCENDING:
        bits = ~bits
    if HALF == 1:
        bits = (bits & 0xFFFFFFFF) - 0x80000000
    if HALF == 2:
        bits = bits >> 32
    return bits


@jit
def _sort_block(
    x_ptr, before_ptr, keys_ptr, n, width,
    HALF: tl.constexpr, ORDERED: tl.constexpr, DESCENDING: tl.constexpr, PACKED: tl.constexpr, WIDE: tl.constexpr,
    BLOCK: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    blocks = blocks_of(n, BLOCK)
    row, block = (tl.program_id(0) // blocks).to(tl.int64), program(0, WIDE) % blocks
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    source = at.to(tl.int64)
    if ORDERED:
        source = tl.load(before_ptr + row * n + at, inside, 0) & 0xFFFFFFFF
    x = tl.load(x_ptr + row * n + source, inside, 0)
    key = x if PACKED else (_ordered(x, HALF, DESCENDING) << 32) | at
    key = tl.sort(tl.where(inside, key, 0x7FFFFFFFFFFFFFFF))
    rank = tl.arange(0, BLOCK)
    position = block * KEEP + rank
    tl.store(keys_ptr + row * width + position, key, (rank < KEEP) & (position < width))


@jit
def _merge(keys_ptr, merged_ptr, n, run, WIDE: tl.constexpr, TILE: tl.constexpr):
    """Every key of a run moves on by the number of keys of the sibling run that precede it."""
    across = blocks_of(n, TILE)
    row = (tl.program_id(0) // across).to(tl.int64) * n
    at = program(0, WIDE) % across * TILE + tl.arange(0, TILE)
    inside = at < n
    key = tl.load(keys_ptr + row + at, inside, 0)
    begin = at // run * run
    second = (begin // run) % 2
    sibling = tl.where(second == 1, begin - run, begin + run)
    low = tl.minimum(sibling, n)
    high = tl.minimum(sibling + run, n)
    start, width = low, run
    while width > 0:
        middle = (low + high) // 2
        smaller = (low < high) & (tl.load(keys_ptr + row + middle, inside & (low < high), 0) < key)
        high = tl.where(smaller, high, middle)
        low = tl.where(smaller, middle + 1, low)
        width //= 2
    position = at - begin + low - start + tl.where(second == 1, sibling, begin)
    tl.store(merged_ptr + row + position, key, inside)


@jit
def _compose(keys_ptr, before_ptr, order_ptr, total, n, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < total
    position = tl.load(keys_ptr + at, inside, 0) & 0xFFFFFFFF
    tl.store(order_ptr + at, tl.load(before_ptr + at // n * n + position, inside, 0) & 0xFFFFFFFF, inside)


@jit
def _unpack(x_ptr, order_ptr, values_ptr, indices_ptr, total, k, width, n, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < total
    row = at // k
    index = tl.load(order_ptr + row * width + at % k, inside, 0) & 0xFFFFFFFF
    tl.store(values_ptr + at, tl.load(x_ptr + row * n + index, inside, 0), inside)
    tl.store(indices_ptr + at, index, inside)


@jit
def _starts(ordered_ptr, starts_ptr, n, width, TILE: tl.constexpr):
    """1 where a row differs from the one before it."""
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < n
    differs = at == 0
    for column in range(width):
        here = tl.load(ordered_ptr + at * width + column, inside, 0)
        before = tl.load(ordered_ptr + (at - 1) * width + column, inside & (at > 0), 0)
        differs |= here != before
    tl.store(starts_ptr + at, differs.to(tl.uint8), inside)


@jit
def _runs(begin_ptr, order_ptr, first_ptr, counts_ptr, runs, n, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < runs
    begin = tl.load(begin_ptr + at, inside, 0)
    end = tl.load(begin_ptr + at + 1, at + 1 < runs, 0)
    end = tl.where(at + 1 < runs, end, n)
    tl.store(first_ptr + at, tl.load(order_ptr + begin, inside, 0), inside)
    tl.store(counts_ptr + at, end - begin, inside)


@jit
def _inverse(begin_ptr, order_ptr, inverse_ptr, runs, n, TILE: tl.constexpr):
    """The run that every sorted element is in, found by binary search, written at the element's old position."""
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < n
    low = tl.zeros((TILE,), tl.int64)
    high = low + runs
    width = runs
    while width > 0:
        middle = (low + high) // 2
        reached = (low < high) & (tl.load(begin_ptr + middle, inside & (low < high), 0) <= at)
        high = tl.where(reached, high, middle)
        low = tl.where(reached, middle + 1, low)
        width //= 2
    source = tl.load(order_ptr + at, inside, 0)
    tl.store(inverse_ptr + source, low - 1, inside)


def _block_case(kind, block, keep, packed=False, wide=False):
    return AotCase(
        _sort_block,
        {"x_ptr": f"*{kind}", "before_ptr": f"*{kind}", "keys_ptr": "*i64", "n": "i32", "width": "i32"},
        {"HALF": 0, "ORDERED": False, "DESCENDING": True, "PACKED": packed, "WIDE": wide, "BLOCK": block, "KEEP": keep},
        num_warps=_warps(block),
    )


AOT = [
    _block_case("fp32", _BLOCK, _BLOCK),
    _block_case("fp16", 256, 256),
    _block_case("i64", _BLOCK, 8, packed=True),
    _block_case("fp32", _BLOCK, _BLOCK, wide=True),
    *(
        AotCase(
            _merge, {"keys_ptr": "*i64", "merged_ptr": "*i64", "n": n, "run": n}, {"WIDE": n == "i64", "TILE": TILE}
        )
        for n in ("i32", "i64")
    ),
]
