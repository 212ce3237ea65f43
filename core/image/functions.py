"""Functions of images: reading, resizing, cropping, rotating. Images are (height, width, channels).

Resizing to a given size and cropping also take a batch of images, of which all get the same window.

Every function takes an NDArray or a NumPy array and gives the same kind.
"""

from __future__ import annotations

import math
import os
import random
from numbers import Number

import numpy as np

from core import resample
from core.base import MXNetError
from core.image import codec
from core.image.arrays import like, on_pixels, pixels_of, to_array
from core.resample import scale_down

AUTO, ANY = 9, 10


def imread(filename: str, flag: int = 1, to_rgb: bool = True, out=None, *, max_pixels: float | None = None):
    """The image in a file: uint8, (height, width, 3) or, with `flag` 0, (height, width, 1) gray.

    `to_rgb=False` gives BGR. `max_pixels`: how many it may have, by default 64,000,000 (`MXNET_MAX_IMAGE_PIXELS`), 0 for
    no limit. Raises MXNetError when the file cannot be read, is no image, or is beyond the limit.

    >>> import os, tempfile
    >>> from PIL import Image
    >>> path = os.path.join(tempfile.mkdtemp(), "red.png")
    >>> Image.new("RGB", (2, 1), "red").save(path)
    >>> image.imread(path)[0, 0]
    [255   0   0]
    <NDArray 3 @cpu(0)>
    """
    name = os.fspath(filename)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise MXNetError(f"cannot open {name!r}: {error.strerror or error}") from error
    try:
        return imdecode(data, flag, to_rgb, out, max_pixels=max_pixels)
    except MXNetError as error:
        raise MXNetError(f"{name!r}: {error}") from error


