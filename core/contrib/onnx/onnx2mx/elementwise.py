"""Pointwise operators of ONNX as symbols."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from core import symbol as sym
from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.symbol import Symbol

_UNARY = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
    "Atanh": "arctanh", "BitwiseNot": "_npi_bitwise_not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "Identity": "identity", "IsNaN": "_npi_isnan", "Log": "log", "Neg": "negative",
    "Not": "_npi_logical_not", "Reciprocal": "reciprocal", "Relu": "relu", "Sigmoid": "sigmoid",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
_BINARY = {
    "Add": "broadcast_add", "Sub": "broadcast_sub", "Mul": "broadcast_mul", "Div": "broadcast_div",
    "Pow": "broadcast_power", "Equal": "_npi_equal", "Greater": "_npi_greater", "GreaterOrEqual": "_npi_greater_equal",
    "Less": "_npi_less", "LessOrEqual": "_npi_less_equal", "And": "_npi_logical_and", "Or": "_npi_logical_or",
    "Xor": "_npi_logical_xor", "Max": "broadcast_maximum", "Min": "broadcast_minimum", "Sum": "broadcast_add",
    "BitwiseAnd": "_npi_bitwise_and", "BitwiseOr": "_npi_bitwise_or", "BitwiseXor": "_npi_bitwise_xor",
}  # fmt: skip
# with a number on the right, and on the left
_SCALAR = {
    "Add": ("_plus_scalar", "_plus_scalar"), "Sub": ("_minus_scalar", "_rminus_scalar"),
    "Mul": ("_mul_scalar", "_mul_scalar"), "Div": ("_div_scalar", "_rdiv_scalar"),
    "Pow": ("_power_scalar", "_rpower_scalar"), "Max": ("_maximum_scalar", "_maximum_scalar"),
    "Min": ("_minimum_scalar", "_minimum_scalar"), "Equal": ("_npi_equal_scalar", "_npi_equal_scalar"),
    "Greater": ("_npi_greater_scalar", "_npi_less_scalar"), "Less": ("_npi_less_scalar", "_npi_greater_scalar"),
    "GreaterOrEqual": ("_npi_greater_equal_scalar", "_npi_less_equal_scalar"),
    "LessOrEqual": ("_npi_less_equal_scalar", "_npi_greater_equal_scalar"),
}  # fmt: skip
_TYPED = frozenset(("Add", "Sub", "Mul", "Div", "Pow"))  # a number of fractions would be cut to whole ones


def internal(kind: str):
    """The function that composes an operator of the table."""
    return getattr(sym.op, kind) if kind.startswith("_npi") else getattr(sym, kind)


def _unary(kind: str):
    return lambda x, *rest: internal(kind)(x)


def _binary(kind: str):
    def convert(net, attrs, *inputs):
        result = inputs[0]
        for x in inputs[1:]:
            result = _pair(net, kind, result, x)
        return net.symbol(result)

    return convert


def _pair(net, kind, left, right):
    for number, other, place in ((right, left, 0), (left, right, 1)):
        single = isinstance(number, np.ndarray) and number.size == 1 and number.ndim < 2 and isinstance(other, Symbol)
        fits = single and kind in _SCALAR and (number.dtype.kind == "f" or kind in _TYPED)
        if fits and math.isfinite(number.item()):
            return internal(_SCALAR[kind][place])(other, scalar=number.item())
    left, right = net.symbol(left), net.symbol(right)
    if kind == "Pow" and net.dtype(left) != net.dtype(right):
        right = sym.Cast(right, dtype=net.dtype(left))
    return internal(_BINARY[kind])(left, right)


for _name, _kind in _UNARY.items():
    composes(_name)(_unary(_kind))
for _name in _BINARY:
    converts(_name)(_binary(_name))


converts("Mean")(lambda net, attrs, *inputs: _binary("Sum")(net, attrs, *inputs) / len(inputs))


@converts("Clip")
def clip(net, attrs, x, low=None, high=None):
    made = net.symbol(x)
    for bound, key, kind in ((low, "min", "Max"), (high, "max", "Min")):
        bound = attrs.get(key) if bound is None else bound
        if bound is not None:
            made = _pair(net, kind, made, np.asarray(bound, np.float32) if isinstance(bound, float) else bound)
    return made


@converts("Cast")
def cast(net, attrs, x):
    dtype = package().helper.tensor_dtype_to_np_dtype(attrs["to"]).name
    if dtype == "bool":
        return sym.op._npi_not_equal_scalar(net.symbol(x), scalar=0)
    if dtype == "object":
        raise net.refuse("there are no arrays of text")
    return sym.Cast(net.symbol(x), dtype=dtype)


@converts("Dropout")
def dropout(net, attrs, x, ratio=None, training=None):
    if training is not None and net.number(training, "training_mode").item():
        raise net.refuse("training_mode is not converted")
    x = net.symbol(x)
    return [sym.identity(x), sym.op._npi_equal(x, x)][: max(1, net.outputs)]


# ---------------------------------------------------------------------------------------------- expressions


def _gelu(x, approximate="none"):
    """Exact, or by Hendrycks and Gimpel's hyperbolic tangent."""
    if approximate == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    return 0.5 * x * (1 + sym.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _is_inf(x, detect_positive=1, detect_negative=1):
    if detect_positive and detect_negative:
        return sym.op._npi_isinf(x)
    if detect_positive or detect_negative:
        return internal("_npi_isposinf" if detect_positive else "_npi_isneginf")(x)
    return sym.op._npi_not_equal(x, x) != x


def _mod(x, y, fmod=0):
    whole = sym.trunc(sym.broadcast_div(x, y)) if fmod else None
    return sym.broadcast_sub(x, sym.broadcast_mul(y, whole)) if fmod else sym.broadcast_mod(x, y)


_EXPRESSIONS: dict[str, Callable] = {
    "BitShift": lambda x, by, direction: internal(f"_npi_{direction.lower()}_shift")(x, by),
    "Elu": lambda x, alpha=1.0: sym.LeakyReLU(x, act_type="elu", slope=alpha),
    "Gelu": _gelu,
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: sym.hard_sigmoid(x, alpha=alpha, beta=beta),
    "IsInf": _is_inf,
    "LeakyRelu": lambda x, alpha=0.01: sym.LeakyReLU(x, act_type="leaky", slope=alpha),
    "Mod": _mod,
    "Round": lambda x: sym.op._npi_around(x, scale=1.0),  # halves to the even number
    "Softplus": lambda x: sym.Activation(x, act_type="softrelu"),
    "Swish": lambda x, alpha=1.0: x * sym.sigmoid(x * alpha),
    "Where": lambda condition, x, y: sym.op._npi_where(condition, x, y),  # which broadcasts, as sym.where does not
}
for _name, _expression in _EXPRESSIONS.items():
    composes(_name)(_expression)


@converts("PRelu")
def prelu(net, attrs, x, slope):
    slope, x = net.symbol(slope), net.symbol(x)
    if net.opset < 7 and net.shape(slope) != (1,):  # one per channel, whatever follows
        slope = sym.Reshape(slope, shape=(-1, *(1,) * (net.rank(x) - 2)))
    return sym.broadcast_add(sym.relu(x), sym.broadcast_mul(slope, 0 - sym.relu(0 - x)))
