"""The graph behind symbols: nodes that apply an operator of the table, or stand for a variable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from core import dispatch
from core.base import MXNetError
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


class Node:
    """A variable (`op` is None) or one application of an operator.

    attrs: what the file format holds, as strings. parsed: the operator's typed attributes. inputs: (node, output)
    pairs; slots: the names of the operator's inputs that they fill. subgraphs: lists of (node, output) pairs, of loops
    and branches only.
    """

    __slots__ = ("attrs", "inputs", "name", "op", "parsed", "slots", "subgraphs")

    def __init__(
        self, op: Operator | None, name: str, attrs: dict[str, str], inputs=(), given: dict | None = None, subgraphs=()
    ):
        self.op, self.name, self.attrs, self.inputs = op, name, attrs, list(inputs)
        self.subgraphs: list[list[Entry]] = list(subgraphs)
        self.parsed: dict = {}
        self.slots: tuple[str, ...] = ()
        if op is not None:
            self.parsed = op.parse(_typed(op, attrs) if given is None else given)
            self.fill_slots()

    def fill_slots(self, given: Iterable[str] = ()) -> None:
        """Tells the inputs' names from their number; `given` are optional inputs known to be among them."""
        names = input_names(self.op, self.parsed, given, len(self.inputs))
        for name in self.op.inputs:  # a file lists them in order, optional ones too
            if len(names) < len(self.inputs) and name not in names:
                names = [n for n in self.op.inputs if n in names or n == name]
        self.slots = tuple(names)

    def with_inputs(self, inputs: list[Entry]) -> Node:
        """The same node over other inputs."""
        twin = Node.__new__(Node)
        twin.op, twin.name, twin.attrs, twin.parsed = self.op, self.name, dict(self.attrs), self.parsed
        twin.slots, twin.subgraphs, twin.inputs = self.slots, self.subgraphs, inputs
        return twin

    @property
    def outputs(self) -> int:
        """Number of outputs that a symbol shows."""
        return 1 if self.op is None else self.op.count_visible(self.parsed)

    def output_name(self, k: int) -> str:
        """What `list_outputs` calls output `k`."""
        if self.op is None:
            return self.name
        return f"{self.name}_{self.op.output_name(k, self.outputs, self.parsed)}"

    def auxiliary(self, slot: str) -> bool:
        """Whether the operator keeps its state in the input called `slot`."""
        if self.subgraphs:
            from core.symbol.control_flow import auxiliary_places

            return self.slots.index(slot) in auxiliary_places(self)
        return slot in self.op.auxiliary

    def writes(self, slot: str) -> bool:
        """Whether the operator writes to the input called `slot`; a variadic one to any."""
        return self.auxiliary(slot) or slot in self.op.mutates or bool(self.op.variadic and self.op.mutates)

    def arguments(self, values: Sequence) -> list:
        """Inputs in the order of the operator, None where an optional one is missing."""
        if self.op.variadic:
            return list(values)
        by_slot = dict(zip(self.slots, values, strict=True))
        return [by_slot.get(name) for name in self.op.inputs]


Entry = tuple[Node, int]


def input_names(op: Operator, attrs: dict, given: Iterable[str] = (), count: int = 0) -> list[str]:
    """The inputs that an operator has under these attributes; optional ones of other names if they are `given`."""
    if op.variadic:
        return [f"arg{i}" for i in range(count)]
    if op.takes is not None:
        return op.takes(attrs)
    given = set(given)
    return [n for n in op.inputs if n not in op.optional or n in given or _wanted(op, n, attrs)]


def _wanted(op: Operator, name: str, attrs: dict) -> bool:
    """Whether the operator has the optional input under these attributes."""
    attr, value = op.when.get(name, (None, None))
    return attr is not None and attrs[attr] == value


