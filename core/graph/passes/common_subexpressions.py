"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Callable

from core.graph.ir import Draw, Node, Value
from core.graph.rewrite import Made, Rule, Walk


def _fixed(node: Node, walk: Walk) -> bool:
    """Whether it gives the same each time, to this graph alone: the caller may write to what it gets."""
    return not (node.op.rng or node.effect or any(v in walk.written for v in node.reads()) or walk.leaves(node.outputs))


def _earlier(node: Node, walk: Walk) -> Made | None:
    key = _key(node, walk.final)
    first = node if key is None else walk.memory.setdefault(key, node)
    return None if first is node else Made([], first.outputs)


def _key(node: Node, final: Callable) -> tuple | None:
    """What makes two nodes equal; None where an attribute cannot be compared."""

    def plain(v):
        if isinstance(v, (Draw, Value)):
            return id(final(v) if isinstance(v, Value) else v)
        return type(v), str(v) if isinstance(v, slice) else v

    attrs = tuple((name, plain(v)) for name, v in sorted(node.attrs.items()))
    inputs = tuple(None if v is None else id(final(v)) for v in node.inputs)
    key = node.op.name, node.backward, str(node.ctx), inputs, attrs
    try:
        hash(key)
    except TypeError:
        return None
    return key


common_subexpressions = Rule("common_subexpressions", lambda node: True, _earlier, _fixed)
