"""How operators compute along rows, as expressions (`by_rows`): softmax, layer normalisation, sums, their gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from core.kernels.formula import CONSTRUCTORS, Expr
from core.kernels.row_program import COLUMN, ROW, WHOLE
from core.ops.registry import Operator
from core.ops.values import Node

row_sum, row_mean, row_max, row_min = (CONSTRUCTORS[f"row_{name}"] for name in ("sum", "mean", "max", "min"))
row_fmax = CONSTRUCTORS["row_fmax"]


@dataclass(frozen=True)
class Rows:
    """How an operator goes by rows, told of a node of a graph (`core.graph.ir.Node`).

    function: (node, *expressions of inputs) -> expressions of outputs. axes: how many last axes of the shape are a row
    (0: any), None where the operator does not go by rows. outputs: what each output is to a row. shape: of an element for
    each element, by default that of the first input.
    """

    function: Callable[..., tuple[Expr, ...]]
    axes: Callable[[Any], int | None]
    outputs: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = (WHOLE,)
    shape: Callable[[Any], tuple[int, ...]] = lambda node: node.inputs[0].shape

    def holds(self, node: Node) -> bool:
        """Whether the node has rows of more than one element, or is pointwise."""
        axes = self.axes(node)
        return axes == 0 or (axes is not None and prod(self.shape(node)[-axes:]) > 1)

    def domain(self, node: Node) -> tuple[tuple[int, ...], int | None]:
        """The shape, and how many last axes of it are a row."""
        return self.shape(node), self.axes(node)

    def kinds(self, node: Node) -> tuple[str, ...]:
        """What the outputs are to a row."""
        return self.outputs(node) if callable(self.outputs) else self.outputs

    def values(self, node: Node, inputs: list[Expr]) -> tuple[Expr, ...]:
        """Expressions of the outputs."""
        return self.function(node, *inputs)


def by_rows(
    op: Operator, axes: Callable[..., Any], outputs: Callable[..., Any] | tuple[str, ...] = (WHOLE,), **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tells how an operator goes by rows (see `Rows`)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        op.rows = Rows(function, axes, outputs, **options)
        return function

    return enter


def last_axis(node: Node) -> int | None:
    """1 if the operator's axis is the last one."""
    return 1 if node.attrs["axis"] % len(node.inputs[0].shape) == len(node.inputs[0].shape) - 1 else None


def trailing(node: Node) -> int | None:
    """How many last axes are left of a sum that has the shape of these, or of these behind axes of length 1."""
    shape, left = node.inputs[0].shape, node.outputs[0].shape
    while left and left[0] == 1 and left != shape[len(shape) - len(left) :]:
        left = left[1:]
    return len(left) if 0 < len(left) < len(shape) and left == shape[len(shape) - len(left) :] else None


def summed(op: Operator, over: Callable[[Node], int | None]) -> None:
    """Tells of a sum that it is over rows, by `over` so many last axes, or over all but rows: then over columns."""

    def axes(node: Node) -> int | None:
        found = over(node)
        return trailing(node) if found is None else found

    def outputs(node: Node) -> tuple[str]:
        return (COLUMN if over(node) is None else ROW,)

    by_rows(op, axes, outputs)(lambda node, x: (x if over(node) is None else row_sum(x),))
