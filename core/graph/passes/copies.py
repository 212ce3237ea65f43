"""Copies: in a graph nothing is written to by surprise, so a copy is as good as its original."""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, written
from core.graph.memory import Sharing


def copies(graph: Graph) -> Graph:
    """The graph without copies, but for those of arrays that are written to, and those that the caller gets."""
    results = graph.results()
    sharing = Sharing(graph.nodes, results)
    moving = written(graph.nodes) | {target for target, _ in graph.writes}
    guarded = results | {v for value in moving for v in (sharing.group(value) if sharing.knows(value) else (value,))}
    replace: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        if _copies(node) and not (sharing.group(node.outputs[0]) | sharing.group(node.inputs[0])) & guarded:
            replace[node.outputs[0]] = node.inputs[0]
        else:
            nodes.append(node)
    return graph.replaced(nodes, replace) if replace else graph


def _copies(node: Node) -> bool:
    return node.op.identity and node.inputs[0].dtype == node.outputs[0].dtype
