"""Quantized networks of ONNX, computed in floating point, which holds sums of products of 8-bit integers exactly."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.layers import convolution
from core.contrib.onnx.onnx2mx.table import converts
from core.symbol import Symbol

_RANGE = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}


def _spread(net, x: Symbol, value, axis: int) -> Symbol:
    """A scale or a zero point, one or one per place along an axis, ready to broadcast against `x`."""
    made = sym.Cast(net.symbol(value), dtype="float32")
    shape = net.shape(value)
    if not shape or shape == (1,):
        return made
    if len(shape) > 1:
        raise net.refuse("scales by blocks are not converted")
    return sym.Reshape(made, shape=(-1, *(1,) * (net.rank(x) - axis % net.rank(x) - 1)))


def _decoded(net, x, scale, zero, axis: int = 1) -> Symbol:
    """The numbers that quantized values stand for; without a scale, quantized values less their zero point."""
    integers = net.symbol(x)
    made = sym.Cast(integers, dtype="float32")
    if zero is not None:
        made = sym.broadcast_sub(made, _spread(net, integers, zero, axis))
    return made if scale is None else sym.broadcast_mul(made, _spread(net, integers, scale, axis))


def _encoded(net, x: Symbol, scale, zero, axis: int = 1) -> Symbol:
    """Quantized values of numbers: rounded to even, then cut to the range of the zero point's type."""
    dtype = "uint8" if zero is None else net.dtype(zero)
    if dtype not in _RANGE:
        raise net.refuse(f"codes of {dtype} are not converted")
    made = sym.op._npi_around(sym.broadcast_div(x, _spread(net, x, scale, axis)), scale=1.0)
    if zero is not None:
        made = sym.broadcast_add(made, _spread(net, x, zero, axis))
    low, high = _RANGE[dtype]
    return sym.Cast(sym.clip(made, a_min=low, a_max=high), dtype=dtype)


converts("DequantizeLinear")(
    lambda net, attrs, x, scale, zero=None: _decoded(net, x, scale, zero, attrs.get("axis", 1))
)
converts("QuantizeLinear")(
    lambda net, attrs, x, scale, zero=None: _encoded(net, net.symbol(x), scale, zero, attrs.get("axis", 1))
)


@converts("MatMulInteger")
def integer_matmul(net, attrs, a, b, a_zero=None, b_zero=None):
    made = sym.op._npi_matmul(_decoded(net, a, None, a_zero, -2), _decoded(net, b, None, b_zero, -1))
    return sym.Cast(made, dtype="int32")


@converts("QLinearMatMul")
def quantized_matmul(net, attrs, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
    made = sym.op._npi_matmul(_decoded(net, a, a_scale, a_zero, -2), _decoded(net, b, b_scale, b_zero, -1))
    return _encoded(net, made, scale, zero)


def _numbers(net, weight, scale, zero) -> np.ndarray:
    """A constant weight of quantized values as numbers."""
    weight = net.number(weight, "the weight").astype(np.float32)
    spread = (-1, *(1,) * (weight.ndim - 1))
    if zero is not None:
        weight = weight - net.number(zero, "the zero point").astype(np.float32).reshape(spread)
    return weight if scale is None else weight * net.number(scale, "the scale").reshape(spread)


@converts("ConvInteger")
def integer_convolution(net, attrs, x, weight, x_zero=None, w_zero=None):
    made = convolution(net, attrs, _decoded(net, x, None, x_zero), _numbers(net, weight, None, w_zero))
    return sym.Cast(made, dtype="int32")


@converts("QLinearConv")
def quantized_convolution(net, attrs, x, x_scale, x_zero, weight, w_scale, w_zero, scale, zero, bias=None):
    numbers = _numbers(net, weight, w_scale, w_zero)
    if bias is not None:
        factor = net.number(x_scale, "the scale") * net.number(w_scale, "the scale")
        bias = (net.number(bias, "the bias") * factor).astype(np.float32)
    made = convolution(net, attrs, _decoded(net, x, x_scale, x_zero), numbers, bias)
    return _encoded(net, made, scale, zero)
