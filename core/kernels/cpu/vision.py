"""Pooling of regions and sampling of images on the CPU.

A region's pooled value is a weighted sum of rows of the feature map seen as (positions, channels), so regions become
bags of (position, weight) and one fused gather-and-sum does them all; the gradient is the same operation with bags and
positions exchanged.
"""

from __future__ import annotations

import math

import torch

from core.kernels.cpu._half import accumulator

aten = torch.ops.aten

_SUM, _MAX = 0, 2  # modes of ATen's bags


def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    samples = _aligned_samples(rois, pooled, scale, ratio, aligned)
    return _pool_samples(data, samples, pooled, by_position)


def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    samples = _aligned_samples(rois, pooled, scale, ratio, aligned)
    return _spread_samples(dy, samples, pooled, by_position, data_shape)


def rotated_roi_align(data, rois, pooled, scale, ratio):
    return _pool_samples(data, _rotated_samples(rois, pooled, scale, ratio), pooled, False)


def rotated_roi_align_grad(dy, rois, pooled, scale, ratio, data_shape):
    return _spread_samples(dy, _rotated_samples(rois, pooled, scale, ratio), pooled, False, data_shape)


def roi_pool(data, rois, pooled, scale):
    batch, channels, *size = data.shape
    regions = rois.shape[0]
    if not regions:
        shape = (regions, channels, *pooled)
        return data.new_zeros(shape), torch.zeros(shape, dtype=torch.int64, device=data.device)
    corners = _rounded(rois[:, 1:].float() * scale).to(torch.int64)
    top, rows = _cells(corners[:, 1], corners[:, 3], pooled[0], size[0])
    left, columns = _cells(corners[:, 0], corners[:, 2], pooled[1], size[1])
    image = rois[:, 0].to(torch.int64)
    rows = rows * ((image >= 0) & (image < batch)).unsqueeze(1)
    down, right = torch.arange(max(1, int(rows.max()))), torch.arange(max(1, int(columns.max())))
    inside = (down < rows.unsqueeze(-1))[:, :, None, :, None] & (right < columns.unsqueeze(-1))[:, None, :, None, :]
    row, column = (top.unsqueeze(-1) + down)[:, :, None, :, None], (left.unsqueeze(-1) + right)[:, None, :, None, :]
    positions = ((image.reshape(-1, 1, 1, 1, 1) * size[0] + row) * size[1] + column)[inside]
    lengths = inside.sum((3, 4)).reshape(-1)
    flat = data.permute(0, 2, 3, 1).reshape(-1, channels)
    y, _, _, at = torch._embedding_bag(flat, positions, lengths.cumsum(0) - lengths, False, _MAX)
    at = at.masked_fill(lengths.unsqueeze(1) == 0, -1)
    y, at = (t.reshape(regions, *pooled, channels).permute(0, 3, 1, 2).contiguous() for t in (y, at))
    return y, at


def roi_pool_grad(dy, positions, data_shape):
    batch, channels, *size = data_shape
    wide = torch.zeros((batch * size[0] * size[1], channels), dtype=accumulator(dy.dtype), device=dy.device)
    gradient, at = (t.permute(0, 2, 3, 1).reshape(-1, channels) for t in (dy, positions))
    wide.scatter_add_(0, at.clamp(min=0), gradient.to(wide.dtype) * (at >= 0))
    return wide.to(dy.dtype).reshape(batch, *size, channels).permute(0, 3, 1, 2).contiguous()


def roi_pool_gather(x, positions):
    channels = x.shape[1]
    flat = x.permute(0, 2, 3, 1).reshape(-1, channels)
    at = positions.permute(0, 2, 3, 1).reshape(-1, channels)
    values = flat.gather(0, at.clamp(min=0)) * (at >= 0)
    return values.reshape(positions.shape[0], *positions.shape[2:], channels).permute(0, 3, 1, 2).contiguous()


def bilinear_sample(data, grid):
    return torch.grid_sampler_2d(data, grid.permute(0, 2, 3, 1), 0, 0, True)


def bilinear_sample_grad(dy, data, grid):
    ddata, dgrid = aten.grid_sampler_2d_backward.default(dy, data, grid.permute(0, 2, 3, 1), 0, 0, True, [True, True])
    return ddata, dgrid.permute(0, 3, 1, 2).contiguous()


def resize_bilinear(x, size, align_corners):
    if not x.numel():
        return x.new_zeros((*x.shape[:2], *size))
    return aten.upsample_bilinear2d(x, list(size), align_corners, None, None).contiguous()


