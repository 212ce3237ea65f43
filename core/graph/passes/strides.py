"""Strides: what convolutions of one place each step over is not computed in prediction.

A ResNet's stage begins with two such convolutions, which read every second row and column of the stage before. The
convolution that ends that stage takes their stride, and so does the one before it where that one reads place by place:
a quarter of their products is left. A sum that ends a convolution is taken of the places that are left.

A mean of windows behind a convolution of one place, with which a DenseNet's stages end, is taken before it for the same.
"""

from __future__ import annotations

from math import prod

from core.graph.ir import Graph, Node, Value, apply
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


def _averages_places(node: Node, walk: Walk) -> bool:
    """Whether a mean of whole windows, fewer than places, is all that reads a convolution, of one place each."""
    conv = node.inputs[0].source
    if conv is None or conv.op is not F._plan_conv or len(conv.given) > 3 or walk.counts[node.inputs[0]] > 1:
        return False
    single = _reads_places(conv, conv.inputs[0]) and set(conv.attrs["stride"]) == {1}
    whole = not any(lo or hi for lo, hi in node.attrs["pad"])
    fewer = prod(node.outputs[0].shape[2:]) < prod(node.inputs[0].shape[2:])
    return single and whole and fewer and conv.attrs["activation"] is None


def _mean_first(node: Node, walk: Walk) -> Made:
    """The mean of the convolution's data, and the convolution of that."""
    conv = node.inputs[0].source
    data, *parameters = [walk.final(v) for v in conv.inputs]
    mean = apply(node.op, [data], node.attrs, data)
    made = apply(conv.op, [mean.outputs[0], *parameters], conv.attrs, data)
    return Made([mean, made], made.outputs, without=(conv,))


_steps = Rule("steps", lambda node: node.op.slides, _in_other_steps, if_=predicts)
_means = Rule("means", lambda node: node.op is F._avg_pool, _mean_first, _averages_places, predicts)


def strides(graph: Graph) -> Graph:
    """The graph in prediction without products of places that are stepped over or averaged."""
    return _means(_steps(graph))
