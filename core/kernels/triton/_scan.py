"""Running sums and products along one axis. Floor: one read and one write of the tensor.

A program carries its rows' totals from tile to tile. Where the rows are too few to fill the device, they are cut into
chunks: the first launch finds what each chunk adds, the second scans every chunk from the totals before it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._fold import accumulator, bytes_of_bool, language_type, rows


def cumsum(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    """Running sum along `axis`."""
    return _scan(x, axis, dtype or x.dtype, product=False)


def cumprod(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    """Running product along `axis`."""
    return _scan(x, axis, dtype or x.dtype, product=True)


TILE = 2048
LONGEST = 1024  # elements of a row in one tile
PROGRAMS = 256


def _scan(x: Tensor, axis: int, dtype: torch.dtype, product: bool) -> Tensor:
    y = torch.empty(x.shape, dtype=torch.uint8 if dtype == torch.bool else dtype, device=x.device)
    if x.numel() == 0:
        return y
    x = bytes_of_bool(x.contiguous())
    count, n, inner = rows(x, axis)
    bn = min(triton.next_power_of_2(n), LONGEST if inner == 1 else 64)
    br = min(triton.next_power_of_2(count if inner == 1 else inner), TILE // bn)
    blocks = triton.cdiv(count, br) if inner == 1 else triton.cdiv(inner, br) * (count // inner)
    chunks = max(1, min(triton.cdiv(n, 4 * bn), PROGRAMS // blocks))
    chunk = triton.cdiv(triton.cdiv(n, chunks), bn) * bn
    chunks = triton.cdiv(n, chunk)
    acc = accumulator(dtype)
    settings = {"PRODUCT": product, "ACC": language_type(acc), "BR": br, "BN": bn}
    totals = None
    if chunks > 1:
        totals = torch.empty((chunks, count), dtype=acc, device=x.device)
        _scan_kernel[(blocks, chunks)](x, None, totals, count, n, inner, chunk, **settings)
    _scan_kernel[(blocks, chunks)](x, y, totals, count, n, inner, chunk, **settings)
    return y


@triton.jit
def _scan_kernel(
    x, y, totals, count, n, inner, chunk,
    PRODUCT: tl.constexpr, ACC: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Without `y`: writes to `totals` what each chunk comes to. With both: starts from the totals of earlier chunks."""
    block = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1).to(tl.int64)
    if inner == 1:
        row = block * BR + tl.arange(0, BR)
        valid = row < count
        base = row * n
    else:
        # Neighbouring rows are neighbours in memory within one run of `inner`.
        runs = tl.cdiv(inner, BR)
        within = (block % runs) * BR + tl.arange(0, BR)
        valid = within < inner
        row = (block // runs) * inner + within
        base = (block // runs) * n * inner + within
    carry = tl.full([BR], 1 if PRODUCT else 0, ACC)
    if y is not None:
        if totals is not None:
            for earlier in range(0, piece):
                total = tl.load(totals + earlier * count + row, mask=valid, other=0)
                carry = carry * total if PRODUCT else carry + total
    stop = tl.minimum(piece * chunk + chunk, n)
    for first in range(piece * chunk, stop, BN):
        i = first + tl.arange(0, BN)
        inside = valid[:, None] & (i < stop)[None, :]
        place = base[:, None] + i[None, :] * inner
        v = tl.load(x + place, mask=inside, other=0).to(ACC)
        if PRODUCT:
            v = tl.where(inside, v, 1)
        if y is not None:
            v = carry[:, None] * tl.cumprod(v, 1) if PRODUCT else carry[:, None] + tl.cumsum(v, 1)
            tl.store(y + place, v.to(y.dtype.element_ty), mask=inside)
            carry = tl.sum(tl.where((tl.arange(0, BN) == BN - 1)[None, :], v, 0), 1)
        elif PRODUCT:
            carry = carry * tl.reduce(v, 1, _multiply)
        else:
            carry += tl.sum(v, 1)
    if y is None:
        tl.store(totals + piece * count + row, carry, mask=valid)


@triton.jit
def _multiply(a, b):
    return a * b
