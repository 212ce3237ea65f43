"""Plans: a graph as a flat list of kernel calls, written out as one Python function without anything between them.

Each node becomes a step: the kernel that its forward rule calls, where the rule does nothing else (which is found out
by running it on tensors without memory), or else the rule itself. Values are let go as soon as nobody will read them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core import kernels, storage
from core.extents import Extent, Ratio, is_symbolic
from core.graph.ir import Draw, Graph, Node, Value
from core.graph.memory import Sharing, buffers

_PLAIN = (bool, int, str, type(None))


@dataclass(slots=True)
class Step:
    """One call. function: what is called; arguments, keywords: values,
    draws and constants (nested in lists and tuples).

    kernel: its name for people. node: what it computes. formula: of a pointwise step,
    (formula, operands, attributes, dtype). called: the kernels that are called, as far as that was seen.
    """

    kernel: str
    function: Callable
    arguments: Sequence
    keywords: dict
    node: Node
    formula: tuple | None = None
    called: Sequence = ()


class Part:
    """A compiled list of nodes.

    run: the function that was made of `source`; steps: what it calls, in order; draws: what its random keys are for.
    given: of its arguments, what the layouts of what is computed follow from (see `kernels.bound`); None for a part
    that runs too seldom to be bound.
    """

    def __init__(
        self, writer: _Writer, name: str, parameters: str, draws: list[Draw], given: Callable | None = None
    ):  # fmt: skip
        self.source, self.run = writer.function(name, parameters)
        self.steps, self.draws, self._buffers = writer.steps, draws, writer.buffers
        if given is not None and self.steps:
            self.run = kernels.bound(self.run, writer.calls, given, storage.device(self.steps[0].node.ctx))

    @functools.cached_property
    def buffers(self) -> dict[Value, int]:
        """Numbers of the memory that values lie in, found out when somebody asks."""
        return self._buffers()


def early_part(graph: Graph, sharing: Sharing) -> Part:
    """`run(held)` gives what depends on held arrays alone, for the forward part."""
    writer = _Writer(graph, sharing, graph.results())
    writer.unpack("held", graph.held)
    writer.body([node for node in graph.nodes if node.early], graph.prepared())
    writer.line(f"return {writer.tuple(graph.prepared())}")
    return Part(writer, "early", "held", [])


def forward_part(graph: Graph, sharing: Sharing) -> Part:
    """`run(inputs, held, prepared, keys)` gives the outputs as a tuple, and a list of what the backward part reads: of
    a plan for a class of shapes, the lengths of the symbols come last. The body of a loop is told them, as the last key.
    """
    prepared = graph.prepared()
    writer = _Writer(graph, sharing, prepared)
    writer.unpack("inputs", graph.inputs)
    writer.unpack("held", graph.held)
    writer.unpack("prepared", prepared)
    symbols = _symbols(graph)
    if symbols and not graph.lengths:
        writer.line(f"{', '.join(symbols)}, = keys[-1]")
    for symbol, (k, axis) in zip(symbols, graph.lengths):
        writer.line(f"{symbol} = {writer.name(graph.inputs[k])}.shape[{axis}]")
    nodes = [node for node in graph.nodes if not node.backward and not node.early]
    writer.body(nodes, [*graph.outputs, *graph.saved(), *(v for pair in graph.writes for v in pair)])
    for target, value in graph.writes:
        writer.line(f"{writer.name(target)}.copy_({writer.name(value)})")
    lengths = f", ({', '.join(symbols)},)" if symbols and graph.dys else ""
    writer.line(f"return {writer.tuple(graph.outputs)}, [*{writer.tuple(graph.saved())}{lengths}]")
    reads = {v for node in nodes for v in node.reads()}
    places = [k for k, v in enumerate(graph.held) if v in reads]

    def given(inputs, held, prepared, keys):
        return [*inputs, *keys], [*[held[k] for k in places], *prepared]

    return Part(writer, "forward", "inputs, held, prepared, keys", [d for d in graph.draws if not d.backward], given)


def backward_part(graph: Graph, sharing: Sharing, retain: bool = False) -> Part:
    """`run(saved, dys, keys, found, store)` puts the gradients of the tracked values into `found`,
    where they are not zero.

    keys: those of the forward part and then its own. saved, dys: lists, which it empties, so that what is read for
    the last time is let go; it takes the memory of what is saved for its own results, unless it is to `retain` it.
    store(k): called as soon as `found[k]` is there, which nothing else holds by then.
    """
    writer = _Writer(graph, sharing, graph.saved() if retain else graph.prepared())
    if _symbols(graph):
        writer.line(f"{', '.join(_symbols(graph))}, = saved.pop()")
    for source, values in (("saved", graph.saved()), ("dys", graph.dys)):
        writer.unpack(source, values)
        writer.line(f"{source}.clear()")
    writer.body([node for node in graph.nodes if node.backward], [], graph.gradients)

    def given(saved, dys, keys, found, store):
        return [*saved, *dys, *keys], ()

    return Part(writer, "backward", "saved, dys, keys, found, store", [d for d in graph.draws if d.backward], given)


def _symbols(graph: Graph) -> list[str]:
    """The names of the symbols in a graph's extents, which are variables of its plan."""
    return [] if graph.space is None else [symbol.text for symbol in graph.space.symbols]


