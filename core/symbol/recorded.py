"""Recorded computations as symbols: `autograd.get_symbol`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from weakref import WeakKeyDictionary

from core import backward, tape
from core.base import MXNetError
from core.graph.ir import Value
from core.ndarray.ndarray import NDArray
from core.ops.registry import Operator
from core.symbol.graph import applied
from core.symbol.symbol import Symbol, var

_NUMBERS: WeakKeyDictionary[tape.Leaf, int] = WeakKeyDictionary()  # of marked arrays that a symbol has named
_COUNT = itertools.count()


def _name(leaf: tape.Leaf | None) -> str:
    """The name of a marked array, or a new one."""
    if leaf is None:
        return f"var{next(_COUNT)}"
    if leaf not in _NUMBERS:
        _NUMBERS[leaf] = next(_COUNT)
    return f"var{_NUMBERS[leaf]}"


def get_symbol(x: NDArray):
    """The recorded computation of an array as a Symbol; a marked array is a variable, under one name in all symbols.

    Arrays from outside that are not marked are variables too, one for each use. A call of a compiled block with more
    operators than its `inline_limit` is one node, `_CachedOp`.
    """
    if x._entry is None:
        raise MXNetError("the array is not the result of a recorded computation, nor marked for a gradient")
    if type(x._entry) is not tuple:
        return var(_name(x._entry))
    made: dict[object, list[Value]] = {}
    variables: dict[str, Value] = {}

    def variable(leaf):
        """One for each marked array, and one for each use of an array that is not."""
        name = _name(leaf)
        return variables.setdefault(name, var(name)._entries[0])

    def entry(place):
        """What an array with this place on the tape is in the graph."""
        return made[place[0]][place[1]] if type(place) is tuple else variable(place)

    def node_of(op, inputs, attrs):
        count[0] += 1
        given = {key: value for key, value in attrs.items() if key in op.attrs}  # without what a call adds
        return applied(op, f"{op.name.lower().lstrip('_')}{count[0]}", {}, inputs, given)

    count = [-1]
    for node in reversed(backward.order([x._entry[0]], {})):
        if node.op is None:
            made[node] = _compiled_entries(node, entry, node_of)
        elif node.op.user_rule is not None:
            raise MXNetError("the computation holds a function of the user, which is no operator")
        else:
            inputs = [entry(p) for p, shape in zip(node.parents, node.shapes, strict=True) if shape is not None]
            made[node] = node_of(node.op, inputs, node.attrs).outputs
    return Symbol([entry(x._entry)])


def _compiled_entries(node, entry: Callable, node_of: Callable) -> list[Value]:
    """What a call of a compiled block gives, in the graph: its operators where they are few, or one node for all."""
    graph = node._plan._traced
    own = [n for n in graph.nodes if not n.backward]
    inside = {value: entry(array._entry) for value, array in zip(graph.inputs, node._leaves, strict=True)}
    inside.update((value, entry(array._entry)) for value, array in zip(graph.held, graph.arrays, strict=True))
    if len(own) > node._plan.inline_limit:
        return node_of(_cached_op(len(graph.outputs)), list(inside.values()), {}).outputs
    for n in own:
        made = node_of(n.op, [inside[v] for v in n.given], n.attrs)
        inside.update(zip(n.outputs, made.outputs))
    return [inside[value] for value in graph.outputs]


def _cached_op(outputs: int) -> Operator:
    """The operator that stands for a whole compiled block."""
    op = Operator("_CachedOp", lambda *data: None, outputs=outputs)
    op.variadic = True
    return op
