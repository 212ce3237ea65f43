"""What the record iterators do to an image between decoding and the batch: geometry, colours, normalisation.

The order and the arithmetic are those of MXNet's default augmenter (src/io/image_aug_default.cc). Random numbers come
from the NumPy Generator that the caller passes, one per image, so that results do not depend on threads.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields

import numpy as np

from core import resample
from core.base import MXNetError
from core.files.params import read_params
from core.image.augment import EIGENVALUES, EIGENVECTORS, brighter, contrasted, saturated
from core.image.functions import _get_interp_method

UNBOUNDED = 1e10


@dataclass(frozen=True)
class Normalisation:
    """The settings that every kind of record iterator has; `data_shape` is (channels, height, width)."""

    data_shape: tuple[int, int, int]
    resize: int = -1
    inter_method: int = 1
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0

    def read_mean(self) -> np.ndarray | None:
        """The mean image in the file `mean_img`, None where none is named."""
        if not self.mean_img:
            return None
        content = read_params(self.mean_img)
        record = content.get("mean_img") if isinstance(content, dict) else None
        if record is None or record.shape != self.data_shape:
            raise MXNetError(f"{self.mean_img!r} holds no 'mean_img' of shape {self.data_shape}")
        return record.data.astype(np.float32)

    def scaled(self, pixels: np.ndarray, mean: np.ndarray | None, contrast: float = 1, light: float = 0) -> np.ndarray:
        """float32 ((pixels - mean) * contrast + light) * scale / std of (channels, height, width).

        `mean` is the mean image in the same layout; without it the means of the channels are subtracted.
        """
        channels = len(pixels)
        if mean is None:
            mean = np.array([self.mean_r, self.mean_g, self.mean_b, self.mean_a], np.float32)[:channels, None, None]
        std = np.array([self.std_r, self.std_g, self.std_b, self.std_a], np.float32)[:channels, None, None]
        factor = np.float32(self.scale) / np.where(std == 0, np.float32(1), std)
        return (pixels.astype(np.float32) - mean) * (factor * np.float32(contrast)) + factor * np.float32(light)

    def resized(self, image: np.ndarray, height: int, width: int, rng) -> np.ndarray:
        """The image in another size, by the interpolation that `inter_method` asks for."""
        return resample.resize(image, width, height, self.interpolation(image.shape[:2], (height, width), rng))

    def short_edge(self, image: np.ndarray, size: int, rng) -> np.ndarray:
        """The image with a shorter edge of `size` and the same aspect."""
        rows, columns = image.shape[:2]
        if rows > columns:
            return self.resized(image, size * rows // columns, size, rng)
        return self.resized(image, size, size * columns // rows, rng)

    def interpolation(self, old: tuple[int, int], new: tuple[int, int], rng) -> int:
        """The number of the interpolation between two (height, width)."""
        if self.inter_method == 10:
            return int(rng.integers(5))
        return _get_interp_method(self.inter_method, (*old, *new))


@dataclass(frozen=True)
class Recipe(Normalisation):
    """All settings of `ImageRecordIter`, named as it names them."""

    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = UNBOUNDED
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    pad: int = 0
    mirror: bool = False
    rand_mirror: bool = False
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0

    def __post_init__(self):
        scaled = self.min_random_scale != 1 or self.max_random_scale != 1
        sized = self.min_crop_size != -1 or self.max_crop_size != -1
        if self.random_resized_crop and (scaled or sized or self.rand_crop):
            raise MXNetError(
                "random_resized_crop does not go with rand_crop, min_crop_size, max_crop_size, min_random_scale, "
                "max_random_scale"
            )
        for low, high in (("min_random_area", "max_random_area"), ("min_random_scale", "max_random_scale")):
            if getattr(self, low) > getattr(self, high):
                raise MXNetError(f"{low} {getattr(self, low)} is more than {high} {getattr(self, high)}")

    def geometry(self, image: np.ndarray, rng) -> np.ndarray:
        """The window of `data_shape` that enters the batch, uint8 (height, width, channels)."""
        if self.resize > 0:
            image = self.short_edge(image, self.resize, rng)
        if self._warps:
            image = self._warped(image, rng)
        if self.pad > 0:
            image = resample.border(image, *[self.pad] * 4, kind=0, values=self.fill_value)
        if self._samples_area and (window := self._sampled_window(image, rng)) is not None:
            return self.resized(window, *self.data_shape[1:], rng)
        if self.max_crop_size != -1 or self.min_crop_size != -1:
            return self._sized_crop(image, rng)
        return self._crop(image, rng)

    def colours(self, image: np.ndarray, rng) -> np.ndarray:
        """Random changes of colour, uint8 to uint8."""
        if image.shape[2] != 3:
            return image
        if self.random_h or self.random_s or self.random_l:
            image = shift_hls(image, [rng.integers(-v, v + 1) for v in (self.random_h, self.random_l, self.random_s)])
        jitters = ((brighter, self.brightness), (contrasted, self.contrast), (saturated, self.saturation))
        jitters = [(jitter, amount) for jitter, amount in jitters if amount]
        if jitters or self.pca_noise:
            # MXNet gives red the luma of blue here, and blue that of red.
            pixels = image[..., ::-1].astype(np.float32)
            for i in rng.permutation(len(jitters)):
                jitter, amount = jitters[i]
                pixels = jitter(pixels, np.float32(1 + rng.uniform(-amount, amount)))
            pixels = pixels[..., ::-1]
            if self.pca_noise:
                alpha = rng.normal(0, self.pca_noise, 3)
                pixels = pixels + (EIGENVECTORS @ (alpha * EIGENVALUES)).astype(np.float32)
            image = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
        return image

    def normalised(self, image: np.ndarray, rng, mean: np.ndarray | None) -> np.ndarray:
        """float32 (channels, height, width), mirrored as asked, normalised by `mean` or the settings."""
        pixels = self.plain(image, rng)
        contrast, light = 1.0, 0.0
        if self.max_random_contrast or self.max_random_illumination:
            contrast += rng.uniform(-1, 1) * self.max_random_contrast
            light = rng.uniform(-1, 1) * self.max_random_illumination
        return self.scaled(pixels, mean, contrast, light)

    def plain(self, image: np.ndarray, rng) -> np.ndarray:
        """uint8 (channels, height, width), mirrored as asked."""
        return np.ascontiguousarray(self._maybe_mirrored(image, rng).transpose(2, 0, 1))

    def _maybe_mirrored(self, image: np.ndarray, rng) -> np.ndarray:
        mirrored = self.mirror != (self.rand_mirror and rng.random() < 0.5)
        return image[:, ::-1] if mirrored else image

    def _crop(self, image: np.ndarray, rng) -> np.ndarray:
        """The middle or a random window of an image that is first enlarged as far as it is too small."""
        height, width = self.data_shape[1:]
        interpolation = self.interpolation(image.shape[:2], (height, width), rng)
        if (rows := image.shape[0]) < height:
            image = resample.resize(image, int(np.float32(height) / rows * image.shape[1]), height, interpolation)
        if (columns := image.shape[1]) < width:
            image = resample.resize(image, width, int(np.float32(width) / columns * image.shape[0]), interpolation)
        return self._window(image, height, width, rng)

    def _window(self, image: np.ndarray, height: int, width: int, rng) -> np.ndarray:
        spare = (image.shape[0] - height, image.shape[1] - width)
        if min(spare) < 0:
            raise MXNetError(f"a window of {height} x {width} does not fit into an image of {image.shape[:2]}")
        y, x = (rng.integers(s + 1) if self.rand_crop else s // 2 for s in spare)
        return image[y : y + height, x : x + width]

    def _sized_crop(self, image: np.ndarray, rng) -> np.ndarray:
        size = int(rng.integers(self.min_crop_size, self.max_crop_size + 1))
        return self.resized(self._window(image, size, size, rng), *self.data_shape[1:], rng)

    def _aspect(self, rng) -> float:
        if self.min_aspect_ratio is not None:
            return rng.uniform(self.min_aspect_ratio, self.max_aspect_ratio)
        return 1 + rng.uniform(-1, 1) * self.max_aspect_ratio

    @functools.cached_property
    def _samples_area(self) -> bool:
        areas, ratios = (self.min_random_area, self.max_random_area), (self.min_aspect_ratio, self.max_aspect_ratio)
        return self.random_resized_crop and (areas != (1, 1) or ratios not in ((None, 0), (1, 1)))

    def _sampled_window(self, image: np.ndarray, rng) -> np.ndarray | None:
        """A window of random area and aspect, lying or standing; None where ten do not fit."""
        rows, columns = image.shape[:2]
        for _ in range(10):
            area = rng.uniform(self.min_random_area, self.max_random_area) * rows * columns
            ratio = self._aspect(rng)
            if ratio <= 0:
                continue
            height, width = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if rng.random() < 0.5:
                height, width = width, height
            if 0 < height <= rows and 0 < width <= columns:
                y, x = rng.integers(rows - height + 1), rng.integers(columns - width + 1)
                return image[y : y + height, x : x + width]
        return None

    @functools.cached_property
    def _warps(self) -> bool:
        neutral = {field.name: field.default for field in fields(self)}
        names = ("max_rotate_angle", "max_shear_ratio", "max_random_scale", "min_random_scale", "max_img_size")
        names += ("min_img_size",)
        if not self.random_resized_crop:
            names += ("max_aspect_ratio", "min_aspect_ratio")
        return self.rotate > 0 or any(getattr(self, name) != neutral[name] for name in names)

    def _warped(self, image: np.ndarray, rng) -> np.ndarray:
        """Sheared, rotated, scaled and stretched about the middle."""
        rows, columns = image.shape[:2]
        shear = rng.uniform(-1, 1) * self.max_shear_ratio
        angle = self.rotate if self.rotate > 0 else int(rng.integers(-self.max_rotate_angle, self.max_rotate_angle + 1))
        scale = rng.uniform(self.min_random_scale, self.max_random_scale)
        ratio = 1 if self.random_resized_crop else self._aspect(rng)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        tall = 2 * scale / (1 + ratio)
        wide = ratio * tall
        bounded = [max(self.min_img_size, min(self.max_img_size, scale * extent)) for extent in (rows, columns)]
        height, width = (int(extent) for extent in bounded)
        linear = np.array(
            [[tall * cos - shear * sin * wide, tall * sin + shear * cos * wide], [-sin * wide, cos * wide]], np.float32
        )
        shift = (np.array([bounded[1], bounded[0]], np.float32) - linear @ np.array([columns, rows], np.float32)) / 2
        interp = self.interpolation((rows, columns), (height, width), rng)
        return resample.warp(image, linear, shift, width, height, interp, self.fill_value)


def shift_hls(image: np.ndarray, shifts: list[int]) -> np.ndarray:
    """Hue (in 2 degrees), lightness and saturation (0..255) moved by the given amounts and held in range."""
    hls = _rgb_to_hls(image.astype(np.float32) / 255)
    scale = np.array([0.5, 255, 255], np.float32)
    hls = np.clip(np.rint(hls * scale) + shifts, 0, [180, 255, 255]) / scale
    return np.clip(np.rint(_hls_to_rgb(hls) * 255), 0, 255).astype(np.uint8)


def _rgb_to_hls(rgb: np.ndarray) -> np.ndarray:
    """Hue 0..360, lightness and saturation 0..1 (Foley and van Dam, Computer Graphics, 13.3)."""
    high, low = rgb.max(2), rgb.min(2)
    spread, total = high - low, high + low
    saturation = spread / np.maximum(np.where(total < 1, total, 2 - total), 1e-9)
    red, green, blue = np.moveaxis(rgb, 2, 0)
    safe = np.maximum(spread, 1e-9)
    hue = np.where(
        high == red, (green - blue) / safe, np.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe)
    )
    return np.stack([np.where(spread > 0, hue * 60 % 360, 0), total / 2, saturation], 2)


def _hls_to_rgb(hls: np.ndarray) -> np.ndarray:
    hue, lightness, saturation = np.moveaxis(hls, 2, 0)
    reach = saturation * np.minimum(lightness, 1 - lightness)
    place = (np.array([0, 8, 4], np.float32) + hue[..., None] / 30) % 12
    return lightness[..., None] - reach[..., None] * np.clip(np.minimum(place - 3, 9 - place), -1, 1)
