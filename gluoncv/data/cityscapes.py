"""Cityscapes (Cordts et al., 2016): streets of 19 classes."""

from __future__ import annotations

import glob
import os

import numpy as np

from core import nd
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names
from gluoncv.data.segbase import SegmentationDataset, paired

# The class of each number in files from -1 on; those that are not evaluated are -1.
_VALID = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
_CLASS = np.full(35, -1)
_CLASS[np.array(_VALID) + 1] = np.arange(len(_VALID))


class CitySegmentation(SegmentationDataset):
    """split: train, val or trainval.

    >>> gluoncv.data.CitySegmentation.NUM_CLASS
    19
    """

    NUM_CLASS = 19
    BASE_DIR = "cityscapes"
    CLASSES = names("citys")

    def __init__(self, root=f"{DATASETS}/citys", split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        if split not in ("train", "val", "trainval"):
            raise ValueError(f"split is train, val or trainval, given {split!r}")
        parts = ("train", "val") if split == "trainval" else (split,)
        pictures = (
            path
            for part in parts
            for path in sorted(glob.glob(os.path.join(self._root, "leftImg8bit", part, "*", "*.png")))
        )
        self.images, self.masks = paired((path, self._mask_of(path)) for path in pictures)

    def _mask_of(self, picture):
        folder, name = os.path.split(picture)
        town, part = os.path.basename(folder), os.path.basename(os.path.dirname(folder))
        return os.path.join(self._root, "gtFine", part, town, name.replace("leftImg8bit", "gtFine_labelIds"))

    def _mask_transform(self, mask):
        numbers = np.array(mask).astype("int32")
        if numbers.min() < -1 or numbers.max() > 33:
            raise ValueError(f"Cityscapes has the numbers -1 to 33, a mask has {numbers.min()} to {numbers.max()}")
        return nd.array(_CLASS[numbers + 1], dtype="int32")
