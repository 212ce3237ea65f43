"""Normalisations of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.symbol import Symbol


@converts("BatchNormalization")
def batch_norm(net, attrs, x, *parameters):
    if attrs.get("training_mode"):
        raise net.refuse("training_mode is not converted")
    made = sym.BatchNorm(
        net.symbol(x), *map(net.symbol, parameters), eps=attrs.get("epsilon", 1e-5),
        momentum=attrs.get("momentum", 0.9), fix_gamma=False,
    )  # fmt: skip
    return made[0] if len(made) > 1 else made


def _centred(x: Symbol, axes: tuple) -> tuple[Symbol, Symbol, Symbol]:
    """(mean, what is left without it, variance) over axes, which stay."""
    mean = sym.mean(x, axis=axes, keepdims=True)
    left = sym.broadcast_sub(x, mean)
    return mean, left, _mean_square(left, axes)


def _mean_square(x: Symbol, axes: tuple) -> Symbol:
    return sym.mean(sym.square(x), axis=axes, keepdims=True)


@converts("LayerNormalization")
def layer_norm(net, attrs, x, scale, bias=None):
    x, eps = net.symbol(x), attrs.get("epsilon", 1e-5)
    axis = attrs.get("axis", -1)
    single = axis == -1 or axis % net.rank(x) == net.rank(x) - 1
    if single and net.outputs < 2 and isinstance(scale, np.ndarray) and scale.ndim == 1:
        bias = net.parameter(np.zeros(scale.shape, scale.dtype)) if bias is None else net.symbol(bias)
        return sym.LayerNorm(x, net.symbol(scale), bias, axis=-1, eps=eps)
    mean, centred, variance = _centred(x, tuple(range(axis % net.rank(x), net.rank(x))))
    inverse = sym.rsqrt(variance + eps)
    made = sym.broadcast_mul(sym.broadcast_mul(centred, inverse), net.symbol(scale))
    return [made if bias is None else sym.broadcast_add(made, net.symbol(bias)), mean, inverse][: max(1, net.outputs)]


@converts("RMSNormalization")
def rms_norm(net, attrs, x, scale):
    x = net.symbol(x)
    axes = tuple(range(attrs.get("axis", -1) % net.rank(x), net.rank(x)))
    inverse = sym.rsqrt(_mean_square(x, axes) + attrs.get("epsilon", 1e-5))
    return sym.broadcast_mul(sym.broadcast_mul(x, inverse), net.symbol(scale))


@converts("GroupNormalization")
def group_norm(net, attrs, x, scale, bias):
    """Opset 18 has a factor a group, later ones a factor a channel."""
    x, groups, by_channel = net.symbol(x), attrs["num_groups"], net.opset >= 21
    rows = sym.Reshape(x, shape=(0, -4, groups, -1, -2))
    _, centred, variance = _centred(rows, tuple(range(2, net.rank(x) + 1)))
    made = sym.broadcast_mul(centred, sym.rsqrt(variance + attrs.get("epsilon", 1e-5)))
    made = sym.reshape_like(made, x) if by_channel else made
    spread = (1, -1, *(1,) * (net.rank(x) - (2 if by_channel else 1)))
    scale, bias = (sym.Reshape(net.symbol(p), shape=spread) for p in (scale, bias))
    return sym.reshape_like(sym.broadcast_add(sym.broadcast_mul(made, scale), bias), x)


@composes("MeanVarianceNormalization")
def mean_variance_normalization(x, axes=(0, 2, 3)):
    _, centred, variance = _centred(x, tuple(axes))
    return sym.broadcast_div(centred, sym.sqrt(variance) + 1e-9)


@composes("InstanceNormalization")
def instance_norm(x, scale, bias, epsilon=1e-5):
    return sym.InstanceNorm(x, scale, bias, eps=epsilon)


@composes("LRN")
def lrn(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    return sym.LRN(x, alpha=alpha, beta=beta, knorm=bias, nsize=size)
