"""Shapes: what an operator takes from the shape of its data alone is a constant."""

from __future__ import annotations

from math import prod

from core.extents import is_symbolic
from core.graph.ir import Node, Value
from core.graph.rewrite import Made, Rule, Walk
from core.ops.registry import F, get

MOST = 2**16  # elements of an array that is kept from call to call


def _by_shape(node: Node) -> bool:
    return bool(node.inputs) and (node.op.fills is not None or node.op.constant is not None)


def _is_small(node: Node, walk: Walk) -> bool:
    shape = node.outputs[0].shape
    return not is_symbolic(shape) and prod(shape) <= MOST and not walk.changing.intersection(node.outputs)


def _constant(node: Node, walk: Walk) -> Made:
    """Zeros, ones, one number or steps `like` another array, made from nothing."""
    op, made = node.op, node.outputs[0]
    if op.fills is None:
        name, attrs = op.constant(node.attrs)
        op = get(name)
    else:
        value = node.attrs[op.fills] if isinstance(op.fills, str) else op.fills
        op, attrs = F._full, {"shape": made.shape, "value": value, "dtype": made.dtype}
    constant = Node(op, attrs, [], node.ctx, single=True, backward=node.backward)
    constant.outputs = [Value(made.meta.new_empty(made.shape), made.ctx, made.kind, made.role, 0, constant)]
    return Made([constant], constant.outputs)


shapes = Rule("shapes", _by_shape, _constant, _is_small)
