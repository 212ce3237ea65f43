"""Pooling of regions and sampling of images at fractional positions.

Images and feature maps are (N, C, H, W). Results of half types accumulate in float32. Floor: the bytes of the samples
that are read and of the result.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty, fits, windows
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel


@kernel
def roi_align(
    data: Tensor, rois: Tensor, pooled: Ints, scale: float, ratio: int, aligned: bool, by_position: bool
) -> Tensor:
    """Means of bilinear samples in the cells of regions: (regions, channels, *pooled) of data (N, C, H, W).

    rois (regions, 5): image, left, top, right, bottom; image -1 gives zeros. With 4 columns all are of image 0.
    ratio: samples a cell on each axis, ceil(length of the cell) with 0 or less. aligned: half a pixel is taken off.
    by_position: each cell reads its own share of the channels.
    """
    channels = data.shape[1] // (pooled[0] * pooled[1]) if by_position else data.shape[1]
    return empty((rois.shape[0], channels, *pooled), data.dtype)


@kernel
def roi_align_grad(
    dy: Tensor, rois: Tensor, pooled: Ints, scale: float, ratio: int, aligned: bool, by_position: bool, data_shape: Ints
) -> Tensor:
    """Gradient of `roi_align` with respect to data of shape `data_shape`."""
    return empty(data_shape, dy.dtype)


@kernel
def rotated_roi_align(data: Tensor, rois: Tensor, pooled: Ints, scale: float, ratio: int) -> Tensor:
    """As `roi_align` for rois (regions, 6): image, centre x, centre y, width, height, degrees against the clock."""
    return empty((rois.shape[0], data.shape[1], *pooled), data.dtype)


@kernel
def rotated_roi_align_grad(
    dy: Tensor, rois: Tensor, pooled: Ints, scale: float, ratio: int, data_shape: Ints
) -> Tensor:
    """Gradient of `rotated_roi_align` with respect to data of shape `data_shape`."""
    return empty(data_shape, dy.dtype)


@kernel
def roi_pool(data: Tensor, rois: Tensor, pooled: Ints, scale: float) -> tuple[Tensor, Tensor]:
    """Maxima over the cells of regions (regions, C, *pooled) and their positions in (N, H, W), int64, -1 where empty.

    rois (regions, 5): image, left, top, right, bottom, the last two inside of the region; those of no image are empty.
    """
    shape = (rois.shape[0], data.shape[1], *pooled)
    return empty(shape, data.dtype), empty(shape, torch.int64)


@kernel
def roi_pool_grad(dy: Tensor, positions: Tensor, data_shape: Ints) -> Tensor:
    """Gradient of `roi_pool` with respect to data: what came back, added up at the positions of the maxima."""
    return empty(data_shape, dy.dtype)


@kernel
def roi_pool_gather(x: Tensor, positions: Tensor) -> Tensor:
    """The elements of x (N, C, H, W) that `roi_pool` chose: the adjoint of `roi_pool_grad`."""
    return empty(positions.shape, x.dtype)


@kernel
def bilinear_sample(data: Tensor, grid: Tensor) -> Tensor:
    """data (N, C, H, W) at grid (N, 2, H', W') of x and y, -1 and 1 being the outermost centres; zeros outside."""
    return empty((*data.shape[:2], *grid.shape[2:]), data.dtype)


@kernel
def bilinear_sample_grad(dy: Tensor, data: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of `bilinear_sample` with respect to data and grid."""
    return empty(data.shape, data.dtype), empty(grid.shape, grid.dtype)


@kernel
def resize_bilinear(x: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """x (N, C, H, W) in another size; align_corners: the outermost centres stay where they are."""
    return empty((*x.shape[:2], *size), x.dtype)


@kernel
def resize_bilinear_grad(dy: Tensor, x_shape: Ints, align_corners: bool) -> Tensor:
    """Gradient of `resize_bilinear` with respect to x of shape `x_shape`."""
    return empty(x_shape, dy.dtype)


@kernel
def adaptive_avg_pool(x: Tensor, size: Ints) -> Tensor:
    """Means of size[0] x size[1] cells that cover x (N, C, H, W) evenly, overlapping where they do not divide it."""
    return empty((*x.shape[:2], *size), x.dtype)


@kernel
def adaptive_avg_pool_grad(dy: Tensor, x_shape: Ints) -> Tensor:
    """Gradient of `adaptive_avg_pool` with respect to x of shape `x_shape`."""
    return empty(x_shape, dy.dtype)


@kernel
def columns(x: Tensor, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints) -> Tensor:
    """What the windows of a convolution see: (N, C positions of the kernel, windows) of x (N, C, H, W)."""
    out = windows(x.shape[2:], kernel, stride, dilate, [(p, p) for p in pad])
    fits(all(n > 0 for n in out), "the kernel is larger than the data", x)
    return empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)


@kernel
def columns_grad(dy: Tensor, size: Ints, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints) -> Tensor:
    """Columns added up where `columns` took them from: (N, C, *size)."""
    return empty((dy.shape[0], dy.shape[1] // math.prod(kernel), *size), dy.dtype)
