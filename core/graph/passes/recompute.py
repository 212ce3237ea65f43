"""Recompute: what the backward part can cheaply make of values that it reads anyway is not kept for it (Chen et al., 2016).

The result of gelu, which the next layer's weight gradient reads, follows from its operand, which gelu's own gradient
reads: only such pointwise results are computed again whose operands are saved whether or not they are.
"""

from __future__ import annotations

from core.graph.ir import Node, apply, reading
from core.graph.rewrite import Made, Rule, Walk, predicts
from core.kernels.formula import postorder

LARGE = 2**16  # bytes from which memory is worth one more kernel
CHEAP = 16  # steps of a formula


def _again(node: Node, walk: Walk) -> Made | None:
    """Notes what the backward part is to make of its own, and puts it in front of the first node that reads it."""
    again, made = walk.memory.setdefault("again", {}), walk.memory.setdefault("made", set())
    if not node.backward:
        if _cheap(node) and _is_saved_anyway(node, walk):
            walk.memory["saved"].remove(node.outputs[0])
            again[node.outputs[0]] = apply(node.op, node.inputs, node.attrs, node.outputs[0], backward=True)
        return None
    read = [v for v in dict.fromkeys(node.reads()) if v in again]
    if not read:
        return None
    new = [again[v] for v in read if v not in made]
    made.update(read)
    return Made([*new, reading(node, lambda v: again[v].outputs[0] if v in read else v)], None)


def _is_saved_anyway(node: Node, walk: Walk) -> bool:
    """Whether the node's result is saved, and all that it is made of too, so that nothing is kept in its place."""
    saved = walk.memory.setdefault("saved", set(walk.graph.saved()) - walk.results - walk.written)
    return all(v in saved for v in (node.outputs[0], *node.inputs))


def _cheap(node: Node) -> bool:
    formula = node.op.formula
    if formula is None or node.backward or node.early or node.op.rng or len(node.outputs) != 1:
        return False
    return node.outputs[0].nbytes >= LARGE and len(postorder([formula.root])) <= CHEAP


recompute = Rule("recompute", lambda node: True, _again, if_=lambda graph: not predicts(graph))
