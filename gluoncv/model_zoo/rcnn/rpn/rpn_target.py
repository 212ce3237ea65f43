"""What region proposal networks are taught."""

import numpy as np

from core import autograd
from core import ndarray as nd
from gluon.block import Block
from gluoncv.nn.coder import NumPyNormalizedBoxCenterEncoder, SigmoidClassEncoder


class RPNTargetSampler:
    """Samples (N,) of 1, -1 and 0 for what is left out, and matches (N,), from overlaps (N, M) in an array of NumPy.

    num_sample: anchors that count, `pos_ratio` of them positive at most, drawn by `numpy.random`. Positive are those
    that overlap a box by `pos_iou_thresh`, and the best of each box; negative those below `neg_iou_thresh`. Overlaps of
    anchors that do not count are -1.
    """

    def __init__(self, num_sample, pos_iou_thresh, neg_iou_thresh, pos_ratio):
        self._num_sample, self._max_pos = num_sample, round(num_sample * pos_ratio)
        self._pos_iou_thresh, self._neg_iou_thresh = pos_iou_thresh, neg_iou_thresh
        self._eps = np.spacing(np.float32(1.0))

    def __call__(self, ious):
        best = ious.max(axis=1)
        is_best = (ious + self._eps > ious.max(axis=0, keepdims=True)).any(axis=1)
        samples = np.where(is_best | (best >= self._pos_iou_thresh), 1.0, 0.0).astype(best.dtype)
        samples[(best < self._neg_iou_thresh) & (best >= 0)] = -1.0
        positive = min(int((samples > 0).sum()), self._max_pos)
        for mark, most in ((1, self._max_pos), (-1, self._num_sample - positive)):
            places = np.flatnonzero(samples == mark)
            if len(places) > most:
                samples[np.random.choice(places, size=len(places) - most, replace=False)] = 0
        return samples, ious.argmax(axis=1)


class RPNTargetGenerator(Block):
    """Objects (N,) of 1, 0, and -1 for what is left out, offsets (N, 4) and their mask, in arrays of NumPy.

    Called with corners (M, 4), anchors (N, 4), width and height of the picture; anchors that leave it by more than
    `allowed_border` pixels do not count. Arguments as those of `RPNTargetSampler`; stds: of the encoder.
    """

    def __init__(
        self, num_sample=256, pos_iou_thresh=0.7, neg_iou_thresh=0.3, pos_ratio=0.5, stds=(1.0, 1.0, 1.0, 1.0),
        allowed_border=0,
    ):  # fmt: skip
        super().__init__()
        self._border = allowed_border
        self._sampler = RPNTargetSampler(num_sample, pos_iou_thresh, neg_iou_thresh, pos_ratio)
        self._cls_encoder = SigmoidClassEncoder()
        self._box_encoder = NumPyNormalizedBoxCenterEncoder(stds=stds)

    def forward(self, bbox, anchor, width, height):
        with autograd.pause():
            ious = nd.contrib.box_iou(anchor, bbox, format="corner").asnumpy()
        anchor, bbox = anchor.asnumpy(), bbox.asnumpy()
        ends = np.array([width, height]) + self._border
        outside = (anchor[:, :2] < -self._border).any(axis=1) | (anchor[:, 2:4] >= ends).any(axis=1)
        ious[outside] = -1.0
        samples, matches = self._sampler(ious)
        target, mask = self._box_encoder(samples[None], matches[None], anchor[None], bbox[None])
        return self._cls_encoder(samples)[0], target[0], mask[0]
