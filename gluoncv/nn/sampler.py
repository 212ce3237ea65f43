"""Which anchors a detector is trained on: 1 for positive, -1 for negative, 0 for those left out; all (B, N)."""

import numpy as np

from core import ndarray as nd
from core import operator
from gluon.block import Block, HybridBlock


class NaiveSampler(HybridBlock):
    """All anchors: those with a match are positive, the others negative."""

    def hybrid_forward(self, F, x):
        return F.where(x >= 0, F.ones_like(x), F.ones_like(x) * -1)


class OHEMSampler(Block):
    """Matched anchors, and `ratio` times as many of the others:
    those least sure to be background (Shrivastava et al., 2016).

    min_samples: the least number of negative ones. thresh: negative ones overlap every box by less.
    """

    def __init__(self, ratio, min_samples=0, thresh=0.5):
        super().__init__()
        if ratio <= 0:
            raise AssertionError(f"the ratio of negative to positive samples is above 0, got {ratio}")
        self._ratio, self._min_samples, self._thresh = ratio, min_samples, thresh

    def forward(self, x, logits, ious):
        """x (B, N): matches; logits (B, N, 1 + classes), background first; ious (B, N) or (B, N, M)."""
        positive = x.asnumpy() >= 0
        wanted = np.maximum(self._min_samples, self._ratio * positive.sum(axis=1))
        wanted = np.minimum(wanted, x.shape[1] - positive.sum(axis=1)).astype(np.int32)
        # Relative to the best class: a common shift of all logits changes nothing.
        logits = nd.broadcast_minus(logits, logits.slice_axis(axis=2, begin=1, end=None).max(axis=2, keepdims=True))
        score = -nd.log_softmax(logits, axis=2).slice_axis(axis=2, begin=0, end=1).reshape((0, -1))
        if len(ious.shape) == 3:
            ious = ious.max(axis=2)
        score = nd.where((x < 0) * (ious < self._thresh), score, nd.ones_like(score) * -1)
        order = score.argsort(axis=1, is_ascend=False).asnumpy().astype(np.int64)
        samples = positive.astype(np.float32)
        for row, indices, count in zip(samples, order, wanted, strict=True):
            row[indices[:count]] = -1
        return nd.array(samples, ctx=x.context)


class QuotaSampler(Block):
    """At most `pos_ratio * num_sample` positive and `neg_ratio * num_sample` negative anchors, drawn by `numpy.random`.

    pos_thresh: overlap from which on an anchor is positive, matched or not. neg_thresh_low, neg_thresh_high: range of
    the overlaps of negative ones. neg_ratio: by default what pos_ratio leaves. fill_negative: negative ones fill up the
    positions of missing positive ones. AssertionError when the ratios exceed 1 together.
    """

    def __init__(
        self, num_sample, pos_thresh, neg_thresh_high, neg_thresh_low=-np.inf, pos_ratio=0.5, neg_ratio=None,
        fill_negative=True,
    ):  # fmt: skip
        super().__init__()
        self._quota = _Quota(
            num_sample, pos_thresh, neg_thresh_high, neg_thresh_low, pos_ratio, neg_ratio, fill_negative
        )

    def forward(self, matches, ious):
        """matches (B, N), -1 for none; ious (B, N, M)."""
        return self._quota(matches, ious, negative_first=False)


class QuotaSamplerOp(operator.CustomOp):
    """`QuotaSampler` as an operator: an anchor that is positive by its match stays so however little it overlaps."""

    def __init__(self, *quota):
        super().__init__()
        self._quota = _Quota(*quota)

    def forward(self, is_train, req, in_data, out_data, aux):
        """Draws the samples."""
        self.assign(out_data[0], req[0], self._quota(*in_data, negative_first=True))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """No gradient goes through."""
        for request, gradient in zip(req, in_grad, strict=True):
            self.assign(gradient, request, nd.zeros_like(gradient))


@operator.register("quota_sampler")
class QuotaSamplerProp(operator.CustomOpProp):
    """What `nd.Custom(matches, ious, op_type="quota_sampler", ...)` takes; arguments as those of `QuotaSampler`."""

    def __init__(
        self, num_sample, pos_thresh, neg_thresh_high=0.5, neg_thresh_low=0.0, pos_ratio=0.5, neg_ratio=None,
        fill_negative=True,
    ):  # fmt: skip
        super().__init__(need_top_grad=False)
        numbers = [float(value) for value in (pos_thresh, neg_thresh_high, neg_thresh_low, pos_ratio)]
        neg_ratio = None if neg_ratio in (None, "None") else float(neg_ratio)
        self._quota = (int(num_sample), *numbers, neg_ratio, fill_negative not in (False, "False", "0"))

    def list_arguments(self):
        """The names of the inputs."""
        return ["matches", "ious"]

    def infer_shape(self, in_shape):
        """One number for each match."""
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The operator."""
        return QuotaSamplerOp(*self._quota)


class _Quota:
    """Draws samples within limits."""

    def __init__(self, count, pos_thresh, neg_high, neg_low, pos_ratio, neg_ratio, fill):
        neg_ratio = 1.0 - pos_ratio if neg_ratio is None else neg_ratio
        if pos_ratio + neg_ratio > 1.0:
            raise AssertionError(f"positive and negative samples are {pos_ratio} + {neg_ratio} of all, more than 1")
        self._count, self._fill = count, fill
        self._positive, self._negative = round(pos_ratio * count), int(neg_ratio * count)
        self._pos_thresh, self._neg_high, self._neg_low = (
            min(1.0, max(0.0, pos_thresh)),
            min(1.0, max(0.0, neg_high)),
            neg_low,
        )

    def __call__(self, matches, ious, negative_first):
        best = ious.max(axis=-1).asnumpy()
        positive = (matches.asnumpy() >= 0) | (best >= self._pos_thresh)
        negative = (best < self._neg_high) & (best >= self._neg_low)
        samples = np.zeros(matches.shape, "float32")
        marks = ((negative, -1), (positive, 1)) if negative_first else ((positive, 1), (negative, -1))
        for where, mark in marks:
            samples[where] = mark
        for row in samples:
            count = min(int((row > 0).sum()), self._positive)
            _leave_out(row, row > 0, self._positive)
            _leave_out(row, row < 0, max(self._count - count, self._negative) if self._fill else self._negative)
        return nd.array(samples, ctx=matches.context)


def _leave_out(row, among, most):
    """Sets places of the row, drawn from those that are marked in `among`, to 0 until `most` of them are left."""
    places = np.flatnonzero(among)
    if len(places) > most:
        row[np.random.choice(places, size=len(places) - most, replace=False)] = 0
