"""Dead code: nodes that contribute to no result and write to nothing are dropped."""

from __future__ import annotations

from core.graph.ir import Graph


def dead_code(graph: Graph) -> Graph:
    """The graph without nodes that nobody needs."""
    needed = graph.results()
    nodes = []
    for node in reversed(graph.nodes):
        if node.effect or any(v in needed for v in node.outputs):
            needed.update(node.reads())
            nodes.append(node)
    return graph.like(nodes[::-1])
