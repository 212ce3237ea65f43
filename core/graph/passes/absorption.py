"""Absorption: an operator takes over what was computed for it alone, by the rule that its record has for that.

What it took over is dead code then. In training the backward part reads what lies in between.
"""

from __future__ import annotations

from core.graph.ir import Node
from core.graph.rewrite import Made, Rule, Walk, adding, predicts


def _absorb(node: Node, walk: Walk) -> Made | None:
    made, do = adding(node.outputs[0])
    result = node.op.absorption(node, do, walk.counts)
    return None if result is None else Made(made, [result])


absorption = Rule("absorption", lambda node: node.op.absorption is not None, _absorb, if_=predicts)
