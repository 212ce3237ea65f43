"""Polygons and bit masks that follow their picture."""

from __future__ import annotations

import numpy as np

from core.base import MXNetError
from core.extras import load

__all__ = ["check_outline", "fill", "flip", "resize", "to_mask"]


def flip(polys, size, flip_x=False, flip_y=False):
    """Polygons (N, 2), or flat arrays of x and y by turns, in a mirrored picture of `size` = (width, height)."""
    width, height = _size(size)
    scale, shift = [-1 if flip_x else 1, -1 if flip_y else 1], [width if flip_x else 0, height if flip_y else 0]
    return [_mapped(poly, scale, shift) for poly in polys]


def resize(polys, in_size, out_size):
    """Polygons (N, 2), or flat arrays, in a picture of `in_size` = (width, height) that was resized to `out_size`."""
    scale = [new / old for old, new in zip(_size(in_size), _size(out_size))]
    return [_mapped(poly, scale, [0, 0]) for poly in polys]


def to_mask(polys, size):
    """The bit mask (height, width) of polygons in a picture of `size` = (width, height), by pycocotools."""
    mask = load("pycocotools.mask", "drawing polygons")

    width, height = _size(size)
    flat = [np.asarray(poly, float).ravel().tolist() for poly in polys]
    check_outline(flat, height, width)
    return mask.decode(mask.merge(mask.frPyObjects(flat, height, width)))


def check_outline(outline, height, width):
    """Raises MXNetError for polygons (flat lists) or run lengths ({"counts"}) that are none of a picture of this size.

    pycocotools trusts them: it takes memory by the distance of corners, and writes as many pixels as the runs have.
    """
    if isinstance(outline, dict):
        counts = outline.get("counts")
        whole = isinstance(counts, (str, bytes)) or (
            isinstance(counts, list)
            and all(type(count) is int and count >= 0 for count in counts)
            and sum(counts) == height * width
        )
        if not whole or list(outline.get("size", ())) != [height, width]:
            raise MXNetError(f"run lengths of a mask do not make up the {height} x {width} pixels of its picture")
        return
    reach = 10 * max(height, width)
    for polygon in outline if isinstance(outline, list) else [None]:
        corners = np.asarray(polygon, float).ravel()
        if corners.size < 6 or corners.size % 2 or not (np.abs(corners) <= reach).all():
            raise MXNetError(f"a polygon of {corners.size} numbers is none of a picture of {height} x {width} pixels")


def fill(masks, bboxes, size, fast_fill=True):
    """Masks (N, M, M) of scores in their boxes, at `size` = (width, height) pixels:
    uint8 (N, height, width) of 0 and 1.

    The score of a pixel is interpolated between the cells of the mask. fast_fill: with the box at whole pixels, by
    Pillow; above 0.5 is inside. Else exactly, and 0.5 is inside.
    """
    width, height = size
    out = np.zeros((len(masks), height, width), dtype="uint8")
    for plane, mask, box in zip(out, masks, bboxes):
        cells = np.pad(np.asarray(mask, "float32"), 1)
        # The border of one cell keeps the edge soft, and makes the box as much larger.
        growth = np.array([side / (side - 2) for side in cells.shape[::-1]])
        center, half = (box[:2] + box[2:4]) / 2, (box[2:4] - box[:2]) / 2 * growth
        (_pasted if fast_fill else _interpolated)(plane, cells, center - half, center + half)
    return out


def _size(size):
    if len(size) != 2:
        raise ValueError(f"a size is (width, height), given {size}")
    return size


def _mapped(poly, scale, shift):
    poly = np.array(poly)
    places = poly.reshape(-1, 2) * np.array(scale) + np.array(shift)
    return places.reshape(poly.shape).astype(poly.dtype if poly.dtype.kind == "f" else float)


def _pasted(plane, cells, low, high):
    from PIL import Image

    height, width = plane.shape
    left, top, right, bottom = (int(v) for v in np.round(np.concatenate([low, high])))
    scores = np.array(Image.fromarray(cells).resize((right - left + 1, bottom - top + 1), Image.BILINEAR))
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(right + 1, width), min(bottom + 1, height)
    if x0 < x1 and y0 < y1:
        plane[y0:y1, x0:x1] = scores[y0 - top : y1 - top, x0 - left : x1 - left] > 0.5


def _interpolated(plane, cells, low, high):
    places = []
    for extent, count, start, end in zip(plane.shape[::-1], cells.shape[::-1], low, high):
        at = (np.arange(extent) + 0.5 - start) / (end - start) * count - 0.5
        inside = (at >= 0) & (at <= count - 1)
        before = np.clip(np.floor(at).astype(int), 0, count - 2)
        places.append((np.flatnonzero(inside), before[inside], (at - before)[inside]))
    (x, left, across), (y, top, down) = places
    rows = cells[top] * (1 - down)[:, None] + cells[top + 1] * down[:, None]
    plane[np.ix_(y, x)] = rows[:, left] * (1 - across) + rows[:, left + 1] * across >= 0.5
