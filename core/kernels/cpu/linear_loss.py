"""The cross-entropy of a linear layer on the CPU, by parts of the logits."""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.precision import wide_type

_bindings = torch._C._nn  # of ATen; see `pointwise`
PART = 2**20  # logits that are in memory at a time


def linear_cross_entropy(x: Tensor, w: Tensor, b: Tensor | None, label: Tensor) -> tuple[Tensor, Tensor]:
    count, classes = x.shape[0], w.shape[0]
    lse = torch.empty(count, dtype=wide_type(x.dtype))
    chosen = torch.empty_like(lse)
    wanted = _classes(label, classes)
    for part in _parts(count, classes):
        logits = _bindings.linear(x[part], w, b).to(lse.dtype)
        torch.logsumexp(logits, 1, out=lse[part])
        chosen[part] = logits.gather(1, wanted[part, None])[:, 0]
    return (lse - chosen).to(x.dtype), lse


def linear_cross_entropy_grad(
    dloss: Tensor, x: Tensor, w: Tensor, b: Tensor | None, label: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    count, classes = x.shape[0], w.shape[0]
    wide, wanted, dloss = lse.dtype, _classes(label, classes), dloss.to(lse.dtype)
    dx, dw = torch.zeros(x.shape, dtype=wide), torch.empty_like(w)
    db = None if b is None else torch.empty_like(b)
    for part in _parts(classes, count):
        d = _bindings.linear(x, w[part], None if b is None else b[part]).to(wide)
        d = d.sub_(lse[:, None]).exp_()
        here = (wanted >= part.start) & (wanted < part.stop)
        d[here, wanted[here] - part.start] -= 1
        d = d.mul_(dloss[:, None])
        if db is not None:
            db[part] = d.sum(0)
        d = d.to(x.dtype)
        dx += d @ w[part]
        torch.mm(d.T, x, out=dw[part])
    return dx.to(x.dtype), dw, db


def _parts(length: int, other: int) -> list[slice]:
    """Slices of an axis of `length` whose products with the other one have PART elements."""
    step = max(PART // max(other, 1), 1)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


def _classes(label: Tensor, classes: int) -> Tensor:
    return label.to(torch.int64).clamp(0, max(classes - 1, 0))
