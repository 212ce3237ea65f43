"""Rules for the kernels of `boxes` on tensors without memory."""

import math

import torch

from core.kernels.meta.base import empty, enter, fits
from core.kernels.precision import wide_type


@enter("boxes")
def overlaps(lhs, rhs, center):
    return empty((*lhs.shape[:-1], *rhs.shape[:-1]), torch.promote_types(lhs.dtype, rhs.dtype))


@enter("boxes")
def suppress(data, *how):
    return empty(data.shape, data.dtype), empty((*data.shape[:2], 1), data.dtype)


@enter("boxes")
def put_rows(rows, index, count):
    return empty((count, rows.shape[1]), rows.dtype)


@enter("boxes")
def take_rows(x, index):
    return empty((index.shape[0], x.shape[1]), x.dtype)


@enter("boxes")
def encode(samples, matches, anchors, truth, means, stds):
    kind = torch.promote_types(anchors.dtype, truth.dtype)
    return empty((*samples.shape, 4), kind), empty((*samples.shape, 4), kind)


@enter("boxes")
def decode(data, anchors, stds, clip, center):
    return empty(data.shape, torch.promote_types(data.dtype, anchors.dtype))


@enter("boxes")
def targets(anchors, labels, *how):
    shape = labels.shape[0], math.prod(anchors.shape[:-1])
    offsets = shape[0], 4 * shape[1]
    return empty(offsets, labels.dtype), empty(offsets, labels.dtype), empty(shape, labels.dtype)


@enter("boxes")
def detections(scores, offsets, *how):
    return empty((scores.shape[0], scores.shape[2], 6), torch.promote_types(scores.dtype, offsets.dtype))


@enter("boxes")
def priors(data, sizes, ratios, clip, steps, offsets):
    return empty((1, data.shape[2] * data.shape[3] * (len(sizes) + len(ratios) - 1), 4), data.dtype)


@enter("boxes")
def proposals(scores, deltas, info, before, after, threshold, least, scales, ratios, stride, plain_corners):
    batch, kinds, *places = scores.shape
    boxes = (batch, 2 * kinds, *places)
    fits(kinds == 2 * len(scales) * len(ratios) and deltas.shape == boxes, "proposals of anchors", scores, deltas)
    return empty((batch * after, 5), wide_type(scores.dtype)), empty((batch * after, 1), scores.dtype)