def sharing_of(graph: Graph) -> Sharing:
    """What shares memory in the whole graph, results from outside kept."""
    return Sharing(graph.nodes, graph.results())


def lower(node: Node) -> Step:
    """The call that computes a node."""
    op, attrs = node.op, node.attrs
    if not op.inputs:
        return Step(op.name, op.forward, (), {"ctx": node.ctx, **attrs}, node)
    tensors = [None if v is None else v.meta for v in node.inputs]
    plain = {key: v.meta if isinstance(v, Value) else v for key, v in attrs.items()}
    result, called = kernels.observe(lambda: op.forward(*tensors, **plain))
    writes = node.effect and attrs.get("fix_gamma", True)  # batch normalisation writes to gamma, where it fixes it
    if len(called) == 1 and called[0].result is result and not writes:
        family, name, args, kwargs, _ = called[0]
        places = {id(v.meta): v for v in node.reads()}
        device = storage.device(node.ctx)
        try:
            arguments = [_slots(a, places, device) for a in args]
            keywords = {key: _slots(a, places, device) for key, a in kwargs.items()}
        except LookupError:
            pass
        else:
            if (family, name) == ("pointwise", "pointwise"):
                formula, operands, values, dtype = arguments
                title, whole = f"pointwise {formula.name}", (formula, operands, values, dtype)
                if kernels.runs_triton(device):
                    function = kernels.implementation(family, name, device)
                    return Step(title, function, arguments, keywords, node, whole)
                function = kernels.formula_kernel(formula, dtype, operands[0].meta.dtype)
                return Step(title, function, [*operands, *values], {}, node, whole)
            function = kernels.implementation(family, name, device)
            return Step(_title(f"{family}.{name}", node), function, arguments, keywords, node, None, called)
    if _only_reshapes(node, result, called):
        return Step(op.name, kernels.shape.reshape, (node.inputs[0], tuple(result.shape)), {}, node)
    return Step(_title(op.name, node), op.forward, node.inputs, dict(attrs), node, None, called)


def _title(kernel: str, node: Node) -> str:
    """The name of a kernel with its epilogue, or its row program, if it has one."""
    if "program" in node.attrs:
        return f"{kernel} {node.attrs['program']}"
    added = "residual" in node.op.inputs and len(node.inputs) > node.op.inputs.index("residual")
    return " ".join([kernel, *["+ residual"] * added, *filter(None, [node.attrs.get("activation")])])


def _only_reshapes(node: Node, result, called: list) -> bool:
    """Whether a node does nothing but give its first input another shape."""
    if called or not node.op.reshapes or not storage.is_tensor(result):
        return False
    return result.numel() == node.inputs[0].meta.numel()  # MXNet's reshape may leave elements out


# ----------------------------------------------------------------------------------------------


