"""Boxes in arrays of NumPy (N, 4 or more), or in tuples of four numbers:
(left, top, right, bottom) unless said otherwise.

Those that follow their picture keep whatever comes behind the four numbers.
"""

from __future__ import annotations

import random

import numpy as np

__all__ = [
    "bbox_clip_xyxy", "bbox_crop", "bbox_flip", "bbox_iou", "bbox_random_crop_with_constraints", "bbox_resize",
    "bbox_translate", "bbox_xywh_to_xyxy", "bbox_xyxy_to_xywh",
]  # fmt: skip

# (lowest, highest) overlap of a random crop with a box, one pair for each sort of crop (Liu et al., 2016)
CONSTRAINTS = ((0.1, None), (0.3, None), (0.5, None), (0.7, None), (0.9, None), (None, 1))


def bbox_crop(bbox, crop_box=None, allow_outside_center=True):
    """The boxes in a picture that was cropped to `crop_box` = (left, top, width, height); None items mean all of it.

    Boxes that vanish go away, and without `allow_outside_center` those whose centre is outside.
    """
    bbox = bbox.copy()
    if crop_box is None:
        return bbox
    if len(crop_box) != 4:
        raise ValueError(f"crop_box is (left, top, width, height), given {crop_box}")
    if sum(part is None for part in crop_box) == 4:
        return bbox
    left, top, width, height = crop_box
    left, top = left or 0, top or 0
    right, bottom = left + (width or np.inf), top + (height or np.inf)
    low, high = np.array((left, top)), np.array((right, bottom))
    keep = np.ones(len(bbox), bool)
    if not allow_outside_center:
        centers = (bbox[:, :2] + bbox[:, 2:4]) / 2
        keep = ((low <= centers) & (centers < high)).all(axis=1)
    bbox[:, :2] = np.maximum(bbox[:, :2], low) - low
    bbox[:, 2:4] = np.minimum(bbox[:, 2:4], high) - low
    return bbox[keep & (bbox[:, :2] < bbox[:, 2:4]).all(axis=1)]


def bbox_flip(bbox, size, flip_x=False, flip_y=False):
    """The boxes in a mirrored picture of `size` = (width, height)."""
    bbox = bbox.copy()
    for flipped, extent, axis in ((flip_y, size[1], 1), (flip_x, size[0], 0)):
        if flipped:
            low, high = extent - bbox[:, axis + 2], extent - bbox[:, axis]
            bbox[:, axis], bbox[:, axis + 2] = low, high
    return bbox


def bbox_resize(bbox, in_size, out_size):
    """The boxes in a picture of `in_size` = (width, height) that was resized to `out_size`."""
    for name, size in (("in_size", in_size), ("out_size", out_size)):
        if len(size) != 2:
            raise ValueError(f"{name} is (width, height), given {len(size)} numbers")
    bbox = bbox.copy().astype(float)
    bbox[:, :4] *= np.array([out_size[0] / in_size[0], out_size[1] / in_size[1]] * 2)
    return bbox


def bbox_translate(bbox, x_offset=0, y_offset=0):
    """The boxes moved to the right and down."""
    bbox = bbox.copy()
    bbox[:, :4] += np.array([x_offset, y_offset] * 2)
    return bbox


def bbox_random_crop_with_constraints(
    bbox, size, min_scale=0.3, max_scale=1, max_aspect_ratio=2, constraints=None, max_trial=50
):
    """A random crop of a picture of `size` = (width, height); gives the boxes in it and (x, y, width, height).

    constraints: (lowest, highest) overlaps of the crop with the boxes. For each, `max_trial` crops are tried, and one
    of those that fit, or the whole picture, is taken.
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
        inside = bbox_crop(bbox, box, allow_outside_center=False)
        if len(inside):
            return inside, tuple(box)
    return bbox, (0, 0, w, h)


def bbox_iou(bbox_a, bbox_b, offset=0):
    """Intersection over union (N, M) of boxes (N, 4 or more) and (M, 4 or more); IndexError for fewer columns.

    offset: 1 where right and bottom belong to the box.
    """
    if bbox_a.shape[1] < 4 or bbox_b.shape[1] < 4:
        raise IndexError(f"boxes have at least 4 columns, given {bbox_a.shape} and {bbox_b.shape}")
    start = np.maximum(bbox_a[:, None, :2], bbox_b[:, :2])
    end = np.minimum(bbox_a[:, None, 2:4], bbox_b[:, 2:4])
    shared = np.prod(end - start + offset, axis=2) * (start < end).all(axis=2)
    area_a, area_b = (np.prod(boxes[:, 2:4] - boxes[:, :2] + offset, axis=1) for boxes in (bbox_a, bbox_b))
    return shared / (area_a[:, None] + area_b - shared)


def bbox_xywh_to_xyxy(xywh):
    """Corners, of which right and bottom belong to the box, from (left, top, width, height)."""
    left, top, width, height = _columns(xywh)
    return _like(xywh, (left, top, left + np.maximum(width - 1, 0), top + np.maximum(height - 1, 0)))


def bbox_xyxy_to_xywh(xyxy):
    """(left, top, width, height) from corners, of which right and bottom belong to the box."""
    left, top, right, bottom = _columns(xyxy)
    return _like(xyxy, (left, top, right - left + 1, bottom - top + 1))


def bbox_clip_xyxy(xyxy, width, height):
    """Corners moved into a picture of this size, whose last pixels are width - 1 and height - 1."""
    limits = (width - 1, height - 1, width - 1, height - 1)
    parts = zip(_columns(xyxy), limits, strict=True)
    return _like(xyxy, tuple(np.minimum(most, np.maximum(0, part)) for part, most in parts))


def _columns(boxes):
    """The four numbers; IndexError where there are others, TypeError for anything but tuples, lists and arrays."""
    if isinstance(boxes, (tuple, list)):
        if len(boxes) != 4:
            raise IndexError(f"a box has 4 numbers, given {len(boxes)}")
        return boxes
    if not isinstance(boxes, np.ndarray):
        raise TypeError(f"boxes are a tuple, a list or an array of NumPy, given {type(boxes).__name__}")
    if boxes.size % 4:
        raise IndexError(f"boxes have 4 numbers each, given the shape {boxes.shape}")
    return tuple(boxes[:, i] for i in range(4))


def _like(given, parts):
    return np.stack(parts, axis=1) if isinstance(given, np.ndarray) else tuple(parts)
