"""CenterNet: pictures in a square that is moved and resized at random."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from core import nd
from gluoncv.data.transforms import affine, experimental
from gluoncv.data.transforms import bbox as boxes
from gluoncv.data.transforms import image as pictures
from gluoncv.data.transforms.presets.common import MEAN, STD
from gluoncv.data.transforms.presets.ssd import load_test, transform_test

__all__ = [
    "CenterNetDefaultTrainTransform", "CenterNetDefaultValTransform", "get_post_transform", "load_test",
    "transform_test",
]  # fmt: skip


class CenterNetDefaultTrainTransform:
    """Gives (input (3, height, width), and what `CenterNetTargetGenerator` gives at 1 / `scale_factor` of it)."""

    def __init__(self, width, height, num_class, scale_factor=4, mean=MEAN, std=STD):
        self._size, self._num_class, self._mean, self._std = (width, height), num_class, mean, std
        self._map_size = (width // scale_factor, height // scale_factor)
        self._data_rng = np.random.RandomState(123)

    @cached_property
    def _target_generator(self):
        from gluoncv.model_zoo.center_net.target_generator import CenterNetTargetGenerator

        return CenterNetTargetGenerator(self._num_class, *self._map_size)

    def __call__(self, src, label):
        img, (flipped, _) = pictures.random_flip(src, px=0.5)
        h, w = img.shape[:2]
        bbox = boxes.flip(label, (w, h), flip_x=flipped)
        center, extent = self._view(w, h)
        img = affine.warp(img.asnumpy(), affine.get_affine_transform(center, extent, 0, self._size), self._size)
        to_map = affine.get_affine_transform(center, extent, 0, self._map_size)
        bbox = _mapped(bbox, to_map, self._map_size)
        img = self._coloured(img.astype("float32") / np.float32(255))
        return _input(img, self._mean, self._std), *self._target_generator(bbox[:, :4], bbox[:, 4:5])

    def _view(self, width, height):
        """Centre and side of the square that is seen of a picture."""
        borders = ((width, _border(width)), (height, _border(height)))
        center = np.array([np.random.randint(b, side - b) for side, b in borders], "float32")
        return center, max(height, width) * np.clip(np.random.randn() * 0.4 + 1, 0.6, 1.4)

    def _coloured(self, img):
        experimental.image.np_random_color_distort(img, data_rng=self._data_rng)
        return img


class CenterNetDefaultValTransform:
    """Gives (input (3, height, width), boxes in it)."""

    def __init__(self, width, height, mean=MEAN, std=STD):
        self._size, self._mean, self._std = (width, height), mean, std

    def __call__(self, src, label):
        h, w = src.shape[:2]
        matrix = affine.get_affine_transform(np.array([w / 2, h / 2], "float32"), max(h, w), 0, self._size)
        img = affine.warp(src.asnumpy(), matrix, self._size).astype("float32") / np.float32(255)
        return _input(img, self._mean, self._std), _mapped(label, matrix, self._size).astype("float32")


def get_post_transform(orig_w, orig_h, out_w, out_h):
    """The map (2, 3) of positions in an output of (out_w, out_h) to the picture again."""
    center = np.array([orig_w / 2, orig_h / 2], "float32")
    return affine.get_affine_transform(center, max(orig_w, orig_h) * 1.0, 0, [out_w, out_h], inv=True)


def _input(img, mean, std):
    return nd.array(((img - np.array(mean, "float32")) / np.array(std, "float32")).transpose(2, 0, 1))


def _mapped(bbox, matrix, size):
    """Boxes under the map: left and top within its width, right and bottom within its height,
    as published networks learned.
    """
    bbox, (width, height) = bbox.copy(), size
    for box in bbox:
        box[:2], box[2:4] = affine.affine_transform(box[:2], matrix), affine.affine_transform(box[2:4], matrix)
    bbox[:, :2], bbox[:, 2:4] = bbox[:, :2].clip(0, width - 1), bbox[:, 2:4].clip(0, height - 1)
    return bbox


def _border(size, border=128):
    """How far from the edge centres stay: 128 pixels, halved until more than that is left between two of them."""
    part = 1
    while size - border // part <= border // part:
        part *= 2
    return border // part
