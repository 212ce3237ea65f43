"""Resizing and borders of (height, width, channels) NumPy images, to the bit as OpenCV computes them.

Every interpolation is separable: output position i takes a weighted sum of a few input positions along each axis. 8-bit
images use OpenCV's fixed-point arithmetic (weights in 1/2048), other dtypes float32
(`cv::resize`, modules/imgproc/src/resize.cpp of OpenCV).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from core.base import MXNetError

NEAREST, LINEAR, CUBIC, AREA, LANCZOS4 = range(5)
WEIGHT_BITS = 11
BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


def resize(image: np.ndarray, width: int, height: int, interp: int = LINEAR) -> np.ndarray:
    """The image in another size, same dtype. `interp`: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8 x 8."""
    if width < 1 or height < 1 or not image.size:
        raise MXNetError(f"cannot resize an image of shape {image.shape} to width {width}, height {height}")
    if interp not in (NEAREST, LINEAR, CUBIC, AREA, LANCZOS4):
        raise MXNetError(
            f"unknown interpolation {interp}; accepted are 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos"
        )
    rows, columns = image.shape[:2]
    if (rows, columns) == (height, width):
        return image.copy()
    if interp == NEAREST:
        return image[_nearest(rows, height)[:, None], _nearest(columns, width)]
    halved = (rows, columns) == (2 * height, 2 * width)
    if (interp == AREA and rows >= height and columns >= width) or (interp == LINEAR and halved):
        return _area(image, width, height)
    return _separable(image, width, height, interp)


def scale_down(src_size: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    """The largest (width, height) of `size`'s aspect, at most `size`, that fits into `src_size`."""
    (sw, sh), (w, h) = src_size, size
    if sh < h:
        w, h = w * sh / h, sh
    if sw < w:
        w, h = sw, h * sw / w
    return int(w), int(h)


def border(image: np.ndarray, top: int, bottom: int, left: int, right: int, kind: int = 0, values=0.0) -> np.ndarray:
    """The image with a border.

    `kind`: 0 constant (`values`: one number or one per channel), 1 repeated edge, 2 mirrored, 3 wrapped, 4 mirrored
    without repeating the edge; 16 more (OpenCV's "isolated") changes nothing here.
    """
    kind %= 16
    if kind not in BORDERS:
        raise MXNetError(
            f"unknown border type {kind}; accepted are {', '.join(f'{k} {v}' for k, v in BORDERS.items())}"
        )
    if min(top, bottom, left, right) < 0:
        raise MXNetError(f"borders must not be negative: top {top}, bottom {bottom}, left {left}, right {right}")
    if kind:
        return np.pad(image, ((top, bottom), (left, right), (0, 0)), BORDERS[kind])
    rows, columns, channels = image.shape
    result = np.empty((rows + top + bottom, columns + left + right, channels), image.dtype)
    result[...] = _saturated(np.asarray(values, np.float64), image.dtype)
    result[top : top + rows, left : left + columns] = image
    return result


def warp(
    image: np.ndarray, linear, shift, width: int, height: int, interp: int = LINEAR, fill: float = 0
) -> np.ndarray:
    """The uint8 or float32 image under `position -> linear @ position + shift` (positions are x, y), `fill` where nothing lands.

    Positions are rounded to 1/32 of a pixel, as `cv::warpAffine` does.
    """
    if interp == AREA:
        interp = LINEAR
    (a, b), (c, d) = np.asarray(linear, np.float64)
    inverse = np.array([[d, -b], [-c, a]]) * (1 / (a * d - b * c))
    origin = -inverse @ np.asarray(shift, np.float64)
    x, y = np.arange(width), np.arange(height)
    half = 512 if interp == NEAREST else 16
    across, down = (
        np.rint((inverse[i, 1] * y + origin[i]) * 1024).astype(np.int64)[:, None] + half
        + np.rint(inverse[i, 0] * x * 1024).astype(np.int64)
        for i in (0, 1)
    )  # fmt: skip
    if interp == NEAREST:
        return _pixels_at(image, down >> 10, across >> 10, fill)
    weigh, first = WEIGHTS[interp]
    row, column = down >> 10, across >> 10
    row_weights, column_weights = (weigh(((position >> 5) & 31).astype(np.float32) / 32) for position in (down, across))
    total = np.zeros((height, width, image.shape[2]), np.float32)
    for i in range(row_weights.shape[-1]):
        for j in range(column_weights.shape[-1]):
            weight = (row_weights[..., i] * column_weights[..., j])[..., None]
            total += _pixels_at(image, row + first + i, column + first + j, fill) * weight
    return np.clip(np.floor(total + np.float32(0.5)), 0, 255).astype(np.uint8) if image.dtype == np.uint8 else total


