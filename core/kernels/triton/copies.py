"""Copies of memory: in another order, in another type, one behind the other, and to places that are found in memory.

Axes that lie one behind the other are walked as one; a program writes a run of the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.layout import from_front, memory_format
from core.kernels.triton._counting import WIDE, program
from core.kernels.triton._kernel import jit
from core.kernels.triton._layouts import far, merged, row_major
from core.kernels.triton.aot import AotCase

BLOCK = 1024
RANK = 5  # merged axes that one launch walks
JOINED = 8  # tensors that one launch joins, or divides one into
_SUMS = dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), tl.float32) | {torch.float64: tl.float64}


def contiguous(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else _copied(x, torch.empty(x.shape, dtype=x.dtype, device=x.device))


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return _copied(x, torch.empty_like(x, dtype=dtype))


def write_(out: Tensor, x: Tensor) -> Tensor:
    return _copied(x.expand(out.shape), out)


def add_(out: Tensor, x: Tensor) -> Tensor:
    return _copied(x.expand(out.shape), out, add=True)


def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    return _copied(x, out, frozenset(axis % x.dim() for axis in axes)) if x.dim() else _copied(x, out)


def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    parts = [t for t in tensors if t.dim() != 1 or t.numel()] or [tensors[0]]
    first, kinds = parts[0], {t.dtype for t in parts}
    dtype = first.dtype if len(kinds) == 1 else functools.reduce(torch.promote_types, kinds)
    layout, axis = memory_format(first), from_front(axis, first.dim())
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in parts)
    out = torch.empty(shape, dtype=dtype, device=first.device, memory_format=layout)
    if not out.numel():
        return out
    order = [*range(first.dim())]
    if layout is not torch.contiguous_format:
        order = [0, *order[2:], 1]
    walked = out.permute(order)
    outer = walked.shape[: order.index(axis)].numel()
    widths = [t.numel() // outer for t in parts]
    start, total = 0, sum(widths)
    for begin in range(0, len(parts), JOINED):
        some = [_lying(t if t.dtype is dtype else cast(t, dtype), layout) for t in parts[begin : begin + JOINED]]
        lengths = widths[begin : begin + JOINED]
        more = JOINED - len(some)
        given = [t.view(torch.uint8) if dtype is torch.bool else t for t in (out, *some, *[out] * more)]
        _join[(triton.cdiv(outer * max(lengths), BLOCK), len(some))](
            *given, outer, total, start, *lengths, *[0] * more, APART=False, WIDE=out.numel() >= WIDE, BLOCK=BLOCK
        )
        start += sum(lengths)
    return out


def divided(x: Tensor, lengths: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    axis %= x.dim()
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    parts = tuple(x.new_empty((*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in lengths)
    if not x.numel():
        return parts
    x, start, total = contiguous(x), 0, x.shape[axis] * inner
    for begin in range(0, len(parts), JOINED):
        some = parts[begin : begin + JOINED]
        widths = [n * inner for n in lengths[begin : begin + JOINED]]
        more = JOINED - len(some)
        given = [t.view(torch.uint8) if x.dtype is torch.bool else t for t in (x, *some, *[x] * more)]
        _join[(triton.cdiv(outer * max(*widths, 1), BLOCK), len(some))](
            *given, outer, total, start, *widths, *[0] * more, APART=True, WIDE=x.numel() >= WIDE, BLOCK=BLOCK
        )
        start += sum(widths)
    return parts


def roll(x: Tensor, shift: int, axis: int) -> Tensor:
    x = contiguous(x)
    out = torch.empty_like(x)
    if out.numel():
        rows, inner = x.shape[axis], math.prod(x.shape[axis % x.dim() + 1 :])
        given = (t.view(torch.uint8) if x.dtype is torch.bool else t for t in (x, out))
        _roll[(triton.cdiv(out.numel(), BLOCK),)](
            *given, out.numel(), rows, inner, shift % rows, WIDE=out.numel() >= WIDE, BLOCK=BLOCK
        )
    return out


def _lying(t: Tensor, layout: torch.memory_format) -> Tensor:
    """The tensor in dense memory of a layout."""
    return t if t.is_contiguous(memory_format=layout) else _copied(t, torch.empty_like(t, memory_format=layout))


def _copied(x: Tensor, out: Tensor, flipped: frozenset[int] = frozenset(), add: bool = False) -> Tensor:
    """`out`, with the elements of `x`, of the same shape, in the order of memory of `out`; some axes backwards."""
    count = out.numel()
    if not count:
        return out
    order = sorted(range(out.dim()), key=out.stride().__getitem__, reverse=True)
    steps = [-x.stride(a) if a in flipped else x.stride(a) for a in order]
    sizes, (origins, places) = merged([out.shape[a] for a in order], [steps, [out.stride(a) for a in order]])
    if len(sizes) > RANK:
        return _by_slices(x, out, flipped, add)
    first = sum((x.shape[a] - 1) * x.stride(a) for a in flipped)
    more = RANK - len(sizes)
    given = (t.view(torch.uint8) if t.dtype is torch.bool else t for t in (x, out))
    _copy[(triton.cdiv(count, BLOCK),)](
        *given, first, count, *sizes[1:], *[1] * more, *origins, *[0] * more, *places, *[0] * more,
        AXES=len(sizes), DENSE=row_major(sizes, places), VIA=_between(x.dtype, out.dtype),
        TRUTH=out.dtype is torch.bool and (add or x.dtype is not torch.bool), ADD=_SUMS.get(out.dtype, tl.int64) if add else None,
        WIDE=far(count, sizes, origins, places), BLOCK=BLOCK,
    )  # fmt: skip
    return out


def _by_slices(x: Tensor, out: Tensor, flipped: frozenset[int], add: bool) -> Tensor:
    """`_copied` along the shortest axis, one position a launch."""
    axis = min((a for a in range(out.dim()) if out.shape[a] > 1), key=out.shape.__getitem__)
    rest = frozenset(a - (a > axis) for a in flipped if a != axis)
    n = out.shape[axis]
    for k in range(n):
        _copied(x.select(axis, n - 1 - k if axis in flipped else k), out.select(axis, k), rest, add)
    return out


def _between(source: torch.dtype, target: torch.dtype) -> tl.dtype | None:
    """The type by way of which elements are converted as torch does it on the CPU, None for none.

    Fractions lose their rest, and integers that they are too large for wrap; 16 bits are rounded from 32.
    """
    if source is target or target.is_complex:
        return None
    if target.is_floating_point:
        return tl.float32 if target.itemsize == 2 else None
    if target is torch.bool:
        return tl.float32 if source is torch.bfloat16 else None  # whose zeros the interpreter takes for their bits
    return tl.int64 if source.is_floating_point and target.itemsize < 8 else None


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
def place_of(
    at, size1, size2, size3, size4, stride0, stride1, stride2, stride3, stride4, AXES: tl.constexpr
):  # fmt: skip
    """Where the elements of these numbers lie along merged axes."""
    place = at * 0
    if AXES > 4:
        place += at % size4 * stride4
        at = at // size4
    if AXES > 3:
        place += at % size3 * stride3
        at = at // size3
    if AXES > 2:
        place += at % size2 * stride2
        at = at // size2
    if AXES > 1:
        place += at % size1 * stride1
        at = at // size1
    return place + at * stride0


@jit
def _copy(
    x, out, first, count, size1, size2, size3, size4, from0, from1, from2, from3, from4, to0, to1, to2, to3, to4,
    AXES: tl.constexpr, DENSE: tl.constexpr, VIA: tl.constexpr, TRUTH: tl.constexpr, ADD: tl.constexpr,
    WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    origin = first + place_of(at, size1, size2, size3, size4, from0, from1, from2, from3, from4, AXES)
    place = at if DENSE else place_of(at, size1, size2, size3, size4, to0, to1, to2, to3, to4, AXES)
    value = tl.load(x + origin, mask=inside)
    if ADD is not None:
        value = value.to(ADD) + tl.load(out + place, mask=inside).to(ADD)
    elif VIA is not None:
        value = value.to(VIA)
    if TRUTH:
        value = value != 0
    tl.store(out + place, value.to(out.dtype.element_ty), mask=inside)


@jit
def _roll(x, out, count, rows, inner, shift, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of `inner` elements, `rows` of them again and again, `shift` (0 to rows - 1) places further on."""
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    row = at // inner % rows
    origin = at + tl.where(row < shift, rows - shift, -shift) * inner
    tl.store(out + at, tl.load(x + origin, mask=at < count), mask=at < count)


