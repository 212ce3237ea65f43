"""Convolutions on the CPU: oneDNN through ATen, and Winograd's transforms in packed weights."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from core.kernels.cpu import _winograd, norm
from core.kernels.cpu._direct import direct
from core.kernels.cpu._onednn import ENDINGS, finish, multiplies_quantized, onednn, packs, quantized
from core.kernels.epilogue import check_activation
from core.kernels.layout import CHANNELS_LAST, unset

_convolution_backward = direct(torch.ops.aten.convolution_backward.default)
Ints = tuple[int, ...]


def conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    activation: str | None = None, residual: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    check_activation("conv", activation)
    if w.ndim > x.ndim:
        relu = activation == "relu" and residual is None
        y = _winograd.conv(x, w, b, pad, relu)
        return y if relu else finish(y, residual, activation)
    if w.is_mkldnn:
        how = pad, stride, dilate, groups
        if residual is None:
            return onednn._convolution_pointwise.default(x, w, b, *how, *ENDINGS[activation])
        if activation in (None, "relu") and groups == 1:  # ATen fuses no other sums
            end = "add", 1, activation, [], None
            if overwrite and _both_channels_last(x, residual):
                return onednn._convolution_pointwise_.binary(residual, x, w, b, *how, *end)
            return onednn._convolution_pointwise.binary(x, residual, w, b, *how, *end)
        y = onednn._convolution_pointwise.default(x, w, b, *how, "none", [], "none")
    elif not x.shape[1] or not w.shape[0]:
        y = _without_channels(x, w, b, stride, dilate, pad)
    else:
        y = torch.convolution(x, w, b, stride, pad, dilate, False, (0,) * len(stride), groups)
    return finish(y, residual, activation)


def conv_batch_norm(
    x: Tensor, w: Tensor, b: Tensor | None, gamma: Tensor | None, beta: Tensor | None, stride: Ints, dilate: Ints,
    pad: Ints, groups: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    y = conv(x, w, b, stride, dilate, pad, groups)
    return y, *norm.batch_norm(y, gamma, beta, 1, eps)


def pack(w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, exact: bool = False) -> Tensor:
    if packs(w) and all(x_shape) and w.ndim in CHANNELS_LAST:
        if not exact and _winograd.suits(w, x_shape, stride, dilate, pad, groups):
            return _winograd.pack(w, x_shape, pad)
        return onednn._reorder_convolution_weight(w, pad, stride, dilate, groups, x_shape)
    return w.contiguous(memory_format=CHANNELS_LAST.get(w.ndim, torch.contiguous_format))


def quantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    if not w.is_mkldnn:
        w = pack_quantized(w, tuple(x.shape), stride, dilate, pad, groups, x.dtype is torch.int8)
    if not w.is_mkldnn:
        return conv(x.to(torch.float32), w.to(torch.float32), b, stride, dilate, pad, groups)
    zero = 0
    if x.dtype is torch.int8:
        x, zero = x.view(torch.uint8) ^ 128, 128
    scales, zeros = _ones(w.shape[0])
    return quantized.qconv2d_pointwise.default(
        x, 1.0, zero, w, scales, zeros, b, stride, pad, dilate, groups, 1.0, 0, torch.float32, "none", [], ""
    )


def requantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, scale: Tensor, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    signed: bool, residual: Tensor | None = None, meaning: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    if not w.is_mkldnn:
        w = pack_quantized(w, tuple(x.shape), stride, dilate, pad, groups, x.dtype is torch.int8)
    if not w.is_mkldnn:
        return _requantized(
            quantized_conv(x, w, None, stride, dilate, pad, groups), b, scale, signed, residual, meaning
        )
    zero = 0
    if x.dtype is torch.int8:
        x, zero = x.view(torch.uint8) ^ 128, 128
    kind = torch.int8 if signed else torch.uint8
    how = x, 1.0, zero, w, scale, _ones(w.shape[0])[1]
    if residual is None:
        return quantized.qconv2d_pointwise.default(
            *how, b, stride, pad, dilate, groups, 1.0, 0, kind, "none", [], "none"
        )
    own = residual.dtype  # from 0 to 127 an int8 is a uint8
    end = "none" if own is kind else "relu"
    if not overwrite or not residual.is_contiguous(memory_format=torch.channels_last):
        residual = torch.empty_like(residual, memory_format=torch.channels_last).copy_(residual)
    quantized.qconv2d_pointwise.binary(
        *how, residual, b, stride, pad, dilate, groups, 1.0, 0, own, meaning.item(), 0, "sum", 1.0, end, [], "none"
    )
    return residual.view(kind)  # oneDNN writes there; what ATen returns is a copy


def _requantized(sums, b, scale, signed, residual, meaning):
    by_channel = (-1, *(1,) * (sums.dim() - 2))
    y = sums * scale.view(by_channel)
    y = y if b is None else y.add_(b.view(by_channel))
    y = y if residual is None else y.add_(residual * meaning)
    low, high = (-128, 127) if signed else (0, 255)
    high = high if residual is None else min(high, torch.iinfo(residual.dtype).max)
    return y.round_().clamp_(low, high).to(torch.int8 if signed else torch.uint8)


def pack_quantized(
    w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, signed: bool
) -> Tensor:
    if w.ndim != 4 or not w.numel() or not all(x_shape) or not multiplies_quantized():
        return w
    return quantized.qconv_prepack(w, _ones(w.shape[0])[0], 1.0, 128 * signed, stride, pad, dilate, groups, x_shape)


def conv_data_grad(dy: Tensor, w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int) -> Tensor:
    if not dy.numel() or not w.numel() or not math.prod(x_shape):
        return dy.new_zeros(x_shape)
    # ATen reads no value of x here, only its shape and layout: the pages of this tensor are never touched.
    x = unset(dy, x_shape)
    return _backward(dy, x, w, stride, dilate, pad, groups, (True, False, False))[0]


def conv_weight_grad(
    dy: Tensor, x: Tensor, w_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    if not dy.numel() or not x.numel() or not math.prod(w_shape):
        return dy.new_zeros(w_shape)
    w = unset(dy, w_shape)
    return _backward(dy, x, w, stride, dilate, pad, groups, (False, True, False))[1]


def conv_bias_grad(dy: Tensor) -> Tensor:
    return dy.sum((0, *range(2, dy.ndim)))


@functools.cache
def _ones(outputs: int) -> tuple[Tensor, Tensor]:
    """Scales and zero points of quantized values that stand for themselves."""
    return torch.ones(outputs), torch.zeros(outputs, dtype=torch.int32)


def _both_channels_last(x: Tensor, y: Tensor) -> bool:
    layout = CHANNELS_LAST.get(x.ndim)
    return layout is not None and x.is_contiguous(memory_format=layout) and y.is_contiguous(memory_format=layout)


def _backward(dy, x, w, stride, dilate, pad, groups, wanted):
    return _convolution_backward(dy, x, w, None, stride, pad, dilate, False, (0,) * len(stride), groups, wanted)


def _without_channels(x, w, b, stride, dilate, pad):
    """The sum over no channels, to which ATen gives a wrong shape, or no sums."""
    out = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, d, p in zip(x.shape[2:], w.shape[2:], stride, dilate, pad, strict=True)
    ]
    y = x.new_zeros((x.shape[0], w.shape[0], *out))
    return y if b is None else y.add_(b.view(-1, *(1,) * len(out)))
