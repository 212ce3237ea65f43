"""Scaled dot-product attention on the CPU, forward and backward.

q (B, H, Lq, D), k and v (B, H, Lk, D), floating-point. `causal`: query i sees the keys 0 .. i. `length` (B,) integers
or None: sample b sees its first `length[b]` keys. A query that sees nothing gives 0. `lse` (B, H, Lq), float32 (float64
for float64 inputs), is the log of the sum of the exponentials of a row, -inf for a query that sees nothing.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.kernels.cpu import random

aten = torch.ops.aten


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    causal: bool,
    length: Tensor | None,
    dropout: float,
    key: int | None,
) -> tuple[Tensor, Tensor]:
    """dropout(softmax(scale q k^T)) v; returns (o, lse). `key` numbers the dropout mask (Vaswani et al., 2017)."""
    if _fused(q, k, v, dropout):
        q, k, v = (_unit_columns(t) for t in (q, k, v))
        mask = _additive_mask(q, k, length)
        o, lse = torch._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
        if length is not None:
            blind = (length <= 0).view(-1, 1, 1)
            o.masked_fill_(blind.unsqueeze(3), 0)
            lse.masked_fill_(blind, -math.inf)
        return o, lse
    wide = _accumulator(q)
    scores = _scores(q, k, scale, causal, length)
    lse = torch.logsumexp(scores, -1)
    p = _probabilities(scores, lse)
    if dropout:
        p = random.dropout(p, dropout, key)
    return torch.matmul(p, v.to(wide)).to(q.dtype), lse


def attention_grad(
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    scale: float,
    causal: bool,
    length: Tensor | None,
    dropout: float,
    key: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dq, dk, dv) of `attention`, from its inputs, its results and the same `key`."""
    if _fused(q, k, v, dropout):
        do, q, k, v, o = (_unit_columns(t) for t in (do, q, k, v, o))
        mask = _additive_mask(q, k, length)
        if length is not None:
            # exp(score - lse) must be 0, not infinite, where a query saw nothing.
            lse = lse.masked_fill(lse == -math.inf, math.inf)
        return aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
            do, q, k, v, o, lse, 0.0, causal, attn_mask=mask, scale=scale
        )
    wide = _accumulator(q)
    do, p = do.to(wide), _probabilities(_scores(q, k, scale, causal, length), lse)
    dropped = random.dropout(p, dropout, key) if dropout else p
    dv = torch.matmul(dropped.mT, do)
    dp = torch.matmul(do, v.to(wide).mT)
    if dropout:
        dp = random.dropout(dp, dropout, key)
    delta = (do * o.to(wide)).sum(-1, keepdim=True)
    ds = dp.sub_(delta).mul_(p).mul_(scale)
    dq, dk = torch.matmul(ds, k.to(wide)), torch.matmul(ds.mT, q.to(wide))
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _fused(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> bool:
    """Whether ATen's flash kernel computes this case; its dropout does not follow from a key."""
    return not dropout and q.shape[-1] == v.shape[-1] and q.numel() > 0 and k.numel() > 0


def _unit_columns(t: Tensor) -> Tensor:
    """ATen's flash kernel takes for granted that the elements of a row lie side by side."""
    return t if t.stride(-1) == 1 else t.contiguous()


def _additive_mask(q: Tensor, k: Tensor, length: Tensor | None) -> Tensor | None:
    """(B, 1, 1, Lk): 0 for a valid key, -inf for one beyond. The flash kernel makes NaN of a row without keys, so the
    first key always counts; samples of length 0 are mended afterwards."""
    if length is None:
        return None
    beyond = torch.arange(k.shape[2], device=k.device) >= length.clamp(min=1).unsqueeze(1)
    mask = torch.zeros(beyond.shape, dtype=q.dtype, device=q.device).masked_fill_(beyond, -math.inf)
    return mask.view(-1, 1, 1, k.shape[2])


def _accumulator(q: Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _scores(q: Tensor, k: Tensor, scale: float, causal: bool, length: Tensor | None) -> Tensor:
    """scale q k^T, -inf where a query may not look."""
    wide = _accumulator(q)
    scores = torch.matmul(q.to(wide), k.to(wide).mT).mul_(scale)
    keys = torch.arange(k.shape[2], device=q.device)
    if causal:
        scores.masked_fill_(keys > torch.arange(q.shape[2], device=q.device).unsqueeze(1), -math.inf)
    if length is not None:
        scores.masked_fill_(keys >= length.view(-1, 1, 1, 1), -math.inf)
    return scores


def _probabilities(scores: Tensor, lse: Tensor) -> Tensor:
    """exp(scores - lse), 0 in a row that sees nothing; overwrites `scores`."""
    return scores.sub_(lse.masked_fill(lse == -math.inf, 0).unsqueeze(-1)).exp_()
