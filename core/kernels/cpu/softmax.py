"""Softmax, log-softmax and the cross-entropy loss on the CPU."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from core.dtypes import accumulates_safely

aten = torch.ops.aten
LONG = 8192  # elements from which on sums of float16 are not rounded at every step


def softmax(x: Tensor, axis: int) -> Tensor:
    if x.dtype is torch.float16 and _sums_in_half(x, axis):
        _, powers, total = _summed_in_half(x, axis)
        return powers.div_(total).half()
    return torch._softmax(x, axis, False)


def onednn_softmax(x: Tensor, axis: int) -> Tensor:
    if x.dtype is not torch.float32 or not x.numel() or not torch.backends.mkldnn.is_available():
        return softmax(x, axis)
    return torch.softmax(x.contiguous().to_mkldnn(), axis).to_dense()


def log_softmax(x: Tensor, axis: int) -> Tensor:
    if x.dtype is torch.float16 and _sums_in_half(x, axis):
        below, _, total = _summed_in_half(x, axis)
        return below.sub_(total.log_()).half()
    return torch._log_softmax(x, axis, False)


def softmax_grad(dy: Tensor, y: Tensor, axis: int, length: Tensor | None = None) -> Tensor:
    if length is None or _fit(length, y, axis):
        return torch._softmax_backward_data(dy, y, axis, y.dtype)
    dy, y = dy.contiguous(), y.contiguous()
    dx = torch._softmax_backward_data(dy, y, axis, y.dtype)
    for (row, ys), (_, dys), (dxs, _) in zip(*(_reading_on(t, length, axis) for t in (y, dy, dx))):
        total = torch.dot(ys.double(), dys.double())
        dxs.copy_(row * (dys[: len(row)] - total))
    return dx


def log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return torch._log_softmax_backward_data(dy, y, axis, y.dtype)


def masked_softmax(x: Tensor, length: Tensor, axis: int) -> Tensor:
    positions = x.shape[axis]
    # A row of length 0 is all -inf and comes out as NaN, which the second fill overwrites.
    beyond = torch.arange(positions, device=x.device).view(-1, *[1] * (x.ndim - 1 - axis)) >= length.unsqueeze(axis)
    y = softmax(x.masked_fill(beyond, -math.inf), axis).masked_fill_(beyond, 0)
    if _fit(length, x, axis):
        return y
    warnings.warn(
        f"softmax: a length of {int(length.max())} for {positions} positions counts what follows in memory, as in MXNet; "
        "clip the lengths",
        stacklevel=2,
    )
    x, y = x.contiguous(), y.contiguous()
    for (_, scores), (row, _) in zip(_reading_on(x, length, axis), _reading_on(y, length, axis)):
        row.copy_(softmax(scores, 0)[: len(row)])
    return y


def cross_entropy(logits: Tensor, label: Tensor, axis: int) -> Tensor:
    return torch._log_softmax(logits, axis, False).gather(axis, _classes(logits, label, axis)).squeeze(axis).neg_()


def cross_entropy_grad(dloss: Tensor, logits: Tensor, label: Tensor, axis: int) -> Tensor:
    difference = torch._softmax(logits, axis, False)
    classes = _classes(logits, label, axis)
    difference.scatter_add_(axis, classes, difference.new_full((), -1).expand_as(classes))
    return difference.mul_(dloss.unsqueeze(axis))


def _fit(length: Tensor, x: Tensor, axis: int) -> bool:
    return not x.numel() or int(length.max()) <= x.shape[axis]


def _reading_on(x: Tensor, length: Tensor, axis: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The rows along `axis` whose length is beyond them: each, and with what follows it in `x` up to its length,
    as views.
    """
    positions, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    columns, lengths = x.view(-1, inner), length.reshape(-1, inner)
    for outer, column in (lengths > positions).nonzero().tolist():
        whole = columns[outer * positions :, column][: int(lengths[outer, column])]
        yield whole[:positions], whole


def _classes(logits: Tensor, label: Tensor, axis: int) -> Tensor:
    return label.to(torch.int64).clamp(0, max(logits.shape[axis] - 1, 0)).unsqueeze(axis)


def _sums_in_half(x: Tensor, axis: int) -> bool:
    """Whether sums are rounded to float16 at every step, as MXNet's are.

    Longer rows, which would take a step for each element, add in float32: sums that stop at 2048 are of no use there.
    """
    return x.dtype is torch.float16 and (not x.dim() or x.shape[axis] <= LONG) and not accumulates_safely()


def _summed_in_half(x: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """x - max(x), its powers of e and their sums along `axis`, all float32.

    Each sum is rounded to float16 at every step.
    """
    if not x.numel():
        return x.float(), x.float(), x.float().sum(axis, keepdim=True)
    below = (x - x.amax(axis, keepdim=True)).float()
    powers = below.exp()
    total = torch.zeros_like(powers.narrow(axis, 0, 1)) if x.dim() else powers
    for part in powers.split(1, axis) if x.dim() else ():
        total = total.add_(part).half().float()
    return below, powers, total
