"""Pictures with boxes for training detectors: rendered ones, and those of gluoncv.data.

A data set gives (picture, boxes): uint8 (H, W, 3) in RGB, and float32 (M, 6) of left, top, right, bottom in pixels, class,
and whether the box is difficult.
"""

from __future__ import annotations

import numpy as np

SHAPES = ("disk", "square", "triangle")


class Rendered:
    """`count` pictures of `size` pixels with one to three coloured disks, squares and triangles on noise."""

    classes = SHAPES

    def __init__(self, count: int, size: int, seed: int = 0):
        random = np.random.RandomState(seed)
        self._items = [_render(random, size) for _ in range(count)]

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]


def _render(random, size):
    picture = random.randint(90, 130, (size, size, 3)).astype("uint8")
    y, x = np.mgrid[:size, :size]
    boxes, taken = [], np.zeros((size, size), bool)
    for _ in range(random.randint(1, 4)):
        label, side = random.randint(len(SHAPES)), random.randint(size // 5, size // 2)
        left, top = random.randint(0, size - side, 2)
        region = (slice(top, top + side), slice(left, left + side))
        if taken[region].any():
            continue
        taken[region] = True
        u, v = (x - left) / (side - 1) * 2 - 1, (y - top) / (side - 1) * 2 - 1
        inside = (abs(u) <= 1) & (abs(v) <= 1)
        if label == 0:
            inside = u * u + v * v <= 1
        elif label == 2:
            inside &= abs(u) <= (v + 1) / 2
        picture[inside] = random.choice([0, 255], 3) * 0.6 + random.randint(0, 100, 3)
        boxes.append([left, top, left + side - 1, top + side - 1, label, 0])
    return picture, np.array(boxes, "float32")


class Plain:
    """A detection data set of gluoncv.data as this module's data sets are: NumPy pictures, and six numbers a box."""

    def __init__(self, data_set):
        self._data_set, self.classes = data_set, data_set.classes

    def __len__(self):
        return len(self._data_set)

    def __getitem__(self, index):
        picture, label = self._data_set[index]
        boxes = np.zeros((len(label), 6), "float32")
        boxes[:, : label.shape[1]] = label
        return picture.asnumpy(), boxes[boxes[:, 4] >= 0]
