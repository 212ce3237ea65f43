"""Pointwise formulas on the CPU: a chain of ATen calls generated from the expression graph.

`FAST` names the ATen operator that computes a whole formula, where there is one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

import torch

from core import storage
from core.kernels.cpu._direct import direct
from core.kernels.cpu._half import HALF
from core.kernels.cpu._quantized import quantized, scaled_quantized, summed_quantized
from core.kernels.cpu._steps import COMPARISONS, INFIX, SCOPE, call, clamped, lowered, only_inside, steps
from core.kernels.formula import Expr, Formula, postorder
from core.kernels.row_program import COLUMN, ROW, WHOLE, Result, RowProgram

aten = torch.ops.aten
_bindings = torch._C._nn  # those of ATen's operators that stand apart in Python: a call without comparing signatures
_threshold_backward, _gelu_backward = direct(aten.threshold_backward.default), direct(aten.gelu_backward.default)
_softplus_backward, _elu_backward = direct(aten.softplus_backward.default), direct(aten.elu_backward.default)
_leaky_relu_backward = direct(aten.leaky_relu_backward.default)

# formula name -> function of (operands..., attributes...) in the formula's order
FAST: dict[str, Callable] = {
    "relu": torch.relu,
    "relu_grad0": lambda dy, out: _threshold_backward(dy, out, 0),
    "sigmoid": torch.sigmoid,
    "sigmoid_grad0": direct(aten.sigmoid_backward.default),
    "tanh": torch.tanh,
    "tanh_grad0": direct(aten.tanh_backward.default),
    "gelu": _bindings.gelu,
    "gelu_grad0": direct(aten.gelu_backward.default),
    "gelu_tanh": lambda x: _bindings.gelu(x, approximate="tanh"),
    "gelu_tanh_grad0": lambda dy, x: _gelu_backward(dy, x, approximate="tanh"),
    "silu": _bindings.silu,
    "hard_swish": _bindings.hardswish,
    "hard_gate": _bindings.hardsigmoid,
    "relu6": _bindings.relu6,
    "scaled": lambda x, scale, shift: torch.addcmul(shift, x, scale),
    "softplus": _bindings.softplus,
    "softrelu": _bindings.softplus,
    "softrelu_grad0": lambda dy, x: _softplus_backward(dy, x, 1, 20),
    "leaky_relu": _bindings.leaky_relu,
    "leaky_relu_grad0": lambda dy, x, slope: _leaky_relu_backward(dy, x, slope, False),
    "elu": _bindings.elu,
    # ATen takes results of a slope from 0 on alone.
    "elu_grad0": lambda dy, x, y, slope: _elu_backward(dy, slope, 1, 1, slope >= 0, y if slope >= 0 else x),
    "square": torch.square,
    "clip": clamped,
    "nearest": quantized,
    "nearest_scaled": scaled_quantized,
    "nearest_summed": summed_quantized,
    "clip_grad0": lambda dy, data, high, low: only_inside(data, low, high, dy),
}
_OPERATORS: dict[str, Callable] = {
    "neg": operator.neg, "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "pow": torch.pow,
}  # fmt: skip
_BOTH = Expr("input", 0), Expr("input", 1)


def pointwise(formula: Formula, tensors: Sequence[torch.Tensor], attrs: Sequence[float], dtype: torch.dtype):
    result = _compiled(formula, tensors[0].dtype)(*tensors, *attrs)
    return result if result.dtype is dtype else result.to(dtype)


def pointwise_rows(program: RowProgram, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
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
    lines = steps(roots, names)
    arguments = [f"x{i}" for i in range(count)]
    scope = dict(SCOPE)
    values = "".join(f"torch.as_tensor({names[id(r)]}), " for r in roots)
    exec("\n".join([f"def rows({', '.join(arguments)}, row):", *lines, f"    return {values}"]), scope)
    return scope["rows"]


def _typed(formula: Formula, dtype: torch.dtype, operands: Sequence) -> Callable:
    """The function of (operands..., attributes...) that computes `formula` for operands, and a result, of `dtype`."""
    function = _compiled(formula, dtype)
    single = [x.new_ones(()) if isinstance(x, torch.Tensor) else x for x in operands]
    if function(*operands).dtype is dtype and function(*single).dtype is dtype:  # 0-d operands have ATen's promotion
        return function
    compare = COMPARISONS.get(formula.root.op)
    if compare is not None and formula.root.args == _BOTH:  # written in its type at once
        return lambda a, b: compare(a, b, out=a.new())  # an empty tensor, made in two thirds of new_empty's time
    return lambda *x: result if (result := function(*x)).dtype is dtype else result.to(dtype)


def _compiled(formula: Formula, dtype: torch.dtype) -> Callable:
    """The function of (operands..., attributes...) that computes `formula` for a first operand of `dtype`."""
    variant = "torch half" if dtype in HALF else "torch"
    return formula.compiled.get(variant) or _compile(formula, variant)


def _compile(formula: Formula, variant: str) -> Callable:
    fast = FAST.get(formula.name) or _single_step(formula)
    if fast is None:
        scope = {**SCOPE, "HALF": HALF}
        exec(_source(formula, upcast=variant == "torch half"), scope)
        fast = scope["formula"]
    formula.compiled[variant] = fast
    return fast


def _single_step(formula: Formula) -> Callable | None:
    """The function of ATen's that a formula is, where it is one step on its operands and attributes in their order."""
    root = lowered(formula.root)
    order = [("input", i) for i in range(len(formula.inputs))] + [("attr", a) for a in formula.attrs]
    if [(a.op, *a.args) if isinstance(a, Expr) else a for a in root.args] != order:
        return None
    arguments = [f"x{a}" if kind == "input" else f"attr_{a}" for kind, a in order]
    source = call(root, {id(a): name for a, name in zip(root.args, arguments, strict=True)})
    if source == f"torch.{root.op}({', '.join(arguments)})":
        return getattr(torch, root.op)
    if source in (f"-{arguments[0]}", f" {INFIX.get(root.op)} ".join(arguments)):
        return _OPERATORS.get(root.op)
    return None


def _source(formula: Formula, upcast: bool = False) -> str:
    """Python source of a function `formula(operands..., attributes...)` made of ATen calls.

    With `upcast` half-precision operands are widened first, so that a chain of several steps rounds once.
    """
    root = lowered(formula.root)
    order = postorder([root])
    computed = [n for n in order if n.op not in ("input", "attr", "const")]
    names: dict[int, str] = {}
    lines = []
    arguments = [f"x{i}" for i in range(len(formula.inputs))] + [f"attr_{a}" for a in formula.attrs]
    if upcast and len(computed) > 1:
        lines += [f"    x{i} = x{i}.float() if x{i}.dtype in HALF else x{i}" for i in range(len(formula.inputs))]
    lines += steps([root], names)
    result = names[id(root)]
    if root.op in ("const", "attr"):
        result = f"torch.full_like(x0, {result})"
    return "\n".join([f"def formula({', '.join(arguments)}):", *lines, f"    return {result}"])
