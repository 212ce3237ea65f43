"""Detectors: anchors, boxes, regions."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.mx2onnx.table import converts
from core.ndarray import array


@converts("_contrib_MultiBoxPrior")
def multi_box_prior(g, a, data):
    extents = [g.extent(data, axis) for axis in (2, 3)]
    made = sym.contrib.MultiBoxPrior(sym.var("data"), **vars(a)).eval(
        data=array(np.zeros((1, 1, *extents), np.float32))
    )
    return g.add("Identity", made[0].asnumpy())


@converts("_contrib_ROIAlign")
def roi_align(g, a, data, rois):
    if a.position_sensitive:
        raise g.refuse("position_sensitive has no form in ONNX")
    images = g.cast(g.add("Gather", rois, np.int64(0), axis=1), "int64", g.dtype(rois))
    boxes = g.add("Slice", rois, np.array([1], np.int64), np.array([5], np.int64), np.array([1], np.int64))
    height, width = a.pooled_size
    return g.add(
        "RoiAlign", data, boxes, images, output_height=height, output_width=width, spatial_scale=a.spatial_scale,
        sampling_ratio=max(a.sample_ratio, 0), coordinate_transformation_mode="half_pixel" if a.aligned else "output_half_pixel",
    )  # fmt: skip


@converts("ROIPooling")
def roi_pooling(g, a, data, rois):
    return g.add("MaxRoiPool", data, rois, pooled_shape=list(a.pooled_size), spatial_scale=a.spatial_scale)


@converts("_contrib_box_decode")
def box_decode(g, a, data, anchors):
    dtype = g.dtype(data)
    x, y, w, h = _columns(g, data)
    if a.format == "corner":
        left, top, right, bottom = _columns(g, anchors)
        aw, ah = g.add("Sub", right, left), g.add("Sub", bottom, top)
        half = g.like(0.5, dtype)
        ax, ay = g.add("Add", left, g.add("Mul", aw, half)), g.add("Add", top, g.add("Mul", ah, half))
    else:
        ax, ay, aw, ah = _columns(g, anchors)
    cx = g.add("Add", g.add("Mul", g.add("Mul", x, g.like(a.std0, dtype)), aw), ax)
    cy = g.add("Add", g.add("Mul", g.add("Mul", y, g.like(a.std1, dtype)), ah), ay)
    sizes = []
    for change, std, extent in ((w, a.std2, aw), (h, a.std3, ah)):
        change = g.add("Mul", change, g.like(std, dtype))
        if a.clip > 0:
            change = g.add("Min", change, g.like(a.clip, dtype))
        sizes.append(g.add("Mul", g.add("Mul", g.add("Exp", change), extent), g.like(0.5, dtype)))
    corners = [
        g.add("Sub", cx, sizes[0]),
        g.add("Sub", cy, sizes[1]),
        g.add("Add", cx, sizes[0]),
        g.add("Add", cy, sizes[1]),
    ]
    return g.add("Concat", *corners, axis=-1)


def _columns(g, boxes):
    return g.add("Split", boxes, outputs=4, axis=-1)
