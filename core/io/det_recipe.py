"""What `ImageDetRecordIter` does to an image and its boxes, as MXNet's default detection augmenter does
(src/io/image_det_aug_default.cc; the sampling of crops is that of Liu et al., SSD, 2016).

Labels are flat: header width, object width, the rest of the header, then the objects: class, left, top, right, bottom
as shares of the image, and whatever follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core import resample
from core.base import MXNetError
from core.image.boxes import box_areas
from core.io.recipe import Normalisation, shift_hls

RESIZE_MODES, EMIT_MODES = ("force", "shrink", "fit"), ("center", "overlap")


@dataclass(frozen=True)
class DetRecipe(Normalisation):
    """All settings, named as the iterator names them; those in the plural take one value for each crop sampler."""

    rand_crop_prob: float = 0.0
    min_crop_scales: tuple = (0.0,)
    max_crop_scales: tuple = (1.0,)
    min_crop_aspect_ratios: tuple = (1.0,)
    max_crop_aspect_ratios: tuple = (1.0,)
    min_crop_overlaps: tuple = (0.0,)
    max_crop_overlaps: tuple = (1.0,)
    min_crop_sample_coverages: tuple = (0.0,)
    max_crop_sample_coverages: tuple = (1.0,)
    min_crop_object_coverages: tuple = (0.0,)
    max_crop_object_coverages: tuple = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    resize_mode: str = "force"

    def __post_init__(self):
        for name, value, accepted in (
            ("resize_mode", self.resize_mode, RESIZE_MODES),
            ("crop_emit_mode", self.crop_emit_mode, EMIT_MODES),
        ):
            if value not in accepted:
                raise MXNetError(f"unknown {name} {value!r}; accepted are {', '.join(accepted)}")

    def apply(self, image: np.ndarray, label: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        """The changed image, at most as large as `data_shape`, and its flat label."""
        header = int(label[0]) if label.size >= 2 else 0
        width = int(label[1]) if label.size >= 2 else 0
        if header < 2 or width < 5 or (label.size - header) % width:
            raise MXNetError(
                f"a detection label of {label.size} numbers with header width {header}, object width {width}"
            )
        objects = label[header:].reshape(-1, width).copy()
        if self.resize > 0:
            image = self.short_edge(image, self.resize, rng)
        image = self._colours(image, rng)
        if rng.random() < self.rand_mirror_prob:
            image = image[:, ::-1]
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        if rng.random() < self.rand_crop_prob:
            image, objects = self._crop(image, objects, rng)
        if self.max_pad_scale > 1 and rng.random() < self.rand_pad_prob:
            image, objects = self._pad(image, objects, rng)
        return self._fitted(image, rng), np.concatenate([label[:header], objects.reshape(-1)])

    def _colours(self, image: np.ndarray, rng) -> np.ndarray:
        amounts = (
            (self.max_random_hue, self.random_hue_prob),
            (self.max_random_illumination, self.random_illumination_prob),
            (self.max_random_saturation, self.random_saturation_prob),
        )
        shifts = [rng.integers(-most, most + 1) if rng.random() < chance else 0 for most, chance in amounts]
        if any(shifts):
            image = shift_hls(image, shifts)
        if rng.random() < self.random_contrast_prob:
            alpha = np.float32(1 + rng.uniform(-1, 1) * self.max_random_contrast)
            image = np.clip(np.rint(image * alpha), 0, 255).astype(np.uint8)
        return image

    def _crop(self, image: np.ndarray, objects: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        """The first window of any sampler, in random order, that satisfies it."""
        rows, columns = image.shape[:2]
        for sampler in rng.permutation(self.num_crop_sampler):
            for _ in range(int(_of(self.max_crop_trials, sampler))):
                window = self._window(sampler, columns / rows, rng)
                kept = self._kept(sampler, window, objects)
                if kept is not None:
                    left, top, right, bottom = window
                    x, y, width = int(left * columns), int(top * rows), int((right - left) * columns)
                    height = int((bottom - top) * rows)
                    if width and height:
                        return image[y : y + height, x : x + width], kept
        return image, objects

    def _window(self, sampler: int, aspect: float, rng) -> tuple[float, float, float, float]:
        scale = rng.uniform(_of(self.min_crop_scales, sampler), _of(self.max_crop_scales, sampler)) + 1e-12
        low = max(_of(self.min_crop_aspect_ratios, sampler) / aspect, scale * scale)
        high = min(_of(self.max_crop_aspect_ratios, sampler) / aspect, 1 / (scale * scale))
        ratio = math.sqrt(rng.uniform(min(low, high), max(low, high)))
        width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
        x, y = rng.uniform(0, 1 - width), rng.uniform(0, 1 - height)
        return x, y, x + width, y + height

    def _kept(self, sampler: int, window: tuple, objects: np.ndarray) -> np.ndarray | None:
        """The objects in the window's coordinates; None when it violates the sampler's bounds or loses them all."""
        left, top, right, bottom = window
        boxes = objects[:, 1:5]
        inside = np.clip(boxes, [left, top, left, top], [right, bottom, right, bottom])
        common, own, crop = box_areas(inside), np.maximum(box_areas(boxes), 1e-12), (right - left) * (bottom - top)
        shares = (
            (common / (own + crop - common), self.min_crop_overlaps, self.max_crop_overlaps),
            (common / crop, self.min_crop_sample_coverages, self.max_crop_sample_coverages),
            (common / own, self.min_crop_object_coverages, self.max_crop_object_coverages),
        )
        good = np.ones(len(objects), bool)
        for share, low, high in shares:
            good &= (share >= _of(low, sampler)) & (share <= _of(high, sampler))
        if not good.any():
            return None
        if self.crop_emit_mode == "center":
            x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
            stays = (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
        else:
            stays = common / own > self.emit_overlap_thresh
        if not stays.any():
            return None
        kept = objects[stays].copy()
        kept[:, 1:5] = (inside[stays] - [left, top, left, top]) / ([right - left, bottom - top] * 2)
        return kept

    def _pad(self, image: np.ndarray, objects: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        """The image on a larger canvas: the objects move by shares of the image, its pixels by whole ones."""
        rows, columns = image.shape[:2]
        scale = rng.uniform(1, self.max_pad_scale)
        left, top = rng.uniform(0, scale - 1), rng.uniform(0, scale - 1)
        above, below, before, behind = (
            int(share * extent)
            for share, extent in (
                (top, rows), (scale - 1 - top, rows), (left, columns), (scale - 1 - left, columns)
            )
        )  # fmt: skip
        moved = objects.copy()
        moved[:, 1:5] = (objects[:, 1:5] + [left, top] * 2) / scale
        return resample.border(image, above, below, before, behind, 0, self.fill_value), moved

    def _fitted(self, image: np.ndarray, rng) -> np.ndarray:
        """In the size of `data_shape`, or with its own aspect as large as fits into it."""
        _, height, width = self.data_shape
        rows, columns = image.shape[:2]
        if self.resize_mode != "force":
            scale = min(np.float32(height) / rows, np.float32(width) / columns)
            if self.resize_mode == "shrink" and scale >= 1:
                return image
            height, width = int(scale * rows), int(scale * columns)
        return self.resized(image, height, width, rng)


def _of(values, sampler: int):
    """The entry of a setting for one crop sampler; the last one serves the rest."""
    values = values if isinstance(values, (tuple, list)) else (values,)
    return values[min(sampler, len(values) - 1)]
