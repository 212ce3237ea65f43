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

from core.kernels.layout import memory_format
from core.kernels.triton._counting import WIDE, program
from core.kernels.triton._kernel import jit
from core.kernels.triton._layouts import merged
from core.kernels.triton.aot import AotCase

BLOCK = 1024
RANK = 5  # merged axes that the kernel knows; more are left to torch
JOINED = 8  # tensors that one launch joins


def contiguous(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else _copied(x, torch.empty(x.shape, dtype=x.dtype, device=x.device))


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return _copied(x, torch.empty_like(x, dtype=dtype))


def write_(out: Tensor, x: Tensor) -> Tensor:
    return _copied(x.expand(out.shape), out)


def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    return _copied(x, out, frozenset(axis % x.dim() for axis in axes)) if x.dim() else _copied(x, out)


def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    parts = [t for t in tensors if t.dim() != 1 or t.numel()] or [tensors[0]]
    first, kinds = parts[0], {t.dtype for t in parts}
    dtype = first.dtype if len(kinds) == 1 else functools.reduce(torch.promote_types, kinds)
    layout, axis = memory_format(first), axis % first.dim()
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
            *given, outer, total, start, *lengths, *[0] * more, WIDE=out.numel() >= WIDE, BLOCK=BLOCK
        )
        start += sum(lengths)
    return out


def _lying(t: Tensor, layout: torch.memory_format) -> Tensor:
    """The tensor in dense memory of a layout."""
    return t if t.is_contiguous(memory_format=layout) else _copied(t, torch.empty_like(t, memory_format=layout))


def _copied(x: Tensor, out: Tensor, flipped: frozenset[int] = frozenset()) -> Tensor:
    """`out`, with the elements of `x`, of the same shape, in the order of memory of `out`; some axes backwards."""
    count = out.numel()
    if not count:
        return out
    order = sorted(range(out.dim()), key=out.stride().__getitem__, reverse=True)
    steps = [-x.stride(a) if a in flipped else x.stride(a) for a in order]
    sizes, (origins, places) = merged([out.shape[a] for a in order], [steps, [out.stride(a) for a in order]])
    if len(sizes) > RANK:
        return out.copy_(x.flip(tuple(flipped)) if flipped else x)
    first = sum((x.shape[a] - 1) * x.stride(a) for a in flipped)
    more = RANK - len(sizes)
    reach = max(sum((n - 1) * abs(s) for n, s in zip(sizes, one, strict=True)) for one in (origins, places))
    given = (t.view(torch.uint8) if t.dtype is torch.bool else t for t in (x, out))
    _copy[(triton.cdiv(count, BLOCK),)](
        *given, first, count, *sizes[1:], *[1] * more, *origins, *[0] * more, *places, *[0] * more,
        AXES=len(sizes), DENSE=_row_major(sizes, places), VIA=_between(x.dtype, out.dtype),
        TRUTH=out.dtype is torch.bool is not x.dtype, WIDE=max(count, reach) >= WIDE, BLOCK=BLOCK,
    )  # fmt: skip
    return out


def _row_major(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether merged axes lie one behind the other, so that an element's number is its place."""
    return (len(sizes) == 1 and strides[0] in (0, 1)) or strides == [
        math.prod(sizes[k:]) for k in range(1, len(sizes) + 1)
    ]


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
def _copy(
    x, out, first, count, size1, size2, size3, size4, from0, from1, from2, from3, from4, to0, to1, to2, to3, to4,
    AXES: tl.constexpr, DENSE: tl.constexpr, VIA: tl.constexpr, TRUTH: tl.constexpr, WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    rest = at
    origin = at * 0 + first
    place = at * 0
    if AXES > 4:
        origin += rest % size4 * from4
        place += rest % size4 * to4
        rest = rest // size4
    if AXES > 3:
        origin += rest % size3 * from3
        place += rest % size3 * to3
        rest = rest // size3
    if AXES > 2:
        origin += rest % size2 * from2
        place += rest % size2 * to2
        rest = rest // size2
    if AXES > 1:
        origin += rest % size1 * from1
        place += rest % size1 * to1
        rest = rest // size1
    origin += rest * from0
    place = at if DENSE else place + rest * to0
    value = tl.load(x + origin, mask=inside)
    if VIA is not None:
        value = value.to(VIA)
    if TRUTH:
        value = value != 0
    tl.store(out + place, value.to(out.dtype.element_ty), mask=inside)


@jit
def _join(
    out, x0, x1, x2, x3, x4, x5, x6, x7, outer, total, start,
    width0, width1, width2, width3, width4, width5, width6, width7,
    WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows of x0, x1, ... side by side in rows of `total` elements, from `start` on; a program serves one of them."""
    which = tl.program_id(1)
    if which == 0:
        _put(out, x0, outer, total, start, width0, WIDE, BLOCK)
    elif which == 1:
        _put(out, x1, outer, total, start + width0, width1, WIDE, BLOCK)
    elif which == 2:
        _put(out, x2, outer, total, start + width0 + width1, width2, WIDE, BLOCK)
    elif which == 3:
        _put(out, x3, outer, total, start + width0 + width1 + width2, width3, WIDE, BLOCK)
    else:
        start += width0 + width1 + width2 + width3
        if which == 4:
            _put(out, x4, outer, total, start, width4, WIDE, BLOCK)
        elif which == 5:
            _put(out, x5, outer, total, start + width4, width5, WIDE, BLOCK)
        elif which == 6:
            _put(out, x6, outer, total, start + width4 + width5, width6, WIDE, BLOCK)
        else:
            _put(out, x7, outer, total, start + width4 + width5 + width6, width7, WIDE, BLOCK)


@jit
def _put(out, x, outer, total, start, width, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    wide = tl.maximum(width, 1)
    inside = (at // wide < outer) & (at % wide < width)  # no element of what is empty
    tl.store(out + (at // wide * total + start + at % wide), tl.load(x + at, mask=inside), mask=inside)


def _copy_case(source: str, target: str, axes: int, dense: bool, via: tl.dtype | None = None) -> AotCase:
    numbers = {f"size{a}": "i32" for a in range(1, RANK)}
    numbers |= {f"{end}{a}": "i32" for end in ("from", "to") for a in range(RANK)}
    return AotCase(
        _copy,
        {"x": source, "out": target, "first": "i32:16", "count": "i32:16"} | numbers,
        {"AXES": axes, "DENSE": dense, "VIA": via, "TRUTH": False, "WIDE": False, "BLOCK": BLOCK},
    )


AOT = [
    *(_copy_case(kind, kind, axes, dense) for kind in ("*fp16", "*fp32") for axes, dense in ((2, True), (3, False))),
    _copy_case("*fp32", "*bf16", 1, True, tl.float32),
    _copy_case("*fp32", "*i32", 1, True, tl.int64),
    AotCase(
        _join,
        {"out": "*bf16"}
        | {f"x{k}": "*bf16" for k in range(JOINED)}
        | dict.fromkeys(("outer", "total", "start"), "i32")
        | {f"width{k}": "i32" for k in range(JOINED)},
        {"WIDE": False, "BLOCK": BLOCK},
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
