"""Attention: the fused operator, and MXNet's products of interleaved projections."""

from collections.abc import Sequence

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Bool, Float, Int, OptFloat
from core.ops.registry import F, composite, decompose, gradient, gradients_through, operator
from core.ops.shape import expect_shape
from core.ops.values import Gradients, Namespace, Tensor, Value

K = kernels.attention


@operator(
    "_attention", outputs=2, visible=1, rng=True, memory="new", input_dtypes={"length": "int32"},
    draws=lambda attrs: bool(attrs["dropout"]),
)  # fmt: skip
def attention(
    query: Tensor, key_: Tensor, value: Tensor, length: Tensor | None = None, *, scale: OptFloat = None,
    causal: Bool = False, dropout: Float = 0.0, key: int | None = None,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """softmax(query key^T scale) value, without the matrix of scores in memory (Dao et al., 2022).

    query, key, value (B, H, L, D); length (B,): how many keys count; scale: 1 / sqrt(D) unless given.
    """
    _expect_heads(query, key_, value, length)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return K.attention(query, key_, value, scale, causal, length, dropout, key)


def _expect_heads(query: Tensor, key: Tensor, value: Tensor, length: Tensor | None) -> None:
    """MXNetError where shapes do not fit, for kernels read memory at what they are given, without a look."""
    expect_shape("attention", "a value", value, tuple(key.shape))
    batch, heads, _, width = query.shape
    expect_shape("attention", "a key", key, (batch, heads, key.shape[2], width))
    if length is not None:
        expect_shape("attention", "an array of lengths", length, (batch,))


@gradient(attention)
def _attention_gradient(
    dy: Value, query: Value, key_: Value, value: Value, length: Value, out: Value, out1: Value, attrs: Namespace
) -> Gradients:
    grads = F._attention_grad(
        dy, query, key_, value, out, out1, length, scale=attrs.scale, causal=attrs.causal, dropout=attrs.dropout,
        key=attrs.key,
    )  # fmt: skip
    return [*grads, None]


@composite("_dropout_attention", train=True, input_dtypes={"length": "int32"})
def dropout_attention(
    query: Value, key_: Value, value: Value, length: Value | None = None, *, scale: OptFloat = None,
    causal: Bool = False, p: Float = 0.0, training: bool,
) -> Value:  # fmt: skip
    """The fused attention, whose weights are dropped out with probability `p` in training alone."""
    return F._attention(query, key_, value, length, scale=scale, causal=causal, dropout=p if training else 0.0)


@operator("_attention_grad", outputs=3, memory="new", input_dtypes={"length": "int32"})
def _attention_grad(
    dy: Tensor, query: Tensor, key_: Tensor, value: Tensor, out: Tensor, lse: Tensor, length: Tensor | None = None, *,
    scale: OptFloat = None, causal: Bool = False, dropout: Float = 0.0, key: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gradients of the fused attention in query, key and value."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return K.attention_grad(dy, query, key_, value, out, lse, scale, causal, length, dropout, key)


@decompose(_attention_grad)
def _attention_grad_decompose(
    dy: Value, query: Value, key_: Value, value: Value, out: Value, lse: Value, length: Value | None = None, *,
    scale: float | None, causal: bool, dropout: float, key: int,
) -> Sequence[Value]:  # fmt: skip
    if dropout:
        raise MXNetError("_attention has no second derivative with dropout: use predict mode, or dropout=0")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return gradients_through(
        lambda q, k, v: _expression(q, k, v, length, scale, causal), [query, key_, value], [dy], [True] * 3
    )


@operator("_cache_write", mutates=("cache",), auxiliary=(), input_dtypes={"counts": "int32"})
def cache_write(cache: Tensor, rows: Tensor, counts: Tensor) -> Tensor:
    """The cache (B, H, C, D), after rows (B, H, L, D) were written over its positions counts[b] .. counts[b] + L - 1.

    How a decoder keeps keys and values in memory of a fixed size. IndexError on a CPU where the capacity C is exceeded.
    """
    batch, heads, capacity, width = cache.shape
    expect_shape("cache_write", "rows", rows, (batch, heads, rows.shape[2], width))
    expect_shape("cache_write", "an array of counts", counts, (batch,))
    if rows.dtype != cache.dtype:
        raise MXNetError(f"cache_write: rows of {dtype_name(rows.dtype)} for a cache of {dtype_name(cache.dtype)}")
    return K.cache_write(cache, rows, counts)


def _expression(query: Value, key: Value, value: Value, length: Value | None, scale: float, causal: bool) -> Value:
    """The attention as an expression over other operators, which second derivatives differentiate."""
    batch, heads, rows, width = query.shape
    columns, dtype = key.shape[2], dtype_name(query.dtype)
    query, key, value = (F._reshape_to(x, shape=(batch * heads, *x.shape[2:])) for x in (query, key, value))
    scores = F.batch_dot(query, key, transpose_b=True) * scale
    scores = F._reshape_to(scores, shape=(batch, heads, rows, columns))
    seen = F.ones_like(scores)
    at = F._reshape_to(F.Cast(F._arange_like(query, length=columns), dtype=dtype), shape=(1, 1, 1, columns))
    if causal:
        own = F._reshape_to(F.Cast(F._arange_like(query, length=rows), dtype=dtype), shape=(1, 1, rows, 1))
        seen = F.broadcast_mul(seen, F.broadcast_lesser_equal(at, own))
    if length is not None:
        ends = F._reshape_to(F.Cast(length, dtype=dtype), shape=(batch, 1, 1, 1))
        seen = F.broadcast_mul(seen, F.broadcast_lesser(at, ends))
    low = F.full_like(scores, fill_value=-6e4 if dtype == "float16" else -1e30)
    weights = F._softmax(F.where(seen, scores, low), axis=3) * seen
    y = F.batch_dot(F._reshape_to(weights, shape=(batch * heads, rows, columns)), value)
    return F._reshape_to(y, shape=(batch, heads, rows, width))


def _heads(x: Value, heads: int, parts: int) -> list[Value]:
    """(L, B, H * parts * D) as `parts` arrays of (B * H, L, D)."""
    steps, batch, width = x.shape
    size = width // (heads * parts)
    x = F._reshape_to(x, shape=(steps, batch * heads, parts, size))
    return [
        F.transpose(
            F._reshape_to(F.slice_axis(x, axis=2, begin=p, end=p + 1), shape=(steps, batch * heads, size)),
            axes=(1, 0, 2),
        )
        for p in range(parts)
    ]


def _merge(x: Value, heads: int) -> Value:
    """(B * H, L, D) as (L, B, H * D)."""
    rows, steps, size = x.shape
    return F._reshape_to(F.transpose(x, axes=(1, 0, 2)), shape=(steps, rows // heads, heads * size))


@composite("_contrib_interleaved_matmul_selfatt_qk", real=True)
def selfatt_qk(queries_keys_values: Value, *, heads: Int) -> Value:
    """Scaled scores (B H, L, L) from interleaved projections (L, B, H 3 D)."""
    query, key, _ = _heads(queries_keys_values, heads, 3)
    return F._matmul(query * query.shape[-1] ** -0.5, key, transpose_b=True)


@composite("_contrib_interleaved_matmul_selfatt_valatt", real=True)
def selfatt_valatt(queries_keys_values: Value, attention: Value, *, heads: Int) -> Value:
    """Attention weights times interleaved values: (L, B, H D)."""
    value = _heads(queries_keys_values, heads, 3)[2]
    return _merge(F._matmul(attention, value), heads)


@composite("_contrib_interleaved_matmul_encdec_qk", real=True)
def encdec_qk(queries: Value, keys_values: Value, *, heads: Int) -> Value:
    """Scaled scores (B H, Lq, Lk) from queries (Lq, B, H D) and interleaved keys and values (Lk, B, H 2 D)."""
    (query,) = _heads(queries, heads, 1)
    key, _ = _heads(keys_values, heads, 2)
    return F._matmul(query * query.shape[-1] ** -0.5, key, transpose_b=True)


@composite("_contrib_interleaved_matmul_encdec_valatt", real=True)
def encdec_valatt(keys_values: Value, attention: Value, *, heads: Int) -> Value:
    """Attention weights times interleaved values: (Lq, B, H D)."""
    value = _heads(keys_values, heads, 2)[1]
    return _merge(F._matmul(attention, value), heads)
