"""Recurrent layers read the parameters of a network where they are, rather than one array into which all are copied.

So every call saves a copy of the parameters, and a backward pass one of their gradients.
"""

from __future__ import annotations

from math import prod

from core.graph.ir import Node, Value, apply
from core.graph.rewrite import Made, Rule, Walk
from core.kernels.rnn_parameters import sizes
from core.ops.registry import get
from core.ops.relations import JOINED


def _in_parts(node: Node, walk: Walk) -> Made | None:
    """The network over the parts of its flat parameter; its backward nodes, which come later, are made with it."""
    if not node.op.reserves:
        return walk.memory.get(node)
    parts = _parts(node)
    backward = [n for n in walk.readers.get(node.outputs[-1], ()) if n.op.in_parts is not None]
    slices = [_slices(n, parts, walk) for n in backward] if parts else [None]
    if None in slices:
        return None
    data, _, *states = node.inputs
    made = apply(get(node.op.in_parts), [data, *_padded(states), *parts], node.attrs, node.outputs[0])
    reserve = {node.outputs[-1]: made.outputs[-1]}
    for old, found in zip(backward, slices, strict=True):
        *before, _, state, cell, out = old.inputs
        new = apply(get(old.op.in_parts), [*before, state, cell, out, *parts], old.attrs, old.inputs[3], backward=True)
        rest = len(old.outputs) - 1  # of data and states; behind them the parts
        others = dict(zip([old.outputs[0], *old.outputs[2:]], new.outputs[:rest], strict=True))
        others |= {v: new.outputs[rest + k] for v, k in found.items()}
        walk.memory[old] = Made([new], None, others)
    return Made([made], made.outputs, reserve)


def _parts(node: Node) -> list[Value] | None:
    """The vectors that make up the flat parameter of a recurrent node, if each is one weight or bias."""
    source = node.inputs[1].source
    if source is None or source.op.shape is not JOINED or source.outputs[0] is not node.inputs[1]:
        return None
    how = (node.attrs[name] for name in ("mode", "state_size", "num_layers", "bidirectional"))
    parts = [prod(v.shape) for v in source.inputs]
    return source.inputs if parts == sizes(node.inputs[0].shape[2], *how) else None


def _slices(node: Node, parts: list[Value], walk: Walk) -> dict[Value, int] | None:
    """Which part's gradient each slice of the flat gradient is; None where somebody reads it otherwise."""
    flat, start, places = node.outputs[1], 0, {}
    for k, part in enumerate(parts):
        places[slice(start, start + part.shape[0]).indices(flat.shape[0])] = k
        start += part.shape[0]
    found = {}
    for reader in walk.readers.get(flat, ()):
        place = reader.attrs[reader.op.index][0].indices(flat.shape[0]) if reader.op.index is not None else None
        if place not in places:
            return None
        found[reader.outputs[0]] = places[place]
    return None if flat in walk.results else found


def _padded(states: list) -> list:
    return [*states, *[None] * (2 - len(states))]


recurrent = Rule("recurrent", lambda node: node.op.in_parts is not None, _in_parts)