def order(entries: Iterable[Entry]) -> list[Node]:
    """All nodes that the entries depend on, inputs first (depth first, as MXNet lists them)."""
    found: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = []
    for root, _ in entries:
        stack.append((root, False))
        while stack:
            node, done = stack.pop()
            if done:
                found.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((parent, False) for parent, _ in reversed(node.inputs) if id(parent) not in seen)
    return found


def auxiliaries(nodes: Iterable[Node]) -> set[int]:
    """Ids of the variables that hold an operator's state."""
    return {
        id(parent)
        for node in nodes
        if node.op is not None and (node.op.mutates or node.subgraphs)
        for slot, (parent, _) in zip(node.slots, node.inputs, strict=True)
        if parent.op is None and node.auxiliary(slot)
    }


def copy(entries: Iterable[Entry], replace: dict[int, Entry] | None = None) -> list[Entry]:
    """The same graph in new nodes; `replace` maps ids of variables to entries that take their place."""
    entries = list(entries)
    made: dict[int, Node] = {}
    replace = replace or {}

    def moved(entry: Entry) -> Entry:
        return replace.get(id(entry[0])) or (made[id(entry[0])], entry[1])

    for node in order(entries):
        made[id(node)] = node.with_inputs([moved(e) for e in node.inputs])
    return [moved(e) for e in entries]


def without_casts(entries: Iterable[Entry]) -> list[Entry]:
    """The same graph without the conversions of mixed precision."""
    entries = list(entries)
    nodes = order(entries)
    if not any(node.op is not None and node.op.precision for node in nodes):
        return entries
    made: dict[int, list[Entry]] = {}  # what takes the place of a node's outputs; those of other nodes follow from it

    def moved(entry: Entry) -> Entry:
        node, k = entry
        found = made[id(node)]
        return found[k] if node.op is not None and node.op.precision else (found[0][0], k)

    for node in nodes:
        inputs = [moved(e) for e in node.inputs]
        made[id(node)] = inputs if node.op is not None and node.op.precision else [(node.with_inputs(inputs), 0)]
    return [moved(e) for e in entries]


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """The same graph with a number after the names that earlier variables have."""
    entries = list(entries)
    variables = [node for node in order(entries) if node.op is None]
    taken, replace = {node.name for node in variables}, {}
    seen: set[str] = set()
    for node in variables:
        name, count = node.name, 0
        while name in seen or (count and name in taken):
            count += 1
            name = f"{node.name}_{count}"
        seen.add(name)
        if name != node.name:
            replace[id(node)] = (Node(None, name, dict(node.attrs)), 0)
    return copy(entries, replace)


def run(
    entries: Sequence[Entry],
    values: dict[str, object],
    ctx,
    kind: type,
    watch: Callable | None = None,
    groups: dict | None = None,
    copies: list | None = None,
) -> list:
    """The entries' arrays, by applying the operators to `values` (arrays by variable) in order.

    kind: the class of arrays that operators without inputs make, on `ctx`. watch(node, inputs, outputs) sees every
    operator at work. groups: contexts by the attribute `ctx_group` of operators, which find their inputs there; others
    work where their first input is. What an operator writes to an input from elsewhere is copied back; copies: a list
    that takes (array, copy) of those, for operators that write in the backward pass. MXNetError names a variable
    without value.
    """
    nodes = order(entries)
    uses: dict[int, int] = {}
    for node in nodes:
        for parent, _ in node.inputs:
            uses[id(parent)] = uses.get(id(parent), 0) + 1
    for node, _ in entries:
        uses[id(node)] = uses.get(id(node), 0) + 1
    results: dict[int, Sequence] = {}

    def make(op: Operator, attrs: dict):
        return dispatch.create(op, attrs, place, kind)

    for node in nodes:
        if node.op is None:
            if node.name not in values:
                raise MXNetError(f"variable {node.name!r} has no value. Given are: {', '.join(values) or 'none'}")
            results[id(node)] = (values[node.name],)
            continue
        found = inputs = [results[id(p)][k] for p, k in node.inputs]
        place = ctx
        if groups:
            place = groups.get(node.attrs.get("__ctx_group__"), inputs[0].context if inputs else ctx)
            inputs = [x.as_in_context(place) for x in found]
        results[id(node)] = apply(node, inputs, make)
        if groups:
            pairs = zip(node.slots, found, inputs, strict=True)
            written = [(mine, moved) for slot, mine, moved in pairs if moved is not mine and node.writes(slot)]
            put_back(written)
            if copies is not None:
                copies += written
        if watch is not None:
            watch(node, inputs, results[id(node)])
        for parent, _ in node.inputs:  # what nobody will read any more is let go
            uses[id(parent)] -= 1
            if not uses[id(parent)]:
                results.pop(id(parent), None)
    return [results[id(node)][k] for node, k in entries]


