"""Boxes on a picture."""

from __future__ import annotations

import colorsys

import numpy as np

from core.extras import load
from gluoncv.utils.viz.image import as_numpy, plot_image


def plot_bbox(
    img, bboxes, scores=None, labels=None, thresh=0.5, class_names=None, colors=None, ax=None, reverse_rgb=False,
    absolute_coordinates=True, linewidth=3.5, fontsize=12,
):  # fmt: skip
    """Draws the boxes (N, 4) whose scores reach `thresh`, with class and score; gives the axes.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gluoncv.utils.viz import plot_bbox
    >>> axes = plot_bbox(onp.zeros((20, 20, 3), "uint8"), onp.array([[2, 2, 10, 10]]), class_names=["cat"])
    >>> len(axes.patches)
    1
    """
    plt = load("matplotlib.pyplot", "drawing")

    ax = plot_image(img, ax=ax, reverse_rgb=reverse_rgb)
    for box, color, text in _shown(img, bboxes, scores, labels, thresh, class_names, colors, absolute_coordinates):
        left, top, right, bottom = box
        ax.add_patch(
            plt.Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=color, linewidth=linewidth)
        )
        if text:
            ax.text(left, top - 2, text, bbox={"facecolor": color, "alpha": 0.5}, fontsize=fontsize, color="white")
    return ax


def cv_plot_bbox(
    img, bboxes, scores=None, labels=None, thresh=0.5, class_names=None, colors=None, absolute_coordinates=True,
    scale=1.0, linewidth=2,
):  # fmt: skip
    """The picture as bytes with the boxes drawn into it.

    >>> from gluoncv.utils.viz import cv_plot_bbox
    >>> cv_plot_bbox(onp.zeros((20, 20, 3), "uint8"), onp.array([[2, 2, 10, 10]]), class_names=["cat"]).shape
    (20, 20, 3)
    """
    from PIL import Image, ImageDraw

    picture = Image.fromarray(as_numpy(img).astype(np.uint8))
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    draw = ImageDraw.Draw(picture)
    for box, color, text in _shown(img, bboxes, scores, labels, thresh, class_names, colors, absolute_coordinates):
        color = tuple(int(255 * c) for c in color[:3])
        corners = [float(v) * scale for v in box]
        draw.rectangle(corners, outline=color, width=linewidth)
        if text:
            draw.text((corners[0], max(corners[1] - 12, 0)), text, fill=color)
    return np.array(picture)


def _shown(img, bboxes, scores, labels, thresh, class_names, colors, absolute):
    """(box in pixels, colour, text) of the boxes that are sure enough."""
    bboxes = as_numpy(bboxes)
    scores = None if scores is None else as_numpy(scores).reshape(-1)
    labels = None if labels is None else as_numpy(labels).reshape(-1)
    for name, values in (("labels", labels), ("scores", scores)):
        if values is not None and len(values) != len(bboxes):
            raise ValueError(f"there are {len(bboxes)} boxes, but {len(values)} {name}")
    height, width = as_numpy(img).shape[:2]
    colors = dict(colors) if isinstance(colors, dict) else {}
    for k, box in enumerate(bboxes):
        score, label = 1.0 if scores is None else scores[k], -1 if labels is None else int(labels[k])
        if score < thresh or (labels is not None and label < 0):
            continue
        if label not in colors:
            spread = len(class_names) if class_names is not None else 20
            colors[label] = colorsys.hsv_to_rgb((label % spread) / spread, 0.9, 0.9)
        named = class_names is not None and label < len(class_names)
        name = class_names[label] if named else str(label) if label >= 0 else ""
        text = f"{name} {score:.3f}" if scores is not None else name
        box = box[:4] if absolute else box[:4] * np.array([width, height, width, height])
        yield box, colors[label], text.strip()
