"""Pooling of regions and sampling of images at fractional places (Triton wing).

Feature maps of regions are read as (N, H, W, C), images as (N, C, H, W); results are (N, C, H, W). Kernels and their
floors: `_regions` and `_resampling`. Gradients of regions and of sampled data are added by atomics (`_order_free`).
"""

from __future__ import annotations

import math

import torch
import triton

from core.kernels.triton import _regions, _resampling, reduce
from core.kernels.triton._order_free import begin, finish
from core.kernels.triton.places import channels_last


def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    """Means of bilinear samples in the cells of regions: (regions, channels, *pooled) of data (N, C, H, W).

    rois (regions, 5): image, left, top, right, bottom; image -1 gives zeros. With 4 columns all are of image 0.
    ratio: samples a cell on each axis, ceil(length of the cell) with 0 or less. aligned: half a pixel is taken off.
    by_position: each cell reads its own share of the channels.
    """
    return _align(data, rois, pooled, scale, ratio, aligned, by_position)


def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    """Gradient of `roi_align` with respect to data of shape `data_shape`."""
    return _align_grad(dy, rois, scale, ratio, aligned, by_position, data_shape)


def rotated_roi_align(data, rois, pooled, scale, ratio):
    """As `roi_align` for rois (regions, 6): image, centre x, centre y, width, height, degrees against the clock."""
    return _align(data, rois, pooled, scale, ratio, False, False)


def rotated_roi_align_grad(dy, rois, pooled, scale, ratio, data_shape):
    """Gradient of `rotated_roi_align` with respect to data of shape `data_shape`."""
    return _align_grad(dy, rois, scale, ratio, False, False, data_shape)


def roi_pool(data, rois, pooled, scale):
    """Maxima over the cells of regions (regions, C, *pooled) and their places in (N, H, W), int64, -1 where empty.

    rois (regions, 5): image, left, top, right, bottom, the last two inside of the region.
    """
    batch, channels, height, width = data.shape
    y = torch.zeros((rois.shape[0], *pooled, channels), dtype=data.dtype, device=data.device)
    at = torch.full(y.shape, -1, dtype=torch.int64, device=data.device)
    if y.numel() and data.numel():
        grid, block = _over_cells(y)
        _regions.maxima[grid](
            channels_last(data),
            rois.contiguous(),
            y,
            at,
            batch,
            height,
            width,
            channels,
            *pooled,
            float(scale),
            BLOCK=block,
        )
    return _by_channel(y), _by_channel(at)


def roi_pool_grad(dy, places, data_shape):
    """Gradient of `roi_pool` with respect to data: what came back, added up at the places of the maxima."""
    batch, channels, height, width = data_shape
    sums = begin((batch, height, width, channels), dy, 1)
    if dy.numel() and sums.memory.numel():
        _regions.spread_maxima[_flat(dy, _regions.BLOCK)](
            channels_last(dy), channels_last(places), sums.memory, sums.scale, dy.numel(), channels, EXACT=sums.exact,
            BLOCK=_regions.BLOCK,
        )  # fmt: skip
    return _by_channel(finish(sums, dy.dtype))


def roi_pool_gather(x, places):
    """The elements of x (N, C, H, W) that `roi_pool` chose: the adjoint of `roi_pool_grad`."""
    at = channels_last(places)
    y = torch.zeros(at.shape, dtype=x.dtype, device=x.device)
    if y.numel() and x.numel():
        _regions.gather_maxima[_flat(y, _regions.BLOCK)](
            channels_last(x), at, y, y.numel(), x.shape[1], BLOCK=_regions.BLOCK
        )
    return _by_channel(y)


