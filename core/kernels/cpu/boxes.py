"""Boxes, anchors and proposals on the CPU."""

from __future__ import annotations

import math

import torch

_BLOCK = 256  # boxes whose mutual suppression is decided at a time
_GROUP = 1024  # boxes from which labels are looked at apart
_SWEEP = 8192  # boxes from which only those are compared whose left edges are near
_NEIGHBOURS = 32  # boxes of a block that are swept together


def overlaps(lhs, rhs, center):
    if center:
        lhs, rhs = _corners(lhs), _corners(rhs)
    iou = _overlaps(lhs.reshape(-1, 4), rhs.reshape(-1, 4))
    return iou.reshape(lhs.shape[:-1] + rhs.shape[:-1])


def suppress(data, threshold, valid, topk, coordinates, score, label, background, force, center, out_center):
    batch, n, width = data.shape
    index = torch.arange(batch * n, device=data.device).reshape(batch, n)
    if topk == 0:
        return data.clone(), index.to(data.dtype).unsqueeze(-1)
    scores = data[..., score]
    alive = scores > valid
    if label >= 0:
        alive &= data[..., label] != background
    most = int(alive.sum(1).max()) if data.numel() else 0
    most = most if topk < 0 else min(most, topk)
    order = scores.masked_fill(~alive, -math.inf).sort(dim=1, descending=True, stable=True)[1][:, :most]
    rows = _pick(data, order)
    boxes = rows[..., coordinates : coordinates + 4]
    labels = None if label < 0 or force else rows[..., label]
    keep = _survivors(_corners(boxes) if center else boxes, alive.gather(1, order), threshold, labels, torch.gt)
    position = torch.where(keep, keep.cumsum(1) - 1, n)  # row n collects the others
    out, record = data.new_full((batch, n + 1, width), -1), data.new_full((batch, n + 1), -1)
    out.scatter_(1, position.unsqueeze(-1).expand(-1, -1, width), rows)
    record.scatter_(1, position, _pick(index.unsqueeze(-1), order).squeeze(-1).to(data.dtype))
    out, record = out[:, :n].contiguous(), record[:, :n].unsqueeze(-1).contiguous()
    if center != out_center:
        part = out[..., coordinates : coordinates + 4]
        # Boxes that begin below 0 keep their form, as in MXNet, whose mark for "no box" is -1.
        part.copy_(torch.where(part[..., :1] < 0, part, _centers(part) if out_center else _corners(part)))
    return out, record


def put_rows(rows, index, count):
    at = index.to(torch.int64)
    out = rows.new_zeros((count + 1, rows.shape[1]))
    out[torch.where(at < 0, count, at)] = rows
    return out[:count].contiguous()


def take_rows(x, index):
    at = index.to(torch.int64)
    return x.index_select(0, at.clamp(min=0)) * (at >= 0).unsqueeze(1)


def encode(samples, matches, anchors, truth, means, stds):
    mask = (samples > 0.5).unsqueeze(-1)
    target = _offsets(anchors, _pick(truth, matches.to(torch.int64)), (1.0, 1.0, 1.0, 1.0))
    target = (target - means) / stds
    return torch.where(mask, target, 0), mask.expand(target.shape).to(target.dtype).contiguous()


def decode(data, anchors, stds, clip, center):
    x, y, width, height = (anchors if center else _centers(anchors)).unbind(-1)
    dx, dy, dw, dh = (d * s for d, s in zip(data.unbind(-1), stds, strict=True))
    if clip > 0:
        dw, dh = dw.clamp(max=clip), dh.clamp(max=clip)
    return _corners(torch.stack([dx * width + x, dy * height + y, dw.exp() * width, dh.exp() * height], -1))


def match(scores, threshold, ascending, topk):
    rows, columns = _pairs(-scores if ascending else scores, -threshold if ascending else threshold, topk)
    return rows.to(scores.dtype), columns.to(scores.dtype)


def priors(data, sizes, ratios, clip, steps, offsets):
    height, width = data.shape[2:]
    steps = steps if steps[0] > 0 and steps[1] > 0 else (1.0 / height, 1.0 / width)
    y, x = (
        (torch.arange(n, dtype=torch.float32, device=data.device) + o) * s
        for n, o, s in zip((height, width), offsets, steps, strict=True)
    )
    shapes = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    half = [[s * height / width * math.sqrt(r) / 2, s / math.sqrt(r) / 2] for s, r in shapes]
    half = torch.tensor(half, dtype=torch.float32, device=data.device)
    centre = torch.stack(torch.broadcast_tensors(x, y.unsqueeze(1)), -1).unsqueeze(2)
    boxes = torch.cat([centre - half, centre + half], -1).reshape(1, -1, 4)
    return (boxes.clamp_(0, 1) if clip else boxes).to(data.dtype)