class _Writer:
    """Writes the function: local variables for values, names in its scope for functions and constants."""

    def __init__(self, graph: Graph, sharing: Sharing, untouched: Sequence[Value] = ()):
        self._places = {id(node): k for k, node in enumerate(graph.nodes)}
        self._sharing, self._untouched = sharing, set(untouched)
        self._lines: list[str] = []
        self._names: dict[Value, str] = {}
        self._scope: dict[str, object] = {}
        self._constants: dict[int, str] = {}
        self.steps: list[Step] = []
        self.calls: list[str] = []  # names of what the steps call, one for each call
        self._nodes: list[Node] = []
        self._in_place: dict[Value, Value] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " + text)

    def name(self, value: Value | None) -> str:
        """The local variable of a value."""
        return "None" if value is None else self._names[value]

    def tuple(self, values: Sequence) -> str:
        return f"({''.join(self.name(v) + ', ' for v in values)})"

    def unpack(self, source: str, values: Sequence[Value]) -> None:
        """Names what comes from outside."""
        if values:
            prefix = source[0]
            for k, v in enumerate(values):
                self._names[v] = f"{prefix}{k}"
            self.line(f"{self.tuple(values)} = {source}")

    def body(self, nodes: list[Node], kept: Sequence[Value], found: Sequence[Value | None] = ()) -> None:
        """The calls, each followed by the release of what it was the last to read; what is `found` is stored before."""
        results: dict[Value, list[int]] = {}
        for k, v in enumerate(found):
            if v is not None:
                results.setdefault(v, []).append(k)
        keep = {*kept, *results}
        last = {v: node for node in nodes for v in node.reads()}
        self._nodes, in_place = nodes, self._in_place
        for node in nodes:
            step = lower(node)
            self.steps.append(step)
            read = [v for v in dict.fromkeys(node.reads()) if last[v] is node and v not in keep]
            gone = [self.name(v) for v in read]
            wanted = [v if v in last or v in keep else None for v in node.outputs]
            free = [v for v in read if self._is_free(v, node)]
            if step.formula is None or not self._inline(step, free, gone, in_place):
                self._overwrite(step, free, in_place)
                self._call(step, wanted)
            if gone:
                self.line(f"del {', '.join(gone)}")
            for v in dict.fromkeys((*node.reads(), *node.outputs)):
                if v in results and last.get(v, node) is node:
                    self._store(v, results.pop(v))
        for v, places in results.items():
            self._store(v, places)

    def buffers(self) -> dict[Value, int]:
        """Numbers of the buffers that values lie in (see `core.graph.memory`)."""
        return buffers(self._nodes, self._sharing, self._places, self._in_place)

    def _store(self, value: Value, places: list[int]) -> None:
        """Hands a finished gradient over; one of several tracked values stays where all of them find it."""
        name = self.name(value)
        self.line(f"{' = '.join(f'found[{k}]' for k in places)} = {name}")
        self.line(f"del {name}")
        if len(places) == 1:
            self.line(f"store({places[0]})")

    def _is_free(self, value: Value, node: Node) -> bool:
        """Whether a node that reads `value` may write to its memory."""
        return self._sharing.free_after(value, self._places[id(node)]) and not (
            self._sharing.group(value) & self._untouched
        )

    def function(self, name: str, parameters: str) -> tuple[str, Callable]:
        """The source, and the function that it defines."""
        source = "\n".join([f"def {name}({parameters}):", *self._lines, ""])
        exec(compile(source, f"<plan {name}>", "exec"), self._scope)
        return source, self._scope[name]

    def _inline(self, step: Step, free: list[Value], gone: list[str], in_place: dict[Value, Value]) -> bool:
        """Writes a pointwise step into the source, where the backend can; whether it did."""
        formula, operands, attrs, dtype = step.formula
        if any(isinstance(a, (Value, Draw, Extent, Ratio)) for a in attrs):
            return False
        (out,) = step.node.outputs
        given = [(self._names[v], v.meta, v in free) for v in operands]
        found = kernels.inline(formula, given, attrs, dtype, f"v{len(self._names)}", storage.device(step.node.ctx))
        if found is None:
            return False
        lines, functions, temporaries, place = found
        self._scope.update(functions)
        self._new(out)
        for line in lines:
            self.line(line)
        gone += temporaries
        in_place.update((out, v) for v in free if self._names[v] == place)
        return True

    def _overwrite(self, step: Step, free: list[Value], in_place: dict[Value, Value]) -> None:
        """Lets a product whose kernel can `overwrite` what it adds do so,
        where that is free and no other operand lies there.
        """
        node = step.node
        place = node.op.inputs.index("residual") if "residual" in node.op.inputs else len(node.inputs)
        added = node.inputs[place] if place < len(node.inputs) else None
        if added not in free or node.inputs.count(added) > 1 or step.function is node.op.forward:
            return
        how = inspect.signature(step.function)
        if "overwrite" in how.parameters and not self._sharing.group(added) & {
            v for v in node.reads() if v is not added
        }:
            given = how.bind(*step.arguments, **step.keywords)
            given.arguments["overwrite"] = True
            step.arguments, step.keywords = given.args, given.kwargs
            in_place[node.outputs[0]] = added

    def _call(self, step: Step, wanted: list[Value | None]) -> None:
        arguments = [self._text(a) for a in step.arguments]
        arguments += [f"{key}={self._text(a)}" for key, a in step.keywords.items()]
        node = step.node
        name = f"k{len(self._scope)}"
        self._scope[name] = self._remembered(step)
        self.calls.append(name)
        call = f"{name}({', '.join(arguments)})"
        names = [self._new(v) for v in wanted]
        if node.op.reserves:
            call = f"r = {call}"
            self.line(call)
            self._results("r[0]", names[:-1], node.single)
            if names[-1] is not None:
                self.line(f"{names[-1]} = r[1]")
            self.line("del r")
        else:
            self._results(call, names, node.single)

    def _remembered(self, step: Step) -> Callable:
        """The function of a step; a rule that calls kernels and draws nothing is remembered as a whole."""
        given = (*step.arguments, *step.keywords.values())
        if step.function is not step.node.op.forward or not step.called or not all(map(_hashes, given)):
            return step.function
        return kernels.remembered(step.function, storage.device(step.node.ctx))

    def _results(self, source: str, names: list[str | None], single: bool) -> None:
        present = [n for n in names if n is not None]
        if not present:
            if "(" in source:
                self.line(source)
        elif single:
            self.line(f"{present[0]} = {source}")
        elif len(present) == 1:
            self.line(f"{present[0]} = {source}[{names.index(present[0])}]")
        else:
            unused = [n for n in names if n is None]
            self.line(f"{', '.join(n or '_' for n in names)} = {source}")
            if unused:
                self.line("del _")

    def _new(self, value: Value | None) -> str | None:
        if value is None:
            return None
        name = self._names[value] = f"v{len(self._names)}"
        return name

    def _text(self, a) -> str:
        """An argument as source."""
        if isinstance(a, Value):
            return self._names[a]
        if isinstance(a, Draw):
            return f"keys[{a.index}]"
        if isinstance(a, _PLAIN) or (type(a) is float and a - a == 0):
            return repr(a)
        if isinstance(a, (Extent, Ratio)):
            return f"({a})"
        if type(a) is slice and is_symbolic(a):
            return f"slice({self._text(a.start)}, {self._text(a.stop)}, {self._text(a.step)})"
        if type(a) is tuple:
            return f"({''.join(self._text(x) + ', ' for x in a)})"
        if type(a) is list:
            return f"[{', '.join(map(self._text, a))}]"
        return self._constant(a, "c")

    def _constant(self, thing, prefix: str) -> str:
        name = self._constants.get(id(thing))
        if name is None:
            name = self._constants[id(thing)] = f"{prefix}{len(self._scope)}"
            self._scope[name] = thing
        return name


def _hashes(argument) -> bool:
    """Whether an argument can be part of a key that comes again: a tensor or a value that hashes, not a random key."""
    if isinstance(argument, (list, tuple)):
        return all(map(_hashes, argument))
    return isinstance(argument, Value) or (not isinstance(argument, Draw) and argument.__hash__ is not None)


def _slots(argument, places: dict[int, Value], device):
    """An argument of a kernel with values for tensors; LookupError for a tensor that is none of the node's inputs."""
    if storage.is_tensor(argument):
        return places[id(argument)]
    if isinstance(argument, (list, tuple)):
        if id(argument) in places:
            return places[id(argument)]
        return (
            type(argument)(_slots(a, places, device) for a in argument) if type(argument) in (list, tuple) else argument
        )
    # A rule that names its input's device (random numbers in the shape of an array) has named that of no memory.
    return device if isinstance(argument, type(device)) else argument
