"""Pointwise formulas written into the source of a plan: one ATen call per step,
into memory that is free where there is some.

The numbers are those of `core.kernels.cpu.pointwise`, which writes the same calls as a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from core.kernels.contracts.rules import broadcast, empty
from core.kernels.cpu._half import HALF
from core.kernels.cpu._steps import SCOPE, call, is_scalar, lowered
from core.kernels.cpu.pointwise import FAST, _compiled
from core.kernels.formula import Expr, Formula, literal, postorder

aten = torch.ops.aten

# formula name -> what computes it into the memory of its first operand
FAST_IN_PLACE: dict[str, Callable] = {
    "relu": torch.relu_,
    "relu_grad0": lambda dy, out: aten.threshold_backward.grad_input(dy, out, 0, grad_input=dy),
    "sigmoid": torch.sigmoid_,
    "sigmoid_grad0": lambda dy, out: aten.sigmoid_backward.grad_input(dy, out, grad_input=dy),
    "tanh": torch.tanh_,
    "tanh_grad0": lambda dy, out: aten.tanh_backward.grad_input(dy, out, grad_input=dy),
    "gelu": lambda x: aten.gelu_.default(x),
    "gelu_grad0": lambda dy, x: aten.gelu_backward.grad_input(dy, x, grad_input=dy),
    "silu": lambda x: aten.silu_.default(x),
    "hard_swish": lambda x: aten.hardswish_.default(x),
    "hard_gate": lambda x: aten.hardsigmoid_.default(x),
    "scaled": lambda x, scale, shift: torch.addcmul(shift, x, scale, out=x),
    "relu6": lambda x: aten.clamp_.default(x, 0.0, 6.0),
    "leaky_relu": lambda x, slope: aten.leaky_relu_.default(x, slope),
    "leaky_relu_grad0": lambda dy, x, slope: aten.leaky_relu_backward.grad_input(dy, x, slope, False, grad_input=dy),
    "square": torch.square_,
}
_IN_PLACE = {"add": "add_", "sub": "sub_", "mul": "mul_", "div": "div_"}
_UNARY = frozenset(
    "abs neg exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfinv "
    "lgamma digamma sigmoid floor ceil trunc sign".split()
)
_NAMED = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow"}


def inline(
    formula: Formula,
    operands: Sequence[tuple[str, torch.Tensor, bool]],
    attrs: Sequence,
    dtype: torch.dtype,
    target: str,
) -> tuple[list[str], dict[str, object], list[str], str | None] | None:
    """Lines that assign `formula` of the operands, as `dtype`, to `target`; what they name; names to delete; the
    operand whose memory holds the result, if one does. None where it cannot be computed in this type.

    operands: (variable, tensor without memory like it, whether its memory may be written to) each. attrs: numbers, in
    the order of the formula.
    """
    metas = [meta for _, meta, _ in operands]
    function = _compiled(formula, metas[0].dtype)
    # Dtypes are found out on single elements: ATen needs Python, and its compiler, for tensors without memory.
    try:
        found = function(*map(_one, metas), *attrs)
    except NotImplementedError:
        return None  # ATen does not compute it in this type, as the kernel will say
    result = _like(found, broadcast([meta.shape for meta in metas]))
    convert = "" if result.dtype is dtype else f".to({dtype})"
    half = metas[0].dtype in HALF
    if formula.name in FAST or half:
        short, position = FAST_IN_PLACE.get(formula.name), None
        if short is not None and operands[0][2] and _takes(metas[0], result) and not half:
            function, position = short, None if convert else operands[0][0]
        name = f"f_{target}"
        arguments = ", ".join([variable for variable, _, _ in operands] + [literal(a) for a in attrs])
        return [f"{target} = {name}({arguments}){convert}"], {name: function, **SCOPE}, [], position
    return _steps(formula, operands, attrs, convert, target)


def _steps(formula, operands, attrs, convert, target):
    outcome = lowered(formula.root)
    order = postorder([outcome])
    last = {id(a): node for node in order for a in node.args if isinstance(a, Expr)}
    names: dict[int, str] = {}
    tensors: dict[str, object] = {}  # numbers too
    free: dict[str, bool] = {}
    values = dict(zip(formula.attrs, attrs, strict=True))
    lines, made = [], []
    origin: dict[str, str | None] = {}  # the operand whose memory a variable lies in
    for node in order:
        if node.op == "input":
            name, tensors[name], free[name] = operands[node.args[0]]
            names[id(node)] = name
            # An operand that is named twice is nobody's to overwrite before the last of both is read.
            if sum(variable == name for variable, _, _ in operands) > 1:
                free[name] = False
        elif node.op in ("attr", "const"):
            names[id(node)] = literal(values[node.args[0]] if node.op == "attr" else node.args[0])
        else:
            text = call(node, names)
            shapes = [tensors[names[id(a)]] for a in node.args if isinstance(a, Expr) and names[id(a)] in tensors]
            single = {name: _one(t) for name, t in tensors.items()}
            found = eval(text, dict(SCOPE), {**single, "x0": _one(operands[0][1])})  # the text is our own
            if isinstance(found, torch.Tensor):
                found = _like(found, broadcast([t.shape for t in shapes if isinstance(t, torch.Tensor)]))
            text = text.replace("x0.", f"{operands[0][0]}.")
            position = None
            if isinstance(found, torch.Tensor):
                position = _position(node, names, tensors, free, last, found)
            if position is not None:
                text = _into(node, names, position)
                free[position] = False
            name = f"{target}_{len(made)}"
            lines.append(f"{name} = {text}")
            made.append(name)
            origin[name] = None if position is None else origin.get(position, position)
            names[id(node)] = name
            tensors[name], free[name] = found, isinstance(found, torch.Tensor)
    root = names[id(outcome)]
    if outcome.op in ("const", "attr"):
        root = f"torch.full_like({operands[0][0]}, {root})"
    position = None if convert else origin.get(root)
    if made and root == made[-1]:
        made.pop()
        lines[-1] = target + lines[-1].removeprefix(root)
        root = target
    if root != target or convert:
        lines.append(f"{target} = {root}{convert}")
    return lines, SCOPE, made, position


def _position(node: Expr, names, tensors, free, last, result) -> str | None:
    """The operand of a step whose memory takes its result, if there is one."""
    if node.op not in _NAMED and node.op not in _UNARY:
        return None
    for k, a in enumerate(node.args):
        name = names[id(a)]
        if free.get(name) and last[id(a)] is node and _takes(tensors[name], result):
            scalar = [isinstance(b, Expr) and is_scalar(b) for b in node.args]
            if k == 0 or node.op in ("add", "mul") or (not any(scalar) and node.op in ("sub", "div")):
                return name
    return None


def _into(node: Expr, names, position: str) -> str:
    """The step that writes to the memory of `position`."""
    if node.op in _UNARY:
        return f"{position}.{node.op}_()"
    a, b = (names[id(x)] for x in node.args)
    if node.op in _IN_PLACE and position == a:
        return f"{a}.{_IN_PLACE[node.op]}({b})"
    if node.op in ("add", "mul"):
        return f"{b}.{_IN_PLACE[node.op]}({a})"
    return f"torch.{_NAMED[node.op]}({a}, {b}, out={position})"


def _one(value):
    """One element of the dtype and the rank of a tensor; a number itself."""
    return torch.ones((1,) * value.dim(), dtype=value.dtype) if isinstance(value, torch.Tensor) else value


def _like(one: torch.Tensor, shape) -> torch.Tensor:
    return empty(shape, one.dtype)


def _takes(tensor: torch.Tensor, result: torch.Tensor) -> bool:
    return tensor.dtype is result.dtype and tensor.shape == result.shape and tensor.is_floating_point()
