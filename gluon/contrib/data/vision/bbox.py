"""Transforms of a picture together with its boxes, for detection.

Pictures are (height, width, channels). Boxes are (N, 4 or more) of left, top, right, bottom in pixels, and whatever
comes behind, which stays as it is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from numbers import Number

import numpy as np

from core import image
from core.ndarray import NDArray
from gluon.block import Block
from gluon.contrib.data.vision import boxes
from gluon.data import arrays

__all__ = [
    "ImageBboxCrop", "ImageBboxRandomCropWithConstraints", "ImageBboxRandomExpand", "ImageBboxRandomFlipLeftRight",
    "ImageBboxResize",
]  # fmt: skip


class _WithBoxes(Block):
    """Takes pictures and boxes as arrays of NumPy's too; gives both as arrays of the current kind."""

    def __call__(self, img, bbox):
        pixels, corners = arrays.view(img), arrays.view(bbox)
        if pixels.ndim != 3:
            raise NotImplementedError(f"{type(self).__name__} takes (height, width, channels), given {pixels.shape}")
        if corners.ndim != 2 or corners.shape[1] < 4:
            raise AssertionError(f"boxes are (N, 4 or more), given {corners.shape}")
        return super().__call__(img, bbox)

    def forward(self, img, bbox):
        pixels, corners = arrays.view(img), arrays.view(bbox)
        changed, moved = self._changed(pixels, corners)
        if changed is pixels:
            return img, bbox
        return self._array(img, changed), self._array(bbox, moved.astype(np.float32))

    def _changed(self, pixels: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    @staticmethod
    def _array(given, value: np.ndarray):
        return arrays.wrap(np.ascontiguousarray(value), type(given) if isinstance(given, NDArray) else None)


class ImageBboxRandomFlipLeftRight(_WithBoxes):
    """Mirrors picture and boxes with probability `p`."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def _changed(self, pixels, corners):
        if random.random() >= self.p:
            return pixels, corners
        return pixels[:, ::-1], boxes.bbox_flip(corners, (pixels.shape[1], pixels.shape[0]), flip_x=True)


class ImageBboxCrop(_WithBoxes):
    """The window `crop` = (left, top, width, height), and the boxes in it.

    A picture that does not hold it stays as it is.

    allow_outside_center: whether boxes are kept whose centre is outside.
    """

    def __init__(self, crop: Sequence[int], allow_outside_center: bool = False):
        super().__init__()
        if len(crop) != 4 or min(crop[:2]) < 0 or min(crop[2:]) <= 0:
            raise AssertionError(f"crop is (left, top, width, height), left and top not below 0, given {crop}")
        self._crop = tuple(crop)
        self._allow_outside_center = allow_outside_center

    def _changed(self, pixels, corners):
        left, top, width, height = self._crop
        if left + width >= pixels.shape[1] or top + height >= pixels.shape[0]:
            return pixels, corners
        return _window(pixels, self._crop), boxes.bbox_crop(corners, self._crop, self._allow_outside_center)


class ImageBboxRandomCropWithConstraints(_WithBoxes):
    """With probability `p` a random window that overlaps the boxes enough: see `bbox_random_crop_with_constraints`."""

    def __init__(
        self,
        p: float = 0.5,
        min_scale: float = 0.3,
        max_scale: float = 1,
        max_aspect_ratio: float = 2,
        constraints: Sequence[tuple] | None = None,
        max_trial: int = 50,
    ):
        super().__init__()
        self.p = p
        self._options = min_scale, max_scale, max_aspect_ratio, constraints, max_trial

    def _changed(self, pixels, corners):
        if random.random() > self.p:
            return pixels, corners
        size = pixels.shape[1], pixels.shape[0]
        inside, window = boxes.bbox_random_crop_with_constraints(corners, size, *self._options)
        return _window(pixels, window), inside


class ImageBboxRandomExpand(_WithBoxes):
    """With probability `p` the picture anywhere on a canvas that is up to `max_ratio` times as wide and high.

    fill: what the rest of the canvas holds, a number or one for each channel. keep_ratio: whether width and height grow
    alike.
    """

    def __init__(
        self, p: float = 0.5, max_ratio: float = 4, fill: float | Sequence[float] = 0, keep_ratio: bool = True
    ):
        super().__init__()
        self.p = p
        self._max_ratio = max_ratio
        self._fill = fill
        self._keep_ratio = keep_ratio

    def _changed(self, pixels, corners):
        if self._max_ratio <= 1 or random.random() > self.p:
            return pixels, corners
        height, width, channels = pixels.shape
        if not isinstance(self._fill, Number) and len(self._fill) != channels:
            raise ValueError(f"fill is a number or {channels} of them, one for each channel, given {self._fill}")
        across = random.uniform(1, self._max_ratio)
        down = across if self._keep_ratio else random.uniform(1, self._max_ratio)
        canvas = np.empty((int(height * down), int(width * across), channels), pixels.dtype)
        canvas[...] = self._fill
        top, left = random.randint(0, len(canvas) - height), random.randint(0, canvas.shape[1] - width)
        canvas[top : top + height, left : left + width] = pixels
        return canvas, boxes.bbox_translate(corners, left, top)


class ImageBboxResize(_WithBoxes):
    """Picture and boxes in another size.

    interp: as in `transforms.Resize`, or -1 for one drawn at random in each call.
    """

    def __init__(self, width: int, height: int, interp: int = 1):
        super().__init__()
        self._size = width, height
        self._interp = interp

    def _changed(self, pixels, corners):
        method = random.randint(0, 4) if self._interp == -1 else self._interp
        resized = image.imresize(pixels, *self._size, method)
        return arrays.view(resized), boxes.bbox_resize(corners, (pixels.shape[1], pixels.shape[0]), self._size)


def _window(pixels, box):
    left, top, width, height = box
    return pixels[top : top + height, left : left + width]
