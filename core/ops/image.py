"""Images: `nd.image`. Shapes are (height, width, channels) or a batch of them unless said otherwise.

Colour changes and resizing are NumPy functions of pixels; arrays on a GPU visit the host for them.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core import kernels, resample, storage
from core.base import MXNetError
from core.kernels.formula import Expr
from core.ops.attributes import Bool, Float, Floats, Int, Shape
from core.ops.pointwise import pointwise
from core.ops.registry import F, composite, gradient, operator
from core.ops.values import Device, Gradients, Namespace, Tensor, Value

# Weights of red, green and blue in gray (ITU-R BT.601).
GRAY = np.array([0.299, 0.587, 0.114], np.float32)
# Principal components of the colours of ImageNet, each times its deviation (Krizhevsky et al., 2012), by column.
COMPONENTS = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)
# Red, green and blue in each sixth of the circle of hues: 0 high, 1 low, 2 falling, 3 rising.
SECTORS = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])


# ---------------------------------------------------------------------------------------------- to and from tensors

Pixels = np.ndarray[Any, Any]


@operator("_image_to_tensor")
def to_tensor(data: Tensor) -> Tensor:
    """(height, width, channels) in 0..255 as (channels, height, width) float32 in 0..1; also with a batch axis."""
    _check(data, "to_tensor")
    axes = (2, 0, 1) if len(data.shape) == 3 else (0, 3, 1, 2)
    return F._div_scalar.forward(kernels.cast(kernels.shape.permute(data, axes), "float32"), scalar=255.0)


@gradient(to_tensor)
def _to_tensor_gradient(dy: Value, data_dtype: str) -> Gradients:
    axes = (1, 2, 0) if len(dy.shape) == 3 else (0, 2, 3, 1)
    return [F.cast(F._div_scalar(F.transpose(dy, axes=axes), scalar=255.0), dtype=data_dtype)]


@operator("_image_normalize")
def normalize(data: Tensor, *, mean: Floats = (0.0,), std: Floats = (1.0,)) -> Tensor:
    """(data - mean) / std by channel, for (channels, height, width) or a batch of it, of 1 or 3 channels."""
    if data.dim() not in (3, 4):
        raise MXNetError(
            f"normalize takes (channels, height, width) or a batch of it, given the shape {tuple(data.shape)}"
        )
    channels = data.shape[-3]
    if channels not in (1, 3):
        raise MXNetError(f"normalize takes 1 or 3 channels, given the shape {tuple(data.shape)}")
    if not data.dtype.is_floating_point:
        return kernels.cast(normalize.forward(data.float(), mean=mean, std=std), kernels.dtype_name(data))
    dtype = kernels.dtype_name(data)
    means, stds = (_by_channel(v, channels, dtype, data.device, name) for v, name in ((mean, "mean"), (std, "std")))
    return _standardize.forward(data, means, stds)


@gradient(normalize)
def _normalize_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F._image_normalize(dy, mean=(0.0,), std=attrs.std)]


@pointwise("_image_standardize", dtype="first")
def _standardize(data: Expr, mean: Expr, std: Expr) -> Expr:
    """(data - mean) / std."""
    return (data - mean) / std


@functools.lru_cache(maxsize=64)
def _by_channel(values: Sequence[float], channels: int, dtype: str, device: Device, what: str) -> Tensor:
    if len(values) not in (1, channels):
        raise MXNetError(
            f"normalize: {len(values)} values of {what} for {channels} channels; accepted are 1, {channels}"
        )
    return storage.from_numpy(np.array(values, np.float64).reshape(-1, 1, 1), dtype).to(device)


# ---------------------------------------------------------------------------------------------- geometry


@composite("_image_crop")
def crop(data: Value, *, x: Int, y: Int, width: Int, height: Int) -> Value:
    """The window of `width` and `height` at column x and row y."""
    _check(data, "crop")
    rows, columns = data.shape[-3:-1]
    if not (x >= 0 and 0 < width <= columns - x and y >= 0 and 0 < height <= rows - y):
        raise MXNetError(f"crop: the window x={x}, y={y}, {width} x {height} is not inside {columns} x {rows} pixels")
    window = F.slice_axis(data, axis=-3, begin=y, end=y + height)
    return F.slice_axis(window, axis=-2, begin=x, end=x + width)


@operator("_image_flip_left_right")
def flip_left_right(data: Tensor) -> Tensor:
    """The image mirrored. The gradient is not: MXNet hands it on as it comes, and its results are the reference."""
    _check(data, "flip_left_right")
    return kernels.shape.flip(data, (-2,))


@operator("_image_flip_top_bottom")
def flip_top_bottom(data: Tensor) -> Tensor:
    """The image upside down, as a mirror on the floor shows it; the gradient as in `flip_left_right`."""
    _check(data, "flip_top_bottom")
    return kernels.shape.flip(data, (-3,))


@gradient(flip_left_right)
@gradient(flip_top_bottom)
def _flip_gradient(dy: Value) -> Gradients:
    return [dy]


# ---------------------------------------------------------------------------------------------- on the host


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a forward rule of a NumPy function of pixels."""

    @functools.wraps(function)
    def forward(data: Tensor, **attrs: Any) -> Tensor:
        _check(data, function.__name__)
        if data.is_meta:
            blank = np.zeros(tuple(data.shape), kernels.dtype_name(data))
            return storage.meta(function(blank, **attrs).shape, kernels.dtype_name(data))
        pixels = storage.to_numpy(data) if data.is_cuda else storage.share_numpy(data)
        result = function(pixels, **attrs)
        if np.may_share_memory(result, pixels):
            result = result.copy("K")  # as it lies in memory, which is faster
        return storage.from_numpy(result, copy=False).to(data.device)

    return forward


