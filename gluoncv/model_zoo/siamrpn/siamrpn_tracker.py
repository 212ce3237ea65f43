"""Follows one object through a video with SiamRPN (Li et al., 2018)."""

from __future__ import annotations

import numpy as np

from core import nd, resample
from core.context import current_context
from gluoncv.data.tracking_data.track import anchor_grid
from gluoncv.data.transforms.track import Center, Corner, center2corner, corner2center

__all__ = [
    "BaseTracker",
    "Center",
    "Corner",
    "SiamRPNTracker",
    "center2corner",
    "corner2center",
    "get_axis_aligned_bbox",
]

SMALLEST = 10  # pixels of a side of a box


def get_axis_aligned_bbox(region):
    """(centre x, centre y, width, height) of a box of left, top, width, height."""
    x, y, w, h = region[0], region[1], region[2], region[3]
    return x + w / 2, y + h / 2, w, h


class BaseTracker:
    """What a tracker of one object offers.

    Frames are NumPy arrays (H, W, 3) of bytes, blue first as OpenCV reads them.
    """

    def init(self, img, bbox, ctx=None):
        """Begins with the object in the box (left, top, width, height) of a frame."""
        raise NotImplementedError

    def track(self, img, ctx=None):
        """{"bbox": [left, top, width, height], "best_score": probability} of the object in the next frame."""
        raise NotImplementedError


class SiamRPNTracker(BaseTracker):
    """The tracker around a network such as `siamrpn_alexnet_v2_otb15`.

    PENALTY_K: how much changes of size and shape count against a box. WINDOW_INFLUENCE: share of the score that falls
    off from the last position. LR: how fast the size follows, times the score. EXEMPLAR_SIZE, INSTANCE_SIZ: sides of the
    template and of the region that is searched, in pixels of the network. CONTEXT_AMOUNT: surroundings of the object in
    the template, in mean sides. STRIDE, RATIOS, SCALES: the network's anchors.
    """

    def __init__(
        self, model, PENALTY_K=0.16, WINDOW_INFLUENCE=0.40, LR=0.30, EXEMPLAR_SIZE=127, INSTANCE_SIZ=287, BASE_SIZE=0,
        CONTEXT_AMOUNT=0.5, STRIDE=8, RATIOS=(0.33, 0.5, 1, 2, 3), SCALES=(8,),
    ):  # fmt: skip
        self.model = model
        self.PENALTY_K, self.WINDOW_INFLUENCE, self.LR, self.CONTEXT_AMOUNT = (
            PENALTY_K,
            WINDOW_INFLUENCE,
            LR,
            CONTEXT_AMOUNT,
        )
        self.EXEMPLAR_SIZE, self.INSTANCE_SIZE = EXEMPLAR_SIZE, INSTANCE_SIZ
        self.score_size = (INSTANCE_SIZ - EXEMPLAR_SIZE) // STRIDE + 1 + BASE_SIZE
        grids = [anchor_grid(STRIDE, [ratio], 0, self.score_size, scale) for ratio in RATIOS for scale in SCALES]
        self.anchors = np.concatenate(grids, axis=1).reshape(4, -1).T
        self.anchor_num = len(grids)
        hanning = np.hanning(self.score_size)
        self.window = np.tile(np.outer(hanning, hanning).ravel(), self.anchor_num)
        self.center_pos = self.size = self.channel_average = None

    def init(self, img, bbox, ctx=None):
        left, top, width, height = bbox
        self.center_pos = np.array([left + (width - 1) / 2, top + (height - 1) / 2])
        self.size = np.array([width, height])
        self.channel_average = img.mean(axis=(0, 1))
        self.model.template(self._window(img, self.EXEMPLAR_SIZE, round(self._extent()), ctx))

    def track(self, img, ctx=None):
        extent = self._extent()
        scale = self.EXEMPLAR_SIZE / extent
        side = round(extent * (self.INSTANCE_SIZE / self.EXEMPLAR_SIZE))
        found = self.model.track(self._window(img, self.INSTANCE_SIZE, side, ctx))
        boxes, scores = self._boxes(found["loc"]), self._scores(found["cls"])
        penalty = self._penalty(boxes, scale)
        weighed = penalty * scores * (1 - self.WINDOW_INFLUENCE) + self.window * self.WINDOW_INFLUENCE
        best = weighed.argmax()
        x, y, width, height = boxes[:, best] / scale
        rate = penalty[best] * scores[best] * self.LR
        width, height = self.size * (1 - rate) + np.array([width, height]) * rate
        rows, columns = img.shape[:2]
        x, y = np.clip(x + self.center_pos[0], 0, columns), np.clip(y + self.center_pos[1], 0, rows)
        width, height = max(SMALLEST, min(width, columns)), max(SMALLEST, min(height, rows))
        self.center_pos, self.size = np.array([x, y]), np.array([width, height])
        return {"bbox": [x - width / 2, y - height / 2, width, height], "best_score": scores[best]}

    def _extent(self):
        """The side of a square as large as the object and its surroundings, in pixels of the video."""
        return np.sqrt(np.prod(self.size + self.CONTEXT_AMOUNT * self.size.sum()))

    def _window(self, img, size, side, ctx):
        """The square of `side` pixels around the last place, as (1, 3, size, size);
        the mean colour outside of the frame.
        """
        first = np.floor(self.center_pos - (side + 1) / 2 + 0.5).astype(int)
        patch = np.empty((side, side, 3), np.uint8)
        patch[:] = self.channel_average
        (left, top), (right, bottom) = np.maximum(first, 0), np.minimum(first + side, img.shape[1::-1])
        if left < right and top < bottom:
            x, y = first
            patch[top - y : bottom - y, left - x : right - x] = img[top:bottom, left:right]
        if side != size:
            patch = resample.resize(patch, size, size)
        return nd.array(patch.transpose(2, 0, 1)[None], ctx=ctx or current_context(), dtype="float32")

    def _boxes(self, offsets):
        """Boxes (4, anchors): centres from the last place, widths and heights, in pixels of the network."""
        dx, dy, dw, dh = offsets.asnumpy().reshape(4, -1)
        x, y, width, height = self.anchors.T
        return np.stack([dx * width + x, dy * height + y, np.exp(dw) * width, np.exp(dh) * height])

    def _scores(self, logits):
        """Probabilities (anchors,) of the object."""
        return nd.softmax(logits.reshape((2, -1)), axis=0)[1].asnumpy()

    def _penalty(self, boxes, scale):
        """Close to 1 for boxes (4, anchors) of the last size and shape, less for others."""

        def extent(width, height):
            pad = (width + height) * 0.5
            return np.sqrt((width + pad) * (height + pad))

        sizes = extent(*boxes[2:]) / extent(*(self.size * scale))
        shapes = (self.size[0] / self.size[1]) / (boxes[2] / boxes[3])
        change = np.maximum(sizes, 1 / sizes) * np.maximum(shapes, 1 / shapes)
        return np.exp(-(change - 1) * self.PENALTY_K)
