"""Detectors: anchors, boxes, regions."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.mx2onnx.shapes import LAST
from core.contrib.onnx.mx2onnx.table import converts, enter, ints
from core.ndarray import array


@converts("_contrib_MultiBoxPrior")
def multi_box_prior(g, a, data):
    extents = [g.extent(data, axis) for axis in (2, 3)]
    picture = array(np.zeros((1, 1, *extents), np.float32))
    made = sym.contrib.MultiBoxPrior(sym.var("data"), **vars(a)).eval(data=picture)
    return g.add("Identity", made[0].asnumpy())


@converts("_contrib_ROIAlign")
def roi_align(g, a, data, rois):
    if a.position_sensitive:
        raise g.refuse("position_sensitive has no form in ONNX")
    images = g.cast(g.add("Gather", rois, np.int64(0), axis=1), "int64", g.dtype(rois))
    valid = g.cast(g.add("GreaterOrEqual", images, np.int64(0)), g.dtype(data), "bool")  # image -1 gives zeros
    images = g.add("Max", images, np.int64(0))
    boxes = g.add("Slice", rois, ints(1), ints(5), ints(1))
    height, width = a.pooled_size
    pooled = g.add(
        "RoiAlign", data, boxes, images, output_height=height, output_width=width, spatial_scale=a.spatial_scale,
        sampling_ratio=max(a.sample_ratio, 0),
        coordinate_transformation_mode="half_pixel" if a.aligned else "output_half_pixel",
    )  # fmt: skip
    return g.add("Mul", pooled, g.add("Unsqueeze", valid, ints(1, 2, 3)))


@converts("_contrib_box_decode")
def box_decode(g, a, data, anchors):
    dtype = g.dtype(data)
    sides = _columns(g, anchors)
    spans = list(zip(sides[:2], sides[2:]))
    spans = [_span(g, *span, dtype) for span in spans] if a.format == "corner" else spans
    return _moved(g, spans, _columns(g, data), (a.std0, a.std1, a.std2, a.std3), dtype, a.clip)


@converts("_contrib_box_nms")
def box_nms(g, a, data):
    if a.topk == 0:
        return g.add("Identity", data)
    rank, count, dtype = g.rank(data), g.extent(data, -2), g.dtype(data)
    width = g.extent(data, -1)
    rows = data if rank == 3 else g.add("Reshape", data, ints(-1, count, width))
    scores = g.add("Gather", rows, np.int64(a.score_index), axis=2)
    alive = g.add("Greater", scores, g.like(a.valid_thresh, dtype))
    if a.id_index >= 0:
        kinds = g.add("Gather", rows, np.int64(a.id_index), axis=2)
        other = g.add("Not", g.add("Equal", kinds, g.like(a.background_id, dtype)))
        alive = g.add("And", alive, other)
    best = count if a.topk < 0 else min(a.topk, count)
    scores, order = _ranked(g, g.add("Where", alive, scores, g.like(np.finfo(dtype).min, dtype)), best)
    rows = _rows(g, rows, order)
    boxes = _part(g, rows, a.coord_start, 4)
    corners = _corners(g, boxes, dtype) if a.in_format == "center" else boxes
    kinds = None
    if a.id_index >= 0 and not a.force_suppress:
        kinds = g.add("Gather", rows, np.int64(a.id_index), axis=2)
    keep = _survivors(g, dtype, corners, scores, kinds, a.overlap_thresh)
    if a.in_format != a.out_format:
        turned = _corners(g, boxes, dtype) if a.in_format == "center" else _centers(g, boxes, dtype)
        # Boxes that begin below 0 keep their form, as in MXNet, whose mark for "no box" is -1.
        below = g.add("Less", _part(g, boxes, 0, 1), g.like(0, dtype))
        end = a.coord_start + 4
        parts = [(0, a.coord_start), (end, width - end)]
        before, behind = (_part(g, rows, begin, length) if length else None for begin, length in parts)
        rows = g.add("Concat", *filter(None, [before, g.add("Where", below, boxes, turned), behind]), axis=2)
    kept, first = _ranked(g, keep, best)
    mark = g.like(-1, dtype)
    rows = g.add("Where", g.add("Unsqueeze", g.cast(kept, "bool", "int64"), ints(2)), _rows(g, rows, first), mark)
    if best < count:
        rows = g.add("Pad", rows, ints(0, 0, 0, 0, count - best, 0), mark)
    return rows if rank == 3 else g.add("Reshape", rows, g.add("Shape", data))


@converts("_contrib_MultiBoxDetection")
def multi_box_detection(g, a, scores, offsets, anchors):
    dtype, count = g.dtype(scores), g.extent(scores, 2)
    scores = g.add("Slice", scores, ints(1), ints(LAST), ints(1))
    score = g.reduce("ReduceMax", scores, [1])
    kind = g.cast(g.add("ArgMax", scores, axis=1, keepdims=0), dtype, "int64")
    alive = g.add("Not", g.add("Less", score, g.like(a.threshold, dtype)))
    sides = _columns(g, g.add("Reshape", anchors, ints(1, count, 4)))
    moves = _columns(g, g.add("Reshape", offsets, ints(-1, count, 4)))
    spans = [_span(g, low, high, dtype) for low, high in zip(sides[:2], sides[2:])]
    boxes = _moved(g, spans, moves, a.variances, dtype)
    if a.clip:
        boxes = g.add("Clip", boxes, g.like(0, dtype), g.like(1, dtype))
    last = ints(2)
    rows = g.add("Concat", g.add("Unsqueeze", kind, last), g.add("Unsqueeze", score, last), boxes, axis=2)
    mark = g.like(-1, dtype)
    rows = g.add("Where", g.add("Unsqueeze", alive, last), rows, mark)
    if not 0 < a.nms_threshold <= 1:
        return _rows(g, rows, _ranked(g, g.cast(alive, "int64", "bool"), count)[1])
    if 0 < a.nms_topk < count:
        raise g.refuse("nms_topk has no form in ONNX")
    ranked, order = _ranked(g, g.add("Where", alive, score, g.like(np.finfo(dtype).min, dtype)), count)
    rows = _rows(g, rows, order)
    kinds = g.add("Gather", rows, np.int64(0), axis=2)
    threshold = float(np.nextafter(np.float32(a.nms_threshold), np.float32(0)))  # equal overlaps are out here
    keep = _survivors(g, dtype, _part(g, rows, 2, 4), ranked, None if a.force_suppress else kinds, threshold)
    kinds = g.add("Where", g.cast(keep, "bool", "int64"), kinds, mark)
    return g.add("Concat", g.add("Unsqueeze", kinds, last), _part(g, rows, 1, 5), axis=2)


def _survivors(g, dtype: str, corners, scores, kinds, threshold: float):
    """1 for each of boxes (B, n, 4), best first, that no better one of its kind overlaps by more; 0 for others (int64).

    Boxes whose score is the least number are out. Each kind has a row of scores, in which the others are out.
    """
    least = g.like(np.finfo(dtype).min, dtype)
    rows = g.add("Unsqueeze", scores, ints(1))
    if kinds is not None:
        kinds = g.add("Where", g.add("Greater", scores, least), kinds, g.like(0, dtype))
        low, high = (g.reduce(f"Reduce{which}", kinds, [0, 1]) for which in ("Min", "Max"))
        places = g.add("Range", low, g.add("Add", high, g.like(1, dtype)), g.like(1, dtype))
        same = g.add("Equal", g.add("Unsqueeze", kinds, ints(1)), g.add("Unsqueeze", places, ints(0, 2)))
        rows = g.add("Where", same, rows, least)
    boxes, rows = (g.cast(x, "float32", dtype) for x in (corners, rows))
    # 0.999...: what is above the least number of any type
    limit = np.array([np.float32(np.finfo(dtype).min) * np.float32(0.99)], np.float32)
    most = g.add("Shape", scores, start=1, end=2)
    threshold = np.array([min(max(threshold, 0.0), 1.0)], np.float32)
    chosen = g.add("NonMaxSuppression", boxes, rows, most, threshold, limit)  # (count, 3): batch, kind, box
    places = g.add("Gather", chosen, ints(0, 2), axis=1)
    one = g.onnx.numpy_helper.from_array(np.ones(1, np.int64))
    ones = g.add("ConstantOfShape", g.add("Shape", places, start=0, end=1), value=one)
    zero = g.onnx.numpy_helper.from_array(np.zeros(1, np.int64))
    return g.add("ScatterND", g.add("ConstantOfShape", g.add("Shape", scores), value=zero), places, ones)


def _ranked(g, keys, count: int):
    """The largest keys (B, n) in falling order, of equal ones the first, and their places."""
    return g.add("TopK", keys, ints(count), outputs=2, axis=1)


def _rows(g, rows, order):
    """Rows (B, n, width) in another order (B, count)."""
    return g.add("GatherND", rows, g.add("Unsqueeze", order, ints(2)), batch_dims=1)


def _part(g, rows, begin: int, length: int):
    """Columns of rows."""
    return g.add("Slice", rows, ints(begin), ints(begin + length), ints(2))


def _corners(g, boxes, dtype: str):
    x, y, *sizes = _columns(g, boxes)
    return _boxes(g, (x, y), [g.add("Mul", size, g.like(0.5, dtype)) for size in sizes])


def _centers(g, boxes, dtype: str):
    sides = _columns(g, boxes)
    middles, sizes = zip(*(_span(g, low, high, dtype) for low, high in zip(sides[:2], sides[2:])))
    return g.add("Concat", *middles, *sizes, axis=-1)


def _moved(g, spans, moves, scales, dtype: str, most: float = 0):
    """Corners of boxes that differ from others by moves: of their middles by parts of the lengths, and of the logarithms
    of the lengths, up to `most` where that is not 0.
    """
    centers, halves = [], []
    for k, (middle, length) in enumerate(spans):
        shift, growth = (g.add("Mul", moves[i], g.like(scales[i], dtype)) for i in (k, 2 + k))
        growth = g.add("Min", growth, g.like(most, dtype)) if most > 0 else growth
        centers.append(g.add("Add", g.add("Mul", shift, length), middle))
        halves.append(g.add("Mul", g.add("Mul", g.add("Exp", growth), length), g.like(0.5, dtype)))
    return _boxes(g, centers, halves)


def _boxes(g, centers, halves):
    """Corners of boxes from their centres (x, y) and halves of their sizes."""
    sides = [g.add(kind, c, h) for kind in ("Sub", "Add") for c, h in zip(centers, halves, strict=True)]
    return g.add("Concat", *sides, axis=-1)


def _span(g, low, high, dtype: str):
    """(middle, length) of what reaches from low to high."""
    return g.add("Mul", g.add("Add", low, high), g.like(0.5, dtype)), g.add("Sub", high, low)


def _columns(g, boxes):
    return g.split(boxes, 4, -1)


# ---------------------------------------------------------------------------------------------- shifted places


@converts("_contrib_DeformableConvolution", opset=19)
def deformable_convolution(g, a, data, offset, weight, bias=None):
    # ONNX's data fades into zeros around it; here it ends at once, and goes on unchanged behind the last centres. So
    # places are kept within the centres, and those outside count 0.
    groups, dtype = a.num_deformable_group, g.dtype(data)
    rows, columns = g.extent(offset, 2), g.extent(offset, 3)
    kernel, stride, dilate, pad = a.kernel, a.stride or (1, 1), a.dilate or (1, 1), a.pad or (0, 0)
    spots = kernel[0] * kernel[1]
    taps = np.indices(kernel).reshape(2, spots)
    places = np.indices((rows, columns))
    # each (spots, rows, columns)
    start = [(places[i] * stride[i] - pad[i])[None] + (taps[i] * dilate[i])[:, None, None] for i in (0, 1)]
    start = np.broadcast_to(np.stack(start, 1), (1, groups, spots, 2, rows, columns)).astype(dtype)
    shifts = g.add("Reshape", offset, ints(-1, groups, spots, 2, rows, columns))
    at = g.add("Add", shifts, start)
    extents = np.array([g.extent(data, 2), g.extent(data, 3)], dtype).reshape(1, 1, 1, 2, 1, 1)
    inside = g.add("And", g.add("GreaterOrEqual", at, g.like(0, dtype)), g.add("Less", at, extents))
    mask = g.reduce("ReduceMin", g.cast(inside, dtype, "bool"), [3])
    mask = g.add("Reshape", mask, ints(-1, groups * spots, rows, columns))
    moved = g.add("Sub", g.add("Min", at, extents - 1), start)
    offset = g.add("Reshape", moved, ints(-1, groups * spots * 2, rows, columns))
    return _deformed(g, a, data, offset, mask, weight, bias)


def _deformed(g, a, data, offset, mask, weight, bias=None):
    pad = list(a.pad or (0, 0))
    return g.add(
        "DeformConv", data, weight, offset, None if a.no_bias else bias, mask, kernel_shape=list(a.kernel),
        strides=list(a.stride or (1, 1)), dilations=list(a.dilate or (1, 1)), pads=pad + pad, group=a.num_group,
        offset_group=a.num_deformable_group,
    )  # fmt: skip


enter({
    "ROIPooling":
        lambda g, a, x, rois: g.add("MaxRoiPool", x, rois, pooled_shape=a.pooled_size, spatial_scale=a.spatial_scale),
    "BilinearSampler": lambda g, a, x, grid: g.add(
        "GridSample", x, g.add("Transpose", grid, perm=[0, 2, 3, 1]), mode="bilinear", padding_mode="zeros",
        align_corners=1,
    ),
})  # fmt: skip
converts("_contrib_ModulatedDeformableConvolution", opset=19)(_deformed)
