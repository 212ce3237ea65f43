"""Shapes: what an operator takes from the shape of its data alone is a constant."""

from __future__ import annotations

from math import prod

from core.graph.ir import Graph, Node, Value, written
from core.ops.registry import F

MOST = 2**16  # elements of an array that is kept from call to call
_LIKE = {"zeros_like": 0, "ones_like": 1, "full_like": None, "_arange_like": None}  # operators, and what they fill with


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
    name = node.op.name
    if name not in _LIKE:
        return None
    (made,) = node.outputs
    if name == "_arange_like":
        op, attrs = F._arange, {"stop": float(node.attrs["length"])}
    else:
        value = node.attrs["fill_value"] if _LIKE[name] is None else _LIKE[name]
        op, attrs = F._full, {"shape": made.shape, "value": value, "dtype": made.dtype}
    if prod(made.shape) > MOST:
        return None
    constant = Node(op, attrs, [], node.ctx, single=True, backward=node.backward)
    constant.outputs = [Value(made.meta.new_empty(made.shape), made.ctx, made.kind, made.role, 0, constant)]
    return constant
