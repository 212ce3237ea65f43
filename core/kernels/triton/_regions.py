"""Pooling of regions: the device code of `vision` for means of samples and for maxima.

Feature maps are read as (N, H, W, C): a program does one cell of one region for a block of channels, so that every
sample reads runs of memory. Floor: the runs of channels that the samples read, most of which the cache holds, and the
result.
"""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton._order_free import add
from core.kernels.triton.aot import AotCase
from core.kernels.triton.functions import round_away

BLOCK = 256  # channels of a program
# Of `align`, by the columns of its regions: with two channels per thread rotated ones would spill registers.
WARPS = {4: 4, 5: 4, 6: 8}


@jit
def align(
    x_ptr, rois_ptr, y_ptr, scale_ptr, batch, height, width, channels, rows, columns, scale, ratio,
    COLUMNS: tl.constexpr, ALIGNED: tl.constexpr, BY_POSITION: tl.constexpr, BACKWARD: tl.constexpr,
    EXACT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Means of samples, or with BACKWARD the sums of the map's gradient; rois of 6 COLUMNS are rotated."""
    bin, channel, inside = _cell_and_channels(channels, BLOCK)
    cell = bin % (rows * columns)
    roi_ptr = rois_ptr + bin // (rows * columns) * COLUMNS
    image = tl.full((), 0, tl.int64)
    if COLUMNS > 4:
        image = tl.load(roi_ptr).to(tl.int64)
    if COLUMNS == 6:
        centre_x, extent_x = tl.load(roi_ptr + 1).to(tl.float32) * scale, tl.load(roi_ptr + 3).to(tl.float32) * scale
        centre_y, extent_y = tl.load(roi_ptr + 2).to(tl.float32) * scale, tl.load(roi_ptr + 4).to(tl.float32) * scale
        extent_x, extent_y = tl.maximum(extent_x, 1.0), tl.maximum(extent_y, 1.0)
        low_x, low_y = -extent_x / 2, -extent_y / 2
        angle = tl.load(roi_ptr + 5).to(tl.float32) * 0.017453292519943295
        cos, sin = tl.cos(angle), tl.sin(angle)
    else:
        low_x, extent_x = _side(roi_ptr + COLUMNS - 4, scale, ALIGNED)
        low_y, extent_y = _side(roi_ptr + COLUMNS - 3, scale, ALIGNED)
    size_x, size_y = extent_x / columns, extent_y / rows
    start_x, start_y = (
        low_x + (cell % columns).to(tl.float32) * size_x,
        low_y + (cell // columns).to(tl.float32) * size_y,
    )
    samples_x = tl.where(ratio > 0, ratio, tl.ceil(size_x).to(tl.int32))
    samples_y = tl.where(ratio > 0, ratio, tl.ceil(size_y).to(tl.int32))
    count = (samples_x * samples_y).to(tl.float32)
    known = tl.where((image >= 0) & (image < batch), 1.0 / tl.maximum(count, 1.0), 0.0)
    image = tl.minimum(tl.maximum(image, 0), batch - 1)
    # Without `BY_POSITION` a row of the map holds the channels alone, else each one's values for all cells.
    stride, shift = 1, 0
    if BY_POSITION:
        stride, shift = rows * columns, cell
    x_ptr += image * height * width * channels * stride + channel * stride + shift
    y_ptr += bin * channels + channel
    total = tl.zeros((BLOCK,), tl.float64 if y_ptr.dtype.element_ty == tl.float64 else tl.float32)
    if BACKWARD:
        total = tl.load(y_ptr, mask=inside, other=0.0).to(total.dtype)
    for a in range(samples_y):
        down = start_y + (a + 0.5) * size_y / samples_y
        for b in range(samples_x):
            right = start_x + (b + 0.5) * size_x / samples_x
            y, x = down, right
            if COLUMNS == 6:
                x, y = right * cos + down * sin + centre_x, down * cos - right * sin + centre_y
            near = (y >= -1.0) & (y <= height) & (x >= -1.0) & (x <= width)
            share = tl.where(near, known, 0.0)
            top, bottom, v = _neighbours(y, height)
            left, end, u = _neighbours(x, width)
            run = channels * stride
            corners = (
                ((top * width + left) * run, (1.0 - v) * (1.0 - u) * share),
                ((top * width + end) * run, (1.0 - v) * u * share),
                ((bottom * width + left) * run, v * (1.0 - u) * share),
                ((bottom * width + end) * run, v * u * share),
            )
            for i in tl.static_range(4):
                if BACKWARD:
                    add(x_ptr + corners[i][0], total * corners[i][1], scale_ptr, inside, EXACT)
                else:
                    total += tl.load(x_ptr + corners[i][0], mask=inside, other=0.0).to(total.dtype) * corners[i][1]
    if not BACKWARD:
        tl.store(y_ptr, total, mask=inside)


@jit
def maxima(
    x_ptr, rois_ptr, y_ptr, positions_ptr, batch, height, width, channels, rows, columns, scale, BLOCK: tl.constexpr
):  # fmt: skip
    """The maxima of cells and their positions in (N, H, W), 0 and -1 where a cell is empty or of no image."""
    bin, channel, inside = _cell_and_channels(channels, BLOCK)
    cell = bin % (rows * columns)
    roi_ptr = rois_ptr + bin // (rows * columns) * 5
    image = tl.load(roi_ptr).to(tl.int64)
    left, end = _span(roi_ptr + 1, cell % columns, columns, width, scale)
    top, bottom = _span(roi_ptr + 2, cell // columns, rows, height, scale)
    bottom = tl.where((image >= 0) & (image < batch), bottom, top)
    best = tl.full((BLOCK,), float("-inf"), tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32)
    at = tl.full((BLOCK,), -1, tl.int64)
    for y in range(top, bottom):
        for x in range(left, end):
            position = (image * height + y) * width + x
            value = tl.load(x_ptr + position * channels + channel, inside, 0).to(best.dtype)
            better = (value > best) | (at < 0)
            best, at = tl.where(better, value, best), tl.where(better, position, at)
    tl.store(y_ptr + bin * channels + channel, tl.where(at < 0, 0.0, best), inside)
    tl.store(positions_ptr + bin * channels + channel, at, inside)


@jit
def spread_maxima(
    dy_ptr, positions_ptr, sums_ptr, scale_ptr, total, channels, EXACT: tl.constexpr, BLOCK: tl.constexpr
):
    """Adds dy (cells, channels) up at the positions of the maxima."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    position = tl.load(positions_ptr + at, at < total, -1)
    dy = tl.load(dy_ptr + at, at < total, 0)
    dy = dy.to(tl.float64 if dy.dtype == tl.float64 else tl.float32)
    add(sums_ptr + position * channels + at % channels, dy, scale_ptr, position >= 0, EXACT)


@jit
def gather_maxima(x_ptr, positions_ptr, y_ptr, total, channels, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    position = tl.load(positions_ptr + at, at < total, -1)
    tl.store(y_ptr + at, tl.load(x_ptr + position * channels + at % channels, position >= 0, 0), at < total)


@jit
def _cell_and_channels(channels, BLOCK: tl.constexpr):
    across = blocks_of(channels, BLOCK)
    channel = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    return (tl.program_id(0) // across).to(tl.int64), channel, channel < channels


@jit
def _side(low_ptr, scale, ALIGNED: tl.constexpr):
    """Start and length of a region on one axis."""
    low = tl.load(low_ptr).to(tl.float32) * scale
    extent = tl.load(low_ptr + 2).to(tl.float32) * scale - low
    if ALIGNED:
        low -= 0.5
    else:
        extent = tl.maximum(extent, 1.0)
    return low, extent


@jit
def _span(low_ptr, position, cells, length, scale):
    """The first position of a cell on one axis and the one behind its last, cut to the data."""
    low = round_away(tl.load(low_ptr).to(tl.float32) * scale).to(tl.int32)
    high = round_away(tl.load(low_ptr + 2).to(tl.float32) * scale).to(tl.int32)
    size = tl.maximum(high - low + 1, 1).to(tl.float32) / cells
    start = tl.floor(position.to(tl.float32) * size).to(tl.int32) + low
    end = tl.ceil((position + 1).to(tl.float32) * size).to(tl.int32) + low
    return tl.minimum(tl.maximum(start, 0), length), tl.minimum(tl.maximum(end, 0), length)


@jit
def _neighbours(x, n):
    """The positions before and after x, which is moved inside, and how far x is from the first one."""
    x = tl.minimum(tl.maximum(x, 0.0), n - 1.0)
    low = tl.floor(x)
    first = low.to(tl.int64)
    return first, tl.minimum(first + 1, n - 1), x - low


_NUMBERS = ("batch", "height", "width", "rows", "columns", "ratio", "total")


def _case(kernel, **constexprs):
    constexprs["BLOCK"] = BLOCK
    given = {
        **dict.fromkeys(_NUMBERS, "i32"), "channels": "i32:16", "scale": "fp32", "positions_ptr": "*i64",
        "scale_ptr": "*fp64" if constexprs.get("EXACT") else "*fp32",
        "sums_ptr": "*i64" if constexprs.get("EXACT") else "*fp32",
    }  # fmt: skip
    if constexprs.get("EXACT"):
        given["x_ptr"] = "*i64"
    signature = {name: given.get(name, "*fp32") for name in kernel.arg_names if name not in constexprs}
    return AotCase(kernel, signature, constexprs, num_warps=WARPS[constexprs.get("COLUMNS", 4)])


AOT = [
    *(
        _case(align, COLUMNS=columns, ALIGNED=False, BY_POSITION=False, BACKWARD=backward, EXACT=exact)
        for columns, backward, exact in ((5, False, False), (5, True, False), (5, True, True), (6, False, False))
    ),
    _case(maxima),
    *(_case(spread_maxima, EXACT=exact) for exact in (False, True)),
    _case(gather_maxima),
]
