"""Recompute: what the backward part can cheaply make of values that it reads anyway is not
kept for it (Chen et al., 2016).
"""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, apply, written
from core.kernels.formula import postorder

LARGE = 2**16  # bytes from which memory is worth one more kernel
CHEAP = 16  # steps of a formula


def recompute(graph: Graph) -> Graph:
    """The graph with pointwise results of the forward part computed again in the backward part, rather than saved.

    Only those whose operands are saved whether or not they are, so that nothing else is kept in their place: the
    result of gelu, which the next layer's weight gradient reads, follows from its operand, which gelu's own gradient
    reads.
    """
    saved = set(graph.saved())
    kept = graph.results() | written(graph.nodes)
    again: dict[Value, Node] = {}
    for node in graph.nodes:
        if _cheap(node) and node.outputs[0] in saved - kept and all(v in saved - kept for v in node.inputs):
            saved.remove(node.outputs[0])
            again[node.outputs[0]] = apply(node.op, node.inputs, node.attrs, node.outputs[0], backward=True)
    nodes: list[Node] = []
    made: set[Value] = set()
    for node in graph.nodes:
        if node.backward and any(v in again for v in node.reads()):
            for v in dict.fromkeys(v for v in node.reads() if v in again and v not in made):
                made.add(v)
                nodes.append(again[v])
            node = _reading(node, again)
        nodes.append(node)
    return graph.like(nodes)


def _cheap(node: Node) -> bool:
    formula = node.op.formula
    if formula is None or node.backward or node.early or node.op.rng or len(node.outputs) != 1:
        return False
    return node.outputs[0].nbytes >= LARGE and len(postorder([formula.root])) <= CHEAP


def _reading(node: Node, again: dict[Value, Node]) -> Node:
    """The node with what was computed again in the place of what was not saved."""

    def final(v):
        return again[v].outputs[0] if isinstance(v, Value) and v in again else v

    attrs = {key: final(v) for key, v in node.attrs.items()}
    twin = Node(node.op, attrs, [final(v) for v in node.inputs], node.ctx, node.single, node.backward)
    twin.outputs = node.outputs
    for v in twin.outputs:
        v.source = twin
    return twin
