"""Mean and variance in one pass: `reduce.moments` and the statistics of the normalisations.

Every lane runs Welford's recurrence (1962), lanes and chunks are merged by Chan, Golub and LeVeque (1979): no
cancellation, whatever the mean. Floor: one read of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import program
from core.kernels.triton._fold import Fold, offset
from core.kernels.triton._kernel import jit
from core.kernels.triton._stages import aot_cases, tiling
from core.kernels.triton.aot import AotCase
from core.kernels.triton.tiles import accumulator, in_triton


def moments_of(f: Fold, dtype: torch.dtype, eps: float | None = None) -> tuple[Tensor, Tensor]:
    """Mean and biased variance, each (kept,) in `dtype`; with `eps`, 1 / sqrt(variance + eps) instead of the variance.

    Over nothing both are NaN.
    """
    mean, spread = (torch.empty(f.kept, dtype=dtype, device=f.x.device) for _ in range(2))
    if f.kept == 0:
        return mean, spread
    acc = accumulator(f.x.dtype)
    t = tiling(f)
    target = (mean, spread)
    if t.splits > 1:
        target = tuple(torch.empty((t.splits, f.kept), dtype=acc, device=f.x.device) for _ in range(2))
    constexprs = {"ACC": in_triton(acc), "EPS": eps}
    grid = (triton.cdiv(f.kept, t.BK), t.splits)
    _welford_kernel[grid](
        f.x, *target, *f.arguments, t.chunk, LAST=t.splits == 1, **constexprs, **f.flags,
        BK=t.BK, BR=t.BR, num_warps=t.num_warps,
    )  # fmt: skip
    if t.splits > 1:
        _merge_kernel[(triton.cdiv(f.kept, MERGED),)](
            *target, mean, spread, f.kept, f.reduced, t.splits, t.chunk, **constexprs, BK=MERGED
        )
    return mean, spread


MERGED = 64  # results that one program of the second stage makes


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


@jit(do_not_specialize=["reduced", "splits", "chunk"])
def _merge_kernel(
    means, squares, mean_out, spread_out, kept, reduced, splits, chunk,
    ACC: tl.constexpr, EPS: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Merges the moments of the chunks, one after the other."""
    k = tl.program_id(0).to(tl.int64) * BK + tl.arange(0, BK)
    mean = tl.zeros([BK], ACC)
    total = tl.zeros([BK], ACC)
    chunk = chunk.to(tl.int64)
    for split in range(0, splits):
        before = (chunk * split).to(ACC)
        added = tl.minimum(chunk, reduced - chunk * split).to(ACC)
        position = k + split * kept
        delta = tl.load(means + position, mask=k < kept, other=0) - mean
        total += tl.load(squares + position, mask=k < kept, other=0) + delta * delta * (
            before * added / (before + added)
        )
        mean += delta * (added / (before + added))
    _store_moments(mean_out, spread_out, k, k < kept, mean, total, reduced.to(ACC), True, EPS)


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
    integers = {"kept": "i32", "reduced": "i32", "splits": "i32", "chunk": "i32"}
    yield AotCase(_merge_kernel, pointers | integers, {"ACC": tl.float32, "EPS": 1e-5, "BK": MERGED})


AOT = list(_aot())