def targets(anchors, labels, predictions, threshold, ignore, ratio, negative_threshold, variances):
    anchors = anchors.reshape(-1, 4)
    count = anchors.shape[0]
    real = (labels[..., 0] != -1).cumprod(1).bool()
    iou = _overlaps(anchors, labels[..., 1:5])
    iou = iou.masked_fill(~real.unsqueeze(1), -1)
    chosen, _ = _pairs(iou, 1e-6, -1)
    best, nearest = iou.max(2)
    positive = chosen >= 0
    partner = torch.where(positive, chosen, nearest)
    if threshold > 0:
        positive |= best > threshold
    some = real.any(1, keepdim=True)
    if ratio > 0:
        wanted = (positive.sum(1, keepdim=True) * ratio).to(torch.int64).clamp(max=count)
        candidate = ~positive & (best < negative_threshold)
        background = predictions.float().softmax(1)[:, 0].masked_fill(~candidate, math.inf)
        rank = background.argsort(dim=1, stable=True).argsort(dim=1)
        negative = candidate & (rank < wanted) & some
    else:
        negative = ~positive & some
    truth = _pick(labels, partner)
    mask = positive.unsqueeze(-1)
    offsets = torch.where(mask, _offsets(anchors, truth[..., 1:5], variances), 0)
    classes = torch.where(positive, truth[..., 0] + 1, torch.where(negative, 0.0, ignore))
    kind = labels.dtype
    return offsets.flatten(1).to(kind), mask.expand(offsets.shape).flatten(1).to(kind), classes.to(kind)


def detections(scores, offsets, anchors, clip, threshold, nms, force, variances, topk):
    batch, _, count = scores.shape
    score, label = scores[:, 1:].max(1)
    alive = score >= threshold
    boxes = decode(offsets.reshape(batch, count, 4), anchors.reshape(1, count, 4), variances, 0, False)
    boxes = boxes.clamp(0, 1) if clip else boxes
    rows = torch.cat([label.unsqueeze(-1).to(boxes.dtype), score.unsqueeze(-1), boxes], -1)
    rows = rows.masked_fill(~alive.unsqueeze(-1), -1)
    order = alive.to(torch.uint8).sort(dim=1, descending=True, stable=True)[1]
    if not 0 < nms <= 1:
        return _pick(rows, order)
    best = score.masked_fill(~alive, -math.inf).sort(dim=1, descending=True, stable=True)[1]
    topk = topk if topk > 0 else count
    order = torch.cat([best[:, :topk], order[:, topk:]], 1)  # what is beyond topk stays where it was, without a class
    rows, alive = _pick(rows, order), alive.gather(1, order)
    alive[:, topk:] = False
    most = int(alive.sum(1).max()) if alive.numel() else 0
    labels = None if force else rows[:, :most, 0]
    alive[:, :most] = _survivors(rows[:, :most, 2:], alive[:, :most], nms, labels, torch.ge)
    rows[..., 0].masked_fill_(~alive, -1)
    return rows


