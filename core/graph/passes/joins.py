"""Joins: of concatenations that go on from one another, each one copies what is new alone.

Dense blocks (Huang et al., 2017) join what they have with what they made of it, again and again. The first such join
takes memory for all that follow; what the later ones give are longer and longer parts of it.
"""

from __future__ import annotations

from core.extents import is_symbolic
from core.graph.ir import Node, apply
from core.graph.passes.fusion import on_gpu
from core.graph.rewrite import Made, Rule, Walk, predicts
from core.ops.registry import F


def _in_one_memory(node: Node, walk: Walk) -> Made | None:
    """A concatenation of a chain with spare memory for what follows, or in that of what goes before."""
    if "following" not in walk.memory:
        walk.memory["following"] = _following(walk)
        walk.memory["behind"] = set(walk.memory["following"].values())
    if node in walk.memory["behind"]:
        made = _growing(node)
    elif node in walk.memory["following"]:
        made = _beginning(node, walk.memory["following"])
    else:
        return None
    return Made([made], made.outputs)


def _following(walk: Walk) -> dict[Node, Node]:
    """For each concatenation that another one goes on from, the first that does.

    Not where the caller gets one of them, or anybody writes to it.
    """
    found: dict[Node, Node] = {}
    fixed = walk.results | walk.written
    for node in walk.graph.nodes:
        before = node.inputs[0].source if node.inputs else None
        if before is None or not (_joins(node) and _joins(before)):
            continue
        alike = (
            axis_joined(before) == axis_joined(node)
            and len({len(v.shape) for v in (*before.inputs, *node.inputs)}) == 1
        )
        alone = node.inputs.count(node.inputs[0]) == 1 and fixed.isdisjoint((node.inputs[0], *node.outputs))
        if alike and alone:
            found.setdefault(before, node)
    return found


def _beginning(node: Node, following: dict[Node, Node]) -> Node:
    last = node
    while last in following:
        last = following[last]
    spare = _length(last) - _length(node)
    return apply(F._plan_growing_concat, node.inputs, {"dim": axis_joined(node), "spare": spare}, node.inputs[0])


def _growing(node: Node) -> Node:
    return apply(F._plan_grown_concat, node.inputs, {"dim": axis_joined(node)}, node.inputs[0])


def axis_joined(node: Node) -> int | None:
    """The axis along which the inputs of a concatenation lie one behind the other; None of other nodes."""
    axis = None if node.op.joins is None else node.attrs[node.op.joins]
    return None if axis is None else axis % len(node.outputs[0].shape)


def _joins(node: Node) -> bool:
    return axis_joined(node) is not None and not (node.early or on_gpu(node) or is_symbolic(_length(node)))


def _length(node: Node) -> int:
    axis = axis_joined(node)
    assert axis is not None
    return node.outputs[0].shape[axis]


joins = Rule("joins", lambda node: node.op.joins is not None, _in_one_memory, if_=predicts)
