"""Batch normalisation in prediction becomes part of the convolution before it (Jacob et al., 2018, section 3.2).

conv(x, w, b) followed by (y - mean) rstd gamma + beta is conv(x, w s, (b - mean) s + beta) with s = gamma rstd. The new
weights depend on parameters alone, so they are computed when these change (`constants`). Where no convolution comes
before, as in networks that normalise first (Huang et al., 2017), what is left is one multiplication and addition.
"""

from __future__ import annotations

from core.graph.ir import Graph, Node, apply
from core.graph.rewrite import Made, Rule, Walk, adding, predicts
from core.ops.registry import F


def _normalises(node: Node) -> bool:
    return node.op.affine is not None and node.inputs[0].source is not None and node.inputs[0].source.op.channelwise


def _is_constant(norm: Node, walk: Walk) -> bool:
    """Whether nobody reads statistics, and all parameters are constant."""
    return not any(walk.counts.get(v) for v in norm.outputs[1:]) and all(v in walk.constant for v in norm.inputs[1:])


def _is_alone(norm: Node, walk: Walk) -> bool:
    """Whether nobody else reads the convolution, and all parameters are constant."""
    conv = norm.inputs[0].source
    fixed = all(v is None or v in walk.constant for v in conv.inputs[1:])
    return fixed and walk.counts[conv.outputs[0]] == 1 and _is_constant(norm, walk)


def _fold(norm: Node, walk: Walk) -> Made | None:
    """The nodes that compute the new weight and bias, and behind them the new convolution; None outside of prediction."""
    conv = norm.inputs[0].source
    data, weight, *bias = conv.inputs
    nodes, do = adding(norm.inputs[1])
    found = norm.op.affine(norm, do)
    if found is None:
        return None
    scale, shift = found
    if bias and bias[0] is not None:
        shift = do(F.broadcast_add, do(F.broadcast_mul, do(F.Cast, bias[0], dtype=scale.dtype), scale), shift)
    wide = do(F._reshape_to, scale, shape=(-1,) + (1,) * (len(weight.shape) - 1))
    scaled = do(F.broadcast_mul, do(F.Cast, weight, dtype=scale.dtype), wide)
    scaled, shift = do(F.Cast, scaled, dtype=weight.dtype), do(F.Cast, shift, dtype=weight.dtype)
    made = apply(conv.op, [data, scaled, shift], conv.attrs, data)
    return Made([*nodes, made], made.outputs[:1])


def _scale(norm: Node, walk: Walk) -> Made | None:
    """The nodes that compute what each channel is multiplied by and what is added, and the one that does.

    In half precision one kernel does that in float32.
    """
    data = norm.inputs[0]
    nodes, do = adding(norm.inputs[1])
    found = norm.op.affine(norm, do)
    if found is None:
        return None
    if data.dtype == found[0].dtype:
        shape = (-1,) + (1,) * (len(data.shape) - 2)
        made = apply(F._scaled, [data, *(do(F._reshape_to, v, shape=shape) for v in found)], {}, data)
    else:
        known = do(F.zeros_like, found[0]), do(F.ones_like, found[0])
        made = apply(F._plan_batch_norm, [data, *found, *known], {}, data)
    return Made([*nodes, made], made.outputs[:1])


_folded = Rule("batch_norm", _normalises, _fold, _is_alone, predicts)
_scaled = Rule(
    "scale", lambda node: node.op.affine is not None and {v.dtype for v in node.inputs[1:]} == {"float32"}, _scale,
    _is_constant, predicts,
)  # fmt: skip


def batch_norm(graph: Graph) -> Graph:
    """The graph without batch normalisation in prediction: in convolutions where one comes before, scaled elsewhere."""
    return _scaled(_folded(graph))
