"""Rules for the kernels of `vision` on tensors without memory."""

import math
from functools import partial

from core.kernels.meta.base import empty, enter, fits, of_given_shape, windows


@enter("vision", "resize_bilinear", "adaptive_avg_pool")
def sized(x, size, align_corners=False):
    return empty((*x.shape[:2], *size), x.dtype)


enter("vision", "resize_bilinear_grad", "adaptive_avg_pool_grad")(partial(of_given_shape, 1))
enter("vision", "roi_pool_grad")(partial(of_given_shape, 2))
enter("vision", "rotated_roi_align_grad")(partial(of_given_shape, 5))


@enter("vision")
def rotated_roi_align(data, rois, pooled, scale, ratio):
    return empty((rois.shape[0], data.shape[1], *pooled), data.dtype)


@enter("vision")
def roi_pool_gather(x, places):
    return empty(places.shape, x.dtype)


@enter("vision")
def bilinear_sample(data, grid):
    return empty((*data.shape[:2], *grid.shape[2:]), data.dtype)


@enter("vision")
def bilinear_sample_grad(dy, data, grid):
    return empty(data.shape, data.dtype), empty(grid.shape, grid.dtype)


@enter("vision")
def columns(x, kernel, stride, dilate, pad):
    out = windows(x.shape[2:], kernel, stride, dilate, [(p, p) for p in pad])
    fits(all(n > 0 for n in out), "the kernel is larger than the data", x)
    return empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)


@enter("vision")
def columns_grad(dy, size, kernel, stride, dilate, pad):
    return empty((dy.shape[0], dy.shape[1] // math.prod(kernel), *size), dy.dtype)


@enter("vision")
def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    channels = data.shape[1] // (pooled[0] * pooled[1]) if by_position else data.shape[1]
    return empty((rois.shape[0], channels, *pooled), data.dtype)


@enter("vision")
def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    return empty(data_shape, dy.dtype)
