"""The graph (`core.graph.ir`) as symbols compose it: making nodes, walking over them, running them on arrays."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from core import dispatch
from core.base import MXNetError
from core.graph.ir import NODE, Node, Value, Variable
from core.ops import attributes
from core.ops.registry import Operator
from core.ops.storage_types import DENSE

# Attributes that steer training and placement rather than the operator; stored as `__key__`, asked for as `key` too.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")
# Attributes in files that mean nothing here: the number of inputs is known, the rest chose a backend.
_IGNORED = frozenset({"num_args", "cudnn_off", "cudnn_tune", "workspace"})


def hidden(attrs: dict[str, str]) -> dict[str, str]:
    """Attributes as nodes hold them: those that do not concern the operator as `__key__`."""
    return {f"__{key}__" if key in HIDDEN else key: value for key, value in attrs.items()}


def applied(
    op: Operator, name: str, texts: dict[str, str], inputs: Sequence[Value] = (), given: dict | None = None,
    subgraphs=(),
) -> Node:  # fmt: skip
    """A node of a symbol: an operator on the inputs that it has (`input_names`), in order.

    texts: what files hold of its attributes; given: the typed ones, which follow from the texts by default. subgraphs:
    lists of values, of loops and branches only.
    """
    attrs = op.parse(typed(op, texts) if given is None else given)
    return made(op, name, texts, attrs, placed(op, attrs, inputs), subgraphs)


def made(op: Operator, name: str, texts: dict[str, str], attrs: dict, inputs: list, subgraphs=()) -> Node:
    """A node of a symbol with typed attributes and inputs in the order of the operator."""
    node = Node(op, attrs, inputs)
    node.name, node.texts, node.subgraphs = name, texts, list(subgraphs)
    node.outputs = [Value(None, None, None, NODE, k, node) for k in range(op.count(attrs))]
    return node


def with_inputs(node: Node, inputs: list) -> Node:
    """The same node over other inputs, in the order of the operator."""
    return made(node.op, node.name, dict(node.texts), node.attrs, inputs, node.subgraphs)


def placed(op: Operator, attrs: dict, inputs: Sequence[Value]) -> list:
    """Inputs in the order of the operator, None where it has an optional one not, from those that it has.

    MXNetError where their number fits none.
    """
    if op.variadic or len(inputs) == len(op.inputs):
        return list(inputs)
    names = slots_of(op, attrs, len(inputs))
    if len(names) != len(inputs):
        raise MXNetError(f"{op.name} takes {', '.join(names) or 'nothing'}; {len(inputs)} inputs are given")
    by_slot = dict(zip(names, inputs))
    return [by_slot.get(slot) for slot in op.inputs]


def slots_of(op: Operator, attrs: dict, count: int) -> list[str]:
    """The names of so many inputs of an operator with fixed ones; a file lists optional ones in order, too."""
    names = input_names(op, attrs)
    for name in op.inputs:
        if len(names) < count and name not in names:
            names = [n for n in op.inputs if n in names or n == name]
    return names


def is_auxiliary(node: Node, slot: str) -> bool:
    """Whether the operator keeps its state in the input called `slot`."""
    if node.subgraphs:
        return node.slots.index(slot) in node.op.control.auxiliary_places(node)
    return slot in node.op.auxiliary


def writes(node: Node, slot: str) -> bool:
    """Whether the operator writes to the input called `slot`; a variadic one to any."""
    return is_auxiliary(node, slot) or slot in node.op.mutates or bool(node.op.variadic and node.op.mutates)


def input_names(op: Operator, attrs: dict, given: Iterable[str] = ()) -> list[str]:
    """The inputs that an operator has under these attributes; optional ones of other names if they are `given`."""
    if op.takes is not None:
        return op.takes(attrs)
    given = set(given)
    return [n for n in op.inputs if n not in op.optional or n in given or _wanted(op, n, attrs)]


def _wanted(op: Operator, name: str, attrs: dict) -> bool:
    """Whether the operator has the optional input under these attributes."""
    attr, value = op.when.get(name, (None, None))
    return attr is not None and attrs[attr] == value


def order(values: Iterable[Value]) -> list[Node | Variable]:
    """All nodes and variables that values depend on, inputs first (depth first, as MXNet lists them)."""
    found: list[Node | Variable] = []
    seen: set[Node | Variable] = set()
    stack: list[tuple[Node | Variable, bool]] = []
    for root in values:
        stack.append((root.maker, False))
        while stack:
            node, done = stack.pop()
            if done:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                for v in reversed(node.inputs):
                    maker = v if v is None or v.source is None else v.source  # written out: graphs are long
                    if maker is not None and maker not in seen:
                        stack.append((maker, False))
    return found


def variables(values: Iterable[Value]) -> list[Variable]:
    """The variables that values depend on, in order."""
    return [node for node in order(values) if node.op is None]


def auxiliaries(nodes: Iterable[Node | Variable]) -> set[Variable]:
    """The variables that hold an operator's state."""
    own = (node for node in nodes if node.op is not None and (node.op.mutates or node.subgraphs))
    inputs = ((node, slot, v) for node in own for slot, v in zip(node.slots, node.given, strict=True))
    return {v for node, slot, v in inputs if v.source is None and is_auxiliary(node, slot)}


