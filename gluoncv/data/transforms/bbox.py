"""Boxes that follow their picture: (N, 4 or more) NumPy arrays of left, top, right, bottom, and whatever comes behind."""

from __future__ import annotations

import numpy as np

from gluoncv.data.transforms.affine import affine_transform, get_3rd_point, get_affine_transform
from gluoncv.data.transforms.affine import get_dir as get_rot_dir

__all__ = [
    "affine_transform", "crop", "flip", "get_3rd_point", "get_affine_transform", "get_rot_dir", "resize", "translate",
]  # fmt: skip


def crop(bbox, crop_box=None, allow_outside_center=True):
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


def flip(bbox, size, flip_x=False, flip_y=False):
    """The boxes in a mirrored picture of `size` = (width, height)."""
    bbox = bbox.copy()
    for flipped, extent, axis in ((flip_y, size[1], 1), (flip_x, size[0], 0)):
        if flipped:
            low, high = extent - bbox[:, axis + 2], extent - bbox[:, axis]
            bbox[:, axis], bbox[:, axis + 2] = low, high
    return bbox


def resize(bbox, in_size, out_size):
    """The boxes in a picture of `in_size` = (width, height) that was resized to `out_size`."""
    bbox = bbox.copy().astype(float)
    bbox[:, :4] *= np.array([out_size[0] / in_size[0], out_size[1] / in_size[1]] * 2)
    return bbox


def translate(bbox, x_offset=0, y_offset=0):
    """The boxes moved to the right and down."""
    bbox = bbox.copy()
    bbox[:, :4] += np.array([x_offset, y_offset] * 2)
    return bbox
