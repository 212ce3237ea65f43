"""Mean and variance in one pass: `reduce.moments` and the statistics of the normalisations.

Every lane runs Welford's recurrence (1962), lanes and parts are merged by Chan, Golub and LeVeque (1979): no
cancellation, whatever the mean. Floor: one read of the tensor; none where the kernel that made it gives the moments of
parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import program
from core.kernels.triton._fold import Fold, offset
from core.kernels.triton._kernel import jit
from core.kernels.triton._stages import PROGRAMS, aot_cases, tiling
from core.kernels.triton.aot import AotCase
from core.kernels.triton.tiles import accumulator, in_triton


class Parts(NamedTuple):
    """Means and sums of squared deviations of parts of a reduced side, each (parts, kept).

    A part has `chunk` of the `reduced` elements, the last one what is left.
    """

    means: Tensor
    squares: Tensor
    chunk: int
    reduced: int

    @classmethod
    def empty(cls, count: int, kept: int, dtype: torch.dtype, device: torch.device, chunk: int, reduced: int) -> Parts:
        """Memory for `count` of them."""
        means, squares = (torch.empty((count, kept), dtype=dtype, device=device) for _ in range(2))
        return cls(means, squares, chunk, reduced)


def moments_of(f: Fold, dtype: torch.dtype, eps: float | None = None) -> tuple[Tensor, Tensor]:
    """Mean and biased variance, each (kept,) in `dtype`; with `eps`, 1 / sqrt(variance + eps) instead of the variance.

    Over nothing both are NaN.
    """
    if f.kept == 0:
        return _results(f.kept, dtype, f.x.device)
    acc = accumulator(f.x.dtype)
    t = tiling(f)
    parts = Parts.empty(t.splits, f.kept, acc, f.x.device, t.chunk, f.reduced) if t.splits > 1 else None
    target = _results(f.kept, dtype, f.x.device) if parts is None else (parts.means, parts.squares)
    grid = (triton.cdiv(f.kept, t.BK), t.splits)
    _welford_kernel[grid](
        f.x, *target, *f.arguments, t.chunk, LAST=parts is None, ACC=in_triton(acc), EPS=eps, **f.flags,
        BK=t.BK, BR=t.BR, num_warps=t.num_warps,
    )  # fmt: skip
    return target if parts is None else merged(parts, dtype, eps)


def merged(parts: Parts, dtype: torch.dtype, eps: float | None = None) -> tuple[Tensor, Tensor]:
    """The moments of all parts together, as `moments_of` gives them; added in a fixed order."""
    count, kept = parts.means.shape
    while count > PROGRAMS:
        stage = Parts.empty(
            triton.cdiv(count, TOGETHER), kept, parts.means.dtype, parts.means.device, parts.chunk * TOGETHER,
            parts.reduced,
        )  # fmt: skip
        _merge(parts, (stage.means, stage.squares), TOGETHER, False, None)
        parts, count = stage, stage.means.shape[0]
    target = _results(kept, dtype, parts.means.device)
    _merge(parts, target, count, True, eps)
    return target


def _results(kept: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.empty(kept, dtype=dtype, device=device), torch.empty(kept, dtype=dtype, device=device)


def _merge(parts: Parts, target: tuple[Tensor, Tensor], each: int, last: bool, eps: float | None) -> None:
    count, kept = parts.means.shape
    _merge_kernel[(triton.cdiv(kept, MERGED), triton.cdiv(count, each))](
        parts.means, parts.squares, *target, kept, parts.reduced, count, each, parts.chunk,
        LAST=last, ACC=in_triton(parts.means.dtype), EPS=eps, BK=MERGED, BP=AT_ONCE,
    )  # fmt: skip


MERGED = 32  # results that one program of the second stage makes
AT_ONCE = 64  # parts that it takes at a time
TOGETHER = 256  # parts that become one of the next stage


@jit(do_not_specialize=["reduced"])
def _welford_kernel(
    x, mean_out, spread_out, kept, k0, ks1, ks0, reduced, r0, rs1, rs0, chunk,
    LAST: tl.constexpr, ACC: tl.constexpr, EPS: tl.constexpr,
    K2: tl.constexpr, R2: tl.constexpr, WIDE: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """Moments of one chunk; the sum of squared deviations unless it is the LAST stage."""
    split = program(1, WIDE)
    k = program(0, WIDE) * BK + tl.arange(0, BK)
    base = x + offset(k, k0, ks1, ks0, K2)[:, None]
    start = split * chunk
    stop = tl.minimum(start + chunk, reduced)
    mean = tl.zeros([BK, BR], ACC)
    squares = tl.zeros([BK, BR], ACC)
    steps = tl.zeros([], ACC)
    for first in range(start, stop, BR):
        r = first + tl.arange(0, BR)
        inside = (k < kept)[:, None] & (r < stop)[None, :]
        v = tl.load(base + offset(r, r0, rs1, rs0, R2)[None, :], mask=inside, other=0).to(ACC)
        # A lane falls out in the last step only, so all that are in have seen the same number of elements.
        steps += 1
        delta = v - mean
        raised = mean + delta * (1 / steps)
        squares = tl.where(inside, squares + delta * (v - raised), squares)
        mean = tl.where(inside, raised, mean)
    # Lane i has seen the elements start + i, start + i + BR, ...
    seen = tl.maximum(stop - start - tl.arange(0, BR) + BR - 1, 0) // BR
    weight = seen.to(ACC)[None, :]
    number = (stop - start).to(ACC)
    row = tl.sum(mean * weight, 1) / number
    away = mean - row[:, None]
    total = tl.sum(squares + away * away * weight, 1)
    _store_moments(mean_out, spread_out, split.to(tl.int64) * kept + k, k < kept, row, total, number, LAST, EPS)


@jit(do_not_specialize=["reduced", "count", "each", "chunk"])
def _merge_kernel(
    means, squares, mean_out, spread_out, kept, reduced, count, each, chunk,
    LAST: tl.constexpr, ACC: tl.constexpr, EPS: tl.constexpr, BK: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """Merges `each` parts, BP at a time and those one after the other: the moments of all, or of a part of the next stage."""
    k = tl.program_id(0).to(tl.int64) * BK + tl.arange(0, BK)
    place = tl.program_id(1).to(tl.int64)
    mean = tl.zeros([BK], ACC)
    total = tl.zeros([BK], ACC)
    before = tl.zeros([], ACC)
    chunk = chunk.to(tl.int64)
    stop = tl.minimum(place * each + each, count)
    for first in range(place * each, stop, BP):
        part = first + tl.arange(0, BP)
        inside = (part < stop)[:, None] & (k < kept)[None, :]
        number = tl.where(part < stop, tl.minimum(chunk, reduced - chunk * part), 0).to(ACC)
        position = part[:, None] * kept + k[None, :]
        centre = tl.load(means + position, mask=inside, other=0)
        added = tl.sum(number, 0)
        common = tl.sum(centre * number[:, None], 0) / added
        away = tl.where(inside, centre - common[None, :], 0)
        spread = tl.load(squares + position, mask=inside, other=0) + away * away * number[:, None]
        delta = common - mean
        total += tl.sum(spread, 0) + delta * delta * (before * added / (before + added))
        mean += delta * (added / (before + added))
        before += added
    _store_moments(mean_out, spread_out, place * kept + k, k < kept, mean, total, before, LAST, EPS)


@jit
def _store_moments(mean_out, spread_out, position, inside, mean, total, number, LAST: tl.constexpr, EPS: tl.constexpr):
    spread = total
    if LAST:
        spread = total / number
        if EPS is not None:
            spread = 1 / tl.sqrt(spread + EPS)
    tl.store(mean_out + position, mean.to(mean_out.dtype.element_ty), mask=inside)
    tl.store(spread_out + position, spread.to(spread_out.dtype.element_ty), mask=inside)


def _aot() -> Iterator[AotCase]:
    for dtype, acc in (("*bf16", tl.float32), ("*fp64", tl.float64)):
        for last in (True, False):
            outputs = dict.fromkeys(("mean_out", "spread_out"), "*fp64" if acc == tl.float64 else "*fp32")
            constexprs = {"LAST": last, "ACC": acc, "EPS": 1e-5 if last else None}
            yield from aot_cases(_welford_kernel, {"x": dtype} | outputs, {}, constexprs)
    pointers = dict.fromkeys(("means", "squares", "mean_out", "spread_out"), "*fp32")
    integers = dict.fromkeys(("kept", "reduced", "count", "each", "chunk"), "i32")
    for last in (True, False):
        constexprs = {"LAST": last, "ACC": tl.float32, "EPS": 1e-5 if last else None, "BK": MERGED, "BP": AT_ONCE}
        yield AotCase(_merge_kernel, pointers | integers, constexprs)


AOT = list(_aot())
