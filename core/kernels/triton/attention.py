"""Attention in Triton, without the (Lq, Lk) matrix ever in memory.

Source: Dao, Fu, Ermon, Rudra and Re, 2022 (online softmax over key blocks, recomputation in the backward pass); Dao,
2023 (loop order). Dropout draws Philox numbers by (sample, head, row, column), so the backward pass, which visits them
in another order, finds the same mask. Keys and values of 16 bits come by descriptors where there are such: the product
of a block's probabilities and values is under way while the next block's softmax is computed (as in FlashAttention-3,
Shah et al., 2024). The backward pass is one loop over queries for each block of keys, which adds to dq with atomics: five
products, 2.5 times the operations of the forward pass. Their order does not repeat, so in
deterministic mode dq has a kernel of its own, which computes the scores once more: seven products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from core.base import MXNetError
from core.kernels.dispatch import deterministic
from core.kernels.triton._counting import WIDE, blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase, tensor_core
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.copies import contiguous
from core.kernels.triton.fills import fill_
from core.kernels.triton.random import number_of
from core.kernels.triton.rows import grid, tile, tile_of
from core.kernels.triton.targets import target_of
from core.kernels.triton.tiles import accumulator, in_triton, multiply_add, precision


def attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, length: Tensor | None, dropout: float,
    key: int | Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    q, k, v = _checked(q, k, v)
    key = 0 if key is None else key
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=accumulator(q.dtype), device=q.device)
    if o.numel() == 0:
        return o, fill_(lse, -torch.inf)

    described = target_of(q.device).tma and _describable(k) and _describable(v)
    options = _constexprs(q, scale, causal, dropout)

    def launch(config: Config) -> None:
        keys, values = (_descriptor(t, config["BN"], options["BD"]) if described else t for t in (k, v))
        _forward_kernel[(triton.cdiv(q.shape[2], config["BM"]) * q.shape[0] * q.shape[1],)](
            q, keys, values, o, lse, length, key, *_strides(q, k, v), *_sizes(q, k),
            **options, DESCRIBED=described, **config.launch_options(),
        )  # fmt: skip

    if described:
        launch(_choose("attention described", DESCRIBED_FORWARD, q, k, causal, dropout, launch, described))
    else:
        launch(_choose("attention", FORWARD, q, k, causal, dropout, launch))
    return o, lse


def attention_grad(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool,
    length: Tensor | None, dropout: float, key: int | Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    q, k, v = _checked(q, k, v)
    adds = not deterministic()
    kinds = accumulator(q.dtype) if adds else q.dtype, k.dtype, v.dtype
    dq, dk, dv = (torch.empty(t.shape, dtype=kind, device=t.device) for t, kind in zip((q, k, v), kinds, strict=True))
    if dq.numel() == 0 or dk.numel() == 0:
        return in_type(fill_(dq, 0), q.dtype), fill_(dk, 0), fill_(dv, 0)
    do, o, lse = _rows_dense(do), contiguous(o), contiguous(lse)
    delta = torch.empty_like(lse)
    arguments = *_strides(q, k, v, do), *_sizes(q, k)
    options = _constexprs(q, scale, causal, dropout)
    matrices, key = q.shape[0] * q.shape[1], 0 if key is None else key
    _delta_kernel[(triton.cdiv(q.shape[2], DELTA_ROWS) * matrices,)](
        do, o, delta, *do.stride()[:3], q.shape[1], q.shape[2], q.shape[3],
        ACC=options["ACC"], BM=DELTA_ROWS, BD=options["BD"],
    )  # fmt: skip

    def launch_keys(config: Config) -> None:
        if adds:
            fill_(dq, 0)
        _keys_kernel[(triton.cdiv(k.shape[2], config["BN"]) * matrices,)](
            q, k, v, do, lse, delta, dq, dk, dv, length, key, *arguments, ADDS=adds, **options,
            **config.launch_options(),
        )  # fmt: skip

    def launch_queries(config: Config) -> None:
        _queries_kernel[(triton.cdiv(q.shape[2], config["BM"]) * matrices,)](
            q, k, v, do, lse, delta, dq, length, key, *arguments, **options, **config.launch_options()
        )

    if adds:
        launch_keys(_choose("attention_grad", KEYS, q, k, causal, dropout, launch_keys))
        return in_type(dq, q.dtype), dk, dv
    launch_keys(_choose("attention_grad keys", KEYS, q, k, causal, dropout, launch_keys))
    launch_queries(_choose("attention_grad queries", QUERIES, q, k, causal, dropout, launch_queries))
    return dq, dk, dv


def cache_write(cache: Tensor, rows: Tensor, counts: Tensor) -> Tensor:
    if not cache.is_contiguous():
        raise MXNetError("cache_write: a cache is an array of memory of its own, given a part or a transposed one")
    rows = contiguous(rows)
    count, width = rows.shape[:3].numel(), rows.shape[3]
    if count * width:
        block = tile(width)
        _cache_write_kernel[grid(count, width, block)](
            cache, rows, contiguous(counts), count, rows.shape[1], rows.shape[2], cache.shape[2], width, **block
        )
    return cache


def _config(bm: int, bn: int, num_warps: int, num_stages: int) -> Config:
    return Config({"BM": bm, "BN": bn}, num_warps, num_stages)


# By bytes of an element and head size (the next power of two; 64 serves smaller ones), with dropout apart where its
# random numbers need the registers, and for AMD (HIP) where its warps, of 64 threads, have too few of them. Of a tile of
# queries (BM) and one of keys (BN) a program owns one and loops over the other. The last of a list compiles without
# spills for each of NVIDIA's architectures, the others from Hopper on; AMD's all do for gfx942. Descriptors are of Hopper
# and later; what waits for its values takes registers, and Blackwell's sums are in a memory of their own.
HIP, BLACKWELL = "hip", "tcgen05"
FORWARD = {
    (2, 64): [_config(128, 64, 8, 3), _config(128, 128, 8, 3), _config(64, 64, 4, 3)],
    (2, 64, "dropout"): [_config(128, 64, 8, 3), _config(64, 64, 4, 3)],
    (2, 128): [_config(128, 64, 8, 3), _config(128, 128, 8, 2), _config(64, 64, 4, 3)],
    (2, 128, "dropout"): [_config(128, 32, 8, 3), _config(64, 64, 8, 3)],
    (4, 64): [_config(64, 16, 4, 2), _config(32, 32, 4, 2)],
    (4, 128): [_config(32, 32, 8, 1)],
    (8, 64): [_config(32, 16, 4, 1)],
    (8, 128): [_config(32, 16, 8, 1)],
    (2, 256): [_config(64, 32, 8, 2)],
    (2, 128, HIP): [_config(128, 64, 8, 1), _config(64, 32, 4, 2)],
}
DESCRIBED_FORWARD = FORWARD | {
    (2, 128): [_config(128, 64, 8, 3), _config(64, 64, 8, 3)],
    (2, 128, BLACKWELL): [_config(128, 128, 8, 2), _config(64, 64, 8, 3)],
}
KEYS = {
    (2, 64): [_config(64, 128, 8, 2), _config(32, 64, 4, 2)],
    (2, 64, "dropout"): [_config(64, 128, 8, 2), _config(32, 64, 4, 2)],
    (2, 128): [_config(64, 64, 8, 2), _config(32, 64, 8, 2)],
    (2, 128, "dropout"): [_config(32, 128, 8, 2), _config(32, 32, 4, 2)],
    (4, 64): [_config(16, 32, 8, 1)],
    (4, 128): [_config(16, 16, 4, 1)],
    (8, 64): [_config(16, 32, 4, 1)],
    (8, 128): [_config(16, 16, 8, 2)],
    (2, 256): [_config(32, 32, 8, 1)],
    (2, 64, HIP): [_config(32, 64, 4, 2), _config(32, 32, 4, 2)],
    (2, 128, HIP): [_config(32, 64, 4, 1), _config(16, 64, 4, 1)],
    (2, 256, HIP): [_config(16, 32, 4, 1), _config(16, 32, 8, 1)],
    (8, 128, HIP): [_config(16, 16, 4, 1)],
}
QUERIES = {
    (2, 64): [_config(128, 64, 8, 2), _config(64, 64, 4, 2)],
    (2, 64, "dropout"): [_config(128, 64, 8, 2), _config(64, 64, 8, 2)],
    (2, 128): [_config(64, 64, 8, 2), _config(64, 32, 4, 2)],
    (4, 64): [_config(64, 16, 8, 1)],
    (4, 128): [_config(16, 16, 4, 1)],
    (8, 64): [_config(32, 16, 8, 1)],
    (8, 128): [_config(16, 16, 4, 1)],
    (2, 256): [_config(32, 32, 8, 1)],
    (2, 64, HIP): [_config(64, 64, 4, 1), _config(64, 32, 4, 1)],
    (2, 256, HIP): [_config(32, 32, 4, 1), _config(32, 16, 4, 1)],
}
DELTA_ROWS = 16
LARGEST_HEAD = {2: 256, 4: 128, 8: 128}  # by bytes of an element
_LOG2_E = tl.constexpr(1.4426950408889634)
# Seven rounds of Philox4x32 pass BigCrush (Salmon et al., 2011).
_ROUNDS = tl.constexpr(7)


@jit(do_not_specialize=["key"])
def _forward_kernel(
    q, k, v, o, lse, length, key, q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, heads, lq, lk, d,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    EVEN_D: tl.constexpr, DESCRIBED: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    block, sample, head, matrix = _position(heads, lq, BM, CAUSAL)
    key = number_of(key)
    rows = block * BM + tl.arange(0, BM)
    i = tl.arange(0, BD)
    query = _load_rows(q + sample * q_b + head * q_h, rows, q_l, lq, i, d, False, EVEN_D)
    limit = _valid_keys(length, sample, lk)
    stop = tl.minimum(limit, block * BM + BM) if CAUSAL else limit
    # Blocks of keys that every query of this program sees whole come first and need no mask.
    whole = (tl.minimum(limit, block * BM + 1) if CAUSAL else limit) // BN * BN
    # Below every score, so that of a row that sees nothing no exponential is NaN.
    largest = tl.full([BM], -3e38 if DESCRIBED else float("-inf"), ACC)
    total = tl.zeros([BM], ACC)
    sums = tl.zeros([BM, BD], ACC)
    if DESCRIBED:
        p, largest, total, faded = _exponentials(
            _scores(query, _described(k, sample, head, 0), SCALE, ACC, PRECISION), rows, 0, limit, largest, total, key,
            matrix, True, CAUSAL, DROPOUT, BN,
        )  # fmt: skip
        p = p.to(v.dtype).to(tl.int16, bitcast=True)
        p, largest, total, faded, sums = _attend_described(
            query, k, v, sample, head, rows, BN, whole, limit, p, largest, total, faded, sums, key, matrix,
            False, SCALE, CAUSAL, DROPOUT, PRECISION, BN,
        )  # fmt: skip
        p, largest, total, faded, sums = _attend_described(
            query, k, v, sample, head, rows, tl.maximum(whole, BN), stop, limit, p, largest, total, faded, sums, key,
            matrix, True, SCALE, CAUSAL, DROPOUT, PRECISION, BN,
        )  # fmt: skip
        last = tl.maximum(stop - 1, 0) // BN * BN
        values = _described(v, sample, head, last)
        values = tl.where((last + tl.arange(0, BN) < stop)[:, None], values, 0)
        sums = multiply_add(p.to(v.dtype, bitcast=True), values, sums * faded[:, None], PRECISION)
    else:
        k += sample * k_b + head * k_h
        v += sample * v_b + head * v_h
        largest, total, sums = _attend(
            query, k, v, k_l, v_l, rows, i, d, 0, whole, limit, largest, total, sums, key, matrix,
            False, SCALE, CAUSAL, DROPOUT, PRECISION, EVEN_D, BN,
        )  # fmt: skip
        largest, total, sums = _attend(
            query, k, v, k_l, v_l, rows, i, d, whole, stop, limit, largest, total, sums, key, matrix,
            True, SCALE, CAUSAL, DROPOUT, PRECISION, EVEN_D, BN,
        )  # fmt: skip
    blind = total == 0
    result = sums / tl.where(blind, 1, total)[:, None]
    _store_rows(o + matrix * lq * d, rows, d, lq, i, d, result, EVEN_D)
    tl.store(
        lse + matrix * lq + rows, tl.where(blind, float("-inf"), largest / _LOG2_E + tl.log(total)), mask=rows < lq
    )


@jit
def _attend(
    query, k, v, k_l, v_l, rows, i, d, start, stop, limit, largest, total, sums, key, matrix,
    MASKED: tl.constexpr, SCALE: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
    EVEN_D: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The online softmax over the keys start .. stop; scores are kept in units of log 2."""
    for first in range(start, stop, BN):
        columns = first + tl.arange(0, BN)
        keys = _load_rows(k, columns, k_l, stop, i, d, not MASKED, EVEN_D)
        p, largest, total, faded = _exponentials(
            _scores(query, keys, SCALE, total.dtype, PRECISION), rows, first, limit, largest, total, key, matrix,
            MASKED, CAUSAL, DROPOUT, BN,
        )  # fmt: skip
        values = _load_rows(v, columns, v_l, stop, i, d, not MASKED, EVEN_D)
        sums = multiply_add(p.to(values.dtype), values, sums * faded[:, None], PRECISION)
    return largest, total, sums


