"""Non-maximum suppression of sorted boxes, on the device from beginning to end.

First every pair is compared, which is parallel: bit j of row i says that box j comes after box i and overlaps it too
much. Then one program per image sweeps over the rows, 32 at a time: within such a group it decides box by box, from one
word of each row; then it takes out what the survivors of the group overlap. The bits take n^2 / 8 bytes; where that
is much, they are made and swept a part at a time.

Floor: n^2 / 2 overlaps (about 20 operations each), and one read of the rows of the survivors; the sweep is sequential,
n / 32 times the time to reach the L2 cache.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton._overlap import load, load_box, overlap
from core.kernels.triton.aot import AotCase

_TILE = 64
_WORD = 32
_MOST_BYTES = 1 << 28  # of the bits of one part


def suppressed(rows, count, coordinates, alive, threshold, *, label=-1, inclusive=False, center=False, grow=0):
    """Which boxes overlap a better one that stays, or were not alive: a bit each, (batch, words) int32.

    rows (batch, n, width), contiguous: the first `count` of each image are compared, best first; boxes are in four
    columns from `coordinates` on, right and bottom short by `grow`. alive (batch, n): not -inf; None if all are.
    label: the column of the class beyond which boxes do not compete, -1 for none. inclusive: `threshold` itself is too
    much.
    """
    batch, n, width = rows.shape
    words = triton.cdiv(count, _WORD)
    gone = torch.empty((batch, words), dtype=torch.int32, device=rows.device)
    if not gone.numel():
        return gone
    _pack[(batch * triton.cdiv(words, _WORD),)](
        rows if alive is None else alive, gone, count, n, words, ALL=alive is None, WORD=_WORD
    )
    most = max(_TILE, _MOST_BYTES // (4 * batch * words) // _TILE * _TILE)
    part = min(triton.cdiv(count, _TILE) * _TILE, most)
    bits = torch.empty((batch, part, words), dtype=torch.int32, device=rows.device)
    block = max(_WORD, triton.next_power_of_2(words))
    for first in range(0, count, part):
        _compare[(batch * (part // _TILE) * triton.cdiv(count, _TILE),)](
            rows, bits, count, n, width, coordinates, label, first, part, words, float(threshold),
            LABELS=label >= 0, INCLUSIVE=inclusive, CENTER=center, GROW=grow, TILE=_TILE, WORD=_WORD, num_warps=8,
        )  # fmt: skip
        groups = triton.cdiv(min(part, count - first), _WORD)
        _sweep[(batch,)](bits, gone, first // _WORD, groups, part, words, WORD=_WORD, **_sweeping(block))
    return gone


def _sweeping(words):
    """How rows of `words` words are swept: so many at once that their words fit into registers."""
    warps = max(1, min(8, words // 64))
    return {"WORDS": words, "AT_ONCE": max(1, min(_WORD, 32 * 32 * warps // words)), "num_warps": warps}


# ------------------------------------------------------------ device code


@jit
def stays(gone_ptr, at, inside):
    """Whether the boxes at `at` of one image stay; gone_ptr points to the words of that image."""
    return inside & ((tl.load(gone_ptr + at // 32, inside, -1) >> (at % 32)) & 1 == 0)


@jit
def _pack(alive_ptr, gone_ptr, count, n, words, ALL: tl.constexpr, WORD: tl.constexpr):
    across = blocks_of(words, WORD)
    image = (tl.program_id(0) // across).to(tl.int64)
    word = tl.program_id(0) % across * WORD + tl.arange(0, WORD)
    bit = tl.arange(0, WORD)
    at = word[:, None] * WORD + bit[None, :]
    alive = at < count
    if not ALL:
        alive &= load(alive_ptr, image * n + at, alive) > float("-inf")
    gone = tl.sum(tl.where(alive, 0, 1) << bit[None, :], 1)  # no two have a bit in common: the sum is their union
    tl.store(gone_ptr + image * words + word, gone, word < words)


@jit
def _compare(
    x_ptr, bits_ptr, count, n, width, coordinates, label, first, part, words, threshold,
    LABELS: tl.constexpr, INCLUSIVE: tl.constexpr, CENTER: tl.constexpr, GROW: tl.constexpr, TILE: tl.constexpr,
    WORD: tl.constexpr,
):  # fmt: skip
    across, tall = blocks_of(count, TILE), part // TILE
    image = (tl.program_id(0) // (across * tall)).to(tl.int64)
    start, line = tl.program_id(0) % across * TILE, tl.program_id(0) // across % tall * TILE
    if start >= first + line:  # bits of boxes before the row are not read
        row, column = first + line + tl.arange(0, TILE), start + tl.arange(0, TILE)
        one, two = (image * n + row) * width, (image * n + column) * width
        a, b, c, d = load_box(x_ptr, one + coordinates, row < count, CENTER)
        a2, b2, c2, d2 = load_box(x_ptr, two + coordinates, column < count, CENTER)
        c, d, c2, d2 = c + GROW, d + GROW, c2 + GROW, d2 + GROW
        iou = overlap(
            a[:, None], b[:, None], c[:, None], d[:, None], a2[None, :], b2[None, :], c2[None, :], d2[None, :]
        )  # fmt: skip
        over = iou >= threshold if INCLUSIVE else iou > threshold
        over &= (column[None, :] > row[:, None]) & (column < count)[None, :] & (row < count)[:, None]
        if LABELS:
            over &= load(x_ptr, one + label, row < count)[:, None] == load(x_ptr, two + label, column < count)[None, :]
        bits = over.to(tl.int32) << (column % WORD)[None, :]
        union = tl.sum(tl.reshape(bits, (TILE, TILE // WORD, WORD)), 2)
        word = start // WORD + tl.arange(0, TILE // WORD)
        position = (image * part + line + tl.arange(0, TILE)) * words
        tl.store(bits_ptr + position[:, None] + word[None, :], union, (word < words)[None, :])


@jit
def _sweep(bits_ptr, gone_ptr, first, groups, part, words,
    WORDS: tl.constexpr, WORD: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    gone_ptr += image * words
    bits_ptr += image * part * words
    column = tl.arange(0, WORDS)
    gone = tl.load(gone_ptr + column, column < words, 0)
    for group in range(first, first + groups):
        word = tl.sum(tl.where(column == group, gone, 0), 0)
        for j in tl.static_range(WORD):
            word |= tl.where((word >> j) & 1 == 0, tl.load(bits_ptr + j * words + group), 0)
        for first_row in range(0, WORD, AT_ONCE):
            for j in tl.static_range(AT_ONCE):
                end = tl.where((word >> (first_row + j)) & 1 == 0, words, 0)
                row_ptr = bits_ptr + (first_row + j) * words
                gone |= tl.load(row_ptr + column, (column > group) & (column < end), 0)
        gone = tl.where(column == group, word, gone)
        bits_ptr += WORD * words
    tl.store(gone_ptr + column, gone, column < words)


_NUMBERS = dict.fromkeys(
    ("count", "n", "width", "coordinates", "label", "first", "part", "words", "groups"), "i32"
)  # fmt: skip


def _case(kernel, types, constexprs):
    num_warps = constexprs.pop("num_warps", 4)
    given = {name: types.get(name, _NUMBERS.get(name)) for name in kernel.arg_names if name not in constexprs}
    return AotCase(kernel, given, constexprs, num_warps=num_warps)


AOT = [
    _case(
        _compare,
        {"x_ptr": "*fp32", "bits_ptr": "*i32", "threshold": "fp32"},
        {"LABELS": True, "INCLUSIVE": False, "CENTER": False, "GROW": 0, "TILE": _TILE, "WORD": _WORD, "num_warps": 8},
    ),
    *(
        _case(_sweep, {"bits_ptr": "*i32", "gone_ptr": "*i32"}, {"WORD": _WORD, **_sweeping(words)})
        for words in (256, 8192)
    ),
    _case(_pack, {"alive_ptr": "*fp32", "gone_ptr": "*i32"}, {"ALL": False, "WORD": _WORD}),
]
