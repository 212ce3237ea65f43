"""Shapes and dtypes of a graph, forwards and, for parameters and what is known in part, backwards.

The operators themselves are run on tensors without memory, so no operator has a second description of its
shapes; what its `infer` rule tells fills in the parameters first. Where that leaves something unknown, the operators'
relations (`core.ops.relations`) tell extents of inputs and results from each other, and operators are run on extents
that are symbols (`core.extents`): those of the result that are expressions of what is unknown are unknown too.
"""

from __future__ import annotations

import contextlib

from core import autograd, dispatch, random_keys, storage
from core.base import MXNetError
from core.context import cpu
from core.dtypes import DTYPES, dtype_name
from core.extents import Space, symbols_in
from core.graph.ir import Node, Value, Variable
from core.ndarray import NDArray
from core.ops import attributes
from core.ops.relations import UNKNOWN, Extents, merged
from core.symbol import graph
from core.util import is_np_shape

Shape = tuple[int, ...]
Nodes = list[Node | Variable]

# Inputs that count, place or choose elements, in a dtype of their own.
_BESIDES = frozenset("length sequence_length data_lengths label_lengths index indices condition".split())
HINT = 5040  # what tensors without memory have for a length that is unknown; no extent follows from it
FIRST = 64  # number of its symbol: those of lengths that callers leave open come before
BY_NUMBER = {number: name for name, (number, _) in DTYPES.items() if number is not None}


def partial_shapes(entries: list[Value], given: dict[str, Shape]) -> tuple[dict[str, Shape | None], list[Shape | None]]:
    """Shapes by variable, and of the entries, as far as they follow; None where not even the number of axes does.

    An unknown extent is 0, in what is given too; under `np_shape` it is -1. MXNetError where shapes contradict each
    other.
    """
    unknown = -1 if is_np_shape() else 0
    its = _Pass(graph.order(entries), {name: _coded(shape) for name, shape in given.items()})
    with its:
        its.settle()
        found = dict(its.known)
        its.finish()
    variables = [n for n in its.nodes if n.op is None]
    if all(_whole(its.known.get(v)) for v in (*variables, *entries)):
        found = its.known
    return {v.name: _shown(found.get(v), unknown) for v in variables}, [_shown(found.get(v), unknown) for v in entries]


def arrays(entries: list[Value], given: dict[str, Shape], dtypes: dict[str, str]) -> dict[Value, tuple[Shape, str]]:
    """(shape, dtype) of everything that the graph computes; what stays unknown is left out."""
    its = _Pass(graph.order(entries), given, dtypes)
    with its:
        its.settle()
        its.finish()
    found = {
        n: (its.known[n], its.types[n.name] or "float32") for n in its.nodes if n.op is None and _whole(its.known[n])
    }
    for node, outputs in its.arrays.items():
        found |= {v: (x.shape, dtype_name(x.dtype)) for v, x in zip(node.outputs, outputs)}
    return found


def closed(entries: list[Value], given: dict[str, Shape]) -> list[Value]:
    """The graph for inputs of these shapes: first states of unknown batch size have the one that follows."""
    nodes = graph.order(entries)
    opened = [n for n in nodes if graph.is_open(n.outputs[0])]
    if not opened:
        return entries
    found = arrays(entries, given, {})
    replace = {}
    for node in opened:
        shape = found[node.outputs[0]][0] if node.outputs[0] in found else (0,)
        if 0 not in shape:
            attrs = graph.fitted(node, shape)
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
            return node.op.control.infer(node, arrays)
        return graph.apply(node, arrays, _make)
    except MXNetError as error:
        raise MXNetError(f"node {node.name!r}: {error}") from None


def blank(shape: Shape, dtype: str) -> NDArray:
    """An array without memory."""
    return NDArray._wrap(storage.meta(shape, dtype), cpu())


# ----------------------------------------------------------------------------------------------


