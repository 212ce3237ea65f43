"""Statistics: where a batch normalisation takes those of the batch, the convolution before it gives them.

Triton's convolution sums its tiles while they are in registers, so that what it gives is read once less. Nowhere else is
there anything to gain: on the CPU, and without a plan, the two stay what they are.
"""

from __future__ import annotations

from core import kernels, storage
from core.graph.ir import Node, apply
from core.graph.rewrite import Made, Rule, Walk


def _join(node: Node, walk: Walk) -> Made | None:
    before = walk.nodes[-1] if walk.nodes else None
    nodes = None if before is None else node.op.follows(node, before, apply)
    if before is None or nodes is None:
        return None
    count = len(before.outputs)
    results = nodes[-1].outputs
    return Made(nodes, results[count:], dict(zip(before.outputs, results[:count], strict=True)), without=(before,))


statistics = Rule(
    "statistics", lambda node: node.op.follows is not None, _join,
    lambda node, walk: kernels.runs_triton(storage.device(node.ctx)),
)  # fmt: skip