def put_back(copies: Iterable[tuple]) -> None:
    """Copies to arrays what operators wrote to their copies on another context; `copies`: pairs of both."""
    for array, copy_of_it in copies:
        copy_of_it.detach().copyto(array.detach())


def apply(node: Node, inputs: Sequence, make: Callable) -> Sequence:
    """The outputs of one node on arrays; `make(op, attributes)` applies an operator without inputs."""
    if node.subgraphs:
        from core.symbol.control_flow import run as run_subgraphs

        return run_subgraphs(node, inputs)
    if not node.inputs:
        result = make(node.op, node.parsed)
    else:
        if node.op.infer is not None and any(is_open(parent) for parent, _ in node.inputs):
            inputs = _closed(node, inputs, make)
        arguments = node.arguments(inputs)
        if node.op.storage is DENSE:
            result = type(arguments[0])._apply_operator(node.op, arguments, node.parsed, None)
        else:
            result = dispatch.launch_stored(node.op, arguments, node.parsed, type(arguments[0]))
    return result if isinstance(result, (list, tuple)) else (result,)


def is_open(node: Node) -> bool:
    """Whether a node makes an array with an extent of 0 or -1, which in MXNet says: find out. First states are so.

    A range that infers its end is so too.
    """
    if node.op is None or node.inputs:
        return False
    if node.parsed.get("infer_range", False) and node.parsed["stop"] is None:
        return True
    return any(n < 1 for n in node.parsed.get("shape", ()))


def fitted(node: Node, shape: tuple[int, ...]) -> dict:
    """The attributes with which an open node makes an array of this shape."""
    if "infer_range" not in node.parsed:
        return {**node.parsed, "shape": shape}
    start, step, repeat = (node.parsed[key] for key in ("start", "step", "repeat"))
    return {**node.parsed, "stop": start + step * -(-shape[0] // repeat)}


def _closed(node: Node, inputs: Sequence, make: Callable) -> list:
    """The inputs, with those of unknown extents made anew in the shapes that the operator tells."""
    shapes = dict.fromkeys(node.op.inputs)
    shapes.update((slot, x.shape) for slot, x in zip(node.slots, inputs, strict=True))
    node.op.infer(shapes, node.parsed)
    return [
        make(parent.op, fitted(parent, shapes[slot])) if is_open(parent) else x
        for slot, (parent, _), x in zip(node.slots, node.inputs, inputs, strict=True)
    ]


def _typed(op: Operator, attrs: dict[str, str]) -> dict:
    """The operator's own attributes among the texts of a node."""
    typed = {}
    for key, text in attrs.items():
        if key in op.attrs:
            typed[key] = _literal(text) if attributes.is_open(op.attrs[key][0]) else text
        elif not key.startswith("__") and key not in _IGNORED and key not in HIDDEN:
            raise op.unknown(key)
    return typed


def _literal(text: str):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: very deep nesting
        return text


def outline(nodes: Sequence[Node], told: Callable[[Node], object]) -> list[tuple]:
    """Operators, edges and what is `told` of each node: equal for two graphs that differ in nothing else."""
    places = {id(node): k for k, node in enumerate(nodes)}
    return [(n.op, [(places[id(parent)], k) for parent, k in n.inputs], told(n)) for n in nodes]
