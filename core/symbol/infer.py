"""Shapes and dtypes of a graph, forwards and, for parameters, backwards.

The operators themselves are run on tensors without memory, so no operator has a second description of its
shapes; what its `infer` rule tells fills in the parameters first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from core import autograd, dispatch, random_keys, storage
from core.base import MXNetError
from core.context import cpu
from core.dtypes import DTYPES, dtype_name
from core.graph.ir import Node, Value, Variable
from core.ndarray import NDArray
from core.ops import attributes
from core.ops.relations import UNKNOWN, Extents
from core.symbol import graph, partial
from core.util import is_np_shape

Shape = tuple[int, ...]
Nodes = list[Node | Variable]

# Inputs that count, place or choose elements, in a dtype of their own.
_BESIDES = frozenset("length sequence_length data_lengths label_lengths index indices condition".split())
BY_NUMBER = {number: name for name, (number, _) in DTYPES.items() if number is not None}


def shapes(entries: list[Value], given: dict[str, Shape]) -> tuple[dict[str, Shape | None], list[Shape | None]]:
    """Shapes by variable, and of the entries; None where they do not follow from what is given.

    MXNetError where shapes contradict each other.
    """
    known, values = _settle(graph.order(entries), given, {})
    return known, [_shape(known, values, v) for v in entries]


def partial_shapes(entries: list[Value], given: dict[str, Shape]) -> tuple[dict[str, Shape | None], list[Shape | None]]:
    """As `shapes`, with what is known of the others: None where not even the number of axes is.

    An unknown extent is 0, in what is given too; under `np_shape` it is -1.
    """
    unknown = -1 if is_np_shape() else 0
    nodes = graph.order(entries)
    declared = {n.name: _told(n, given, _partial_shape) for n in nodes if n.op is None}
    open_ = {name for name, shape in declared.items() if unknown in shape or UNKNOWN in shape}
    variables, outputs = shapes(entries, {n: s for n, s in given.items() if n not in open_})
    if all(s is not None for s in (*variables.values(), *outputs)):
        return variables, outputs
    found = _extents(nodes, variables, given, declared)
    return (
        {n.name: _shown(found.get(n), unknown) for n in nodes if n.op is None},
        [_shown(found.get(v), unknown) for v in entries],
    )


def _extents(nodes: Nodes, variables: dict, given: dict[str, Shape], declared: dict) -> dict[Value, Extents]:
    """What follows of each value from the variables' shapes and, where those are None, from what is declared of them."""
    unknown = -1 if is_np_shape() else 0
    known = {
        name: shape if shape is not None
        else None if name not in given and declared[name] == (-1,)  # nothing was said
        else tuple(UNKNOWN if n in (unknown, -1) else n for n in declared[name])
        for name, shape in variables.items()
    }  # fmt: skip

    def results(node: Node, inputs: list[Shape]) -> list[Shape]:
        return [x.shape for x in applied(node, [blank(s, "float32") for s in inputs])]

    def of_subgraph(entries: list[Value], given: dict[str, Shape]) -> tuple[dict, list]:
        found, outputs = partial_shapes(entries, {name: _shown(extents, unknown) for name, extents in given.items()})
        return {n: s and tuple(UNKNOWN if e == unknown else e for e in s) for n, s in found.items()}, outputs

    def inside(node: Node, extents: list) -> list:
        from core.symbol.control_flow import parameter_shapes

        return parameter_shapes(node, extents, of_subgraph)

    with autograd.pause():
        return partial.shapes(nodes, known, results, inside)


def _shown(extents: Extents, unknown: int) -> Shape | None:
    return None if extents is None else tuple(unknown if n == UNKNOWN else n for n in extents)


def arrays(entries: list[Value], given: dict[str, Shape], dtypes: dict[str, str]) -> dict[Value, tuple[Shape, str]]:
    """(shape, dtype) of everything that the graph computes; what stays unknown is left out."""
    nodes = graph.order(entries)
    types = dict(dtypes)
    known, values = _settle(nodes, given, types)
    found = {
        n: (known[n.name], types[n.name] or "float32") for n in nodes if n.op is None and known[n.name] is not None
    }
    for node, outputs in values.items():
        found |= {v: (x.shape, dtype_name(x.dtype)) for v, x in zip(node.outputs, outputs)}
    return found


