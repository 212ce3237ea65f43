"""The operator table: one entry per operator, from which every namespace is derived.

Entries are made by three decorators:

- `operator`: a primitive. The decorated function is the forward rule; it gets tensors and typed
  attributes and calls one function of `core.kernels`.
- `pointwise`: a scalar formula (`core.kernels.formula`); kernel and gradient are derived.
- `composite`: an expression over other operators on values (arrays or symbols); its gradient is free.

Signature of the decorated function: positional parameters are inputs (default None: optional; `*data`:
any number), keyword-only parameters are attributes, annotated with a type of `core.ops.attributes`.

`gradient(op)` decorates the gradient rule of a primitive. The names of its parameters say what it
reads, and only that is kept on the tape: `dy` (`dy1`, ...; `dys` for all) for the output gradients,
names of inputs, `out` (`out1`, ...), `<input>_shape`, `<input>_dtype`, `shapes` (of all inputs), `attrs`
(namespace of attributes) and `needs` (one bool per input). It returns one gradient per input (None: zero), written
with operators (`F`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from core.base import MXNetError, nearest
from core.ops.record import NULL, REQUIRED, Bound, Operator
from core.ops.values import Namespace, Value

__all__ = [
    "NULL", "REQUIRED", "TABLE", "Bound", "F", "Operator", "composite", "decompose", "get", "gradient",
    "gradients_through", "infer", "npx_operator", "operator", "register", "specialize", "takes", "tell",
]  # fmt: skip

TABLE: dict[str, Operator] = {}


def get(name: str) -> Operator:
    """The entry called `name` (or having it as an alias); MXNetError with the nearest name otherwise."""
    try:
        return TABLE[name]
    except KeyError:
        raise MXNetError(f"there is no operator {name!r}.{nearest(name, TABLE)}") from None


def npx_operator(name: str) -> Operator | None:
    """The entry that `npx` and `sym.npx` show as `name`, if there is one."""
    if name.startswith("_"):
        return None
    return TABLE.get(f"_npx_{name}") or TABLE.get(name) or TABLE.get(f"_contrib_{name}")


class _Operators:
    """`F.name` is the operator `name`: how rules and composites call operators on values."""

    def __getattr__(self, name: str) -> Operator:
        op = TABLE.get(name)
        if op is None:
            raise AttributeError(f"there is no operator {name!r}.{nearest(name, TABLE)}")
        setattr(self, name, op)
        return op


F = _Operators()


def register(op: Operator) -> Operator:
    """Enters an operator under its name and its aliases; ValueError where one of them is taken."""
    for name in (op.name, *op.aliases):
        if name in TABLE:
            raise ValueError(f"operator {name!r} is in the table already")
        TABLE[name] = op
    return op


def operator(name: str, **options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Enters a primitive; options: those of `Operator`, by keyword (aliases, outputs, visible, ...), and its facts."""
    return lambda function: register(Operator(name, function, **options))


def composite(name: str, **options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Enters an operator that is an expression over others; the function gets values and attributes."""

    def enter(function: Callable[..., Any]) -> Operator:
        op = Operator(name, function, **options)
        op.composite = True
        return register(op)

    return enter


def specialize(op: Operator, inputs: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator a shorter way under some attributes: `rule(attrs)`, with attributes as a namespace, returns
    another operator with its attributes, which gives the same; or a function of the inputs' tensors that gives the
    visible result in memory that no other array looks into; or None.

    The rule does once for some attributes what does not depend on the arrays. The function raises where the tensors do
    not fit: the operator itself says why. inputs: how many of the operator's inputs are passed on, where the rule is for
    calls without the others.
    """

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        op.special, op.special_inputs = rule, inputs
        return rule

    return enter


def gradient(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a primitive its gradient rule (see the module's text for the parameters)."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(rule).parameters)
        op.rule = rule
        op.reads = [_source(op, p) for p in parameters]
        if "dy" in op.inputs and "dy1" in parameters:
            # The operator is itself part of a gradient: `dy` is its input, `dy1` what comes back to it.
            op.reads[parameters.index("dy1")] = "dy", 0
            if "dy" in parameters:
                op.reads[parameters.index("dy")] = "input", op.inputs.index("dy")
        return rule

    return enter


def infer(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator its inference of parameter shapes: `rule(shapes, attrs)` fills in what it can.

    `shapes` maps names of inputs to tuples, or None where unknown (0 marks an unknown axis).
    """
    return tell(op, "infer")


def tell(op: Operator, fact: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator a fact that takes more than a line: `@tell(conv, "product")` (see `core.ops.facts`)."""
    if not hasattr(op, fact):
        raise TypeError(f"{op.name}: there is no fact {fact!r}")

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        setattr(op, fact, rule)
        return rule

    return enter


def takes(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says which inputs the operator has, where attributes decide: `rule(attrs)` gives their names."""
    return tell(op, "takes")


def decompose(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a fused primitive its gradient by way of an equal expression over other operators.

    The expression takes the operator's inputs and attributes as values and is run (and differentiated, to any
    order) only when the gradient of the fused operator is asked for, as second derivatives do.
    """

    def enter(expression: Callable[..., Any]) -> Callable[..., Any]:
        def rule(
            inputs: list[Value | None], dys: list[Value], attrs: Namespace, needs: list[bool]
        ) -> list[Value | None]:
            return gradients_through(lambda *values: expression(*values, **vars(attrs)), inputs, dys, needs)

        op.reads = [("inputs", 0), ("dys", 0), ("attrs", 0), ("needs", 0)]
        op.rule = rule
        return expression

    return enter


def gradients_through(
    expression: Callable[..., Any], inputs: Sequence[Any], dys: Sequence[Any], needs: Sequence[bool]
) -> list[Any]:
    """Gradients of `expression(*inputs)` with respect to those inputs that `needs` marks, for the output gradients `dys`.

    By the class of the arrays, which knows the tape: see `core.backward.gradients_through`.
    """
    owner = next(x for x in (*inputs, *dys) if x is not None)
    return owner._gradients_through(expression, inputs, dys, needs)


def _source(op: Operator, parameter: str) -> tuple[str, int]:
    """Where the tape finds the parameter of a gradient rule: (kind, position)."""
    if parameter in ("attrs", "needs", "dys", "shapes", "reserve"):
        return parameter, 0
    for kind in ("dy", "out"):
        if parameter.startswith(kind) and (parameter == kind or parameter[len(kind) :].isdigit()):
            return kind, int(parameter[len(kind) :] or 0)
    for suffix in ("_shape", "_dtype"):
        if parameter.endswith(suffix) and parameter[: -len(suffix)] in op.inputs:
            return suffix[1:], op.inputs.index(parameter[: -len(suffix)])
    if parameter in op.inputs:
        if op.variadic and parameter == op.inputs[-1]:
            return "inputs", op.inputs.index(parameter)
        return "input", op.inputs.index(parameter)
    raise ValueError(f"{op.name}: the gradient rule asks for {parameter!r}, which is none of its inputs")
