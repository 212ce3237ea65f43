"""Traced graphs as symbols: what `export` writes for blocks that cannot be called on symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.base import MXNetError
from core.graph.ir import Draw, Graph, Node, Value
from core.ops.registry import TABLE
from core.symbol.compose import compose, given_of
from core.symbol.numpy import _Symbol
from core.symbol.symbol import Group, Symbol, var


def symbols(graph: Graph, inputs: Sequence[str], held: dict[int, Symbol]) -> tuple[Symbol, dict[str, object]]:
    """The graph, traced with `whole`, as a symbol, and the arrays of the variables that stand for constants.

    inputs: names of the variables of inputs. held: variables of parameters, by id of their arrays.
    """
    made: dict[Value, Symbol] = {}
    for value, name in zip(graph.inputs, inputs, strict=True):
        made[value] = var(name)
    constants = {}
    for value, array in zip(graph.held, graph.arrays, strict=True):
        made[value] = held.get(id(array))
        if made[value] is None:
            name = f"constant{len(constants)}"
            made[value], constants[name] = var(name, shape=array.shape, dtype=array.dtype), array
    for node in graph.nodes:
        found = symbol_of(node, [None if v is None else made[v] for v in node.inputs])
        made.update((v, found[k] if len(found) > 1 else found) for k, v in enumerate(node.outputs[: len(found)]))
    outputs = [made[v] for v in graph.outputs]
    return (outputs[0] if len(outputs) == 1 else Group(outputs)), constants


def symbol_of(node: Node, inputs: list[Symbol | None]) -> Symbol:
    """An operator of a trace on symbols of its inputs; MXNetError where files cannot hold what it reads."""
    op = node.op
    kind = _Symbol if node.outputs[0].kind._zero_dim else Symbol
    if any(isinstance(v, Value) and v.opaque for v in node.reads()):
        raise MXNetError(f"{op.name} reads what a kernel keeps, which files cannot hold")
    attrs = {k: v for k, v in node.attrs.items() if k in op.attrs and not isinstance(v, Draw)}
    if op.name in _FORMS:
        return _FORMS[op.name](node, inputs, lambda name, *given, **attrs: _call(name, given, attrs, kind))
    if op.variadic:
        given = [s for s in inputs if s is not None]
    else:
        given = {slot: s for slot, s in zip(op.inputs, inputs, strict=False) if s is not None}
    return compose(op, op.name, given, given_of(op, attrs), kind)


# -------------------------------------------------------------------------------------------- operators that files lack


def _call(name: str, given: Sequence[Symbol], attrs: dict, kind: type) -> Symbol:
    op = TABLE[name]
    inputs = list(given) if op.variadic else dict(zip(op.inputs, given))
    return compose(op, name, inputs, attrs, kind)


def _slice_view(node: Node, inputs: Sequence, call: Callable) -> Symbol:
    shape = node.inputs[0].shape
    return _part(inputs[0], _spelled(node.attrs["key"], len(shape)), shape, node.outputs[0].shape, call)


def _gather_part(node: Node, inputs: Sequence, call: Callable) -> Symbol:
    """An index with arrays: of one axis `take`, of several `gather_nd`, behind what its other items cut out."""
    data, *indices = inputs
    shape = node.inputs[0].shape
    key = _spelled((*node.attrs["key"], Ellipsis), len(shape))
    if any(item is None or item == "$1" for item in key):
        raise MXNetError("an index of arrays together with new axes has no form in files")
    told = [k for k, item in enumerate(key) if not isinstance(item, slice)]  # arrays, and numbers, which are ones too
    together = told == list(range(told[0], told[-1] + 1))
    arrays = [k for k in told if key[k] == "$"]
    basic = [slice(None) if k in arrays else item for k, item in enumerate(key)]
    left = tuple(len(range(shape[k])[item]) for k, item in enumerate(basic) if isinstance(item, slice))
    data = _part(data, basic, shape, left, call)
    axes = [sum(isinstance(item, slice) for item in basic[:k]) for k in arrays]
    place = axes[0] if together else 0
    if len(axes) == 1:
        made = call("take", data, indices[0], axis=axes[0], mode="wrap")
        axes_of_index, before = len(node.inputs[1].shape), axes[0]
    else:
        rest = [k for k in range(len(left)) if k not in axes]
        data = data if axes == list(range(len(axes))) else call("transpose", data, axes=(*axes, *rest))
        common = np.broadcast_shapes(*(v.shape for v in node.inputs[1:]))
        indices = [_broadcast(i, v.shape, common, call) for i, v in zip(indices, node.inputs[1:], strict=True)]
        made, axes_of_index, before = call("gather_nd", data, call("stack", *indices, axis=0)), len(common), 0
    if place == before:
        return made
    order = list(range(axes_of_index + len(left) - len(axes)))
    moved = [order.pop(before) for _ in range(axes_of_index)]
    return call("transpose", made, axes=(*order[:place], *moved, *order[place:]))


def _put_places(node: Node, inputs: Sequence, call: Callable) -> Symbol:
    raise MXNetError("x[...] = y at places that arrays tell has no form in files; build the array with where")


def _reshape_to(node: Node, inputs: Sequence, call: Callable) -> Symbol:
    return _shaped(inputs[0], node.outputs[0].shape, call)


def _broadcast_from(node: Node, inputs: Sequence, call: Callable) -> Symbol:
    return _broadcast(inputs[0], node.inputs[0].shape, node.outputs[0].shape, call)


_FORMS = {
    "_slice_view": _slice_view,
    "_gather_part": _gather_part,
    "_set_places": _put_places,
    "_reshape_to": _reshape_to,
    "_broadcast_from": _broadcast_from,
}


def _shaped(data: Symbol, shape: tuple, call: Callable) -> Symbol:
    return (
        call("Reshape", data, shape=shape) if shape and 0 not in shape else call("_npi_reshape", data, newshape=shape)
    )


def _broadcast(data: Symbol, before: tuple, after: tuple, call: Callable) -> Symbol:
    if len(before) < len(after):
        data = _shaped(data, (1,) * (len(after) - len(before)) + tuple(before), call)
    return data if tuple(before) == tuple(after) else call("broadcast_to", data, shape=tuple(after))


def _spelled(key: Sequence, axes: int) -> list:
    """The items of an index (one for each axis that it reaches, None for new ones) without an ellipsis."""
    key = list(key)
    while Ellipsis in key:
        k = key.index(Ellipsis)
        taken = sum(1 for item in key if item is not None and item is not Ellipsis)
        key[k : k + 1] = [slice(None)] * (axes - taken)
    return key


def _part(data: Symbol, key: Sequence, shape: tuple, wanted: tuple, call: Callable) -> Symbol:
    """A basic index as the operators that MXNet's files have for it."""
    begin, end, step, dropped, added, place = [], [], [], [], [], 0
    for item in key:
        if item is None:
            added.append(place)
            place += 1
            continue
        if isinstance(item, slice):
            begin, end, step = [*begin, item.start], [*end, item.stop], [*step, item.step]
            place += 1
        else:
            item %= shape[len(begin)]
            dropped.append(len(begin))
            begin, end, step = [*begin, item], [*end, item + 1], [*step, 1]
    if any(b is not None or e is not None or s not in (None, 1) for b, e, s in zip(begin, end, step, strict=True)):
        data = call("slice", data, begin=tuple(begin), end=tuple(end), step=tuple(step))
    if dropped and len(dropped) == len(shape) and wanted:  # nd has no arrays without axes
        dropped = dropped[1:]
    if dropped and not wanted:
        data = call("_npi_reshape", data, newshape=())
    elif dropped:
        data = call("squeeze", data, axis=tuple(dropped))
    for axis in added:
        data = call("expand_dims", data, axis=axis)
    return data
