"""Boxes in arrays of NumPy (N, 4 or more), or in tuples of four numbers: (left, top, right, bottom) unless said otherwise."""

import numpy as np


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
