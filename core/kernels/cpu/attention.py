"""Scaled dot-product attention on the CPU, forward and backward.

q (B, H, Lq, D), k and v (B, H, Lk, D), floating-point. `causal`: query i sees the keys 0 .. i. `length` (B,) integers
or None: sample b sees its first `length[b]` keys. A query that sees nothing gives 0. `lse` (B, H, Lq), float32 (float64
for float64 inputs), is the log of the sum of the exponentials of a row, -inf for a query that sees nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from core.kernels.cpu import random
from core.kernels.cpu._onednn import multiplies

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)
CHUNK = 2**20  # scores at a time
FEW, LONG = 2**14, 512  # scores, keys


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
    if _fused(q, k, v, causal, dropout):
        q, k, v = (_unit_columns(t) for t in (q, k, v))
        mask = _additive_mask(q, k, length)
        o, lse = torch._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
        if length is not None:
            blind = (length <= 0).view(-1, 1, 1)
            o.masked_fill_(blind.unsqueeze(3), 0)
            lse.masked_fill_(blind, -math.inf)
        return o, lse
    if not k.shape[2]:
        lse = q.new_full(q.shape[:3], -math.inf, dtype=_accumulator(q.dtype))
        return q.new_zeros((*q.shape[:3], v.shape[3])), lse
    parts = [
        _some(*some, scale, causal, dropout, key)
        for some in _parts([q, k, v], q.shape[2] * k.shape[2], length, dropout)
    ]
    o, lse = (torch.cat(x) if len(parts) > 1 else x[0] for x in zip(*parts, strict=True))
    return o.view(*q.shape[:3], v.shape[3]), lse.view(q.shape[:3])


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
    if _fused(q, k, v, causal, dropout):
        do, q, k, v, o = (_unit_columns(t) for t in (do, q, k, v, o))
        mask = _additive_mask(q, k, length)
        if length is not None:
            # exp(score - lse) must be 0, not infinite, where a query saw nothing.
            lse = lse.masked_fill(lse == -math.inf, math.inf)
        return aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
            do, q, k, v, o, lse, 0.0, causal, attn_mask=mask, scale=scale
        )
    parts = [
        _some_grads(*some, scale, causal, dropout, key)
        for some in _parts([do, q, k, v], q.shape[2] * k.shape[2], length, dropout)
    ]
    grads = (torch.cat(x) if len(parts) > 1 else x[0] for x in zip(*parts, strict=True))
    return tuple(grad.view(t.shape) for grad, t in zip(grads, (q, k, v), strict=True))


def _fused(q: Tensor, k: Tensor, v: Tensor, causal: bool, dropout: float) -> bool:
    """Whether ATen's flash kernel computes this case; its dropout does not follow from a key.

    Nor does it use the processor's products in half precision, with which the plain way takes 0.6 of its time forward and
    0.25 to 0.6 backward (measured on an EPYC 9005), but it skips what causal queries do not see, and is one call.
    """
    if dropout or q.shape[-1] != v.shape[-1] or not q.numel() or not k.numel():
        return False
    if q.dtype not in HALF or not multiplies(q.dtype):
        return True
    return q.shape[:3].numel() * k.shape[2] < FEW or (causal and k.shape[2] > LONG)


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


def _parts(tensors: list[Tensor], scores: int, length: Tensor | None, dropout: float) -> Iterator[list]:
    """Attentions (N, L, D), a few at a time so that their scores stay in the caches, and the lengths (N, 1, 1) or None.

    A dropout mask is drawn for all of them at once.
    """
    heads, count = tensors[0].shape[1], tensors[0].shape[:2].numel()
    tensors = [t.reshape(count, *t.shape[2:]) for t in tensors]
    if length is not None:
        length = length.repeat_interleave(heads).view(-1, 1, 1)
    some = count if dropout else min(count, max(1, CHUNK // max(1, scores)))
    for first in range(0, max(1, count), max(1, some)):
        part = slice(first, first + some)
        yield [*(t[part] for t in tensors), None if length is None else length[part]]


def _some(q, k, v, length, scale, causal, dropout, key) -> tuple[Tensor, Tensor]:
    scores, p = _probabilities(q, k, length, scale, causal)
    lse = scores.amax(-1).to(p.dtype).sub_(p.amax(-1).log_())
    if length is not None:
        lse.masked_fill_(length[:, 0] <= 0, -math.inf)
    return _product(random.dropout(p, dropout, key) if dropout else p, v, q.dtype).to(q.dtype), lse


def _some_grads(do, q, k, v, length, scale, causal, dropout, key) -> tuple[Tensor, Tensor, Tensor]:
    kind = q.dtype
    p = _probabilities(q, k, length, scale, causal)[1]
    dv = _product((random.dropout(p, dropout, key) if dropout else p).mT, do, kind)
    dp = _product(do, v.mT, kind).to(p.dtype)
    if dropout:
        dp = random.dropout(dp, dropout, key)
    ds = aten._softmax_backward_data.default(dp, p, -1, p.dtype)
    dq, dk = _product(ds, k, kind, scale), _product(ds.mT, q, kind, scale)
    return dq.to(kind), dk.to(kind), dv.to(kind)


def _probabilities(q, k, length, scale, causal) -> tuple[Tensor, Tensor]:
    """The scores, -inf where a query may not look, and their softmax, 0 for a query that sees nothing."""
    scores = _product(q, k.mT, q.dtype, scale)
    keys = torch.arange(k.shape[1], device=q.device)
    if causal:
        beyond = keys > torch.arange(q.shape[1], device=q.device).unsqueeze(1)
        scores.add_(scores.new_zeros(beyond.shape).masked_fill_(beyond, -math.inf))
    if length is not None:
        beyond = keys >= length.clamp(min=1)
        scores.add_(scores.new_zeros(beyond.shape).masked_fill_(beyond, -math.inf))
    p = torch.softmax(scores, -1, dtype=_accumulator(q.dtype))
    return scores, p if length is None else p.masked_fill_(length <= 0, 0)


def _accumulator(kind: torch.dtype) -> torch.dtype:
    return torch.float64 if kind == torch.float64 else torch.float32


def _product(a: Tensor, b: Tensor, kind: torch.dtype, scale: float = 1) -> Tensor:
    """scale a b, of factors and in the type `kind` where the processor multiplies that, else in float32 or float64."""
    if kind not in HALF or not multiplies(kind):
        kind = _accumulator(kind)
    return torch.baddbmm(a.new_empty((1, 1, 1), dtype=kind), a.to(kind), b.to(kind), beta=0, alpha=scale)
