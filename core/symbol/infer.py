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
from core.ndarray import NDArray
from core.ops import attributes
from core.ops.relations import UNKNOWN, Extents
from core.symbol import graph, partial
from core.symbol.graph import Entry, Node
from core.util import is_np_shape

Shape = tuple[int, ...]

# Inputs that count, place or choose elements, in a dtype of their own.
_BESIDES = frozenset("length sequence_length data_lengths label_lengths index indices condition".split())
BY_NUMBER = {number: name for name, (number, _) in DTYPES.items() if number is not None}


def shapes(entries: list[Entry], given: dict[str, Shape]) -> tuple[dict[str, Shape | None], list[Shape | None]]:
    """Shapes by variable, and of the entries; None where they do not follow from what is given.

    MXNetError where shapes contradict each other.
    """
    nodes = graph.order(entries)
    known, values = _settle(nodes, given, {})
    return known, [
        known[node.name] if node.op is None else values[id(node)][k].shape if id(node) in values else None
        for node, k in entries
    ]


def partial_shapes(entries: list[Entry], given: dict[str, Shape]) -> tuple[dict[str, Shape | None], list[Shape | None]]:
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
        {n.name: _shown(found.get((id(n), 0)), unknown) for n in nodes if n.op is None},
        [_shown(found.get((id(node), k)), unknown) for node, k in entries],
    )


def _extents(nodes: list[Node], variables: dict, given: dict[str, Shape], declared: dict) -> dict:
    """What follows of each output from the variables' shapes and, where those are None, from what is declared of them."""
    unknown = -1 if is_np_shape() else 0
    known = {
        name: shape if shape is not None
        else None if name not in given and declared[name] == (-1,)  # nothing was said
        else tuple(UNKNOWN if n in (unknown, -1) else n for n in declared[name])
        for name, shape in variables.items()
    }  # fmt: skip

    def results(node: Node, inputs: list[Shape]) -> list[Shape]:
        return [x.shape for x in applied(node, [blank(s, "float32") for s in inputs])]

    def of_subgraph(entries: list[Entry], given: dict[str, Shape]) -> tuple[dict, list]:
        found, outputs = partial_shapes(entries, {name: _shown(extents, unknown) for name, extents in given.items()})
        return {n: s and tuple(UNKNOWN if e == unknown else e for e in s) for n, s in found.items()}, outputs

    def inside(node: Node, extents: list) -> list:
        from core.symbol.control_flow import parameter_shapes

        return parameter_shapes(node, extents, of_subgraph)

    with autograd.pause():
        return partial.shapes(nodes, known, results, inside)


def _shown(extents: Extents, unknown: int) -> Shape | None:
    return None if extents is None else tuple(unknown if n == UNKNOWN else n for n in extents)


def arrays(
    entries: list[Entry], given: dict[str, Shape], dtypes: dict[str, str]
) -> dict[tuple[int, int], tuple[Shape, str]]:
    """(shape, dtype) of everything that the graph computes, by (id of the node, output).

    What stays unknown is left out.
    """
    nodes = graph.order(entries)
    types = dict(dtypes)
    known, values = _settle(nodes, given, types)
    found = {
        (id(n), 0): (known[n.name], types[n.name] or "float32")
        for n in nodes
        if n.op is None and known[n.name] is not None
    }
    for place, outputs in values.items():
        found |= {(place, k): (x.shape, dtype_name(x.dtype)) for k, x in enumerate(outputs)}
    return found


def _settle(nodes: list[Node], given: dict[str, Shape], types: dict[str, str]) -> tuple[dict, dict[int, list]]:
    """Shapes by variable and arrays without memory by node; `types` holds and receives the variables' dtypes."""
    known = {n.name: _told(n, given, _declared_shape) for n in nodes if n.op is None}
    for n in nodes:
        if n.op is None:
            types.setdefault(n.name, _declared_dtype(n))
        elif n.op.conditional:
            n.op.check_inputs([slot if slot in n.slots else None for slot in n.op.inputs], n.parsed)
    values: dict[int, list] = {}
    wanted: dict[int, Shape] = {}  # by id of the node: the shape that others need of its output
    seen: dict[tuple, list] = {}  # outputs by what decides them: an unrolled network repeats itself
    state = random_keys.get_state()
    try:
        with autograd.pause():
            tell = functools.partial(_sweep, nodes, known, types, values, wanted, seen)
            while tell(wait=True):
                pass
            open_ = [n for n in nodes if graph.is_open(n)]
            if open_ or None in known.values():  # backwards, by the operators' relations
                declared = {n.name: _told(n, given, _partial_shape) for n in nodes if n.op is None}
                found = _extents(nodes, known, given, declared)
                for n in nodes:
                    shape = found.get((id(n), 0))
                    if shape is not None and UNKNOWN not in shape:
                        if n.op is None:
                            known[n.name] = known[n.name] or shape
                        elif n in open_:
                            wanted[id(n)] = shape
                while tell(wait=True):
                    pass
            while tell(wait=False):  # what nobody tells the extents of has those that it was made with
                pass
    finally:
        random_keys.set_state(state)
    return known, values


