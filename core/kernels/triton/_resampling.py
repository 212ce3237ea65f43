"""Images in other sizes and at fractional positions: the device code of `vision` for resizing, adaptive means, samplers
and windows as columns.

Images are contiguous (N, C, H, W), seen as planes; a program makes a block of elements of the result, so that stores
are coalesced and loads nearly so. All gradients are gathered (an element asks who read it) but that of sampled data,
whose readers are not known. Floor: the bytes of input and result once each: what is read twice is in the cache.
"""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._kernel import jit
from core.kernels.triton._order_free import add
from core.kernels.triton._overlap import load
from core.kernels.triton.aot import AotCase

BLOCK = 512


@jit
def elements(total, height, width, BLOCK: tl.constexpr):
    """A block of `total` elements of planes: positions, whether they exist, plane, row and column."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return at, at < total, at // width // height, at // width % height, at % width


@jit
def resize(x_ptr, y_ptr, total, height, width, to_height, to_width, CORNERS: tl.constexpr, BLOCK: tl.constexpr):
    at, inside, plane, row, column = elements(total, to_height, to_width, BLOCK)
    kind = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    y, x = _source(row, height, to_height, kind, CORNERS), _source(column, width, to_width, kind, CORNERS)
    top, bottom, down = _between(y, height)
    left, end, right = _between(x, width)
    first = plane * height
    upper = load(x_ptr, (first + top) * width + left, inside) * (1 - right) + (
        load(x_ptr, (first + top) * width + end, inside) * right
    )
    lower = load(x_ptr, (first + bottom) * width + left, inside) * (1 - right) + (
        load(x_ptr, (first + bottom) * width + end, inside) * right
    )
    tl.store(y_ptr + at, upper * (1 - down) + lower * down, inside)


@jit
def resize_grad(
    dy_ptr, dx_ptr, total, height, width, to_height, to_width, tall, wide, CORNERS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """tall, wide: how many positions of dy, at most, read an element on each axis."""
    at, inside, plane, row, column = elements(total, height, width, BLOCK)
    kind = tl.float64 if dy_ptr.dtype.element_ty == tl.float64 else tl.float32
    first_row = _first_reader(row, height, to_height, kind, CORNERS)
    first_column = _first_reader(column, width, to_width, kind, CORNERS)
    sums = tl.zeros((BLOCK,), kind)
    for a in range(tall):
        y = first_row + a
        down = _share(y, row, height, to_height, kind, CORNERS)
        for b in range(wide):
            x = first_column + b
            weight = down * _share(x, column, width, to_width, kind, CORNERS)
            sums += weight * load(dy_ptr, (plane * to_height + y) * to_width + x, inside & (weight > 0))
    tl.store(dx_ptr + at, sums, inside)


@jit
def adaptive_mean(
    x_ptr, y_ptr, total, height, width, to_height, to_width, tall, wide, BACKWARD: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Means of windows; with BACKWARD x is the gradient of the means and y that of what they were taken of.

    The windows that hold a position are the window of that position when sizes are exchanged. tall, wide: the largest one.
    """
    at, inside, plane, row, column = elements(total, to_height, to_width, BLOCK)
    top, bottom = _window(row, height, to_height)
    left, end = _window(column, width, to_width)
    sums = tl.zeros((BLOCK,), tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32)
    for a in range(tall):
        y = top + a
        for b in range(wide):
            x = left + b
            value = load(x_ptr, (plane * height + y) * width + x, inside & (y < bottom) & (x < end))
            if BACKWARD:
                other_top, other_bottom = _window(y, to_height, height)
                other_left, other_end = _window(x, to_width, width)
                value /= ((other_bottom - other_top) * (other_end - other_left)).to(value.dtype)
            sums += value
    if not BACKWARD:
        sums /= ((bottom - top) * (end - left)).to(sums.dtype)
    tl.store(y_ptr + at, sums, inside)