def proposals(scores, deltas, info, before, after, threshold, least, scales, ratios, stride, plain_corners):
    batch, kinds, height, width = scores.shape
    kinds //= 2
    anchors = _shifted_anchors(scores, height, width, scales, ratios, stride)
    score = scores[:, kinds:].permute(0, 2, 3, 1).reshape(batch, -1)
    deltas = deltas.reshape(batch, kinds, 4, height, width).permute(0, 3, 4, 1, 2).reshape(batch, -1, 4)
    boxes = anchors + deltas if plain_corners else _moved(anchors, deltas)
    limit = (info[:, [1, 0, 1, 0]] - 1).unsqueeze(1)
    boxes = torch.minimum(boxes, limit).clamp_(min=0)
    real = (info[:, :2] / stride).to(torch.int64)
    row = torch.arange(height, device=scores.device).reshape(1, -1, 1, 1) >= real[:, 0].reshape(-1, 1, 1, 1)
    column = torch.arange(width, device=scores.device).reshape(1, 1, -1, 1) >= real[:, 1].reshape(-1, 1, 1, 1)
    padding = (row | column).expand(-1, -1, -1, kinds).reshape(batch, -1)
    smallest = (info[:, 2] * least).reshape(-1, 1)
    extent = boxes[..., 2:] - boxes[..., :2] + 1
    small = (extent < smallest.unsqueeze(-1)).any(-1)
    grow = (smallest / 2).unsqueeze(-1) * small.unsqueeze(-1)
    boxes = torch.cat([boxes[..., :2] - grow, boxes[..., 2:] + grow], -1)
    score = score.masked_fill(padding | small, -1)
    count = score.shape[1] if before <= 0 else min(before, score.shape[1])
    score, order = (t[:, :count] for t in score.sort(dim=1, descending=True, stable=True))
    boxes = _pick(boxes, order)
    closed = torch.cat([boxes[..., :2], boxes[..., 2:] + 1], -1)
    keep = _survivors(closed, torch.ones_like(score, dtype=torch.bool), threshold, None, torch.gt)
    found = keep.sum(1, keepdim=True).clamp(max=min(after, count))
    position = keep.to(torch.uint8).sort(dim=1, descending=True, stable=True)[1]
    position = position.gather(1, torch.arange(after, device=scores.device) % found)
    image = torch.arange(batch, dtype=boxes.dtype, device=boxes.device).reshape(-1, 1, 1).expand(-1, after, 1)
    regions = torch.cat([image, _pick(boxes, position)], -1)
    return regions.reshape(-1, 5), score.gather(1, position).reshape(-1, 1)


# ---------------------------------------------------------------------------------------------- pieces


def _survivors(boxes, alive, threshold, labels, exceeds):
    """Which of boxes (batch, n, 4), best first, are alive and overlap no survivor before them beyond the threshold."""
    keep = torch.zeros_like(alive)
    for image in range(boxes.shape[0]):
        rest = alive[image].nonzero().squeeze(1)
        for group in [rest] if labels is None else _by_label(rest, labels[image, rest]):
            label = None if labels is None else labels[image, group]
            if label is not None and bool((label == label[:1]).all()):
                label = None
            keep[image, group] = _survivors_of_group(boxes[image, group], threshold, label, exceeds)
    return keep


def _by_label(rest, labels):
    """`rest` in parts that share no label, each of `_GROUP` rows or more where there are so many, in their order."""
    if rest.numel() <= _GROUP:
        return [rest]
    ordered, order = labels.sort(stable=True)
    _, counts = ordered.unique_consecutive(return_counts=True)
    sizes = [0]
    for count in counts.tolist():
        if sizes[-1] >= _GROUP:
            sizes.append(0)
        sizes[-1] += count
    return [rest[part.sort()[0]] for part in order.split(sizes)]


def _survivors_of_group(boxes, threshold, labels, exceeds):
    """`_survivors` of boxes (n, 4) that are all alive: a mask (n,).

    They are decided in blocks, and those that a survivor overlaps are looked at no more. Within a block, a box is out
    when a survivor overlaps it: the answer is the only fixed point of that sentence, and repeating it gets there, one
    link of the longest chain a time.
    """

    def over(a, b):
        found = exceeds(_overlaps(boxes[a], boxes[b]), threshold)
        return found if labels is None else found & (labels[a].unsqueeze(1) == labels[b])

    keep = torch.zeros(boxes.shape[0], dtype=torch.bool, device=boxes.device)
    rest = torch.arange(boxes.shape[0], device=boxes.device)
    reach = _Reach(boxes) if rest.numel() > _SWEEP and threshold > 0 else None
    while rest.numel():
        part, rest = rest[:_BLOCK], rest[_BLOCK:]
        within, kept, before = over(part, part).triu(1), torch.ones_like(part, dtype=torch.bool), None
        while before is None or not torch.equal(before, kept):
            before, kept = kept, ~(within & kept.unsqueeze(1)).any(0)
        part = part[kept]
        keep[part] = True
        if reach is None or rest.numel() <= _SWEEP:
            rest = rest[~over(part, rest).any(0)]
            continue
        out = torch.zeros_like(keep)
        for some, near in reach.of(part, rest):
            out[near[over(some, near).any(0)]] = True
        rest = rest[~out[rest]]
    return keep


