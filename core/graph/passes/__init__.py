"""Passes: each one is a function from graph to graph."""

from __future__ import annotations

from core.graph.ir import Graph
from core.graph.passes.absorption import absorption
from core.graph.passes.batch_norm import batch_norm
from core.graph.passes.common_subexpressions import common_subexpressions
from core.graph.passes.constants import constants
from core.graph.passes.copies import copies
from core.graph.passes.dead_code import dead_code
from core.graph.passes.epilogues import epilogues
from core.graph.passes.fusion import fusion
from core.graph.passes.packing import packing
from core.graph.passes.recompute import recompute
from core.graph.passes.recurrent import recurrent
from core.graph.passes.shapes import shapes

PASSES = (
    copies, shapes, common_subexpressions, batch_norm, epilogues, absorption, recurrent, dead_code, constants, packing, recompute,
    fusion,
)  # fmt: skip


def optimize(graph: Graph) -> Graph:
    """The graph after all passes, in order."""
    for run in PASSES:
        graph = run(graph)
    return graph