@jit
def sample(x_ptr, grid_ptr, y_ptr, total, channels, height, width, positions, BLOCK: tl.constexpr):
    at, inside, image, channel, position = elements(total, channels, positions, BLOCK)
    y, x = _looked_at(grid_ptr, image, position, positions, height, width, inside)
    plane_ptr = x_ptr + at // positions * height * width
    sums = tl.zeros((BLOCK,), y.dtype)
    for corner in tl.static_range(4):
        there, weight, exists = _corner(y, x, height, width, corner)
        sums += weight * load(plane_ptr, there, inside & exists)
    tl.store(y_ptr + at, sums, inside)


@jit
def sample_grad_data(
    dy_ptr, grid_ptr, sums_ptr, scale_ptr, total, channels, height, width, positions,
    EXACT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at, inside, image, channel, position = elements(total, channels, positions, BLOCK)
    y, x = _looked_at(grid_ptr, image, position, positions, height, width, inside)
    dy = load(dy_ptr, at, inside)
    for corner in tl.static_range(4):
        there, weight, exists = _corner(y, x, height, width, corner)
        add(sums_ptr + at // positions * height * width + there, dy * weight, scale_ptr, inside & exists, EXACT)


@jit
def sample_grad_grid(
    dy_ptr, x_ptr, grid_ptr, dgrid_ptr, total, channels, height, width, positions, BLOCK: tl.constexpr
):  # fmt: skip
    """A program does a block of positions; total: positions of all images."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, image, position = at < total, at // positions, at % positions
    y, x = _looked_at(grid_ptr, image, position, positions, height, width, inside)
    dv, du = tl.zeros((BLOCK,), y.dtype), tl.zeros((BLOCK,), y.dtype)
    v, u = y - tl.floor(y), x - tl.floor(x)
    for channel in range(channels):
        plane = image * channels + channel
        dy = load(dy_ptr, plane * positions + position, inside)
        for corner in tl.static_range(4):
            there, _, exists = _corner(y, x, height, width, corner)
            value = dy * load(x_ptr, plane * height * width + there, inside & exists)
            if corner // 2 == 1:
                dv += value * (u if corner % 2 == 1 else 1 - u)
            else:
                dv -= value * (u if corner % 2 == 1 else 1 - u)
            if corner % 2 == 1:
                du += value * (v if corner // 2 == 1 else 1 - v)
            else:
                du -= value * (v if corner // 2 == 1 else 1 - v)
    out = image * 2 * positions + position
    tl.store(dgrid_ptr + out, du * (width - 1) * 0.5, inside)
    tl.store(dgrid_ptr + out + positions, dv * (height - 1) * 0.5, inside)


@jit
def columns(
    x_ptr, y_ptr, total, height, width, rows, across,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Copies what each of rows x across windows sees: (planes, positions of the kernel, windows)."""
    at, inside, line, row, column = elements(total, rows, across, BLOCK)
    spot = line % (KERNEL[0] * KERNEL[1])
    y = row * STRIDE[0] - PAD[0] + spot // KERNEL[1] * DILATE[0]
    x = column * STRIDE[1] - PAD[1] + spot % KERNEL[1] * DILATE[1]
    exists = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    plane = line // (KERNEL[0] * KERNEL[1])
    tl.store(y_ptr + at, tl.load(x_ptr + (plane * height + y) * width + x, exists, 0), inside)


@jit
def columns_grad(
    dy_ptr, dx_ptr, total, height, width, rows, across,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at, inside, plane, row, column = elements(total, height, width, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float64 if dy_ptr.dtype.element_ty == tl.float64 else tl.float32)
    for spot in range(KERNEL[0] * KERNEL[1]):
        y, x = row + PAD[0] - spot // KERNEL[1] * DILATE[0], column + PAD[1] - spot % KERNEL[1] * DILATE[1]
        exists = inside & (y >= 0) & (y % STRIDE[0] == 0) & (y // STRIDE[0] < rows)
        exists &= (x >= 0) & (x % STRIDE[1] == 0) & (x // STRIDE[1] < across)
        line = plane * (KERNEL[0] * KERNEL[1]) + spot
        sums += load(dy_ptr, (line * rows + y // STRIDE[0]) * across + x // STRIDE[1], exists)
    tl.store(dx_ptr + at, sums, inside)


# ------------------------------------------------------------ positions


@jit
def _step(n, to, KIND: tl.constexpr, CORNERS: tl.constexpr):
    """How far apart in the input two neighbours of the result read."""
    if CORNERS:
        return tl.where(to > 1, tl.cast(n - 1, KIND) / tl.cast(tl.maximum(to - 1, 1), KIND), 0.0).to(KIND)
    else:
        return tl.cast(n, KIND) / tl.cast(to, KIND)


@jit
def _source(position, n, to, KIND: tl.constexpr, CORNERS: tl.constexpr):
    """Where on an axis of length n a position of the result reads."""
    step = _step(n, to, KIND, CORNERS)
    if CORNERS:
        return position.to(KIND) * step
    else:
        return tl.maximum((position.to(KIND) + 0.5) * step - 0.5, 0.0)


@jit
def _between(x, n):
    low = tl.minimum(tl.floor(x).to(tl.int64), n - 1)
    return low, tl.minimum(low + 1, n - 1), tl.minimum(x - low.to(x.dtype), 1.0)


@jit
def _share(position, wanted, n, to, KIND: tl.constexpr, CORNERS: tl.constexpr):
    """The weight with which a position of the result reads the element `wanted`; 0 for positions outside."""
    low, high, part = _between(_source(position, n, to, KIND, CORNERS), n)
    weight = tl.where(low == wanted, 1 - part, 0.0) + tl.where(high == wanted, part, 0.0)
    return tl.where((position >= 0) & (position < to), weight, 0.0)


@jit
def _first_reader(position, n, to, KIND: tl.constexpr, CORNERS: tl.constexpr):
    """A position of the result not behind the first that reads an element, and at most one before it."""
    step = _step(n, to, KIND, CORNERS)
    if CORNERS:
        first = (position - 1).to(KIND) / tl.where(step > 0, step, 1.0)
    else:
        first = (position.to(KIND) - 0.5) / step - 0.5
    return tl.where(step > 0, tl.floor(first), 0.0).to(tl.int64)


@jit
def _window(position, n, to):
    """First element of a window of an axis of length n, and the one behind its last."""
    return position * n // to, ((position + 1) * n + to - 1) // to


@jit
def _looked_at(grid_ptr, image, position, positions, height, width, inside):
    """Row and column, fractional, of positions of the grid (images, 2, positions)."""
    x = load(grid_ptr, image * 2 * positions + position, inside)
    y = load(grid_ptr, (image * 2 + 1) * positions + position, inside)
    return (y + 1) * 0.5 * (height - 1), (x + 1) * 0.5 * (width - 1)


@jit
def _corner(y, x, height, width, CORNER: tl.constexpr):
    """Place in its plane, weight and existence of one of the four neighbours."""
    top, left = tl.floor(y), tl.floor(x)
    row, column, down, right = top, left, 1 - (y - top), 1 - (x - left)
    if CORNER // 2 == 1:
        row, down = top + 1, y - top
    if CORNER % 2 == 1:
        column, right = left + 1, x - left
    exists = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return tl.where(exists, row, 0.0).to(tl.int64) * width + tl.where(exists, column, 0.0).to(tl.int64), (
        down * right
    ), exists  # fmt: skip


def _case(kernel, **constexprs):
    constexprs["BLOCK"] = BLOCK
    exact = constexprs.get("EXACT", False)
    given = {"total": "i64", "sums_ptr": "*i64" if exact else "*fp32", "scale_ptr": "*fp64" if exact else "*fp32"}
    return AotCase(
        kernel,
        {
            name: given.get(name, "*fp32" if name.endswith("_ptr") else "i32")
            for name in kernel.arg_names
            if name not in constexprs
        },
        constexprs,
    )


_WINDOWS = {"KERNEL": (3, 3), "STRIDE": (2, 2), "DILATE": (1, 1), "PAD": (1, 1)}
AOT = [
    _case(resize, CORNERS=True),
    _case(resize_grad, CORNERS=True),
    *(_case(adaptive_mean, BACKWARD=backward) for backward in (False, True)),
    _case(sample),
    *(_case(sample_grad_data, EXACT=exact) for exact in (False, True)),
    _case(sample_grad_grid),
    _case(columns, **_WINDOWS),
    _case(columns_grad, **_WINDOWS),
]
