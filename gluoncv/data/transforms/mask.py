"""Polygons and bit masks that follow their picture."""

from __future__ import annotations

import numpy as np

__all__ = ["fill", "flip", "resize", "to_mask"]


def flip(polys, size, flip_x=False, flip_y=False):
    """Polygons (lists of arrays of x and y by turns) in a mirrored picture of `size` = (width, height)."""
    turned = [np.array(poly, dtype=float).reshape(-1, 2) for poly in polys]
    for poly in turned:
        if flip_y:
            poly[:, 1] = size[1] - poly[:, 1]
        if flip_x:
            poly[:, 0] = size[0] - poly[:, 0]
    return [poly.reshape(-1) for poly in turned]


def resize(polys, in_size, out_size):
    """Polygons in a picture of `in_size` = (width, height) that was resized to `out_size`."""
    scale = np.array([out_size[0] / in_size[0], out_size[1] / in_size[1]])
    return [(np.array(poly, dtype=float).reshape(-1, 2) * scale).reshape(-1) for poly in polys]


def to_mask(polys, size):
    """The bit mask (height, width) of polygons in a picture of `size` = (width, height), by pycocotools."""
    from pycocotools import mask

    width, height = size
    return mask.decode(mask.merge(mask.frPyObjects([np.asarray(p, float).tolist() for p in polys], height, width)))


def fill(masks, bboxes, size, fast_fill=True):
    """Masks (N, M, M) of scores in their boxes, at `size` = (width, height) pixels: (N, height, width) of 0 and 1.

    The score of a pixel is interpolated between the cells of the mask; above 0.5 is inside.
    """
    from PIL import Image

    width, height = size
    out = np.zeros((len(masks), height, width), dtype="uint8")
    for plane, mask, box in zip(out, masks, bboxes, strict=True):
        cells = mask.shape[0]
        padded = np.pad(np.asarray(mask, "float32"), 1)
        # The border of one cell keeps the edge soft, and makes the box as much larger.
        scale = (cells + 2) / cells
        center, half = (box[:2] + box[2:4]) / 2, (box[2:4] - box[:2]) / 2 * scale
        left, top = np.floor(center - half).astype(int)
        right, bottom = np.ceil(center + half).astype(int)
        w, h = max(right - left + 1, 1), max(bottom - top + 1, 1)
        scores = np.asarray(Image.fromarray(padded).resize((w, h), Image.BILINEAR))
        x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + w, width), min(top + h, height)
        if x0 < x1 and y0 < y1:
            plane[y0:y1, x0:x1] = scores[y0 - top : y1 - top, x0 - left : x1 - left] > 0.5
    return out
