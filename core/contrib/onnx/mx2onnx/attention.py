"""Attention: products of interleaved projections, and the fused operator."""

from __future__ import annotations

import math

import numpy as np

from core.contrib.onnx.mx2onnx.neural import places_along
from core.contrib.onnx.mx2onnx.table import converts, ints


def _part(g, x, heads: int, parts: int, part: int, order=(1, 0, 2)):
    """(L, B, heads * parts * D) -> (B * heads, L, D) of one part (or these axes in another order), and D."""
    size = g.extent(x, -1) // (heads * parts)
    split = g.add("Reshape", x, ints(0, -1, parts, size))
    return g.add("Transpose", g.add("Gather", split, np.int64(part), axis=2), perm=list(order)), size


def _scores(g, query, size: int, key, dtype: str):
    """Products of queries (B, L, D) with keys (B, D, L), scaled."""
    return g.add("MatMul", g.add("Div", query, g.like(math.sqrt(size), dtype)), key)


def _merged(g, x, width: int):
    """(B * heads, L, D) -> (L, B, heads * D)."""
    return g.add("Reshape", g.add("Transpose", x, perm=[1, 0, 2]), ints(0, -1, width))


@converts("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(g, a, projections):
    query, size = _part(g, projections, a.heads, 3, 0)
    key, _ = _part(g, projections, a.heads, 3, 1, order=(1, 2, 0))
    return _scores(g, query, size, key, g.dtype(projections))


@converts("_contrib_interleaved_matmul_selfatt_valatt")
def selfatt_valatt(g, a, projections, attention):
    value, size = _part(g, projections, a.heads, 3, 2)
    return _merged(g, g.add("MatMul", attention, value), a.heads * size)


@converts("_contrib_interleaved_matmul_encdec_qk")
def encdec_qk(g, a, queries, projections):
    query, size = _part(g, queries, a.heads, 1, 0)
    key, _ = _part(g, projections, a.heads, 2, 0, order=(1, 2, 0))
    return _scores(g, query, size, key, g.dtype(queries))


@converts("_contrib_interleaved_matmul_encdec_valatt")
def encdec_valatt(g, a, projections, attention):
    value, size = _part(g, projections, a.heads, 2, 1)
    return _merged(g, g.add("MatMul", attention, value), a.heads * size)


@converts("_attention", "_dropout_attention")
def attention(g, a, query, key, value, length=None):
    dtype, size = g.dtype(query), g.extent(query, -1)
    scale = size**-0.5 if a.scale is None else a.scale
    scores = g.add("MatMul", g.add("Mul", query, g.like(scale, dtype)), g.add("Transpose", key, perm=[0, 1, 3, 2]))
    low, zero = g.like(np.finfo(dtype).min / 2, dtype), g.like(0, dtype)
    keys = places_along(g, key, 2)
    inside = None
    if length is not None:
        bound = g.add("Unsqueeze", g.cast(length, "int64"), ints(1, 2, 3))
        inside = g.add("Less", keys, bound)
    if a.causal:
        before = g.add("LessOrEqual", keys, g.add("Unsqueeze", places_along(g, query, 2), ints(1)))
        inside = before if inside is None else g.add("And", inside, before)
    if inside is not None:
        scores = g.add("Where", inside, scores, low)
    weights = g.add("Softmax", scores, axis=-1)
    if inside is not None:
        weights = g.add("Where", inside, weights, zero)
    return [g.add("MatMul", weights, value)]