@jit
def _join(
    whole, x0, x1, x2, x3, x4, x5, x6, x7, outer, total, start,
    width0, width1, width2, width3, width4, width5, width6, width7,
    APART: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows of x0, x1, ... side by side in rows of `total` elements, from `start` on; a program serves one of them.

    APART: they are taken from there.
    """
    which = tl.program_id(1)
    if which == 0:
        _put(whole, x0, outer, total, start, width0, APART, WIDE, BLOCK)
    elif which == 1:
        _put(whole, x1, outer, total, start + width0, width1, APART, WIDE, BLOCK)
    elif which == 2:
        _put(whole, x2, outer, total, start + width0 + width1, width2, APART, WIDE, BLOCK)
    elif which == 3:
        _put(whole, x3, outer, total, start + width0 + width1 + width2, width3, APART, WIDE, BLOCK)
    else:
        start += width0 + width1 + width2 + width3
        if which == 4:
            _put(whole, x4, outer, total, start, width4, APART, WIDE, BLOCK)
        elif which == 5:
            _put(whole, x5, outer, total, start + width4, width5, APART, WIDE, BLOCK)
        elif which == 6:
            _put(whole, x6, outer, total, start + width4 + width5, width6, APART, WIDE, BLOCK)
        else:
            _put(whole, x7, outer, total, start + width4 + width5 + width6, width7, APART, WIDE, BLOCK)


@jit
def _put(whole, x, outer, total, start, width, APART: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    wide = tl.maximum(width, 1)
    inside = (at // wide < outer) & (at % wide < width)  # no element of what is empty
    place = at // wide * total + start + at % wide
    if APART:
        tl.store(x + at, tl.load(whole + place, mask=inside), mask=inside)
    else:
        tl.store(whole + place, tl.load(x + at, mask=inside), mask=inside)


def _copy_case(source: str, target: str, axes: int, dense: bool, via: tl.dtype | None = None) -> AotCase:
    numbers = {f"size{a}": "i32" for a in range(1, RANK)}
    numbers |= {f"{end}{a}": "i32" for end in ("from", "to") for a in range(RANK)}
    return AotCase(
        _copy,
        {"x": source, "out": target, "first": "i32:16", "count": "i32:16"} | numbers,
        {"AXES": axes, "DENSE": dense, "VIA": via, "TRUTH": False, "ADD": None, "WIDE": False, "BLOCK": BLOCK},
    )


AOT = [
    *(_copy_case(kind, kind, axes, dense) for kind in ("*fp16", "*fp32") for axes, dense in ((2, True), (3, False))),
    _copy_case("*fp32", "*bf16", 1, True, tl.float32),
    _copy_case("*fp32", "*i32", 1, True, tl.int64),
    AotCase(
        _roll,
        {"x": "*bf16", "out": "*bf16", "count": "i32:16", "rows": "i32", "inner": "i32:16", "shift": "i32"},
        {"WIDE": False, "BLOCK": BLOCK},
    ),
    *(
        AotCase(
            _join,
            {"whole": "*bf16"}
            | {f"x{k}": "*bf16" for k in range(JOINED)}
            | dict.fromkeys(("outer", "total", "start"), "i32")
            | {f"width{k}": "i32" for k in range(JOINED)},
            {"APART": apart, "WIDE": False, "BLOCK": BLOCK},
        )
        for apart in (False, True)
    ),
    *(
        AotCase(
            _move,
            {"x": "*i64", "address": "*i64", "count": "i32:16"},
            {"WRITE": write, "WIDE": False, "BLOCK": BLOCK},
        )
        for write in (False, True)
    ),
]
