"""Sums of which many programs add to one position, in whatever order they come.

Usually floating-point atomics add, and the last bits depend on the order. In deterministic mode the addends are first
turned into integers, whose sums do not: the unit is a power of two so small that all addends together still fit into
63 bits. A result is then exact to about max|addend| x number of addends x 2^-62, and only the conversion rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from core.kernels.dispatch import deterministic
from core.kernels.precision import wide_type
from core.kernels.triton import reduce
from core.kernels.triton._filled import full, zeros
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase

_BLOCK = 512


class Sums(NamedTuple):
    """Memory for sums, and how many of its integers are 1 (a float64 on the device; any tensor unless `exact`)."""

    memory: torch.Tensor
    scale: torch.Tensor
    exact: bool


def begin(shape, addends, terms):
    """Zeros of `shape` to which `add` adds multiples, by at most 1, of elements of `addends`, `terms` times at most."""
    exact, device = deterministic(), addends.device
    if not exact:
        kind = wide_type(addends.dtype)
        memory = zeros(shape, kind, device)
        return Sums(memory, memory, False)
    memory, scale = (
        zeros(shape, torch.int64, device),
        full(1, 1, torch.float64, device),
    )
    if addends.numel():
        axes = tuple(range(addends.dim()))
        extremes = reduce.max(addends, axes, False), reduce.min(addends, axes, False)
        _measure[(1,)](*extremes, scale, float((addends.numel() * terms).bit_length()))
    return Sums(memory, scale, True)


def finish(sums, dtype):
    """The sums as numbers of type `dtype`."""
    if not sums.exact:
        return in_type(sums.memory, dtype)
    y = torch.empty(sums.memory.shape, dtype=dtype, device=sums.memory.device)
    if y.numel():
        _convert[(triton.cdiv(y.numel(), _BLOCK),)](sums.memory, sums.scale, y, y.numel(), BLOCK=_BLOCK)
    return y


# ------------------------------------------------------------ device code


@jit
def add(ptr, value, scale_ptr, mask, EXACT: tl.constexpr):
    """Adds to the sums at `ptr`."""
    if EXACT:
        value = (value.to(tl.float64) * tl.load(scale_ptr)).to(tl.int64)
    tl.atomic_add(ptr, value, mask=mask, sem="relaxed")


@jit
def _measure(most_ptr, least_ptr, scale_ptr, bits):
    size = tl.maximum(tl.abs(tl.load(most_ptr).to(tl.float64)), tl.abs(tl.load(least_ptr).to(tl.float64)))
    power = tl.floor(61.0 - bits - tl.log2(tl.where(size == 0, 1.0, size)))
    tl.store(scale_ptr, tl.exp2(power))


@jit
def _convert(sums_ptr, scale_ptr, y_ptr, total, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.load(sums_ptr + at, at < total, 0).to(tl.float64)
    tl.store(y_ptr + at, sums * (1.0 / tl.load(scale_ptr)), at < total)


AOT = [
    AotCase(_convert, {"sums_ptr": "*i64", "scale_ptr": "*fp64", "y_ptr": "*fp32", "total": "i32"}, {"BLOCK": _BLOCK}),
    AotCase(_measure, {"most_ptr": "*fp32", "least_ptr": "*fp32", "scale_ptr": "*fp64", "bits": "fp32"}, {}),
]
