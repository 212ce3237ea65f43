"""Softmax, log-softmax and the cross-entropy loss in Triton.

Rows up to ROW elements stay in registers; longer ones are read twice (an online maximum and sum first), the second time
mostly from the L2 cache.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import WIDE, blocks_of
from core.kernels.triton._fold import rows
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.tiles import accumulator, in_triton


def softmax(x: Tensor, axis: int) -> Tensor:
    return _forward(x, None, axis, log=False)


def onednn_softmax(x: Tensor, axis: int) -> Tensor:
    return softmax(x, axis)


def log_softmax(x: Tensor, axis: int) -> Tensor:
    return _forward(x, None, axis, log=True)


def softmax_grad(dy: Tensor, y: Tensor, axis: int, length: Tensor | None = None) -> Tensor:
    return _backward(dy, y, axis, log=False)


def log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return _backward(dy, y, axis, log=True)


def masked_softmax(x: Tensor, length: Tensor, axis: int) -> Tensor:
    return _forward(x, contiguous(length), axis, log=False)


def cross_entropy(logits: Tensor, label: Tensor, axis: int) -> Tensor:
    logits, shape = _dense(logits, axis)
    loss = torch.empty(_without(logits, axis), dtype=logits.dtype, device=logits.device)
    _launch(_cross_entropy_kernel, shape, logits.dtype, logits, contiguous(label), loss)
    return loss


def cross_entropy_grad(dloss: Tensor, logits: Tensor, label: Tensor, axis: int) -> Tensor:
    logits, shape = _dense(logits, axis)
    dlogits = torch.empty_like(logits)
    pointers = contiguous(dloss), logits, contiguous(label), dlogits
    _launch(_cross_entropy_grad_kernel, shape, logits.dtype, *pointers)
    return dlogits


ROW = 16384  # longest row that stays in registers
STEP = 4096  # elements of a longer row in one step
TILE = 2048  # elements of several short rows together
COLUMNS = 64  # rows side by side where the axis is not the last: 128 bytes of float16


@jit
def _softmax_kernel(
    x, length, y, count, n, inner,
    LOG: tl.constexpr, ACC: tl.constexpr, WHOLE: tl.constexpr, WIDE: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    n = _length(n, WIDE)
    row, base, valid = _rows(count, n, inner, BR)
    limit = tl.zeros([BR], tl.int64) + n
    if length is not None:
        limit = tl.minimum(limit, tl.load(length + row, mask=valid, other=0).to(tl.int64))
    if WHOLE:
        v = _load(x, base, valid, 0, limit, inner, float("-inf"), ACC, BN)
        v -= tl.max(v, 1)[:, None]
        e = tl.exp(v)
        total = tl.sum(e, 1)[:, None]
        result = v - tl.log(total) if LOG else e / total
        _store(y, result, base, valid, 0, limit, n, inner, BN)
    else:
        largest, total = _online(x, base, valid, limit, n, inner, ACC, WHOLE, BR, BN)
        for first in range(0, n, BN):
            v = _load(x, base, valid, first, limit, inner, 0, ACC, BN) - largest[:, None]
            result = v - tl.log(total)[:, None] if LOG else tl.exp(v) / total[:, None]
            _store(y, result, base, valid, first, limit, n, inner, BN)


@jit
def _softmax_grad_kernel(
    dy, y, dx, count, n, inner,
    LOG: tl.constexpr, ACC: tl.constexpr, WHOLE: tl.constexpr, WIDE: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    n = _length(n, WIDE)
    _, base, valid = _rows(count, n, inner, BR)
    limit = tl.zeros([BR], tl.int64) + n
    if WHOLE:
        g = _load(dy, base, valid, 0, limit, inner, 0, ACC, BN)
        v = _load(y, base, valid, 0, limit, inner, 0, ACC, BN)
        total = tl.sum(g if LOG else g * v, 1)[:, None]
        result = g - tl.exp(v) * total if LOG else v * (g - total)
        _store(dx, result, base, valid, 0, limit, n, inner, BN)
    else:
        lanes = tl.zeros([BR, BN], ACC)
        for first in range(0, n, BN):
            g = _load(dy, base, valid, first, limit, inner, 0, ACC, BN)
            lanes += g if LOG else g * _load(y, base, valid, first, limit, inner, 0, ACC, BN)
        total = tl.sum(lanes, 1)[:, None]
        for first in range(0, n, BN):
            g = _load(dy, base, valid, first, limit, inner, 0, ACC, BN)
            v = _load(y, base, valid, first, limit, inner, 0, ACC, BN)
            result = g - tl.exp(v) * total if LOG else v * (g - total)
            _store(dx, result, base, valid, first, limit, n, inner, BN)


@jit
def _cross_entropy_kernel(
    logits, label, loss, count, n, inner,
    ACC: tl.constexpr, WHOLE: tl.constexpr, WIDE: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    n = _length(n, WIDE)
    row, base, valid = _rows(count, n, inner, BR)
    limit = tl.zeros([BR], tl.int64) + n
    largest, total = _online(logits, base, valid, limit, n, inner, ACC, WHOLE, BR, BN)
    chosen = tl.load(logits + base + _classes(label, row, valid, n) * inner, mask=valid, other=0).to(ACC)
    tl.store(loss + row, (largest - chosen + tl.log(total)).to(loss.dtype.element_ty), mask=valid)


@jit
def _cross_entropy_grad_kernel(
    dloss, logits, label, dlogits, count, n, inner,
    ACC: tl.constexpr, WHOLE: tl.constexpr, WIDE: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    n = _length(n, WIDE)
    row, base, valid = _rows(count, n, inner, BR)
    limit = tl.zeros([BR], tl.int64) + n
    chosen = _classes(label, row, valid, n)[:, None]
    scale = tl.load(dloss + row, mask=valid, other=0).to(ACC)[:, None]
    if WHOLE:
        v = _load(logits, base, valid, 0, limit, inner, float("-inf"), ACC, BN)
        e = tl.exp(v - tl.max(v, 1)[:, None])
        hit = (tl.arange(0, BN)[None, :] == chosen).to(ACC)
        result = (e / tl.sum(e, 1)[:, None] - hit) * scale
        _store(dlogits, result, base, valid, 0, limit, n, inner, BN)
    else:
        largest, total = _online(logits, base, valid, limit, n, inner, ACC, WHOLE, BR, BN)
        for first in range(0, n, BN):
            v = _load(logits, base, valid, first, limit, inner, 0, ACC, BN)
            hit = ((first + tl.arange(0, BN))[None, :] == chosen).to(ACC)
            result = (tl.exp(v - largest[:, None]) / total[:, None] - hit) * scale
            _store(dlogits, result, base, valid, first, limit, n, inner, BN)


@jit
def _length(n, WIDE: tl.constexpr):
    """The length of a row, in 64 bits where the positions of its last block may need them."""
    return n.to(tl.int64) if WIDE else n


@jit
def _rows(count, n, inner, BR: tl.constexpr):
    """Indices of this program's rows, where they begin, and which exist.

    With `inner` > 1 the rows of a program are neighbours in memory within one run of `inner`.
    """
    block = tl.program_id(0).to(tl.int64)
    if inner == 1:
        row = block * BR + tl.arange(0, BR)
        return row, row * n, row < count
    else:
        runs = blocks_of(inner, BR)
        run = block // runs
        within = (block % runs) * BR + tl.arange(0, BR)
        return run * inner + within, run * n * inner + within, within < inner


@jit
def _load(x, base, valid, first, limit, inner, other, ACC: tl.constexpr, BN: tl.constexpr):
    """The elements first .. first + BN of the rows, `other` beyond `limit`."""
    i = first + tl.arange(0, BN)
    inside = valid[:, None] & (i[None, :] < limit[:, None])
    return tl.load(x + base[:, None] + i.to(tl.int64)[None, :] * inner, mask=inside, other=other).to(ACC)


@jit
def _store(y, result, base, valid, first, limit, n, inner, BN: tl.constexpr):
    """Stores what `_load` would load, and 0 from `limit` to the end of the row."""
    i = first + tl.arange(0, BN)
    result = tl.where(i[None, :] < limit[:, None], result, 0).to(y.dtype.element_ty)
    position = y + base[:, None] + i.to(tl.int64)[None, :] * inner
    tl.store(position, result, mask=valid[:, None] & (i < n)[None, :])


@jit
def _online(
    x, base, valid, limit, n, inner, ACC: tl.constexpr, WHOLE: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr
):  # fmt: skip
    """Maximum of the first `limit` elements of each row and the sum of their exponentials relative to it, in one pass
    (Milakov and Gimelshein, 2018): every lane keeps its own. A row that is WHOLE in the tile needs no recurrence."""
    if WHOLE:
        v = _load(x, base, valid, 0, limit, inner, float("-inf"), ACC, BN)
        row = tl.max(v, 1)
        return row, tl.sum(tl.exp(v - row[:, None]), 1)
    else:
        largest = tl.full([BR, BN], float("-inf"), ACC)
        total = tl.zeros([BR, BN], ACC)
        for first in range(0, n, BN):
            v = _load(x, base, valid, first, limit, inner, float("-inf"), ACC, BN)
            raised = tl.maximum(largest, v)
            pivot = tl.where(raised == float("-inf"), 0, raised)
            total = total * tl.exp(largest - pivot) + tl.exp(v - pivot)
            largest = raised
        row = tl.max(largest, 1)
        # A lane that saw nothing weighs exp(-inf - row) = 0.
        return row, tl.sum(total * tl.exp(largest - row[:, None]), 1)


@jit
def _classes(label, row, valid, n):
    return tl.minimum(tl.maximum(tl.load(label + row, mask=valid, other=0).to(tl.int64), 0), n - 1)


def _forward(x: Tensor, length: Tensor | None, axis: int, log: bool) -> Tensor:
    x, shape = _dense(x, axis)
    y = torch.empty_like(x)
    _launch(_softmax_kernel, shape, x.dtype, x, length, y, LOG=log)
    return y


def _backward(dy: Tensor, y: Tensor, axis: int, log: bool) -> Tensor:
    y, shape = _dense(y, axis)
    dx = torch.empty_like(y)
    if dy.stride() != y.stride():
        dy = write_(torch.empty_like(y), dy)
    _launch(_softmax_grad_kernel, shape, y.dtype, dy, y, dx, LOG=log)
    return dx


def _dense(x: Tensor, axis: int) -> tuple[Tensor, tuple[int, int, int]]:
    """`x` with its (rows, n, inner): channels-last if it is and the channels are the axis, else contiguous.

    Either way the rows follow one another as the elements of `x` without `axis` do.
    """
    if axis == 1 and x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x, (x.shape[0] * x.shape[2] * x.shape[3], x.shape[1], 1)
    x = contiguous(x)
    return x, rows(x, axis) if x.ndim else (1, 1, 1)


def _without(x: Tensor, axis: int) -> list[int]:
    return [n for a, n in enumerate(x.shape) if a != axis]


def _launch(kernel, shape: tuple[int, int, int], dtype: torch.dtype, *pointers, **constexprs) -> None:
    count, n, inner = shape
    if count == 0:
        return
    acc = accumulator(dtype)
    tile, num_warps = _tile(count, n, inner, acc.itemsize)
    blocks = triton.cdiv(count, tile["BR"]) if inner == 1 else triton.cdiv(inner, tile["BR"]) * (count // inner)
    kernel[(blocks,)](
        *pointers, count, n, inner, ACC=in_triton(acc), WIDE=n >= WIDE, **constexprs, **tile, num_warps=num_warps
    )


def _tile(count: int, n: int, inner: int, size: int = 4) -> tuple[dict[str, object], int]:
    """Rows and elements (of `size` bytes) of a row that a program holds at a time, and its warps."""
    longest = ROW * 4 // size
    bn = triton.next_power_of_2(max(n, 1))
    if inner == 1:
        whole = bn <= longest
        bn = bn if whole else STEP
        br = max(1, min(triton.next_power_of_2(count), TILE // bn))
    else:
        br = min(triton.next_power_of_2(inner), COLUMNS)
        whole = br * bn <= longest // 2
        bn = bn if whole else longest // 2 // br
    warps = {True: 4, br * bn > 2048: 8, br * bn > 8192: 16}[True]
    return {"WHOLE": whole, "BR": br, "BN": bn}, warps


def _aot() -> Iterator[AotCase]:
    kernels = {
        _softmax_kernel: (("x", "y"), ("length",), [{"LOG": False}, {"LOG": True}]),
        _softmax_grad_kernel: (("dy", "y", "dx"), (), [{"LOG": False}, {"LOG": True}]),
        _cross_entropy_kernel: (("logits", "loss"), ("label",), [{}]),
        _cross_entropy_grad_kernel: (("dloss", "logits", "dlogits"), ("label",), [{}]),
    }
    shapes = [(1, 2**31 - 1, 1), (8192, ROW, 1), (8192, 50000, 1), (8192, 10, 1), (8192, 1024, 1), (8192, 21, 4096)]
    for kernel, (tensors, integers, variants) in kernels.items():
        for dtype, sizes in (("*bf16", shapes), ("*fp32", shapes[:2])):
            for count, n, inner in sizes:
                tile, num_warps = _tile(count, n, inner)
                signature = dict.fromkeys(tensors, dtype) | dict.fromkeys(integers, "*i32")
                signature |= {"count": "i32:16", "n": "i32"} | ({} if inner == 1 else {"inner": "i32:16"})
                for variant in variants:
                    constexprs = (
                        variant | tile | {"ACC": tl.float32, "WIDE": n >= WIDE} | ({"inner": 1} if inner == 1 else {})
                    )
                    yield AotCase(kernel, signature, constexprs, num_warps)


AOT = list(_aot())
