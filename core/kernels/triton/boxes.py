"""Boxes, anchors and proposals in Triton. Nothing waits for the device: sizes depend on shapes alone."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from core.kernels.precision import wide_type
from core.kernels.triton import _anchors, reduce
from core.kernels.triton._anchors import BLOCK, block_of, moved, offsets
from core.kernels.triton._filled import full, zeros
from core.kernels.triton._kernel import jit
from core.kernels.triton._matching import pairs
from core.kernels.triton._overlap import centers, corners, load, load_box, pairwise, store_box
from core.kernels.triton._suppression import stays, suppressed
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.rows import as_bytes, grid, tile, tile_of
from core.kernels.triton.sort import sort
from core.kernels.triton.sort import topk as best_of


def overlaps(lhs, rhs, center):
    kind = lhs.dtype if lhs.dtype.is_floating_point else torch.float32
    n, m = lhs.numel() // 4, rhs.numel() // 4
    out = torch.empty((1, n, m), dtype=kind, device=lhs.device)
    pairwise(contiguous(lhs), contiguous(rhs), out, center=center)
    return out.view(lhs.shape[:-1] + rhs.shape[:-1])


def suppress(data, threshold, valid, topk, coordinates, score, label, background, force, center, out_center):
    batch, n, width = data.shape
    data = contiguous(data)
    if topk == 0:
        record = torch.empty((batch, n, 1), dtype=data.dtype, device=data.device)
        if record.numel():
            _count_up[(triton.cdiv(record.numel(), BLOCK),)](record, record.numel(), BLOCK=BLOCK)
        return data.clone(), record
    out, record = (full((batch, n, k), -1, data.dtype, data.device) for k in (width, 1))
    if not record.numel():
        return out, record
    key = torch.empty((batch, n), dtype=data.dtype, device=data.device)
    _rank[_blocks(batch, n)](
        data, key, n, width, score, label, float(valid), float(background), LABELS=label >= 0, BLOCK=BLOCK
    )
    count = n if topk < 0 else min(n, topk)
    alive, order = sort(key, 1, True) if count == n else best_of(key, count, 1, True)
    rows = _picked(data, order)
    gone = suppressed(
        rows, count, coordinates, alive, threshold, label=-1 if force else label, center=center
    )  # fmt: skip
    form = 0 if center == out_center else 1 if out_center else 2
    _collect[(batch,)](
        rows, order, gone, out, record, count, n, gone.shape[1], width, coordinates, FORM=form, BLOCK=BLOCK
    )
    return out, record


def put_rows(rows, index, count):
    m, width = rows.shape
    out = zeros((count, width), rows.dtype, rows.device)
    if out.numel() and m:
        block = tile(width)
        _put[grid(m, width, block)](as_bytes(contiguous(rows)), contiguous(index), as_bytes(out), m, width, **block)
    return out


def take_rows(x, index):
    return _picked(contiguous(x)[None], contiguous(index)[None])[0]


def encode(samples, matches, anchors, truth, means, stds):
    batch, n = samples.shape
    target, mask = (torch.empty((batch, n, 4), dtype=truth.dtype, device=truth.device) for _ in range(2))
    if target.numel():
        _encode[_blocks(batch, n)](
            contiguous(samples), contiguous(matches), contiguous(anchors), contiguous(truth), contiguous(means),
            contiguous(stds), target, mask, n, truth.shape[1], int(anchors.shape[0] > 1), BLOCK=BLOCK,
        )  # fmt: skip
    return target, mask


def decode(data, anchors, stds, clip, center):
    batch, n = data.shape[:2]
    out = torch.empty((batch, n, 4), dtype=data.dtype, device=data.device)
    if out.numel():
        _decode[_blocks(batch, n)](
            contiguous(data), contiguous(anchors), out, n, STDS=_floats(stds), CLIP=max(float(clip), 0.0),
            CENTER=center, BLOCK=BLOCK,
        )  # fmt: skip
    return out


def match(scores, threshold, ascending, topk):
    n, m = scores.shape[1:]
    limit = min(n, m) if topk <= 0 else min(n, m, topk + 1)  # MXNet stops after the match beyond topk
    swapped = m < n
    part = contiguous(scores.mT if swapped else scores)
    found = pairs(part, threshold, limit, swapped=swapped, ascending=ascending)
    rows, columns = reversed(found) if swapped else found
    return in_type(rows, scores.dtype), in_type(columns, scores.dtype)


def priors(data, sizes, ratios, clip, steps, offsets):
    height, width = data.shape[2:]
    steps = steps if steps[0] > 0 and steps[1] > 0 else (1.0 / height, 1.0 / width)
    shapes = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    halves = [half for s, r in shapes for half in (s * height / width * math.sqrt(r) / 2, s / math.sqrt(r) / 2)]
    out = torch.empty((1, height * width * len(shapes), 4), dtype=data.dtype, device=data.device)
    if out.numel():
        _anchors.priors[_blocks(1, height * width)](
            out, height, width, *map(float, (*steps, *offsets)), HALVES=_floats(halves), KINDS=len(shapes),
            CLIP=bool(clip), BLOCK=BLOCK,
        )  # fmt: skip
    return out


def targets(anchors, labels, predictions, threshold, ignore, ratio, negative_threshold, variances):
    anchors, labels, predictions = contiguous(anchors.reshape(-1, 4)), contiguous(labels), contiguous(predictions)
    n, (batch, most, width), device = anchors.shape[0], labels.shape, labels.device
    mining = ratio > 0
    outputs = [torch.empty((batch, k * n), dtype=labels.dtype, device=device) for k in (4, 4, 1)]
    if not outputs[0].numel():
        return tuple(outputs)
    counts = torch.empty(batch, dtype=torch.int64, device=device)
    _anchors.count_labels[(batch,)](labels, counts, most, width, BLOCK=BLOCK)
    iou = torch.empty((batch, most, n), dtype=anchors.dtype, device=device)
    pairwise(labels, anchors, iou, width, 1, counts)
    _, partner = pairs(iou, 1e-6, min(most, n), swapped=True)
    positive, negative = (torch.empty((batch, n), dtype=torch.uint8, device=device) for _ in range(2))
    background = torch.empty((batch, n), dtype=torch.float32, device=device)
    _anchors.assign[_blocks(batch, n)](
        iou, partner, counts, predictions, partner, positive, background, n, most, predictions.shape[1],
        float(threshold), float(negative_threshold), MINING=mining, BLOCK=BLOCK,
    )  # fmt: skip
    if mining:
        candidates, order = sort(background, 1, False)
        positives = reduce.sum(positive, (1,), False, torch.int64)
        _anchors.mine[_blocks(batch, n)](order, candidates, positives, negative, n, float(ratio), BLOCK=BLOCK)
    _anchors.write_targets[_blocks(batch, n)](
        anchors, labels, counts, partner, positive, negative, *outputs, n, most, width, float(ignore),
        MINING=mining, VARIANCES=_floats(variances), BLOCK=BLOCK,
    )  # fmt: skip
    return tuple(outputs)


def detections(scores, offsets, anchors, clip, threshold, nms, force, variances, topk):
    batch, classes, n = scores.shape
    rows = torch.empty((batch, n, 6), dtype=offsets.dtype, device=scores.device)
    alive = torch.empty((batch, n), dtype=torch.uint8, device=scores.device)
    key = torch.empty((batch, n), dtype=scores.dtype, device=scores.device)
    if not rows.numel():
        return rows
    _anchors.detect[_blocks(batch, n)](
        contiguous(scores), contiguous(offsets), contiguous(anchors), rows, alive, key, n, classes, float(threshold),
        CLIP=bool(clip), VARIANCES=_floats(variances), BLOCK=BLOCK,
    )  # fmt: skip
    order = sort(alive, 1, True)[1]
    if not 0 < nms <= 1:
        return _picked(rows, order)
    count = min(topk, n) if topk > 0 else n
    key, best = sort(key, 1, True)
    order[:, :count] = best[:, :count]  # what is beyond topk stays where it was, without a class
    rows = _picked(rows, order)
    gone = suppressed(rows, count, 2, key, nms, label=-1 if force else 0, inclusive=True)
    _anchors.drop_labels[_blocks(batch, n)](rows, gone, n, count, gone.shape[1], BLOCK=BLOCK)
    return rows


def proposals(scores, deltas, info, before, after, threshold, least, scales, ratios, stride, plain_corners):
    batch, kinds, height, width = scores.shape
    kinds, kind, device = kinds // 2, scores.dtype, scores.device
    n = height * width * kinds
    boxes = torch.empty((batch, n, 4), dtype=wide_type(kind), device=device)
    key = torch.empty((batch, n), dtype=kind, device=device)
    regions = torch.empty((batch * after, 5), dtype=boxes.dtype, device=device)
    chosen = torch.empty((batch * after, 1), dtype=kind, device=device)
    if not chosen.numel() or not n:
        return regions, chosen
    _anchors.propose[_blocks(batch, height * width)](
        contiguous(scores), contiguous(deltas), contiguous(info), boxes, key, height, width, stride, least,
        HALVES=_halves(scales, ratios, stride), KINDS=kinds, PLAIN=bool(plain_corners), BLOCK=BLOCK,
    )  # fmt: skip
    count = n if before <= 0 else min(before, n)
    key, order = sort(key, 1, True) if count == n else best_of(key, count, 1, True)
    boxes = _picked(boxes, order)
    gone = suppressed(boxes, count, 0, None, threshold, grow=1)
    positions = torch.empty((batch, count), dtype=torch.int64, device=device)
    found = torch.empty(batch, dtype=torch.int64, device=device)
    _anchors.list_kept[(batch,)](gone, positions, found, count, gone.shape[1], BLOCK=BLOCK)
    _anchors.write_proposals[_blocks(batch, after)](
        boxes, key, positions, found, regions, chosen, count, after, BLOCK=BLOCK
    )
    return regions, chosen


# ------------------------------------------------------------ launching


def _blocks(batch, n):
    return (batch * triton.cdiv(n, BLOCK),)


def _floats(values):
    return tuple(map(float, values))


def _picked(x, index):
    """Rows of x (batch, n, width) at index (batch, m), zeros for -1."""
    (batch, n, width), m = x.shape, index.shape[1]
    out = torch.empty((batch, m, width), dtype=x.dtype, device=x.device)
    if out.numel():
        block = tile(width)
        _pick[grid(batch * m, width, block)](as_bytes(x), index, as_bytes(out), batch * m, m, n, width, **block)
    return out


def _halves(scales, ratios, stride):
    """Half of width and height, end to end, of the anchors of a position (Ren et al., 2015), one after the other."""
    halves = []
    for ratio in ratios:
        base = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        for scale in scales:
            halves += [(base * scale - 1) / 2, (math.floor(base * ratio + 0.5) * scale - 1) / 2]
    return _floats(halves)


# ------------------------------------------------------------ device code


@jit
def _count_up(out_ptr, total, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at, at < total)


@jit
def _rank(x_ptr, key_ptr, n, width, score, label, valid, background, LABELS: tl.constexpr, BLOCK: tl.constexpr):
    """The score of each row, -inf where it does not take part."""
    image, at, inside = block_of(n, BLOCK)
    row = (image * n + at) * width
    key = load(x_ptr, row + score, inside)
    alive = key > valid
    if LABELS:
        alive &= load(x_ptr, row + label, inside) != background
    tl.store(key_ptr + image * n + at, tl.where(alive, key, float("-inf")), inside)


@jit
def _collect(
    rows_ptr, order_ptr, gone_ptr, out_ptr, record_ptr, count, n, words, width, coordinates,
    FORM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Moves the rows of an image that stay together. FORM: 0 as they are, 1 to centre form, 2 to corners."""
    image = tl.program_id(0).to(tl.int64)
    before = tl.zeros((), tl.int64)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        kept = stays(gone_ptr + image * words, at, at < count)
        position = image * n + before + tl.cumsum(kept.to(tl.int64), 0) - 1
        row = (image * count + at) * width
        tl.store(record_ptr + position, image * n + tl.load(order_ptr + image * count + at, kept, 0), kept)
        for column in range(width):
            if FORM == 0 or column < coordinates or column >= coordinates + 4:
                tl.store(out_ptr + position * width + column, tl.load(rows_ptr + row + column, kept, 0), kept)
        if FORM != 0:
            a, b, c, d = load_box(rows_ptr, row + coordinates, kept, False)
            a2, b2, c2, d2 = centers(a, b, c, d) if FORM == 1 else corners(a, b, c, d)
            same = a < 0  # MXNet's mark for "no box" is -1: what begins below 0 keeps its form
            store_box(
                out_ptr, position * width + coordinates, tl.where(same, a, a2), tl.where(same, b, b2),
                tl.where(same, c, c2), tl.where(same, d, d2), kept,
            )  # fmt: skip
        before += tl.sum(kept.to(tl.int64), 0)


