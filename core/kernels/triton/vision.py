"""Pooling of regions and sampling of images in Triton.

Feature maps of regions are read as (N, H, W, C), images as (N, C, H, W); results are (N, C, H, W). Kernels and their
floors: `_regions` and `_resampling`. Gradients of regions and of sampled data are added by atomics (`_order_free`).
"""

from __future__ import annotations

import math

import torch
import triton

from core.kernels.triton import _regions, _resampling, reduce
from core.kernels.triton._filled import full, zeros, zeros_like
from core.kernels.triton._order_free import begin, finish
from core.kernels.triton.copies import contiguous
from core.kernels.triton.windows import channels_last


def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    return _align(data, rois, pooled, scale, ratio, aligned, by_position)


def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    return _align_grad(dy, rois, scale, ratio, aligned, by_position, data_shape)


def rotated_roi_align(data, rois, pooled, scale, ratio):
    return _align(data, rois, pooled, scale, ratio, False, False)


def rotated_roi_align_grad(dy, rois, pooled, scale, ratio, data_shape):
    return _align_grad(dy, rois, scale, ratio, False, False, data_shape)


def roi_pool(data, rois, pooled, scale):
    batch, channels, height, width = data.shape
    y = zeros((rois.shape[0], *pooled, channels), data.dtype, data.device)
    at = full(y.shape, -1, torch.int64, data.device)
    if y.numel() and data.numel():
        grid, block = _over_cells(y)
        _regions.maxima[grid](
            channels_last(data),
            contiguous(rois),
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


def roi_pool_grad(dy, positions, data_shape):
    batch, channels, height, width = data_shape
    sums = begin((batch, height, width, channels), dy, 1)
    if dy.numel() and sums.memory.numel():
        _regions.spread_maxima[_flat(dy, _regions.BLOCK)](
            channels_last(dy), channels_last(positions), sums.memory, sums.scale, dy.numel(), channels, EXACT=sums.exact,
            BLOCK=_regions.BLOCK,
        )  # fmt: skip
    return _by_channel(finish(sums, dy.dtype))


def roi_pool_gather(x, positions):
    at = channels_last(positions)
    y = zeros(at.shape, x.dtype, x.device)
    if y.numel() and x.numel():
        _regions.gather_maxima[_flat(y, _regions.BLOCK)](
            channels_last(x), at, y, y.numel(), x.shape[1], BLOCK=_regions.BLOCK
        )
    return _by_channel(y)


def bilinear_sample(data, grid):
    batch, channels, height, width = data.shape
    y = torch.empty((batch, channels, *grid.shape[2:]), dtype=data.dtype, device=data.device)
    if y.numel():
        _resampling.sample[_flat(y)](
            contiguous(data), contiguous(grid), y, y.numel(), channels, height, width, math.prod(grid.shape[2:]),
            BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return y


def bilinear_sample_grad(dy, data, grid):
    channels, height, width = data.shape[1:]
    dy, grid, positions = contiguous(dy), contiguous(grid), math.prod(grid.shape[2:])
    sums, dgrid = begin(data.shape, dy, 4), zeros_like(grid)
    if dy.numel():
        sizes = channels, height, width, positions
        _resampling.sample_grad_data[_flat(dy)](
            dy, grid, sums.memory, sums.scale, dy.numel(), *sizes, EXACT=sums.exact, BLOCK=_resampling.BLOCK
        )
        total = grid.numel() // 2
        _resampling.sample_grad_grid[(triton.cdiv(total, _resampling.BLOCK),)](
            dy, contiguous(data), grid, dgrid, total, *sizes, BLOCK=_resampling.BLOCK
        )
    return finish(sums, data.dtype), dgrid


def resize_bilinear(x, size, align_corners):
    y = torch.empty((*x.shape[:2], *size), dtype=x.dtype, device=x.device)
    if y.numel():
        _resampling.resize[_flat(y)](
            contiguous(x), y, y.numel(), *x.shape[2:], *size, CORNERS=bool(align_corners), BLOCK=_resampling.BLOCK
        )
    return y


def resize_bilinear_grad(dy, x_shape, align_corners):
    dx, sizes = torch.empty(x_shape, dtype=dy.dtype, device=dy.device), (*x_shape[2:], *dy.shape[2:])
    if dx.numel():
        # An element is read from less than two elements' width, and rounding may begin a position early.
        readers = (2 * triton.cdiv(to, max(n - 1, 1)) + 2 for n, to in zip(x_shape[2:], dy.shape[2:], strict=True))
        _resampling.resize_grad[_flat(dx)](
            contiguous(dy), dx, dx.numel(), *sizes, *readers, CORNERS=bool(align_corners), BLOCK=_resampling.BLOCK
        )
    return dx


def adaptive_avg_pool(x, size):
    if tuple(size) == (1, 1):
        return reduce.mean(x, (2, 3), True)
    return _adaptive(x, (*x.shape[:2], *size), False)


def adaptive_avg_pool_grad(dy, x_shape):
    return _adaptive(dy, x_shape, True)


def columns(x, kernel, stride, dilate, pad):
    batch, channels, *size = x.shape
    out = _windows(size, kernel, stride, dilate, pad)
    y = torch.empty((batch, channels * math.prod(kernel), math.prod(out)), dtype=x.dtype, device=x.device)
    if y.numel():
        _resampling.columns[_flat(y)](
            contiguous(x), y, y.numel(), *size, *out, KERNEL=tuple(kernel), STRIDE=tuple(stride), DILATE=tuple(dilate),
            PAD=tuple(pad), BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return y


def columns_grad(dy, size, kernel, stride, dilate, pad):
    shape = (dy.shape[0], dy.shape[1] // math.prod(kernel), *size)
    dx = torch.empty(shape, dtype=dy.dtype, device=dy.device)
    if dx.numel():
        out = _windows(size, kernel, stride, dilate, pad)
        _resampling.columns_grad[_flat(dx)](
            contiguous(dy), dx, dx.numel(), *size, *out, KERNEL=tuple(kernel), STRIDE=tuple(stride),
            DILATE=tuple(dilate), PAD=tuple(pad), BLOCK=_resampling.BLOCK,
        )  # fmt: skip
    return dx


# ------------------------------------------------------------ launching


def _align(data, rois, pooled, scale, ratio, aligned, by_position):
    channels = data.shape[1] // (math.prod(pooled) if by_position else 1)
    y = zeros((rois.shape[0], *pooled, channels), data.dtype, data.device)
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
        rows, contiguous(rois), y, y if sums is None else sums.scale, data_shape[0], *data_shape[2:], y.shape[3],
        *y.shape[1:3], float(scale), max(int(ratio), 0), COLUMNS=rois.shape[1], ALIGNED=bool(aligned),
        BY_POSITION=bool(by_position), BACKWARD=sums is not None, EXACT=sums is not None and sums.exact, BLOCK=block,
        num_warps=_regions.WARPS[rois.shape[1]],
    )  # fmt: skip


def _adaptive(x, shape, backward):
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    if y.numel():
        windows = (triton.cdiv(n, to) + 1 for n, to in zip(x.shape[2:], shape[2:], strict=True))
        _resampling.adaptive_mean[_flat(y)](
            contiguous(x), y, y.numel(), *x.shape[2:], *shape[2:], *windows, BACKWARD=backward, BLOCK=_resampling.BLOCK
        )
    return y


def _windows(size, kernel, stride, dilate, pad):
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in zip(size, kernel, stride, dilate, pad, strict=True)
    ]


def _by_channel(t):
    return contiguous(t.movedim(-1, 1))


def _over_cells(y):
    """Programs, and channels of each, of a launch over y (regions, rows, columns, channels)."""
    channels = y.shape[-1]
    block = min(_regions.BLOCK, triton.next_power_of_2(channels))
    return (y.numel() // channels * triton.cdiv(channels, block),), block


def _flat(t, block=_resampling.BLOCK):
    return (triton.cdiv(t.numel(), block),)
