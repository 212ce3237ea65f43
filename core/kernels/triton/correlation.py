"""Correlation of patches in Triton.

A program makes a block of elements of the result, or of a gradient, which is gathered: an element asks all patches that
hold it. Maps are read where they lie, and stay in the cache.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton._kernel import jit
from core.kernels.triton._overlap import load
from core.kernels.triton._resampling import elements
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous

_BLOCK = 256


def correlate(first, second, size, reach, stride, step, pad, multiply):
    batch, channels, *extents = first.shape
    out = [-(-(n + 2 * pad - 2 * (reach + size // 2)) // stride) for n in extents]
    y = torch.empty((batch, (2 * (reach // step) + 1) ** 2, *out), dtype=first.dtype, device=first.device)
    if y.numel():
        _correlate[(triton.cdiv(y.numel(), _BLOCK),)](
            contiguous(first), contiguous(second), y, y.numel(), channels, *extents, *out,
            **_how(size, reach, stride, step, pad, multiply),
        )  # fmt: skip
    return y


def correlate_grad(dy, first, second, size, reach, stride, step, pad, multiply):
    dy, first, second = contiguous(dy), contiguous(first), contiguous(second)
    gradients = torch.empty_like(first), torch.empty_like(second)
    for number, gradient in enumerate(gradients):
        if gradient.numel():
            _gradient[(triton.cdiv(gradient.numel(), _BLOCK),)](
                dy, first, second, gradient, gradient.numel(), *first.shape[1:], *dy.shape[2:], SECOND=number == 1,
                **_how(size, reach, stride, step, pad, multiply),
            )  # fmt: skip
    return gradients


def _how(size, reach, stride, step, pad, multiply):
    return {
        "SIZE": size, "REACH": reach, "STRIDE": stride, "STEP": step, "PAD": pad, "MULTIPLY": bool(multiply),
        "BLOCK": _BLOCK,
    }  # fmt: skip


# ------------------------------------------------------------ device code


@jit
def _correlate(
    first_ptr, second_ptr, y_ptr, total, channels, height, width, rows, across,
    SIZE: tl.constexpr, REACH: tl.constexpr, STRIDE: tl.constexpr, STEP: tl.constexpr, PAD: tl.constexpr,
    MULTIPLY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    sides: tl.constexpr = 2 * (REACH // STEP) + 1
    at, inside, line, row, column = elements(total, rows, across, BLOCK)
    image, number = line // (sides * sides), line % (sides * sides)
    down, right = (number // sides - REACH // STEP) * STEP, (number % sides - REACH // STEP) * STEP
    sums = tl.zeros((BLOCK,), tl.float64 if y_ptr.dtype.element_ty == tl.float64 else tl.float32)
    for spot in range(SIZE * SIZE):
        y, x = row * STRIDE + REACH - PAD + spot // SIZE, column * STRIDE + REACH - PAD + spot % SIZE
        here, there = _exists(y, x, height, width), _exists(y + down, x + right, height, width)
        for channel in range(channels):
            plane = (image * channels + channel) * height
            a = load(first_ptr, (plane + y) * width + x, inside & here)
            b = load(second_ptr, (plane + y + down) * width + x + right, inside & there)
            sums += a * b if MULTIPLY else tl.abs(a - b)
    tl.store(y_ptr + at, sums / (SIZE * SIZE * channels), inside)


@jit
def _gradient(
    dy_ptr, first_ptr, second_ptr, dx_ptr, total, channels, height, width, rows, across,
    SECOND: tl.constexpr, SIZE: tl.constexpr, REACH: tl.constexpr, STRIDE: tl.constexpr, STEP: tl.constexpr,
    PAD: tl.constexpr, MULTIPLY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradient of the first map, or of the SECOND, whose elements meet those displaced the other way."""
    sides: tl.constexpr = 2 * (REACH // STEP) + 1
    at, inside, plane, row, column = elements(total, height, width, BLOCK)
    image = plane // channels
    own = load(second_ptr if SECOND else first_ptr, at, inside)
    sums = tl.zeros((BLOCK,), own.dtype)
    for number in range(sides * sides):
        down, right = (number // sides - REACH // STEP) * STEP, (number % sides - REACH // STEP) * STEP
        if SECOND:
            down, right = -down, -right
        y, x = row + down, column + right
        exists = inside & _exists(y, x, height, width)
        other = load(first_ptr if SECOND else second_ptr, (plane * height + y) * width + x, exists)
        if MULTIPLY:
            slope = other
        elif SECOND:
            slope = tl.where(other >= own, -1.0, 1.0)
        else:
            slope = tl.where(own >= other, 1.0, -1.0)
        # Patches are numbered by where they lie in the first map.
        top, left = (y, x) if SECOND else (row, column)
        for spot in range(SIZE * SIZE):
            i, j = top + PAD - REACH - spot // SIZE, left + PAD - REACH - spot % SIZE
            asked = inside & (i >= 0) & (i % STRIDE == 0) & (i // STRIDE < rows)
            asked &= (j >= 0) & (j % STRIDE == 0) & (j // STRIDE < across)
            line = (image * (sides * sides) + number) * rows
            sums += slope * load(dy_ptr, (line + i // STRIDE) * across + j // STRIDE, asked)
    tl.store(dx_ptr + at, sums / (SIZE * SIZE * channels), inside)


@jit
def _exists(y, x, height, width):
    return (y >= 0) & (y < height) & (x >= 0) & (x < width)


_SHAPE = {"SIZE": 3, "REACH": 4, "STRIDE": 1, "STEP": 2, "PAD": 4, "BLOCK": _BLOCK}


def _case(kernel, **constexprs):
    constexprs |= _SHAPE
    signature = {
        name: "*fp32" if name.endswith("_ptr") else "i32" for name in kernel.arg_names if name not in constexprs
    }
    return AotCase(kernel, signature | {"total": "i64"}, constexprs)


AOT = [
    *(_case(_correlate, MULTIPLY=multiply) for multiply in (True, False)),
    *(_case(_gradient, SECOND=second, MULTIPLY=multiply) for second in (False, True) for multiply in (True, False)),
]
