"""Masks of objects on a picture."""

from __future__ import annotations

import colorsys

import numpy as np

from gluoncv.data.transforms.mask import fill
from gluoncv.utils.viz.image import as_numpy


def expand_mask(masks, bboxes, im_shape, scores=None, thresh=0.5, scale=1.0, sortby=None):
    """Masks in their boxes at the size `im_shape` = (width, height), those of scores of at least `thresh`.

    Gives (masks (N, height, width), their places in the input); sortby: None, or "area" for large ones first.
    """
    masks, bboxes = as_numpy(masks), as_numpy(bboxes) * scale
    order = np.arange(len(masks))
    if sortby is not None:
        sides = bboxes[:, 2:4] - bboxes[:, :2]
        order = np.argsort(-(sides[:, 0] * sides[:, 1]))
    if scores is not None:
        order = order[as_numpy(scores).reshape(-1)[order] >= thresh]
    width, height = im_shape
    return fill(masks[order], bboxes[order], (width, height)), order


def plot_mask(img, masks, alpha=0.5):
    """The picture (H, W, 3) with each mask (H, W) in a colour of its own; given back as bytes."""
    picture = as_numpy(img).astype("float32").copy()
    masks = as_numpy(masks)
    for k, mask in enumerate(masks):
        color = 255 * np.array(colorsys.hsv_to_rgb(k / max(len(masks), 1), 0.9, 0.9))
        inside = mask > 0
        picture[inside] = picture[inside] * (1 - alpha) + color * alpha
    return picture.astype("uint8")
