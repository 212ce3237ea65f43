"""Shapes: what an operator takes from the shape of its data alone is a constant."""

from __future__ import annotations

from math import prod

from core.extents import hints, is_symbolic
from core.graph.ir import Graph, Node, Value, written
from core.ops.registry import F, get

MOST = 2**16  # elements of an array that is kept from call to call


def shapes(graph: Graph) -> Graph:
    """The graph with small arrays of zeros, ones, one number or steps `like` another one made from nothing."""
    changing = written(graph.nodes) | {target for target, _ in graph.writes}
    replace: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        constant = None if changing.intersection(node.outputs) else _constant(node)
        if constant is not None:
            replace[node.outputs[0]] = constant.outputs[0]
        nodes.append(constant or node)
    return graph.replaced(nodes, replace) if replace else graph


def _constant(node: Node) -> Node | None:
    op, made = node.op, node.outputs[0] if node.outputs else None
    if not node.inputs or (op.fills is None and op.constant is None) or prod(hints(made.shape)) > MOST:
        return None
    if is_symbolic(made.shape):
        return None
    if op.fills is None:
        name, attrs = op.constant(node.attrs)
        op = get(name)
    else:
        value = node.attrs[op.fills] if isinstance(op.fills, str) else op.fills
        op, attrs = F._full, {"shape": made.shape, "value": value, "dtype": made.dtype}
    constant = Node(op, attrs, [], node.ctx, single=True, backward=node.backward)
    constant.outputs = [Value(made.meta.new_empty(made.shape), made.ctx, made.kind, made.role, 0, constant)]
    return constant
