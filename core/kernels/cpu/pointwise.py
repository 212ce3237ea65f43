"""Pointwise formulas on the CPU: a chain of ATen calls generated from the expression graph.

`FAST` names the ATen operator that computes a whole formula, where there is one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from core import storage
from core.kernels.cpu._codes import codes, scaled_codes, summed_codes
from core.kernels.formula import REDUCTIONS, Expr, Formula, postorder
from core.kernels.row_program import COLUMN, ROW, WHOLE, Result, RowProgram

aten = torch.ops.aten
_bindings = torch._C._nn  # those of ATen's operators that stand apart in Python: a call without comparing signatures
HALF = (torch.float16, torch.bfloat16)
FULL = (torch.float32, torch.float64)

# formula name -> function of (operands..., attributes...) in the formula's order
FAST: dict[str, Callable] = {
    "relu": torch.relu,
    "relu_grad0": lambda head, out: aten.threshold_backward.default(head, out, 0),
    "sigmoid": torch.sigmoid,
    "sigmoid_grad0": lambda head, out: aten.sigmoid_backward.default(head, out),
    "tanh": torch.tanh,
    "tanh_grad0": lambda head, out: aten.tanh_backward.default(head, out),
    "gelu": _bindings.gelu,
    "gelu_grad0": lambda head, x: aten.gelu_backward.default(head, x),
    "gelu_tanh": lambda x: aten.gelu.default(x, approximate="tanh"),
    "gelu_tanh_grad0": lambda head, x: aten.gelu_backward.default(head, x, approximate="tanh"),
    "silu": lambda x: aten.silu.default(x),
    "softplus": _bindings.softplus,
    "softrelu": _bindings.softplus,
    "softrelu_grad0": lambda head, x: aten.softplus_backward.default(head, x, 1, 20),
    "leaky_relu": _bindings.leaky_relu,
    "leaky_relu_grad0": lambda head, x, slope: aten.leaky_relu_backward.default(head, x, slope, False),
    "elu": lambda x, slope: aten.elu.default(x, slope),
    "elu_grad0": lambda head, x, out, slope: aten.elu_backward.default(head, slope, 1, 1, True, out),
    "square": torch.square,
    "clip": torch.clamp,
    "codes": codes,
    "scaled_codes": scaled_codes,
    "summed_codes": summed_codes,
    "clip_grad0": lambda head, data, high, low: _only_where(torch.eq, data, data.clamp(low, high), head),
}
COMPARISONS = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


def pointwise(formula: Formula, tensors: Sequence[torch.Tensor], attrs: Sequence[float], dtype: torch.dtype):
    """`formula` applied to broadcast `tensors`, with `attrs` in the formula's order; the result has `dtype`."""
    result = _compiled(formula, tensors[0].dtype)(*tensors, *attrs)
    return result if result.dtype is dtype else result.to(dtype)