def _settle(nodes: Nodes, given: dict[str, Shape], types: dict[str, str]) -> tuple[dict, dict[Node, list]]:
    """Shapes by variable and arrays without memory by node; `types` holds and receives the variables' dtypes."""
    known = {n.name: _told(n, given, _declared_shape) for n in nodes if n.op is None}
    for n in nodes:
        if n.op is None:
            types.setdefault(n.name, _declared_dtype(n))
        elif n.op.conditional:
            n.op.check_inputs([slot if v is not None else None for slot, v in zip(n.op.inputs, n.inputs)], n.attrs)
    values: dict[Node, list] = {}
    wanted: dict[Value, Shape] = {}  # the shapes that others need
    seen: dict[tuple, list] = {}  # outputs by what decides them: an unrolled network repeats itself
    state = random_keys.get_state()
    try:
        with autograd.pause():
            tell = functools.partial(_sweep, nodes, known, types, values, wanted, seen)
            while tell(wait=True):
                pass
            open_ = [n for n in nodes if graph.is_open(n.outputs[0])]
            if open_ or None in known.values():  # backwards, by the operators' relations
                declared = {n.name: _told(n, given, _partial_shape) for n in nodes if n.op is None}
                found = _extents(nodes, known, given, declared)
                for n in nodes:
                    shape = found.get(n.outputs[0])
                    if shape is not None and UNKNOWN not in shape:
                        if n.op is None:
                            known[n.name] = known[n.name] or shape
                        elif n in open_:
                            wanted[n.outputs[0]] = shape
                while tell(wait=True):
                    pass
            while tell(wait=False):  # what nobody tells the extents of has those that it was made with
                pass
    finally:
        random_keys.set_state(state)
    return known, values


def closed(entries: list[Value], given: dict[str, Shape]) -> list[Value]:
    """The graph for inputs of these shapes: first states of unknown batch size have the one that follows."""
    nodes = graph.order(entries)
    opened = [n for n in nodes if graph.is_open(n.outputs[0])]
    if not opened:
        return entries
    _, values = _settle(nodes, given, {})
    replace = {}
    for node in opened:
        if node in values and 0 not in values[node][0].shape:
            attrs = graph.fitted(node, values[node][0].shape)
            replace[node.outputs[0]] = graph.applied(node.op, node.name, node.texts, given=attrs).outputs[0]
    return graph.copy(entries, replace)


def types(entries: list[Value], given: dict[str, object]) -> tuple[dict[str, str | None], list[str | None]]:
    """Names of dtypes by variable, and of the entries; None where unknown.

    An operator's variables take the dtype of its first known input, and so does its result unless its `dtype`
    attribute says otherwise.
    """
    nodes = graph.order(entries)
    known = {
        n.name: dtype_name(given[n.name]) if n.name in given else _declared_dtype(n) for n in nodes if n.op is None
    }
    results: dict[Node, str | None] = {}

    def of(value: Value) -> str | None:
        return known[value.name] if value.source is None else results[value.source]

    for node in nodes:
        if node.op is None:
            continue
        found = [of(v) for v in node.given]
        first = _first_dtype(node, found)
        for slot, v in zip(node.slots, node.given, strict=True):
            if v.source is None and known[v.name] is None and first is not None:
                known[v.name] = node.op.input_dtype(slot, node.attrs, first)
        own = node.attrs.get("dtype") or node.op.dtype
        if own is None and not found:
            own = "float32"
        results[node] = own or _formula_dtype(node, found) or first
    return known, [of(v) for v in entries]


def applied(node: Node, arrays: list) -> list:
    """What a node gives on arrays without memory; MXNetError names it where they do not fit."""
    try:
        if node.subgraphs:
            from core.symbol.control_flow import infer

            return infer(node, arrays)
        return graph.apply(node, arrays, _make)
    except MXNetError as error:
        raise MXNetError(f"node {node.name!r}: {error}") from None


def blank(shape: Shape, dtype: str) -> NDArray:
    """An array without memory."""
    return NDArray._wrap(storage.meta(shape, dtype), cpu())


# ----------------------------------------------------------------------------------------------


def _sweep(
    nodes: Nodes, known: dict, types: dict, values: dict[Node, list], wanted: dict, seen: dict, wait: bool
) -> bool:
    """One walk over the graph; whether it found out something new. wait: for the extents of first states."""
    progress = False
    for node in nodes:
        if node.op is None or node in values:
            continue
        given = node.given
        if wait and graph.is_open(node.outputs[0]):
            if node.outputs[0] in wanted:
                values[node] = [blank(wanted[node.outputs[0]], node.attrs.get("dtype") or "float32")]
                progress = True
            continue
        found = [_shape(known, values, v) for v in given]
        for v, shape in zip(given, _parameters(node, found), strict=True):
            if shape is not None and v.source is None and known[v.name] is None:
                known[v.name] = shape
                progress = True
            elif shape is not None and graph.is_open(v) and v.source not in values and v not in wanted:
                wanted[v] = tuple(shape)
                progress = True
        found = [known[v.name] if v.source is None else s for v, s in zip(given, found, strict=True)]
        if any(s is None for s in found):
            continue
        dtype = _first_dtype(node, [_dtype(types, values, v) for v in given]) or "float32"
        arrays = []
        for slot, v, shape in zip(node.slots, given, found, strict=True):
            if v.source is None:
                types[v.name] = types[v.name] or node.op.input_dtype(slot, node.attrs, dtype)
                arrays.append(blank(shape, types[v.name]))
            else:
                arrays.append(values[v.source][v.index])
        values[node] = _remembered(node, arrays, seen)
        progress = True
    return progress


