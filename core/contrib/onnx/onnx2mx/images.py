"""Pictures and boxes of ONNX as symbols: resizing, sampling, regions, suppression."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.layers import weight_shape, window
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.extents import same
from core.symbol import Symbol

# ---------------------------------------------------------------------------------------------- resizing


@converts("Resize", "Upsample")
def resize(net, attrs, x, *rest):
    """Whole factors and bilinear interpolation of pictures by MXNet's operators, the rest by products along axes."""
    x = net.symbol(x)
    if net.opset <= 10:
        attrs = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", **attrs}
    how = attrs.get("coordinate_transformation_mode", "half_pixel")
    roi, scales, sizes = (*rest, None, None)[:3] if len(rest) > 1 else (None, *rest, None)
    if scales is None and "scales" in attrs:
        scales = np.array(attrs["scales"], np.float32)
    if scales is not None and isinstance(scales, np.ndarray) and scales.size == 0:
        scales = None
    fast = _usual(net, attrs, x, how, scales, sizes)
    if fast is not None:
        return fast
    shape = net.shape(x)
    if shape is None:
        raise net.refuse("the number of axes of the input depends on values")
    axes = [a % len(shape) for a in attrs.get("axes", range(len(shape)))]
    if sizes is not None:
        wanted = dict(zip(axes, net.whole(sizes, "sizes")))
        factors = {a: n / shape[a] for a, n in wanted.items() if shape[a] > 0 and type(n) is int}
        policy = attrs.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            ratio = (min if policy == "not_larger" else max)(factors.values())
            factors = dict.fromkeys(factors, ratio)
            wanted = {a: math.floor(ratio * shape[a] + 0.5) for a in factors}
    else:
        given = net.number(scales, "scales").reshape(-1)
        factors = {a: float(s) for a, s in zip(axes, given)}
        wanted = {a: math.floor(shape[a] * s) for a, s in factors.items() if shape[a] > 0}
    region = net.number(roi, "roi").reshape(2, -1) if how == "tf_crop_and_resize" else None
    for i, axis in enumerate(axes):
        if axis not in wanted or axis not in factors:  # an extent that varies
            if factors.get(axis) == 1 or (axis in wanted and same(wanted[axis], net.lengths(x)[axis])):
                continue
            raise net.refuse("extents that vary are resized by whole factors or bilinearly only")
        crop = None if region is None else (float(region[0, i]), float(region[1, i]))
        net.bounded(shape[axis] * wanted[axis], "a matrix that resizes")
        weights = resampling(shape[axis], wanted[axis], factors[axis], attrs, how, crop)
        if np.array_equal(weights, np.eye(shape[axis])):
            continue
        x = _along(net, x, axis, weights, crop is not None and attrs.get("extrapolation_value", 0.0))
    return x


