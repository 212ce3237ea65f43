"""Absorption: an operator takes over what was computed for it alone, by the rule that its record has for that.

What it took over is dead code then. In training the backward part reads what lies in between.
"""

from __future__ import annotations

from core.graph.ir import Node, Value, apply
from core.graph.rewrite import Made, Rule, Walk, predicts


def _absorb(node: Node, walk: Walk) -> Made | None:
    made: list[Node] = []

    def do(op, *inputs, **attrs) -> Value:
        made.append(apply(op, list(inputs), op.parse(attrs), node.outputs[0]))
        return made[-1].outputs[0]

    result = node.op.absorption(node, do, walk.counts)
    return None if result is None else Made(made, [result])


absorption = Rule("absorption", lambda node: node.op.absorption is not None, _absorb, if_=predicts)
