"""Convolutions, pooling, normalisation and products of ONNX as symbols."""

from __future__ import annotations

import itertools
import math

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.symbol import Symbol

_LOWEST = float(np.finfo(np.float32).min)


def _pads(net, attrs, x: Symbol, kernel: tuple) -> tuple[tuple, tuple]:
    """What is put before and behind each axis of a picture; `auto_pad` is worked out from its extents."""
    n = len(kernel)
    strides, dilations = (tuple(attrs.get(k, (1,) * n)) for k in ("strides", "dilations"))
    pads = tuple(attrs.get("pads", (0,) * 2 * n))
    if len(strides) != n or len(pads) != 2 * n or len(dilations) != n:
        raise net.refuse(f"strides {strides}, pads {pads} and dilations {dilations} do not fit the kernel {kernel}")
    auto = attrs.get("auto_pad", "NOTSET")
    if not auto.startswith("SAME"):
        return pads[:n], pads[n:]
    space = (net.shape(x) or (-1,) * (n + 2))[2:]
    if any(e < 0 and s != 1 for e, s in zip(space, strides)):
        raise net.refuse(f"auto_pad {auto} with strides {strides} over extents that vary: give pads instead")
    whole = [
        max(0, (-(-e // s) - 1) * s + (k - 1) * d + 1 - e) if s != 1 else (k - 1) * d
        for e, s, k, d in zip(space, strides, kernel, dilations)
    ]
    small, large = tuple(w // 2 for w in whole), tuple(w - w // 2 for w in whole)
    return (small, large) if auto == "SAME_UPPER" else (large, small)


def window(net, attrs, x: Symbol, fill: float, kernel) -> tuple[Symbol, dict]:
    """(input, with uneven pads put around it; attributes kernel, stride, pad)."""
    kernel = tuple(kernel)
    begins, ends = _pads(net, attrs, x, kernel)
    if begins != ends:
        x, begins = padded(x, begins, ends, fill), (0,) * len(kernel)
    return x, {"kernel": kernel, "stride": tuple(attrs.get("strides", (1,) * len(kernel))), "pad": tuple(begins)}


def padded(x: Symbol, begins: tuple, ends: tuple, fill: float) -> Symbol:
    """`x` (batch, channels, ...) with pads around what follows the channels."""
    width = (0, 0, 0, 0, *(p for pair in zip(begins, ends) for p in pair))
    pad = sym.Pad if len(begins) in (2, 3) else sym.op._pad
    return pad(x, mode="constant", pad_width=width, constant_value=fill)


def weight_shape(net, weight) -> tuple[int, ...]:
    """The shape of a weight, which may be computed, but does not vary."""
    shape = net.shape(weight)
    if shape is None or -1 in shape:
        raise net.refuse("the shape of the weight varies")
    return shape


@converts("Conv")
def convolution(net, attrs, x, weight, bias=None):
    shape = weight_shape(net, weight)
    x, options = window(net, attrs, net.symbol(x), 0.0, attrs.get("kernel_shape", shape[2:]))
    return sym.Convolution(
        x, net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None, num_filter=shape[0],
        num_group=attrs.get("group", 1), dilate=tuple(attrs.get("dilations", (1,) * (len(shape) - 2))), **options,
    )  # fmt: skip


@converts("ConvTranspose")
def deconvolution(net, attrs, x, weight, bias=None):
    shape = weight_shape(net, weight)
    n, group = len(shape) - 2, attrs.get("group", 1)
    kernel = tuple(attrs.get("kernel_shape", shape[2:]))
    strides, dilations = (tuple(attrs.get(k, (1,) * n)) for k in ("strides", "dilations"))
    added, pads = tuple(attrs.get("output_padding", (0,) * n)), tuple(attrs.get("pads", (0,) * 2 * n))
    auto, x = attrs.get("auto_pad", "NOTSET"), net.symbol(x)
    if auto.startswith("SAME") or "output_shape" in attrs:
        space = (net.shape(x) or (-1,) * (n + 2))[2:]
        if "output_shape" in attrs and -1 in space:
            raise net.refuse("output_shape for extents that vary")
        wanted = attrs.get("output_shape", [e * s for e, s in zip(space, strides)])[-n:]
        whole = [
            s * (e - 1) + a + (k - 1) * d + 1 - w if e >= 0 else a + (k - 1) * d + 1 - s
            for e, s, a, k, d, w in zip(space, strides, added, kernel, dilations, wanted)
        ]
        small, large = [max(0, w // 2) for w in whole], [max(0, w - w // 2) for w in whole]
        added = tuple(a + max(0, -w) for a, w in zip(added, whole))
        pads = (*large, *small) if auto == "SAME_LOWER" else (*small, *large)
    even = tuple(min(a, b) for a, b in zip(pads[:n], pads[n:]))
    made = sym.Deconvolution(
        x, net.symbol(weight), *([] if bias is None else [net.symbol(bias)]), no_bias=bias is None, kernel=kernel,
        stride=strides, pad=even, dilate=dilations, adj=added, num_filter=shape[1] * group, num_group=group,
    )  # fmt: skip
    for axis, (e, begin, end) in enumerate(zip(even, pads[:n], pads[n:])):
        if begin != end:
            made = sym.slice_axis(made, axis=axis + 2, begin=begin - e, end=e - end if end > e else None)
    return made


# ---------------------------------------------------------------------------------------------- pooling


def _pooling(kind: str):
    def convert(net, attrs, x):
        if net.outputs > 1:
            raise net.refuse("the indices of maxima are not converted")
        x, kernel = net.symbol(x), tuple(attrs["kernel_shape"])
        x = sym.abs(x) if kind == "lp" else x  # by powers of the numbers' sizes
        counted, up = bool(attrs.get("count_include_pad", 0)), attrs.get("ceil_mode")
        begins, ends = _pads(net, attrs, x, kernel)
        dilated = any(d != 1 for d in attrs.get("dilations", ()))
        uneven = begins != ends and (up or (kind == "avg" and not counted))
        beyond = up and ((kind == "avg" and counted) or _starts_outside(net, attrs, x, begins, ends))
        if dilated or len(kernel) > 3 or uneven or beyond:
            return _by_places(net, attrs, x, kind, begins, ends)
        x, options = window(net, attrs, x, _LOWEST if kind == "max" else 0.0, kernel)
        options |= {"count_include_pad": counted} if kind == "avg" else {}
        if kind == "lp":
            options["p_value"] = attrs.get("p", 2)
        return sym.Pooling(x, pool_type=kind, pooling_convention="full" if up else "valid", **options)

    return convert


def _starts_outside(net, attrs, x: Symbol, begins: tuple, ends: tuple) -> bool:
    """Whether a last window that is rounded up to begins behind the data, where ONNX leaves it out."""
    strides = attrs.get("strides", (1,) * len(begins))
    space = (net.shape(x) or (-1,) * (len(begins) + 2))[2:]
    for e, b, a, k, s in zip(space, begins, ends, attrs["kernel_shape"], strides):
        if e >= 0 and -(-(e + b + a - k) // s) * s >= e + b:
            return True
    return False


def _by_places(net, attrs, x: Symbol, kind: str, begins: tuple, ends: tuple) -> Symbol:
    """Pooling as a maximum or a sum of parts of the input, one a place of the window: for what MXNet's has no form."""
    kernel, n = tuple(attrs["kernel_shape"]), len(begins)
    strides, dilations = (tuple(attrs.get(k, (1,) * n)) for k in ("strides", "dilations"))
    space = (net.shape(x) or (-1,))[2:]
    if len(space) != n or -1 in space:
        raise net.refuse("pooling with dilations or uneven pads over extents that vary")
    net.bounded(math.prod(space), "a picture")
    net.bounded(math.prod(kernel) << 10, "as many windows")  # each is a node or two of the graph
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    sizes = []
    for e, b, a, span, s in zip(space, begins, ends, spans, strides):
        count = (e + b + a - span) / s
        size = (math.ceil(count) if attrs.get("ceil_mode") else math.floor(count)) + 1
        sizes.append(size - 1 if attrs.get("ceil_mode") and (size - 1) * s >= e + b else size)
    beyond = [
        max(a, (size - 1) * s + span - e - b)
        for size, s, span, e, b, a in zip(sizes, strides, spans, space, begins, ends)
    ]
    x = padded(x, begins, tuple(beyond), _LOWEST if kind == "max" else 0.0)
    inside = np.pad(np.ones(space, np.float32), list(zip(begins, beyond)))
    if attrs.get("count_include_pad", 0):
        inside = np.pad(np.ones([e + b + a for e, b, a in zip(space, begins, ends)], np.float32),
                        [(0, p - a) for p, a in zip(beyond, ends)])  # fmt: skip
    made, counts, p = None, 0.0, attrs.get("p", 2)
    for place in itertools.product(*map(range, kernel)):
        first = [i * d for i, d in zip(place, dilations)]
        last = [f + (size - 1) * s + 1 for f, size, s in zip(first, sizes, strides)]
        part = sym.slice(x, begin=(None, None, *first), end=(None, None, *last), step=(1, 1, *strides))
        part = part**p if kind == "lp" else part
        made = part if made is None else sym.broadcast_maximum(made, part) if kind == "max" else made + part
        counts = counts + inside[tuple(slice(f, e, s) for f, e, s in zip(first, last, strides))]
    if kind == "avg":
        return sym.broadcast_mul(made, net.parameter((1 / np.maximum(counts, 1))[None, None].astype(np.float32)))
    return made ** (1 / p) if kind == "lp" else made


def _global_pooling(kind: str):
    def convert(net, attrs, x):
        x, options = net.symbol(x), {}
        if kind == "lp":
            x, options = sym.abs(x), {"p_value": attrs.get("p", 2)}
        return sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type=kind, **options)

    return convert


for _name, _kind in {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}.items():
    converts(_name)(_pooling(_kind))
    converts(f"Global{_name}")(_global_pooling(_kind))


# ---------------------------------------------------------------------------------------------- normalisation


@converts("BatchNormalization")
def batch_norm(net, attrs, x, *parameters):
    if attrs.get("training_mode"):
        raise net.refuse("training_mode is not converted")
    made = sym.BatchNorm(
        net.symbol(x), *map(net.symbol, parameters), eps=attrs.get("epsilon", 1e-5),
        momentum=attrs.get("momentum", 0.9), fix_gamma=False,
    )  # fmt: skip
    return made[0] if len(made) > 1 else made


@converts("LayerNormalization")
def layer_norm(net, attrs, x, scale, bias=None):
    x, eps = net.symbol(x), attrs.get("epsilon", 1e-5)
    axis = attrs.get("axis", -1)
    single = axis == -1 or axis % net.rank(x) == net.rank(x) - 1
    if single and net.outputs < 2 and isinstance(scale, np.ndarray) and scale.ndim == 1:
        bias = net.parameter(np.zeros(scale.shape, scale.dtype)) if bias is None else net.symbol(bias)
        return sym.LayerNorm(x, net.symbol(scale), bias, axis=-1, eps=eps)
    axes = tuple(range(axis % net.rank(x), net.rank(x)))
    mean = sym.mean(x, axis=axes, keepdims=True)
    centred = sym.broadcast_sub(x, mean)
    inverse = sym.rsqrt(sym.mean(sym.square(centred), axis=axes, keepdims=True) + eps)
    made = sym.broadcast_mul(sym.broadcast_mul(centred, inverse), net.symbol(scale))
    return [made if bias is None else sym.broadcast_add(made, net.symbol(bias)), mean, inverse][: max(1, net.outputs)]


composes("InstanceNormalization")(lambda x, scale, bias, epsilon=1e-5: sym.InstanceNorm(x, scale, bias, eps=epsilon))
composes("LRN")(
    lambda x, size, alpha=1e-4, beta=0.75, bias=1.0: sym.LRN(x, alpha=alpha, beta=beta, knorm=bias, nsize=size)
)


# ---------------------------------------------------------------------------------------------- products


@converts("MatMul")
def matmul(net, attrs, a, b):
    a, b, narrow = net.symbol(a), net.symbol(b), net.dtype(a) == "float16"
    made = sym.op._npi_matmul(*(sym.Cast(x, dtype="float32") if narrow else x for x in (a, b)))
    return sym.Cast(made, dtype="float16") if narrow else made


@converts("Gemm")
def gemm(net, attrs, a, b, c=None):
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
    plain = alpha == 1 and beta == 1 and not attrs.get("transA") and isinstance(b, np.ndarray) and b.ndim == 2
    if plain and (c is None or (isinstance(c, np.ndarray) and c.ndim == 1)):
        if not attrs.get("transB"):
            b = np.ascontiguousarray(b.T)
            weight = net.parameter(b, f"{net.name}_weight_T")
        else:
            weight = net.symbol(b)
        rest = [] if c is None else [net.symbol(c)]
        return sym.FullyConnected(net.symbol(a), weight, *rest, no_bias=c is None, num_hidden=b.shape[0], flatten=False)
    turned = {f"transpose_{side}": bool(attrs.get(f"trans{side.upper()}", 0)) for side in "ab"}
    made = sym.dot(net.symbol(a), net.symbol(b), **turned)
    made = made if alpha == 1 else made * alpha
    return made if c is None else sym.broadcast_add(made, net.symbol(c) * beta)


def _softmax(kind: str):
    def convert(net, attrs, x):
        x, axis = net.symbol(x), attrs.get("axis", -1 if net.opset >= 13 else 1)
        if net.opset >= 13 or axis == -1 or axis % net.rank(x) == net.rank(x) - 1:
            return getattr(sym, kind)(x, axis=axis)
        rows = sym.Reshape(x, shape=(*[0] * (axis % net.rank(x)), -1))  # everything from there on was one row
        return sym.reshape_like(getattr(sym, kind)(rows, axis=-1), x)

    return convert


converts("Softmax")(_softmax("softmax"))
converts("LogSoftmax")(_softmax("log_softmax"))