def _usual(net, attrs, x: Symbol, how: str, scales, sizes) -> Symbol | None:
    """Resizing of pictures by an operator of MXNet, None where there is none."""
    mode, shape = attrs.get("mode", "nearest"), net.shape(x)
    if (shape is not None and len(shape) != 4) or "axes" in attrs or attrs.get("antialias"):
        return None
    if sizes is not None:
        wanted = net.whole(sizes, "sizes")
        if len(wanted) != 4 or attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
            return None
        own = net.lengths(x)
        if own is not None:
            times = [wanted[a] // own[a] for a in (2, 3)]
            if all(type(n) is int and same(n * own[a], wanted[a]) for a, n in zip((2, 3), times)):
                scales = np.array([1, 1, *times], np.float32)
    if mode == "nearest" and isinstance(scales, np.ndarray) and scales.size == 4:
        rounding = attrs.get("nearest_mode", "round_prefer_floor")
        plain = (how == "asymmetric" and rounding == "floor") or (
            how in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round_prefer")
        )
        whole = scales[2] == scales[3] == math.floor(scales[2]) and (scales[:2] == 1).all() and scales[2] >= 1
        if plain and whole:
            return sym.UpSampling(x, scale=int(scales[2]), sample_type="nearest")
    if mode not in ("linear", "bilinear") or how not in ("align_corners", "half_pixel", "pytorch_half_pixel"):
        return None
    corners = how == "align_corners"
    if sizes is not None and all(type(n) is int and n > 1 for n in wanted[2:]):
        return sym.contrib.BilinearResize2D(x, height=wanted[2], width=wanted[3], align_corners=corners)
    if sizes is not None and not any(type(n) is int for n in wanted[2:]):
        like = net.like((1, 1, *wanted[2:]), "sizes")
        return sym.contrib.BilinearResize2D(x, like, mode="like", align_corners=corners)
    if sizes is None and scales is not None and isinstance(scales, np.ndarray) and scales.size == 4:
        if (scales[:2] == 1).all() and all(s == math.floor(s) for s in scales[2:]):
            return sym.contrib.BilinearResize2D(
                x, scale_height=float(scales[2]), scale_width=float(scales[3]), align_corners=corners
            )
    return None


def _along(net, x: Symbol, axis: int, weights: np.ndarray, beyond) -> Symbol:
    """Sums of elements along an axis by a matrix; rows of zeros give `beyond`."""
    rank = net.rank(x)
    turned = sym.SwapAxis(x, dim1=axis, dim2=rank - 1) if axis != rank - 1 else x
    made = sym.op._npi_matmul(turned, net.parameter(np.ascontiguousarray(weights.T.astype(np.float32))))
    if beyond:
        made = sym.broadcast_add(made, net.parameter((~weights.any(1) * beyond).astype(np.float32)))
    return sym.SwapAxis(made, dim1=axis, dim2=rank - 1) if axis != rank - 1 else made


def resampling(old: int, new: int, scale: float, attrs: dict, how: str, crop: tuple | None) -> np.ndarray:
    """The matrix (new, old) of one axis: which elements each new one is made of (ONNX, operator Resize)."""
    mode = attrs.get("mode", "nearest")
    at = np.arange(new, dtype=np.float64)
    length = scale * old  # what the scale makes of the extent, before it is cut to whole elements
    if how == "align_corners":
        places = at * (old - 1) / (length - 1) if length > 1 else at * 0
    elif how == "asymmetric":
        places = at / scale
    elif how == "tf_half_pixel_for_nn":
        places = (at + 0.5) / scale
    elif how == "half_pixel_symmetric":
        places = old / 2 * (1 - new / length) + (at + 0.5) / scale - 0.5
    elif how == "tf_crop_and_resize":
        begin, end = crop
        step = (end - begin) * (old - 1) / (length - 1) if length > 1 else 0.0
        places = begin * (old - 1) + at * step if length > 1 else np.full(new, 0.5 * (begin + end) * (old - 1))
    else:
        places = (at + 0.5) / scale - 0.5
        if how == "pytorch_half_pixel" and new <= 1:
            places = at * 0.0
    inside = np.full(new, True) if crop is None else (places >= 0) & (places <= old - 1)
    places = np.where(inside, places, 0.0)
    if mode == "nearest":
        chosen = _ROUNDINGS[attrs.get("nearest_mode", "round_prefer_floor")](places)
        return np.eye(old)[np.clip(chosen, 0, old - 1).astype(int)] * inside[:, None]
    # Columns outside, on both sides, are those of the elements at the ends. Against aliasing the kernel is widened.
    shrink = min(scale, 1.0) if attrs.get("antialias") else 1.0
    beyond = math.ceil(2 / shrink + np.abs(places - np.clip(places, 0, old - 1)).max(initial=0.0)) + 1
    columns = np.arange(-beyond, old + beyond)
    apart = np.abs(columns - places[:, None]) * shrink
    weights = _cubic(apart, attrs.get("cubic_coeff_a", -0.75)) if mode == "cubic" else np.maximum(0.0, 1 - apart)
    if attrs.get("exclude_outside"):
        weights[:, (columns < 0) | (columns >= old)] = 0.0
    total = weights.sum(1, keepdims=True)
    weights /= np.where(total == 0, 1.0, total)
    weights[:, beyond] += weights[:, :beyond].sum(1)
    weights[:, beyond + old - 1] += weights[:, beyond + old :].sum(1)
    return weights[:, beyond : beyond + old] * inside[:, None]


_ROUNDINGS: dict[str, Callable] = {
    "floor": np.floor, "ceil": np.ceil, "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
}  # fmt: skip


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel (Keys, 1981) at distances."""
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, (((t - 5) * t + 8) * t - 4) * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


# ---------------------------------------------------------------------------------------------- sampling


@converts("GridSample")
def grid_sample(net, attrs, x, grid):
    """Of pictures, at positions from -1 to 1, as BilinearSampler takes them: those of the corners' centres."""
    x, grid = net.symbol(x), net.symbol(grid)
    shape = net.shape(x)
    if net.rank(x) != 4 or -1 in shape[2:]:
        raise net.refuse("only pictures of known height and width are converted")
    mode, fill = attrs.get("mode", "linear"), attrs.get("padding_mode", "zeros")
    if mode not in ("bilinear", "linear", "nearest") or fill == "reflection":
        raise net.refuse(f"mode {mode!r} with padding_mode {fill!r} is not converted")
    size = np.array([shape[3], shape[2]], np.float32).reshape(1, 2, 1, 1)
    places = sym.transpose(grid, axes=(0, 3, 1, 2))
    if attrs.get("align_corners", 0):
        places = sym.broadcast_mul(places + 1, net.parameter((size - 1) / 2))
    else:
        places = sym.broadcast_mul(places + 1, net.parameter(size / 2)) - 0.5
    if fill == "border":
        places = sym.broadcast_minimum(sym.relu(places), net.parameter(size - 1))
    if mode == "nearest":
        places = sym.op._npi_around(places, scale=1.0)
    return sym.BilinearSampler(x, sym.broadcast_mul(places, net.parameter(2 / np.maximum(size - 1, 1))) - 1)


@converts("DeformConv")
def deformable_convolution(net, attrs, x, weight, offset, bias=None, mask=None):
    shape, groups = weight_shape(net, weight), attrs.get("offset_group", 1)
    kernel = attrs.get("kernel_shape", shape[2:])
    x, options = window(net, attrs, net.symbol(x), 0.0, kernel)
    offset, places = net.symbol(offset), groups * math.prod(kernel)
    mask = sym.ones_like(sym.slice_axis(offset, axis=1, begin=0, end=places)) if mask is None else net.symbol(mask)
    return sym.contrib.ModulatedDeformableConvolution(
        x, offset, mask, net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None,
        num_filter=shape[0], num_group=attrs.get("group", 1), num_deformable_group=groups,
        dilate=tuple(attrs.get("dilations", (1, 1))), **options,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- regions and boxes


@converts("RoiAlign")
def roi_align(net, attrs, x, boxes, images):
    if attrs.get("mode", "avg") != "avg":
        raise net.refuse("only mode avg is converted")
    rows = [sym.expand_dims(sym.Cast(net.symbol(images), dtype="float32"), axis=1), net.symbol(boxes)]
    size = attrs.get("output_height", 1), attrs.get("output_width", 1)
    half = attrs.get("coordinate_transformation_mode", "half_pixel" if net.opset >= 16 else "output_half_pixel")
    return sym.contrib.ROIAlign(
        net.symbol(x), sym.Concat(*rows, dim=1), pooled_size=size, spatial_scale=attrs.get("spatial_scale", 1.0),
        sample_ratio=attrs.get("sampling_ratio", 0) or -1, aligned=half == "half_pixel",
    )  # fmt: skip


@composes("MaxRoiPool")
def roi_pooling(x, rois, pooled_shape, spatial_scale=1.0):
    return sym.ROIPooling(x, rois, pooled_size=pooled_shape, spatial_scale=spatial_scale)


@converts("NonMaxSuppression")
def suppression(net, attrs, boxes, scores, most=None, overlap=None, least=None):
    """Rows (image, class, box) of the boxes that are kept, best first; as many as there are.

    Each class of each image is a batch of `box_nms`, whose rows carry the number of their box.
    """
    boxes, scores = net.symbol(boxes), net.symbol(scores)
    most = 0 if most is None else int(net.number(most, "max_output_boxes_per_class").item())
    overlap = 0.0 if overlap is None else net.number(overlap, "iou_threshold").item()
    least = -3.0e38 if least is None else net.number(least, "score_threshold").item()
    if not attrs.get("center_point_box", 0):  # two corners across from each other, in any order
        one, other = (sym.slice_axis(boxes, axis=2, begin=b, end=b + 2) for b in (0, 2))
        boxes = sym.Concat(sym.broadcast_minimum(one, other), sym.broadcast_maximum(one, other), dim=2)
    like = sym.zeros_like(scores)  # (images, classes, boxes)

    def numbers(axis: int, spread: tuple) -> Symbol:
        line = sym.Reshape(sym.contrib.arange_like(scores, axis=axis), shape=spread)
        return sym.expand_dims(sym.broadcast_add(like, line), axis=3)

    place = [numbers(0, (-1, 1, 1)), numbers(1, (1, -1, 1)), numbers(2, (1, 1, -1))]
    each = sym.broadcast_add(sym.expand_dims(boxes, axis=1), sym.expand_dims(like, axis=3))
    rows = sym.Reshape(sym.Concat(sym.expand_dims(scores, axis=3), each, *place, dim=3), shape=(-3, 0, 0))
    kept = sym.contrib.box_nms(
        rows, overlap_thresh=overlap, valid_thresh=least, topk=-1, coord_start=1, score_index=0, id_index=-1,
        force_suppress=True, in_format="center" if attrs.get("center_point_box", 0) else "corner", out_format="corner",
    )  # fmt: skip
    kept = sym.slice_axis(kept, axis=1, begin=0, end=most or 1)
    kept = sym.Reshape(sym.slice_axis(kept, axis=2, begin=5, end=8), shape=(-1, 3))
    found = sym.Reshape(sym.slice_axis(kept, axis=1, begin=0, end=1), shape=(-1,)) >= (0 if most else 1e9)
    return sym.Cast(sym.contrib.boolean_mask(kept, found), dtype="int64")
