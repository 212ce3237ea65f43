"""Layers: convolution, pooling, normalisation, dense layers, activations, softmax, attention."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from core.contrib.onnx.mx2onnx.shapes import steps, within
from core.contrib.onnx.mx2onnx.table import converts, enter, ints


def _window(g, a) -> dict:
    """Kernel, strides and pads as ONNX writes them."""
    if getattr(a, "layout", None) not in (None, "NCW", "NCHW", "NCDHW"):
        raise g.refuse(f"layout {a.layout} has channels on another axis than ONNX")
    n = len(a.kernel)
    return {"kernel_shape": [*a.kernel], "strides": [*(a.stride or (1,) * n)], "pads": [*(a.pad or (0,) * n)] * 2}


@converts("Convolution", "Deconvolution")
def convolution(g, a, data, weight, bias=None):
    window = _window(g, a) | {"group": a.num_group, "dilations": list(a.dilate or (1,) * len(a.kernel))}
    if g.operator == "Deconvolution":
        window["output_padding"] = list(a.adj) if a.adj else None
        if any(a.target_shape or ()):
            window |= {"output_shape": list(a.target_shape), "pads": None}
    kind = "Conv" if g.operator == "Convolution" else "ConvTranspose"
    return g.add(kind, data, weight, None if a.no_bias else bias, **window)


@converts("Pooling", "Pooling_v1")
def pooling(g, a, data):
    kinds = {"max": "MaxPool", "avg": "AveragePool", "sum": "AveragePool", "lp": "LpPool"}
    if a.pool_type == "lp" and (a.p_value or 2) % 2:  # of the numbers themselves, where ONNX takes their sizes
        dtype, power = g.dtype(data), a.p_value
        if power == 1:
            return pooling(g, SimpleNamespace(**{**vars(a), "pool_type": "sum"}), data)
        cubes = _as_before(g, g.add("Pow", data, g.like(power, dtype)), data)
        sums = pooling(g, SimpleNamespace(**{**vars(a), "pool_type": "sum"}), cubes)
        return g.add("Pow", sums, g.like(1 / power, dtype))
    kind = kinds[a.pool_type]
    extra = _window(g, a)
    if a.global_pool:
        p = {"p": a.p_value or 2} if a.pool_type == "lp" else {}
        pooled = g.add(f"Global{kind}", data, **p)
        if a.pool_type != "sum":
            return pooled
        count = math.prod(g.extent(data, axis) for axis in range(2, g.rank(data)))
        return g.add("Mul", pooled, g.like(count, g.dtype(data)))
    strides, pad = extra["strides"], extra["pads"][: len(a.kernel)]
    if a.pooling_convention == "full":
        extra["ceil_mode"] = 1
        extents = g.shape(data)[2:]
        if kind == "MaxPool" and None not in extents:
            # Only as much as the last window needs: where nothing is left over, ceil and floor agree.
            ends = [(-(-(e + 2 * p - k) // s)) * s + k - e - p for e, k, s, p in zip(extents, a.kernel, strides, pad)]
            extra |= {"pads": [*pad, *(max(0, end) for end in ends)], "ceil_mode": 0}
    elif a.pooling_convention == "same":
        extra |= {"auto_pad": "SAME_UPPER", "pads": None}
    if kind == "AveragePool":
        extra["count_include_pad"] = int(a.pool_type == "sum" or a.count_include_pad in (None, True))
    if kind == "LpPool":
        extra["p"] = a.p_value or 2
    pooled = g.add(kind, data, **extra)
    return pooled if a.pool_type != "sum" else g.add("Mul", pooled, g.like(math.prod(a.kernel), g.dtype(data)))


@converts("_contrib_AdaptiveAvgPooling2D")
def adaptive_average_pooling(g, a, data):
    size = tuple(a.output_size) or (1, 1)
    size = size * 2 if len(size) == 1 else size
    if size == (1, 1):
        return g.add("GlobalAveragePool", data)
    extents = [g.extent(data, axis) for axis in (2, 3)]
    if any(e % s for e, s in zip(extents, size)):
        # Windows of different sizes: a product with a matrix of weights for each axis.
        rows, columns = (_spread(e, s, g.dtype(data)) for e, s in zip(extents, size))
        return g.add("MatMul", g.add("MatMul", rows, data), np.ascontiguousarray(columns.T))
    steps = [e // s for e, s in zip(extents, size)]
    return g.add("AveragePool", data, kernel_shape=steps, strides=steps)


@converts("BatchNorm")
def batch_norm(g, a, data, gamma, beta, mean, var):
    rank = g.rank(data)
    if a.output_mean_var:
        raise g.refuse("the mean and variance of a batch are no result of inference")
    if a.fix_gamma:
        gamma = g.constant(np.ones_like(g.value(gamma, "gamma")), name=g.fresh(gamma))
    axis = a.axis % rank
    order = list(range(rank)) if axis == 1 or rank < 3 else [0, axis, *(i for i in range(1, rank) if i != axis)]
    return _turned(g, data, order, "BatchNormalization", gamma, beta, mean, var, epsilon=a.eps)


@converts("LayerNorm")
def layer_norm(g, a, data, gamma, beta):
    rank = g.rank(data)
    axis = a.axis % rank
    if a.output_mean_var:
        raise g.refuse("its mean and deviation are not among the results of LayerNormalization")
    order = [*(i for i in range(rank) if i != axis), axis]
    return _turned(g, data, order, "LayerNormalization", gamma, beta, axis=-1, epsilon=a.eps)


def _turned(g, data, order: list[int], kind: str, *others, **attrs):
    """An operator of the data with its axes in another order, and its result in the first one."""
    if order == sorted(order):
        return g.add(kind, data, *others, **attrs)
    made = g.add(kind, g.add("Transpose", data, perm=order), *others, **attrs)
    return g.add("Transpose", made, perm=np.argsort(order).tolist())


@converts("GroupNorm")
def group_norm(g, a, data, gamma, beta):
    groups, dtype = a.num_groups, g.dtype(data)
    flat = g.add("Reshape", data, ints(0, groups, -1))
    ones, zeros = np.ones(groups, dtype), np.zeros(groups, dtype)
    made = g.add("InstanceNormalization", flat, ones, zeros, epsilon=a.eps)
    # MXNet has one gamma and one beta for each group.
    made = g.add("Add", g.add("Mul", made, _column(g, gamma)), _column(g, beta))
    return g.as_result(made)


enter({
    "Embedding": lambda g, a, data, weight: g.add("Gather", weight, g.cast(data, "int64")),
    "Dropout _dropout LinearRegressionOutput MAERegressionOutput SVMOutput":
        lambda g, a, x, *rest: g.add("Identity", x),
    "LogisticRegressionOutput": lambda g, a, x, *label: g.add("Sigmoid", x),
    "_softmax": lambda g, a, x: g.add("Softmax", x, axis=a.axis),
    "_log_softmax": lambda g, a, x: g.add("LogSoftmax", x, axis=a.axis),
    "_instance_softmax": lambda g, a, x: g.add("Softmax", x, axis=-1),
    "InstanceNorm": lambda g, a, *inputs: g.add("InstanceNormalization", *inputs, epsilon=a.eps),
    "LRN": lambda g, a, x: g.add("LRN", x, alpha=a.alpha, beta=a.beta, bias=a.knorm, size=a.nsize),
})  # fmt: skip


@converts("FullyConnected")
def fully_connected(g, a, data, weight, bias=None):
    rank = g.rank(data)
    bias = None if a.no_bias else bias
    if a.flatten and rank != 2:
        data = g.add("Flatten", data, axis=1)
    if a.flatten or rank == 2:
        return g.add("Gemm", data, weight, bias, transB=1)
    made = g.add("MatMul", data, _transposed(g, weight))
    return made if bias is None else g.add("Add", made, bias)


@converts("LeakyReLU")
def leaky_relu(g, a, data, gamma=None):
    if a.act_type == "selu":
        return g.add("Selu", data)
    if a.act_type == "rrelu":
        return g.add("LeakyRelu", data, alpha=(a.lower_bound + a.upper_bound) / 2)
    width = g.lengths_of(gamma)
    if len(width) == 1:
        gamma = g.reshaped(gamma, width, (*width, *(1,) * (g.rank(data) - 2)))
    return g.add("PRelu", data, gamma)


# ---------------------------------------------------------------------------------------------- softmax


@converts("_masked_softmax")
def masked_softmax(g, a, data, length):
    """Softmax over the first `length` positions of an axis, zeros behind them; `length` lacks that axis."""
    rank, dtype = g.rank(data), g.dtype(data)
    axis = a.axis % rank
    inside = within(g, data, axis, rank - axis - 1, length, axis)
    scores = g.add("Where", inside, data, g.like(np.finfo(dtype).min / 2, dtype))
    return g.add("Where", inside, g.add("Softmax", scores, axis=axis), g.like(0, dtype))


@converts("SoftmaxOutput")
def softmax_output(g, a, data, label=None):
    if a.multi_output or g.rank(data) == 2:
        return g.add("Softmax", data, axis=1)
    if a.preserve_shape:
        return g.add("Softmax", data, axis=-1)
    made = g.add("Softmax", g.add("Flatten", data, axis=1), axis=1)
    return g.add("Reshape", made, g.add("Shape", data))


# ---------------------------------------------------------------------------------------------- resizing


@converts("UpSampling")
def up_sampling(g, a, *data):
    if a.sample_type != "nearest" or len(data) != 1:
        raise g.refuse("only nearest up-sampling of one input is converted; bilinear is Deconvolution there")
    return _resize(g, data[0], [a.scale, a.scale], None, "nearest", "asymmetric")


@converts("_contrib_BilinearResize2D")
def bilinear_resize(g, a, data, like=None):
    sizes = g.extents(g.output_lengths)
    return _resize(g, data, None, sizes, "linear", "align_corners" if a.align_corners else "half_pixel")


def _resize(g, data, scales, sizes, mode, coordinates):
    scales = None if scales is None else np.array([1, 1, *scales], np.float32)
    rounding = {"nearest_mode": "floor"} if mode == "nearest" else {}
    return g.add("Resize", data, None, scales, sizes, mode=mode, coordinate_transformation_mode=coordinates, **rounding)


def _as_before(g, name, like):
    """Tells the builder that a tensor has shape and dtype of another one."""
    g.know(name, *g.described(like))
    return name


def _transposed(g, weight):
    if weight in g.values:
        return g.constant(np.ascontiguousarray(g.values[weight].T), name=g.fresh(f"{weight}_T"))
    return g.add("Transpose", weight, perm=[1, 0])


def _column(g, vector):
    return g.reshaped(vector, (), (*g.lengths_of(vector), 1))


def _spread(extent: int, parts: int, dtype: str) -> np.ndarray:
    """(parts, extent): the weights of the means over parts of an axis that overlap where they do not divide it."""
    weights = np.zeros((parts, extent), dtype)
    for i in range(parts):
        begin, end = i * extent // parts, -(-(i + 1) * extent // parts)
        weights[i, begin:end] = 1 / (end - begin)
    return weights


# ---------------------------------------------------------------------------------------------- attention


@converts("_attention", "_dropout_attention")
def attention(g, a, query, key, value, length=None):
    dtype, size = g.dtype(query), g.extent(query, -1)
    scale = size**-0.5 if a.scale is None else a.scale
    scores = g.add("MatMul", g.add("Mul", query, g.like(scale, dtype)), g.add("Transpose", key, perm=[0, 1, 3, 2]))
    low, zero = g.like(np.finfo(dtype).min / 2, dtype), g.like(0, dtype)
    inside = None
    if length is not None:
        inside = within(g, key, 2, 0, length, 1, 2, 3)
    if a.causal:
        keys, queries = (steps(g, g.lengths_of(x)[2]) for x in (key, query))
        before = g.add("LessOrEqual", keys, g.add("Unsqueeze", queries, ints(1)))
        inside = before if inside is None else g.add("And", inside, before)
    if inside is not None:
        scores = g.add("Where", inside, scores, low)
    weights = g.add("Softmax", scores, axis=-1)
    if inside is not None:
        weights = g.add("Where", inside, weights, zero)
    return [g.add("MatMul", weights, value)]
