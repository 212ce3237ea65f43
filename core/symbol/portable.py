"""Graphs for files: operators of this project alone become expressions over operators that MXNet 1.9.1 has."""

from __future__ import annotations

import math

from core.attribute import AttrScope
from core.graph.ir import Node, Value, Variable
from core.name import NameManager, Prefix
from core.symbol import graph
from core.symbol.symbol import Symbol, call


def portable(values: list[Value]) -> list[Value]:
    """The same values, computed by operators that MXNet 1.9.1 reads."""
    if not any(node.op is not None and node.op.name in EXPRESSIONS for node in graph.order(values)):
        return values
    return graph.rebuilt(values, _expressed)


def _expressed(node: Node | Variable, inputs: list) -> list[Value] | None:
    """What takes the place of a node's outputs, if it is one of those."""
    if node.op is None or node.op.name not in EXPRESSIONS:
        return None
    symbols = [v and Symbol([v]) for v in inputs]
    hidden = {key: text for key, text in node.texts.items() if key.startswith("__")}
    with NameManager(), Prefix(f"{node.name}_"), AttrScope(**hidden):
        result = EXPRESSIONS[node.op.name](*symbols, **node.attrs)
    result._entries[0].maker.name = node.name
    return result._entries


def _attention(query, key, value, length=None, *, scale=None, causal=False, dropout=0.0, p=None) -> Symbol:
    """Scores, a softmax over as many keys as count for each query, and the product with the values."""
    rate = dropout if p is None else p
    scaled = call("_contrib_div_sqrt_dim", query) if scale is None else query * scale
    flat = [call("Reshape", x, shape=(-3, 0, 0)) for x in (scaled, key, value)]
    scores = call("batch_dot", flat[0], flat[1], transpose_b=True)
    counts = []
    if length is not None or causal:
        # (batch, heads, queries), of whatever values
        places = call("Reshape", call("slice_axis", query, axis=3, begin=0, end=1), shape=(0, 0, -3))
        if length is not None:
            counts.append(call("broadcast_like", call("Reshape", length, shape=(-1, 1, 1)), places))
        if causal:
            seen = call("_contrib_arange_like", query, start=1.0, axis=2)
            seen = call("broadcast_like", call("Reshape", seen, shape=(1, 1, -1)), places)
            counts.append(call("Cast", seen, dtype="int32"))
        counts = [call("Reshape", call("Cast", c, dtype="int32"), shape=(-3, 0)) for c in counts]
        if len(counts) == 2:
            counts = [call("broadcast_minimum", *counts)]
    weights = call("softmax", scores, *counts, axis=-1, use_length=bool(counts))
    if rate:
        weights = call("Dropout", weights, p=rate)
    return call("reshape_like", call("batch_dot", weights, flat[2]), query)


def _softmax(data, *, axis: int) -> Symbol:
    return call("softmax", data, axis=axis)


def _isinf(data) -> Symbol:
    return call("abs", data) == math.inf


def _isfinite(data) -> Symbol:
    return call("broadcast_logical_and", data == data, call("abs", data) != math.inf)


EXPRESSIONS = {
    "_attention": _attention, "_dropout_attention": _attention, "_onednn_softmax": _softmax,
    "_contrib_isnan": lambda data: data != data, "_contrib_isinf": _isinf, "_contrib_isfinite": _isfinite,
}  # fmt: skip