def resize_bilinear_grad(dy, x_shape, align_corners):
    if not dy.numel() or not math.prod(x_shape):
        return dy.new_zeros(x_shape)
    return aten.upsample_bilinear2d_backward(
        dy, list(dy.shape[2:]), list(x_shape), align_corners, None, None
    ).contiguous()


def adaptive_avg_pool(x, size):
    return torch._adaptive_avg_pool2d(x, list(size)).contiguous()


def adaptive_avg_pool_grad(dy, x_shape):
    if not dy.numel() or not math.prod(x_shape):
        return dy.new_zeros(x_shape)
    return aten._adaptive_avg_pool2d_backward(dy, dy.new_empty(x_shape)).contiguous()


def columns(x, kernel, stride, dilate, pad):
    return aten.im2col(x, list(kernel), list(dilate), list(pad), list(stride))


def columns_grad(dy, size, kernel, stride, dilate, pad):
    return aten.col2im(dy, list(size), list(kernel), list(dilate), list(pad), list(stride))


# ---------------------------------------------------------------------------------------------- samples of regions


def _aligned_samples(rois, pooled, scale, ratio, aligned):
    """(image, ys, xs, count, valid) of the samples: see `_grid`; coordinates (regions, cells, samples a cell)."""
    if rois.shape[1] == 4:
        image, corners = rois.new_zeros(rois.shape[0]), rois
    else:
        image, corners = rois[:, 0], rois[:, 1:]
    corners = corners.float() * scale - (0.5 if aligned else 0.0)
    extent = corners[:, 2:] - corners[:, :2]
    if not aligned:
        extent = extent.clamp(min=1.0)  # malformed regions are one pixel
    ys, height = _along(corners[:, 1], extent[:, 1], pooled[0], ratio)
    xs, width = _along(corners[:, 0], extent[:, 0], pooled[1], ratio)
    return _grid(image, ys, xs, height, width)


def _rotated_samples(rois, pooled, scale, ratio):
    centre = rois[:, 1:3].float() * scale
    extent = (rois[:, 3:5].float() * scale).clamp(min=1.0)
    angle = rois[:, 5].float() * (math.pi / 180)
    ys, height = _along(-extent[:, 1] / 2, extent[:, 1], pooled[0], ratio)
    xs, width = _along(-extent[:, 0] / 2, extent[:, 0], pooled[1], ratio)
    image, ys, xs, count, valid = _grid(rois[:, 0], ys, xs, height, width)
    cos, sin = (f(angle).reshape(-1, 1, 1) for f in (torch.cos, torch.sin))
    x = xs * cos + ys * sin + centre[:, 0].reshape(-1, 1, 1)
    y = ys * cos - xs * sin + centre[:, 1].reshape(-1, 1, 1)
    return image, y, x, count, valid


def _along(start, extent, cells, ratio):
    """Coordinates of samples on one axis (regions, cells, most samples of any) and each region's samples a cell."""
    size = extent / cells
    samples = torch.full_like(size, ratio) if ratio > 0 else torch.ceil(size)
    known = samples.numel()
    most = ratio if ratio > 0 else max(1, int(samples.max())) if known else 1
    position = torch.arange(most, dtype=torch.float32, device=start.device) + 0.5
    cell = torch.arange(cells, dtype=torch.float32, device=start.device).reshape(-1, 1)
    size = size.reshape(-1, 1, 1)
    return start.reshape(-1, 1, 1) + cell * size + position * size / samples.reshape(-1, 1, 1), samples


def _grid(image, ys, xs, height, width):
    """All pairs of the coordinates of two axes: (regions, cells, samples), samples that a region has not invalid."""
    regions, rows, tall = ys.shape
    columns, wide = xs.shape[1:]
    shape = (regions, rows, columns, tall, wide)
    valid = (torch.arange(tall, device=ys.device).reshape(-1, 1) < height.reshape(-1, 1, 1)) & (
        torch.arange(wide, device=ys.device) < width.reshape(-1, 1, 1)
    )
    ys, xs = ys[:, :, None, :, None].expand(shape), xs[:, None, :, None, :].expand(shape)
    valid = valid[:, None, None].expand(shape)
    image = image.to(torch.int64)
    valid = (valid & (image >= 0).reshape(-1, 1, 1, 1, 1)).reshape(regions, rows * columns, tall * wide)
    count = (height * width).reshape(-1, 1, 1)
    return image.clamp(min=0), ys.reshape(valid.shape), xs.reshape(valid.shape), count, valid


