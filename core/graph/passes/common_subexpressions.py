"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from core.graph.ir import Draw, Graph, Node, Value, written
from core.graph.memory import Sharing


def common_subexpressions(graph: Graph) -> Graph:
    """The graph with the later of two equal nodes replaced by the earlier one, in each of its two parts.

    Random operators, those that write to arrays, and what goes to the caller, who may write to it, stay.
    """
    seen: dict[tuple, Node] = {}
    replace: dict[Value, Value] = {}
    nodes = []
    moving, results = written(graph.nodes), graph.results()
    sharing = Sharing(graph.nodes, results)
    for node in graph.nodes:
        given = not any(sharing.group(v) & results for v in node.outputs)
        fixed = not node.op.rng and not node.effect and not any(v in moving for v in node.reads())
        key = _key(node, replace) if given and fixed else None
        twin = None if key is None else seen.setdefault(key, node)
        if twin is None or twin is node:
            nodes.append(node)
        else:
            replace.update(zip(node.outputs, twin.outputs, strict=True))
    return graph.replaced(nodes, replace) if replace else graph


def _key(node: Node, replace: dict[Value, Value]) -> tuple | None:
    """What makes two nodes equal; None where an attribute cannot be compared."""

    def plain(v):
        if isinstance(v, (Draw, Value)):
            return id(replace.get(v, v) if isinstance(v, Value) else v)
        return type(v), str(v) if isinstance(v, slice) else v

    attrs = tuple((name, plain(v)) for name, v in sorted(node.attrs.items()))
    inputs = tuple(None if v is None else id(replace.get(v, v)) for v in node.inputs)
    key = node.op.name, node.backward, str(node.ctx), inputs, attrs
    try:
        hash(key)
    except TypeError:
        return None
    return key
