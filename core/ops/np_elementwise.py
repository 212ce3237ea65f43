"""Pointwise operators of the `np` namespace where they differ from `nd`: types are promoted, truth values are bool.

For + - * % and powers two floats give the wider one, a float with an integer the float; two integers give the wider one
for + and *, and for - and % where their shapes differ. All other operations, comparisons too, need operands of one type. Integer division gives float32. A
number does not change an array's type.
"""

from collections.abc import Callable
from typing import Any

import numpy

from core import kernels
from core.base import MXNetError
from core.dtypes import FLOATS, as_integer
from core.kernels import formula as f
from core.kernels.formula import Expr, Formula
from core.ops.attributes import Float, Scalar
from core.ops.elementwise import BINARY, COMPARISONS, exchanged
from core.ops.pointwise import make_pointwise, pointwise
from core.ops.registry import Operator, register
from core.ops.values import Tensor
from core.util import default_float

_ORDER = {
    "bool": 0, "uint8": 1, "int8": 1, "int32": 2, "int64": 3, "float16": 4, "bfloat16": 5, "float32": 6, "float64": 7,
}  # fmt: skip


def _mixed(name: str, a: str, b: str) -> MXNetError:
    return MXNetError(f"{name}: the types {a} and {b} do not go together; convert one with astype")


def promoted(name: str, a: str, b: str, integers: bool = True, floats: bool = True) -> str:
    """The type that an operation of types a and b computes in; MXNetError where there is none."""
    if a == b:
        return a
    fa, fb = a in FLOATS, b in FLOATS
    if fa and fb:
        if floats:
            return max(a, b, key=_ORDER.__getitem__)
    elif fa or fb:
        return a if fa else b
    elif integers and {a, b} <= _ORDER.keys():
        if {a, b} != {"int8", "uint8"}:
            return max(a, b, key=_ORDER.__getitem__)
    elif integers and numpy.promote_types(a, b).kind in "iu":  # types that MXNet 2 has: the least that holds both
        return numpy.promote_types(a, b).name
    raise _mixed(name, a, b)


def _sum_rule(name: str) -> Callable[..., Any]:
    def rule(a: str, b: str) -> tuple[str, str]:
        kind = promoted(name, a, b)
        return kind, kind

    return rule


def _power_rule(name: str) -> Callable[..., Any]:
    def rule(a: str, b: str) -> tuple[str, str]:
        kind = promoted(name, a, b)
        return ("int32" if kind == "bool" else kind), kind  # bool to bool, as MXNet

    return rule


def _fraction_rule(floats: bool) -> Callable[..., Any]:
    """A rule of operations that make fractions of integers; `floats`: different floats meet in the wider one."""

    def named(name: str) -> Callable[..., Any]:
        def rule(a: str, b: str) -> tuple[str, str]:
            kind = promoted(name, a, b, integers=False, floats=floats)
            kind = kind if kind in FLOATS else default_float()
            return kind, kind

        return rule

    return named


_quotient_rule = _fraction_rule(floats=False)


def _strict_rule(name: str) -> Callable[..., Any]:
    def rule(a: str, b: str) -> tuple[str, str]:
        kind = promoted(name, a, b, integers=False)
        if kind == "bool":
            raise _mixed(name, a, b)
        return kind, kind

    return rule


def _equal_rule(without: Any = ()) -> Callable[..., Any]:
    """A rule for operations of operands of one type, which is none of `without`."""

    def named(name: str) -> Callable[..., Any]:
        def rule(a: str, b: str) -> tuple[str, str]:
            if a != b or a in without:
                raise _mixed(name, a, b)
            return a, a

        return rule

    return named


def _shift_rule(name: str) -> Callable[..., Any]:
    """Integers of different types meet in the wider one, as in MXNet 2, which has shifts."""

    def rule(a: str, b: str) -> Any:
        if a in FLOATS or b in FLOATS:
            raise _mixed(name, a, b)
        return (promoted(name, a, b),) * 2

    return rule


def _truth_rule(name: str) -> Callable[..., Any]:
    """Truth values are found in the type that holds the values of both, by NumPy's rules."""

    def rule(a: str, b: str) -> tuple[str, str]:
        if a == b:
            return a, "bool"
        if "bfloat16" in (a, b):
            return promoted(name, a, b), "bool"
        return numpy.promote_types(a, b).name, "bool"

    return rule


