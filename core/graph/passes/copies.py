"""Copies: in a graph nothing is written to by surprise, so a copy is as good as its original."""

from __future__ import annotations

from core.graph.ir import Node, Value
from core.graph.rewrite import Made, Rule, Walk


def _copies(node: Node) -> bool:
    return node.op.identity and node.inputs[0].dtype == node.outputs[0].dtype


def _unguarded(node: Node, walk: Walk) -> bool:
    """Whether neither is written to, nor goes to the caller."""
    sharing = walk.sharing
    if "guarded" not in walk.memory:
        groups = (sharing.group(v) if sharing.knows(v) else (v,) for v in walk.changing)
        walk.memory["guarded"] = walk.results.union(*groups)
    guarded: set[Value] = walk.memory["guarded"]
    return not (sharing.group(node.outputs[0]) | sharing.group(node.inputs[0])) & guarded


copies = Rule("copies", _copies, lambda node, walk: Made([], node.inputs[:1]), _unguarded)