class _Pass:
    """What follows in a graph from what is given of its variables, found by walks until one finds nothing new.

    known: extents by value, `UNKNOWN` for one that does not follow. arrays: without memory, by node, of those whose
    inputs are known wholly. types: dtypes by variable. It is entered while it works, since operators are run.
    """

    def __init__(self, nodes: Nodes, given: dict[str, Extents], dtypes: dict[str, str] | None = None):
        self.nodes, self.types = nodes, dict(dtypes or {})
        self.known: dict[Value, Extents] = {}
        self.arrays: dict[Node, list] = {}
        self._changed = False
        self._tried: dict[Node, tuple] = {}
        self._seen: dict[tuple, list] = {}  # outputs by what decides them: an unrolled network repeats itself
        for n in nodes:
            if n.op is None:
                self.known[n] = _told(n, given)
                self.types.setdefault(n.name, _declared_dtype(n))
            elif n.op.conditional:
                n.op.check_inputs([slot if v is not None else None for slot, v in zip(n.op.inputs, n.inputs)], n.attrs)

    def __enter__(self) -> None:
        self._around = contextlib.ExitStack()
        self._around.callback(random_keys.set_state, random_keys.get_state())
        self._around.enter_context(autograd.pause())

    def __exit__(self, *exception) -> None:
        self._around.close()

    def settle(self) -> None:
        """Finds out what follows: by running operators, and, where that leaves something, by their relations."""
        while self._walk():
            pass
        if len(self.arrays) < sum(n.op is not None for n in self.nodes) or not all(map(_whole, self.known.values())):
            while self._walk(related=True):
                pass

    def finish(self) -> None:
        """Goes on with first states that nobody tells the extents of as they were made."""
        while self._walk(final=True):
            pass

    def _walk(self, related: bool = False, final: bool = False) -> bool:
        """One walk over the graph, and one back if `related`; whether it found out something new."""
        self._changed = False
        left = [n for n in self.nodes if n.op is not None and n not in self.arrays]
        for node in left:
            for v, extents in zip(node.given, self._inputs_told(node), strict=True):
                self._refine(v, extents)
            if related:
                self._relate(node)
            waits = graph.is_open(node.outputs[0]) and not _whole(self.known.get(node.outputs[0]))
            inputs = None if waits and not final else self._inputs(node)
            if inputs is not None:
                self._run(node, inputs)
            elif related:
                self._run_on_symbols(node)
        for node in reversed(left if related else ()):
            if node not in self.arrays:
                self._relate(node)
        return self._changed

    def _refine(self, value: Value, extents: Extents) -> None:
        before = self.known.get(value)
        if extents is None or extents == before:
            return
        try:
            now = merged(before, extents)
        except ValueError as error:
            raise _contradiction(value.maker, error) from None
        if now != before:
            self.known[value], self._changed = now, True

    def _relate(self, node: Node) -> None:
        """Refines the inputs and the results of a node by each other, as its operator's relation has it."""
        inputs, outputs = node.given, node.visible
        try:
            found = node.op.shape.refine(
                node.attrs, [self.known.get(v) for v in inputs], [self.known.get(v) for v in outputs]
            )
        except ValueError as error:
            raise _contradiction(node, error) from None
        for v, extents in zip((*inputs, *outputs), (*found[0], *found[1])):
            self._refine(v, extents)

    def _inputs(self, node: Node) -> list | None:
        """Arrays without memory of the inputs of a node; None where one does not follow."""
        given = node.given
        if not all(_whole(self.known[v]) if v.source is None else v.source in self.arrays for v in given):
            return None
        found = [self._dtype(v) for v in given]
        first = _first_dtype(node, found) or "float32"
        for slot, v in zip(node.slots, given, strict=True):
            if v.source is None:
                self.types[v.name] = self.types[v.name] or node.op.input_dtype(slot, node.attrs, first)
        return [
            blank(self.known[v], self.types[v.name]) if v.source is None else self.arrays[v.source][v.index]
            for v in given
        ]

    def _dtype(self, value: Value) -> str | None:
        if value.source is None:
            return self.types[value.name]
        return dtype_name(self.arrays[value.source][value.index].dtype)

    def _run(self, node: Node, inputs: list) -> None:
        told = self.known.get(node.outputs[0])
        if graph.is_open(node.outputs[0]) and _whole(told):
            self.arrays[node] = [blank(told, node.attrs.get("dtype") or node.op.dtype or "float32")]
        else:
            self.arrays[node] = self._remembered(node, inputs)
        self._changed = True
        for v, x in zip(node.outputs, self.arrays[node]):
            self._refine(v, x.shape)

    def _remembered(self, node: Node, inputs: list) -> list:
        """`applied`, once for each operator with these attributes on these arrays."""
        if node.subgraphs or any(graph.is_open(v) for v in node.given):
            return applied(node, inputs)
        key = (id(node.op), tuple(node.slots), tuple(node.attrs.items()), tuple((a.shape, a.dtype) for a in inputs))
        try:
            found = self._seen.get(key)
        except TypeError:  # an attribute that is a list
            return applied(node, inputs)
        if found is None:
            found = self._seen[key] = applied(node, inputs)
        return found

    def _run_on_symbols(self, node: Node) -> None:
        """Refines the results by running the operator with symbols for what is unknown of its inputs."""
        shapes = tuple(self.known.get(v) for v in node.given)
        if node.op.shape.complete or self._tried.get(node) == shapes or None in shapes:
            return
        self._tried[node] = shapes
        space = Space(large=True, first=FIRST)
        unknown = space.symbol(HINT)
        (its,) = space.symbols
        inputs = [blank(tuple(unknown if n == UNKNOWN else n for n in s), "float32") for s in shapes]
        try:
            results = [x.shape for x in applied(node, inputs)]
        except (MXNetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError):
            return  # the operator needs the number, or does not work on large ones
        found = [tuple(UNKNOWN if space.pinned or its in symbols_in(n) else n for n in shape) for shape in results]
        if graph.is_open(node.outputs[0]):  # what is open, as the batch size of a first state, is still to be told
            if not node.attrs.get("shape", True):
                return
            found = [tuple(UNKNOWN if node.attrs.get("infer_range") else n or UNKNOWN for n in found[0])]
        for v, extents in zip(node.outputs, found):
            self._refine(v, extents)

    def _inputs_told(self, node: Node) -> list[Extents]:
        """Extents of the inputs, with those that the operator's `infer` rule or the subgraphs tell.

        MXNetError where the first is known wholly and contradicts another.
        """
        found = [self.known.get(v) for v in node.given]
        if node.subgraphs:
            return node.op.control.parameter_shapes(node, found, _of_subgraph)
        if node.op.infer is None or not found or found[0] is None:
            return found
        data, by_slot = found[0], dict.fromkeys(node.op.inputs)
        for slot, extents in zip(node.slots, found, strict=True):
            by_slot[slot] = None if extents is None else tuple(max(n, 0) for n in extents)
        try:
            node.op.infer(by_slot, node.attrs)
        except (IndexError, TypeError, KeyError, ValueError, ArithmeticError) as error:
            if not _whole(data):
                return found
            raise MXNetError(f"{node.op.name} {node.name!r} does not fit data of shape {data}: {error!r}") from None
        except MXNetError:
            if not _whole(data):
                return found
            raise
        told = []
        for slot, before in zip(node.slots, found, strict=True):
            after = None if by_slot[slot] is None else tuple(by_slot[slot])
            if None not in (before, after) and _whole(data) and not _agree(before, after):
                raise MXNetError(
                    f"{node.op.name} {node.name!r}: input {slot!r} has shape {tuple(before)}, but {after} follows "
                    f"from data of shape {data}"
                )
            if after is None or _whole(before):
                after = before
            elif before is not None or not _whole(data):  # a product of extents, as in a weight, may be 0
                after = tuple(n or UNKNOWN for n in after)
            told.append(after)
        return told


