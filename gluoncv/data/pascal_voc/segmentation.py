"""PASCAL VOC 2012: pictures with a class for each pixel."""

from __future__ import annotations

import os

import numpy as np

from core import nd
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names
from gluoncv.data.segbase import SegmentationDataset

# The file that lists the pictures of a split
_LISTS = {"train": "trainval", "val": "val", "test": "test"}


class VOCSegmentation(SegmentationDataset):
    """The border of objects is -1.

    split: train (which has the pictures of val too, as published networks), val or test (without masks).

    >>> gluoncv.data.VOCSegmentation.NUM_CLASS
    21
    """

    NUM_CLASS = 21
    BASE_DIR = "VOC2012"
    CLASSES = names("pascal_voc")

    def __init__(self, root=f"{DATASETS}/voc", split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        folder = os.path.join(self._root, self.BASE_DIR)
        if split not in _LISTS:
            raise RuntimeError(f"split is train, val or test, given {split!r}")
        with open(os.path.join(folder, "ImageSets", "Segmentation", f"{_LISTS[split]}.txt"), encoding="utf-8") as file:
            listed = file.read().split()
        self.images = [os.path.join(folder, "JPEGImages", f"{name}.jpg") for name in listed]
        if split != "test":
            self.masks = [os.path.join(folder, "SegmentationClass", f"{name}.png") for name in listed]

    def _mask_transform(self, mask):
        classes = np.array(mask).astype("int32")
        classes[classes == 255] = -1
        return nd.array(classes, dtype="int32")