@operator("_image_random_flip_left_right", rng=True)
@on_host
def random_flip_left_right(data: Pixels, *, p: Float = 0.5, key: Any = None) -> Pixels:
    """The image mirrored with probability p."""
    return data[..., ::-1, :] if _uniform(key) < p else data


@operator("_image_random_flip_top_bottom", rng=True)
@on_host
def random_flip_top_bottom(data: Pixels, *, p: Float = 0.5, key: Any = None) -> Pixels:
    """The image upside down with probability p."""
    return data[..., ::-1, :, :] if _uniform(key) < p else data


@operator("_image_resize")
@on_host
def resize(data: Pixels, *, size: Shape = (), keep_ratio: Bool = False, interp: Int = 1) -> Pixels:
    """The image in another size, as OpenCV computes it.

    size: (width, height), or the length of both edges; with keep_ratio a single length is that of the shorter edge.
    interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.
    """
    if not 1 <= len(size) <= 2 or min(size) < 1:
        raise MXNetError(f"resize: size={size} does not fit; accepted are one or two lengths (width, height) from 1 on")
    rows, columns = data.shape[-3:-1]
    width, height = size[0], size[-1]
    if keep_ratio and len(size) == 1:
        width, height = (width, width * rows // columns) if rows > columns else (height * columns // rows, height)
    return _resized(data, width, height, interp)


@operator("_image_random_crop", rng=True)
@on_host
def random_crop(
    data: Pixels, *, xrange: Floats = (0.0, 1.0), yrange: Floats = (0.0, 1.0), width: Int, height: Int, interp: Int = 1,
    key: Any = None,
) -> Pixels:  # fmt: skip
    """A window of `width` and `height`, of MXNet 2; of the same aspect and then resized where it does not fit.

    xrange, yrange: bounds of the position, as shares of the pixels that are left beside the window and above it.
    """
    _bounds("random_crop", "xrange", xrange, "0 <= low <= high <= 1", lambda low, high: 0 <= low <= high <= 1)
    _bounds("random_crop", "yrange", yrange, "0 <= low <= high <= 1", lambda low, high: 0 <= low <= high <= 1)
    generator = _generator(key)
    return _window(data, (width, height), interp, _between(generator, xrange), _between(generator, yrange))


@operator("_image_random_resized_crop", rng=True)
@on_host
def random_resized_crop(
    data: Pixels, *, width: Int, height: Int, area: Floats = (0.08, 1.0), ratio: Floats = (0.75, 4 / 3),
    interp: Int = 1, max_trial: Int = 10, key: Any = None,
) -> Pixels:  # fmt: skip
    """A window of random area and aspect, resized to `width` and `height`, of MXNet 2 (Szegedy et al., 2015).

    area: bounds of its share of the image. ratio: bounds of its width / height. After `max_trial` windows that do not fit
    the middle is taken.
    """
    _positive("random_resized_crop", width, height)
    _bounds("random_resized_crop", "area", area, "from 0 on", lambda *ends: all(0 <= end < math.inf for end in ends))
    _bounds("random_resized_crop", "ratio", ratio, "above 0", lambda *ends: all(0 < end < math.inf for end in ends))
    rows, columns = data.shape[-3:-1]
    generator = _generator(key)
    for _ in range(max_trial):
        wanted, aspect = _between(generator, sorted(area)) * rows * columns, _between(generator, sorted(ratio))
        w, h = round((wanted * aspect) ** 0.5), round((wanted / aspect) ** 0.5)
        if 0 < w <= columns and 0 < h <= rows:
            x, y = generator.integers(0, columns - w, endpoint=True), generator.integers(0, rows - h, endpoint=True)
            return _resized(data[..., y : y + h, x : x + w, :], width, height, interp)
    return _window(data, (width, height), interp, 0.5, 0.5)


def _window(pixels: Pixels, size: tuple[int, int], interp: int, x: float, y: float) -> Pixels:
    """The window of `size` = (width, height) at the shares x and y of the room beside and above it."""
    _positive("random_crop", *size)
    rows, columns = pixels.shape[-3:-1]
    width, height = resample.scale_down((columns, rows), size)
    left, top = int(x * (columns - width)), int(y * (rows - height))
    return _resized(pixels[..., top : top + height, left : left + width, :], *size, interp)


def _bounds(
    name: str, parameter: str, bounds: tuple[Any, ...], words: str, holds: Callable[[float, float], bool]
) -> None:
    """MXNetError unless there are two bounds of which `holds` is true."""
    if len(bounds) != 2 or not holds(*bounds):
        raise MXNetError(f"{name}: {parameter}={bounds} does not fit; accepted are two numbers {words}")


def _positive(name: str, width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise MXNetError(f"{name}: width and height are 1 or more, given {width} and {height}")


def _resized(pixels: Pixels, width: int, height: int, interp: int) -> Pixels:
    if pixels.shape[-3:-1] == (height, width):
        return pixels
    if pixels.ndim == 3:
        return resample.resize(pixels, width, height, interp)
    return np.stack([resample.resize(image, width, height, interp) for image in pixels])


@operator("_image_adjust_lighting")
@on_host
def adjust_lighting(data: Pixels, *, alpha: Floats) -> Pixels:
    """The image plus the three principal components of ImageNet's colours, weighted by alpha."""
    if len(alpha) != 3:
        raise MXNetError(f"adjust_lighting takes 3 values of alpha, given {alpha}")
    return _lit(data, alpha)


@operator("_image_random_lighting", rng=True)
@on_host
def random_lighting(data: Pixels, *, alpha_std: Float = 0.05, key: int | None = None) -> Pixels:
    """`adjust_lighting` with weights drawn from a normal distribution of deviation alpha_std."""
    return _lit(data, _generator(key).normal(0, alpha_std, 3))


@operator("_image_random_brightness", rng=True)
@on_host
def random_brightness(data: Pixels, *, min_factor: Float, max_factor: Float, key: int | None = None) -> Pixels:
    """The image times a factor drawn between the two."""
    return _brightened(data, _factor(min_factor, max_factor, key))


@operator("_image_random_contrast", rng=True)
@on_host
def random_contrast(data: Pixels, *, min_factor: Float, max_factor: Float, key: int | None = None) -> Pixels:
    """The distance from the image's mean gray times a factor drawn between the two."""
    return _contrasted(data, _factor(min_factor, max_factor, key))


@operator("_image_random_saturation", rng=True)
@on_host
def random_saturation(data: Pixels, *, min_factor: Float, max_factor: Float, key: int | None = None) -> Pixels:
    """The distance from each pixel's gray times a factor drawn between the two."""
    return _saturated(data, _factor(min_factor, max_factor, key))


@operator("_image_random_hue", rng=True)
@on_host
def random_hue(data: Pixels, *, min_factor: Float, max_factor: Float, key: int | None = None) -> Pixels:
    """The hue turned by a share of the circle drawn between the two."""
    return _turned(data, _factor(min_factor, max_factor, key))


@operator("_image_random_color_jitter", rng=True)
@on_host
def random_color_jitter(
    data: Pixels, *, brightness: Float, contrast: Float, saturation: Float, hue: Float, key: int | None = None
) -> Pixels:
    """The four random changes in a random order, with factors between 1 - amount (0 at least) and 1 + amount."""
    generator = _generator(key)
    changes = [
        (_brightened, brightness, 1.0),
        (_contrasted, contrast, 1.0),
        (_saturated, saturation, 1.0),
        (_turned, hue, 0.0),
    ]
    for place in generator.permutation(len(changes)):
        change, amount, middle = changes[place]
        if amount > 0:
            low = max(0.0, middle - amount) if middle else -amount
            data = change(data, generator.uniform(low, middle + amount))
    return data


# ---------------------------------------------------------------------------------------------- changes of colour


def _brightened(pixels: Pixels, factor: float) -> Pixels:
    return _cut(pixels * np.float32(factor), pixels.dtype)


def _contrasted(pixels: Pixels, factor: float) -> Pixels:
    gray = _gray(pixels).mean(axis=(-3, -2), keepdims=True, dtype=np.float32)
    return _cut(pixels * np.float32(factor) + gray * np.float32(1 - factor), pixels.dtype)


def _saturated(pixels: Pixels, factor: float) -> Pixels:
    if pixels.shape[-1] == 1:
        return pixels
    # MXNet's sum over the channels keeps its last term alone (image_random-inl.h), and its results are the reference.
    gray = pixels[..., 2:] * GRAY[2]
    return _cut(pixels * np.float32(factor) + gray * np.float32(1 - factor), pixels.dtype)


def _turned(pixels: Pixels, share: float) -> Pixels:
    """The hue turned by a share of the circle, by way of hue, lightness and saturation, in OpenCV's steps."""
    if pixels.shape[-1] == 1:
        return pixels
    one = np.float32(1)
    colours = pixels.astype(np.float32) / np.float32(255)
    red, green, blue = np.moveaxis(colours, -1, 0)
    top, bottom = colours.max(-1), colours.min(-1)
    spread, light = top - bottom, (top + bottom) * np.float32(0.5)
    coloured = spread > np.finfo(np.float32).eps
    spread = np.where(coloured, spread, one)
    room = np.where(coloured, np.where(light < 0.5, top + bottom, 2 - top - bottom), one)
    saturation = np.where(coloured, spread / room, 0 * one)
    degrees = np.float32(60) / spread
    hue = np.where(
        top == red,
        (green - blue) * degrees,
        np.where(top == green, (blue - red) * degrees + 120, (red - green) * degrees + 240),
    )
    hue = (np.where(hue < 0, hue + 360, hue) * coloured + np.float32(share * 360)) * np.float32(6 / 360) % 6
    high = np.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    low = 2 * light - high
    sector = np.minimum(hue.astype(np.int64), 5)
    part = hue - sector.astype(np.float32)
    levels = np.stack([high, low, low + (high - low) * (1 - part), low + (high - low) * part], -1)
    return _cut(np.take_along_axis(levels, SECTORS[sector], -1) * np.float32(255), pixels.dtype)


def _lit(pixels: Pixels, alpha: Pixels | tuple[float, ...]) -> Pixels:
    if pixels.shape[-1] == 1:
        return pixels
    return _cut(pixels + COMPONENTS @ np.asarray(alpha, np.float32), pixels.dtype)


def _gray(pixels: Pixels) -> Pixels:
    if pixels.shape[-1] == 1:
        return pixels.astype(np.float32)
    return (pixels * GRAY).sum(-1, keepdims=True, dtype=np.float32)


def _cut(values: Pixels, dtype: Any) -> Pixels:
    """Values in another dtype; for integers held in range and cut off behind the point, as MXNet does."""
    if np.dtype(dtype).kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(values, limits.min, limits.max).astype(dtype)


def _factor(low: float, high: float, key: Any) -> float:
    if not low >= 0:
        raise MXNetError(f"min_factor={low} does not fit; accepted are numbers from 0 on")
    return low + (high - low) * _uniform(key)


def _uniform(key: int) -> float:
    """The key itself as a number in 0..1: a generator costs more than a flip."""
    return key / 2**63


def _generator(key: int | None) -> np.random.Generator:
    return np.random.default_rng(key)


def _between(generator: np.random.Generator, bounds: Sequence[float]) -> float:
    low, high = bounds
    return generator.uniform(low, high)


def _check(data: Value | Tensor, name: str) -> None:
    if len(data.shape) not in (3, 4):
        raise MXNetError(
            f"{name} takes (height, width, channels) or a batch of it, given the shape {tuple(data.shape)}"
        )
