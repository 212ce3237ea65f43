"""Attention on the CPU: ATen's flash kernel where it computes the case, else products and a softmax, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from core.kernels.cpu import random
from core.kernels.cpu._lengths import additive_mask
from core.kernels.cpu._onednn import multiplies_half
from core.kernels.precision import wide_type

aten = torch.ops.aten
CHUNK = 2**20  # scores at a time
FEW, LONG = 2**14, 512  # scores, keys


def attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, length: Tensor | None, dropout: float,
    key: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if length is not None and k.shape[2]:  # what nobody reads is left out: caches are mostly empty
        most = max(1, int(length.max())) if length.numel() else 1
        k, v = k[:, :, :most], v[:, :, :most]
    if _fused(q, k, v, causal, dropout):
        q, k, v = (_unit_columns(t) for t in (q, k, v))
        mask = None if length is None else additive_mask(length, k.shape[2], q.dtype)
        o, lse = torch._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
        if length is not None:
            blind = (length <= 0).view(-1, 1, 1)
            o.masked_fill_(blind.unsqueeze(3), 0)
            lse.masked_fill_(blind, -math.inf)
        return o, lse
    if not k.shape[2]:
        lse = q.new_full(q.shape[:3], -math.inf, dtype=wide_type(q.dtype))
        return q.new_zeros((*q.shape[:3], v.shape[3])), lse
    o, lse = _joined(
        _forward_chunk(*chunk, scale, causal, dropout, key) for chunk in _chunks([q, k, v], k, length, dropout)
    )
    return o.view(*q.shape[:3], v.shape[3]), lse.view(q.shape[:3])


def attention_grad(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool,
    length: Tensor | None, dropout: float, key: int | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if _fused(q, k, v, causal, dropout):
        do, q, k, v, o = (_unit_columns(t) for t in (do, q, k, v, o))
        mask = None if length is None else additive_mask(length, k.shape[2], q.dtype)
        if length is not None:
            # exp(score - lse) must be 0, not infinite, where a query saw nothing.
            lse = lse.masked_fill(lse == -math.inf, math.inf)
        return aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
            do, q, k, v, o, lse, 0.0, causal, attn_mask=mask, scale=scale
        )
    grads = _joined(
        _backward_chunk(*chunk, scale, causal, dropout, key) for chunk in _chunks([do, q, k, v], k, length, dropout)
    )
    return tuple(grad.view(t.shape) for grad, t in zip(grads, (q, k, v), strict=True))


def cache_write(cache: Tensor, rows: Tensor, counts: Tensor) -> Tensor:
    capacity, steps = cache.shape[2], rows.shape[2]
    for sample, start in enumerate(counts.tolist()):
        if not 0 <= start <= capacity - steps:
            raise IndexError(f"a cache of {capacity} steps that holds {start} has no place for {steps} more")
        cache[sample, :, start : start + steps] = rows[sample]
    return cache


def _fused(q: Tensor, k: Tensor, v: Tensor, causal: bool, dropout: float) -> bool:
    """Whether ATen's flash kernel computes this case; its dropout does not follow from a key.

    In half precision it does not use the processor's products of that: with them the plain way takes 0.8 of its time
    forward and 0.4 backward (measured on an EPYC 9005). But it skips what causal queries do not see, keeps no scores,
    and is one call.
    """
    if dropout or q.shape[-1] != v.shape[-1] or not q.numel() or not k.numel():
        return False
    if not multiplies_half(q.dtype):
        return True
    queries, keys = q.shape[2], k.shape[2]
    return q.shape[:3].numel() * keys < FEW or queries * keys > CHUNK or (causal and keys > LONG)


def _unit_columns(t: Tensor) -> Tensor:
    """ATen's flash kernel takes for granted that the elements of a row lie side by side."""
    return t if t.stride(-1) == 1 else t.contiguous()


def _chunks(tensors: list[Tensor], k: Tensor, length: Tensor | None, dropout: float) -> Iterator[list[Tensor | None]]:
    """The heads of `tensors` (B, H, L, D), as (N, L, D), so many at a time that their scores stay in the caches, and
    their lengths (N, 1, 1) or None. A dropout mask is drawn for all of them at once."""
    (heads, queries), count = tensors[0].shape[1:3], tensors[0].shape[:2].numel()
    tensors = [t.reshape(count, *t.shape[2:]) for t in tensors]
    if length is not None:
        length = length.repeat_interleave(heads).view(-1, 1, 1)
    size = count if dropout else max(1, CHUNK // max(1, queries * k.shape[2]))
    for first in range(0, max(1, count), max(1, size)):
        chunk = slice(first, first + size)
        yield [*(t[chunk] for t in tensors), None if length is None else length[chunk]]


def _joined(parts: Iterable[tuple[Tensor, ...]]) -> list[Tensor]:
    """The results of all chunks."""
    return [torch.cat(x) if len(x) > 1 else x[0] for x in zip(*parts, strict=True)]


def _forward_chunk(
    q: Tensor, k: Tensor, v: Tensor, length: Tensor | None, scale: float, causal: bool, dropout: float, key: int | None
) -> tuple[Tensor, Tensor]:
    scores, p = _probabilities(q, k, length, scale, causal)
    lse = scores.amax(-1).sub_(p.amax(-1).log_())
    if length is not None:
        lse.masked_fill_(length[:, 0] <= 0, -math.inf)
    return _product(random.dropout(p, dropout, key) if dropout else p, v, q.dtype).to(q.dtype), lse


def _backward_chunk(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, length: Tensor | None,
    scale: float, causal: bool, dropout: float, key: int | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    kind = q.dtype
    p = _probabilities(q, k, length, scale, causal)[1]
    dv = _product((random.dropout(p, dropout, key) if dropout else p).mT, do, kind)
    dp = _product(do, v.mT, p.dtype)
    if dropout:
        dp = random.dropout(dp, dropout, key)
    ds = aten._softmax_backward_data.default(dp, p, -1, p.dtype)
    dq, dk = _product(ds, k, kind, scale), _product(ds.mT, q, kind, scale)
    return dq.to(kind), dk.to(kind), dv.to(kind)


def _probabilities(q: Tensor, k: Tensor, length: Tensor | None, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """The scores, -inf where a query may not look, and their softmax, 0 for a query that sees nothing; not in half
    precision, in which a score of 100 is off by a quarter."""
    scores = _product(q, k.mT, wide_type(q.dtype), scale)
    keys = torch.arange(k.shape[1], device=q.device)
    if causal:
        _hide(scores, keys > torch.arange(q.shape[1], device=q.device).unsqueeze(1))
    if length is not None:
        _hide(scores, keys >= length.clamp(min=1))
    p = torch.softmax(scores, -1)
    return scores, p if length is None else p.masked_fill_(length <= 0, 0)


def _hide(scores: Tensor, beyond: Tensor) -> None:
    scores.add_(scores.new_zeros(beyond.shape).masked_fill_(beyond, -math.inf))


def _product(a: Tensor, b: Tensor, kind: torch.dtype, scale: float = 1) -> Tensor:
    """scale a b, of factors and in the type `kind` where the processor multiplies that, else in float32 or float64."""
    if not multiplies_half(kind):
        kind = wide_type(kind)
    return torch.baddbmm(a.new_empty((1, 1, 1), dtype=kind), a.to(kind), b.to(kind), beta=0, alpha=scale)
