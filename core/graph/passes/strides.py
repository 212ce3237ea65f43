"""Strides: what convolutions of one place each step over is not computed in prediction.

A ResNet's stage begins with two such convolutions, which read every second row and column of the stage before. The
convolution that ends that stage takes their stride, and so does the one before it where that one reads place by place:
a quarter of their products is left. A sum that ends a convolution is taken of the places that are left.
"""

from __future__ import annotations

from core.graph.ir import Node, Value, apply
from core.graph.rewrite import Made, Rule, Walk, predicts
from core.ops.registry import F


def _in_other_steps(node: Node, walk: Walk) -> Made | None:
    """A convolution with the stride that it gets, of what is left of the sum that ends it; None where it keeps its own."""
    if "moved" not in walk.memory:
        walk.memory["moved"] = _moved(walk)
    if node not in walk.memory["moved"]:
        return None
    steps, skipped = walk.memory["moved"][node]
    inputs, nodes = [walk.final(v) for v in node.inputs], []
    added = node.op.inputs.index("residual")
    if skipped is not None and added < len(inputs) and inputs[added] is not None:
        ones = (1,) * len(skipped)
        how = {"kernel": ones, "stride": skipped, "pad": ((0, 0),) * len(skipped)}
        nodes = [apply(F._plan_max_pool, [inputs[added]], how, inputs[added])]
        inputs[added] = nodes[0].outputs[0]
    made = apply(node.op, inputs, {**node.attrs, "stride": steps}, node.outputs[0])
    return Made([*nodes, made], made.outputs)


def _moved(walk: Walk) -> dict[Node, tuple[tuple[int, ...], tuple[int, ...] | None]]:
    """Strides that convolutions get, and steps in which their results are computed, None for all places."""
    found: dict[Node, tuple[tuple[int, ...], tuple[int, ...] | None]] = {}
    for node in reversed(walk.graph.nodes):
        if not node.op.slides or node.outputs[0] in walk.results:
            continue
        readers = walk.readers.get(node.outputs[0], [])
        if not readers or not all(_reads_places(reader, node.outputs[0]) for reader in readers):
            continue
        step, *others = {found.get(reader, (reader.attrs["stride"],))[0] for reader in readers}
        if others or set(step) == {1}:
            continue
        for reader in readers:
            found[reader] = (1,) * len(step), found.get(reader, (step, None))[1]
        own = tuple(a * b for a, b in zip(node.attrs["stride"], step, strict=True))
        found[node] = own, step
    return found


def _reads_places(node: Node, value: Value) -> bool:
    """Whether a convolution reads `value` place by place, and as nothing but its data."""
    if not node.op.slides or node.inputs[0] is not value or node.inputs.count(value) > 1:
        return False
    return set(node.inputs[1].shape[2:]) == {1} and set(node.attrs["pad"]) == {0}


strides = Rule("strides", lambda node: node.op.slides, _in_other_steps, if_=predicts)
