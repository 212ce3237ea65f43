"""Packing: weights that stay the same from call to call are brought into the order in which
their kernel reads them, once.
"""

from __future__ import annotations

from math import prod

from core.dtypes import FLOATS
from core.graph.ir import Graph, Node, Value, apply, written
from core.ops.registry import F

SMALL = (
    2**20
)  # multiplications of a product that is done in microseconds: packing gains nothing, and changes last digits


def packing(graph: Graph) -> Graph:
    """The graph with packed weights for those products (`epilogues`) whose weights are constant or made early.

    Packing belongs to the early part, which runs again when a parameter changes. Small products stay as they are, bit
    for bit what they are without a plan.
    """
    fixed = set(graph.held) - written(graph.nodes) - {target for target, _ in graph.writes}
    packers = {
        F._plan_conv: F._plan_conv_weight, F._plan_linear: F._plan_linear_weight,
        F._code_conv: F._plan_code_conv_weight,
    }  # fmt: skip
    packed: dict[tuple, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        weight = node.inputs[1] if node.op in packers else None
        constant = weight in fixed or (weight is not None and weight.source is not None and weight.source.early)
        if constant and prod(node.outputs[0].shape) * prod(weight.shape[1:]) >= SMALL:
            how = _how(node)
            pack = packed.get((weight, *how.values()))
            if pack is None:
                pack = packed[weight, *how.values()] = apply(packers[node.op], [weight], how, weight)
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


def _how(node: Node) -> dict:
    """What the order depends on besides the weight."""
    shape: tuple[int, ...] = node.inputs[0].shape
    if node.op is F._plan_linear:
        return {"rows": prod(shape[:-1])}
    how = {name: node.attrs[name] for name in ("stride", "dilate", "pad", "groups")}
    if node.op is F._code_conv:
        return {"shape": shape, **how, "signed": node.inputs[0].dtype == "int8"}
    return {"shape": shape, **how, "exact": _whole(node.inputs[0])}


def _whole(value: Value) -> bool:
    """Whether these are whole numbers in a type of fractions, as those of networks on codes."""
    made = value.source
    return made is not None and made.op is F.Cast and made.inputs[0].dtype not in FLOATS
