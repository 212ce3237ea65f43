"""Steps of a formula's expression as Python source: ATen calls on tensors and numbers.

`pointwise` makes functions of them, `inline` writes them into plans.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import torch

from core.kernels.cpu._direct import direct
from core.kernels.formula import REDUCTIONS, Expr, is_const, literal, postorder
from core.storage import LARGEST_HALF, within

aten = torch.ops.aten
_threshold_backward = direct(aten.threshold_backward.default)
_threshold_backward_to = direct(aten.threshold_backward.grad_input)
FULL = (torch.float32, torch.float64)
COMPARISONS = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


def steps(roots: Sequence[Expr], names: dict[int, str]) -> list[str]:
    """Lines that compute `roots`; `names` gets what the value of each node is called."""
    lines = []
    for node in postorder(roots):
        if node.op == "input":
            names[id(node)] = f"x{node.args[0]}"
        elif node.op == "attr":
            names[id(node)] = f"attr_{node.args[0]}"
        elif node.op == "const":
            names[id(node)] = literal(node.args[0])
        else:
            name = f"t{len(names)}"
            lines.append(f"    {name} = {call(node, names)}")
            names[id(node)] = name
    return lines


def is_scalar(node: Expr) -> bool:
    """Whether a node is a Python number when the generated code runs."""
    return node.op in ("const", "attr") or (
        node.op != "input" and all(is_scalar(a) for a in node.args if isinstance(a, Expr)) and bool(node.args)
    )


def lowered(root: Expr) -> Expr:
    """The expression, with a cheaper step of the CPU in place of each one that has one, such as `where` with a 0."""
    made: dict[int, Expr] = {}
    for node in postorder([root]):
        args = [made[id(a)] if isinstance(a, Expr) else a for a in node.args]
        if node.op == "where":
            made[id(node)] = _chosen(*args)
        elif node.op == "ne" and not is_scalar(args[0]) and _is_zero(args[1]):
            made[id(node)] = Expr("cast", args[0], "bool")  # takes a quarter of a comparison's time
        else:
            made[id(node)] = Expr(node.op, *args)
    return made[id(root)]


def _chosen(condition: Expr, a: Expr, b: Expr) -> Expr:
    plain = Expr("where", condition, a, b)
    if is_scalar(a) and is_scalar(b):
        return plain
    if condition.op == "cast" and condition.args[1] == "bool":
        if _is_zero(b):
            return Expr("_only_true", condition.args[0], a)
        return Expr("_only_false", condition.args[0], b) if _is_zero(a) else plain
    if condition.op not in COMPARISONS or is_scalar(condition.args[0]):
        return plain
    if _is_zero(b):
        return Expr("_only_where", condition.op, *condition.args, a)
    if _is_zero(a) and condition.op in ("eq", "ne"):
        return Expr("_only_where", "ne" if condition.op == "eq" else "eq", *condition.args, b)
    if _is_zero(a):  # the opposite of `<` is not `>=`, for NaN is neither
        return Expr("_only_elsewhere", condition.op, *condition.args, b)
    return plain


def _is_zero(node: Expr) -> bool:
    return node.op == "const" and node.args[0] == 0


def call(node: Expr, names: dict[int, str]) -> str:
    """One step as an ATen expression; `names` of the operands are those of tensors or numbers."""
    # ATen multiplies a boolean like a number and keeps the other operand's dtype, which is what a formula means.
    op = node.op
    args = [names[id(a)] if isinstance(a, Expr) else repr(a) for a in node.args]
    if op in INFIX:
        return _infix(node, args)
    if op == "neg":
        return f"-{args[0]}"
    if op in REDUCTIONS:
        return f"{args[0]}.expand(x0.shape).{_REDUCING[op]}(row, keepdim=True)"
    if op == "where":
        return _where(node, args)
    if op in ("_only_where", "_only_elsewhere"):
        return f"{op}(torch.{node.args[0]}, {', '.join(args[1:])})"
    if op in ("_only_true", "_only_false"):
        return f"{op}({', '.join(args)})"
    if op == "cast":
        return f"{args[0]}.to(torch.{node.args[1]})"
    if op in ("maximum", "minimum") and any(map(is_scalar, node.args)):
        tensor, scalar = args if is_scalar(node.args[1]) else reversed(args)
        if not any(map(is_const, node.args)):  # those of formulas are small
            scalar = f"_within({scalar}, {tensor}.dtype)"
        return f"torch.clamp({tensor}, {'min' if op == 'maximum' else 'max'}={scalar})"
    if op in ("polygamma1", "polygamma2"):
        return f"torch.special.polygamma({op[-1]}, {args[0]})"
    if op == "cbrt":
        return f"torch.copysign(torch.abs({args[0]}) ** (1.0 / 3.0), {args[0]})"
    if op == "round_away":
        away = f"torch.sign({args[0]}) * torch.floor(torch.abs({args[0]}) + 0.5)"
        return f"({away} if {args[0]}.is_floating_point() else {args[0]}.clone())"
    if op in ("mod", "fmod", "floordiv"):
        return _remainder(node, args)
    return f"{_RENAMED.get(op, 'torch.' + op)}({', '.join(_tensors(node, args))})"


def _infix(node: Expr, args: list[str]) -> str:
    a, b = node.args
    if node.op == "div" and is_scalar(a) and not is_scalar(b):
        # `number / tensor` multiplies by the reciprocal, which rounds twice; only that of 1 is the quotient itself.
        if is_const(a, 1):
            return f"torch.reciprocal({args[1]})"
        return f"torch.div(torch.as_tensor({args[0]}, dtype=torch.float64), {args[1]})"
    return f"{args[0]} {INFIX[node.op]} {args[1]}"


def _where(node: Expr, args: list[str]) -> str:
    condition, a, b = node.args
    if is_scalar(a) and is_scalar(b):
        kind = "x0.dtype if x0.is_floating_point() else torch.float32"  # two numbers alone would be float32
        scalars = ", ".join(f"torch.as_tensor({a}, dtype={kind}, device=x0.device)" for a in args[1:])
        return f"torch.where({args[0]}, {scalars})"
    if is_scalar(condition):
        return f"({args[1]} if {args[0]} else {args[2]})"
    return f"torch.where({args[0]}, {args[1]}, {args[2]})"


def _remainder(node: Expr, args: list[str]) -> str:
    other = _first_tensor(node, args)
    if node.op == "fmod" or is_scalar(node.args[0]):  # the others take a number as second operand
        args = _like(other, node, args)
    function = {"mod": "remainder", "fmod": "fmod", "floordiv": "floor_divide"}[node.op]
    exact = f"_divided(torch.{function}, {', '.join(args)})"
    if node.op != "floordiv":
        return exact
    return f"(torch.floor({' / '.join(args)}) if {other}.is_floating_point() else {exact})"


def _tensors(node: Expr, args: list[str]) -> list[str]:
    """The operands of a function that takes tensors alone: numbers among them become some."""
    if node.op in ("logical_and", "logical_or", "logical_xor"):
        return [a if not is_scalar(n) else f"torch.as_tensor({a})" for a, n in zip(args, node.args, strict=True)]
    if node.op in _OF_ONE_DTYPE:
        args = _like(_first_tensor(node, args), node, args)
        if node.op == "hypot":  # ATen's is for fractions; the result takes the formula's type in the end
            args = [f"({a} if {a}.is_floating_point() else {a}.double())" for a in args]
    elif all(map(is_scalar, node.args)):
        args = [f"torch.as_tensor({a}, dtype=x0.dtype, device=x0.device)" for a in args]
    return args


def _first_tensor(node: Expr, args: list[str]) -> str | None:
    return next((a for a, n in zip(args, node.args, strict=True) if not is_scalar(n)), None)


def _like(other: str | None, node: Expr, args: list[str]) -> list[str]:
    """The operands, numbers among them as tensors of the dtype and device of `other`."""
    return [
        f"torch.as_tensor({a}, dtype={other}.dtype, device={other}.device)" if is_scalar(n) else a
        for a, n in zip(args, node.args, strict=True)
    ]


_OF_ONE_DTYPE = frozenset("atan2 hypot copysign ldexp gcd lcm nextafter fmax fmin".split())
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<",
    "right_shift": ">>",
}  # fmt: skip
_REDUCING = {
    "row_sum": "sum", "row_mean": "mean", "row_max": "amax", "row_min": "amin",
    "row_fmax": "nan_to_num(-torch.inf, torch.inf, -torch.inf).amax",
}  # fmt: skip
_RENAMED = {
    "rint": "torch.round",
    "gamma_slope": "torch._standard_gamma_grad",
}  # fmt: skip


def clamped(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    if -LARGEST_HALF <= low <= LARGEST_HALF and -LARGEST_HALF <= high <= LARGEST_HALF:
        return torch.clamp(x, low, high)
    return torch.clamp(x, within(low, x.dtype), within(high, x.dtype))


def _only_where(compare: Callable, a, b, x: torch.Tensor) -> torch.Tensor:
    """`x` where `compare(a, b)`, else 0: by vectors, where `torch.where` branches for each element."""
    if x.dtype not in FULL:
        return torch.where(compare(a, b), x, 0)
    return _threshold_backward(x, compare(a, b, out=x.new_empty(0)), 0)


def _only_true(mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`x` where `mask` is not 0, else 0."""
    return torch.where(mask, x, 0) if mask.dtype is torch.bool else _only_where(torch.ne, mask, 0, x)


