"""Running sums and products along one axis. Floor: one read and one write of the tensor.

A program carries its rows' totals from tile to tile. Where the rows are too few to fill the device, they are cut into
chunks: the first launch finds what each chunk adds, the second scans every chunk from the totals before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._fold import rows
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.rows import as_bytes
from core.kernels.triton.tiles import accumulator, in_triton


def scan(x: Tensor, axis: int, dtype: torch.dtype, product: bool) -> Tensor:
    """Running sum or product of `x` along `axis`, in `dtype`."""
    y = torch.empty(x.shape, dtype=torch.uint8 if dtype == torch.bool else dtype, device=x.device)
    if x.numel() == 0:
        return y
    x = as_bytes(contiguous(x))
    count, n, inner = rows(x, axis)
    tile, blocks, chunks, chunk = _cut(count, n, inner)
    acc = accumulator(dtype)
    settings = {"PRODUCT": product, "ACC": in_triton(acc), **tile}
    totals = None
    if chunks > 1:
        totals = torch.empty((chunks, count), dtype=acc, device=x.device)
        _scan_kernel[(blocks, chunks)](x, None, totals, count, n, inner, chunk, **settings)
    _scan_kernel[(blocks, chunks)](x, y, totals, count, n, inner, chunk, **settings)
    return y


TILE = 2048
LONGEST = 1024  # elements of a row in one tile
PROGRAMS = 256


@jit
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
        runs = blocks_of(inner, BR)
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
        position = base[:, None] + i.to(tl.int64)[None, :] * inner
        v = tl.load(x + position, mask=inside, other=0).to(ACC)
        if PRODUCT:
            v = tl.where(inside, v, 1)
        if y is not None:
            v = carry[:, None] * tl.cumprod(v, 1) if PRODUCT else carry[:, None] + tl.cumsum(v, 1)
            tl.store(y + position, v.to(y.dtype.element_ty), mask=inside)
            carry = tl.sum(tl.where((tl.arange(0, BN) == BN - 1)[None, :], v, 0), 1)
        elif PRODUCT:
            carry = carry * tl.reduce(v, 1, _multiply)
        else:
            carry += tl.sum(v, 1)
    if y is None:
        tl.store(totals + piece * count + row, carry, mask=valid)


@jit
def _multiply(a, b):
    return a * b


def _cut(count: int, n: int, inner: int) -> tuple[dict[str, int], int, int, int]:
    """Tile, number of row blocks, and number and length of the chunks of a row."""
    bn = min(triton.next_power_of_2(n), LONGEST if inner == 1 else 64)
    br = min(triton.next_power_of_2(count if inner == 1 else inner), TILE // bn)
    blocks = triton.cdiv(count, br) if inner == 1 else triton.cdiv(inner, br) * (count // inner)
    chunks = max(1, min(triton.cdiv(n, 4 * bn), PROGRAMS // blocks))
    chunk = triton.cdiv(triton.cdiv(n, chunks), bn) * bn
    return {"BR": br, "BN": bn}, blocks, triton.cdiv(n, chunk), chunk


def _aot() -> Iterator[AotCase]:
    stages = [(False, {"y": None}), (False, {"totals": None}), (False, {}), (True, {})]
    for dtype, acc, total in (("*bf16", tl.float32, "*fp32"), ("*i32", tl.int64, "*i64")):
        for count, n, inner in ((8192, 8192, 1), (1, 2**24, 1), (65536, 10, 1), (8192, 1024, 4096)):
            for product, stage in stages:
                signature = {"x": dtype, "y": dtype, "totals": total, "count": "i32", "n": "i32", "chunk": "i32:16"}
                constexprs = {"PRODUCT": product, "ACC": acc, **_cut(count, n, inner)[0], **stage}
                if inner == 1:
                    constexprs["inner"] = 1
                else:
                    signature["inner"] = "i32:16"
                yield AotCase(_scan_kernel, {k: v for k, v in signature.items() if k not in constexprs}, constexprs)


AOT = list(_aot())
