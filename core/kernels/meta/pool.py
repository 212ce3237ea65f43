"""Rules for the kernels of `pool` on tensors without memory."""

import torch

from core.kernels.meta.base import empty, enter, windows


@enter("pool")
def max_pool(x, kernel, stride, pad, places=True):
    shape = (*x.shape[:2], *windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad))
    return empty(shape, x.dtype, x), empty(shape, torch.int64, x) if places else None


@enter("pool")
def max_pool_grad(dy, argmax, x_shape, kernel, stride, pad):
    return empty(x_shape, dy.dtype, dy)


@enter("pool")
def avg_pool(x, kernel, stride, pad, count_include_pad):
    return empty((*x.shape[:2], *windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad)), x.dtype, x)


@enter("pool")
def avg_pool_grad(dy, x_shape, kernel, stride, pad, count_include_pad):
    return empty(x_shape, dy.dtype, dy)


@enter("pool")
def max_pool_gather(ddx, argmax):
    return empty(argmax.shape, ddx.dtype, ddx)
