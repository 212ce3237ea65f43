"""Columns of deformable convolutions in Triton.

A program does one position of the kernel for a block of windows: it finds the four neighbours of each window's position
once, then reads them in one channel after another, for windows next to each other near to each other in memory. The
gradient of x is added by atomics (`_order_free`); that of the shifts is gathered over the channels.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._filled import zeros, zeros_like
from core.kernels.triton._kernel import jit
from core.kernels.triton._order_free import add, begin, finish
from core.kernels.triton._overlap import load
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous

_BLOCK = 256  # windows of a program
_CHANNELS = 16  # of a program, where channels are independent


def columns(x, offset, mask, kernel, stride, dilate, pad, groups):
    y = torch.empty((*x.shape[:2], math.prod(kernel), math.prod(offset.shape[2:])), dtype=x.dtype, device=x.device)
    if y.numel():
        launch = _launching(x, offset, mask, kernel, stride, dilate, pad, groups)
        launch(_columns, _CHANNELS, contiguous(x), y, CHANNELS=_CHANNELS)
    return y


def columns_grad(dy, x, offset, mask, kernel, stride, dilate, pad, groups):
    dy, doffset = contiguous(dy), zeros_like(offset)
    dmask = zeros((0,) if mask is None else mask.shape, offset.dtype, offset.device)
    launch = _launching(x, offset, mask, kernel, stride, dilate, pad, groups)
    scaled = dy
    if mask is not None and dy.numel():
        scaled = torch.empty_like(dy)
        launch(_scale, _CHANNELS, dy, scaled, CHANNELS=_CHANNELS)
    sums = begin(x.shape, scaled, 4)
    if dy.numel():
        launch(_grad_data, _CHANNELS, scaled, sums.memory, sums.scale, CHANNELS=_CHANNELS, EXACT=sums.exact)
        launch(_grad_places, x.shape[1], dy, contiguous(x), doffset, dmask)
    return finish(sums, x.dtype), doffset, dmask


def _launching(x, offset, mask, kernel, stride, dilate, pad, groups):
    """launch(kernel, channels of a program, tensors..., constexprs...) over all windows."""
    (batch, channels, height, width), out = x.shape, offset.shape[2:]
    windows, each = math.prod(out), channels // groups
    offset = contiguous(offset)
    mask = offset if mask is None else contiguous(mask)
    fixed = {
        "KERNEL": tuple(kernel), "STRIDE": tuple(stride), "DILATE": tuple(dilate), "PAD": tuple(pad),
        "MASKED": mask is not offset, "BLOCK": _BLOCK,
    }  # fmt: skip

    def launch(program, together, *tensors, **constexprs):
        grid = batch * groups * triton.cdiv(each, together) * math.prod(kernel) * triton.cdiv(windows, _BLOCK)
        program[(grid,)](*tensors, offset, mask, each, height, width, windows, out[1], **constexprs, **fixed)

    return launch


# ------------------------------------------------------------ device code


@jit
def _columns(
    x_ptr, y_ptr, offset_ptr, mask_ptr, channels, height, width, windows, across,
    CHANNELS: tl.constexpr, KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr,
    MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    line, first, spot, window = _windows(channels, windows, CHANNELS, KERNEL, BLOCK)
    inside = window < windows
    y, x, near, moves_y, moves_x = _position(
        offset_ptr, line, spot, window, windows, across, height, width, KERNEL, STRIDE, DILATE, PAD, MASKED
    )
    factor = _factor(mask_ptr, line, spot, window, windows, KERNEL, MASKED, y)
    for channel in range(first, tl.minimum(first + CHANNELS, channels)):
        plane = line * channels + channel
        value = tl.zeros((BLOCK,), y.dtype)
        for corner in tl.static_range(4):
            at, weight, exists, to_row, to_column = _corner(y, x, near, height, width, corner)
            value += weight * load(x_ptr, plane * height * width + at, exists)
        tl.store(y_ptr + (plane * (KERNEL[0] * KERNEL[1]) + spot) * windows + window, value * factor, inside)


@jit
def _scale(
    dy_ptr, scaled_ptr, offset_ptr, mask_ptr, channels, height, width, windows, across,
    CHANNELS: tl.constexpr, KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr,
    MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Columns times the mask."""
    line, first, spot, window = _windows(channels, windows, CHANNELS, KERNEL, BLOCK)
    inside = window < windows
    factor = load(mask_ptr, (line * (KERNEL[0] * KERNEL[1]) + spot) * windows + window, inside)
    for channel in range(first, tl.minimum(first + CHANNELS, channels)):
        at = ((line * channels + channel) * (KERNEL[0] * KERNEL[1]) + spot) * windows + window
        tl.store(scaled_ptr + at, load(dy_ptr, at, inside) * factor, inside)


