"""Traced symbols for any batch: shapes that a block computed in Python from those of its inputs follow them again.

A block is traced once more with one more element along an axis of all inputs. Where the same operators come out, what
differs among their attributes are extents of that axis: `Reshape` and `broadcast_to` can leave them open, and arrays of
one number are repeated like an input.
"""

from __future__ import annotations

from collections.abc import Callable

from core.ops.registry import TABLE
from core.symbol import Symbol, graph, infer
from core.symbol.graph import Node
from core.util import np_shape

__all__ = ["opened"]

_FILLED = frozenset({"_zeros", "_ones", "_full"})
_SHAPED = {"Reshape": "shape", "_npi_reshape": "newshape", "broadcast_to": "shape"}


def opened(made: Symbol, retraced: Callable, shapes: dict[str, tuple]) -> Symbol:
    """The symbol with extents left open where that gives what tracing gives.

    retraced(axis): the symbol, and the shapes of all variables, with one more element along this axis of all inputs that
    have it. shapes: those of the variables of `made`.
    """
    agreed, edits, inputs = [(made, shapes)], {}, {}
    for axis in (0, 1):
        try:
            other, changed = retraced(axis)
            more = _edits(made, other, shapes, changed, axis)
            inputs = {name: shape for name, shape in shapes.items() if shape != changed[name]} | inputs
            merged = {k: edits.get(k, {}) | more.get(k, {}) for k in {*edits, *more}}
            attempt = _edited(made, merged, shapes, inputs)
            if all(_same(attempt, *pair) for pair in [*agreed, (other, changed)]):
                edits = merged
                agreed.append((other, changed))
        except Exception:  # whatever a block raises for inputs that it does not take
            continue
    return _edited(made, edits, shapes, inputs) if edits else made


def _edits(made: Symbol, other: Symbol, shapes: dict, changed: dict, axis: int) -> dict[int, dict[int, int]]:
    """By number of the node, for places in the shape that it tells: what to write there, or the axis of inputs it follows.

    ValueError where the graphs differ in anything else.
    """
    pairs = list(zip(graph.order(made._entries), graph.order(other._entries), strict=True))
    with np_shape():
        before, after = (infer.arrays(s._entries, known, {}) for s, known in ((made, shapes), (other, changed)))
    edits = {}
    for number, (node, twin) in enumerate(pairs):
        if node.op is not twin.op or len(node.inputs) != len(twin.inputs):
            raise ValueError(f"{node.name} is {twin.name} for other shapes")
        different = [key for key, value in node.parsed.items() if value != twin.parsed[key]]
        if not different:
            continue
        found = list(zip(before[id(node), 0][0], after[id(twin), 0][0], strict=True))
        longer = [k for k, (a, b) in enumerate(found) if a != b]
        if node.op.name in _FILLED and different == ["shape"]:
            edits[number] = dict.fromkeys(longer, axis)
        elif different == [_SHAPED.get(node.op.name)]:
            (parent, k), (twins, _) = node.inputs[0], twin.inputs[0]
            given = list(zip(before[id(parent), k][0], after[id(twins), k][0], strict=True))
            copies = node.op.name != "_npi_reshape"
            edits[number] = {k: 0 if copies and given[k : k + 1] == [found[k]] else -1 for k in longer}
        else:
            raise ValueError(f"{node.name} has other attributes for other shapes")
    return edits


def _edited(
    made: Symbol, edits: dict[int, dict[int, int]], shapes: dict[str, tuple], inputs: dict[str, tuple]
) -> Symbol:
    """A copy with edits; inputs: shapes of the variables that are not parameters."""
    entries = graph.copy(made._entries)
    nodes = graph.order(entries)
    with np_shape():
        found = infer.arrays(entries, shapes, {})
    for number, places in edits.items():
        node, shape = nodes[number], list(found[id(nodes[number]), 0][0])
        if node.op.name in _FILLED:
            _repeat(node, [1 if k in places else n for k, n in enumerate(shape)], places, nodes, inputs)
            continue
        key = _SHAPED[node.op.name]
        if len(node.parsed[key]) == len(shape) and -1 not in places.values():
            shape = list(node.parsed[key])
        shape = tuple(places.get(k, n) for k, n in enumerate(shape))
        node.parsed, node.attrs = {**node.parsed, key: shape}, {**node.attrs, key: str(shape)}
    return type(made)(entries)


def _repeat(node: Node, shape: list[int], places: dict[int, int], nodes: list[Node], inputs: dict) -> None:
    """Makes a node that fills an array one that repeats a smaller one along axes of an input."""
    axes = tuple(places.values())
    source = next(n for n in nodes if n.op is None and n.name in inputs and len(inputs[n.name]) > max(axes))
    small = Node(node.op, f"{node.name}_one", {**node.attrs, "shape": str(tuple(shape))})
    attrs = {"lhs_axes": str(tuple(places)), "rhs_axes": str(axes)}
    like = Node(TABLE["broadcast_like"], node.name, attrs, [(small, 0), (source, 0)])
    node.op, node.parsed, node.attrs, node.inputs, node.slots = (
        like.op,
        like.parsed,
        like.attrs,
        like.inputs,
        like.slots,
    )


def _same(attempt: Symbol, traced: Symbol, shapes: dict) -> bool:
    with np_shape():
        found, wanted = (infer.shapes(s._entries, shapes)[1] for s in (attempt, traced))
    return found == wanted
