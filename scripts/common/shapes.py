"""Rendered pictures, for checks that a whole recipe learns: coloured disks, squares and triangles on noise."""

from __future__ import annotations

import numpy as np

SHAPES = ("disk", "square", "triangle")


def render(random: np.random.RandomState, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A picture with one to three shapes.

    uint8 (size, size, 3) in RGB; float32 (M, 6) of left, top, right, bottom in pixels, class, and 0 for not difficult;
    bool (M, size, size), where each shape is.
    """
    picture = random.randint(90, 130, (size, size, 3)).astype("uint8")
    y, x = np.mgrid[:size, :size]
    boxes, masks, taken = [], [], np.zeros((size, size), bool)
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
        masks.append(inside)
    return picture, np.array(boxes, "float32"), np.array(masks)
