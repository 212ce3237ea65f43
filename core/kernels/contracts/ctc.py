"""Connectionist temporal classification (Graves et al., 2006).

Floor: the chain of steps, each a trip to the cache and back, and for the gradient one read of the scores and one write.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.dispatch import kernel


@kernel
def loss(data: Tensor, label: Tensor, counts: Tensor, lengths: Tensor | None, blank: int) -> Tensor:
    """-log of the probability of each label sequence (N,); 0 where it needs more steps than there are.

    data (T, N, C), float32 or float64: scores, of which the softmax is taken here. label (N, L): classes, of which the
    first counts (N,) are read. lengths (N,): steps of each sequence; None: all.
    """
    return empty((data.shape[1],), data.dtype)


@kernel
def loss_grad(dy: Tensor, data: Tensor, label: Tensor, counts: Tensor, lengths: Tensor | None, blank: int) -> Tensor:
    """Gradient of `loss` with respect to data."""
    return empty(data.shape, data.dtype)
