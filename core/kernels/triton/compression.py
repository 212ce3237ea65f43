"""Gradients in two bits an element: a program packs and unpacks a run of bytes, each of which is one thread's."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton._counting import WIDE, program
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase

BLOCK = 256  # bytes


def pack_two_bits(x, rest, threshold):
    n = x.numel()
    packed = torch.empty((n + 3) // 4, dtype=torch.uint8, device=x.device)
    if n:
        _pack[(triton.cdiv(packed.numel(), BLOCK),)](x, rest, packed, threshold, n, WIDE=n >= WIDE, BLOCK=BLOCK)
    return packed


def sum_two_bits_(x, rest, parts, own, threshold):
    n, (count, width) = x.numel(), parts.shape
    if n:
        wide = max(n, parts.numel()) >= WIDE
        _sum[(triton.cdiv(width, BLOCK),)](x, rest, parts, own, threshold, n, width, count, WIDE=wide, BLOCK=BLOCK)


@jit
def _read(x, element, inside):
    """Elements in the type that is computed in."""
    value = tl.load(x + element, inside, 0.0)
    return value if value.dtype == tl.float64 else value.to(tl.float32)


@jit
def _added(a, b, kind: tl.constexpr):
    """A sum in a type, in the one that is computed in."""
    return (a + b).to(kind).to(a.dtype)


@jit
def _limit(threshold, kind: tl.constexpr):
    """The threshold in a type, in the one that is computed in."""
    if kind == tl.float64:
        return tl.full((), threshold, kind)
    else:
        return tl.full((), threshold, tl.float32).to(kind).to(tl.float32)


@jit
def _pack(x, rest, packed, threshold, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    kind: tl.constexpr = x.dtype.element_ty
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    place = tl.arange(0, 4)[None, :]
    element = at[:, None] * 4 + place
    wanted = _added(_read(x, element, element < n), _read(rest, element, element < n), kind)
    limit = _limit(threshold, kind)
    code = tl.where(wanted >= limit, 1, tl.where(wanted <= -limit, 3, 0))
    tl.store(packed + at, tl.sum(code << 2 * place, 1).to(tl.uint8), at < tl.cdiv(n, 4))


@jit
def _sent(parts, element, inside, limit):
    """What a process has sent of elements."""
    code = tl.load(parts + element // 4, inside, 0).to(tl.int32) >> (element % 4 * 2).to(tl.int32) & 3
    return tl.where(code == 1, limit, tl.where(code == 3, -limit, 0.0)).to(limit.dtype)


@jit
def _sum(x, rest, parts, own, threshold, n, width, count, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    kind: tl.constexpr = x.dtype.element_ty
    run = program(0, WIDE)
    width += run * 0  # in 64 bits with it
    element = run * (4 * BLOCK) + tl.arange(0, 4 * BLOCK)
    inside = element < n
    limit = _limit(threshold, kind)
    wanted = _added(_read(x, element, inside), _read(rest, element, inside), kind)
    lost = _added(wanted, -_sent(parts + own * width, element, inside, limit), kind)
    tl.store(rest + element, lost.to(kind), inside)
    total = _sent(parts, element, inside, limit)
    for k in range(1, count):
        total = _added(total, _sent(parts + k * width, element, inside, limit), kind)
    tl.store(x + element, total.to(kind), inside)


AOT = [
    AotCase(
        kernel,
        {"x": kind, "rest": kind, **more},
        {"WIDE": False, "BLOCK": BLOCK},
    )
    for kind in ("*fp16", "*fp32")
    for kernel, more in (
        (_pack, {"packed": "*u8", "threshold": "fp32", "n": "i32:16"}),
        (
            _sum,
            {"parts": "*u8", "own": "i32", "threshold": "fp32", "n": "i32:16", "width": "i32", "count": "i32"},
        ),
    )
]
