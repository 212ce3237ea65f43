"""Pointwise operators: a scalar formula, of which the kernels and the gradients of all orders are derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from core import kernels
from core.base import MXNetError
from core.kernels.formula import GRADIENT, UNKNOWN, Expr, Formula, postorder
from core.ops import attributes
from core.ops.record import REQUIRED, Operator
from core.ops.registry import TABLE, F, register
from core.ops.relations import BROADCAST, NONE, SAME
from core.ops.values import Attrs, Dtype, Tensor, Value

_DTYPE_OF = attrgetter("dtype")


def pointwise(
    name: str, *, aliases: tuple[str, ...] = (), dtype: str | Callable[..., Any] = "same",
    derivative: Callable[..., Any] | None = None, differentiable: bool = True,
    variant: Callable[..., Any] = lambda dtype: None, **facts: Any,
) -> Callable[[Callable[..., Any]], Operator]:  # fmt: skip
    """Enters a scalar formula as an operator.

    dtype: "same" as the operands, which must agree (MXNetError otherwise); "first", that of the first one; the
    name of a type; or a function of the operands' dtypes that gives the dtype to compute and the dtype of the result.
    derivative: the derivative in terms of inputs and output y, where that is cheaper than the derived one.
    variant: for a dtype, the function of tensors that takes the position of the formula; it raises for types to refuse.
    """

    def enter(function: Callable[..., Any]) -> Operator:
        op = Operator(name, function, aliases=aliases, **facts)
        for attr, (kind, default) in op.attrs.items():
            if attributes.is_open(kind):
                op.attrs[attr] = (attributes.FloatType(), default)
        return register(
            make_pointwise(
                op, Formula.of(function, derivative, name.lstrip("_")), dtype, differentiable, variant=variant
            )
        )

    return enter


def make_pointwise(
    op: Operator, formula: Formula, dtype: str | Callable[..., Any], differentiable: bool = True,
    refused: str | None = None, variant: Callable[..., Any] = lambda dtype: None,
) -> Operator:  # fmt: skip
    """Completes an entry whose rules follow from `formula`; `refused` is a type that "same" leaves out."""
    op.formula, op.memory = formula, "new"
    op.unnamed = len(formula.inputs) == 1
    if op.shape is NONE:
        op.shape = SAME if op.unnamed else BROADCAST
    kernel = kernels.pointwise.pointwise
    names = formula.attrs

    if dtype == "same":

        def refuse(tensors: Sequence[Tensor]) -> None:
            if tensors[0].dtype == tensors[1].dtype:
                raise MXNetError(f"{op.name}: arrays of {refused} are not accepted; convert with astype")
            raise MXNetError(
                f"{op.name}: operands of one dtype are needed, given "
                f"{', '.join(kernels.dtype_name(t) for t in tensors)}; convert with astype"
            )

        forward, bind, op.on_cpu = kernels.pointwise_of_one_type(formula, refuse, refused, variant)
        if names:
            op.special = bind
    elif dtype == "first":
        forward = kernels.pointwise_of_first_type(formula)
    else:
        rule = dtype if callable(dtype) else lambda *dtypes: (None, dtype)

        types: dict[tuple[Dtype, ...], tuple[str | None, Dtype]] = {}  # to compute in, and of the result

        def forward(*tensors: Tensor, **attrs: Any) -> Tensor:
            given = tuple(map(_DTYPE_OF, tensors))
            if given not in types:
                kinds = list(map(kernels.dtype_name, tensors))
                compute, result = rule(*kinds)
                types[given] = None if set(kinds) == {compute} else compute, kernels.torch_dtype(result)
            compute, kind = types[given]
            if compute is not None:
                tensors = tuple([kernels.cast(t, compute) for t in tensors])
            return kernel(formula, tensors, list(map(attrs.__getitem__, names)), kind)

    op.forward = forward
    if any(node.op == UNKNOWN for node in postorder([formula.root])):
        op.forward, op.on_cpu = _unknown(op), None
    if differentiable:
        _derive(op, formula)
    return op


def _unknown(op: Operator) -> Callable[..., Any]:
    """The forward rule of a derivative that has no formula."""

    def forward(*tensors: Tensor, **attrs: Any) -> None:
        origin = op.name.replace("backward_", "").strip("_0123456789")
        raise MXNetError(f"{origin} cannot be differentiated that often: there is no formula for its next derivative")

    return forward


def _derive(op: Operator, formula: Formula) -> None:
    """The gradient rule of a pointwise operator: one derived operator per input, summed over broadcast axes."""
    count = len(formula.inputs)
    derived: dict[int, tuple[Operator | None, tuple[int, ...]] | None] = {}

    def gradient_operator(k: int) -> tuple[Operator | None, tuple[int, ...]] | None:
        if k not in derived:
            found = formula.gradient(k)
            if found is None:
                derived[k] = None
            elif found[0].root is Expr("input", 0):  # dy itself
                derived[k] = (None, ())
            else:
                derived[k] = (_formula_operator(f"_backward_{op.name}_{k}", found[0], op), found[1])
        return derived[k]

    def operands_read() -> list[int]:
        reads: set[int] = set()
        for k in range(count):
            found = gradient_operator(k)
            reads |= set(found[1]) if found else set()
        return sorted(reads - {GRADIENT})

    def rule(
        dy: Value, values: dict[int, Value], shapes: Sequence[Any], attrs: Attrs, needs: Sequence[bool]
    ) -> list[Value | None]:
        gradients: list[Value | None] = []
        for k in range(count):
            found = None
            if needs[k]:
                found = derived[k] if k in derived else gradient_operator(k)
            if found is None:
                gradients.append(None)
                continue
            derivative, reads = found
            g = dy
            if derivative is not None:
                operands = []
                for r in reads:
                    operands.append(dy if r == GRADIENT else values[r])
                if derivative.attrs:
                    g = derivative(*operands, **{a: attrs[a] for a in derivative.attrs})
                else:
                    g = derivative(*operands)
            gradients.append(g if g.shape == shapes[k] else F._sum_to(g, shape=shapes[k]))
        return gradients

    op.rule, op.operands_read = rule, operands_read


def _formula_operator(name: str, formula: Formula, parent: Operator) -> Operator:
    """An operator for a derived formula; it is in the table too, so that graphs can name it."""

    def function() -> None:
        raise NotImplementedError

    op = Operator(name, function)
    op.doc, op.derivative_of = f"Gradient of {parent.name}.", parent
    op.inputs = list(formula.inputs)
    op.attrs = {a: parent.attrs.get(a, (attributes.ScalarType(), REQUIRED)) for a in formula.attrs}
    TABLE[name] = op
    return make_pointwise(op, formula, "first")