def _only_false(mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`x` where `mask` is 0, else 0."""
    return torch.where(mask, 0, x) if mask.dtype is torch.bool else _only_where(torch.eq, mask, 0, x)


def _only_elsewhere(compare: Callable, a, b, x: torch.Tensor) -> torch.Tensor:
    """0 where `compare(a, b)`, else `x`."""
    if x.dtype not in FULL:
        return torch.where(compare(a, b), 0, x)
    return _threshold_backward(x, compare(a, b, out=x.new_empty(0)).neg_(), -0.5)


def only_inside(data: torch.Tensor, low: float, high: float, x: torch.Tensor) -> torch.Tensor:
    """`x` where `data` is neither below `low` nor above `high`, NaN included, else 0."""
    if x.dtype not in FULL:
        return torch.where((data > high) | (data < low), 0, x)
    above = _threshold_backward(x, data, _next_below(low, data.dtype))
    return _threshold_backward_to(above, data.neg(), _next_below(-high, data.dtype), grad_input=above)


@functools.lru_cache(64)
def _next_below(bound: float, dtype: torch.dtype) -> float:
    """The largest number of the type below `bound`; NaN where there is none."""
    bound = torch.tensor(bound, dtype=dtype)
    return math.nan if bound == -math.inf else float(torch.nextafter(bound, torch.full_like(bound, -math.inf)))


def _divided(function: Callable, a: torch.Tensor, b: torch.Tensor | float) -> torch.Tensor:
    """A remainder or a whole quotient of a and b; 0 where b is 0, as in MXNet."""
    if not isinstance(b, torch.Tensor):
        return function(a, b) if b else torch.zeros_like(a)
    nothing = b == 0
    return function(a, b.masked_fill(nothing, 1)).masked_fill_(nothing, 0)


SCOPE = {  # what the source may name
    "torch": torch,
    "aten": aten,
    "_only_where": _only_where,
    "_only_elsewhere": _only_elsewhere,
    "_only_true": _only_true,
    "_only_false": _only_false,
    "_divided": _divided,
    "_within": within,
}