def rebuilt(values: Iterable[Value], change: Callable[[Node, list], Sequence[Value] | None]) -> list[Value]:
    """The same graph in new nodes, but for those that `change(node, new inputs)` gives other outputs for."""
    values, found = list(values), {}
    for node in order(values):
        inputs = [v if v is None else found[v] for v in node.inputs]
        outputs = change(node, inputs)
        if outputs is None:
            outputs = node.outputs if node.op is None else with_inputs(node, inputs).outputs
        found.update(zip(node.outputs, outputs))
    return [found[v] for v in values]


def copy(values: Iterable[Value], replace: dict[Value, Value] | None = None) -> list[Value]:
    """The same graph in new nodes and variables; `replace` maps values to those that take their place."""
    replace = replace or {}

    def change(node, inputs):
        if node.op is None:
            return [replace.get(node) or Variable(node.name, dict(node.texts))]
        return [replace.get(v, v) for v in node.outputs] if any(v in replace for v in node.outputs) else None

    return rebuilt(values, change)


def without_casts(values: Iterable[Value]) -> list[Value]:
    """The same graph without the conversions of mixed precision."""
    values = list(values)
    if not any(node.op is not None and node.op.precision for node in order(values)):
        return values
    return rebuilt(values, lambda node, inputs: inputs if node.op is not None and node.op.precision else None)


def distinct(values: Iterable[Value]) -> list[Value]:
    """The same graph with a number after the names that earlier variables have."""
    values = list(values)
    own = variables(values)
    taken, replace = {v.name for v in own}, {}
    seen: set[str] = set()
    for v in own:
        name, count = v.name, 0
        while name in seen or (count and name in taken):
            count += 1
            name = f"{v.name}_{count}"
        seen.add(name)
        if name != v.name:
            replace[v] = Variable(name, dict(v.texts))
    return copy(values, replace)


def run(
    wanted: Sequence[Value], values: dict[str, object], ctx, kind: type, watch: Callable | None = None,
    groups: dict | None = None, copies: list | None = None,
) -> list:  # fmt: skip
    """The arrays of the values that are wanted, by applying the operators to `values` (arrays by variable) in order.

    kind: the class of arrays that operators without inputs make, on `ctx`. watch(node, inputs, outputs) sees every
    operator at work. groups: contexts by the attribute `ctx_group` of operators, which find their inputs there; others
    work where their first input is. What an operator writes to an input from elsewhere is copied back; copies: a list
    that takes (array, copy) of those, for operators that write in the backward pass. MXNetError names a variable
    without value.
    """
    nodes = order(wanted)
    uses = Counter(v.maker for node in nodes for v in node.given)
    uses.update(v.maker for v in wanted)
    results: dict[Node | Variable, Sequence] = {}

    def make(op: Operator, attrs: dict):
        return dispatch.create(op, attrs, place, kind)

    for node in nodes:
        if node.op is None:
            if node.name not in values:
                raise MXNetError(f"variable {node.name!r} has no value. Given are: {', '.join(values) or 'none'}")
            results[node] = (values[node.name],)
            continue
        given = node.given
        found = inputs = [results[v.maker][v.index] for v in given]
        place = ctx
        if groups:
            place = groups.get(node.texts.get("__ctx_group__"), inputs[0].context if inputs else ctx)
            inputs = [x.as_in_context(place) for x in found]
        results[node] = apply(node, inputs, make)
        if groups:
            pairs = zip(node.slots, found, inputs, strict=True)
            written = [(mine, moved) for slot, mine, moved in pairs if moved is not mine and writes(node, slot)]
            put_back(written)
            if copies is not None:
                copies += written
        if watch is not None:
            watch(node, inputs, results[node])
        for v in given:  # what nobody will read any more is let go
            uses[v.maker] -= 1
            if not uses[v.maker]:
                results.pop(v.maker, None)
    return [results[v.maker][v.index] for v in wanted]


