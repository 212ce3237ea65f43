"""Statistics: where a batch normalisation takes those of the batch, the convolution before it gives them.

Triton's convolution sums its tiles while they are in registers, so that what it gives is read once less. Nowhere else is
there anything to gain: on the CPU, and without a plan, the two stay what they are.
"""

from __future__ import annotations

from core import kernels, storage
from core.graph.ir import Node, apply
from core.graph.rewrite import Made, Rule, Walk
from core.ops.registry import F


def _follows(norm: Node, walk: Walk) -> bool:
    """Whether the node takes statistics by channels of the convolution that stands right before it, on a GPU."""
    if not kernels.runs_triton(storage.device(norm.ctx)) or not norm.attrs["training"]:
        return False
    data = norm.inputs[0]
    by_channels = not norm.attrs["use_global_stats"] and norm.attrs["axis"] % len(data.shape) == 1
    return by_channels and bool(walk.nodes) and walk.nodes[-1] is data.source and data.source.op is F._conv


def _join(norm: Node, walk: Walk) -> Made:
    conv, gamma, nodes = walk.nodes[-1], norm.inputs[1], []
    if norm.attrs["fix_gamma"]:
        nodes.append(apply(F._plan_ones_, [gamma], {}, gamma))
    inputs = [*conv.inputs, *[None] * (3 - len(conv.inputs)), gamma, norm.inputs[2]]
    made = apply(F._plan_conv_batch_norm, inputs, {**conv.attrs, "eps": norm.attrs["eps"]}, conv.outputs[0])
    y, *results = made.outputs
    return Made([*nodes, made], results, {conv.outputs[0]: y}, without=(conv,))


statistics = Rule("statistics", lambda node: node.op is F.BatchNorm, _join, _follows)