def closed(entries: list[Entry], given: dict[str, Shape]) -> list[Entry]:
    """The graph for inputs of these shapes: first states of unknown batch size have the one that follows."""
    nodes = graph.order(entries)
    opened = [n for n in nodes if graph.is_open(n)]
    if not opened:
        return entries
    _, values = _settle(nodes, given, {})
    replace = {}
    for node in opened:
        if id(node) in values and 0 not in values[id(node)][0].shape:
            shape = values[id(node)][0].shape
            replace[id(node)] = (Node(node.op, node.name, node.attrs, given=graph.fitted(node, shape)), 0)
    return graph.copy(entries, replace)


def types(entries: list[Entry], given: dict[str, object]) -> tuple[dict[str, str | None], list[str | None]]:
    """Names of dtypes by variable, and of the entries; None where unknown.

    An operator's variables take the dtype of its first known input, and so does its result unless its `dtype`
    attribute says otherwise.
    """
    nodes = graph.order(entries)
    known = {
        n.name: dtype_name(given[n.name]) if n.name in given else _declared_dtype(n) for n in nodes if n.op is None
    }
    results: dict[int, str | None] = {}
    for node in nodes:
        if node.op is None:
            results[id(node)] = known[node.name]
            continue
        found = [known[p.name] if p.op is None else results[id(p)] for p, _ in node.inputs]
        first = _first_dtype(node, found)
        for slot, (parent, _) in zip(node.slots, node.inputs, strict=True):
            if parent.op is None and known[parent.name] is None and first is not None:
                known[parent.name] = node.op.input_dtype(slot, node.parsed, first)
        own = node.parsed.get("dtype") or node.op.dtype
        if own is None and not node.inputs:
            own = "float32"
        results[id(node)] = own or _formula_dtype(node, found) or first
    return known, [known[n.name] if n.op is None else results[id(n)] for n, _ in entries]


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
    nodes: list[Node], known: dict, types: dict, values: dict[int, list], wanted: dict, seen: dict, wait: bool
) -> bool:
    """One walk over the graph; whether it found out something new. wait: for the extents of first states."""
    progress = False
    for node in nodes:
        if node.op is None or id(node) in values:
            continue
        if wait and graph.is_open(node):
            if id(node) in wanted:
                values[id(node)] = [blank(wanted[id(node)], node.parsed.get("dtype") or "float32")]
                progress = True
            continue
        found = [known[p.name] if p.op is None else _shape(values, p, k) for p, k in node.inputs]
        for (parent, _), shape in zip(node.inputs, _parameters(node, found), strict=True):
            if shape is not None and parent.op is None and known[parent.name] is None:
                known[parent.name] = shape
                progress = True
            elif shape is not None and graph.is_open(parent) and id(parent) not in values and id(parent) not in wanted:
                wanted[id(parent)] = tuple(shape)
                progress = True
        found = [known[p.name] if p.op is None else s for (p, _), s in zip(node.inputs, found, strict=True)]
        if any(s is None for s in found):
            continue
        dtype = _first_dtype(node, [_dtype(types, values, e) for e in node.inputs]) or "float32"
        arrays = []
        for slot, (parent, k), shape in zip(node.slots, node.inputs, found, strict=True):
            if parent.op is None:
                types[parent.name] = types[parent.name] or node.op.input_dtype(slot, node.parsed, dtype)
                arrays.append(blank(shape, types[parent.name]))
            else:
                arrays.append(values[id(parent)][k])
        values[id(node)] = _remembered(node, arrays, seen)
        progress = True
    return progress


def _remembered(node: Node, arrays: list, seen: dict[tuple, list]) -> list:
    """`applied`, once for each operator with these attributes on these arrays."""
    if node.subgraphs or any(graph.is_open(parent) for parent, _ in node.inputs):
        return applied(node, arrays)
    kinds = tuple((a.shape, a.dtype) for a in arrays)
    key = (id(node.op), node.slots, tuple(node.parsed.items()), kinds)
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
        node.op.infer(by_slot, node.parsed)
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


def _shape(values: dict[int, list], node: Node, k: int) -> Shape | None:
    return values[id(node)][k].shape if id(node) in values else None


def _dtype(types: dict, values: dict[int, list], entry: Entry) -> str | None:
    node, k = entry
    return types[node.name] if node.op is None else dtype_name(values[id(node)][k].dtype)


def _told(node: Node, given: dict[str, Shape], otherwise: Callable) -> Shape | None:
    """The shape that is given for a variable, or else `otherwise(node)`.

    () is given under `np_shape` only, for a scalar.
    """
    shape = given.get(node.name)
    return shape if shape or (shape is not None and is_np_shape()) else otherwise(node)


def _declared_shape(node: Node) -> Shape | None:
    """The shape that a variable was made with, if all of it is known."""
    shape = _partial_shape(node)
    return shape if all(n > 0 for n in shape) else None


def _partial_shape(node: Node) -> Shape:
    """The shape that a variable or a first state was made with, 0 where an extent is to be found out."""
    text = node.attrs.get("__shape__") if node.op is None else None
    if node.op is None and text is None:
        return (-1,)
    return node.parsed["shape"] if node.op is not None else _attribute(node, "__shape__", attributes.ShapeType())


def _declared_dtype(node: Node) -> str | None:
    return BY_NUMBER.get(_attribute(node, "__dtype__", attributes.IntType())) if "__dtype__" in node.attrs else None


def _attribute(node: Node, key: str, kind: attributes.Attribute):
    try:
        return kind.parse(node.attrs[key])
    except (ValueError, OverflowError) as error:
        raise MXNetError(f"variable {node.name!r}: attribute {key}={node.attrs[key]!r}: {error}") from None
