"""Persons as joints and limbs."""

from __future__ import annotations

import numpy as np

from core.extras import load
from gluoncv.utils.viz.bbox import cv_plot_bbox, plot_bbox
from gluoncv.utils.viz.image import as_numpy

# Pairs of the 17 keypoints of COCO that a limb joins.
LIMBS = (
    (0, 1), (1, 3), (0, 2), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10), (5, 11), (6, 12), (11, 12), (11, 13),
    (12, 14), (13, 15), (14, 16),
)  # fmt: skip


def plot_keypoints(img, coords, confidence, class_ids, bboxes, scores, box_thresh=0.5, keypoint_thresh=0.2, **kwargs):
    """Draws the boxes of persons that a detector found, and limbs between joints that are sure enough; gives the axes.

    coords (N, 17, 2), confidence (N, 17, 1); classes (1, M, 1), of which 0 is a person, boxes (1, M, 4), scores (1, M,
    1).
    """
    boxes, scores = _persons(class_ids, bboxes, scores)
    ax = plot_bbox(img, boxes, scores, thresh=box_thresh, **kwargs)
    for color, ends in _limbs(coords, confidence, keypoint_thresh):
        ax.plot(ends[:, 0], ends[:, 1], linewidth=3.0, alpha=0.7, color=color)
        ax.scatter(ends[:, 0], ends[:, 1], s=20)
    return ax


def cv_plot_keypoints(
    img, coords, confidence, class_ids, bboxes, scores, box_thresh=0.5, keypoint_thresh=0.2, scale=1.0, **kwargs
):
    """The picture as bytes, `scale` times as large, with what `plot_keypoints` draws."""
    from PIL import Image, ImageDraw

    boxes, scores = _persons(class_ids, bboxes, scores)
    picture = Image.fromarray(cv_plot_bbox(img, boxes, scores, thresh=box_thresh, scale=scale, **kwargs))
    draw = ImageDraw.Draw(picture)
    for color, ends in _limbs(coords, confidence, keypoint_thresh):
        draw.line([int(v * scale) for v in ends.ravel()], fill=tuple(int(255 * c) for c in color[:3]), width=3)
    return np.array(picture)


def _persons(class_ids, bboxes, scores):
    """Boxes (K, 4) and scores (K,) of the first picture's persons; what has no axis of pictures is of one."""
    classes, boxes, scores = (as_numpy(x) for x in (class_ids, bboxes, scores))
    person = classes.ravel() == 0
    return boxes.reshape(-1, 4)[person], scores.ravel()[person]


def _limbs(coords, confidence, thresh):
    """(colour, ends (2, 2)) of the limbs with two joints that are sure enough."""
    plt = load("matplotlib.pyplot", "drawing")

    coords, sure = as_numpy(coords), as_numpy(confidence)[..., 0] > thresh
    colors = plt.cm.cool(np.linspace(0, 1, len(LIMBS)))
    for person, visible in zip(coords, sure):
        for color, limb in zip(colors, LIMBS):
            if visible[list(limb)].all():
                yield color, person[list(limb)]
