"""Rules for the kernels of `conv` on tensors without memory."""

import torch

from core.kernels.layout import CHANNELS_LAST, memory_format
from core.kernels.meta.base import empty, enter, fits, windows


@enter("conv")
def conv(x, w, b, stride, dilate, pad, groups, activation=None, residual=None, overwrite=False):
    fits(x.dim() == w.dim() == len(stride) + 2 and x.dtype is w.dtype, "a convolution", x, w)
    fits(x.shape[1] == w.shape[1] * groups and (b is None or b.shape == w.shape[:1]), "channels of a convolution", x, w)
    out = windows(x.shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    fits(all(n > 0 for n in out), "the kernel of a convolution is larger than its data", x, w)
    y = empty((x.shape[0], w.shape[0], *out), x.dtype, w if memory_format(x) is torch.contiguous_format else x)
    fits(residual is None or residual.shape == y.shape, "what is added to a convolution", y, residual)
    return y


@enter("conv")
def pack(w, x_shape, stride, dilate, pad, groups, exact=False):
    layout = CHANNELS_LAST.get(w.dim(), torch.contiguous_format)
    return torch.empty(w.shape, dtype=w.dtype, device="meta", memory_format=layout)


@enter("conv")
def code_conv(x, w, b, stride, dilate, pad, groups):
    fits(w.dtype is torch.int8 and x.dtype in (torch.int8, torch.uint8), "a convolution of codes", x, w)
    real = empty(x.shape, torch.float32, x), empty(w.shape, torch.float32, w)
    return conv(*real, b, stride, dilate, pad, groups)


@enter("conv")
def pack_codes(w, x_shape, stride, dilate, pad, groups, signed):
    return empty(w.shape, w.dtype)


@enter("conv")
def conv_data_grad(dy, w, x_shape, stride, dilate, pad, groups):
    fits(dy.shape[1] == w.shape[0] and x_shape[1] == w.shape[1] * groups, "channels of a convolution", dy, w)
    out = windows(x_shape[2:], w.shape[2:], stride, dilate, [(p, p) for p in pad])
    fits(tuple(dy.shape[2:]) == out, "windows of a convolution", dy, w)
    return empty(x_shape, dy.dtype, dy)


@enter("conv")
def conv_weight_grad(dy, x, w_shape, stride, dilate, pad, groups):
    return empty(w_shape, dy.dtype, dy)


@enter("conv")
def conv_bias_grad(dy):
    return empty((dy.shape[1],), dy.dtype)
