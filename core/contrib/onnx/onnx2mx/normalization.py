"""Normalisations of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import converts


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


@converts("RMSNormalization")
def rms_norm(net, attrs, x, scale):
    x = net.symbol(x)
    axes = tuple(range(attrs.get("axis", -1) % net.rank(x), net.rank(x)))
    inverse = sym.rsqrt(sym.mean(sym.square(x), axis=axes, keepdims=True) + attrs.get("epsilon", 1e-5))
    return sym.broadcast_mul(sym.broadcast_mul(x, inverse), net.symbol(scale))


@converts("InstanceNormalization")
def instance_norm(net, attrs, x, scale, bias):
    return sym.InstanceNorm(net.symbol(x), net.symbol(scale), net.symbol(bias), eps=attrs.get("epsilon", 1e-5))


@converts("GroupNormalization")
def group_norm(net, attrs, x, scale, bias):
    """Opset 18 has a factor a group, later ones a factor a channel."""
    x, groups = net.symbol(x), attrs["num_groups"]
    rows = sym.Reshape(x, shape=(0, -4, groups, -1, -2))
    axes = tuple(range(2, net.rank(x) + 1))
    centred = sym.broadcast_sub(rows, sym.mean(rows, axis=axes, keepdims=True))
    made = sym.broadcast_mul(
        centred, sym.rsqrt(sym.mean(sym.square(centred), axis=axes, keepdims=True) + attrs.get("epsilon", 1e-5))
    )
    if net.opset >= 21:
        made = sym.reshape_like(made, x)
    spread = (1, -1, *(1,) * (net.rank(x) - (2 if net.opset >= 21 else 1)))
    scale, bias = (sym.Reshape(net.symbol(p), shape=spread) for p in (scale, bias))
    return sym.reshape_like(sym.broadcast_add(sym.broadcast_mul(made, scale), bias), x)


@converts("MeanVarianceNormalization")
def mean_variance_normalization(net, attrs, x):
    x, axes = net.symbol(x), tuple(attrs.get("axes", (0, 2, 3)))
    centred = sym.broadcast_sub(x, sym.mean(x, axis=axes, keepdims=True))
    return sym.broadcast_div(centred, sym.sqrt(sym.mean(sym.square(centred), axis=axes, keepdims=True)) + 1e-9)


@converts("LRN")
def lrn(net, attrs, x):
    return sym.LRN(
        net.symbol(x),
        alpha=attrs.get("alpha", 1e-4),
        beta=attrs.get("beta", 0.75),
        knorm=attrs.get("bias", 1.0),
        nsize=attrs["size"],
    )
