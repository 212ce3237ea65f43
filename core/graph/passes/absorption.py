"""Absorption: an operator takes over what was computed for it alone, by the rule that its record has for that."""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, apply, uses


def absorption(graph: Graph) -> Graph:
    """The graph with one node in the place of each that a rule (`absorption` of `core.ops.facts`) has an answer for.

    What it took over is dead code then. In training the backward part reads what lies in between.
    """
    if graph.heads:
        return graph
    counts = uses(graph)
    nodes: list[Node] = []
    replace: dict[Value, Value] = {}
    for node in graph.nodes:
        made: list[Node] = []

        def do(op, *inputs, made=made, node=node, **attrs) -> Value:
            made.append(apply(op, list(inputs), op.parse(attrs), node.outputs[0]))
            return made[-1].outputs[0]

        result = None if node.op.absorption is None else node.op.absorption(node, do, counts)
        nodes += made or [node]
        if result is not None:
            replace[node.outputs[0]] = result
    return graph.replaced(nodes, replace) if replace else graph
