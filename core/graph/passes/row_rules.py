"""What operators compute along rows, as expressions: softmax, layer normalisation, sums, their gradients;
and conversions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from core.graph.ir import Node
from core.kernels import formula as fx
from core.kernels.formula import CONSTRUCTORS, Expr
from core.kernels.row_program import COLUMN, ROW, WHOLE, kept
from core.ops.reduce import reduction_axes
from core.ops.registry import F, Operator

_sum, _mean, _top = (CONSTRUCTORS[name] for name in ("row_sum", "row_mean", "row_fmax"))


@dataclass(frozen=True)
class Rule:
    """How an operator goes by rows. function: (node, *expressions of inputs) -> expressions of outputs; axes: how many
    last axes of the shape are a row (0: any), None where the operator does not go by rows; kinds: of the outputs;
    shape: of an element for each element, by default that of the first input.
    """

    function: Callable
    axes: Callable[[Node], int | None]
    kinds_: tuple[str, ...] = (WHOLE,)
    shape: Callable[[Node], tuple[int, ...]] = lambda node: node.inputs[0].shape

    def holds(self, node: Node) -> bool:
        """Whether the node has rows of more than one element, or is pointwise."""
        axes = self.axes(node)
        return axes == 0 or (axes is not None and prod(self.shape(node)[-axes:]) > 1)

    def domain(self, node: Node) -> tuple[tuple[int, ...], int]:
        """The shape, and how many last axes of it are a row."""
        return self.shape(node), self.axes(node)

    def kinds(self, node: Node) -> tuple[str, ...]:
        """What the outputs are to a row."""
        return self.kinds_

    def values(self, node: Node, inputs: list[Expr]) -> tuple[Expr, ...]:
        """Expressions of the outputs."""
        return self.function(node, *inputs)


RULES: dict[Operator, Rule] = {}


def _enter(op: Operator, axes: Callable, *kinds: str, **options):
    def enter(function):
        RULES[op] = Rule(function, axes, kinds or (WHOLE,), **options)
        return function

    return enter


def _last(node: Node) -> int | None:
    """1 if the operator's axis is the last one."""
    return 1 if node.attrs["axis"] % len(node.inputs[0].shape) == len(node.inputs[0].shape) - 1 else None


@_enter(F._softmax, _last)
def _softmax_rows(node, x):
    e = fx.exp(x - _top(x))
    return (e / _sum(e),)


@_enter(F._log_softmax, _last)
def _log_softmax_rows(node, x):
    d = x - _top(x)
    return (d - fx.log(_sum(fx.exp(d))),)


@_enter(F._softmax_grad, lambda node: _last(node) if len(node.inputs) == 2 else None)
def _softmax_grad_rows(node, head, y):
    return (y * (head - _sum(head * y)),)


@_enter(F._log_softmax_grad, _last)
def _log_softmax_grad_rows(node, head, y):
    return (head - fx.exp(y) * _sum(head),)


@_enter(F.LayerNorm, lambda node: None if node.attrs["output_mean_var"] else _last(node), WHOLE, ROW, ROW)
def _layernorm_rows(node, x, gamma, beta):
    mean = _mean(x)
    d = x - mean
    rstd = 1.0 / fx.sqrt(_mean(d * d) + node.attrs["eps"])
    return d * rstd * gamma + beta, mean, rstd


@_enter(F._layer_norm_grad, _last, WHOLE, COLUMN, COLUMN)
def _layer_norm_grad_rows(node, head, x, gamma, mean, rstd):
    xhat, g = (x - mean) * rstd, head * gamma
    return (g - (_mean(g) + xhat * _mean(g * xhat))) * rstd, head * xhat, head


# ---------------------------------------------------------------------------------------------- reductions


def _axes(node: Node) -> tuple[int, ...]:
    return reduction_axes(node.attrs["axis"], node.attrs["exclude"], len(node.inputs[0].shape), node.op.name)


def _over_rows(node: Node) -> int | None:
    """How many last axes a reduction is over; None for others, and for what float16 would overflow in."""
    axes, rank = _axes(node), len(node.inputs[0].shape)
    exact = node.op is not F.mean or node.inputs[0].dtype != "float16"
    return len(axes) if axes and exact and axes == tuple(range(rank - len(axes), rank)) else None


for _op, _name in ((F.mean, "row_mean"), (F.max, "row_max"), (F.min, "row_min")):
    _enter(_op, _over_rows, ROW)(lambda node, x, reduce=CONSTRUCTORS[_name]: (reduce(x),))


def _trailing(node: Node) -> int | None:
    """How many last axes are left of a sum that has the shape of these, or of these behind axes of length 1."""
    shape, left = node.inputs[0].shape, node.outputs[0].shape
    while left and left[0] == 1 and left != shape[len(shape) - len(left) :]:
        left = left[1:]
    return len(left) if 0 < len(left) < len(shape) and left == shape[len(shape) - len(left) :] else None


class _Sum(Rule):
    """A sum is over rows, or over everything but rows: then its results are sums of columns."""

    def kinds(self, node: Node) -> tuple[str, ...]:
        return (ROW if self._over(node) is not None else COLUMN,)

    def values(self, node: Node, inputs: list[Expr]) -> tuple[Expr, ...]:
        return (_sum(inputs[0]),) if self.kinds(node) == (ROW,) else (inputs[0],)

    def _over(self, node: Node) -> int | None:
        if node.op is F.sum:
            return _over_rows(node)
        shape, left = node.inputs[0].shape, node.outputs[0].shape
        found = [k for k in range(1, len(shape) + 1) if left == kept(shape, k) and shape[-k] != 1]
        return found[0] if found else None


def _summed(node: Node) -> int | None:
    rule = RULES[node.op]
    over = rule._over(node)
    return _trailing(node) if over is None else over


for _op in (F.sum, F._sum_to):
    RULES[_op] = _Sum(None, _summed)


# ----------------------------------------------------------------------------------------- pointwise, without a formula


_enter(F._broadcast_from, lambda node: 0, shape=lambda node: node.outputs[0].shape)(lambda node, x: (x,))
_enter(F.Cast, lambda node: 0)(lambda node, x: (fx.cast(x, node.outputs[0].dtype),))
