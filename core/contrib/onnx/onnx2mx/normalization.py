"""Normalisations of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import composes, converts


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


@composes("InstanceNormalization")
def instance_norm(x, scale, bias, epsilon=1e-5):
    return sym.InstanceNorm(x, scale, bias, eps=epsilon)


@composes("LRN")
def lrn(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    return sym.LRN(x, alpha=alpha, beta=beta, knorm=bias, nsize=size)
