"""Traced graphs as symbols: what `export` writes for blocks that cannot be called on symbols.

Lengths that a graph leaves open (`core.extents`) are told by the codes that operators of files have for them: 0 and -1
in a shape, positions counted from the end of an axis, an array of one number repeated along an axis of an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.base import MXNetError
from core.extents import Extent, length_of, same, symbols_in
from core.graph.ir import Draw, Graph, Node, Value
from core.graph.loops import Branch, While
from core.ops.registry import TABLE
from core.symbol.compose import compose, given_of
from core.symbol.control_flow import cond, foreach, while_loop
from core.symbol.numpy import _Symbol, bounds_of
from core.symbol.symbol import Group, Symbol, var

Sources = dict[Extent, tuple[Symbol, int]]  # an input and its axis, by the open length that it has


class NeedsNumber(MXNetError):
    """Raised where files have no form for a length that is open. symbols: those in it (`core.extents`)."""

    def __init__(self, what: str, lengths: object):
        super().__init__(f"{what} {lengths}, which files hold as a number alone")
        self.symbols = symbols_in(lengths)


def symbols(graph: Graph, inputs: Sequence[str], held: dict[int, Symbol]) -> tuple[Symbol, dict[str, object]]:
    """The graph, traced with `whole`, as a symbol, and the arrays of the variables that stand for constants.

    inputs: names of the variables of inputs. held: variables of parameters, by id of their arrays. NeedsNumber where
    an open length cannot be written.
    """
    made: dict[Value, Symbol] = {}
    sources: Sources = {}
    for value, name in zip(graph.inputs, inputs, strict=True):
        made[value] = var(name)
        for axis, length in enumerate(value.shape):
            if type(length) is Extent:
                sources.setdefault(length, (made[value], axis))
    constants = {}
    for value, array in zip(graph.held, graph.arrays, strict=True):
        made[value] = held.get(id(array))
        if made[value] is None:
            name = f"constant{len(constants)}"
            made[value], constants[name] = var(name, shape=array.shape, dtype=array.dtype), array
    _convert(graph.nodes, made, sources)
    outputs = [made[v] for v in graph.outputs]
    return (outputs[0] if len(outputs) == 1 else Group(outputs)), constants


def _convert(nodes: Iterable[Node], made: dict[Value, Symbol], sources: Sources) -> None:
    """Adds the symbols of what nodes give to those of what they read."""
    for node in nodes:
        found = symbol_of(node, [None if v is None else made[v] for v in node.inputs], sources)
        made.update((v, found[k] if len(found) > 1 else found) for k, v in enumerate(node.outputs[: len(found)]))


def symbol_of(node: Node, inputs: list[Symbol | None], sources: Sources | None = None) -> Symbol:
    """An operator of a trace on symbols of its inputs; MXNetError where files cannot hold what it reads.

    sources: (input, axis) that have the open lengths.
    """
    op = node.op
    call = Caller(_Symbol if node.outputs[0].kind._zero_dim else Symbol, sources or {})
    if any(isinstance(v, Value) and v.opaque for v in node.reads()):
        raise MXNetError(f"{op.name} reads what a kernel keeps, which files cannot hold")

    if op.name in _FORMS:
        return _FORMS[op.name](node, inputs, call)
    attrs = {k: v for k, v in node.attrs.items() if k in op.attrs and not isinstance(v, Draw)}
    if not node.inputs and op.fills is not None and symbols_in(attrs["shape"]):
        return _repeated(op.name, attrs, call)
    if op.target is not None and symbols_in(attrs[op.target.attribute]):
        form = _broadcast if op.name == "broadcast_to" else _shaped
        return form(inputs[0], node.inputs[0].shape, node.outputs[0].shape, call)
    for key, value in attrs.items():
        if symbols_in(value):
            raise NeedsNumber(f"{key} of {op.name} is", value)
    if op.variadic:
        given = [s for s in inputs if s is not None]
    else:
        given = {slot: s for slot, s in zip(op.inputs, inputs, strict=False) if s is not None}
    return compose(op, op.name, given, given_of(op, attrs), call.kind)


def _repeated(name: str, attrs: dict, call: Caller) -> Symbol:
    """An array of one number, repeated along the axes whose lengths are those of inputs."""
    shape = attrs["shape"]
    made = call(name, **{**attrs, "shape": tuple(n if type(n) is int else 1 for n in shape)})
    return _like(made, {k: n for k, n in enumerate(shape) if type(n) is not int}, call)


def _like(data: Symbol, lengths: dict[int, Extent], call: Caller) -> Symbol:
    """`data` with its axes of length 1 repeated to these lengths, which inputs have."""
    for n in lengths.values():
        if n not in call.sources:
            raise NeedsNumber("an array is made with a length that no input has,", n)
    places = {k: call.sources[n] for k, n in lengths.items()}
    for source in dict.fromkeys(source for source, _ in places.values()):
        axes = {k: axis for k, (its, axis) in places.items() if its is source}
        data = call("broadcast_like", data, source, lhs_axes=tuple(axes), rhs_axes=tuple(axes.values()))
    return data


# -------------------------------------------------------------------------------------------- operators that files lack


class Caller:
    """Applies operators by name to symbols of one class; sources: as of `symbol_of`."""

    def __init__(self, kind: type, sources: Sources):
        self.kind, self.sources = kind, sources

    def __call__(self, name: str, *given: Symbol, **attrs) -> Symbol:
        op = TABLE[name]
        return compose(op, name, list(given) if op.variadic else dict(zip(op.inputs, given)), attrs, self.kind)


def _slice_view(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    shape = node.inputs[0].shape
    return _part(inputs[0], _spelled(node.attrs["key"], len(shape)), shape, node.outputs[0].shape, call)


def _gather_part(node: Node, inputs: Sequence, call: Caller) -> Symbol:
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
    left = tuple(length_of(item, shape[k]) for k, item in enumerate(basic) if isinstance(item, slice))
    data = _part(data, basic, shape, left, call)
    axes = [sum(isinstance(item, slice) for item in basic[:k]) for k in arrays]
    place = axes[0] if together else 0
    if len(axes) == 1:
        made = call("take", data, indices[0], axis=axes[0], mode="wrap")
        axes_of_index, before = len(node.inputs[1].shape), axes[0]
    else:
        rest = [k for k in range(len(left)) if k not in axes]
        data = data if axes == list(range(len(axes))) else call("transpose", data, axes=(*axes, *rest))
        common = node.outputs[0].shape[place : place + max(len(v.shape) for v in node.inputs[1:])]
        indices = [_broadcast(i, v.shape, common, call) for i, v in zip(indices, node.inputs[1:], strict=True)]
        made, axes_of_index, before = call("gather_nd", data, call("stack", *indices, axis=0)), len(common), 0
    if place == before:
        return made
    order = list(range(axes_of_index + len(left) - len(axes)))
    moved = [order.pop(before) for _ in range(axes_of_index)]
    return call("transpose", made, axes=(*order[:place], *moved, *order[place:]))


def _put_places(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    raise MXNetError("x[...] = y at positions that arrays name has no form in files; build the array with where")


def _arange_like(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    """0, 1, ..., as many as a number says, or as an axis of an input is long."""
    length = node.attrs["length"]
    if type(length) is int:
        return call("_arange_like", inputs[0], length=length)
    if length not in call.sources:
        raise NeedsNumber("a range has a length that no input has,", length)
    source, axis = call.sources[length]
    return call("_contrib_arange_like", source, axis=axis)


def _reshape_to(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    return _shaped(inputs[0], node.inputs[0].shape, node.outputs[0].shape, call)


def _broadcast_from(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    return _broadcast(inputs[0], node.inputs[0].shape, node.outputs[0].shape, call)


def _loop(node: Node, inputs: Sequence, call: Caller) -> Symbol:
    """A loop or a branch of a compiled block: its graphs, made of symbols of what they are given and read besides."""
    body = node.attrs["body"]
    count = 1 if isinstance(body, Branch) else len(body.traced.inputs)
    given, held = inputs[:count], inputs[count:]

    def step(body, arrays, held):
        graph = body.traced
        made = dict(zip([*graph.inputs, *graph.held], [*arrays, *held]))
        _convert(graph.nodes, made, call.sources)
        return [made[graph.outputs[k]] for k in body.outputs], [made[graph.outputs[k]] for k in body.states]

    if isinstance(body, Branch):
        first = len(body.then.traced.held)
        parts = (body.then, held[:first]), (body.other, held[first:])
        made = cond(given[0], *(lambda b=b, h=h: step(b, [], h)[0] for b, h in parts))
    elif isinstance(body, While):
        first = len(body.traced.held)
        rows, last = while_loop(
            lambda *x: step(body.test, x, held[first:])[0][0], lambda *x: step(body, x, held), given, body.most
        )
        made = [*rows, *last]
    else:
        rows, last = foreach(lambda x, h: step(body, [*x, *h], held), given[: body.data], given[body.data :])
        made = [*rows, *last]
    return Group(made)


_FORMS = {
    "_loop": _loop, "_slice_view": _slice_view, "_gather_part": _gather_part, "_set_places": _put_places,
    "_arange_like": _arange_like, "_reshape_to": _reshape_to, "_broadcast_from": _broadcast_from,
}  # fmt: skip


def _shaped(data: Symbol, before: tuple, after: tuple, call: Caller) -> Symbol:
    """The same elements in another shape: 0 (-2 of npx.reshape) where the input has the length too, -1 for one other."""
    numpy = call.kind is _Symbol or not after or any(type(n) is int and n == 0 for n in after)
    for name in ("_npi_reshape", "_npx_reshape") if numpy else ("Reshape",):
        target = TABLE[name].target
        shape = _codes(before, after, target.keeps)
        if shape.count(-1) <= 1:
            return call(name, data, **{target.attribute: shape})
    like = call("_ones", shape=tuple(n if type(n) is int else 1 for n in after))
    return call("reshape_like", data, _like(like, {k: n for k, n in enumerate(after) if type(n) is not int}, call))


def _broadcast(data: Symbol, before: tuple, after: tuple, call: Caller) -> Symbol:
    if len(before) < len(after):
        wide = (1,) * (len(after) - len(before)) + tuple(before)
        data, before = _shaped(data, before, wide, call), wide
    if all(map(same, before, after)):
        return data
    shape = _codes(before, after, 0)
    open_ = {k: after[k] for k, n in enumerate(shape) if n == -1}
    data = _like(data, open_, call) if open_ else data
    shape = tuple(0 if n == -1 else n for n in shape)
    return data if all(n == 0 or n == m for n, m in zip(shape, before)) else call("broadcast_to", data, shape=shape)


def _codes(before: tuple, after: tuple, kept: int | None) -> tuple[int, ...]:
    """`after` with `kept` for open lengths that `before` has in the same place, -1 for the others."""
    equal = [kept is not None and k < len(before) and same(n, before[k]) for k, n in enumerate(after)]
    return tuple(n if type(n) is int else kept if known else -1 for n, known in zip(after, equal, strict=True))


def _spelled(key: Sequence, axes: int) -> list:
    """The items of an index (one for each axis that it reaches, None for new ones) without an ellipsis."""
    key = list(key)
    while Ellipsis in key:
        k = key.index(Ellipsis)
        taken = sum(1 for item in key if item is not None and item is not Ellipsis)
        key[k : k + 1] = [slice(None)] * (axes - taken)
    return key


def _part(data: Symbol, key: Sequence, shape: tuple, wanted: tuple, call: Caller) -> Symbol:
    """A basic index as the operators that MXNet's files have for it."""
    lengths = iter(shape)
    items = [item if item is None else _counted(item, next(lengths)) for item in key]
    bounds, dropped, added = bounds_of(items)
    if any(item not in (None, slice(None), slice(None, None, 1)) for item in items):
        data = call("slice", data, **bounds)
    if dropped and len(dropped) == len(shape) and wanted:  # nd has no arrays without axes
        dropped = dropped[1:]
    if dropped and not wanted:
        data = call("_npi_reshape", data, newshape=())
    elif dropped:
        data = call("squeeze", data, axis=dropped)
    for axis in added:
        data = call("expand_dims", data, axis=axis)
    return data


def _counted(item: slice | int | Extent, length: int | Extent) -> slice | int:
    """An item of an index in numbers, which are counted from the end of the axis where they have to."""
    if isinstance(item, slice):
        return slice(_at(item.start, length), _at(item.stop, length, last=True), item.step)
    item = _at(item, length)
    return item if type(length) is Extent else item % length


def _at(bound: int | Extent | None, length: int | Extent, last: bool = False) -> int | None:
    """A bound of a part of an axis; an open one is counted from its end, which None is of the `last`."""
    if type(bound) is not Extent:
        return bound
    left = bound - length
    if type(left) is Extent or (left >= 0 and not last):
        raise NeedsNumber(f"a bound of a part of an axis of length {length} is", bound)
    return None if left >= 0 else left
