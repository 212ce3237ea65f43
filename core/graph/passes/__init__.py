"""Passes: each one is a function from graph to graph."""

from __future__ import annotations

from core.graph.ir import Graph
from core.graph.passes.dead_code import dead_code

PASSES = (dead_code,)


def optimize(graph: Graph) -> Graph:
    """The graph after all passes, in order."""
    for run in PASSES:
        graph = run(graph)
    return graph
