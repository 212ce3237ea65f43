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
        conv = node.inputs[0].source if node.op is F.BatchNorm else None
        if conv is None or not _foldable(node, conv, counts, constant):
            nodes.append(node)
            continue
        early, folded = _fold(node, conv)
        nodes += [*early, folded]
        replace[node.outputs[0]] = folded.outputs[0]
    return graph.replaced(nodes, replace) if replace else graph


def _foldable(norm: Node, conv: Node, counts: dict[Value, int], constant: set[Value]) -> bool:
    predicts = not norm.attrs["training"] or norm.attrs["use_global_stats"]
    return (
        conv.op is F._conv
        and predicts
        and norm.attrs["axis"] % len(norm.inputs[0].shape) == 1
        and counts[conv.outputs[0]] == 1
        and not any(counts.get(v) for v in norm.outputs[1:])
        and all(v is None or v in constant for v in (*conv.inputs[1:], *norm.inputs[1:]))
    )


def _fold(norm: Node, conv: Node) -> tuple[list[Node], Node]:
    """The nodes that compute the new weight and bias, and the new convolution."""
    data, weight, *bias = conv.inputs
    _, gamma, beta, mean, var = norm.inputs
    early: list[Node] = []

    def do(op, *inputs, **attrs) -> Value:
        node = apply(op, list(inputs), op.parse(attrs), gamma)
        early.append(node)
        return node.outputs[0]

    if norm.attrs["fix_gamma"]:
        do(F._plan_ones_, gamma)
        early[-1].early = True
    scale = do(F.rsqrt, do(F._plus_scalar, var, scalar=norm.attrs["eps"]))
    if not norm.attrs["fix_gamma"]:
        scale = do(F.broadcast_mul, scale, gamma)
    shift = do(F.broadcast_sub, beta, do(F.broadcast_mul, mean, scale))
    if bias and bias[0] is not None:
        shift = do(F.broadcast_add, do(F.broadcast_mul, do(F.Cast, bias[0], dtype=scale.dtype), scale), shift)
    wide = do(F._reshape_to, scale, shape=(-1,) + (1,) * (len(weight.shape) - 1))
    scaled = do(F.broadcast_mul, do(F.Cast, weight, dtype=scale.dtype), wide)
    scaled, shift = do(F.Cast, scaled, dtype=weight.dtype), do(F.Cast, shift, dtype=weight.dtype)
    return early, apply(conv.op, [data, scaled, shift], conv.attrs, data)


def _constants(graph: Graph) -> set[Value]:
    """Values that follow from held arrays alone."""
    known = {v for v in graph.held if v.role == HELD}
    for node in graph.nodes:
        if node.reads() and not node.op.rng and not node.effect and all(v in known for v in node.reads()):
            known.update(node.outputs)
    return known
