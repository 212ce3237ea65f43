"""Packing: weights that stay the same from call to call are brought into the order in which
their kernel reads them, once.
"""

from __future__ import annotations

from math import prod

from core.dtypes import FLOATS
from core.extents import hints
from core.graph.ir import Graph, Node, Value, apply, written

SMALL = (
    2**20
)  # multiplications of a product that is done in microseconds: packing gains nothing, and changes last digits


def packing(graph: Graph) -> Graph:
    """The graph with packed weights for those products (`epilogues`) whose weights are constant or made early.

    Packing belongs to the early part, which runs again when a parameter changes. Small products stay as they are, bit
    for bit what they are without a plan.
    """
    fixed = set(graph.held) - written(graph.nodes) - {target for target, _ in graph.writes}
    packed: dict[tuple, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        weight = node.inputs[1] if node.op.packing is not None else None
        constant = weight in fixed or (weight is not None and weight.source is not None and weight.source.early)
        large = constant and prod(hints(node.outputs[0].shape)) * prod(weight.shape[1:]) >= SMALL
        if large or (constant and weight.dtype == "int8"):  # sums of integers are exact in any order
            packer, how = node.op.packing(node, _whole(node.inputs[0]))
            pack = packed.get((weight, *how.values()))
            if pack is None:
                pack = packed[weight, *how.values()] = apply(packer, [weight], how, weight)
                pack.early = True
            data, _, *rest = node.inputs
            outputs = node.outputs
            node = Node(node.op, node.attrs, [data, pack.outputs[0], *rest], node.ctx, node.single)
            node.outputs = outputs
            for v in outputs:
                v.source = node
        nodes.append(node)
    early = [node for node in nodes if node.early]
    return graph.like([*early, *packed.values(), *(node for node in nodes if not node.early)])


def _whole(value: Value) -> bool:
    """Whether these are whole numbers in a type of fractions, as those of networks on codes."""
    made = value.source
    return made is not None and made.op.identity and made.inputs[0].dtype not in FLOATS
