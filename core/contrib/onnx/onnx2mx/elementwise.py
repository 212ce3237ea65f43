"""Pointwise operators, reductions and orders of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import Extent, ShapeOf, converts
from core.symbol import Symbol

_UNARY = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
    "Atanh": "arctanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "Identity": "identity", "Log": "log", "Neg": "negative", "Not": "logical_not", "Reciprocal": "reciprocal",
    "Relu": "relu", "Round": "rint", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh", "IsNaN": "_contrib_isnan",
    "IsInf": "_contrib_isinf", "Dropout": "identity",
}  # fmt: skip
_BINARY = {
    "Add": "broadcast_add", "Sub": "broadcast_sub", "Mul": "broadcast_mul", "Div": "broadcast_div",
    "Pow": "broadcast_power", "Equal": "broadcast_equal", "Greater": "broadcast_greater",
    "GreaterOrEqual": "broadcast_greater_equal", "Less": "broadcast_lesser", "LessOrEqual": "broadcast_lesser_equal",
    "And": "broadcast_logical_and", "Or": "broadcast_logical_or", "Xor": "broadcast_logical_xor",
    "Max": "broadcast_maximum", "Min": "broadcast_minimum", "Sum": "broadcast_add",
}  # fmt: skip
# with a number on the right, and on the left
_SCALAR = {
    "Add": ("_plus_scalar", "_plus_scalar"), "Sub": ("_minus_scalar", "_rminus_scalar"),
    "Mul": ("_mul_scalar", "_mul_scalar"), "Div": ("_div_scalar", "_rdiv_scalar"),
    "Pow": ("_power_scalar", "_rpower_scalar"), "Max": ("_maximum_scalar", "_maximum_scalar"),
    "Min": ("_minimum_scalar", "_minimum_scalar"), "Equal": ("_equal_scalar", "_equal_scalar"),
    "Greater": ("_greater_scalar", "_lesser_scalar"), "Less": ("_lesser_scalar", "_greater_scalar"),
    "GreaterOrEqual": ("_greater_equal_scalar", "_lesser_equal_scalar"),
    "LessOrEqual": ("_lesser_equal_scalar", "_greater_equal_scalar"),
}  # fmt: skip


def _unary(kind: str):
    def convert(net, attrs, x, *rest):
        return getattr(sym, kind)(net.symbol(x))

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
        ):
            return getattr(sym, _SCALAR[kind][place])(other, scalar=number.item())
    return getattr(sym, _BINARY[kind])(net.symbol(left), net.symbol(right))


for _name, _kind in _UNARY.items():
    converts(_name)(_unary(_kind))
for _name in _BINARY:
    converts(_name)(_binary(_name))


@converts("Mean")
def mean_of(net, attrs, *inputs):
    return sym.add_n(*map(net.symbol, inputs)) / len(inputs)


@converts("Mod")
def mod(net, attrs, x, y):
    if not attrs.get("fmod"):
        return sym.broadcast_mod(net.symbol(x), net.symbol(y))
    x, y = net.symbol(x), net.symbol(y)
    return sym.broadcast_sub(x, sym.broadcast_mul(y, sym.trunc(sym.broadcast_div(x, y))))


@converts("Clip")
def clip(net, attrs, x, low=None, high=None):
    low = attrs.get("min", -np.inf) if low is None else net.number(low, "min").item()
    high = attrs.get("max", np.inf) if high is None else net.number(high, "max").item()
    return sym.clip(net.symbol(x), a_min=low, a_max=high)


@converts("Cast")
def cast(net, attrs, x):
    from core.contrib.onnx import package

    if isinstance(x, (ShapeOf, Extent)):
        x = net.symbol(x)
    if attrs["to"] == package().TensorProto.BOOL:
        return net.symbol(x) != 0
    dtype = package().helper.tensor_dtype_to_np_dtype(attrs["to"])
    return sym.Cast(net.symbol(x), dtype=dtype.name)


@converts("Where")
def where(net, attrs, condition, x, y):
    """The operands broadcast against each other, which MXNet's `where` does not do."""
    condition, x, y = (net.symbol(v) for v in (condition, x, y))
    return sym.op._npi_where(condition, x, y)


