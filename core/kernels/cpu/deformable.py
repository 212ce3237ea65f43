"""Columns of deformable convolutions on the CPU: four gathers of neighbours, which are scatters backward."""

from __future__ import annotations

import torch

from core.kernels.cpu._half import accumulator


def columns(x, offset, mask, kernel, stride, dilate, pad, groups):
    wide, offset, mask = (None if t is None else t.to(accumulator(t.dtype)) for t in (x, offset, mask))
    image, spots = _image(wide, groups), kernel[0] * kernel[1]
    y = 0
    for at, weight, _, _ in _corners(x.shape, offset, mask is not None, kernel, stride, dilate, pad, groups):
        y = y + _values(image, at) * weight.unsqueeze(1)
    if mask is not None:
        y = y * mask.reshape(image.shape[0], 1, y.shape[2])
    return y.reshape(*x.shape[:2], spots, offset.shape[2] * offset.shape[3]).to(x.dtype)


def columns_grad(dy, x, offset, mask, kernel, stride, dilate, pad, groups):
    wide, shifts, factor = (None if t is None else t.to(accumulator(t.dtype)) for t in (x, offset, mask))
    image, fading = _image(wide, groups), mask is not None
    lines, spots, windows = image.shape[0], kernel[0] * kernel[1], offset.shape[2] * offset.shape[3]
    dy = dy.to(image.dtype).reshape(lines, image.shape[1], spots * windows)
    factor = factor.reshape(lines, 1, spots * windows) if fading else torch.ones_like(dy[:, :1])
    scaled, dx, seen, down, right = dy * factor, torch.zeros_like(image), 0, 0, 0
    for at, weight, to_row, to_column in _corners(x.shape, shifts, fading, kernel, stride, dilate, pad, groups):
        dx.scatter_add_(2, at.unsqueeze(1).expand_as(dy), scaled * weight.unsqueeze(1))
        matched = (_values(image, at) * dy).sum(1)
        seen = seen + matched * weight
        down, right = down + matched * to_row, right + matched * to_column
    shifted = torch.stack([t.reshape(lines, spots, windows) for t in (down * factor[:, 0], right * factor[:, 0])], 2)
    return (
        dx.reshape(x.shape).to(x.dtype),
        shifted.reshape(offset.shape).to(offset.dtype),
        seen.reshape(mask.shape).to(mask.dtype) if fading else offset.new_zeros(0),
    )


def _image(x, groups):
    return x.reshape(x.shape[0] * groups, x.shape[1] // groups, x.shape[2] * x.shape[3])


def _values(image, at):
    return image.gather(2, at.unsqueeze(1).expand(-1, image.shape[1], -1))


def _corners(shape, offset, fading, kernel, stride, dilate, pad, groups):
    """Place, weight, and slopes of the weight downwards and to the right of each neighbour: (N groups, reads)."""
    batch, _, *size = shape
    out = offset.shape[2:]
    reads = kernel[0] * kernel[1] * out[0] * out[1]
    shifts = offset.reshape(batch * groups, kernel[0], kernel[1], 2, *out)
    inside, axes = None, []
    for axis, extent in enumerate(size):
        within = torch.arange(kernel[axis], device=offset.device, dtype=offset.dtype) * dilate[axis]
        start = torch.arange(out[axis], device=offset.device, dtype=offset.dtype) * stride[axis] - pad[axis]
        within, start = (
            (within.reshape(-1, 1, 1, 1), start.reshape(-1, 1)) if axis == 0 else (within.reshape(-1, 1, 1), start)
        )
        x = shifts[:, :, :, axis] + (within + start)
        here = (x > -1 if fading else x >= 0) & (x < extent)
        inside = here if inside is None else inside & here
        slope = torch.ones_like(x) if fading else (x < extent - 1).to(x.dtype)
        x = x if fading else x.clamp(max=extent - 1)  # from the centre of the last element on its value holds
        low = x.floor()
        part = x - low
        axes.append([(low, 1 - part, -slope), (low + 1, part, slope)])
    corners = []
    for row, row_weight, row_slope in axes[0]:
        for column, column_weight, column_slope in axes[1]:
            exists = inside & (row >= 0) & (row < size[0]) & (column >= 0) & (column < size[1])
            at = row.nan_to_num().clamp(0, size[0] - 1) * size[1] + column.nan_to_num().clamp(0, size[1] - 1)
            terms = row_weight * column_weight, row_slope * column_weight, row_weight * column_slope
            corners.append(
                [t.reshape(batch * groups, reads) for t in (at.to(torch.int64), *(t * exists for t in terms))]
            )
    return corners