_INTEGERS = ("bool", "uint8", "int8", "int32", "int64")
RULES = {
    "add": _sum_rule, "mul": _sum_rule, "sub": _strict_rule, "div": _quotient_rule, "mod": _strict_rule,
    "power": _power_rule, "maximum": _equal_rule(("bool",)), "minimum": _equal_rule(("bool",)),
    "hypot": _equal_rule(_INTEGERS),
}  # fmt: skip
NP_NAMES = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "true_divide", "mod": "mod", "power": "power",
            "maximum": "maximum", "minimum": "minimum", "hypot": "hypot"}  # fmt: skip
NP_TRUTH = {"equal": "equal", "not_equal": "not_equal", "greater": "greater", "greater_equal": "greater_equal",
            "lesser": "less", "lesser_equal": "less_equal", "logical_and": "logical_and", "logical_or": "logical_or",
            "logical_xor": "logical_xor"}  # fmt: skip


def enter(name: str, function: Callable[..., Any], rule: Callable[..., Any], differentiable: bool = True) -> Operator:
    """Enters a pointwise operator of two arrays with a rule for types."""

    def entry(x1: Expr, x2: Expr) -> Expr:
        return function(x1, x2)

    entry.__doc__ = f"{name.removeprefix('_npi_')} of two arrays, broadcast against each other."
    op = make_pointwise(Operator(name, entry), Formula.of(entry, name=name.lstrip("_")), rule(name), differentiable)
    if rule is _strict_rule:
        op.forward = _meeting_where_broadcast(name, op.forward)
    return register(op)


