"""Softmax, log-softmax and the cross-entropy loss, forward and backward.

`axis` is one non-negative axis; inputs are floating-point; float16 and bfloat16 are computed in float32, with one
exception that MXNet 1.9.1's numbers ask for: on a CPU softmax and log-softmax of float16 round the sum of a row after
each addition, unless the environment says MXNET_SAFE_ACCUMULATION=1.

Floor: every tensor is read or written once: softmax 2 bytes(x), its gradient 3 bytes(x), cross-entropy bytes(x)
forward and 2 bytes(x) backward.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty, fits, without
from core.kernels.dispatch import kernel


@kernel
def softmax(x: Tensor, axis: int) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`."""
    return empty(x.shape, x.dtype)


@kernel
def onednn_softmax(x: Tensor, axis: int) -> Tensor:
    """`softmax`, on a CPU with oneDNN rounded as that does for float32: 2 to 8 times slower than ATen's."""
    return empty(x.shape, x.dtype)


@kernel
def log_softmax(x: Tensor, axis: int) -> Tensor:
    """x - log(sum(exp(x))) along `axis`."""
    return empty(x.shape, x.dtype)


@kernel
def softmax_grad(dy: Tensor, y: Tensor, axis: int, length: Tensor | None = None) -> Tensor:
    """Gradient of `softmax` for its input, from its output `y`: y (dy - sum(dy y)).

    With a `length` that of `masked_softmax`, where y is 0 beyond it.
    """
    return empty(dy.shape, dy.dtype)


@kernel
def log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    """Gradient of `log_softmax` for its input, from its output `y`: dy - exp(y) sum(dy)."""
    return empty(dy.shape, dy.dtype)


@kernel
def masked_softmax(x: Tensor, length: Tensor, axis: int) -> Tensor:
    """Softmax over the first `length` elements along `axis`; the other elements, and rows of length 0, are 0.

    `length`: integers, of the shape of `x` without `axis`. One beyond the axis is a mistake. A GPU counts it as all of
    the axis. On a CPU a warning is given, and as in MXNet the sum goes on over what follows in memory: the next rows,
    to the end of `x` and not beyond it.
    """
    fits(length.shape == without(x.shape, axis), "lengths of rows", x, length)
    return empty(x.shape, x.dtype)


@kernel
def cross_entropy(logits: Tensor, label: Tensor, axis: int) -> Tensor:
    """-log_softmax(logits)[label] along `axis`, of the shape of `logits` without `axis`.

    `label`: class indices of any dtype, truncated to integers and clipped to the classes there are.
    """
    fits(label.shape == without(logits.shape, axis), "labels of rows", logits, label)
    return empty(label.shape, logits.dtype)


@kernel
def cross_entropy_grad(dloss: Tensor, logits: Tensor, label: Tensor, axis: int) -> Tensor:
    """Gradient of `cross_entropy` for `logits`: dloss (softmax(logits) - onehot(label))."""
    return empty(logits.shape, logits.dtype)