def _pixels_at(image: np.ndarray, row: np.ndarray, column: np.ndarray, fill: float) -> np.ndarray:
    rows, columns = image.shape[:2]
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    pixels = image[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]
    return np.where(inside[..., None], pixels, image.dtype.type(fill))


def _separable(image: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """Weighted sums along the columns, then the rows."""
    rows, columns = image.shape[:2]
    if image.dtype != np.uint8:
        wide = _weighted(image.astype(np.float32, copy=False), *TAPS[interp](columns, width, True), axis=1)
        return _saturated(_weighted(wide, *TAPS[interp](rows, height, False), axis=0), image.dtype)
    across, down = _integer_taps(interp, columns, width, True), _integer_taps(interp, rows, height, False)
    if interp in (LINEAR, AREA):
        return _two_taps_each(image, *across, *down)
    wide = _weighted(image, *across, axis=1, dtype=np.int32)
    total = _weighted(wide, *down, axis=0, dtype=np.int32)
    result = np.clip((total + (1 << 2 * WEIGHT_BITS - 1)) >> 2 * WEIGHT_BITS, 0, 255).astype(np.uint8)
    if interp == CUBIC:
        _round_as_vectors(result, wide, *down)
    return result


@functools.lru_cache(maxsize=1024)
def _integer_taps(interp: int, source: int, target: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights in 1/2048; kept, because the sizes of pictures and windows come again."""
    positions, weights = TAPS[interp](source, target, across)
    return positions, np.rint(weights * np.float32(1 << WEIGHT_BITS)).astype(np.int32)


def _two_taps_each(image: np.ndarray, columns, column_weights, rows, row_weights) -> np.ndarray:
    """The uint8 image as a weighted sum of two columns, then of two rows: the usual resize, so written for speed.

    Numbers are kept in 16 bits wherever they fit, and arrays are used again: memory is what takes the time.
    """
    channels = image.shape[2]
    # Three bytes travel as four: gathering words is ten times as fast as gathering bytes in threes.
    pixels = _in_words(image) if channels == 3 else image
    left, right = (
        pixels.take(columns[:, k], 1, mode="clip").reshape(len(image), -1).view(np.uint8).astype(np.int16)
        for k in (0, 1)
    )
    lanes = left.shape[1] // len(columns)
    # (2048 - w) left + w right, over 16 and rounded down, is 128 left + w' (right - left) + (w" (right - left)) // 16
    # with w = 16 w' + w": nothing in it leaves 16 bits.
    weights = np.repeat(column_weights[:, 1].astype(np.int16), lanes)
    right -= left
    left <<= WEIGHT_BITS - 4
    left += right * (weights >> 4)
    right *= weights & 15
    right >>= 4
    left += right
    upper, lower = (left.take(rows[:, k], 0) * row_weights[:, k : k + 1] for k in (0, 1))
    upper >>= 16
    lower >>= 16
    upper += lower
    upper += 2
    upper >>= 2
    # Plane by plane, which is how networks want it in the end; the shape says nothing of it.
    planes = np.empty((channels, len(rows), len(columns)), np.uint8)
    np.copyto(planes, upper.reshape(len(rows), len(columns), lanes)[:, :, :channels].transpose(2, 0, 1), "unsafe")
    return planes.transpose(1, 2, 0)


def _in_words(image: np.ndarray) -> np.ndarray:
    """Pixels of three bytes as (height, width) words, the fourth byte of which means nothing."""
    if image.strides[1:] != (3, 1) or image.strides[0] < 3 * image.shape[1]:
        image = np.ascontiguousarray(image)
    rows, columns = image.shape[:2]
    words = np.empty((rows, columns), np.uint32)
    # A word at every third byte also reads the byte behind the pixel. Behind the last row there may be none.
    overlapping = np.lib.stride_tricks.as_strided(image, (rows - 1, columns, 4), (image.strides[0], 3, 1))
    words[:-1] = overlapping.view(np.uint32)[..., 0]
    words[-1].view(np.uint8).reshape(columns, 4)[:, :3] = image[-1]
    return words


def _round_as_vectors(result: np.ndarray, wide: np.ndarray, positions: np.ndarray, weights: np.ndarray) -> None:
    """OpenCV sums whole vectors of 8 elements in float32 when cubic, and only the rest of a row in integers."""
    vectors = result.shape[1] * result.shape[2] // 8 * 8
    scaled = weights.astype(np.float32) * np.float32(1 / (1 << 2 * WEIGHT_BITS))
    flat = wide.reshape(len(wide), -1)[:, :vectors].astype(np.float32)
    total = flat[positions[:, 0]] * scaled[:, :1]
    for k in (1, 2, 3):
        total = flat[positions[:, k]] * scaled[:, k : k + 1] + total
    result.reshape(len(result), -1)[:, :vectors] = _saturated(total, np.uint8)


def _weighted(image: np.ndarray, positions: np.ndarray, weights: np.ndarray, axis: int, dtype=np.float32) -> np.ndarray:
    shape = (-1, 1) if axis else (-1, 1, 1)
    total = 0
    for k in range(positions.shape[1]):
        total = total + image.take(positions[:, k], axis).astype(dtype, copy=False) * weights[:, k].reshape(shape)
    return total


def _area(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """The mean over the input area of each output position, for sizes that do not grow."""
    rows, columns, channels = image.shape
    if rows % height == 0 and columns % width == 0:
        tall, wide = rows // height, columns // width
        exact = np.int32 if image.dtype == np.uint8 else np.float32
        total = image.reshape(height, tall, width, wide, channels).sum((1, 3), dtype=exact)
        if image.dtype == np.uint8 and tall == wide == 2:
            return ((total + 2) >> 2).astype(np.uint8)
        return _saturated(total.astype(np.float32) * np.float32(1 / (tall * wide)), image.dtype)
    wide = _weighted(image, *_area_taps(columns, width), axis=1)
    return _saturated(_weighted(wide, *_area_taps(rows, height), axis=0), image.dtype)


def _area_taps(source: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of input positions in the interval that each output position covers."""
    scale = source / target
    begin = np.arange(target) * scale
    end = begin + scale
    cell = np.minimum(scale, source - begin)
    first, last = np.ceil(begin - 1e-9).astype(int), np.minimum(np.floor(end + 1e-9).astype(int), source)
    taps = math.ceil(scale) + 2
    positions = first[:, None] - 1 + np.arange(taps)
    left = np.maximum(positions, begin[:, None])
    right = np.minimum(positions + 1, end[:, None])
    share = np.maximum(right - left, 0.0)
    share[share < 1e-3] = 0.0
    share[(positions >= first[:, None]) & (positions < last[:, None])] = 1.0
    return np.clip(positions, 0, source - 1), (share / cell[:, None]).astype(np.float32)


def _nearest(source: int, target: int) -> np.ndarray:
    scale = 1.0 / (target / source)
    return np.minimum(np.floor(np.arange(target) * scale).astype(int), source - 1)


def _centres(source: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each output position's centre lies: the input position below it and the fraction, as float32."""
    scale = 1.0 / (target / source)
    position = ((np.arange(target) + 0.5) * scale - 0.5).astype(np.float32)
    below = np.floor(position).astype(int)
    return below, position - below.astype(np.float32)


def _linear_taps(source: int, target: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    return _two_taps(*_centres(source, target), source, across)


def _area_enlarged_taps(source: int, target: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    scale, inverse = 1.0 / (target / source), target / source
    below = np.floor(np.arange(target) * scale).astype(int)
    part = ((np.arange(target) + 1) - (below + 1) * inverse).astype(np.float32)
    part = np.where(part <= 0, np.float32(0), part - np.floor(part))
    return _two_taps(below, part, source, across)


def _two_taps(below: np.ndarray, part: np.ndarray, source: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    if across:  # OpenCV puts the whole weight on an edge column, and repeats edge rows instead
        outside = (below < 0) | (below >= source - 1)
        part = np.where(outside, np.float32(0), part)
    positions = np.clip(below[:, None] + np.arange(2), 0, source - 1)
    return positions, _linear_weights(part)


def _cubic_taps(source: int, target: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    below, x = _centres(source, target)
    return np.clip(below[:, None] + np.arange(-1, 3), 0, source - 1), _cubic_weights(x)


def _lanczos_taps(source: int, target: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    below, x = _centres(source, target)
    return np.clip(below[:, None] + np.arange(-3, 5), 0, source - 1), _lanczos_weights(x)


def _linear_weights(x: np.ndarray) -> np.ndarray:
    return np.stack([1 - x, x], -1)


def _cubic_weights(x: np.ndarray) -> np.ndarray:
    a = np.float32(-0.75)
    before = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    after = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    return np.stack([before, near, after, 1 - before - near - after], -1)


def _lanczos_weights(x: np.ndarray) -> np.ndarray:
    distance = x[..., None].astype(np.float64) + 3 - np.arange(8)
    weights = (np.sinc(distance) * np.sinc(distance / 4)).astype(np.float32)
    return weights / weights.sum(-1, keepdims=True)


def _saturated(values: np.ndarray, dtype) -> np.ndarray:
    """Values in another dtype; integers are rounded to the nearest (ties to even) and held in range."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


TAPS = {LINEAR: _linear_taps, CUBIC: _cubic_taps, AREA: _area_enlarged_taps, LANCZOS4: _lanczos_taps}
# Weights by the fraction between two positions, and the first position relative to the lower one.
WEIGHTS = {LINEAR: (_linear_weights, 0), CUBIC: (_cubic_weights, -1), LANCZOS4: (_lanczos_weights, -3)}