def _meeting_where_broadcast(name: str, strict: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The forward rule of an operation that MXNet has for different integers only where it broadcasts them."""

    def forward(x1: Tensor, x2: Tensor) -> Tensor:
        if x1.dtype is not x2.dtype and x1.shape != x2.shape:
            kinds = kernels.dtype_name(x1), kernels.dtype_name(x2)
            if not FLOATS.intersection(kinds):
                kind = promoted(name, *kinds)
                x1, x2 = kernels.cast(x1, kind), kernels.cast(x2, kind)
        return strict(x1, x2)

    return forward


def enter_scalar(
    name: str, function: Callable[..., Any], differentiable: bool = True, truth: bool = False, division: bool = False,
    widens: bool = False,
) -> Operator:  # fmt: skip
    """Enters a pointwise operator of an array and a number.

    The number takes the type of an array of integers first, unless the operation is a `division`, which makes the
    default float of it, or `widens`, as operations that came with MXNet 2 do: integers with a fraction are float64.
    """

    def entry(data: Any, *, scalar: Scalar) -> Any:
        return function(data, scalar)

    def body(data: Expr, *, scalar: Expr) -> Expr:
        return function(data, scalar)

    entry.__doc__ = f"{name.removeprefix('_npi_')}: each element with a number."
    op = Operator(name, entry)
    formula = Formula.of(body, name=name.lstrip("_"))
    register(make_pointwise(op, formula, "first", differentiable))
    kernel = kernels.pointwise.pointwise

    def forward(data: Tensor, *, scalar: float) -> Tensor:
        kind = kernels.dtype_name(data)
        if widens and kind not in FLOATS and isinstance(scalar, float):
            data, kind = kernels.cast(data, "float64"), "float64"
        if kind not in FLOATS and not division:
            result = "int64" if kind == "bool" else kind
            whole = as_integer(scalar, result)  # negative, too, where the number is too large
            if name == "_npi_power_scalar" and (scalar < 0 or whole < 0):  # fractions, which are cut afterwards
                real, whole = kernels.cast(data, "float64"), as_integer(scalar, "int64") if scalar < 0 else whole
                return kernels.cast(kernel(formula, (real,), (whole,), real.dtype), result)
            scalar = int(bool(scalar)) if kind == "bool" and truth else whole
        if truth:
            return kernel(formula, (data,), (scalar,), kernels.torch_dtype("bool"))
        if division and kind not in FLOATS:
            data = kernels.cast(data, default_float())
        elif kind == "bool" and "bitwise" in name:
            scalar = bool(scalar)
        elif kind == "bool":
            data = kernels.cast(data, "int64")
        return kernel(formula, (data,), (scalar,), data.dtype)

    op.forward, op.on_cpu = forward, None
    return op


for _name, _np_name in NP_NAMES.items():
    _function, _, _, _scalar, _reverse = BINARY[_name]
    enter(f"_npi_{_np_name}", _function, RULES[_name])
    enter_scalar(f"_npi_{_np_name}_scalar", _function, division=_name == "div")
    if _reverse:
        enter_scalar(f"_npi_r{_np_name}_scalar", exchanged(_function), division=_name == "div")
for _name, _np_name in NP_TRUTH.items():
    enter(f"_npi_{_np_name}", COMPARISONS[_name][0], _truth_rule, differentiable=False)
    enter_scalar(f"_npi_{_np_name}_scalar", COMPARISONS[_name][0], differentiable=False, truth=True)

for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "lcm", "gcd", "left_shift", "right_shift"):
    _rule = _shift_rule if _name.endswith("shift") else _equal_rule(FLOATS)
    enter(f"_npi_{_name}", getattr(f, _name), _rule, differentiable=False)
    enter_scalar(f"_npi_{_name}_scalar", getattr(f, _name), differentiable=False)
for _name, _function in {"left_shift": f.left_shift, "right_shift": f.right_shift}.items():
    enter_scalar(f"_npi_r{_name}_scalar", exchanged(_function), differentiable=False)
for _np_name, _function in {
    "copysign": f.copysign,
    "arctan2": f.atan2,
    "ldexp": f.ldexp,
}.items():
    enter(f"_npi_{_np_name}", _function, _equal_rule(_INTEGERS if _np_name == "arctan2" else ("bool",)))
    enter_scalar(f"_npi_{_np_name}_scalar", _function)
    enter_scalar(f"_npi_r{_np_name}_scalar", exchanged(_function))


def _wider_rule(name: str) -> Callable[..., Any]:
    """The wider of two types; an integer with a float gives the float, bools are refused."""

    def rule(a: str, b: str) -> tuple[str, str]:
        if a == b == "bool":
            raise _mixed(name, a, b)
        kind = promoted(name, a, b)
        return kind, kind

    return rule


def _logaddexp(x: Expr, y: Expr) -> Expr:
    return f.maximum(x, y) + f.log1p(f.exp(-f.fabs(x - y)))


# of MXNet 2 alone
for _np_name, (_formula, _rule, _kind) in {
    "fmax": (f.fmax, _equal_rule(("bool",)), "widens"),
    "fmin": (f.fmin, _equal_rule(("bool",)), "widens"),
    "fmod": (f.fmod, _equal_rule(("bool",)), "widens"),
    "floor_divide": (f.floordiv, _wider_rule, "widens"),
    "logaddexp": (_logaddexp, _fraction_rule(floats=True), "division"),
}.items():
    _smooth = _np_name != "floor_divide"
    enter(f"_npi_{_np_name}", _formula, _rule, _smooth)
    enter_scalar(f"_npi_{_np_name}_scalar", _formula, _smooth, **{_kind: True})
    if _np_name in ("fmod", "floor_divide"):
        enter_scalar(f"_npi_r{_np_name}_scalar", exchanged(_formula), _smooth, **{_kind: True})

# truth values of one array
_TESTS: dict[str, Callable[[Expr], Expr]] = {
    "isnan": f.isnan,
    "isinf": f.isinf,
    "isfinite": f.isfinite,
    "isposinf": lambda x: f.logical_and(f.isinf(x), x > 0),
    "isneginf": lambda x: f.logical_and(f.isinf(x), x < 0),
    "logical_not": lambda x: f.eq(x, 0),
    "signbit": lambda x: f.copysign(1.0, x) < 0,
}
for _np_name, _test in _TESTS.items():
    _op = Operator(f"_npi_{_np_name}", lambda x: x)
    register(make_pointwise(_op, Formula(f"np_{_np_name}", ["x"], [], _test(Expr("input", 0))), "bool", False))
_op = Operator("_npi_bitwise_not", lambda x: x, aliases=("_npi_invert",))
register(make_pointwise(_op, Formula.of(lambda x: f.bitwise_not(x), name="np_bitwise_not"), "first", False))


@pointwise("_npi_nan_to_num", dtype="first")
def nan_to_num(data: Expr, *, nan: Float, posinf: Float, neginf: Float) -> Expr:
    """NaN and infinities replaced by numbers."""
    finite = f.where(f.isinf(data), f.where(data > 0, posinf, neginf), data)
    return f.where(f.isnan(data), nan, finite)


@pointwise("_npi_around", dtype="first", differentiable=False)
def around(data: Expr, *, scale: Float) -> Expr:
    """Each element to a multiple of 1 / scale, halves to even."""
    return f.rint(data * scale) / scale