def _remembered(node: Node, arrays: list, seen: dict[tuple, list]) -> list:
    """`applied`, once for each operator with these attributes on these arrays."""
    if node.subgraphs or any(graph.is_open(v) for v in node.given):
        return applied(node, arrays)
    kinds = tuple((a.shape, a.dtype) for a in arrays)
    key = (id(node.op), tuple(node.slots), tuple(node.attrs.items()), kinds)
    try:
        found = seen.get(key)
    except TypeError:  # an attribute that is a list
        return applied(node, arrays)
    if found is None:
        found = seen[key] = applied(node, arrays)
    return found


def _make(op, attrs: dict):
    """What an operator without inputs makes, without its memory."""
    if "shape" in attrs:
        attrs = {**attrs, "shape": tuple(max(n, 0) for n in attrs["shape"])}
    if op.fills is not None:  # of whatever size
        return blank(attrs["shape"], attrs["dtype"])
    made = dispatch.create(op, attrs, cpu(), NDArray)
    return blank(made.shape, dtype_name(made.dtype))


def _parameters(node: Node, found: list) -> list:
    """Shapes of the inputs, with those of parameters filled in from the others; MXNetError where they contradict."""
    if node.subgraphs:
        from core.symbol.control_flow import parameter_shapes

        return parameter_shapes(node, found, shapes)
    if node.op.infer is None or found[0] is None:
        return found
    by_slot = dict.fromkeys(node.op.inputs)
    by_slot.update(zip(node.slots, found, strict=True))
    try:
        node.op.infer(by_slot, node.attrs)
    except (IndexError, TypeError, KeyError, ValueError) as error:
        raise MXNetError(f"{node.op.name} {node.name!r} does not fit data of shape {found[0]}: {error!r}") from None
    inferred = [by_slot[slot] for slot in node.slots]
    for slot, before, after in zip(node.slots, found, inferred, strict=True):
        if before is not None and after is not None and not _agree(before, after):
            raise MXNetError(
                f"{node.op.name} {node.name!r}: input {slot!r} has shape {tuple(before)}, but {tuple(after)} follows "
                f"from data of shape {found[0]}"
            )
    return [None if s is None else tuple(s) for s in inferred]


def _agree(before: Shape, after: Shape) -> bool:
    return len(before) == len(after) and all(b in (0, a) for b, a in zip(before, after, strict=True))


def _first_dtype(node: Node, found: list) -> str | None:
    """The dtype of the first input that has one; counts, places and choices say nothing of the others."""
    own = (t for slot, t in zip(node.slots, found, strict=True) if slot not in _BESIDES)
    return next((t for t in own if t is not None), None)


def _formula_dtype(node: Node, found: list) -> str | None:
    """The dtype of what a pointwise formula gives for inputs of these dtypes, found out on one element."""
    if node.op.formula is None or None in found:
        return None
    return dtype_name(applied(node, [blank((1,), t) for t in found])[0].dtype)


def _shape(known: dict[str, Shape | None], values: dict[Node, list], value: Value) -> Shape | None:
    if value.source is None:
        return known[value.name]
    return values[value.source][value.index].shape if value.source in values else None


def _dtype(types: dict, values: dict[Node, list], value: Value) -> str | None:
    return types[value.name] if value.source is None else dtype_name(values[value.source][value.index].dtype)


def _told(node: Node | Variable, given: dict[str, Shape], otherwise: Callable) -> Shape | None:
    """The shape that is given for a variable, or else `otherwise(node)`.

    () is given under `np_shape` only, for a scalar.
    """
    shape = given.get(node.name)
    return shape if shape or (shape is not None and is_np_shape()) else otherwise(node)


def _declared_shape(node: Node | Variable) -> Shape | None:
    """The shape that a variable was made with, if all of it is known."""
    shape = _partial_shape(node)
    return shape if all(n > 0 for n in shape) else None


def _partial_shape(node: Node | Variable) -> Shape:
    """The shape that a variable or a first state was made with, 0 where an extent is to be found out."""
    text = node.texts.get("__shape__") if node.op is None else None
    if node.op is None and text is None:
        return (-1,)
    return node.attrs["shape"] if node.op is not None else _attribute(node, "__shape__", attributes.ShapeType())


def _declared_dtype(node: Variable) -> str | None:
    return BY_NUMBER.get(_attribute(node, "__dtype__", attributes.IntType())) if "__dtype__" in node.texts else None


def _attribute(node: Variable, key: str, kind: attributes.Attribute):
    try:
        return kind.parse(node.texts[key])
    except (ValueError, OverflowError) as error:
        raise MXNetError(f"variable {node.name!r}: attribute {key}={node.texts[key]!r}: {error}") from None