def _weights(samples, size):
    """Positions in (N, H, W) and weights of the four neighbours of each sample: (regions, cells, 4 samples)."""
    image, y, x, count, valid = samples
    height, width = size
    valid = valid & (y >= -1.0) & (y <= height) & (x >= -1.0) & (x <= width)
    share = valid / count.clamp(min=1)
    rows, columns = _neighbours(y, height), _neighbours(x, width)
    start = image.reshape(-1, 1, 1) * (height * width)
    positions = [start + row * width + column for row, _ in rows for column, _ in columns]
    weights = [down * right * share for _, down in rows for _, right in columns]
    return torch.cat(positions, -1), torch.cat(weights, -1)


def _neighbours(x, n):
    x = torch.nan_to_num(x).clamp(0, n - 1)
    low = x.floor()
    part = x - low
    low = low.to(torch.int64)
    return (low, 1 - part), ((low + 1).clamp_(max=n - 1), part)


def _pool_samples(data, samples, pooled, by_position):
    batch, channels, *size = data.shape
    cells = math.prod(pooled)
    regions = samples[1].shape[0]
    channels //= cells if by_position else 1
    if not regions:
        return data.new_zeros((regions, channels, *pooled))
    positions, weights = _weights(samples, size)
    positions = positions.clamp_(max=batch * size[0] * size[1] - 1)
    rows = _rows(data, cells if by_position else 1)
    if by_position:
        positions = positions * cells + torch.arange(cells, device=data.device).reshape(-1, 1)
    y = _bags(
        rows, positions.reshape(-1), weights.reshape(-1), _even(regions * cells, positions.shape[-1], data.device)
    )
    return y.reshape(regions, cells, channels).transpose(1, 2).reshape(regions, channels, *pooled).to(data.dtype)


def _spread_samples(dy, samples, pooled, by_position, data_shape):
    batch, channels, *size = data_shape
    cells, regions = math.prod(pooled), dy.shape[0]
    if not regions:
        return dy.new_zeros(data_shape)
    channels //= cells if by_position else 1
    kinds = cells if by_position else 1
    positions, weights = _weights(samples, size)
    if by_position:
        positions = positions * cells + torch.arange(cells, device=dy.device).reshape(-1, 1)
    count = batch * size[0] * size[1] * kinds
    owner = torch.arange(regions * cells, device=dy.device).reshape(-1, 1).expand(-1, positions.shape[-1]).reshape(-1)
    positions, order = positions.reshape(-1).sort(stable=True)
    starts = torch.searchsorted(positions, torch.arange(count, device=dy.device))
    gradient = _accumulated(dy).reshape(regions, channels, cells).transpose(1, 2).reshape(-1, channels)
    dx = _bags(gradient, owner[order], weights.reshape(-1)[order], starts)
    dx = dx.reshape(batch, *size, kinds, channels).permute(0, 4, 3, 1, 2)
    return dx.reshape(data_shape).to(dy.dtype)


def _rows(data, kinds):
    """(N, C, H, W) as rows of channels, one or `kinds` per position: channel c * kinds + k is c of row kind k."""
    batch, channels, height, width = data.shape
    parts = _accumulated(data).reshape(batch, channels // kinds, kinds, height, width)
    return parts.permute(0, 3, 4, 2, 1).reshape(-1, channels // kinds)


def _bags(rows, positions, weights, starts):
    """Weighted sums of rows; bag i holds the positions from starts[i] on."""
    return torch._embedding_bag(rows, positions, starts, False, _SUM, False, weights.to(rows.dtype), False)[0]


def _even(bags, length, device):
    return torch.arange(0, bags * length, length, device=device)


def _cells(low, high, cells, length):
    """First position and number of positions of the cells of regions [low, high] on an axis, cut to the data."""
    extent = (high - low + 1).clamp(min=1).float().reshape(-1, 1)
    size = extent / cells
    cell = torch.arange(cells, device=low.device)
    start = (cell * size).floor().to(torch.int64) + low.reshape(-1, 1)
    end = ((cell + 1) * size).ceil().to(torch.int64) + low.reshape(-1, 1)
    start, end = start.clamp(0, length), end.clamp(0, length)
    return start, end - start


def _rounded(x):
    """To the nearest integer, halves away from zero, as C rounds."""
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def _accumulated(x):
    return x.to(accumulator(x.dtype))
