"""Matrix products.

Floor of an (M, K) by (K, N) product: 2 M N K operations at the rate of the tensor cores, or the bytes of the two
operands and the result, whichever takes longer. Square 16-bit products are bound by the former from about 1000 on,
products with one short side by the latter.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import broadcast, empty, fits
from core.kernels.dispatch import kernel


@kernel
def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product of the last two axes.

    Shapes: a (..., M, K), or (..., K, M) with `transpose_a`; b (..., K, N), or (..., N, K) with
    `transpose_b`. Leading axes are equal, or one operand has none; result (..., M, N), contiguous.
    float16 and bfloat16 accumulate in float32, integers on a GPU in int64.
    """
    fits(a.dim() > 1 and b.dim() > 1 and a.dtype is b.dtype, "a product of matrices", a, b)
    m, k = a.shape[-2:] if not transpose_a else (a.shape[-1], a.shape[-2])
    k2, n = b.shape[-2:] if not transpose_b else (b.shape[-1], b.shape[-2])
    fits(k == k2, "a product of matrices", a, b)
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), m, n), a.dtype)


@kernel
def linear(
    x: Tensor, w: Tensor, b: Tensor | None = None, activation: str | None = None, residual: Tensor | None = None
) -> Tensor:
    """activation(x w^T + b + residual); `activation` is None, "relu", "gelu", "sigmoid" or "tanh".

    Shapes: x (..., K), w (N, K) or what `pack` made of it, b (N,), residual and result (..., N).
    """
    fits(w.dim() == 2 and x.dim() > 0 and x.shape[-1] == w.shape[1] and x.dtype is w.dtype, "a linear layer", x, w)
    fits(b is None or tuple(b.shape) == (w.shape[0],), "the bias of a linear layer", w, *() if b is None else (b,))
    y = empty((*x.shape[:-1], w.shape[0]), x.dtype)
    fits(
        residual is None or residual.shape == y.shape, "what is added to a linear layer", y,
        *() if residual is None else (residual,),
    )  # fmt: skip
    return y


@kernel
def quantized_linear(x: Tensor, w: Tensor, scale: Tensor, b: Tensor | None = None, rectify: bool = False) -> Tensor:
    """(x w^T) * scale + b in float32, of quantized values x uint8 or int8 (..., K) and w int8 (N, K) or what
    `pack_quantized` made of it; scale (N,) or (1,), b (N,), float32. rectify: with 0 for what is negative.
    """
    fits(w.dtype is torch.int8 and x.dtype in (torch.int8, torch.uint8), "a product of quantized values", x, w)
    fits(w.dim() == 2 and x.dim() > 0 and x.shape[-1] == w.shape[1], "a product of quantized values", x, w)
    return empty((*x.shape[:-1], w.shape[0]), torch.float32)


@kernel
def pack_quantized(w: Tensor, rows: int) -> Tensor:
    """The int8 weight (N, K) in the order in which `quantized_linear` reads it fastest for so many rows."""
    return empty(w.shape, w.dtype)


@kernel
def pack(w: Tensor, rows: int) -> Tensor:
    """The weight w (N, K) in the order in which `linear` reads it fastest for x of so many rows; for `linear` alone."""
    return empty(w.shape, w.dtype)
