"""The cross-entropy of a linear layer without the layer's output in memory, for losses over large vocabularies.

x (N, D), w (V, D), b (V,) or None, floating-point of one dtype; label (N,): class indices of any dtype, truncated to
integers and clipped to the V classes. `lse` (N,), float32 (float64 for float64), is the log of the sum of the
exponentials of a row's logits. Sums are kept in the type of `lse`.

Floor: 2 N V D operations forward and 6 N V D backward, for the logits are computed twice; a layer and a loss apart take
2 and 4, and move 5 bytes(logits). Memory besides the results: one part of the gradient of the logits, of a few tens of
megabytes whatever N and V are.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.dispatch import kernel
from core.kernels.precision import wide_type


@kernel
def linear_cross_entropy(x: Tensor, w: Tensor, b: Tensor | None, label: Tensor) -> tuple[Tensor, Tensor]:
    """-log_softmax(x w^T + b)[label] of each row, and `lse`."""
    fits(x.dim() == w.dim() == 2 and x.shape[1] == w.shape[1] and x.dtype is w.dtype, "a linear layer", x, w)
    fits(b is None or tuple(b.shape) == (w.shape[0],), "the bias of a linear layer", w, *() if b is None else (b,))
    fits(tuple(label.shape) == (x.shape[0],), "labels of rows", x, label)
    return empty(label.shape, x.dtype), empty(label.shape, wide_type(x.dtype))


@kernel
def linear_cross_entropy_grad(
    dloss: Tensor, x: Tensor, w: Tensor, b: Tensor | None, label: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients (dx, dw, db) of `linear_cross_entropy`, from its inputs and its `lse`; db is None without a bias."""
    return empty(x.shape, x.dtype), empty(w.shape, w.dtype), None if b is None else empty(b.shape, b.dtype)