@jit
def _grad_data(
    dy_ptr, sums_ptr, scale_ptr, offset_ptr, mask_ptr, channels, height, width, windows, across,
    CHANNELS: tl.constexpr, EXACT: tl.constexpr, KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr,
    PAD: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    line, first, spot, window = _windows(channels, windows, CHANNELS, KERNEL, BLOCK)
    y, x, near, moves_y, moves_x = _position(
        offset_ptr, line, spot, window, windows, across, height, width, KERNEL, STRIDE, DILATE, PAD, MASKED
    )
    for channel in range(first, tl.minimum(first + CHANNELS, channels)):
        plane = line * channels + channel
        dy = load(dy_ptr, (plane * (KERNEL[0] * KERNEL[1]) + spot) * windows + window, near)
        for corner in tl.static_range(4):
            at, weight, exists, to_row, to_column = _corner(y, x, near, height, width, corner)
            add(sums_ptr + plane * height * width + at, dy * weight, scale_ptr, exists, EXACT)


@jit
def _grad_places(
    dy_ptr, x_ptr, doffset_ptr, dmask_ptr, offset_ptr, mask_ptr, channels, height, width, windows, across,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, MASKED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of the shifts and the mask: a program goes through all channels of a group."""
    line, first, spot, window = _windows(channels, windows, channels, KERNEL, BLOCK)
    inside = window < windows
    y, x, near, moves_y, moves_x = _position(
        offset_ptr, line, spot, window, windows, across, height, width, KERNEL, STRIDE, DILATE, PAD, MASKED
    )
    seen, down, right = tl.zeros((BLOCK,), y.dtype), tl.zeros((BLOCK,), y.dtype), tl.zeros((BLOCK,), y.dtype)
    for channel in range(channels):
        plane = line * channels + channel
        dy = load(dy_ptr, (plane * (KERNEL[0] * KERNEL[1]) + spot) * windows + window, near)
        for corner in tl.static_range(4):
            at, weight, exists, to_row, to_column = _corner(y, x, near, height, width, corner)
            value = dy * load(x_ptr, plane * height * width + at, exists)
            seen, down, right = seen + value * weight, down + value * to_row, right + value * to_column
    factor = _factor(mask_ptr, line, spot, window, windows, KERNEL, MASKED, y)
    position = (line * (KERNEL[0] * KERNEL[1]) + spot) * windows + window
    if MASKED:
        tl.store(dmask_ptr + position, seen, inside)
    shift = (line * (KERNEL[0] * KERNEL[1]) + spot) * 2 * windows + window
    tl.store(doffset_ptr + shift, tl.where(moves_y, down * factor, 0.0), inside)
    tl.store(doffset_ptr + shift + windows, tl.where(moves_x, right * factor, 0.0), inside)


@jit
def _windows(channels, windows, CHANNELS, KERNEL: tl.constexpr, BLOCK: tl.constexpr):
    """(group of an image, first channel in it, position of the kernel, block of windows) of this program."""
    across, parts = blocks_of(windows, BLOCK), blocks_of(channels, CHANNELS)
    window = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    rest = tl.program_id(0) // across
    spot, rest = rest % (KERNEL[0] * KERNEL[1]), rest // (KERNEL[0] * KERNEL[1])
    return (rest // parts).to(tl.int64), rest % parts * CHANNELS, spot, window


@jit
def _position(
    offset_ptr, line, spot, window, windows, across, height, width,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, FADING: tl.constexpr,
):  # fmt: skip
    """Where windows look: row and column, whether that is in the data, and whether it moves with the shifts."""
    inside = window < windows
    shift = (line * (KERNEL[0] * KERNEL[1]) + spot) * 2 * windows + window
    y, x = load(offset_ptr, shift, inside), load(offset_ptr, shift + windows, inside)
    y += (window // across * STRIDE[0] - PAD[0] + spot // KERNEL[1] * DILATE[0]).to(y.dtype)
    x += (window % across * STRIDE[1] - PAD[1] + spot % KERNEL[1] * DILATE[1]).to(x.dtype)
    near = inside & (y < height) & (x < width)
    if FADING:
        near &= (y > -1) & (x > -1)
        return y, x, near, near, near
    else:
        near &= (y >= 0) & (x >= 0)
        # From the centre of the last element on its value holds.
        return (
            tl.minimum(y, height - 1.0), tl.minimum(x, width - 1.0), near, near & (y < height - 1),
            near & (x < width - 1)
        )  # fmt: skip


@jit
def _corner(y, x, near, height, width, CORNER: tl.constexpr):
    """Place in its plane, weight and existence of a neighbour, and slopes of the weight downwards and to the right."""
    top, left = tl.floor(y), tl.floor(x)
    down, right = y - top, x - left
    if CORNER // 2 == 1:
        row, row_weight, row_slope = top + 1, down, 1.0
    else:
        row, row_weight, row_slope = top, 1 - down, -1.0
    if CORNER % 2 == 1:
        column, column_weight, column_slope = left + 1, right, 1.0
    else:
        column, column_weight, column_slope = left, 1 - right, -1.0
    exists = near & (row >= 0) & (row < height) & (column >= 0) & (column < width)
    at = tl.where(exists, row, 0.0).to(tl.int64) * width + tl.where(exists, column, 0.0).to(tl.int64)
    return at, row_weight * column_weight, exists, row_slope * column_weight, row_weight * column_slope


@jit
def _factor(mask_ptr, line, spot, window, windows, KERNEL: tl.constexpr, MASKED: tl.constexpr, like):
    if MASKED:
        return load(mask_ptr, (line * (KERNEL[0] * KERNEL[1]) + spot) * windows + window, window < windows)
    else:
        return tl.full(like.shape, 1.0, like.dtype)


_SHAPE = {"KERNEL": (3, 3), "STRIDE": (1, 1), "DILATE": (1, 1), "PAD": (1, 1), "BLOCK": _BLOCK}


def _case(kernel, **constexprs):
    constexprs |= _SHAPE
    exact = constexprs.get("EXACT", False)
    given = {"sums_ptr": "*i64" if exact else "*fp32", "scale_ptr": "*fp64" if exact else "*fp32"}
    signature = {
        name: given.get(name, "*fp32" if name.endswith("_ptr") else "i32")
        for name in kernel.arg_names
        if name not in constexprs
    }
    return AotCase(kernel, signature, constexprs)


AOT = [
    *(_case(_columns, CHANNELS=_CHANNELS, MASKED=masked) for masked in (False, True)),
    _case(_scale, CHANNELS=_CHANNELS, MASKED=True),
    *(_case(_grad_data, CHANNELS=_CHANNELS, EXACT=exact, MASKED=False) for exact in (False, True)),
    *(_case(_grad_places, MASKED=masked) for masked in (False, True)),
]
