"""Normalisation with a scale and a shift for each channel: what batch and group norm share.

A tensor is seen as a matrix in memory order: (sample, channel) by positions where channels are slow (NCHW),
(sample, position) by channels where they are fast (channels-last). Statistics belong to a channel (batch norm) or to a
group of channels of one sample (group norm; layer norm is one group).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton import reduce
from core.kernels.triton._counting import blocks_of, program
from core.kernels.triton._fold import fold, offset
from core.kernels.triton._kernel import jit
from core.kernels.triton._stages import aot_cases, tiling
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.tiles import accumulator, in_triton


class Channels(NamedTuple):
    """A dense `x` of n samples, c channels and `positions` positions; `last`: the channels are fastest in memory; `groups`
    of channels that share statistics within a sample, 0: channels share them over all samples."""

    x: Tensor
    axis: int
    n: int
    c: int
    positions: int
    last: bool
    groups: int = 0


def channels(x: Tensor, axis: int) -> Channels:
    """`x` (copied if its strides are neither contiguous nor channels-last) with `axis` for its channels."""
    c = x.shape[axis]
    if axis == 1 and x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return Channels(x, axis, x.shape[0], c, x.shape[2] * x.shape[3], True)
    if axis == 1 and x.ndim == 5 and x.is_contiguous(memory_format=torch.channels_last_3d):
        return Channels(x, axis, x.shape[0], c, math.prod(x.shape[2:]), True)
    inner = math.prod(x.shape[axis + 1 :])
    return Channels(contiguous(x), axis, math.prod(x.shape[:axis]), c, inner, inner == 1)


def apply(
    view: Channels, gamma: Tensor | None, beta: Tensor | None, mean: Tensor, spread: Tensor, eps: float | None = None
) -> Tensor:
    """(x - mean) spread gamma + beta; with `eps`, `spread` is a variance."""
    y = torch.empty_like(view.x)
    _launch(_apply_kernel, view, (view.x, gamma, beta, mean, spread, y), EPS=eps)
    return y


def gradient_sums(view: Channels, dy: Tensor, mean: Tensor, spread: Tensor, eps: float | None = None) -> Tensor:
    """Sums of dy xhat and of dy: (2, C) over everything else, with groups (2, N C) over the positions."""
    x = view.x
    kept = (0, 1) if view.groups else (view.axis,)
    f = fold(x, tuple(a for a in range(x.ndim) if a not in kept))  # x is dense: never a copy
    if f.kept == 0:
        return torch.empty((2, 0), dtype=accumulator(x.dtype), device=x.device)
    t = tiling(f)
    sums = torch.empty((t.splits, 2, f.kept), dtype=accumulator(x.dtype), device=x.device)
    _sums_kernel[(triton.cdiv(f.kept, t.BK), t.splits)](
        dy, f.x, mean, spread, sums, *f.arguments, t.chunk, view.c, view.groups, view.c // max(view.groups, 1),
        EPS=eps, GROUPED=view.groups > 0, ACC=in_triton(sums.dtype), **f.flags,
        BK=t.BK, BR=t.BR, num_warps=t.num_warps,
    )  # fmt: skip
    return sums[0] if t.splits == 1 else reduce.sum(sums, (0,), False)


def over_samples(view: Channels, sums: Tensor) -> Tensor:
    """(2, C) from the (2, N C) of `gradient_sums` with groups."""
    return reduce.sum(sums.view(2, view.n, view.c), (1,), False)


def group_terms(view: Channels, gamma: Tensor | None, sums: Tensor) -> Tensor:
    """(2, N G): the sums of `gradient_sums` times gamma, over the channels of each group."""
    terms = torch.empty((2, view.n * view.groups), dtype=sums.dtype, device=sums.device)
    size = view.c // view.groups
    block = min(triton.next_power_of_2(size), 1024)
    _terms_kernel[(2 * view.n * view.groups,)](sums, gamma, terms, view.groups, size, BLOCK=block)
    return terms


def apply_gradient(
    view: Channels,
    dy: Tensor,
    gamma: Tensor | None,
    mean: Tensor,
    spread: Tensor,
    terms: Tensor | None,
    eps: float | None = None,
) -> Tensor:
    """dx. `terms`: the sums over the elements that share statistics (with groups: times gamma), None if the statistics
    are constants."""
    dx = torch.empty_like(view.x)
    shared = view.c // view.groups * view.positions if view.groups else view.n * view.positions
    _launch(_gradient_kernel, view, (dy, view.x, gamma, mean, spread, terms, dx, shared), EPS=eps)
    return dx


TILE = 4096  # elements that a program holds
COLUMNS = 512  # longest run in memory of a tile


def _launch(kernel, view: Channels, arguments, **constexprs) -> None:
    if view.x.numel() == 0:
        return
    rows, columns, tile, num_warps = _tile(view)
    kernel[(triton.cdiv(rows, tile["BR"]) * triton.cdiv(columns, tile["BC"]),)](
        *arguments, rows, columns, view.c, view.positions, view.groups, view.c // max(view.groups, 1),
        LAST=view.last, GROUPED=view.groups > 0, ACC=in_triton(accumulator(view.x.dtype)),
        **constexprs, **tile, num_warps=num_warps,
    )  # fmt: skip


def _tile(view: Channels) -> tuple[int, int, dict[str, int], int]:
    """Rows and columns of the matrix in memory order, the tile, and its warps."""
    rows, columns = (view.n * view.positions, view.c) if view.last else (view.n * view.c, view.positions)
    bc = min(triton.next_power_of_2(columns), COLUMNS)
    br = min(triton.next_power_of_2(rows), TILE // bc)
    return rows, columns, {"BR": br, "BC": bc}, 8 if br * bc > 2048 else 4


@jit
def _apply_kernel(
    x, gamma, beta, mean, spread, y, rows, columns, c, positions, groups, size,
    EPS: tl.constexpr, LAST: tl.constexpr, GROUPED: tl.constexpr, ACC: tl.constexpr,
    BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    position, inside, channel, exists, stat, has_stat = _where(
        rows, columns, c, positions, groups, size, LAST, GROUPED, BR, BC
    )
    xhat, _ = _normalised(x, mean, spread, position, inside, stat, has_stat, EPS, ACC)
    if gamma is not None:
        xhat *= tl.load(gamma + channel, mask=exists, other=0).to(ACC)
    if beta is not None:
        xhat += tl.load(beta + channel, mask=exists, other=0).to(ACC)
    tl.store(y + position, xhat.to(y.dtype.element_ty), mask=inside)


@jit(do_not_specialize=["shared"])
def _gradient_kernel(
    dy, x, gamma, mean, spread, terms, dx, shared, rows, columns, c, positions, groups, size,
    EPS: tl.constexpr, LAST: tl.constexpr, GROUPED: tl.constexpr, ACC: tl.constexpr,
    BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """dx = rstd (gamma dy - (sum(gamma dy) + xhat sum(gamma dy xhat)) / shared), sums over what shares statistics."""
    position, inside, channel, exists, stat, has_stat = _where(
        rows, columns, c, positions, groups, size, LAST, GROUPED, BR, BC
    )
    g = tl.load(dy + position, mask=inside, other=0).to(ACC)
    xhat, rstd = _normalised(x, mean, spread, position, inside, stat, has_stat, EPS, ACC)
    if terms is not None and not GROUPED:
        g -= _mean_terms(terms, xhat, stat, has_stat, c, shared, ACC)
    if gamma is not None:
        g *= tl.load(gamma + channel, mask=exists, other=0).to(ACC)
    if terms is not None and GROUPED:
        g -= _mean_terms(terms, xhat, stat, has_stat, rows // (positions if LAST else c) * groups, shared, ACC)
    tl.store(dx + position, (g * rstd).to(dx.dtype.element_ty), mask=inside)


@jit
def _sums_kernel(
    dy, x, mean, spread, sums, kept, k0, ks1, ks0, reduced, r0, rs1, rs0, chunk, c, groups, size,
    EPS: tl.constexpr, GROUPED: tl.constexpr, ACC: tl.constexpr,
    K2: tl.constexpr, R2: tl.constexpr, WIDE: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """Sums of dy xhat and of dy over one chunk of the reduced side of a `Fold`."""
    split = program(1, WIDE)
    k = program(0, WIDE) * BK + tl.arange(0, BK)
    base = offset(k, k0, ks1, ks0, K2)[:, None]
    stat = (k // c) * groups + (k % c) // size if GROUPED else k
    stop = tl.minimum(split * chunk + chunk, reduced)
    centre = tl.load(mean + stat, mask=k < kept, other=0).to(ACC)
    with_x = tl.zeros([BK, BR], ACC)
    alone = tl.zeros([BK, BR], ACC)
    for first in range(split * chunk, stop, BR):
        r = first + tl.arange(0, BR)
        inside = (k < kept)[:, None] & (r < stop)[None, :]
        position = base + offset(r, r0, rs1, rs0, R2)[None, :]
        g = tl.load(dy + position, mask=inside, other=0).to(ACC)
        # What lies outside is centred at `mean` but meets a gradient of 0.
        with_x += g * (tl.load(x + position, mask=inside, other=0).to(ACC) - centre[:, None])
        alone += g
    scale = tl.load(spread + stat, mask=k < kept, other=1).to(ACC)
    if EPS is not None:
        scale = 1 / tl.sqrt(scale + EPS)
    target = sums + split.to(tl.int64) * 2 * kept + k
    tl.store(target, tl.sum(with_x, 1) * scale, mask=k < kept)
    tl.store(target + kept, tl.sum(alone, 1), mask=k < kept)


@jit
def _terms_kernel(sums, gamma, terms, groups, size, BLOCK: tl.constexpr):
    """One term: a group's sums times gamma. (2, N, G, size) is contiguous, so is (2, N, G)."""
    group = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], sums.dtype.element_ty)
    for first in range(0, size, BLOCK):
        i = first + tl.arange(0, BLOCK)
        value = tl.load(sums + group * size + i, mask=i < size, other=0)
        if gamma is not None:
            value *= tl.load(gamma + (group % groups) * size + i, mask=i < size, other=0).to(value.dtype)
        total += value
    tl.store(terms + group, tl.sum(total, 0))


