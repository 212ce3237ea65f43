"""Convolutions, for one to three spatial axes.

Shapes throughout: x (N, C, *spatial), w (O, C / groups, *kernel), dy and y (N, O, *out) with
out = (size + 2 pad - dilate (kernel - 1) - 1) // stride + 1; `stride`, `dilate` and `pad` are tuples with one entry per
spatial axis. Operands may have any strides; channels-last operands give channels-last results.

Floor of a pass: 2 N O prod(out) prod(kernel) C / groups operations at the rate of the tensor cores, or the bytes of
x, w and y once each, whichever takes longer; depthwise passes are always bound by the bytes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty, fits, windows
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel
from core.kernels.layout import CHANNELS_LAST, memory_format
from core.kernels.precision import wide_type


@kernel
def conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    activation: str | None = None, residual: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    """activation(cross-correlation of x with w + b + residual); b (O,) and residual (N, O, *out) where given.

    `activation` is None, "relu", "gelu", "sigmoid" or "tanh"; w may be what `pack` made of it. With `overwrite` the
    result may take the memory of the residual.
    """
    y = _convolved(x, w, b, stride, dilate, pad, groups)
    fits(
        residual is None or residual.shape == y.shape, "what is added to a convolution", y,
        *() if residual is None else (residual,),
    )  # fmt: skip
    return y


@kernel
def conv_batch_norm(
    x: Tensor, w: Tensor, b: Tensor | None, gamma: Tensor | None, beta: Tensor | None, stride: Ints, dilate: Ints,
    pad: Ints, groups: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """y of `conv` and `norm.batch_norm` of it by its channels: (y, normalised, mean, rstd).

    Floor: that of both but for one read of y, whose statistics are taken while its tiles are in registers.
    """
    y = _convolved(x, w, b, stride, dilate, pad, groups)
    given = [p for p in (gamma, beta) if p is not None]
    fits(all(p.shape == w.shape[:1] for p in given), "a normalisation", y, *given)
    statistics = ((w.shape[0],), wide_type(y.dtype))
    return y, empty(y.shape, y.dtype, y), empty(*statistics), empty(*statistics)


@kernel
def pack(w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, exact: bool = False) -> Tensor:
    """The weight in the order in which `conv` reads it fastest for x of this shape; for `conv` alone.

    exact: sums of whole numbers have to stay whole.
    """
    layout = CHANNELS_LAST.get(w.dim(), torch.contiguous_format)
    return torch.empty(w.shape, dtype=w.dtype, device="meta", memory_format=layout)


@kernel
def quantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    """float32 sums of the products of quantized values, x uint8 or int8 and w int8 or what `pack_quantized` made of it, + b (O,)."""
    fits(w.dtype is torch.int8 and x.dtype in (torch.int8, torch.uint8), "a convolution of quantized values", x, w)
    real = empty(x.shape, torch.float32, x), empty(w.shape, torch.float32, w)
    return _convolved(*real, b, stride, dilate, pad, groups)


@kernel
def requantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, scale: Tensor, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    signed: bool, residual: Tensor | None = None, meaning: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    """The integers nearest to (sums of `quantized_conv`) * scale + b + residual * meaning, halves to even: int8 where
    `signed`, else uint8, from the least to the largest one; beside an int8 residual at most 127.

    scale and b (O,), meaning (1,), float32; residual int8 or uint8 like the result (N, O, *out), int8 where `signed`.
    overwrite: the result may lie in the memory of the residual.
    """
    fits(w.dtype is torch.int8 and x.dtype in (torch.int8, torch.uint8), "a convolution of quantized values", x, w)
    real = empty(x.shape, torch.float32, x), empty(w.shape, torch.float32, w)
    y = _convolved(*real, b, stride, dilate, pad, groups)
    fits(residual is None or residual.shape == y.shape, "what is added to a convolution", y)
    return empty(y.shape, torch.int8 if signed else torch.uint8, y)


@kernel
def pack_quantized(
    w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, signed: bool
) -> Tensor:
    """The int8 weight in the order in which `quantized_conv` reads it fastest for x of this shape, int8 if `signed`."""
    return empty(w.shape, w.dtype)


@kernel
def conv_data_grad(dy: Tensor, w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int) -> Tensor:
    """Gradient of `conv` by x, of shape `x_shape`; also the forward pass of a transposed convolution."""
    fits(dy.shape[1] == w.shape[0] and x_shape[1] == w.shape[1] * groups, "channels of a convolution", dy, w)
    out = windows(x_shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    fits(tuple(dy.shape[2:]) == out, "windows of a convolution", dy, w)
    return empty(x_shape, dy.dtype, dy)


@kernel
def conv_weight_grad(
    dy: Tensor, x: Tensor, w_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    """Gradient of `conv` by w, of shape `w_shape`."""
    return empty(w_shape, dy.dtype, dy)


@kernel
def conv_bias_grad(dy: Tensor) -> Tensor:
    """Gradient of `conv` by b: dy (N, O, *out) summed over all axes but 1."""
    return empty((dy.shape[1],), dy.dtype)


def _convolved(x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int) -> Tensor:
    fits(x.dim() == w.dim() == len(stride) + 2 and x.dtype is w.dtype, "a convolution", x, w)
    fits(x.shape[1] == w.shape[1] * groups and (b is None or b.shape == w.shape[:1]), "channels of a convolution", x, w)
    out = windows(x.shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    fits(all(n > 0 for n in out), "the kernel of a convolution is larger than its data", x, w)
    return empty((x.shape[0], w.shape[0], *out), x.dtype, w if memory_format(x) is torch.contiguous_format else x)
