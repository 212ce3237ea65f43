"""Memory that is filled from nothing; a program writes a run of the result."""

from __future__ import annotations

import struct

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import WIDE, program
from core.kernels.triton._kernel import jit
from core.kernels.triton._layouts import far, merged, row_major
from core.kernels.triton._recording import as_float
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import BLOCK, RANK, contiguous, place_of

_TYPES = {torch.int64: tl.int64, torch.float32: tl.float32, torch.float64: tl.float64}


def fill_(x: Tensor, number: float) -> Tensor:
    count = x.numel()
    if not count:
        return x
    order = sorted(range(x.dim()), key=x.stride().__getitem__, reverse=True)
    sizes, (places,) = merged([x.shape[a] for a in order], [[x.stride(a) for a in order]])
    if len(sizes) > RANK:
        for part in x.unbind(order[0]):
            fill_(part, number)
        return x
    more = RANK - len(sizes)
    within = _between(x.dtype)
    number = bool(number) if x.dtype is torch.bool else number
    _fill[(triton.cdiv(count, BLOCK),)](
        x.view(torch.uint8) if x.dtype is torch.bool else x, _passed(number, within), count, *sizes[1:], *[1] * more,
        *places, *[0] * more, AXES=len(sizes), DENSE=row_major(sizes, places), BITS=within is torch.float64, WITHIN=_TYPES[within],
        WIDE=far(count, sizes, places), BLOCK=BLOCK,
    )  # fmt: skip
    return x


def evenly(
    start: float, step: float, count: int, within: torch.dtype, dtype: torch.dtype, device: torch.device
) -> Tensor:
    out = torch.empty((count,), dtype=dtype, device=device)
    if count:
        _evenly[(triton.cdiv(count, BLOCK),)](
            out, _passed(start, within), _passed(step, within), count, BITS=within is torch.float64, WITHIN=_TYPES[within],
            VIA=tl.float32 if dtype.itemsize == 2 and dtype.is_floating_point else None,
            WIDE=count >= WIDE, BLOCK=BLOCK, enable_fp_fusion=False,
        )  # fmt: skip
    return out


def eye(rows: int, columns: int, offset: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    out = torch.empty((rows, columns), dtype=dtype, device=device)
    return _banded(None, out, offset, offset)


def triangle(x: Tensor, lower: bool, offset: int) -> Tensor:
    rows, columns = x.shape[-2:]
    x = contiguous(x)
    return _banded(x, torch.empty_like(x), *((-rows, offset) if lower else (offset, columns)))


def _between(dtype: torch.dtype) -> torch.dtype:
    """The type in which a number for memory of a type is passed."""
    return dtype if dtype is torch.float64 else torch.float32 if dtype.is_floating_point else torch.int64


def _passed(number: float, within: torch.dtype):
    """A number as a launch passes it: float64 as its bits, for fractions are passed in float32."""
    if within is torch.float64:
        return struct.unpack("<q", struct.pack("<d", number))[0]
    return as_float(number) if within is torch.float32 else int(number)


def _banded(x: Tensor | None, out: Tensor, first: int, last: int) -> Tensor:
    """`out`, ones or the elements of `x` where column - row is from `first` to `last`, zeros elsewhere."""
    if out.numel():
        given = (t.view(torch.uint8) if t.dtype is torch.bool else t for t in (out if x is None else x, out))
        _band[(triton.cdiv(out.numel(), BLOCK),)](
            *given, out.numel(), *out.shape[-2:], first, last, ONES=x is None, WIDE=out.numel() >= WIDE, BLOCK=BLOCK
        )
    return out


@jit
def _number(given, BITS: tl.constexpr, WITHIN: tl.constexpr):
    """What `_passed` made of a number, as a tensor of one."""
    if BITS:
        return tl.full((1,), given, tl.int64).to(WITHIN, bitcast=True)
    else:
        return tl.full((1,), given, WITHIN)


@jit(do_not_specialize=["number"])
def _fill(
    x, number, count, size1, size2, size3, size4, to0, to1, to2, to3, to4,
    AXES: tl.constexpr, DENSE: tl.constexpr, BITS: tl.constexpr, WITHIN: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    place = at if DENSE else place_of(at, size1, size2, size3, size4, to0, to1, to2, to3, to4, AXES)
    tl.store(x + place, _number(number, BITS, WITHIN).to(x.dtype.element_ty), mask=at < count)


@jit(do_not_specialize=["start", "step"])
def _evenly(
    out,
    start,
    step,
    count,
    BITS: tl.constexpr,
    WITHIN: tl.constexpr,
    VIA: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    value = at.to(WITHIN) * _number(step, BITS, WITHIN) + _number(start, BITS, WITHIN)
    if VIA is not None:
        value = value.to(VIA)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < count)


@jit
def _band(
    x, out, count, rows, columns, first, last, ONES: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    at = program(0, WIDE) * BLOCK + tl.arange(0, BLOCK)
    off = at % columns - at // columns % rows
    kept = (off >= first) & (off <= last)
    if ONES:
        value = kept.to(out.dtype.element_ty)
    else:
        value = tl.load(x + at, mask=kept & (at < count), other=0)
    tl.store(out + at, value, mask=at < count)


AOT = [
    *(
        AotCase(
            _fill,
            {"x": kind, "number": passed, "count": "i32:16"}
            | {f"size{a}": "i32" for a in range(1, RANK)}
            | {f"to{a}": "i32" for a in range(RANK)},
            {
                "AXES": axes,
                "DENSE": axes == 1,
                "BITS": within is tl.float64,
                "WITHIN": within,
                "WIDE": False,
                "BLOCK": BLOCK,
            },
        )
        for kind, passed, within in (("*bf16", "fp32", tl.float32), ("*fp64", "i64", tl.float64))
        for axes in (1, 3)
    ),
    *(
        AotCase(
            _evenly,
            {"out": kind, "start": passed, "step": passed, "count": "i32"},
            {"BITS": within is tl.float64, "WITHIN": within, "VIA": None, "WIDE": False, "BLOCK": BLOCK},
        )
        for kind, passed, within in (("*fp32", "i64", tl.float64), ("*i64", "i32", tl.int64))
    ),
    *(
        AotCase(
            _band,
            {"x": "*bf16", "out": "*bf16"} | dict.fromkeys(("count", "rows", "columns", "first", "last"), "i32"),
            {"ONES": ones, "WIDE": False, "BLOCK": BLOCK},
        )
        for ones in (False, True)
    ),
]