@jit
def _where(
    rows, columns, c, positions, groups, size, LAST: tl.constexpr, GROUPED: tl.constexpr, BR: tl.constexpr,
    BC: tl.constexpr
):  # fmt: skip
    """Offsets of a tile and which exist; indices of its channels and which exist; the same of its statistics."""
    across = blocks_of(columns, BC)
    row = ((tl.program_id(0) // across).to(tl.int64) * BR + tl.arange(0, BR))[:, None]
    column = (tl.program_id(0) % across * BC + tl.arange(0, BC))[None, :]
    inside = (row < rows) & (column < columns)
    if LAST:
        channel, exists = column, column < columns
        sample = row // positions
    else:
        channel, exists = row % c, row < rows
        sample = row // c
    if GROUPED:
        stat = sample * groups + channel // size
        has_stat = inside if LAST else exists
    else:
        stat, has_stat = channel, exists
    return row * columns + column, inside, channel, exists, stat, has_stat


@jit
def _normalised(x, mean, spread, position, inside, stat, has_stat, EPS: tl.constexpr, ACC: tl.constexpr):
    """(x - mean) rstd, and rstd."""
    rstd = tl.load(spread + stat, mask=has_stat, other=1).to(ACC)
    if EPS is not None:
        rstd = 1 / tl.sqrt(rstd + EPS)
    centre = tl.load(mean + stat, mask=has_stat, other=0).to(ACC)
    return (tl.load(x + position, mask=inside, other=0).to(ACC) - centre) * rstd, rstd


@jit
def _mean_terms(terms, xhat, stat, has_stat, number, shared, ACC: tl.constexpr):
    with_x = tl.load(terms + stat, mask=has_stat, other=0)
    alone = tl.load(terms + number + stat, mask=has_stat, other=0)
    return (alone + xhat * with_x) / shared.to(ACC)


def _aot() -> Iterator[AotCase]:
    small = dict.fromkeys(("gamma", "beta", "mean", "spread", "terms", "sums"), "*fp32")
    integers = dict.fromkeys(("rows", "columns", "c", "positions", "groups", "size", "shared"), "i32")
    for last, grouped in ((False, False), (True, False), (False, True), (True, True)):
        rows, columns, tile, num_warps = _tile(Channels(None, 1, 64, 256, 3136, last, 32 if grouped else 0))
        for kernel, eps in ((_apply_kernel, None), (_apply_kernel, 1e-5), (_gradient_kernel, None)):
            types = dict.fromkeys(("x", "y", "dy", "dx"), "*bf16") | small | integers
            types["columns"] = "i32:16"
            signature = {name: types[name] for name in kernel.arg_names if name in types}
            constexprs = {"EPS": eps, "LAST": last, "GROUPED": grouped, "ACC": tl.float32, **tile}
            yield AotCase(kernel, signature, constexprs, num_warps)
    pointers = {"dy": "*bf16", "x": "*bf16", **{name: small[name] for name in ("mean", "spread", "sums")}}
    scalars = {name: "i32" for name in ("c", "groups", "size")}
    for grouped in (False, True):
        yield from aot_cases(_sums_kernel, pointers, scalars, {"EPS": None, "GROUPED": grouped, "ACC": tl.float32})
    terms = {"sums": "*fp32", "gamma": "*fp32", "terms": "*fp32", "groups": "i32", "size": "i32"}
    yield AotCase(_terms_kernel, terms, {"BLOCK": 64})


AOT = list(_aot())
