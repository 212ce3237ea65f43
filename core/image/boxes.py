"""Geometry of boxes, (n, 4): left, top, right, bottom."""

from __future__ import annotations

import numpy as np


def box_areas(boxes: np.ndarray) -> np.ndarray:
    """The areas of boxes; 0 for those whose sides are exchanged."""
    return np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)
