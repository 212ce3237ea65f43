"""Matrix products on the CPU: ATen calls MKL (float32, float64) and oneDNN (float16, bfloat16)."""

from __future__ import annotations

import torch
from torch import Tensor

from core.base import MXNetError

aten = torch.ops.aten


def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product of the last two axes.

    Shapes: a (..., M, K), or (..., K, M) with `transpose_a`; b (..., K, N), or (..., N, K) with
    `transpose_b`. Leading axes are equal, or one operand has none; result (..., M, N), contiguous.
    float16 and bfloat16 accumulate in float32.
    """
    if transpose_a:
        a = a.mT
    if transpose_b:
        b = b.mT
    if a.dim() == b.dim() == 2:
        return torch.mm(a, b)
    if a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0]:
        return torch.bmm(a, b)
    return torch.matmul(a, b)


def linear(x: Tensor, w: Tensor, b: Tensor | None = None, activation: str | None = None, residual=None) -> Tensor:
    """activation(x w^T + b + residual); `activation` is None, "relu", "gelu", "sigmoid" or "tanh".

    Shapes: x (..., K), w (N, K), b (N,), residual and result (..., N).
    """
    if activation not in _ACTIVATIONS:
        raise MXNetError(f"linear: unknown activation {activation!r}; accepted are {', '.join(map(str, _ACTIVATIONS))}")
    y = aten.linear.default(x, w, b)
    if residual is not None:
        y.add_(residual)
    if activation is not None:
        _ACTIVATIONS[activation](y)
    return y


_ACTIVATIONS = {None: None, "relu": aten.relu_, "gelu": aten.gelu_, "sigmoid": aten.sigmoid_, "tanh": aten.tanh_}
