"""Detectors of two stages: pictures keep their aspect."""

from __future__ import annotations

import random

from core import nd
from gluoncv.data.transforms import bbox as boxes
from gluoncv.data.transforms import image as pictures
from gluoncv.data.transforms.presets import common
from gluoncv.data.transforms.presets.common import MEAN, STD

__all__ = ["FasterRCNNDefaultTrainTransform", "FasterRCNNDefaultValTransform", "load_test", "transform_test"]


def transform_test(imgs, short=600, max_size=1000, mean=MEAN, std=STD):
    """(input, picture) of pictures with a short side of `short` pixels, see `common.transform_test`."""
    return common.transform_test(imgs, short, max_size, mean, std)


def load_test(filenames, short=600, max_size=1000, mean=MEAN, std=STD):
    """`transform_test` of the pictures in files."""
    return transform_test(common.load(filenames), short, max_size, mean, std)


class FasterRCNNDefaultTrainTransform:
    """Size and mirroring for training: gives (input, boxes). short: a length, or (lowest, highest) of a random one."""

    def __init__(self, short=600, max_size=1000, mean=MEAN, std=STD, flip_p=0.5):
        self._short, self._max_size, self._mean, self._std, self._flip_p = short, max_size, mean, std, flip_p

    def __call__(self, src, label):
        h, w = src.shape[:2]
        short = random.randint(*self._short) if isinstance(self._short, (tuple, list)) else self._short
        img = pictures.resize_short_within(src, short, self._max_size, interp=1)
        size = (img.shape[1], img.shape[0])
        bbox = boxes.resize(label, (w, h), size)
        img, (flipped, _) = pictures.random_flip(img, px=self._flip_p)
        bbox = boxes.flip(bbox, size, flip_x=flipped)
        return common.to_input(img, self._mean, self._std), bbox.astype("float32")


class FasterRCNNDefaultValTransform:
    """Gives (input, boxes, how many pixels of the picture are one of the input)."""

    def __init__(self, short=600, max_size=1000, mean=MEAN, std=STD):
        self._short, self._max_size, self._mean, self._std = short, max_size, mean, std

    def __call__(self, src, label):
        h, w = src.shape[:2]
        img = pictures.resize_short_within(src, self._short, self._max_size, interp=1)
        bbox = boxes.resize(label, (w, h), (img.shape[1], img.shape[0]))
        scale = h / img.shape[0]
        return common.to_input(img, self._mean, self._std), bbox.astype("float32"), nd.array([scale])
