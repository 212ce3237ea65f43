"""Constant folding: what depends on constants alone, and in prediction on parameters alone,
is not computed at each call.
"""

from __future__ import annotations

from core.graph.ir import Graph, written
from core.graph.memory import Sharing


def constants(graph: Graph) -> Graph:
    """The graph with its constant nodes marked as early and put first.

    In prediction parameters are constants too: the early part runs again whenever one of them was written to. What the
    caller gets, or could write to, stays where it is.
    """
    predicts = not graph.dys
    known = {v for v in graph.held if predicts or v not in graph.parameters} - written(graph.nodes)
    known -= {target for target, _ in graph.writes}
    results = graph.results()
    sharing = Sharing(graph.nodes, results)
    early, late = [], []
    for node in graph.nodes:
        stays = node.op.rng or node.effect or node.sized or any(sharing.group(v) & results for v in node.outputs)
        if not stays and (node.early or all(v in known for v in node.reads())):
            node.early = True
            known.update(node.outputs)
            early.append(node)
        elif node.early:
            early.append(node)
        else:
            late.append(node)
    return graph.like([*early, *late])
