"""Masks of objects on a picture."""

from __future__ import annotations

import numpy as np

from core import resample
from gluoncv.data.transforms.mask import fill
from gluoncv.utils.viz.image import as_numpy


def expand_mask(masks, bboxes, im_shape, scores=None, thresh=0.5, scale=1.0, sortby=None):
    """Masks in their boxes at the size `im_shape` = (width, height), those of scores of at least `thresh`.

    Gives (masks (N, height, width), positions in the order of `sortby`): None, or "area", "xmin", "ymin", "xmax" or
    "ymax", the greatest first. The masks stay in their order, as colours are what the second one is for. scale: of the
    boxes.

    >>> from gluoncv.utils.viz import expand_mask
    >>> masks, order = expand_mask(onp.ones((1, 4, 4)), onp.array([[0, 0, 4, 4]]), (8, 6), onp.array([0.9]))
    >>> masks.shape
    (1, 6, 8)
    """
    masks, bboxes = as_numpy(masks), as_numpy(bboxes) * scale
    scores = None if scores is None else as_numpy(scores).ravel()
    for name, values in (("boxes", bboxes), ("scores", scores)):
        if values is not None and len(values) != len(masks):
            raise ValueError(f"there are {len(masks)} masks, but {len(values)} {name}")
    valid = np.arange(len(masks)) if scores is None else np.flatnonzero(scores >= thresh)
    return fill(masks[valid], bboxes[valid], im_shape), _order(bboxes, sortby)[valid]


def plot_mask(img, masks, alpha=0.5):
    """The picture (H, W, 3) as bytes with each mask (N, H, W) in a colour of its own, drawn by `numpy.random`.

    >>> from gluoncv.utils.viz import plot_mask
    >>> plot_mask(onp.zeros((2, 2, 3), "uint8"), onp.ones((1, 2, 2))).shape
    (2, 2, 3)
    """
    picture = as_numpy(img)
    for mask in as_numpy(masks):
        color = np.random.random(3) * 255
        picture = np.where((mask > 0)[:, :, None], picture * (1 - alpha) + color * alpha, picture)
    return picture.astype("uint8")


def cv_merge_two_images(img1, img2, alpha=0.5, size=None):
    """1 - `alpha` of a picture (H, W, 3) of bytes and `alpha` of another one, at `size` = (height, width) if given.

    >>> from gluoncv.utils.viz import cv_merge_two_images
    >>> a = onp.zeros((1, 1, 3), "uint8")
    >>> cv_merge_two_images(a, a + 100)
    array([[[50, 50, 50]]], dtype=uint8)
    """
    blend = as_numpy(img1) * (1.0 - alpha) + as_numpy(img2) * alpha
    merged = np.clip(np.rint(blend), 0, 255).astype("uint8")
    return merged if size is None else resample.resize(merged, int(size[1]), int(size[0]))


def _order(bboxes, sortby):
    if sortby is None:
        return np.arange(len(bboxes))
    left, top, right, bottom = bboxes[:, :4].T
    keys = {"area": (right - left) * (bottom - top), "xmin": left, "ymin": top, "xmax": right, "ymax": bottom}
    if sortby not in keys:
        raise ValueError(f"sortby is one of {', '.join(keys)}, given {sortby!r}")
    return np.argsort(-keys[sortby])