def pointwise_rows(program: RowProgram, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results of a row program over `tensors`, floating point, which broadcast to its shape and have elements."""
    operands = [t.expand(program.shape) for t in tensors]
    kind = functools.reduce(torch.promote_types, {*(t.dtype for t in tensors), torch.float32})
    found = _row_function(tuple(r.root for r in program.results), len(tensors))(
        *(t.to(kind) for t in operands), program.row_axes
    )
    return tuple(_row_result(r, x, program) for r, x in zip(program.results, found, strict=True))


def _row_result(result: Result, x: torch.Tensor, program: RowProgram) -> torch.Tensor:
    x = x.expand(program.shape).reshape(program.rows, program.columns)
    x = {WHOLE: lambda: x, ROW: lambda: x[:, 0], COLUMN: lambda: x.sum(0)}[result.kind]()
    return x.reshape(result.shape).to(storage.TORCH[result.dtype])


@functools.cache
def _row_function(roots: tuple[Expr, ...], count: int) -> Callable:
    """The function of (operands..., axes of a row) that gives the values of `roots`."""
    names: dict[int, str] = {}
    lines = _steps(roots, names)
    arguments = [f"x{i}" for i in range(count)]
    scope = dict(_SCOPE)
    values = "".join(f"torch.as_tensor({names[id(r)]}), " for r in roots)
    exec("\n".join([f"def rows({', '.join(arguments)}, row):", *lines, f"    return {values}"]), scope)
    return scope["rows"]


def _typed(formula: Formula, dtype: torch.dtype, operands: Sequence) -> Callable:
    """The function of (operands..., attributes...) that computes `formula` for operands, and a result, of `dtype`."""
    function = _compiled(formula, dtype)
    if function(*operands).dtype is dtype:
        return function
    compare = COMPARISONS.get(formula.root.op)
    if compare is not None and all(a.op == "input" for a in formula.root.args):  # written in its type at once
        first, second = (a.args[0] for a in formula.root.args)
        return lambda *x: compare(x[first], x[second], out=x[first].new_empty(0))
    return lambda *x: function(*x).to(dtype)


def _only_where(compare: Callable, a, b, x: torch.Tensor) -> torch.Tensor:
    """`x` where `compare(a, b)`, else 0: by vectors, where `torch.where` takes a branch an element."""
    if x.dtype not in FULL or x.is_meta:
        return torch.where(compare(a, b), x, 0)
    return aten.threshold_backward.default(x, compare(a, b, out=x.new_empty(0)), 0)


def _only_elsewhere(compare: Callable, a, b, x: torch.Tensor) -> torch.Tensor:
    """0 where `compare(a, b)`, else `x`."""
    if x.dtype not in FULL or x.is_meta:
        return torch.where(compare(a, b), 0, x)
    return aten.threshold_backward.default(x, compare(a, b, out=x.new_empty(0)).neg_(), -0.5)


def _compiled(formula: Formula, dtype: torch.dtype) -> Callable:
    """The function of (operands..., attributes...) that computes `formula` for a first operand of `dtype`."""
    variant = "torch half" if dtype in HALF else "torch"
    return formula.compiled.get(variant) or _compile(formula, variant)


def _compile(formula: Formula, variant: str) -> Callable:
    fast = FAST.get(formula.name)
    if fast is None:
        scope = {**_SCOPE, "HALF": HALF}
        exec(_source(formula, upcast=variant == "torch half"), scope)
        fast = scope["formula"]
    formula.compiled[variant] = fast
    return fast


def _source(formula: Formula, upcast: bool = False) -> str:
    """Python source of a function `formula(operands..., attributes...)` made of ATen calls.

    With `upcast` half-precision operands are widened first, so that a chain of several steps rounds once.
    """
    root = _lowered(formula.root)
    order = postorder([root])
    steps = [n for n in order if n.op not in ("input", "attr", "const")]
    names: dict[int, str] = {}
    lines = []
    arguments = [f"x{i}" for i in range(len(formula.inputs))] + [f"attr_{a}" for a in formula.attrs]
    if upcast and len(steps) > 1:
        lines += [f"    x{i} = x{i}.float() if x{i}.dtype in HALF else x{i}" for i in range(len(formula.inputs))]
    lines += _steps([root], names)
    result = names[id(root)]
    if root.op in ("const", "attr"):
        result = f"torch.full_like(x0, {result})"
    return "\n".join([f"def formula({', '.join(arguments)}):", *lines, f"    return {result}"])


def _steps(roots: Sequence[Expr], names: dict[int, str]) -> list[str]:
    """Lines that compute `roots`; `names` gets what the value of each node is called."""
    lines = []
    for node in postorder(roots):
        if node.op == "input":
            names[id(node)] = f"x{node.args[0]}"
        elif node.op == "attr":
            names[id(node)] = f"attr_{node.args[0]}"
        elif node.op == "const":
            names[id(node)] = _literal(node.args[0])
        else:
            name = f"t{len(names)}"
            lines.append(f"    {name} = {_call(node, names)}")
            names[id(node)] = name
    return lines


def _literal(value) -> str:
    return (
        f"float('{value}')"
        if isinstance(value, float) and (value != value or abs(value) == float("inf"))
        else repr(value)
    )


def _divided(function: Callable, a: torch.Tensor, b: torch.Tensor | float) -> torch.Tensor:
    """A remainder or a whole quotient of a and b; 0 where b is 0, as in MXNet."""
    if not isinstance(b, torch.Tensor):
        return function(a, b) if b else torch.zeros_like(a)
    nothing = b == 0
    return function(a, b.masked_fill(nothing, 1)).masked_fill_(nothing, 0)


_SCOPE = {
    "torch": torch,
    "aten": aten,
    "_only_where": _only_where,
    "_only_elsewhere": _only_elsewhere,
    "_divided": _divided,
}  # of such sources
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
_REDUCING = {
    "row_sum": "sum", "row_mean": "mean", "row_max": "amax", "row_min": "amin",
    "row_fmax": "nan_to_num(-torch.inf, torch.inf, -torch.inf).amax",
}  # fmt: skip
RENAMED = {
    "rint": "torch.round",
    "gamma_slope": "torch._standard_gamma_grad",
}  # fmt: skip


def _is_scalar(node: Expr) -> bool:
    """Whether a node is a Python number when the generated code runs."""
    return node.op in ("const", "attr") or (
        node.op not in ("input",) and all(_is_scalar(a) for a in node.args if isinstance(a, Expr)) and bool(node.args)
    )


def _lowered(root: Expr) -> Expr:
    """The expression with the steps that the CPU takes in a way of its own, instead of a choice between two operands."""
    made: dict[int, Expr] = {}
    for node in postorder([root]):
        args = [made[id(a)] if isinstance(a, Expr) else a for a in node.args]
        made[id(node)] = _chosen(*args) if node.op == "where" else Expr(node.op, *args)
    return made[id(root)]


def _chosen(condition: Expr, a: Expr, b: Expr) -> Expr:
    if condition.op not in COMPARISONS or _is_scalar(condition.args[0]) or (_is_scalar(a) and _is_scalar(b)):
        return Expr("where", condition, a, b)
    if _is_zero(b):
        return Expr("_only_where", condition.op, *condition.args, a)
    if _is_zero(a) and condition.op in ("eq", "ne"):
        return Expr("_only_where", "ne" if condition.op == "eq" else "eq", *condition.args, b)
    if _is_zero(a):  # the opposite of `<` is not `>=`, for NaN is neither
        return Expr("_only_elsewhere", condition.op, *condition.args, b)
    if condition.op == "ne" and _is_zero(condition.args[1]):  # a conversion takes a quarter of a comparison's time
        condition = Expr("cast", condition.args[0], "bool")
    return Expr("where", condition, a, b)


def _is_zero(node: Expr) -> bool:
    return node.op == "const" and node.args[0] == 0


def _call(node: Expr, names: dict[int, str]) -> str:
    """One step as an ATen expression."""
    op = node.op
    args = [names[id(a)] if isinstance(a, Expr) else repr(a) for a in node.args]
    # ATen multiplies a boolean like a number and keeps the other operand's dtype, which is what a formula means
    if op == "div" and _is_scalar(node.args[0]) and not _is_scalar(node.args[1]) and node.args[0].args != (1,):
        # `number / tensor` multiplies by the reciprocal, which rounds twice; only that of 1 is the quotient itself.
        return f"torch.div(torch.as_tensor({args[0]}, dtype=torch.float64), {args[1]})"
    if op in INFIX:
        return f"{args[0]} {INFIX[op]} {args[1]}"
    if op == "neg":
        return f"-{args[0]}"
    if op in REDUCTIONS:
        return f"{args[0]}.expand(x0.shape).{_REDUCING[op]}(row, keepdim=True)"
    if op == "where":
        condition, a, b = node.args
        if _is_scalar(a) and _is_scalar(b):
            kind = "x0.dtype if x0.is_floating_point() else torch.float32"  # two numbers alone would be float32
            scalars = ", ".join(f"torch.as_tensor({a}, dtype={kind}, device=x0.device)" for a in args[1:])
            return f"torch.where({args[0]}, {scalars})"
        if _is_scalar(condition):
            return f"({args[1]} if {args[0]} else {args[2]})"
        return f"torch.where({args[0]}, {args[1]}, {args[2]})"
    if op in ("_only_where", "_only_elsewhere"):
        return f"{op}(torch.{node.args[0]}, {', '.join(args[1:])})"
    if op == "cast":
        return f"{args[0]}.to(torch.{node.args[1]})"
    if op in ("maximum", "minimum"):
        bound = "min" if op == "maximum" else "max"
        for tensor, scalar in ((0, 1), (1, 0)):
            if _is_scalar(node.args[scalar]):
                return f"torch.clamp({args[tensor]}, {bound}={args[scalar]})"
    if op in ("polygamma1", "polygamma2"):
        return f"torch.special.polygamma({op[-1]}, {args[0]})"
    if op == "cbrt":
        return f"torch.copysign(torch.abs({args[0]}) ** (1.0 / 3.0), {args[0]})"
    if op == "round_away":
        away = f"torch.sign({args[0]}) * torch.floor(torch.abs({args[0]}) + 0.5)"
        return f"({away} if {args[0]}.is_floating_point() else {args[0]}.clone())"
    if op in ("logical_and", "logical_or", "logical_xor"):
        args = [a if not _is_scalar(n) else f"torch.as_tensor({a})" for a, n in zip(args, node.args, strict=True)]
    elif op in (
        "atan2",
        "hypot",
        "copysign",
        "ldexp",
        "mod",
        "fmod",
        "floordiv",
        "gcd",
        "lcm",
        "nextafter",
        "fmax",
        "fmin",
    ):
        other = next((a for a, n in zip(args, node.args, strict=True) if not _is_scalar(n)), None)
        if op in ("mod", "floordiv") and not _is_scalar(node.args[0]):
            pass  # these take a scalar second operand
        else:
            args = [
                f"torch.as_tensor({a}, dtype={other}.dtype, device={other}.device)" if _is_scalar(n) else a
                for a, n in zip(args, node.args, strict=True)
            ]
        if op in ("mod", "fmod", "floordiv"):
            function = {"mod": "remainder", "fmod": "fmod", "floordiv": "floor_divide"}[op]
            exact = f"_divided(torch.{function}, {', '.join(args)})"
            if op != "floordiv":
                return exact
            return f"(torch.floor({' / '.join(args)}) if {other}.is_floating_point() else {exact})"
        if op == "hypot":  # ATen's is for fractions; the result takes the formula's type in the end
            args = [f"({a} if {a}.is_floating_point() else {a}.double())" for a in args]
    elif all(_is_scalar(n) for n in node.args):
        args = [f"torch.as_tensor({a}, dtype=x0.dtype, device=x0.device)" for a in args]
    return f"{RENAMED.get(op, 'torch.' + op)}({', '.join(args)})"