@jit
def _attend_described(
    query, k, v, sample, head, rows, start, stop, limit, p, largest, total, faded, sums, key, matrix,
    MASKED: tl.constexpr, SCALE: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """As `_attend`, of keys and values that come by descriptors, one block behind.

    The product of a block's `p` and its values is under way while the softmax of the next block is computed, for nothing
    in a turn of the loop asks for the sums. `p` goes from turn to turn as bits: of floats Triton would think that they
    were loaded, and lay them in shared memory.
    """
    for first in range(start, stop, BN):
        scores = _scores(query, _described(k, sample, head, first), SCALE, total.dtype, PRECISION)
        values = _described(v, sample, head, first - BN)
        sums = multiply_add(p.to(v.dtype, bitcast=True), values, sums * faded[:, None], PRECISION)
        p, largest, total, faded = _exponentials(
            scores, rows, first, limit, largest, total, key, matrix, MASKED, CAUSAL, DROPOUT, BN
        )
        p = p.to(v.dtype).to(tl.int16, bitcast=True)
    return p, largest, total, faded, sums


@jit
def _scores(query, keys, SCALE: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr):
    """In units of log 2."""
    return _product(query, keys.T, ACC, PRECISION) * (SCALE * _LOG2_E)


@jit
def _exponentials(
    scores, rows, first, limit, largest, total, key, matrix,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Of the scores of the keys from `first` on, above the largest so far; that one; their sum; what the sums before
    have to be multiplied by."""
    if MASKED:
        columns = first + tl.arange(0, BN)
        scores = tl.where(_visible(rows[:, None], columns[None, :], limit, CAUSAL), scores, float("-inf"))
    raised = tl.maximum(largest, tl.max(scores, 1))
    p = tl.exp2(scores - raised[:, None])
    faded = tl.exp2(largest - raised)
    total = total * faded + tl.sum(p, 1)
    if DROPOUT > 0:
        p *= _mask(key, matrix, rows, first, DROPOUT, BN)
    return p, raised, total, faded


@jit
def _described(t, sample, head, first):
    """A block of rows of one matrix, by its descriptor; 0 beyond its end."""
    return t.load([sample.to(tl.int32), head.to(tl.int32), first, 0]).reshape(t.block_shape[2], t.block_shape[3])


@jit
def _delta_kernel(do, o, delta, do_b, do_h, do_l, heads, lq, d, ACC: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr):
    """delta = sum(do o): what every score of a row loses in the gradient of the softmax."""
    block, sample, head, matrix = _position(heads, lq, BM, False)
    rows = block * BM + tl.arange(0, BM)
    i = tl.arange(0, BD)
    g = _load_rows(do + sample * do_b + head * do_h, rows, do_l, lq, i, d, False, False).to(ACC)
    result = _load_rows(o + matrix * lq * d, rows, d, lq, i, d, False, False).to(ACC)
    tl.store(delta + matrix * lq + rows, tl.sum(g * result, 1), mask=rows < lq)


@jit(do_not_specialize=["key"])
def _keys_kernel(
    q, k, v, do, lse, delta, dq, dk, dv, length, key,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, do_b, do_h, do_l, heads, lq, lk, d,
    ADDS: tl.constexpr, SCALE: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, ACC: tl.constexpr,
    PRECISION: tl.constexpr, EVEN_D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """dk and dv of one block of keys: a loop over the queries that see it. Scores are held transposed.

    ADDS: its part of dq as well, which is of the accumulating type and 0 before.
    """
    block, sample, head, matrix = _position(heads, lk, BN, False)
    key = number_of(key)
    columns = block * BN + tl.arange(0, BN)
    i = tl.arange(0, BD)
    q += sample * q_b + head * q_h
    do += sample * do_b + head * do_h
    keys = _load_rows(k + sample * k_b + head * k_h, columns, k_l, lk, i, d, False, EVEN_D)
    values = _load_rows(v + sample * v_b + head * v_h, columns, v_l, lk, i, d, False, EVEN_D)
    limit = _valid_keys(length, sample, lk)
    start = block * BN // BM * BM if CAUSAL else 0
    stop = tl.where(block * BN < limit, lq, 0)
    key_sums = tl.zeros([BN, BD], ACC)
    value_sums = tl.zeros([BN, BD], ACC)
    for first in range(start, stop, BM):
        rows = first + tl.arange(0, BM)
        query = _load_rows(q, rows, q_l, lq, i, d, False, EVEN_D)
        g = _load_rows(do, rows, do_l, lq, i, d, False, EVEN_D)
        row_lse, row_delta = _load_statistics(lse, delta, matrix, rows, lq)
        scores = _product(keys, query.T, ACC, PRECISION) * (SCALE * _LOG2_E)
        visible = _visible(rows[None, :], columns[:, None], limit, CAUSAL) & (rows < lq)[None, :]
        p = tl.where(visible, tl.exp2(scores - row_lse[None, :]), 0)
        dp = _product(values, g.T, ACC, PRECISION)
        dropped = p
        if DROPOUT > 0:
            mask = _mask(key, matrix, rows, block * BN, DROPOUT, BN).T
            dropped = p * mask
            dp *= mask
        value_sums = multiply_add(dropped.to(g.dtype), g, value_sums, PRECISION)
        ds = p * (dp - row_delta[None, :])
        ds = ds.to(query.dtype)
        key_sums = multiply_add(ds, query, key_sums, PRECISION)
        if ADDS:
            part = _product(ds.T, keys, ACC, PRECISION) * SCALE
            positions = dq + matrix * lq * d + rows.to(tl.int64)[:, None] * d + i[None, :]
            tl.atomic_add(positions, part, mask=(rows < lq)[:, None] & (i < d)[None, :], sem="relaxed")
    _store_rows(dk + matrix * lk * d, columns, d, lk, i, d, key_sums * SCALE, EVEN_D)
    _store_rows(dv + matrix * lk * d, columns, d, lk, i, d, value_sums, EVEN_D)


@jit(do_not_specialize=["key"])
def _queries_kernel(
    q, k, v, do, lse, delta, dq, length, key,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, do_b, do_h, do_l, heads, lq, lk, d,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    EVEN_D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """dq of one block of queries: a loop over the keys that it sees."""
    block, sample, head, matrix = _position(heads, lq, BM, CAUSAL)
    key = number_of(key)
    rows = block * BM + tl.arange(0, BM)
    i = tl.arange(0, BD)
    k += sample * k_b + head * k_h
    v += sample * v_b + head * v_h
    query = _load_rows(q + sample * q_b + head * q_h, rows, q_l, lq, i, d, False, EVEN_D)
    g = _load_rows(do + sample * do_b + head * do_h, rows, do_l, lq, i, d, False, EVEN_D)
    row_lse, row_delta = _load_statistics(lse, delta, matrix, rows, lq)
    limit = _valid_keys(length, sample, lk)
    stop = tl.minimum(limit, block * BM + BM) if CAUSAL else limit
    sums = tl.zeros([BM, BD], ACC)
    for first in range(0, stop, BN):
        columns = first + tl.arange(0, BN)
        keys = _load_rows(k, columns, k_l, lk, i, d, False, EVEN_D)
        values = _load_rows(v, columns, v_l, lk, i, d, False, EVEN_D)
        scores = _product(query, keys.T, ACC, PRECISION) * (SCALE * _LOG2_E)
        p = tl.where(_visible(rows[:, None], columns[None, :], limit, CAUSAL), tl.exp2(scores - row_lse[:, None]), 0)
        dp = _product(g, values.T, ACC, PRECISION)
        if DROPOUT > 0:
            dp *= _mask(key, matrix, rows, first, DROPOUT, BN)
        ds = p * (dp - row_delta[:, None])
        sums = multiply_add(ds.to(keys.dtype), keys, sums, PRECISION)
    _store_rows(dq + matrix * lq * d, rows, d, lq, i, d, sums * SCALE, EVEN_D)


@jit
def _position(heads, count, BLOCK: tl.constexpr, BACKWARDS: tl.constexpr):
    """Block of `count` queries or keys, sample, head, and the number of the (sample, head) matrix.

    The blocks of a matrix follow one another, so that they find its other operand in the L2 cache. In a causal kernel
    the last queries see most: BACKWARDS starts them first, so that they do not finish last.
    """
    blocks = blocks_of(count, BLOCK)
    block = tl.program_id(0) % blocks
    if BACKWARDS:
        block = blocks - 1 - block
    matrix = (tl.program_id(0) // blocks).to(tl.int64)
    return block, matrix // heads, matrix % heads, matrix


@jit
def _valid_keys(length, sample, lk):
    if length is not None:
        return tl.minimum(tl.load(length + sample), lk).to(tl.int32)
    else:
        return lk


@jit
def _load_rows(base, rows, stride, count, i, d, WHOLE: tl.constexpr, EVEN_D: tl.constexpr):
    """Rows of a matrix with unit column stride; 0 beyond `count`. WHOLE: all rows exist. EVEN_D: all columns do."""
    positions = base + rows.to(tl.int64)[:, None] * stride + i[None, :]
    if WHOLE and EVEN_D:
        return tl.load(positions)
    elif WHOLE:
        return tl.load(positions, mask=(i < d)[None, :], other=0)
    elif EVEN_D:
        return tl.load(positions, mask=(rows < count)[:, None], other=0)
    else:
        return tl.load(positions, mask=(rows < count)[:, None] & (i < d)[None, :], other=0)


@jit
def _store_rows(base, rows, stride, count, i, d, values, EVEN_D: tl.constexpr):
    positions = base + rows.to(tl.int64)[:, None] * stride + i[None, :]
    mask = (rows < count)[:, None] if EVEN_D else (rows < count)[:, None] & (i < d)[None, :]
    tl.store(positions, values.to(base.dtype.element_ty), mask=mask)


@jit
def _load_statistics(lse, delta, matrix, rows, lq):
    """lse in units of log 2, and delta. A row that saw nothing has lse = -inf, but no visible score meets it."""
    position = matrix * lq + rows
    return tl.load(lse + position, mask=rows < lq, other=0) * _LOG2_E, tl.load(
        delta + position, mask=rows < lq, other=0
    )


@jit
def _product(x, y, ACC: tl.constexpr, PRECISION: tl.constexpr):
    return multiply_add(x, y, tl.zeros([x.shape[0], y.shape[1]], ACC), PRECISION)


@jit
def _visible(rows, columns, limit, CAUSAL: tl.constexpr):
    """Whether the query of a row may look at the key of a column; `rows` and `columns` broadcast."""
    visible = columns < limit
    if CAUSAL:
        visible = visible & (columns <= rows)
    return visible


@jit
def _mask(key, matrix, rows, first, DROPOUT: tl.constexpr, BN: tl.constexpr):
    """(rows, BN), for the columns from `first` on: 0 with probability DROPOUT, else 1 / (1 - DROPOUT).

    One Philox draw decides on four columns, which begin at a multiple of four in every kernel.
    """
    columns = first // 4 + tl.arange(0, BN // 4)
    column = tl.broadcast_to(columns[None, :], [rows.shape[0], BN // 4])
    row = tl.broadcast_to(rows[:, None], [rows.shape[0], BN // 4])
    a, b, c, d = tl.philox(key, row, column, row * 0 + matrix.to(tl.int32), row * 0, _ROUNDS)
    threshold = tl.full([], int(DROPOUT * 4294967296), tl.int64).to(tl.uint32)
    a, b, c, d = (
        (a >= threshold).to(tl.int8),
        (b >= threshold).to(tl.int8),
        (c >= threshold).to(tl.int8),
        (d >= threshold).to(tl.int8),
    )
    kept = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), [rows.shape[0], BN])
    return tl.where(kept != 0, 1 / (1 - DROPOUT), 0.0)


def _checked(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        shapes = ", ".join(str(tuple(t.shape)) for t in (q, k, v))
        raise MXNetError(f"attention: q, k, v have shapes {shapes}; they must be (B, H, Lq, D) and twice (B, H, Lk, D)")
    largest = LARGEST_HEAD[q.element_size()]
    if q.shape[3] > largest:
        kind = str(q.dtype).removeprefix("torch.")
        raise MXNetError(f"attention: heads of size {q.shape[3]} were given; at most {largest} is supported in {kind}")
    return _rows_dense(q), _rows_dense(k), _rows_dense(v)


def _rows_dense(t: Tensor) -> Tensor:
    return t if t.stride(3) == 1 else contiguous(t)


def _strides(*tensors: Tensor) -> list[int]:
    return [stride for t in tensors for stride in t.stride()[:3]]


def _describable(t: Tensor) -> bool:
    """Whether a TMA descriptor can describe the rows (B, H, L, D), which begin at multiples of 16 bytes.

    Axes may lie in any order in memory: FlashAttention-3 describes (B, L, H, D) so.
    """
    if t.element_size() != 2 or t.data_ptr() % 16 or not 0 < max(t.shape) < WIDE or not t.numel():
        return False
    return all(stride > 0 and stride % 8 == 0 for stride, n in zip(t.stride(), t.shape[:3], strict=False) if n > 1)


def _descriptor(t: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """Describes (B, H, L, D), for blocks of rows of one matrix."""
    strides = [stride if n > 1 else 8 for stride, n in zip(t.stride(), t.shape[:3], strict=False)]
    return TensorDescriptor(t, list(t.shape), [*strides, 1], [1, 1, rows, columns])


def _sizes(q: Tensor, k: Tensor) -> tuple[int, int, int, int]:
    return q.shape[1], q.shape[2], k.shape[2], q.shape[3]


def _constexprs(q: Tensor, scale: float, causal: bool, dropout: float) -> dict[str, object]:
    d = q.shape[3]
    bd = max(16, triton.next_power_of_2(d))
    return {
        "SCALE": scale,
        "CAUSAL": causal,
        "DROPOUT": dropout,
        "ACC": in_triton(accumulator(q.dtype)),
        "PRECISION": precision(q.dtype, q.device),
        "EVEN_D": d == bd,
        "BD": bd,
    }


def _choose(
    name: str, table: dict, q: Tensor, k: Tensor, causal: bool, dropout: float, launch: Callable[[Config], None],
    described: bool = False,
) -> Config:  # fmt: skip
    head, target = max(64, triton.next_power_of_2(q.shape[3])), target_of(q.device)
    configs = _configs(table, q.element_size(), head, dropout, target.instruction if described else target.backend)
    key = (q.dtype, causal, dropout > 0, q.shape[3], *shape_class(q.shape[0] * q.shape[1], q.shape[2], k.shape[2]))
    return choose(name, key, configs, launch)


def _configs(table: dict, size: int, head: int, dropout: float, kind: str) -> list[Config]:
    """For a kind of device: a backend, or with descriptors the instruction that multiplies."""
    plain = table.get((size, head, "dropout"), table[size, head]) if dropout else table[size, head]
    return table.get((size, head, kind), plain)


@jit
def _cache_write_kernel(
    cache_ptr, rows_ptr, counts_ptr, count, heads, steps, capacity, width, ROWS: tl.constexpr, INNER: tl.constexpr
):  # fmt: skip
    row, column, inside = tile_of(count, width, ROWS, INNER)
    matrix = row // steps
    place = tl.load(counts_ptr + matrix // heads, row < count, 0).to(tl.int64) + row % steps
    held = inside & ((place >= 0) & (place < capacity))[:, None]
    moved = tl.load(rows_ptr + row[:, None] * width + column, inside, 0)
    tl.store(cache_ptr + (matrix * capacity + place)[:, None] * width + column, moved, held)


def _aot() -> Iterator[AotCase]:
    strides = [f"{t}_{axis}" for t in ("q", "k", "v", "do") for axis in ("b", "h", "l")]
    sizes = {"length": "*i32", "key": "i64", "heads": "i32", "lq": "i32", "lk": "i32", "d": "i32:16"}
    cases = itertools.product(
        (
            (_forward_kernel, FORWARD, {"DESCRIBED": False}), (_forward_kernel, DESCRIBED_FORWARD, {"DESCRIBED": True}),
            (_keys_kernel, KEYS, {"ADDS": True}), (_keys_kernel, KEYS, {"ADDS": False}), (_queries_kernel, QUERIES, {}),
        ),
        ((2, False, 0.0), (2, True, 0.1), (4, True, 0.1), (8, True, 0.1)),
        (64, 128, 256),
    )  # fmt: skip
    for (kernel, table, extra), (size, causal, dropout), head in cases:
        described = extra.get("DESCRIBED", False)
        if head > LARGEST_HEAD[size] or (described and size != 2):
            continue
        kind, acc = {2: ("*bf16", "*fp32"), 4: ("*fp32", "*fp32"), 8: ("*fp64", "*fp64")}[size]
        types = dict.fromkeys(("q", "k", "v", "o", "do", "dq", "dk", "dv"), kind) | (
            {"dq": acc} if extra.get("ADDS") else {}
        )
        types |= dict.fromkeys(("lse", "delta"), acc) | dict.fromkeys(strides, "i64:16") | sizes
        types["key"] = "*i64" if dropout else "i64"  # from memory, as a CUDA graph has it, which takes more
        fixed = {
            "SCALE": 0.125, "CAUSAL": causal, "DROPOUT": dropout, "ACC": tl.float64 if size == 8 else tl.float32,
            "PRECISION": "tf32x3" if size == 4 else "ieee", "EVEN_D": True, "BD": head,
        }  # fmt: skip
        signature = {name: types[name] for name in kernel.arg_names if name in types}
        kinds = ("wgmma", BLACKWELL) if described else ("cuda", HIP) if (size, head, HIP) in table else (None,)
        for only in kinds:
            configs = _configs(table, size, head, dropout, only or "cuda")
            for c in configs:
                since = 80 if only == HIP or (c is configs[-1] and not described) else 90
                values, given = fixed | extra | c.constexprs, signature
                if described:
                    given = signature | dict.fromkeys("kv", f"tensordesc<{kind[1:]}[1, 1, {c['BN']}, {head}]>")
                demanded = tensor_core(c["BN" if kernel is _keys_kernel else "BM"], c.num_warps, kind[1:])
                copies = "tma" if described else "cp.async" if c.num_stages > 1 else None
                yield AotCase(kernel, given, values, c.num_warps, c.num_stages, demanded, copies, since, only)


_CACHE = dict.fromkeys(("count", "heads", "steps", "capacity", "width"), "i32")
AOT = [
    *_aot(),
    AotCase(
        _cache_write_kernel,
        {"cache_ptr": "*bf16", "rows_ptr": "*bf16", "counts_ptr": "*i32", **_CACHE},
        {"ROWS": 16, "INNER": 64},
    ),
]