def put_back(copies: Iterable[tuple]) -> None:
    """Copies to arrays what operators wrote to their copies on another context; `copies`: pairs of both."""
    for array, copy_of_it in copies:
        copy_of_it.detach().copyto(array.detach())


def apply(node: Node, inputs: Sequence, make: Callable) -> Sequence:
    """The outputs of one node on arrays for the inputs that it has; `make(op, attributes)` applies one without any."""
    if node.subgraphs:
        return node.op.control.run(node, inputs)
    if not inputs:
        result = make(node.op, node.attrs)
    else:
        if node.op.infer is not None and any(is_open(v) for v in node.given):
            inputs = _closed(node, inputs, make)
        arrays = iter(inputs)
        arguments = [None if v is None else next(arrays) for v in node.inputs]
        if node.op.storage is DENSE:
            result = type(arguments[0])._apply_operator(node.op, arguments, node.attrs, None)
        else:
            result = dispatch.launch_stored(node.op, arguments, node.attrs, type(arguments[0]))
    return result if isinstance(result, (list, tuple)) else (result,)


def is_open(value: Value) -> bool:
    """Whether an array is made with an extent of 0 or -1, which in MXNet says: find out. First states are so.

    A range that infers its end is so too, and so are draws without a shape.
    """
    node = value.source
    if node is None or node.given:
        return False
    if node.attrs.get("infer_range", False) and node.attrs["stop"] is None:
        return True
    shape = node.attrs.get("shape", ())
    return any(n < 1 for n in shape) or (not shape and node.op.rng)


def fitted(node: Node, shape: tuple[int, ...]) -> dict:
    """The attributes with which a node of an open result makes an array of this shape."""
    if "infer_range" not in node.attrs:
        return {**node.attrs, "shape": shape}
    start, step, repeat = (node.attrs[key] for key in ("start", "step", "repeat"))
    return {**node.attrs, "stop": start + step * -(-shape[0] // repeat)}


def _closed(node: Node, inputs: Sequence, make: Callable) -> list:
    """The inputs, with those of unknown extents made anew in the shapes that the operator tells."""
    shapes = dict.fromkeys(node.op.inputs)
    shapes.update((slot, x.shape) for slot, x in zip(node.slots, inputs, strict=True))
    node.op.infer(shapes, node.attrs)
    return [
        make(v.source.op, fitted(v.source, shapes[slot])) if is_open(v) else x
        for slot, v, x in zip(node.slots, node.given, inputs, strict=True)
    ]


def typed(op: Operator, attrs: dict[str, str]) -> dict:
    """The operator's own attributes among the texts of a node."""
    found = {}
    for key, text in attrs.items():
        if key in op.attrs:
            found[key] = literal(text) if attributes.is_open(op.attrs[key][0]) else text
        elif not key.startswith("__") and key not in _IGNORED and key not in HIDDEN:
            raise op.unknown(key)
    return found


def literal(text: str):
    """The value that a text is the literal of, or else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: very deep nesting
        return text


def outline(nodes: Sequence[Node | Variable], told: Callable[[Node | Variable], object]) -> list[tuple]:
    """Operators, edges and what is `told` of each node: equal for two graphs that differ in nothing else."""
    places = {v: (i, v.index) for i, node in enumerate(nodes) for v in node.outputs}
    return [(n.op, [places[v] for v in n.given], told(n)) for n in nodes]
