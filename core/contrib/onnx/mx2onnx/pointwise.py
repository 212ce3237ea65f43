"""Pointwise operators: their scalar formulas, term by term, in ONNX's functions. Thus any of them converts."""

from __future__ import annotations

import functools

from core.contrib.onnx.mx2onnx.table import Builder, Name, converts, enter
from core.kernels.formula import LN2, LN10, PREDICATES, Expr, Formula, postorder
from core.ops.registry import Operator

# formula function -> ONNX's
_SAME = {
    "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "floor": "Floor", "ceil": "Ceil", "rint": "Round",
    "sign": "Sign", "neg": "Neg", "isnan": "IsNaN", "isinf": "IsInf", "add": "Add", "sub": "Sub", "mul": "Mul",
    "div": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min", "eq": "Equal", "lt": "Less", "le": "LessOrEqual",
    "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
# formula function -> what computes it: (builder, a function that makes constants, operands)
_MADE = {
    "exp2": lambda g, c, x: g.add("Exp", g.add("Mul", x, c(LN2))),
    "log2": lambda g, c, x: g.add("Div", g.add("Log", x), c(LN2)),
    "log10": lambda g, c, x: g.add("Div", g.add("Log", x), c(LN10)),
    "log1p": lambda g, c, x: g.add("Log", g.add("Add", x, c(1))),
    "expm1": lambda g, c, x: g.add("Sub", g.add("Exp", x), c(1)),
    "rsqrt": lambda g, c, x: g.add("Reciprocal", g.add("Sqrt", x)),
    "cbrt": lambda g, c, x: g.add("Mul", g.add("Sign", x), g.add("Pow", g.add("Abs", x), c(1 / 3))),
    "trunc": lambda g, c, x: g.add("Mul", g.add("Sign", x), g.add("Floor", g.add("Abs", x))),
    "round_away": lambda g, c, x: g.add("Mul", g.add("Sign", x), g.add("Floor", g.add("Add", g.add("Abs", x), c(0.5)))),
    "ne": lambda g, c, x, y: g.add("Not", g.add("Equal", x, y)),
    "floordiv": lambda g, c, x, y: g.add("Floor", g.add("Div", x, y)),
    "mod": lambda g, c, x, y: g.add("Sub", x, g.add("Mul", y, g.add("Floor", g.add("Div", x, y)))),
    "fmod": lambda g, c, x, y: g.add("Mod", x, y, fmod=1),
    "fmax": lambda g, c, x, y: g.add("Max", x, y),
    "fmin": lambda g, c, x, y: g.add("Min", x, y),
    "hypot": lambda g, c, x, y: g.add("Sqrt", g.add("Add", g.add("Mul", x, x), g.add("Mul", y, y))),
    "ldexp": lambda g, c, x, y: g.add("Mul", x, g.add("Exp", g.add("Mul", y, c(LN2)))),
}
# on truth values
_LOGIC = {"logical_not": "Not", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_KNOWN = {*_SAME, *_MADE, *_LOGIC, "isfinite", "where", "cast", "input", "attr", "const"}


def converts_formula(op: Operator) -> bool:
    """Whether an operator is a formula of functions that ONNX has."""
    return op.formula is not None and all(node.op in _KNOWN for node in postorder([op.formula.root]))


def convert_formula(g: Builder, formula: Formula, attrs: dict, inputs: list[Name]) -> Name:
    """The nodes that compute a formula; the result has the dtype that the operator gives."""
    result = g.outputs[0][1]
    dtypes = [g.dtype(name) for name in inputs]
    # Truth values and integers enter the arithmetic of the result, where that is finer than their own.
    dtype = result if result != "bool" and dtypes[0] in ("bool", result) else dtypes[0]
    if dtype == "bool":
        dtype = "float32"
    made: dict[int, tuple[Name, str]] = {}

    def number(value) -> Name:
        return g.like(value, dtype)

    def arithmetic(node: Expr) -> Name:
        name, own = made[id(node)]
        return name if own == dtype else g.cast(name, dtype, own)

    def truth(node: Expr) -> Name:
        return g.truth(*made[id(node)])

    for node in postorder([formula.root]):
        kind = node.op
        operands = [a for a in node.args if isinstance(a, Expr)]
        if kind == "input":
            value = inputs[node.args[0]], dtypes[node.args[0]]
        elif kind in ("attr", "const"):
            value = number(attrs[node.args[0]] if kind == "attr" else node.args[0]), dtype
        elif kind == "where":
            condition, first, second = operands
            value = g.add("Where", truth(condition), arithmetic(first), arithmetic(second)), dtype
        elif kind == "cast":
            name, own = made[id(operands[0])]
            value = g.cast(name, node.args[1], own), node.args[1]
        elif kind in _LOGIC:
            value = g.add(_LOGIC[kind], *map(truth, operands)), "bool"
        elif kind == "isfinite":
            x = arithmetic(operands[0])
            value = g.add("Not", g.add("Or", g.add("IsNaN", x), g.add("IsInf", x))), "bool"
        elif kind == "mod" and not dtype.startswith("float"):
            value = g.add("Mod", *map(arithmetic, operands)), dtype
        else:
            x = list(map(arithmetic, operands))
            name = g.add(_SAME[kind], *x) if kind in _SAME else _MADE[kind](g, number, *x)
            value = name, "bool" if kind in PREDICATES else dtype
        made[id(node)] = value
    name, own = made[id(formula.root)]
    if name in inputs:
        name = g.add("Identity", name)
    return name if own == result else g.cast(name, result, own)


# ---------------------------------------------------------------------------------------------- shorter in ONNX


@converts("add_n")
def add_n(g, a, *data):
    if g.dtype(data[0]).startswith("float"):
        return g.add("Sum", *data)
    return functools.reduce(lambda x, y: g.add("Add", x, y), data)


@converts("Cast")
def cast(g, a, data):
    if g.dtype(data) == a.dtype:
        return g.add("Identity", data)
    if g.dtype(data).startswith("float") and a.dtype == "bool":
        return g.truth(data)
    return g.cast(data, a.dtype)


@converts("_npi_where")
def where(g, a, condition, x, y):
    return g.add("Where", g.truth(condition), x, y)


enter({
    "_copy BlockGrad make_loss MakeLoss _bridge IdentityAttachKLSparseReg": lambda g, a, x, *rest: g.add("Identity", x),
    "relu": lambda g, a, x: g.add("Relu", x) if g.dtype(x).startswith("float") else g.add("Max", x, g.like(0, g.dtype(x))),
    "softrelu": lambda g, a, x: g.add("Softplus", x),
    "softsign": lambda g, a, x: g.add("Softsign", x),
    "mish": lambda g, a, x: g.add("Mul", x, g.add("Tanh", g.add("Softplus", x))),
    "log_sigmoid": lambda g, a, x: g.add("Neg", g.add("Softplus", g.add("Neg", x))),
    "hard_sigmoid": lambda g, a, x: g.add("HardSigmoid", x, alpha=a.alpha, beta=a.beta),
    "_leaky_relu": lambda g, a, x: g.add("LeakyRelu", x, alpha=a.slope),
    "_elu": lambda g, a, x: g.add("Elu", x, alpha=a.slope),
    "_clip": lambda g, a, x: g.add("Clip", x, g.like(a.a_min, g.dtype(x)), g.like(a.a_max, g.dtype(x))),
    "_npi_where_lscalar": lambda g, a, condition, y: where(g, a, condition, g.like(a.scalar, g.dtype(y)), y),
    "_npi_where_rscalar": lambda g, a, condition, x: where(g, a, condition, x, g.like(a.scalar, g.dtype(x))),
})  # fmt: skip