def imdecode(buf, flag: int = 1, to_rgb: bool = True, out=None, *, max_pixels: float | None = None):
    """The image in compressed bytes (bytes, bytearray, or a uint8 array); see `imread`.

    `out`: an array to write it to.

    >>> import io
    >>> from PIL import Image
    >>> buffer = io.BytesIO()
    >>> Image.new("RGB", (2, 1), "red").save(buffer, "png")
    >>> image.imdecode(buffer.getvalue()).shape
    (1, 2, 3)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        buf = pixels_of(buf).astype(np.uint8, copy=False).tobytes()
    if flag not in (0, 1):
        raise MXNetError(f"imdecode: flag {flag!r} is unknown; accepted are 0 (gray) and 1 (colour)")
    if not buf:
        raise MXNetError("imdecode was given an empty buffer")
    pixels = codec.decode(buf, flag, max_pixels)
    if not to_rgb and pixels.shape[2] == 3:
        pixels = np.ascontiguousarray(pixels[:, :, ::-1])
    if out is None:
        return to_array(pixels)
    out[:] = pixels
    return out


@on_pixels
def imresize(src, w: int, h: int, interp: int = 1):
    """The image in width `w` and height `h`.

    `interp`: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes (cubic up, area down, else linear),
    10 one of 0..4 at random. uint8 results are OpenCV's to the bit.

    >>> image.imresize(nd.zeros((4, 6, 3), dtype="uint8"), w=3, h=2).shape
    (2, 3, 3)
    """
    return _resized(src, w, h, interp)


@on_pixels
def copyMakeBorder(src, top: int, bot: int, left: int, right: int, type: int = 0, value: float = 0.0, values=()):
    """The image with a border of the given widths.

    `type`: 0 constant, 1 repeated edge, 2 mirrored, 3 wrapped, 4 mirrored without repeating the edge. The constant is
    `value`, or `values` by channel: channels without one get 0. MXNetError for what is no single image.

    >>> image.copyMakeBorder(nd.ones((1, 1, 3), dtype="uint8"), 1, 1, 0, 0).shape
    (3, 1, 3)
    """
    if src.ndim != 3:
        raise MXNetError(f"copyMakeBorder takes an image (height, width, channels), given the shape {src.shape}")
    channels = src.shape[2]
    given = np.atleast_1d(values)[:channels]
    colour = np.pad(given, (0, channels - given.size)) if given.size else value
    return resample.border(src, top, bot, left, right, type, colour)


@on_pixels
def resize_short(src, size: int, interp: int = 2):
    """The image with its shorter edge of length `size` and the same aspect.

    >>> image.resize_short(nd.zeros((8, 16, 3), dtype="uint8"), 4).shape
    (4, 8, 3)
    """
    h, w = src.shape[:2]
    new_h, new_w = (size * h // w, size) if h > w else (size, size * w // h)
    return _resized(src, new_w, new_h, interp)


def fixed_crop(src, x0: int, y0: int, w: int, h: int, size: tuple[int, int] | None = None, interp: int = 2):
    """The window of width `w`, height `h` at (`x0`, `y0`), resized to `size` = (width, height) if given.

    >>> image.fixed_crop(nd.zeros((8, 8, 3)), 1, 2, 4, 3).shape
    (3, 4, 3)
    """
    out = src[..., y0 : y0 + h, x0 : x0 + w, :]
    if size is None or (w, h) == tuple(size):
        return out
    return imresize(out, *size, interp=interp)


@on_pixels
def random_crop(src, size: tuple[int, int], interp: int = 2):
    """A window of `size` = (width, height) anywhere, smaller of the same aspect (then resized) where it does not fit.

    Returns the image and (x0, y0, width, height) of the window.

    >>> picture, window = image.random_crop(nd.zeros((8, 8, 3)), (4, 2))
    >>> picture.shape, window[2:]
    ((2, 4, 3), (4, 2))
    """
    h, w = src.shape[-3:-1]
    new_w, new_h = _window((w, h), size)
    x0, y0 = random.randint(0, w - new_w), random.randint(0, h - new_h)
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


@on_pixels
def center_crop(src, size: tuple[int, int], interp: int = 2):
    """As `random_crop`, in the middle.

    >>> picture, window = image.center_crop(nd.zeros((8, 8, 3)), (4, 2))
    >>> picture.shape, window
    ((2, 4, 3), (2, 3, 4, 2))
    """
    h, w = src.shape[-3:-1]
    new_w, new_h = _window((w, h), size)
    x0, y0 = (w - new_w) // 2, (h - new_h) // 2
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


@on_pixels
def random_size_crop(src, size: tuple[int, int], area, ratio: tuple[float, float], interp: int = 2, **kwargs):
    """A window of random area and aspect, resized to `size` = (width, height) (Szegedy et al., 2015).

    `area`: (smallest, largest) share of the image, or the smallest alone; `ratio`: bounds of width / height. After ten
    windows that do not fit the middle is taken. Returns the image and (x0, y0, width, height) of the window.

    >>> picture, window = image.random_size_crop(nd.zeros((8, 8, 3)), (4, 4), 0.5, (0.9, 1.1))
    >>> picture.shape
    (4, 4, 3)
    """
    area = kwargs.pop("min_area", area)
    if kwargs:
        raise TypeError(f"random_size_crop got the unknown arguments {', '.join(kwargs)}")
    low, high = (area, 1.0) if isinstance(area, Number) else area
    h, w = src.shape[-3:-1]
    for _ in range(10):
        wanted = random.uniform(low, high) * h * w
        aspect = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_w, new_h = round(math.sqrt(wanted * aspect)), round(math.sqrt(wanted / aspect))
        if 0 < new_w <= w and 0 < new_h <= h:
            x0, y0 = random.randint(0, w - new_w), random.randint(0, h - new_h)
            return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)
    return center_crop(src, size, interp)


def color_normalize(src, mean, std=None):
    """(image - mean) / std, by channel; either may be None.

    >>> image.color_normalize(nd.ones((1, 1, 3)), nd.array([0.5, 0.5, 0.5]), nd.array([0.5, 0.25, 1]))
    [[[1.  2.  0.5]]]
    <NDArray 1x1x3 @cpu(0)>
    """
    pixels = pixels_of(src)
    dtype = pixels.dtype if pixels.dtype.kind == "f" else np.float32
    pixels = pixels.astype(dtype)
    if mean is not None:
        pixels -= np.asarray(pixels_of(mean) if hasattr(mean, "asnumpy") else mean, dtype)
    if std is not None:
        pixels /= np.asarray(pixels_of(std) if hasattr(std, "asnumpy") else std, dtype)
    return like(pixels, src)


def imrotate(src, rotation_degrees, zoom_in: bool = False, zoom_out: bool = False):
    """Rotated float32 images, bilinear, zeros outside; (channels, height, width) or a batch of them.

    `rotation_degrees`: a number, or one for each image of a batch. `zoom_in` enlarges until no zeros show, `zoom_out`
    shrinks until nothing is cut off. Raises ValueError or TypeError for other input.

    >>> image.imrotate(nd.arange(9).reshape((1, 3, 3)), 90)
    [[[2. 5. 8.]
      [1. 4. 7.]
      [0. 3. 6.]]]
    <NDArray 1x3x3 @cpu(0)>
    """
    if zoom_in and zoom_out:
        raise ValueError("zoom_in and zoom_out cannot both be True")
    pixels = pixels_of(src)
    if pixels.dtype != np.float32:
        raise TypeError(f"imrotate takes float32 images, not {pixels.dtype}")
    if pixels.ndim not in (3, 4):
        raise ValueError(f"imrotate takes (channels, height, width) or a batch of it, not shape {pixels.shape}")
    single = pixels.ndim == 3
    if single and not isinstance(rotation_degrees, Number):
        raise TypeError("the rotation of a single image is one number")
    batch = pixels[None] if single else pixels
    given = rotation_degrees if isinstance(rotation_degrees, (Number, list, tuple)) else pixels_of(rotation_degrees)
    degrees = np.asarray(given, np.float32).reshape(-1)
    if isinstance(rotation_degrees, Number):
        degrees = np.repeat(degrees, len(batch))
    if len(degrees) != len(batch):
        raise ValueError(f"{len(degrees)} rotations for {len(batch)} images")
    rotated = np.stack([_rotated(one, angle, zoom_in, zoom_out) for one, angle in zip(batch, np.deg2rad(degrees))])
    return like(rotated[0] if single else rotated, src)


def random_rotate(src, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False):
    """`imrotate` by angles drawn evenly between the limits (degrees), one for each image.

    >>> image.random_rotate(nd.zeros((3, 8, 8)), (-10, 10)).shape
    (3, 8, 8)
    """
    if src.ndim == 3:
        return imrotate(src, random.uniform(*angle_limits), zoom_in, zoom_out)
    angles = [random.uniform(*angle_limits) for _ in range(src.shape[0])]
    return imrotate(src, angles, zoom_in, zoom_out)


def _window(src_size: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    """`scale_down` of a window that holds at least a pixel; MXNetError for others."""
    if min(size) < 1:
        raise MXNetError(f"a window of width {size[0]} and height {size[1]} holds no pixel")
    return scale_down(src_size, size)


class UnknownInterpolation(MXNetError, ValueError):
    """A number that stands for no way to resize."""


def _get_interp_method(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """One of 0..4 for 0..10; `sizes` = (old height, old width, new height, new width) decide for 9."""
    if interp == ANY:
        return random.randint(0, 4)
    if interp == AUTO:
        if not sizes:
            return resample.CUBIC
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return resample.CUBIC
        return resample.AREA if new_h < old_h and new_w < old_w else resample.LINEAR
    if interp not in range(5):
        raise UnknownInterpolation(
            f"unknown interpolation {interp}; accepted are 0..4, 9 (by the sizes) and 10 (random)"
        )
    return interp


def _resized(pixels: np.ndarray, w: int, h: int, interp: int) -> np.ndarray:
    if pixels.ndim == 4:
        return np.stack([_resized(one, w, h, interp) for one in pixels])
    return resample.resize(pixels, w, h, _get_interp_method(interp, (*pixels.shape[:2], h, w)))


def _rotated(image: np.ndarray, angle: float, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    """One image turned about its middle; rotation and zoom act before the axes are scaled to -1..1."""
    _, h, w = image.shape
    y, x = np.mgrid[:h, :w].astype(np.float32)
    half_h, half_w = np.float32((h - 1) / 2), np.float32((w - 1) / 2)
    y, x, cos, sin = y - half_h, x - half_w, np.cos(angle), np.sin(angle)
    zoom = _zoom(h, w, angle, zoom_in, zoom_out)
    across, down = (x * cos - y * sin) * zoom + half_w, (x * sin + y * cos) * zoom + half_h
    left, top = np.floor(across), np.floor(down)
    result = np.zeros_like(image)
    for dy in (0, 1):
        for dx in (0, 1):
            column, row = left + dx, top + dy
            weight = (1 - np.abs(across - column)) * (1 - np.abs(down - row))
            inside = (column >= 0) & (column < w) & (row >= 0) & (row < h)
            places = (slice(None), np.clip(row, 0, h - 1).astype(int), np.clip(column, 0, w - 1).astype(int))
            result += image[places] * np.where(inside, weight, np.float32(0))
    return result


def _zoom(h: int, w: int, angle: float, zoom_in: bool, zoom_out: bool) -> np.float32:
    """By how much the sampled window is larger than the image."""
    if not (zoom_in or zoom_out):
        return np.float32(1)
    radius, corner, angle = math.hypot(h, w), math.atan(h / w), abs(angle)
    widest = max(abs(radius * math.cos(corner + sign * angle)) for sign in (1, -1))
    highest = max(abs(radius * math.sin(corner + sign * angle)) for sign in (1, -1))
    return np.float32(max(widest / w, highest / h) if zoom_out else min(w / widest, h / highest))
