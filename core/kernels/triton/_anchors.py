"""Anchors of detectors, and what networks say about them: the device code of `boxes` for priors, targets, detections
and proposals.

Every kernel does a block of anchors of one image. Floor: the bytes of their inputs and outputs.
"""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton._overlap import centers, corners, load, load_box, store_box
from core.kernels.triton._suppression import stays
from core.kernels.triton.aot import AotCase

BLOCK = 256


@jit
def block_of(n, BLOCK: tl.constexpr):
    """(image, positions of a block of its n anchors, whether they exist)."""
    across = blocks_of(n, BLOCK)
    at = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    return (tl.program_id(0) // across).to(tl.int64), at, at < n


@jit
def offsets(a, b, c, d, a2, b2, c2, d2, VARIANCES: tl.constexpr):
    """How to get from boxes to others: shift in parts of the size, logarithm of growth, over the variances."""
    x, y, width, height = centers(a, b, c, d)
    x2, y2, width2, height2 = centers(a2, b2, c2, d2)
    right, down = (x2 - x) / width / VARIANCES[0], (y2 - y) / height / VARIANCES[1]
    return right, down, tl.log(width2 / width) / VARIANCES[2], tl.log(height2 / height) / VARIANCES[3]


@jit
def moved(dx, dy, dw, dh, x, y, width, height, STDS: tl.constexpr, CLIP: tl.constexpr):
    """Corners of boxes around centres that moves, in parts of the size, shift and grow."""
    dw, dh = dw * STDS[2], dh * STDS[3]
    if CLIP > 0:
        dw, dh = tl.minimum(dw, CLIP), tl.minimum(dh, CLIP)
    return corners(
        dx * STDS[0] * width + x, dy * STDS[1] * height + y, tl.exp(dw) * width, tl.exp(dh) * height
    )  # fmt: skip


@jit
def priors(
    out_ptr, height, width, step_y, step_x, offset_y, offset_x,
    HALVES: tl.constexpr, KINDS: tl.constexpr, CLIP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    _, at, inside = block_of(height * width, BLOCK)
    at = at.to(tl.int64)
    x = ((at % width).to(tl.float32) + offset_x) * step_x
    y = ((at // width).to(tl.float32) + offset_y) * step_y
    for kind in tl.static_range(KINDS):
        a, b, c, d = x - HALVES[2 * kind], y - HALVES[2 * kind + 1], x + HALVES[2 * kind], y + HALVES[2 * kind + 1]
        if CLIP:
            a, b, c, d = _unit(a), _unit(b), _unit(c), _unit(d)
        store_box(out_ptr, (at * KINDS + kind) * 4, a, b, c, d, inside)


@jit
def _unit(x):
    return tl.minimum(tl.maximum(x, 0.0), 1.0)


@jit
def count_labels(labels_ptr, counts_ptr, n, width, BLOCK: tl.constexpr):
    """How many labels of an image come before the first of class -1."""
    image = tl.program_id(0).to(tl.int64)
    count = n
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ends = load(labels_ptr, (image * n + at) * width, at < n) == -1
        count = tl.minimum(count, tl.min(tl.where(ends & (at < n), at, n), 0))
    tl.store(counts_ptr + image, count)


@jit
def assign(
    iou_ptr, chosen_ptr, counts_ptr, predictions_ptr, partner_ptr, positive_ptr, background_ptr, n, labels, classes,
    threshold, negative_threshold, MINING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The label of each anchor and whether it is the anchor's; with MINING how much the rest look like background.

    iou (batch, labels, n). The background is inf for anchors that may not become negative.
    """
    image, at, inside = block_of(n, BLOCK)
    best = load(iou_ptr, image * labels * n + at, inside)
    nearest = tl.zeros((BLOCK,), tl.int64)
    for label in range(1, labels):
        iou = load(iou_ptr, (image * labels + label) * n + at, inside)
        nearest = tl.where(iou > best, label, nearest)
        best = tl.maximum(iou, best)
    chosen = tl.load(chosen_ptr + image * n + at, inside, -1)
    positive = chosen >= 0
    tl.store(partner_ptr + image * n + at, tl.where(positive, chosen, nearest), inside)
    if threshold > 0:
        positive |= best > threshold
    tl.store(positive_ptr + image * n + at, positive.to(tl.uint8), inside)
    if MINING:
        highest = tl.full((BLOCK,), float("-inf"), tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        for kind in range(classes):
            score = load(predictions_ptr, (image * classes + kind) * n + at, inside).to(tl.float32)
            above = tl.maximum(highest, score)
            total = total * tl.exp(highest - above) + tl.exp(score - above)
            highest = above
        first = load(predictions_ptr, image * classes * n + at, inside).to(tl.float32)
        background = tl.where(positive | (best >= negative_threshold), float("inf"), tl.exp(first - highest) / total)
        tl.store(background_ptr + image * n + at, background, inside)


@jit
def mine(order_ptr, sorted_ptr, positives_ptr, negative_ptr, n, ratio, BLOCK: tl.constexpr):
    """Marks the first `ratio` x positives of the sorted candidates."""
    image, at, inside = block_of(n, BLOCK)
    wanted = (tl.load(positives_ptr + image).to(tl.float32) * ratio).to(tl.int64)
    negative = (at < wanted) & (load(sorted_ptr, image * n + at, inside) < float("inf"))
    tl.store(negative_ptr + image * n + tl.load(order_ptr + image * n + at, inside, 0), negative.to(tl.uint8), inside)


@jit
def write_targets(
    anchors_ptr, labels_ptr, counts_ptr, partner_ptr, positive_ptr, negative_ptr, offsets_ptr, mask_ptr, classes_ptr, n,
    labels, width, ignore, MINING: tl.constexpr, VARIANCES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    image, at, inside = block_of(n, BLOCK)
    position = image * n + at
    positive = tl.load(positive_ptr + position, inside, 0) != 0
    negative = ~positive & (at < tl.where(tl.load(counts_ptr + image) > 0, n, 0))
    if MINING:
        negative &= tl.load(negative_ptr + position, inside, 0) != 0
    label = (image * labels + tl.load(partner_ptr + position, inside, 0)) * width
    positive &= inside
    a, b, c, d = load_box(anchors_ptr, at * 4, inside, False)
    a2, b2, c2, d2 = load_box(labels_ptr, label + 1, positive, False)
    x, y, w, h = offsets(a, b, c, d, a2, b2, c2, d2, VARIANCES)
    x, y, w, h = (
        tl.where(positive, x, 0.0), tl.where(positive, y, 0.0), tl.where(positive, w, 0.0), tl.where(positive, h, 0.0)
    )  # fmt: skip
    store_box(offsets_ptr, position * 4, x, y, w, h, inside)
    one = positive.to(tl.float32)
    store_box(mask_ptr, position * 4, one, one, one, one, inside)
    kind = tl.where(positive, load(labels_ptr, label, positive) + 1, tl.where(negative, 0.0, ignore))
    tl.store(classes_ptr + position, kind, inside)


@jit
def detect(
    scores_ptr, offsets_ptr, anchors_ptr, rows_ptr, alive_ptr, key_ptr, n, classes, threshold,
    CLIP: tl.constexpr, VARIANCES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows of class, score and corners, -1 where the score is too low, and -inf as the key by which they are sorted."""
    image, at, inside = block_of(n, BLOCK)
    position = image * n + at
    best = load(scores_ptr, (image * classes + 1) * n + at, inside)
    label = tl.zeros((BLOCK,), tl.float32)
    for kind in range(2, classes):
        score = load(scores_ptr, (image * classes + kind) * n + at, inside)
        label = tl.where(score > best, kind - 1.0, label)
        best = tl.maximum(score, best)
    a, b, c, d = load_box(anchors_ptr, at * 4, inside, False)
    x, y, w, h = centers(a, b, c, d)
    dx, dy, dw, dh = load_box(offsets_ptr, position * 4, inside, False)
    a, b, c, d = moved(dx, dy, dw, dh, x, y, w, h, VARIANCES, 0)
    if CLIP:
        a, b, c, d = _unit(a), _unit(b), _unit(c), _unit(d)
    alive = best >= threshold
    tl.store(rows_ptr + position * 6, tl.where(alive, label, -1.0), inside)
    tl.store(rows_ptr + position * 6 + 1, tl.where(alive, best, -1.0), inside)
    store_box(
        rows_ptr, position * 6 + 2, tl.where(alive, a, -1.0), tl.where(alive, b, -1.0), tl.where(alive, c, -1.0),
        tl.where(alive, d, -1.0), inside,
    )  # fmt: skip
    tl.store(alive_ptr + position, alive.to(tl.uint8), inside)
    tl.store(key_ptr + position, tl.where(alive, best, float("-inf")), inside)


@jit
def drop_labels(rows_ptr, gone_ptr, n, count, words, BLOCK: tl.constexpr):
    """Class -1 for what was suppressed, and for all rows from `count` on."""
    image, at, inside = block_of(n, BLOCK)
    kept = stays(gone_ptr + image * words, at, at < count)
    tl.store(rows_ptr + (image * n + at) * 6, tl.full((BLOCK,), -1.0, tl.float32), inside & ~kept)


@jit
def propose(
    scores_ptr, deltas_ptr, info_ptr, boxes_ptr, key_ptr, height, width, stride, least,
    HALVES: tl.constexpr, KINDS: tl.constexpr, PLAIN: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Boxes (batch, height width KINDS, 4) and their scores, -1 in the padding of an image and for small boxes.

    scores (batch, 2 KINDS, height, width), deltas (batch, 4 KINDS, height, width). HALVES: half sizes of the anchors.
    """
    image, at, inside = block_of(height * width, BLOCK)
    area = tl.cast(height, tl.int64) * width
    real_height, real_width = load(info_ptr, image * 3, True), load(info_ptr, image * 3 + 1, True)
    smallest = load(info_ptr, image * 3 + 2, True) * least
    row, column = at // width, at % width
    padding = (row >= (real_height / stride).to(tl.int32)) | (column >= (real_width / stride).to(tl.int32))
    x, y = (column * stride).to(tl.float32) + 0.5 * (stride - 1.0), (row * stride).to(tl.float32) + 0.5 * (stride - 1.0)
    for kind in tl.static_range(KINDS):
        half_width = HALVES[2 * kind]
        half_height = HALVES[2 * kind + 1]
        delta = (image * KINDS + kind) * 4 * area + at
        dx, dy = load(deltas_ptr, delta, inside), load(deltas_ptr, delta + area, inside)
        dw, dh = load(deltas_ptr, delta + 2 * area, inside), load(deltas_ptr, delta + 3 * area, inside)
        if PLAIN:
            a, b, c, d = x - half_width + dx, y - half_height + dy, x + half_width + dw, y + half_height + dh
        else:
            # Both ends of a box are inside of it: it is longer by 1 than from end to end.
            w, h = 2 * half_width + 1.0, 2 * half_height + 1.0
            cx, cy = x + dx * w, y + dy * h
            hw, hh = 0.5 * (tl.exp(dw) * w - 1.0), 0.5 * (tl.exp(dh) * h - 1.0)
            a, b, c, d = cx - hw, cy - hh, cx + hw, cy + hh
        a, c = _within(a, real_width - 1.0), _within(c, real_width - 1.0)
        b, d = _within(b, real_height - 1.0), _within(d, real_height - 1.0)
        small = (c - a + 1.0 < smallest) | (d - b + 1.0 < smallest)
        grow = tl.where(small, smallest / 2, 0.0)
        position = (image * area + at) * KINDS + kind
        store_box(boxes_ptr, position * 4, a - grow, b - grow, c + grow, d + grow, inside)
        score = load(scores_ptr, (image * 2 * KINDS + KINDS + kind) * area + at, inside)
        tl.store(key_ptr + position, tl.where(padding | small, -1.0, score), inside)


@jit
def _within(x, most):
    return tl.maximum(tl.minimum(x, most), 0.0)


@jit
def list_kept(gone_ptr, list_ptr, found_ptr, n, words, BLOCK: tl.constexpr):
    """Places of the boxes of an image that stay, in order, and how many they are."""
    image = tl.program_id(0).to(tl.int64)
    before = tl.zeros((), tl.int64)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        kept = stays(gone_ptr + image * words, at, at < n)
        position = before + tl.cumsum(kept.to(tl.int64), 0) - 1
        tl.store(list_ptr + image * n + position, at, kept)
        before += tl.sum(kept.to(tl.int64), 0)
    tl.store(found_ptr + image, before)


@jit
def write_proposals(
    boxes_ptr, key_ptr, list_ptr, found_ptr, regions_ptr, scores_ptr, n, after, BLOCK: tl.constexpr
):  # fmt: skip
    """`after` regions of each image, from the beginning again where there are fewer."""
    image, at, inside = block_of(after, BLOCK)
    found = tl.maximum(tl.minimum(tl.load(found_ptr + image), after), 1)
    position = image * n + tl.load(list_ptr + image * n + at % found, inside, 0)
    a, b, c, d = load_box(boxes_ptr, position * 4, inside, False)
    row = image * after + at
    tl.store(regions_ptr + row * 5, tl.zeros((BLOCK,), tl.float32) + image, inside)
    store_box(regions_ptr, row * 5 + 1, a, b, c, d, inside)
    tl.store(scores_ptr + row, load(key_ptr, position, inside), inside)


_KINDS = {
    **dict.fromkeys(("counts_ptr", "chosen_ptr", "partner_ptr", "order_ptr", "list_ptr", "found_ptr"), "*i64"),
    **dict.fromkeys(("positive_ptr", "negative_ptr", "alive_ptr"), "*u8"),
    **dict.fromkeys(
        ("step_y", "step_x", "offset_y", "offset_x", "threshold", "negative_threshold", "ratio", "ignore"), "fp32"
    ),
    "gone_ptr": "*i32",
    "positives_ptr": "*i64",
}


def _case(kernel, **constexprs):
    constexprs["BLOCK"] = BLOCK
    given = {
        name: _KINDS.get(name, "*fp32" if name.endswith("_ptr") else "i32")
        for name in kernel.arg_names
        if name not in constexprs
    }
    return AotCase(kernel, given, constexprs)


_VARIANCES = (0.1, 0.1, 0.2, 0.2)
_SHAPES = (40.0, 40.0, 20.0, 40.0)
AOT = [
    _case(assign, MINING=True),
    _case(write_targets, MINING=True, VARIANCES=_VARIANCES),
    _case(detect, CLIP=True, VARIANCES=_VARIANCES),
    _case(propose, HALVES=_SHAPES, KINDS=2, PLAIN=False),
    _case(priors, HALVES=_SHAPES, KINDS=2, CLIP=True),
    _case(mine),
    _case(drop_labels),
    _case(list_kept),
    _case(write_proposals),
    _case(count_labels),
]