class _Reach:
    """Boxes by their left edges: those that can share anything with some of them lie side by side."""

    def __init__(self, boxes):
        self._left, self._right = boxes[:, 0], boxes[:, 2]
        self._widest = (self._right - self._left).nan_to_num(0).amax()
        self._order = self._left.argsort()
        self._rank = torch.empty_like(self._order)
        self._rank[self._order] = torch.arange(len(self._order), device=boxes.device)

    def of(self, part, rest):
        """Yields (a few neighbours of `part`, all of `rest` that any of them may overlap)."""
        rest = self._order[self._rank[rest].sort()[0]]
        left = self._left[rest]
        part = part[self._left[part].argsort()]
        for some in part.split(_NEIGHBOURS):
            # A little more than the widest, so that rounding leaves nobody out.
            begin = self._left[some].nan_to_num(-torch.inf).min() - self._widest * 1.001
            ends = torch.stack([begin, self._right[some].nan_to_num(torch.inf).max()])
            first, last = torch.searchsorted(left, ends, right=False).tolist()
            yield some, rest[first:last]


def _pairs(scores, threshold, topk):
    """Partners of rows and columns (int64, -1: none) when the best pair above the threshold is taken repeatedly."""
    batch, n, m = scores.shape
    rows = torch.full((batch, n), -1, dtype=torch.int64, device=scores.device)
    columns = torch.full((batch, m), -1, dtype=torch.int64, device=scores.device)
    if not scores.numel():
        return rows, columns
    left, image = scores.clone(), torch.arange(batch, device=scores.device)
    for _ in range(min(n, m) if topk <= 0 else min(n, m, topk + 1)):  # MXNet stops after the match beyond topk
        best, at = left.flatten(1).max(1)
        good = best > threshold
        if not bool(good.any()):
            break
        row, column, image_ = (at // m)[good], (at % m)[good], image[good]
        rows[image_, row], columns[image_, column] = column, row
        left[image_, row] = -math.inf
        left[image_, :, column] = -math.inf
    return rows, columns


def _overlaps(a, b):
    """Intersection over union of corners a (..., n, 4) and b (..., m, 4): (..., n, m); 0 where nothing is shared."""
    # Each edge by itself, for vectors do not reach across those of other edges.
    a_edges, b_edges = (x.movedim(-1, 0).contiguous() for x in (a, b))
    width, height = (
        torch.minimum(a_edges[i + 2].unsqueeze(-1), b_edges[i + 2].unsqueeze(-2))
        .sub_(torch.maximum(a_edges[i].unsqueeze(-1), b_edges[i].unsqueeze(-2)))
        .clamp_(min=0)
        for i in (0, 1)
    )
    shared = width.mul_(height)
    union = (_area(a).unsqueeze(-1) + _area(b).unsqueeze(-2)).sub_(shared)
    return (shared / union).masked_fill_(shared <= 0, 0)


def _area(boxes):
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return torch.where((width < 0) | (height < 0), 0, width * height)


def _corners(boxes):
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def _centers(boxes):
    return torch.cat([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], -1)


def _offsets(anchors, truth, variances):
    """How to get from anchors to the truth: shift in parts of the anchor's size, logarithm of growth."""
    x, y, width, height = _centers(anchors).unbind(-1)
    to_x, to_y, to_width, to_height = _centers(truth).unbind(-1)
    moves = (to_x - x) / width, (to_y - y) / height, (to_width / width).log(), (to_height / height).log()
    return torch.stack([m / v for m, v in zip(moves, variances, strict=True)], -1)


def _pick(x, index):
    """Rows of x (batch or 1, n, width) at index (batch, m)."""
    x = x.expand(index.shape[0], -1, -1)
    return x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[2]))


def _shifted_anchors(like, height, width, scales, ratios, stride):
    """Corners (1, H W A, 4) of anchors in pixels around stride x stride cells, both ends inside (Ren et al., 2015)."""
    middle = 0.5 * (stride - 1.0)
    shapes = []
    for ratio in ratios:
        base = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        shapes += [(base * scale, math.floor(base * ratio + 0.5) * scale) for scale in scales]
    half = torch.tensor([[(w - 1) / 2, (h - 1) / 2] for w, h in shapes], dtype=torch.float32, device=like.device)
    y, x = (torch.arange(n, dtype=torch.float32, device=like.device) * stride + middle for n in (height, width))
    centre = torch.stack(torch.broadcast_tensors(x, y.unsqueeze(1)), -1).unsqueeze(2)
    return torch.cat([centre - half, centre + half], -1).reshape(1, -1, 4)


def _moved(anchors, deltas):
    """Anchors, both ends inside, moved and grown by deltas."""
    extent = anchors[..., 2:] - anchors[..., :2] + 1
    centre = anchors[..., :2] + 0.5 * (extent - 1) + deltas[..., :2] * extent
    half = 0.5 * (deltas[..., 2:].exp() * extent - 1)
    return torch.cat([centre - half, centre + half], -1)
