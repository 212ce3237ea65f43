"""Reductions along the rows of a tile, for generated kernels: of `x` where it is `inside`, as a column of the tile."""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._kernel import jit


@jit
def sum(x, inside, columns):
    return tl.sum(tl.where(inside, x, 0), 1)[:, None]


@jit
def mean(x, inside, columns):
    return sum(x, inside, columns) / columns


@jit
def fmax(x, inside, columns):
    """The largest that is a number: Triton's own reduction passes over NaN."""
    return tl.max(tl.where(inside, x, float("-inf")), 1)[:, None]


@jit
def max(x, inside, columns):
    return tl.where(_has_nan(x, inside), float("nan"), fmax(x, inside, columns))


@jit
def min(x, inside, columns):
    smallest = tl.min(tl.where(inside, x, float("inf")), 1)[:, None]
    return tl.where(_has_nan(x, inside), float("nan"), smallest)


@jit
def _has_nan(x, inside):
    return tl.sum((inside & (x != x)).to(tl.int32), 1)[:, None] > 0
