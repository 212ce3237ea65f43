"""Traced symbols for any batch: shapes that a block computed in Python from those of its inputs follow them again.

A block is traced once more with one more element along an axis of all inputs. Where the same operators come out, what
differs among their attributes are extents of that axis: `Reshape` and `broadcast_to` can leave them open, and arrays of
one number are repeated like an input.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.base import MXNetError
from core.ops.registry import TABLE
from core.symbol import Symbol, graph, infer
from core.symbol.graph import Entry, Node
from core.util import np_shape

__all__ = ["opened"]

Shapes = dict[tuple[int, int], tuple]  # by number of the node, and output


def opened(traced: tuple[Symbol, dict, dict], retraced: Callable, known: dict[str, tuple]) -> Symbol:
    """The symbol with extents left open where that gives what tracing gives.

    traced: the symbol, its constants, and the shapes of its inputs by name. retraced(axis): the same with one more
    element along this axis of all inputs that have it; where it raises, the axis stays fixed. known: shapes of the
    parameters.
    """
    made, constants, inputs = traced
    nodes = graph.order(made._entries)
    known = known | {name: tuple(array.shape) for name, array in constants.items()}
    before = _shapes(made._entries, nodes, known | inputs)
    result, edits, agreed = made, {}, [(inputs, before)]
    for axis in (0, 1) if before else ():
        try:
            other, others, longer = retraced(axis)
        except Exception:  # whatever a block raises for inputs that it does not take
            continue
        twins = graph.order(other._entries)
        if not (_equal(constants, others) and _alike(nodes, twins)):
            continue
        after = _shapes(other._entries, twins, known | longer)
        more = after and _edits(nodes, twins, (before, after), (inputs, longer), axis)
        if more is None:
            continue
        merged = {k: edits.get(k, {}) | more.get(k, {}) for k in {*edits, *more}}
        entries, copies = _edited(made, merged, before)
        wanted = [*agreed, (longer, after)]
        if all(_shapes(entries, copies, known | given) == found for given, found in wanted):
            result, edits, agreed = type(made)(entries), merged, wanted
    return result


def _shapes(entries: list[Entry], nodes: list[Node], given: dict[str, tuple]) -> Shapes | None:
    """Shapes of what these nodes give; None where those of the variables do not fit."""
    places = {id(node): k for k, node in enumerate(nodes)}
    try:
        with np_shape():
            found = infer.arrays(entries, given, {})
    except MXNetError:
        return None
    return {(places[node], k): shape for (node, k), (shape, _) in found.items() if node in places}


def _equal(constants: dict, others: dict) -> bool:
    """Whether two traces hold the same numbers."""
    return constants.keys() == others.keys() and all(
        array is others[name]
        or (array.dtype == others[name].dtype and np.array_equal(array.asnumpy(), others[name].asnumpy()))
        for name, array in constants.items()
    )


def _alike(nodes: list[Node], twins: list[Node]) -> bool:
    """Whether two graphs are of the same operators and variables, whatever the attributes."""
    one, other = (graph.outline(side, lambda n: n.name if n.op is None else set(n.parsed)) for side in (nodes, twins))
    return one == other


def _edits(nodes: list[Node], twins: list[Node], shapes: tuple, inputs: tuple, axis: int) -> dict[int, dict] | None:
    """By number of the node, for places in the shape that it tells: what to write there,
    or the (input, axis) it follows.

    shapes, inputs: those of everything, and those of inputs, in both graphs. None where these differ in anything else.
    """
    places = {id(node): k for k, node in enumerate(nodes)}
    sources = {}  # what has these extents in the two graphs
    for name in (n.name for n in nodes if n.op is None and len(inputs[0].get(n.name, ())) > axis):
        sources.setdefault(tuple(side[name][axis] for side in inputs), (name, axis))
    edits = {}
    for number, (node, twin) in enumerate(zip(nodes, twins, strict=True)):
        different = [key for key, value in node.parsed.items() if value != twin.parsed[key]]
        if not different:
            continue
        found = _pairs(shapes, (number, 0))
        longer = [k for k, (a, b) in enumerate(found) if a != b]
        if _is_filled(node) and different == ["shape"]:
            edits[number] = {k: sources.get(found[k]) for k in longer}
        elif node.op.target is not None and different == [node.op.target.attribute]:
            parent, k = node.inputs[0]
            given = _pairs(shapes, (places[id(parent)], k)) if node.op.target.keeps else []
            otherwise = -1 if node.op.target.infers else None
            edits[number] = {k: 0 if given[k : k + 1] == [found[k]] else otherwise for k in longer}
        if not longer or number not in edits or None in edits[number].values():
            return None
    return edits


def _is_filled(node: Node) -> bool:
    """Whether a node makes an array of one number from nothing."""
    return node.op is not None and not node.inputs and node.op.fills is not None


def _pairs(shapes: tuple[Shapes, Shapes], place: tuple[int, int]) -> list[tuple[int, int]]:
    """The extents in both graphs; none where their numbers differ."""
    before, after = (side.get(place, ()) for side in shapes)
    return list(zip(before, after, strict=True)) if len(before) == len(after) else []


def _edited(made: Symbol, edits: dict[int, dict], shapes: Shapes) -> tuple[list[Entry], list[Node]]:
    """A copy with edits, and its nodes by the numbers of those that they were."""
    entries = graph.copy(made._entries)
    nodes = graph.order(entries)
    variables = {n.name: n for n in nodes if n.op is None}
    for number, places in edits.items():
        node, shape = nodes[number], shapes[number, 0]
        if _is_filled(node):
            _repeat(node, tuple(1 if k in places else n for k, n in enumerate(shape)), places, variables)
            continue
        key = node.op.target.attribute
        if len(node.parsed[key]) == len(shape) and -1 not in places.values():
            shape = node.parsed[key]
        shape = tuple(places.get(k, n) for k, n in enumerate(shape))
        node.parsed, node.attrs = {**node.parsed, key: shape}, {**node.attrs, key: str(shape)}
    return entries, nodes


def _repeat(node: Node, shape: tuple, places: dict[int, tuple[str, int]], variables: dict[str, Node]) -> None:
    """Makes a node that fills an array one that repeats a smaller one along axes of inputs."""
    like = Node(node.op, f"{node.name}_one", {**node.attrs, "shape": str(shape)})
    for source in dict.fromkeys(name for name, _ in places.values()):
        axes = {k: axis for k, (name, axis) in places.items() if name == source}
        attrs = {"lhs_axes": str(tuple(axes)), "rhs_axes": str(tuple(axes.values()))}
        inputs = [(like, 0), (variables[source], 0)]
        like = Node(TABLE["broadcast_like"], f"{node.name}_{source}", attrs, inputs)
    node.op, node.parsed, node.attrs, node.inputs, node.slots = (
        like.op,
        like.parsed,
        like.attrs,
        like.inputs,
        like.slots,
    )
