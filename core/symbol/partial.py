"""Shapes of which only some extents are known: what follows from them, forwards and backwards.

The operators' relations (`core.ops.relations`) tell extents of inputs and results from each other. Where they do not
tell all of a result, the operator is run on tensors without memory in which what is unknown is a symbol
(`core.extents`): extents of the result that are expressions of it are unknown too.
"""

from __future__ import annotations

from collections.abc import Callable

from core.base import MXNetError
from core.extents import Space, symbols_in
from core.ops.relations import UNKNOWN, Extents, merged
from core.symbol.graph import Node, is_open

HINT = 5040  # what tensors without memory have for a length that is unknown; no extent follows from it
FIRST = 64  # number of its symbol: those of lengths that callers leave open come before


def shapes(
    nodes: list[Node], known: dict[str, Extents], outputs: Callable, inside: Callable
) -> dict[tuple[int, int], Extents]:
    """Extents of everything in the graph, by (id of the node, output), from those of the variables.

    outputs(node, shapes of inputs): shapes of the results; parameters follow from the operators' `infer` rules, and for
    loops and branches, whose extents `inside(node, extents)` fills in, from their subgraphs. MXNetError where extents
    contradict each other.
    """
    found: dict[tuple[int, int], Extents] = {(id(n), 0): known.get(n.name) for n in nodes if n.op is None}
    tried: dict[int, tuple] = {}
    changed = True

    def refine(entry, extents: Extents) -> None:
        nonlocal changed
        place = id(entry[0]), entry[1]
        try:
            known = merged(found.get(place), extents)
        except ValueError as error:
            raise _contradiction(entry[0], error) from None
        if known != found.get(place):
            found[place], changed = known, True

    def of(entry) -> Extents:
        return found.get((id(entry[0]), entry[1]))

    while changed:
        changed = False
        for node in nodes:
            if node.op is None:
                continue
            told = inside if node.subgraphs else _parameters
            for entry, extents in zip(node.inputs, told(node, [of(e) for e in node.inputs]), strict=True):
                refine(entry, extents)
            _relate(node, of, refine)
            inputs = tuple(of(e) for e in node.inputs)
            if node.op.shape.complete or tried.get(id(node)) == inputs or None in inputs:
                continue
            tried[id(node)] = inputs
            for k, extents in enumerate(_forward(node, inputs, outputs)):
                refine((node, k), extents)
        for node in reversed(nodes):
            if node.op is not None:
                _relate(node, of, refine)
    return found


# ----------------------------------------------------------------------------------------------


def _contradiction(node: Node, shapes: ValueError) -> MXNetError:
    return MXNetError(f"node {node.name!r}: the shape is {shapes} follows from what surrounds it")


def _relate(node: Node, of: Callable, refine: Callable) -> None:
    """Refines the inputs and the results of a node by each other, as its operator's relation has it."""
    inputs, outputs = [of(e) for e in node.inputs], [of((node, k)) for k in range(node.outputs)]

    try:
        found = node.op.shape.refine(node.parsed, inputs, outputs)
    except ValueError as error:
        raise _contradiction(node, error) from None
    for entry, extents in zip((*node.inputs, *((node, k) for k in range(node.outputs))), (*found[0], *found[1])):
        refine(entry, extents)


def _forward(node: Node, inputs: tuple, outputs: Callable) -> list:
    space = Space(large=True, first=FIRST)
    unknown = space.symbol(HINT)
    (its,) = space.symbols
    try:
        results = outputs(node, [tuple(unknown if n == UNKNOWN else n for n in s) for s in inputs])
    except (MXNetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError):
        return []  # the operator needs the number, or does not work on large ones
    found = [tuple(UNKNOWN if space.pinned or its in symbols_in(n) else n for n in shape) for shape in results]
    if is_open(node):  # a first state, whose batch size is that of what follows; or a range to an end that is not told
        found = [tuple(UNKNOWN if node.parsed.get("infer_range") else n or UNKNOWN for n in found[0])]
    return found


def _parameters(node: Node, found: list) -> list:
    """What the operator's `infer` rule tells of its inputs when the first is known in part."""
    if node.op.infer is None or not found or found[0] is None:
        return found
    by_slot = dict.fromkeys(node.op.inputs)
    for slot, extents in zip(node.slots, found, strict=True):
        by_slot[slot] = None if extents is None else tuple(max(n, 0) for n in extents)
    try:
        node.op.infer(by_slot, node.parsed)
    except (IndexError, TypeError, KeyError, ValueError, ZeroDivisionError, MXNetError):
        return found
    unknown = UNKNOWN in found[0]  # then a product of extents, as in a weight, may be 0

    def told(extents: Extents, inferred) -> Extents:
        if inferred is None or (extents is not None and UNKNOWN not in extents):
            return extents
        return tuple(n or UNKNOWN for n in inferred) if unknown or extents is not None else tuple(inferred)

    return [told(extents, by_slot[slot]) for slot, extents in zip(node.slots, found, strict=True)]
