"""Batch normalisation in prediction becomes part of the convolution before it (Jacob et al., 2018, section 3.2)."""

from __future__ import annotations

from core.graph.ir import HELD, Graph, Node, Value, apply, uses
from core.ops.registry import F


def batch_norm(graph: Graph) -> Graph:
    """The graph with weights and biases of convolutions scaled and shifted instead of their results.

    conv(x, w, b) followed by (y - mean) rstd gamma + beta is conv(x, w s, (b - mean) s + beta) with s = gamma rstd. The
    new weights depend on parameters alone, so they are computed when these change (`constants`).
    """
    if graph.heads:
        return graph
    counts = uses(graph)
    constant = _constants(graph)
    nodes: list[Node] = []
    replace: dict[Value, Value] = {}
    for node in graph.nodes:
        conv = node.inputs[0].source if node.op.affine is not None else None
        made = _fold(node, conv) if conv is not None and _foldable(node, conv, counts, constant) else None
        nodes += made or [node]
        if made:
            replace[node.outputs[0]] = made[-1].outputs[0]
    return graph.replaced(nodes, replace) if replace else graph


def _foldable(norm: Node, conv: Node, counts: dict[Value, int], constant: set[Value]) -> bool:
    return (
        conv.op.channelwise
        and counts[conv.outputs[0]] == 1
        and not any(counts.get(v) for v in norm.outputs[1:])
        and all(v is None or v in constant for v in (*conv.inputs[1:], *norm.inputs[1:]))
    )


def _fold(norm: Node, conv: Node) -> list[Node] | None:
    """The nodes that compute the new weight and bias, and behind them the new convolution; None outside of prediction."""
    data, weight, *bias = conv.inputs
    nodes: list[Node] = []

    def do(op, *inputs, **attrs) -> Value:
        nodes.append(apply(op, list(inputs), op.parse(attrs), norm.inputs[1]))
        return nodes[-1].outputs[0]

    found = norm.op.affine(norm, do)
    if found is None:
        return None
    scale, shift = found
    if bias and bias[0] is not None:
        shift = do(F.broadcast_add, do(F.broadcast_mul, do(F.Cast, bias[0], dtype=scale.dtype), scale), shift)
    wide = do(F._reshape_to, scale, shape=(-1,) + (1,) * (len(weight.shape) - 1))
    scaled = do(F.broadcast_mul, do(F.Cast, weight, dtype=scale.dtype), wide)
    scaled, shift = do(F.Cast, scaled, dtype=weight.dtype), do(F.Cast, shift, dtype=weight.dtype)
    return [*nodes, apply(conv.op, [data, scaled, shift], conv.attrs, data)]


def _constants(graph: Graph) -> set[Value]:
    """Values that follow from held arrays alone."""
    known = {v for v in graph.held if v.role == HELD}
    for node in graph.nodes:
        if node.reads() and not (node.op.rng or node.effect or node.sized) and all(v in known for v in node.reads()):
            known.update(node.outputs)
    return known
