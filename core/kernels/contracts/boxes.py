"""Boxes: overlaps (IoU), non-maximum suppression, matching with the ground truth, anchors and proposals.

Boxes are (left, top, right, bottom), or (x, y, width, height) around the centre where `center` is set. Ties of
scores keep the earlier box.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.contracts.types import Floats
from core.kernels.dispatch import kernel
from core.kernels.precision import wide_type


@kernel
def overlaps(lhs: Tensor, rhs: Tensor, center: bool) -> Tensor:
    """Intersection over union of all pairs: lhs.shape[:-1] + rhs.shape[:-1] of lhs (..., 4) and rhs (..., 4)."""
    return empty((*lhs.shape[:-1], *rhs.shape[:-1]), torch.promote_types(lhs.dtype, rhs.dtype))


@kernel
def suppress(
    data: Tensor, threshold: float, valid: float, topk: int, coordinates: int, score: int, label: int,
    background: int, force: bool, center: bool, out_center: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Rows of data (batch, n, width) by falling score without those that overlap a better one by more than `threshold`.

    coordinates, score, label: columns (label -1: none). Rows with a score up to `valid` or the label `background` are
    left out, and all but the best `topk` (-1: all); rows of different labels do not compete unless `force`.
    Returns (rows with -1 behind the last one, their indices in batch * n as (batch, n, 1), -1 likewise).
    """
    return empty(data.shape, data.dtype), empty((*data.shape[:2], 1), data.dtype)


@kernel
def put_rows(rows: Tensor, index: Tensor, count: int) -> Tensor:
    """(count, width) with rows (m, width) written at `index` (m), zeros elsewhere; index -1 drops a row."""
    return empty((count, rows.shape[1]), rows.dtype)


@kernel
def take_rows(x: Tensor, index: Tensor) -> Tensor:
    """Rows of x (count, width) at `index` (m); zeros for -1."""
    return empty((index.shape[0], x.shape[1]), x.dtype)


@kernel
def encode(
    samples: Tensor, matches: Tensor, anchors: Tensor, truth: Tensor, means: Tensor, stds: Tensor
) -> tuple[Tensor, Tensor]:
    """Regression targets and their mask, both (B, N, 4), of the anchors whose sample is positive; 0 for the others.

    samples, matches (B, N); anchors (B or 1, N, 4); truth (B, M, 4); means, stds (4,).
    """
    kind = torch.promote_types(anchors.dtype, truth.dtype)
    return empty((*samples.shape, 4), kind), empty((*samples.shape, 4), kind)


@kernel
def decode(data: Tensor, anchors: Tensor, stds: Floats, clip: float, center: bool) -> Tensor:
    """Corners of boxes from regression outputs data (B, N, 4) and anchors (1, N, 4); growth is cut at `clip` if > 0."""
    return empty(data.shape, torch.promote_types(data.dtype, anchors.dtype))


@kernel
def match(scores: Tensor, threshold: float, ascending: bool, topk: int) -> tuple[Tensor, Tensor]:
    """Greedy pairing of rows and columns of scores (B, N, M): the partner of each row (B, N) and column (B, M), or -1.

    The best pair is taken again and again while it is above `threshold` (below, with `ascending`).
    """
    return empty(scores.shape[:2], scores.dtype), empty((scores.shape[0], scores.shape[2]), scores.dtype)


@kernel
def priors(data: Tensor, sizes: Floats, ratios: Floats, clip: bool, steps: Floats, offsets: Floats) -> Tensor:
    """Anchors (1, H W (sizes + ratios - 1), 4) over a map data (N, C, H, W), in parts of the image."""
    return empty((1, data.shape[2] * data.shape[3] * (len(sizes) + len(ratios) - 1), 4), data.dtype)


@kernel
def targets(
    anchors: Tensor, labels: Tensor, predictions: Tensor, threshold: float, ignore: float, ratio: float,
    negative_threshold: float, variances: Floats,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Training targets of anchors (1, A, 4): regression targets and mask (B, 4 A), classes (B, A).

    labels (B, L, 5 or more): class, left, top, right, bottom, ended by a class of -1. predictions (B, classes, A): with
    ratio > 0 only the `ratio` x positives least certain of being background become negative, the others `ignore`.
    """
    shape = labels.shape[0], math.prod(anchors.shape[:-1])
    offsets = shape[0], 4 * shape[1]
    return empty(offsets, labels.dtype), empty(offsets, labels.dtype), empty(shape, labels.dtype)


@kernel
def detections(
    scores: Tensor, offsets: Tensor, anchors: Tensor, clip: bool, threshold: float, nms: float, force: bool,
    variances: Floats, topk: int,
) -> Tensor:  # fmt: skip
    """Detections (B, A, 6) of class, score, left, top, right, bottom by falling score; class -1: none or suppressed.

    scores (B, 1 + classes, A) with the background first, offsets (B, 4 A), anchors (1, A, 4).
    """
    return empty((scores.shape[0], scores.shape[2], 6), torch.promote_types(scores.dtype, offsets.dtype))


@kernel
def proposals(
    scores: Tensor, deltas: Tensor, info: Tensor, before: int, after: int, threshold: float, least: float,
    scales: Floats, ratios: Floats, stride: int, plain_corners: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Regions of interest of a region proposal network: (B after, 5) of image and corners, scores (B after, 1).

    scores (B, 2 A, H, W), deltas (B, 4 A, H, W), info (B, 3) of height, width, scale. The best `before` boxes go
    through suppression, the best `after` of the rest come out, repeated where there are fewer.
    """
    batch, kinds, *positions = scores.shape
    boxes = (batch, 2 * kinds, *positions)
    fits(kinds == 2 * len(scales) * len(ratios) and deltas.shape == boxes, "proposals of anchors", scores, deltas)
    return empty((batch * after, 5), wide_type(scores.dtype)), empty((batch * after, 1), scores.dtype)
