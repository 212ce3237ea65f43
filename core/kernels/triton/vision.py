"""Pooling of regions (Triton wing); what this room lacks is computed on the CPU.

Feature maps are read as (N, H, W, C): a program does one cell of one region for a block of channels, so that every
sample reads four runs of memory. Floor: four runs of channels a sample, most of which the cache holds, and the result.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from core import kernels
from core.kernels.cpu import vision as reference
from core.kernels.triton.aot import AotCase

BLOCK = 256  # channels of a program


def roi_align(data, rois, pooled, scale, ratio, aligned, by_position):
    """Means of bilinear samples in the cells of regions: (regions, channels, *pooled) of data (N, C, H, W).

    rois (regions, 5): image, left, top, right, bottom; image -1 gives zeros. With 4 columns all are of image 0.
    ratio: samples a cell on each axis, ceil(length of the cell) with 0 or less. aligned: half a pixel is taken off.
    by_position: each cell reads its own share of the channels.
    """
    channels = data.shape[1] // (math.prod(pooled) if by_position else 1)
    rows = data.movedim(1, -1).contiguous()
    y = torch.zeros((rois.shape[0], *pooled, channels), dtype=data.dtype, device=data.device)
    _launch(rows, rois, y, data.shape, scale, ratio, aligned, by_position, False)
    return y.movedim(-1, 1).contiguous()


def roi_align_grad(dy, rois, pooled, scale, ratio, aligned, by_position, data_shape):
    """Gradient of `roi_align` with respect to data of shape `data_shape`.

    Regions overlap, so their shares are added by atomics; where results must repeat to the last bit, the CPU adds.
    """
    if kernels.deterministic():
        options = (pooled, scale, ratio, aligned, by_position, data_shape)
        return reference.roi_align_grad(dy.cpu(), rois.cpu(), *options).to(dy.device)
    batch, channels, *size = data_shape
    kind = torch.float64 if dy.dtype is torch.float64 else torch.float32
    dx = torch.zeros((batch, *size, channels), dtype=kind, device=dy.device)
    _launch(dx, rois, dy.movedim(1, -1).contiguous(), data_shape, scale, ratio, aligned, by_position, True)
    return dx.movedim(-1, 1).contiguous().to(dy.dtype)


def _launch(rows, rois, y, data_shape, scale, ratio, aligned, by_position, backward):
    """Both directions: `rows` are the feature map or its gradient, `y` the cells or their gradient."""
    regions, height, width, channels = y.shape
    if not y.numel() or not rows.numel():
        return
    block = min(BLOCK, triton.next_power_of_2(channels))
    grid = (regions * height * width * triton.cdiv(channels, block),)
    _align[grid](
        rows, rois.contiguous(), y, data_shape[0], data_shape[2], data_shape[3], channels, height, width, float(scale),
        max(int(ratio), 0), COLUMNS=rois.shape[1], ALIGNED=bool(aligned), BY_POSITION=bool(by_position),
        BACKWARD=backward, BLOCK=block,
    )  # fmt: skip


@triton.jit
def _align(
    x_ptr, rois_ptr, y_ptr, batch, height, width, channels, rows, columns, scale, ratio,
    COLUMNS: tl.constexpr, ALIGNED: tl.constexpr, BY_POSITION: tl.constexpr, BACKWARD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(channels, BLOCK)
    bin = (tl.program_id(0) // across).to(tl.int64)
    channel = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    cell = bin % (rows * columns)
    roi_ptr = rois_ptr + bin // (rows * columns) * COLUMNS
    image = tl.full((), 0, tl.int64)
    if COLUMNS == 5:
        image = tl.load(roi_ptr).to(tl.int64)
    start_x, size_x, samples_x = _cell(roi_ptr + COLUMNS - 4, cell % columns, columns, scale, ratio, ALIGNED)
    start_y, size_y, samples_y = _cell(roi_ptr + COLUMNS - 3, cell // columns, rows, scale, ratio, ALIGNED)
    count = (samples_x * samples_y).to(tl.float32)
    inside = channel < channels
    known = tl.where((image >= 0) & (image < batch), 1.0 / tl.maximum(count, 1.0), 0.0)
    image = tl.minimum(tl.maximum(image, 0), batch - 1)
    # Without `by_position` a row of the map holds the channels alone, else each one's values for all cells.
    stride, shift = 1, 0
    if BY_POSITION:
        stride, shift = rows * columns, cell
    x_ptr += image * height * width * channels * stride + channel * stride + shift
    y_ptr += bin * channels + channel
    total = tl.zeros((BLOCK,), tl.float32)
    if x_ptr.dtype.element_ty == tl.float64:
        total = total.to(tl.float64)
    if BACKWARD:
        total = tl.load(y_ptr, mask=inside, other=0.0).to(total.dtype)
    for a in range(samples_y):
        y = start_y + (a + 0.5) * size_y / samples_y
        top, bottom, down = _neighbours(y, height)
        share_y = tl.where((y >= -1.0) & (y <= height), known, 0.0)
        for b in range(samples_x):
            x = start_x + (b + 0.5) * size_x / samples_x
            left, end, right = _neighbours(x, width)
            share = tl.where((x >= -1.0) & (x <= width), share_y, 0.0)
            run = channels * stride
            corners = (
                ((top * width + left) * run, (1.0 - down) * (1.0 - right) * share),
                ((top * width + end) * run, (1.0 - down) * right * share),
                ((bottom * width + left) * run, down * (1.0 - right) * share),
                ((bottom * width + end) * run, down * right * share),
            )
            for i in tl.static_range(4):
                if BACKWARD:
                    tl.atomic_add(x_ptr + corners[i][0], total * corners[i][1], mask=inside, sem="relaxed")
                else:
                    total += tl.load(x_ptr + corners[i][0], mask=inside, other=0.0).to(total.dtype) * corners[i][1]
    if not BACKWARD:
        tl.store(y_ptr, total, mask=inside)


@triton.jit
def _cell(low_ptr, place, cells, scale, ratio, ALIGNED: tl.constexpr):
    """Start and length of a cell on one axis, and its number of samples."""
    low = tl.load(low_ptr).to(tl.float32) * scale
    extent = tl.load(low_ptr + 2).to(tl.float32) * scale - low
    if ALIGNED:
        low -= 0.5
    else:
        extent = tl.maximum(extent, 1.0)
    size = extent / cells
    samples = tl.where(ratio > 0, ratio, tl.ceil(size).to(tl.int32))
    return low + place.to(tl.float32) * size, size, samples


@triton.jit
def _neighbours(x, n):
    """The places before and after x, which is moved inside, and how far x is from the first one."""
    x = tl.minimum(tl.maximum(x, 0.0), n - 1.0)
    low = tl.floor(x)
    first = low.to(tl.int64)
    return first, tl.minimum(first + 1, n - 1), x - low


_TYPES = {
    "rois_ptr": "*fp32", "y_ptr": "*fp32", "batch": "i32", "height": "i32", "width": "i32", "channels": "i32:16",
    "rows": "i32", "columns": "i32", "scale": "fp32", "ratio": "i32",
}  # fmt: skip
AOT = [
    AotCase(
        _align,
        {"x_ptr": "*fp32", **_TYPES},
        {"COLUMNS": 5, "ALIGNED": False, "BY_POSITION": False, "BACKWARD": backward, "BLOCK": BLOCK},
    )
    for backward in (False, True)
]
