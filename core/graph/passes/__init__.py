"""Passes: each one is a function from graph to graph, most of them a rule of the rewriter (`core.graph.rewrite`)."""

from __future__ import annotations

from collections.abc import Callable

from core.graph.ir import Graph
from core.graph.passes.absorption import absorption
from core.graph.passes.activations import activations
from core.graph.passes.batch_norm import batch_norm
from core.graph.passes.common_subexpressions import common_subexpressions
from core.graph.passes.constants import constants
from core.graph.passes.copies import copies
from core.graph.passes.dead_code import dead_code
from core.graph.passes.epilogues import epilogues
from core.graph.passes.fusion import fusion
from core.graph.passes.joins import joins
from core.graph.passes.packing import packing
from core.graph.passes.recompute import recompute
from core.graph.passes.recurrent import recurrent
from core.graph.passes.shapes import shapes
from core.graph.passes.statistics import statistics
from core.graph.passes.stretches import stretches
from core.graph.passes.strides import strides

# In this order, each with why it stands where it stands.
PASSES: tuple[tuple[Callable[[Graph], Graph], str], ...] = (
    (copies, "first: the others see one value where the program made two"),
    (shapes, "before equal nodes are found: ones like two arrays of a shape are equal then"),
    (common_subexpressions, "before results are counted: a product that two equal nodes read has one reader then"),
    (batch_norm, "before epilogues: a normalization would keep a product from the sum and the activation behind it"),
    (statistics, "behind batch_norm, which leaves those that take statistics; before others part the two"),
    (activations, "before epilogues: a product takes what has a name"),
    (epilogues, "before absorption: what is absorbed are whole products"),
    (absorption, "behind epilogues, and before what it took over is dropped"),
    (recurrent, "before dead code: it leaves the concatenation of the parameters to nobody"),
    (dead_code, "behind all that leave nodes to nobody, and before parts of the graph are put in front"),
    (strides, "behind dead code: nobody else reads what is left out; before packing, which asks for strides"),
    (constants, "behind dead code: what nobody needs is not computed early"),
    (stretches, "behind constants: weights that are made early have their order for a library; what is left is packed"),
    (joins, "behind all that look for concatenations, and where copies are gone"),
    (packing, "behind constants: weights that are made early are packed early"),
    (recompute, "behind all that change what the backward part reads"),
    (fusion, "last: a fused node is no pattern of the others; what is computed again fuses with what reads it"),
)


def optimize(graph: Graph) -> Graph:
    """The graph after all passes, in order."""
    for run, _ in PASSES:
        graph = run(graph)
    return graph
