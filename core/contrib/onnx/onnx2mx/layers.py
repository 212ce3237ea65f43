"""Layers of ONNX as symbols."""

from __future__ import annotations

import math

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import Extents, converts

_LOWEST = float(np.finfo(np.float32).min)


def _window(net, attrs, x, fill: float, kernel):
    """(input, with uneven pads put around it; attributes kernel, stride, pad)."""
    n = len(kernel)
    strides = tuple(attrs.get("strides", (1,) * n))
    pads = tuple(attrs.get("pads", (0,) * 2 * n))
    dilations = tuple(attrs.get("dilations", (1,) * n))
    auto = attrs.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        if any(s != 1 for s in strides):
            raise net.refuse(f"auto_pad {auto} with strides {strides}: give pads instead")
        whole = [(k - 1) * d for k, d in zip(kernel, dilations)]
        small, large = [w // 2 for w in whole], [w - w // 2 for w in whole]
        pads = (*small, *large) if auto == "SAME_UPPER" else (*large, *small)
    if len(strides) != n or len(pads) != 2 * n or len(dilations) != n:
        raise net.refuse(f"strides {strides}, pads {pads} and dilations {dilations} do not fit the kernel {kernel}")
    begins, ends = pads[:n], pads[n:]
    if begins != ends:
        width = (0, 0, 0, 0, *(p for pair in zip(begins, ends) for p in pair))
        x, begins = sym.Pad(x, mode="constant", pad_width=width, constant_value=fill), (0,) * n
    return x, {"kernel": tuple(kernel), "stride": strides, "pad": tuple(begins)}


@converts("Conv")
def convolution(net, attrs, x, weight, bias=None):
    shape = net.number(weight, "the weight").shape
    x, window = _window(net, attrs, net.symbol(x), 0.0, attrs.get("kernel_shape", shape[2:]))
    return sym.Convolution(
        x, net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None, num_filter=shape[0],
        num_group=attrs.get("group", 1), dilate=tuple(attrs.get("dilations", (1,) * (len(shape) - 2))), **window,
    )  # fmt: skip


@converts("ConvTranspose")
def deconvolution(net, attrs, x, weight, bias=None):
    shape = net.number(weight, "the weight").shape
    n, group = len(shape) - 2, attrs.get("group", 1)
    pads = tuple(attrs.get("pads", (0,) * 2 * n))
    if pads[:n] != pads[n:] or attrs.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in attrs:
        raise net.refuse("uneven pads, auto_pad and output_shape are not converted")
    return sym.Deconvolution(
        net.symbol(x), net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None,
        kernel=tuple(attrs.get("kernel_shape", shape[2:])), stride=tuple(attrs.get("strides", (1,) * n)), pad=pads[:n],
        dilate=tuple(attrs.get("dilations", (1,) * n)), adj=tuple(attrs.get("output_padding", (0,) * n)),
        num_filter=shape[1] * group, num_group=group,
    )  # fmt: skip


def _pooling(kind: str):
    def convert(net, attrs, x):
        counted = bool(attrs.get("count_include_pad", 0))
        if any(d != 1 for d in attrs.get("dilations", ())):
            raise net.refuse("dilated pooling is not converted")
        pads = attrs.get("pads", ())
        if kind == "avg" and not counted and pads[: len(pads) // 2] != pads[len(pads) // 2 :]:
            raise net.refuse("uneven pads that do not count in the average")
        fill = _LOWEST if kind == "max" else 0.0
        x, window = _window(net, attrs, net.symbol(x), fill, attrs["kernel_shape"])
        options = {"count_include_pad": counted} if kind == "avg" else {}
        if kind == "lp":
            options["p_value"] = attrs.get("p", 2)
        convention = "full" if attrs.get("ceil_mode") else "valid"
        return sym.Pooling(x, pool_type=kind, pooling_convention=convention, **window, **options)

    return convert


def _global_pooling(kind: str):
    def convert(net, attrs, x):
        options = {"p_value": attrs.get("p", 2)} if kind == "lp" else {}
        return sym.Pooling(net.symbol(x), kernel=(1, 1), global_pool=True, pool_type=kind, **options)

    return convert


for _name, _kind in {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}.items():
    converts(_name)(_pooling(_kind))
    converts(f"Global{_name}")(_global_pooling(_kind))


@converts("BatchNormalization")
def batch_norm(net, attrs, x, *parameters):
    if attrs.get("training_mode"):
        raise net.refuse("training_mode is not converted")
    made = sym.BatchNorm(
        net.symbol(x), *map(net.symbol, parameters), eps=attrs.get("epsilon", 1e-5), momentum=attrs.get("momentum", 0.9),
        fix_gamma=False,
    )  # fmt: skip
    return made[0] if len(made) > 1 else made


@converts("LayerNormalization")
def layer_norm(net, attrs, x, scale, bias=None):
    if attrs.get("axis", -1) != -1:
        raise net.refuse("only the last axis is converted")
    width = net.number(scale, "the scale").shape
    bias = net.parameter(np.zeros(width, scale.dtype)) if bias is None else net.symbol(bias)
    return sym.LayerNorm(net.symbol(x), net.symbol(scale), bias, axis=-1, eps=attrs.get("epsilon", 1e-5))


@converts("InstanceNormalization")
def instance_norm(net, attrs, x, scale, bias):
    return sym.InstanceNorm(net.symbol(x), net.symbol(scale), net.symbol(bias), eps=attrs.get("epsilon", 1e-5))


@converts("LRN")
def lrn(net, attrs, x):
    return sym.LRN(
        net.symbol(x),
        alpha=attrs.get("alpha", 1e-4),
        beta=attrs.get("beta", 0.75),
        knorm=attrs.get("bias", 1.0),
        nsize=attrs["size"],
    )


@converts("Gemm")
def gemm(net, attrs, a, b, c=None):
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
    plain = alpha == 1 and beta == 1 and not attrs.get("transA")
    if (
        plain
        and isinstance(b, np.ndarray)
        and b.ndim == 2
        and (c is None or (isinstance(c, np.ndarray) and c.ndim == 1))
    ):
        if not attrs.get("transB"):
            b = np.ascontiguousarray(b.T)
            weight = net.parameter(b, f"{net.name}_weight_T")
        else:
            weight = net.symbol(b)
        rest = [] if c is None else [net.symbol(c)]
        return sym.FullyConnected(net.symbol(a), weight, *rest, no_bias=c is None, num_hidden=b.shape[0], flatten=False)
    made = sym.dot(
        net.symbol(a), net.symbol(b), transpose_a=bool(attrs.get("transA", 0)), transpose_b=bool(attrs.get("transB", 0))
    )
    made = made if alpha == 1 else made * alpha
    return made if c is None else sym.broadcast_add(made, net.symbol(c) * beta)


@converts("MatMul")
def matmul(net, attrs, a, b):
    return sym.op._npi_matmul(net.symbol(a), net.symbol(b))


def _softmax(kind: str):
    def convert(net, attrs, x):
        if net.opset < 13:  # then everything from the axis on was one row
            axis = attrs.get("axis", 1)
            if axis not in (-1, 1):
                raise net.refuse(
                    f"softmax over axis {axis} of opset {net.opset} flattens; only axes 1 and -1 are converted"
                )
            return getattr(sym, kind)(net.symbol(x), axis=axis)
        return getattr(sym, kind)(net.symbol(x), axis=attrs.get("axis", -1))

    return convert


converts("Softmax")(_softmax("softmax"))
converts("LogSoftmax")(_softmax("log_softmax"))


@converts("Resize", "Upsample")
def resize(net, attrs, x, *rest):
    mode, how = attrs.get("mode", "nearest"), attrs.get("coordinate_transformation_mode", "half_pixel")
    corners = how == "align_corners"
    sizes = rest[2] if len(rest) > 2 else None
    if isinstance(sizes, Extents):  # batch and channels as they are, then numbers
        sizes = sizes.parts[-1] if len(sizes.parts) == 2 and isinstance(sizes.parts[-1], np.ndarray) else sizes
    if mode == "linear" and isinstance(sizes, np.ndarray) and how in ("align_corners", "half_pixel"):
        height, width = (int(n) for n in sizes[-2:])
        return sym.contrib.BilinearResize2D(net.symbol(x), height=height, width=width, align_corners=corners)
    if sizes is None:
        scales = net.number(rest[1] if len(rest) > 1 else rest[0], "scales")
        if mode == "nearest" and scales.size == 4 and scales[2] == scales[3] == math.floor(scales[2]):
            return sym.UpSampling(net.symbol(x), scale=int(scales[2]), sample_type="nearest")
        if mode == "linear" and scales.size == 4 and how in ("align_corners", "half_pixel"):
            return sym.contrib.BilinearResize2D(
                net.symbol(x), scale_height=float(scales[2]), scale_width=float(scales[3]), align_corners=corners
            )
    raise net.refuse(f"resizing by mode {mode!r} with {how!r} is not converted")


@converts("DeformConv")
def deformable_convolution(net, attrs, x, weight, offset, bias=None, mask=None):
    shape, groups = net.number(weight, "the weight").shape, attrs.get("offset_group", 1)
    kernel = attrs.get("kernel_shape", shape[2:])
    x, window = _window(net, attrs, net.symbol(x), 0.0, kernel)
    offset, places = net.symbol(offset), groups * math.prod(kernel)
    mask = sym.ones_like(sym.slice_axis(offset, axis=1, begin=0, end=places)) if mask is None else net.symbol(mask)
    return sym.contrib.ModulatedDeformableConvolution(
        x, offset, mask, net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None,
        num_filter=shape[0], num_group=attrs.get("group", 1), num_deformable_group=groups,
        dilate=tuple(attrs.get("dilations", (1, 1))), **window,
    )  # fmt: skip


@converts("RoiAlign")
def roi_align(net, attrs, x, boxes, images):
    rows = [sym.expand_dims(sym.Cast(net.symbol(images), dtype="float32"), axis=1), net.symbol(boxes)]
    size = attrs.get("output_height", 1), attrs.get("output_width", 1)
    return sym.contrib.ROIAlign(
        net.symbol(x), sym.Concat(*rows, dim=1), pooled_size=size, spatial_scale=attrs.get("spatial_scale", 1.0),
        sample_ratio=attrs.get("sampling_ratio", 0) or -1,
        aligned=attrs.get("coordinate_transformation_mode", "half_pixel") == "half_pixel",
    )  # fmt: skip


@converts("MaxRoiPool")
def roi_pool(net, attrs, x, rois):
    scale = attrs.get("spatial_scale", 1.0)
    return sym.ROIPooling(net.symbol(x), net.symbol(rois), pooled_size=attrs["pooled_shape"], spatial_scale=scale)
