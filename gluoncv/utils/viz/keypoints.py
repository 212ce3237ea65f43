"""Persons as joints and limbs."""

from __future__ import annotations

import numpy as np

from gluoncv.utils.viz.bbox import plot_bbox
from gluoncv.utils.viz.image import as_numpy

# Pairs of the 17 keypoints of COCO that a limb joins.
LIMBS = (
    (0, 1), (1, 3), (0, 2), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10), (5, 11), (6, 12), (11, 12), (11, 13), (12, 14),
    (13, 15), (14, 16),
)  # fmt: skip


def plot_keypoints(img, coords, confidence, class_ids, bboxes, scores, box_thresh=0.5, keypoint_thresh=0.2, **kwargs):
    """Draws boxes and the joints (N, 17, 2) that are sure enough, with the limbs between them; gives the axes."""
    import matplotlib.pyplot as plt

    coords, sure = as_numpy(coords), as_numpy(confidence)[..., 0] > keypoint_thresh
    ax = plot_bbox(img, bboxes, scores, class_ids, box_thresh, **kwargs)
    colors = plt.cm.cool(np.linspace(0, 1, len(LIMBS)))
    for person, visible in zip(coords, sure, strict=True):
        for color, (a, b) in zip(colors, LIMBS, strict=True):
            if visible[a] and visible[b]:
                ax.plot(person[[a, b], 0], person[[a, b], 1], linewidth=3.0, alpha=0.7, color=color)
        ax.scatter(person[visible, 0], person[visible, 1], s=20, color="red")
    return ax