@converts("LeakyRelu")
def leaky_relu(net, attrs, x):
    return sym.LeakyReLU(net.symbol(x), act_type="leaky", slope=attrs.get("alpha", 0.01))


@converts("Elu")
def elu(net, attrs, x):
    return sym.LeakyReLU(net.symbol(x), act_type="elu", slope=attrs.get("alpha", 1.0))


@converts("Selu")
def selu(net, attrs, x):
    return sym.LeakyReLU(net.symbol(x), act_type="selu")


@converts("PRelu")
def prelu(net, attrs, x, slope):
    slope = net.symbol(slope)
    x = net.symbol(x)
    return sym.broadcast_add(sym.relu(x), sym.broadcast_mul(slope, 0 - sym.relu(0 - x)))


@converts("HardSigmoid")
def hard_sigmoid(net, attrs, x):
    return sym.hard_sigmoid(net.symbol(x), alpha=attrs.get("alpha", 0.2), beta=attrs.get("beta", 0.5))


@converts("Softplus")
def softplus(net, attrs, x):
    return sym.Activation(net.symbol(x), act_type="softrelu")


@converts("Gelu")
def gelu(net, attrs, x):
    if attrs.get("approximate", "none") != "none":
        raise net.refuse("only the exact gelu is converted")
    return sym.LeakyReLU(net.symbol(x), act_type="gelu")


@converts("HardSwish")
def hard_swish(net, attrs, x):
    return net.symbol(x) * sym.hard_sigmoid(net.symbol(x), alpha=1 / 6, beta=0.5)


# ---------------------------------------------------------------------------------------------- reductions

_REDUCTIONS = {
    "ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
    "ReduceSumSquare": "square_sum",
}  # fmt: skip


def _axes(net, attrs, axes):
    axes = attrs.get("axes") if axes is None else net.ints(axes, "axes")
    return None if axes is None or len(axes) == 0 else tuple(axes)


def _reduction(kind: str):
    def convert(net, attrs, x, axes=None):
        if axes is not None and net.number(axes, "axes").size == 0 and attrs.get("noop_with_empty_axes"):
            return net.symbol(x)
        return getattr(sym, kind)(net.symbol(x), axis=_axes(net, attrs, axes), keepdims=bool(attrs.get("keepdims", 1)))

    return convert


for _name, _kind in _REDUCTIONS.items():
    converts(_name)(_reduction(_kind))


@converts("ReduceL1")
def reduce_l1(net, attrs, x, axes=None):
    return sym.sum(sym.abs(net.symbol(x)), axis=_axes(net, attrs, axes), keepdims=bool(attrs.get("keepdims", 1)))


@converts("ReduceL2")
def reduce_l2(net, attrs, x, axes=None):
    squares = sym.square(net.symbol(x))
    return sym.sqrt(sym.sum(squares, axis=_axes(net, attrs, axes), keepdims=bool(attrs.get("keepdims", 1))))


@converts("ArgMax")
def arg_max(net, attrs, x):
    return sym.argmax(net.symbol(x), axis=attrs.get("axis", 0), keepdims=bool(attrs.get("keepdims", 1)))


@converts("ArgMin")
def arg_min(net, attrs, x):
    return sym.argmin(net.symbol(x), axis=attrs.get("axis", 0), keepdims=bool(attrs.get("keepdims", 1)))


@converts("TopK")
def top_k(net, attrs, x, k):
    if isinstance(k, (ShapeOf, Extent)):
        count = 0
    else:
        (count,) = net.ints(k, "k")
        if count <= 0:
            raise net.refuse(f"k is {count}; a positive number is needed")
    made = sym.topk(
        net.symbol(x),
        axis=attrs.get("axis", -1),
        k=count,
        ret_typ="both",
        is_ascend=not attrs.get("largest", 1),
        dtype="int64",
    )
    return [made[0], made[1]]


@converts("CumSum")
def cumulative_sum(net, attrs, x, axis):
    if attrs.get("exclusive") or attrs.get("reverse"):
        raise net.refuse("exclusive and reverse sums are not converted")
    return sym.cumsum(net.symbol(x), axis=net.ints(axis, "axis")[0])
