"""Copies of memory in another order, and to places that are found in memory.

Axes that lie one behind the other are walked as one; a program writes a run of the result.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import WIDE, program
from core.kernels.triton._kernel import jit
from core.kernels.triton._layouts import merged
from core.kernels.triton.aot import AotCase

BLOCK = 1024
RANK = 5  # merged axes that the kernel knows; more are left to torch


def contiguous(x: Tensor) -> Tensor:
    if x.is_contiguous():
        return x
    sizes, (strides,) = merged(x.shape, [x.stride()])
    if len(sizes) > RANK:
        return x.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    count = out.numel()
    if count:
        more = RANK - len(sizes)
        reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        given = (t.view(torch.uint8) if t.dtype is torch.bool else t for t in (x, out))
        _copy[(triton.cdiv(count, BLOCK),)](
            *given, count, *sizes[1:], *[1] * more, *strides, *[0] * more,
            AXES=len(sizes), WIDE=max(count, reach) >= WIDE, BLOCK=BLOCK,
        )  # fmt: skip
    return out


def at_address_(x: Tensor, address: Tensor, write: bool) -> None:
    if x.numel():
        words = _words(x)
        count = words.numel()
        _move[(triton.cdiv(count, BLOCK),)](words, address, count, WRITE=write, WIDE=count >= WIDE, BLOCK=BLOCK)


def _words(x: Tensor) -> Tensor:
    """The memory of a dense tensor as a vector of the widest integers that it is a multiple of."""
    width = next(kind for kind in (torch.int64, torch.int32, torch.int16, torch.uint8) if x.nbytes % kind.itemsize == 0)
    return x.as_strided((x.numel(),), (1,)).view(width)


@jit
def _move(x, address, count, WRITE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    there = tl.multiple_of(tl.load(address).to(x.dtype), 16) + at
    if WRITE:
        tl.store(there, tl.load(x + at, mask=inside), mask=inside)
    else:
        tl.store(x + at, tl.load(there, mask=inside), mask=inside)


@jit
def _copy(
    x, out, count, size1, size2, size3, size4, stride0, stride1, stride2, stride3, stride4,
    AXES: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    rest = at
    position = at * 0
    if AXES > 4:
        position += rest % size4 * stride4
        rest = rest // size4
    if AXES > 3:
        position += rest % size3 * stride3
        rest = rest // size3
    if AXES > 2:
        position += rest % size2 * stride2
        rest = rest // size2
    if AXES > 1:
        position += rest % size1 * stride1
        rest = rest // size1
    position += rest * stride0
    tl.store(out + at, tl.load(x + position, mask=inside), mask=inside)


AOT = [
    AotCase(
        _copy,
        {"x": kind, "out": kind, "count": "i32:16"}
        | {f"size{a}": "i32" for a in range(1, RANK)}
        | {f"stride{a}": "i32" for a in range(RANK)},
        {"AXES": axes, "WIDE": False, "BLOCK": BLOCK},
    )
    for kind in ("*fp16", "*fp32")
    for axes in (2, 3)
] + [
    AotCase(
        _move,
        {"x": "*i64", "address": "*i64", "count": "i32:16"},
        {"WRITE": write, "WIDE": False, "BLOCK": BLOCK},
    )
    for write in (False, True)
]
