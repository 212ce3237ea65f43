"""Greedy pairing: the best pair of what is left, again and again.

One axis is short (ground-truth boxes, say). For each of its positions the best partner is known, so that the best pair is
a choice among few; after it, only those positions whose partner was taken look again. Floor: one read of the scores, and
one choice (a reduction within a program) for each pair.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton._filled import full
from core.kernels.triton._kernel import jit
from core.kernels.triton._overlap import load
from core.kernels.triton.aot import AotCase

_TILE = 1024


def pairs(scores, threshold, limit, *, swapped, ascending=False):
    """Partners along both axes of scores (batch, few, many), contiguous: (batch, few), (batch, many), int64, -1: none.

    At most `limit` pairs above `threshold` (below, with `ascending`) are taken. Of equal scores the first counts, in
    the order of (few, many), or of (many, few) if `swapped`.
    """
    batch, few, many = scores.shape
    partner, other = (full((batch, n), -1, torch.int64, scores.device) for n in (few, many))
    if scores.numel():
        best = torch.empty((batch, few), dtype=scores.dtype, device=scores.device)
        at = torch.empty((batch, few), dtype=torch.int64, device=scores.device)
        sign = -1 if ascending else 1
        _look[(batch * few,)](scores, other, best, at, few, many, SIGN=sign, TILE=_TILE)
        _choose[(batch,)](
            scores, best, at, partner, other, few, many, limit, sign * float(threshold), SWAPPED=swapped, SIGN=sign,
            FEW=triton.next_power_of_2(few), TILE=_TILE,
        )  # fmt: skip
    return partner, other


# ------------------------------------------------------------ device code


@jit
def _look(scores_ptr, other_ptr, best_ptr, at_ptr, few, many, SIGN: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best, at = _best(scores_ptr + row * many, other_ptr + row // few * many, many, SIGN, TILE)
    tl.store(best_ptr + row, best)
    tl.store(at_ptr + row, at)


@jit
def _choose(
    scores_ptr, best_ptr, at_ptr, partner_ptr, other_ptr, few, many, limit, threshold,
    SWAPPED: tl.constexpr, SIGN: tl.constexpr, FEW: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    scores_ptr += image * few * many
    partner_ptr += image * few
    other_ptr += image * many
    lane = tl.arange(0, FEW)
    best = load(best_ptr, image * few + lane, lane < few)
    best = tl.where(lane < few, best, float("-inf"))
    at = tl.load(at_ptr + image * few + lane, lane < few, -1)
    taken = 0
    highest = tl.max(best, 0)
    while (taken < limit) & (highest > threshold):
        position = at * few + lane if SWAPPED else lane.to(tl.int64) * many + at
        first = tl.min(tl.where(best == highest, position, 0x7FFFFFFFFFFFFFFF), 0)
        chosen = (best == highest) & (position == first)
        f, g = tl.sum(tl.where(chosen, lane, 0), 0), tl.sum(tl.where(chosen, at, 0), 0)
        tl.store(partner_ptr + f, g)
        tl.store(other_ptr + g, f)
        tl.debug_barrier()  # `_best` reads what is taken
        best = tl.where(chosen, float("-inf"), best)
        left = (at == g) & (best > threshold)
        again = tl.sum(left.to(tl.int32), 0)
        while again > 0:
            f = tl.min(tl.where(left, lane, FEW), 0)
            value, partner = _best(scores_ptr + f.to(tl.int64) * many, other_ptr, many, SIGN, TILE)
            best = tl.where(lane == f, value, best)
            at = tl.where(lane == f, partner, at)
            left = left & (lane != f)
            again -= 1
        highest = tl.max(best, 0)
        taken += 1


@jit
def _best(row_ptr, other_ptr, many, SIGN: tl.constexpr, TILE: tl.constexpr):
    """The highest score of a row among the free positions, and the first position that has it."""
    best = tl.full((), float("-inf"), tl.float64 if row_ptr.dtype.element_ty == tl.float64 else tl.float32)
    at = tl.full((), -1, tl.int64)
    for start in range(0, many, TILE):
        position = start + tl.arange(0, TILE)
        free = (position < many) & (tl.load(other_ptr + position, position < many, 0) < 0)
        score = tl.where(free, SIGN * load(row_ptr, position, free), float("-inf"))
        highest = tl.max(score, 0)
        first = tl.min(tl.where(score == highest, position, 0x7FFFFFFF), 0).to(tl.int64)
        at = tl.where(highest > best, first, at)
        best = tl.maximum(best, highest)
    return best, at


_TYPES = {"few": "i32", "many": "i32", "limit": "i32", "threshold": "fp32", "scores_ptr": "*fp32", "best_ptr": "*fp32"}


def _case(kernel, constexprs):
    given = {name: _TYPES.get(name, "*i64") for name in kernel.arg_names if name not in constexprs}
    return AotCase(kernel, given, constexprs)


AOT = [
    _case(_look, {"SIGN": 1, "TILE": _TILE}),
    _case(_choose, {"SWAPPED": True, "SIGN": 1, "FEW": 64, "TILE": _TILE}),
]