def _of_subgraph(entries: list[Value], given: dict[str, Extents]) -> tuple[dict[str, Extents], list[Extents]]:
    """Extents of the variables of a subgraph, by name, and of its entries."""
    its = _Pass(graph.order(entries), given)
    its.settle()
    return {n.name: its.known[n] for n in its.nodes if n.op is None}, [its.known.get(v) for v in entries]


def _contradiction(node: Node | Variable, shapes: ValueError) -> MXNetError:
    return MXNetError(f"node {node.name!r}: the shape is {shapes} follows from what surrounds it")


def _whole(extents: Extents) -> bool:
    return extents is not None and UNKNOWN not in extents


def _agree(before: Extents, after: Shape) -> bool:
    return len(before) == len(after) and all(b in (0, UNKNOWN, a) for b, a in zip(before, after, strict=True))


def _coded(shape: Shape) -> Extents:
    """A shape as a caller tells it, with `UNKNOWN` for 0 (under `np_shape` for -1)."""
    unknown = -1 if is_np_shape() else 0
    return tuple(UNKNOWN if n in (unknown, -1) else n for n in shape)


def _shown(extents: Extents, unknown: int) -> Shape | None:
    return None if extents is None else tuple(unknown if n == UNKNOWN else n for n in extents)


def _make(op, attrs: dict):
    """What an operator without inputs makes, without its memory."""
    if "shape" in attrs:
        attrs = {**attrs, "shape": tuple(max(n, 0) for n in attrs["shape"])}
    if op.fills is not None:  # of whatever size
        return blank(attrs["shape"], attrs["dtype"])
    made = dispatch.create(op, attrs, cpu(), NDArray)
    return blank(made.shape, dtype_name(made.dtype))


def _first_dtype(node: Node, found: list) -> str | None:
    """The dtype of the first input that has one; counts, places and choices say nothing of the others."""
    own = (t for slot, t in zip(node.slots, found, strict=True) if slot not in _BESIDES)
    return next((t for t in own if t is not None), None)


def _formula_dtype(node: Node, found: list) -> str | None:
    """The dtype of what a pointwise formula gives for inputs of these dtypes, found out on one element."""
    if node.op.formula is None or None in found:
        return None
    return dtype_name(applied(node, [blank((1,), t) for t in found])[0].dtype)


def _told(node: Variable, given: dict[str, Extents]) -> Extents:
    """The extents that are given for a variable, or else those that it was made with.

    () is given under `np_shape` only, for a scalar.
    """
    shape = given.get(node.name)
    if shape or (shape is not None and is_np_shape()):
        return shape
    declared = _attribute(node, "__shape__", attributes.ShapeType()) if "__shape__" in node.texts else None
    return None if declared in (None, (-1,)) else _coded(declared)


def _declared_dtype(node: Variable) -> str | None:
    return BY_NUMBER.get(_attribute(node, "__dtype__", attributes.IntType())) if "__dtype__" in node.texts else None


def _attribute(node: Variable, key: str, kind: attributes.Attribute):
    try:
        return kind.parse(node.texts[key])
    except (ValueError, OverflowError) as error:
        raise MXNetError(f"variable {node.name!r}: attribute {key}={node.texts[key]!r}: {error}") from None
