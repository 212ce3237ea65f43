"""Shapes of which only some extents are known: what follows from them, forwards and backwards.

The operators' relations (`core.ops.relations`) tell extents of inputs and results from each other. Where they do not
tell all of a result, the operator is run on tensors without memory in which what is unknown is a symbol
(`core.extents`): extents of the result that are expressions of it are unknown too.
"""

from __future__ import annotations

from collections.abc import Callable

from core.base import MXNetError
from core.extents import Space, symbols_in
from core.graph.ir import Node, Value, Variable
from core.ops.relations import UNKNOWN, Extents, merged
from core.symbol.graph import is_open

HINT = 5040  # what tensors without memory have for a length that is unknown; no extent follows from it
FIRST = 64  # number of its symbol: those of lengths that callers leave open come before


def shapes(
    nodes: list[Node | Variable], known: dict[str, Extents], outputs: Callable, inside: Callable
) -> dict[Value, Extents]:
    """Extents of everything in the graph, from those of the variables.

    outputs(node, shapes of inputs): shapes of the results; parameters follow from the operators' `infer` rules, and for
    loops and branches, whose extents `inside(node, extents)` fills in, from their subgraphs. MXNetError where extents
    contradict each other.
    """
    found: dict[Value, Extents] = {n: known.get(n.name) for n in nodes if n.op is None}
    tried: dict[Node, tuple] = {}
    changed = True

    def refine(value: Value, extents: Extents) -> None:
        nonlocal changed
        try:
            known = merged(found.get(value), extents)
        except ValueError as error:
            raise _contradiction(value.maker, error) from None
        if known != found.get(value):
            found[value], changed = known, True

    while changed:
        changed = False
        for node in nodes:
            if node.op is None:
                continue
            told = inside if node.subgraphs else _parameters
            for v, extents in zip(node.given, told(node, [found.get(v) for v in node.given]), strict=True):
                refine(v, extents)
            _relate(node, found.get, refine)
            inputs = tuple(found.get(v) for v in node.given)
            if node.op.shape.complete or tried.get(node) == inputs or None in inputs:
                continue
            tried[node] = inputs
            for v, extents in zip(node.outputs, _forward(node, inputs, outputs)):
                refine(v, extents)
        for node in reversed(nodes):
            if node.op is not None:
                _relate(node, found.get, refine)
    return found


# ----------------------------------------------------------------------------------------------


def _contradiction(node: Node | Variable, shapes: ValueError) -> MXNetError:
    return MXNetError(f"node {node.name!r}: the shape is {shapes} follows from what surrounds it")


def _relate(node: Node, of: Callable, refine: Callable) -> None:
    """Refines the inputs and the results of a node by each other, as its operator's relation has it."""
    inputs, outputs = node.given, node.visible
    try:
        found = node.op.shape.refine(node.attrs, [of(v) for v in inputs], [of(v) for v in outputs])
    except ValueError as error:
        raise _contradiction(node, error) from None
    for v, extents in zip((*inputs, *outputs), (*found[0], *found[1])):
        refine(v, extents)


def _forward(node: Node, inputs: tuple, outputs: Callable) -> list:
    space = Space(large=True, first=FIRST)
    unknown = space.symbol(HINT)
    (its,) = space.symbols
    try:
        results = outputs(node, [tuple(unknown if n == UNKNOWN else n for n in s) for s in inputs])
    except (MXNetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError):
        return []  # the operator needs the number, or does not work on large ones
    found = [tuple(UNKNOWN if space.pinned or its in symbols_in(n) else n for n in shape) for shape in results]
    if is_open(
        node.outputs[0]
    ):  # a first state, whose batch size is that of what follows; or a range to an end that is not told
        found = [tuple(UNKNOWN if node.attrs.get("infer_range") else n or UNKNOWN for n in found[0])]
    return found


def _parameters(node: Node, found: list) -> list:
    """What the operator's `infer` rule tells of its inputs when the first is known in part."""
    if node.op.infer is None or not found or found[0] is None:
        return found
    by_slot = dict.fromkeys(node.op.inputs)
    for slot, extents in zip(node.slots, found, strict=True):
        by_slot[slot] = None if extents is None else tuple(max(n, 0) for n in extents)
    try:
        node.op.infer(by_slot, node.attrs)
    except (IndexError, TypeError, KeyError, ValueError, ZeroDivisionError, MXNetError):
        return found
    unknown = UNKNOWN in found[0]  # then a product of extents, as in a weight, may be 0

    def told(extents: Extents, inferred) -> Extents:
        if inferred is None or (extents is not None and UNKNOWN not in extents):
            return extents
        return tuple(n or UNKNOWN for n in inferred) if unknown or extents is not None else tuple(inferred)

    return [told(extents, by_slot[slot]) for slot, extents in zip(node.slots, found, strict=True)]
