"""How the kernels see a strided tensor of any rank: as a matrix of kept by reduced elements.

Axes that lie behind one another in memory are merged, so that at most two groups of kept and two of reduced axes are
left for nearly every layout (NCHW, channels-last, transposed, sliced); anything wilder is copied first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import WIDE
from core.kernels.triton._kernel import jit


class Fold(NamedTuple):
    """`x` as a (kept, reduced) matrix: index i of a side lies at (i // n0) * s1 + (i % n0) * s0, see `offset`."""

    x: Tensor
    kept: int
    k0: int
    ks1: int
    ks0: int
    reduced: int
    r0: int
    rs1: int
    rs0: int

    @property
    def arguments(self) -> tuple[int, ...]:
        """The integers, as the kernels take them after the pointers."""
        return self[1:]

    @property
    def flags(self) -> dict[str, bool]:
        """Which sides have two groups, and whether indices need 64 bits."""
        return {
            "K2": self.k0 != self.kept,
            "R2": self.r0 != self.reduced,
            "WIDE": max(self.kept, self.reduced) >= WIDE,
        }


def fold(x: Tensor, axes: tuple[int, ...]) -> Fold:
    """`x` with `axes` reduced; the kept index runs in row-major order of the other axes."""
    others = [axis for axis in range(x.ndim) if axis not in axes]
    kept = _merge([(x.shape[a], x.stride(a)) for a in others])
    # The order of the reduced elements is free: the one of memory merges best. A single axis keeps its own.
    reduced = _merge(sorted(((x.shape[a], x.stride(a)) for a in axes), key=lambda group: -group[1]))
    if len(kept) > 2 or len(reduced) > 2:
        k, r = (math.prod(x.shape[a] for a in side) for side in (others, axes))
        return fold(x.permute([*others, *axes]).reshape(k, r), (1,))
    return Fold(x, *_side(kept), *_side(reduced))


def rows(x: Tensor, axis: int) -> tuple[int, int, int]:
    """(rows, n, inner) of a contiguous `x`: a row is what varies along `axis`, its elements `inner` apart."""
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    return math.prod(x.shape[:axis]) * inner, n, inner


@jit
def offset(i, n0, s1, s0, TWO: tl.constexpr):
    """Offset of index `i` on a side of a `Fold`; 64-bit, while the division stays as narrow as `i`."""
    if TWO:
        return (i // n0).to(tl.int64) * s1 + (i % n0).to(tl.int64) * s0
    else:
        return i.to(tl.int64) * s0


def _merge(groups: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(size, stride) groups, with neighbours that are one run of memory made one."""
    merged: list[tuple[int, int]] = []
    for size, stride in groups:
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return merged


def _side(groups: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    """(count, n0, s1, s0) of at most two groups."""
    if len(groups) == 2:
        (n1, s1), (n0, s0) = groups
        return n1 * n0, n0, s1, s0
    n, s = groups[0] if groups else (1, 1)
    return n, n, 0, s