@jit
def _put(rows_ptr, index_ptr, out_ptr, m, width, ROWS: tl.constexpr, INNER: tl.constexpr):
    row, column, inside = tile_of(m, width, ROWS, INNER)
    at = tl.load(index_ptr + row, row < m, -1).to(tl.int64)
    value = tl.load(rows_ptr + row[:, None] * width + column, inside, 0)
    tl.store(out_ptr + at[:, None] * width + column, value, inside & (at >= 0)[:, None])


@jit
def _pick(x_ptr, index_ptr, out_ptr, total, m, n, width, ROWS: tl.constexpr, INNER: tl.constexpr):
    row, column, inside = tile_of(total, width, ROWS, INNER)
    at = tl.load(index_ptr + row, row < total, -1).to(tl.int64)
    source = row // m * n + at
    value = tl.load(x_ptr + source[:, None] * width + column, inside & (at >= 0)[:, None], 0)
    tl.store(out_ptr + row[:, None] * width + column, value, inside)


@jit
def _encode(
    samples_ptr, matches_ptr, anchors_ptr, truth_ptr, means_ptr, stds_ptr, target_ptr, mask_ptr, n, m, own,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, at, inside = block_of(n, BLOCK)
    position = image * n + at
    sample = load(samples_ptr, position, inside) > 0.5
    there = (image * m + tl.load(matches_ptr + position, inside, 0).to(tl.int64)) * 4
    a, b, c, d = load_box(anchors_ptr, (image * own * n + at) * 4, inside, False)
    a2, b2, c2, d2 = load_box(truth_ptr, there, sample & inside, False)
    x, y, w, h = offsets(a, b, c, d, a2, b2, c2, d2, (1.0, 1.0, 1.0, 1.0))
    x = (x - load(means_ptr, 0, True)) / load(stds_ptr, 0, True)
    y = (y - load(means_ptr, 1, True)) / load(stds_ptr, 1, True)
    w = (w - load(means_ptr, 2, True)) / load(stds_ptr, 2, True)
    h = (h - load(means_ptr, 3, True)) / load(stds_ptr, 3, True)
    store_box(
        target_ptr, position * 4, tl.where(sample, x, 0.0), tl.where(sample, y, 0.0), tl.where(sample, w, 0.0),
        tl.where(sample, h, 0.0), inside,
    )  # fmt: skip
    one = sample.to(tl.float32)
    store_box(mask_ptr, position * 4, one, one, one, one, inside)


@jit
def _decode(
    data_ptr, anchors_ptr, out_ptr, n,
    STDS: tl.constexpr, CLIP: tl.constexpr, CENTER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    image, at, inside = block_of(n, BLOCK)
    position = (image * n + at) * 4
    dx, dy, dw, dh = load_box(data_ptr, position, inside, False)
    x, y, w, h = load_box(anchors_ptr, at.to(tl.int64) * 4, inside, False)
    if not CENTER:
        x, y, w, h = centers(x, y, w, h)
    a, b, c, d = moved(dx, dy, dw, dh, x, y, w, h, STDS, CLIP)
    store_box(out_ptr, position, a, b, c, d, inside)


_INTEGERS = {"matches_ptr": "*fp32", "order_ptr": "*i64", "gone_ptr": "*i32", "index_ptr": "*i64"}
_SCALARS = {"valid": "fp32", "background": "fp32"}


def _case(kernel, **constexprs):
    given = {
        name: _INTEGERS.get(name, "*fp32") if name.endswith("_ptr") else _SCALARS.get(name, "i32")
        for name in kernel.arg_names
        if name not in constexprs
    }
    return AotCase(kernel, given, constexprs)


AOT = [
    _case(_collect, FORM=1, BLOCK=BLOCK),
    _case(_decode, STDS=(0.1, 0.1, 0.2, 0.2), CLIP=4.0, CENTER=True, BLOCK=BLOCK),
    _case(_encode, BLOCK=BLOCK),
    _case(_rank, LABELS=True, BLOCK=BLOCK),
    _case(_pick, ROWS=128, INNER=8),
    _case(_put, ROWS=128, INNER=8),
    _case(_count_up, BLOCK=BLOCK),
]
