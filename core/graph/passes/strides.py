"""Strides: what convolutions of one place each step over is not computed in prediction.

A ResNet's stage begins with two such convolutions, which read every second row and column of the stage before. The
convolution that ends that stage takes their stride, and so does the one before it where that one reads place by place:
a quarter of their products is left. A sum that ends a convolution is taken of the places that are left.
"""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, apply
from core.graph.rewrite import Walk, predicts
from core.ops.registry import F


def strides(graph: Graph) -> Graph:
    """The graph in prediction with strides in the first convolutions that can have them."""
    changed = _moved(Walk(graph)) if predicts(graph) else {}
    if not changed:
        return graph
    nodes: list[Node] = []
    replace: dict[Value, Value] = {}
    for node in graph.nodes:
        if node in changed:
            steps, skipped = changed[node]
            inputs = [replace.get(v, v) for v in node.inputs]
            added = node.op.inputs.index("residual")
            if skipped is not None and added < len(inputs) and inputs[added] is not None:
                ones = (1,) * len(skipped)
                how = {"kernel": ones, "stride": skipped, "pad": ((0, 0),) * len(skipped)}
                nodes.append(apply(F._plan_max_pool, [inputs[added]], how, inputs[added]))
                inputs[added] = nodes[-1].outputs[0]
            nodes.append(apply(node.op, inputs, {**node.attrs, "stride": steps}, node.outputs[0]))
            replace[node.outputs[0]] = nodes[-1].outputs[0]
        else:
            nodes.append(node)
    return graph.replaced(nodes, replace)


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
