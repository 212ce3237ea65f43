"""Recurrent layers read the parameters of a network where they are, rather than one array into which all are copied."""

from __future__ import annotations

from math import prod

from core.graph.ir import Graph, Node, Value, apply
from core.kernels.rnn_parameters import sizes
from core.ops.registry import get
from core.ops.relations import JOINED


def recurrent(graph: Graph) -> Graph:
    """The graph with recurrent networks whose flat parameter is a concatenation as nodes that read its parts.

    So every call saves a copy of the parameters, and a backward pass one of their gradients.
    """
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for v in dict.fromkeys(node.reads()):
            readers.setdefault(v, []).append(node)
    results = graph.results()
    replace: dict[Value, Value] = {}
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op.in_parts is None or not node.op.reserves or not (parts := _parts(node)):
            continue
        backward = [n for n in readers.get(node.outputs[-1], ()) if n.op.in_parts is not None]
        slices = [_slices(n, parts, readers, results) for n in backward]
        if None in slices:
            continue
        data, _, *states = node.inputs
        made[node] = apply(get(node.op.in_parts), [data, *_padded(states), *parts], node.attrs, node.outputs[0])
        replace.update(zip(node.outputs, made[node].outputs, strict=True))
        for old, found in zip(backward, slices, strict=True):
            *before, _, state, cell, out = old.inputs
            operands = [*before, state, cell, out, *parts]
            new = apply(get(old.op.in_parts), operands, old.attrs, old.inputs[3], backward=True)
            made[old] = new
            rest = len(old.outputs) - 1  # of data and states; behind them the parts
            replace.update(zip([old.outputs[0], *old.outputs[2:]], new.outputs[:rest], strict=True))
            replace.update((v, new.outputs[rest + k]) for v, k in found.items())
    return graph.replaced([made.get(node, node) for node in graph.nodes], replace) if made else graph


def _parts(node: Node) -> list[Value] | None:
    """The vectors that make up the flat parameter of a recurrent node, if each is one weight or bias."""
    source = node.inputs[1].source
    if source is None or source.op.shape is not JOINED or source.outputs[0] is not node.inputs[1]:
        return None
    how = (node.attrs[name] for name in ("mode", "state_size", "num_layers", "bidirectional"))
    parts = [prod(v.shape) for v in source.inputs]
    return source.inputs if parts == sizes(node.inputs[0].shape[2], *how) else None


def _slices(node: Node, parts: list[Value], readers: dict, results: set[Value]) -> dict[Value, int] | None:
    """Which part's gradient each slice of the flat gradient is; None where somebody reads it otherwise."""
    flat, start, places = node.outputs[1], 0, {}
    for k, part in enumerate(parts):
        places[slice(start, start + part.shape[0]).indices(flat.shape[0])] = k
        start += part.shape[0]
    found = {}
    for reader in readers.get(flat, ()):
        place = reader.attrs[reader.op.index][0].indices(flat.shape[0]) if reader.op.index is not None else None
        if place not in places:
            return None
        found[reader.outputs[0]] = places[place]
    return None if flat in results else found


def _padded(states: list) -> list:
    return [*states, *[None] * (2 - len(states))]
