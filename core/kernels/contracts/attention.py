"""Scaled dot-product attention (Vaswani et al., 2017), forward and backward.

q (B, H, Lq, D), k and v (B, H, Lk, D), floating-point; on a GPU D is at most 256 in 16 bits, 128 else. `causal`: query
i sees the keys 0 .. i. `length` (B,) integers or None: sample b sees its first `length[b]` keys. A query that sees
nothing gives 0.
`lse` (B, H, Lq), float32 (float64 for float64 inputs), is the log of the sum of the exponentials of a row, -inf for a
query that sees nothing.

Floor: forward 4 B H Lq Lk D operations on the tensor cores (half of it if causal), backward 2.5 times as many. Memory,
4 bytes(q) forward, is far below that for L above 1000.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.dispatch import kernel
from core.kernels.precision import wide_type


@kernel
def attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, length: Tensor | None, dropout: float, key: int | None
) -> tuple[Tensor, Tensor]:
    """dropout(softmax(scale q k^T)) v; returns (o, lse). `key` numbers the dropout mask (Vaswani et al., 2017)."""
    batch, heads, queries = q.shape[:3]
    o = empty((batch, queries, heads, v.shape[3]), q.dtype).transpose(1, 2)
    return o, empty((batch, heads, queries), wide_type(q.dtype))


@kernel
def attention_grad(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool,
    length: Tensor | None, dropout: float, key: int | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients (dq, dk, dv) of `attention`, from its inputs, its results and the same `key`."""
    return empty(q.shape, q.dtype), empty(k.shape, k.dtype), empty(v.shape, v.dtype)


@kernel
def cache_write(cache: Tensor, rows: Tensor, counts: Tensor) -> Tensor:
    """`cache` (B, H, C, D), with `rows` (B, H, L, D) of the same dtype written over its places counts[b] .. counts[b] + L
    - 1 of axis 2. counts (B,) integers; IndexError on a CPU where there are no such places, which a GPU leaves out."""
    return cache
