"""Traced graphs as symbols: what `export` writes for blocks that cannot be called on symbols."""

from __future__ import annotations

from collections.abc import Sequence

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
    op = node.op
    kind = _Symbol if node.outputs[0].kind._zero_dim else Symbol
    if any(isinstance(v, Value) and v.opaque for v in node.reads()):
        raise MXNetError(f"{op.name} reads what a kernel keeps, which files cannot hold")
    attrs = {k: v for k, v in node.attrs.items() if k in op.attrs and not isinstance(v, Draw)}
    if op.name == "_slice_view":
        return _slices(node, inputs[0], kind)
    if op.variadic:
        given = [s for s in inputs if s is not None]
    else:
        given = {slot: s for slot, s in zip(op.inputs, inputs, strict=False) if s is not None}
    return compose(op, op.name, given, given_of(op, attrs), kind)


def _slices(node: Node, data: Symbol, kind: type) -> Symbol:
    """A basic index as the operators that MXNet's files have for it."""
    begin, end, step, dropped, added, place = [], [], [], [], [], 0
    shape = node.inputs[0].shape
    key = list(node.attrs["key"])
    if Ellipsis in key:
        k = key.index(Ellipsis)
        missing = len(shape) - sum(1 for item in key if item is not None and item is not Ellipsis)
        key[k : k + 1] = [slice(None)] * missing
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

    def call(name: str, **attrs):
        op = TABLE[name]
        return compose(op, name, {op.inputs[0]: data}, attrs, kind)

    if any(b is not None or e is not None or s not in (None, 1) for b, e, s in zip(begin, end, step, strict=True)):
        data = call("slice", begin=tuple(begin), end=tuple(end), step=tuple(step))
    wanted = node.outputs[0].shape
    if dropped and len(dropped) == len(shape) and wanted:  # nd has no arrays without axes
        dropped = dropped[1:]
    if dropped and not wanted:
        data = call("_npi_reshape", newshape=())
    elif dropped:
        data = call("squeeze", axis=tuple(dropped))
    for axis in added:
        data = call("expand_dims", axis=axis)
    return data