def bilinear_sample(data, grid):
    """data (N, C, H, W) at grid (N, 2, H', W') of x and y, -1 and 1 being the outermost centres; zeros outside."""
    batch, channels, height, width = data.shape
    y = torch.empty((batch, channels, *grid.shape[2:]), dtype=data.dtype, device=data.device)
    if y.numel():
        _resampling.sample[_flat(y)](
            data.contiguous(), grid.contiguous(), y, y.numel(), channels, height, width, math.prod(grid.shape[2:]),
            BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return y


def bilinear_sample_grad(dy, data, grid):
    """Gradients of `bilinear_sample` with respect to data and grid."""
    channels, height, width = data.shape[1:]
    dy, grid, places = dy.contiguous(), grid.contiguous(), math.prod(grid.shape[2:])
    sums, dgrid = begin(data.shape, dy, 4), torch.zeros_like(grid)
    if dy.numel():
        sizes = channels, height, width, places
        _resampling.sample_grad_data[_flat(dy)](
            dy, grid, sums.memory, sums.scale, dy.numel(), *sizes, EXACT=sums.exact, BLOCK=_resampling.BLOCK
        )
        total = grid.numel() // 2
        _resampling.sample_grad_grid[(triton.cdiv(total, _resampling.BLOCK),)](
            dy, data.contiguous(), grid, dgrid, total, *sizes, BLOCK=_resampling.BLOCK
        )
    return finish(sums, data.dtype), dgrid


def resize_bilinear(x, size, align_corners):
    """x (N, C, H, W) in another size; align_corners: the outermost centres stay where they are."""
    y = torch.empty((*x.shape[:2], *size), dtype=x.dtype, device=x.device)
    if y.numel():
        _resampling.resize[_flat(y)](
            x.contiguous(), y, y.numel(), *x.shape[2:], *size, CORNERS=bool(align_corners), BLOCK=_resampling.BLOCK
        )
    return y


def resize_bilinear_grad(dy, x_shape, align_corners):
    """Gradient of `resize_bilinear` with respect to x of shape `x_shape`."""
    dx, sizes = torch.empty(x_shape, dtype=dy.dtype, device=dy.device), (*x_shape[2:], *dy.shape[2:])
    if dx.numel():
        # An element is read from less than two elements' width, and rounding may begin a place early.
        readers = (2 * triton.cdiv(to, max(n - 1, 1)) + 2 for n, to in zip(x_shape[2:], dy.shape[2:], strict=True))
        _resampling.resize_grad[_flat(dx)](
            dy.contiguous(), dx, dx.numel(), *sizes, *readers, CORNERS=bool(align_corners), BLOCK=_resampling.BLOCK
        )
    return dx


def adaptive_avg_pool(x, size):
    """Means of size[0] x size[1] cells that cover x (N, C, H, W) evenly, overlapping where they do not divide it."""
    if tuple(size) == (1, 1):
        return reduce.mean(x, (2, 3), True)
    return _adaptive(x, (*x.shape[:2], *size), False)


def adaptive_avg_pool_grad(dy, x_shape):
    """Gradient of `adaptive_avg_pool` with respect to x of shape `x_shape`."""
    return _adaptive(dy, x_shape, True)


def columns(x, kernel, stride, dilate, pad):
    """What the windows of a convolution see: (N, C places of the kernel, windows) of x (N, C, H, W)."""
    batch, channels, *size = x.shape
    out = _windows(size, kernel, stride, dilate, pad)
    y = torch.empty((batch, channels * math.prod(kernel), math.prod(out)), dtype=x.dtype, device=x.device)
    if y.numel():
        _resampling.columns[_flat(y)](
            x.contiguous(), y, y.numel(), *size, *out, KERNEL=tuple(kernel), STRIDE=tuple(stride), DILATE=tuple(dilate),
            PAD=tuple(pad), BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return y


def columns_grad(dy, size, kernel, stride, dilate, pad):
    """Columns added up where `columns` took them from: (N, C, *size)."""
    shape = (dy.shape[0], dy.shape[1] // math.prod(kernel), *size)
    dx = torch.empty(shape, dtype=dy.dtype, device=dy.device)
    if dx.numel():
        out = _windows(size, kernel, stride, dilate, pad)
        _resampling.columns_grad[_flat(dx)](
            dy.contiguous(), dx, dx.numel(), *size, *out, KERNEL=tuple(kernel), STRIDE=tuple(stride),
            DILATE=tuple(dilate), PAD=tuple(pad), BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return dx


# ------------------------------------------------------------ launching


def _align(data, rois, pooled, scale, ratio, aligned, by_position):
    channels = data.shape[1] // (math.prod(pooled) if by_position else 1)
    y = torch.zeros((rois.shape[0], *pooled, channels), dtype=data.dtype, device=data.device)
    _launch_align(channels_last(data), rois, y, data.shape, scale, ratio, aligned, by_position, None)
    return _by_channel(y)


def _align_grad(dy, rois, scale, ratio, aligned, by_position, data_shape):
    batch, channels, *size = data_shape
    sums = begin((batch, *size, channels), dy, 4)
    _launch_align(sums.memory, rois, channels_last(dy), data_shape, scale, ratio, aligned, by_position, sums)
    return _by_channel(finish(sums, dy.dtype))


def _launch_align(rows, rois, y, data_shape, scale, ratio, aligned, by_position, sums):
    """Both directions: `rows` are the feature map or its gradient's `sums`, `y` the cells or their gradient."""
    if not y.numel() or not rows.numel():
        return
    grid, block = _over_cells(y)
    _regions.align[grid](
        rows, rois.contiguous(), y, y if sums is None else sums.scale, data_shape[0], *data_shape[2:], y.shape[3],
        *y.shape[1:3], float(scale), max(int(ratio), 0), COLUMNS=rois.shape[1], ALIGNED=bool(aligned),
        BY_POSITION=bool(by_position), BACKWARD=sums is not None, EXACT=sums is not None and sums.exact, BLOCK=block,
        num_warps=_regions.WARPS[rois.shape[1]],
    )  # fmt: skip


def _adaptive(x, shape, backward):
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    if y.numel():
        windows = (triton.cdiv(n, to) + 1 for n, to in zip(x.shape[2:], shape[2:], strict=True))
        _resampling.adaptive_mean[_flat(y)](
            x.contiguous(), y, y.numel(), *x.shape[2:], *shape[2:], *windows, BACKWARD=backward, BLOCK=_resampling.BLOCK
        )
    return y


def _windows(size, kernel, stride, dilate, pad):
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in zip(size, kernel, stride, dilate, pad, strict=True)
    ]


def _by_channel(t):
    return t.movedim(-1, 1).contiguous()


def _over_cells(y):
    """Programs, and channels of each, of a launch over y (regions, rows, columns, channels)."""
    channels = y.shape[-1]
    block = min(_regions.BLOCK, triton.next_power_of_2(channels))
    return (y.numel() // channels * triton.cdiv(channels, block),), block


def _flat(t, block=_resampling.BLOCK):
    return (triton.cdiv(t.numel(), block),)
