"""Depths against those that a laser has measured."""

from __future__ import annotations

import numpy as np

from core import nd
from gluoncv.model_zoo.monodepthv2.layers import compute_depth_errors

NAMES = ("abs_rel", "sq_rel", "rmse", "rmse_log", "a1", "a2", "a3")
# Metres between which depths count.
NEAR, FAR = 1e-3, 80
# The part of KITTI's pictures that counts, of height and of width (Garg et al., 2016).
ROWS, COLUMNS = (0.40810811, 0.99189189), (0.03594771, 0.96405229)
# With two cameras a unit is a tenth of what is between them, 54 cm.
STEREO_SCALE = 5.4


def joined(found: np.ndarray, mirrored: np.ndarray) -> np.ndarray:
    """Disparities (batch, height, width) joined with those of the mirror images, turned back: means, but at the left
    and right twentieth, where one camera saw nothing, those of the side that is whole (Godard et al., 2017).
    """
    left = 1 - np.clip(20 * (np.linspace(0, 1, found.shape[2], dtype="float32") - 0.05), 0, 1)
    right = left[::-1]
    return right * found + left * mirrored + (1 - left - right) * (found + mirrored) / 2


def errors(
    disparities: np.ndarray, truth: np.ndarray, scale: float | None = None, crop: bool = True
) -> dict[str, float]:
    """The errors `NAMES` of one picture's disparities (h, w), in units of 1 / depth, against depths (H, W),
    0 where unknown.

    scale: what depths are multiplied by; None brings their median to that of the truth, whose unit one camera cannot
    tell.
    crop: only `ROWS` and `COLUMNS` count.
    """
    height, width = truth.shape
    found = 1 / _resized(disparities, height, width)
    counts = (truth > NEAR) & (truth < FAR)
    if crop:
        inside = np.zeros_like(counts)
        (top, bottom), (left, right) = (
            [int(part * side) for part in parts] for parts, side in ((ROWS, height), (COLUMNS, width))
        )
        inside[top:bottom, left:right] = True
        counts &= inside
    found, truth = found[counts], truth[counts]
    found = found * (np.median(truth) / np.median(found) if scale is None else scale)
    return dict(zip(NAMES, map(float, compute_depth_errors(truth, found.clip(NEAR, FAR))), strict=True))


def means(rows: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each error over pictures."""
    return {name: float(np.mean([row[name] for row in rows])) for name in NAMES}


def _resized(values: np.ndarray, height: int, width: int) -> np.ndarray:
    x = nd.array(values.astype("float32"))[None, None]
    return nd.contrib.BilinearResize2D(x, height=height, width=width).asnumpy()[0, 0]
