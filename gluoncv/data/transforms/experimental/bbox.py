"""Random crops that keep enough of some box."""

from __future__ import annotations

import random

import numpy as np

from gluoncv.data.transforms.bbox import crop
from gluoncv.utils.bbox import bbox_iou

__all__ = ["random_crop_with_constraints"]

# (lowest, highest) overlap of the crop with a box, one pair for each sort of crop (Liu et al., 2016)
CONSTRAINTS = ((0.1, None), (0.3, None), (0.5, None), (0.7, None), (0.9, None), (None, 1))


def random_crop_with_constraints(
    bbox, size, min_scale=0.3, max_scale=1, max_aspect_ratio=2, constraints=None, max_trial=50
):
    """A random crop of a picture of `size` = (width, height); gives the boxes in it and (x, y, width, height).

    constraints: (lowest, highest) overlaps of the crop with the boxes. For each, `max_trial` crops are tried, and one of
    those that fit, or the whole picture, is taken.
    """
    w, h = size
    candidates = [(0, 0, w, h)]
    for low, high in CONSTRAINTS if constraints is None else constraints:
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        for _ in range(max_trial):
            scale = random.uniform(min_scale, max_scale)
            ratio = random.uniform(
                max(1 / max_aspect_ratio, scale * scale), min(max_aspect_ratio, 1 / (scale * scale))
            )  # fmt: skip
            crop_h, crop_w = int(h * scale / np.sqrt(ratio)), int(w * scale * np.sqrt(ratio))
            top, left = random.randrange(max(1, h - crop_h)), random.randrange(max(1, w - crop_w))
            if len(bbox) == 0:
                return bbox, (left, top, crop_w, crop_h)
            overlap = bbox_iou(bbox, np.array([[left, top, left + crop_w, top + crop_h]]))
            if low <= overlap.min() and overlap.max() <= high:
                candidates.append((left, top, crop_w, crop_h))
                break
    while candidates:
        box = candidates.pop(np.random.randint(len(candidates)))
        inside = crop(bbox, box, allow_outside_center=False)
        if len(inside):
            return inside, tuple(box)
    return bbox, (0, 0, w, h)
