"""Pointwise operators of ONNX as symbols."""

from __future__ import annotations

import math

import numpy as np

from core import symbol as sym
from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.table import converts
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
    def convert(net, attrs, x, *rest):
        return internal(kind)(net.symbol(x))

    return convert


def _binary(kind: str):
    def convert(net, attrs, *inputs):
        result = inputs[0]
        for x in inputs[1:]:
            result = _pair(net, kind, result, x)
        return net.symbol(result)

    return convert


def _pair(net, kind, left, right):
    for number, other, place in ((right, left, 0), (left, right, 1)):
        if (
            kind in _SCALAR
            and isinstance(number, np.ndarray)
            and number.size == 1
            and number.ndim < 2
            and isinstance(other, Symbol)
            and (number.dtype.kind == "f" or kind in _TYPED)
            and math.isfinite(number.item())
        ):
            return internal(_SCALAR[kind][place])(other, scalar=number.item())
    left, right = net.symbol(left), net.symbol(right)
    if kind == "Pow" and net.dtype(left) != net.dtype(right):
        right = sym.Cast(right, dtype=net.dtype(left))
    return internal(_BINARY[kind])(left, right)


for _name, _kind in _UNARY.items():
    converts(_name)(_unary(_kind))
for _name in _BINARY:
    converts(_name)(_binary(_name))


@converts("Round")
def rounded(net, attrs, x):
    """To the nearest whole number, halves to the even one."""
    return sym.op._npi_around(net.symbol(x), scale=1.0)


@converts("Mean")
def mean_of(net, attrs, *inputs):
    return _binary("Sum")(net, attrs, *inputs) / len(inputs)


@converts("Mod")
def mod(net, attrs, x, y):
    x, y = net.symbol(x), net.symbol(y)
    if not attrs.get("fmod"):
        return sym.broadcast_mod(x, y)
    return sym.broadcast_sub(x, sym.broadcast_mul(y, sym.trunc(sym.broadcast_div(x, y))))


@converts("BitShift")
def shift(net, attrs, x, by):
    kind = "_npi_left_shift" if attrs["direction"] == "LEFT" else "_npi_right_shift"
    return internal(kind)(net.symbol(x), net.symbol(by))


@converts("IsInf")
def is_inf(net, attrs, x):
    above, below = attrs.get("detect_positive", 1), attrs.get("detect_negative", 1)
    if above and below:
        return sym.op._npi_isinf(net.symbol(x))
    if above or below:
        return internal("_npi_isposinf" if above else "_npi_isneginf")(net.symbol(x))
    return sym.op._npi_not_equal(net.symbol(x), net.symbol(x)) != net.symbol(x)


@converts("Clip")
def clip(net, attrs, x, low=None, high=None):
    made = net.symbol(x)
    for bound, key, kind in ((low, "min", "Max"), (high, "max", "Min")):
        bound = attrs.get(key) if bound is None else bound
        if bound is not None:
            made = _pair(net, kind, made, np.asarray(bound, np.float32) if isinstance(bound, float) else bound)
    return made


@converts("Cast", "CastLike")
def cast(net, attrs, x, like=None):
    if like is not None:
        dtype = net.dtype(like)
    else:
        dtype = package().helper.tensor_dtype_to_np_dtype(attrs["to"]).name
    if dtype == "bool":
        return sym.op._npi_not_equal_scalar(net.symbol(x), scalar=0)
    if dtype == "object":
        raise net.refuse("there are no arrays of text")
    return sym.Cast(net.symbol(x), dtype=dtype)


@converts("Where")
def where(net, attrs, condition, x, y):
    """The operands broadcast against each other, which MXNet's `where` does not do."""
    condition, x, y = (net.symbol(v) for v in (condition, x, y))
    return sym.op._npi_where(condition, x, y)


@converts("Dropout")
def dropout(net, attrs, x, ratio=None, training=None):
    if training is not None and net.number(training, "training_mode").item():
        raise net.refuse("training_mode is not converted")
    x = net.symbol(x)
    return [sym.identity(x), sym.op._npi_equal(x, x)][: max(1, net.outputs)]


# ---------------------------------------------------------------------------------------------- activations


@converts("LeakyRelu")
def leaky_relu(net, attrs, x):
    return sym.LeakyReLU(net.symbol(x), act_type="leaky", slope=attrs.get("alpha", 0.01))


@converts("Elu")
def elu(net, attrs, x):
    return sym.LeakyReLU(net.symbol(x), act_type="elu", slope=attrs.get("alpha", 1.0))


@converts("Selu")
def selu(net, attrs, x):
    if "alpha" not in attrs and "gamma" not in attrs:
        return sym.LeakyReLU(net.symbol(x), act_type="selu")
    scale = attrs.get("gamma", 1.0507010221481323)
    return scale * sym.LeakyReLU(net.symbol(x), act_type="elu", slope=attrs.get("alpha", 1.6732631921768188))


@converts("Celu")
def celu(net, attrs, x):
    alpha = attrs.get("alpha", 1.0)
    return sym.LeakyReLU(net.symbol(x) / alpha, act_type="elu", slope=1.0) * alpha


@converts("PRelu")
def prelu(net, attrs, x, slope):
    slope, x = net.symbol(slope), net.symbol(x)
    if net.opset < 7 and net.shape(slope) != (1,):  # one per channel, whatever follows
        slope = sym.Reshape(slope, shape=(-1, *(1,) * (net.rank(x) - 2)))
    return sym.broadcast_add(sym.relu(x), sym.broadcast_mul(slope, 0 - sym.relu(0 - x)))


@converts("HardSigmoid")
def hard_sigmoid(net, attrs, x):
    return sym.hard_sigmoid(net.symbol(x), alpha=attrs.get("alpha", 0.2), beta=attrs.get("beta", 0.5))


@converts("HardSwish")
def hard_swish(net, attrs, x):
    return net.symbol(x) * sym.hard_sigmoid(net.symbol(x), alpha=1 / 6, beta=0.5)


@converts("Swish")
def swish(net, attrs, x):
    return net.symbol(x) * sym.sigmoid(net.symbol(x) * attrs.get("alpha", 1.0))


@converts("Softplus")
def softplus(net, attrs, x):
    return sym.Activation(net.symbol(x), act_type="softrelu")


@converts("Mish")
def mish(net, attrs, x):
    x = net.symbol(x)
    return x * sym.tanh(sym.Activation(x, act_type="softrelu"))


@converts("Gelu")
def gelu(net, attrs, x):
    """Exact, or by Hendrycks and Gimpel's hyperbolic tangent."""
    x = net.symbol(x)
    if attrs.get("approximate", "none") == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    return 0.5 * x * (1 + sym.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@converts("ThresholdedRelu")
def thresholded_relu(net, attrs, x):
    x = net.symbol(x)
    return x * (x > attrs.get("alpha", 1.0))


@converts("Shrink")
def shrink(net, attrs, x):
    x, limit, bias = net.symbol(x), attrs.get("lambd", 0.5), attrs.get("bias", 0.0)
    return (x - bias) * (x > limit) + (x + bias) * (x < -limit)
