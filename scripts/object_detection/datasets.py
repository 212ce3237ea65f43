"""Pictures with boxes for training detectors: rendered ones, and those of gluoncv.data.

A data set gives (picture, boxes): uint8 (H, W, 3) in RGB, and float32 (M, 6) of left, top, right, bottom in pixels,
class, and whether the box is difficult.
"""

from __future__ import annotations

import numpy as np

from core import nd
from gluon.data import Dataset
from scripts.common.shapes import SHAPES, render


class Rendered:
    """`count` pictures of `size` pixels with one to three coloured disks, squares and triangles on noise."""

    classes = SHAPES

    def __init__(self, count: int, size: int, seed: int = 0):
        random = np.random.RandomState(seed)
        self._items = [render(random, size)[:2] for _ in range(count)]

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]


class Arrays(Dataset):
    """One of this module's data sets as those of gluoncv.data are."""

    def __init__(self, data_set):
        self._data_set, self.classes = data_set, data_set.classes

    def __len__(self):
        return len(self._data_set)

    def __getitem__(self, index):
        picture, boxes = self._data_set[index]
        return nd.array(picture, dtype="uint8"), boxes.copy()
