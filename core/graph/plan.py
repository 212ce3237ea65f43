"""Plans: a graph as a flat list of kernel calls, written out as one Python function without anything between them.

Each node becomes a step: the kernel that its forward rule calls, where the rule does nothing else (which is found out
by running it on tensors without memory), or else the rule itself. Values are let go as soon as nobody will read them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core import kernels, storage
from core.graph.ir import Draw, Graph, Node, Value

_PLAIN = (bool, int, str, type(None))


class Step:
    """One call. function: what is called; arguments, keywords: values, draws and constants (nested in lists and tuples).

    kernel: its name for people. node: what it computes.
    """

    __slots__ = ("arguments", "function", "kernel", "keywords", "node")

    def __init__(self, kernel: str, function: Callable, arguments: Sequence, keywords: dict, node: Node):
        self.kernel, self.function, self.arguments, self.keywords, self.node = (
            kernel, function, arguments, keywords, node,
        )  # fmt: skip


class Part:
    """A compiled list of nodes. run: the function that was made of `source`; steps: what it calls, in order."""

    __slots__ = ("draws", "run", "source", "steps")

    def __init__(self, steps: list[Step], source: str, run: Callable, draws: list[Draw]):
        self.steps, self.source, self.run, self.draws = steps, source, run, draws


def forward_part(graph: Graph) -> Part:
    """`run(inputs, held, keys)` gives (outputs, what the backward part reads) as tuples of tensors."""
    nodes = [node for node in graph.nodes if not node.backward]
    writer = _Writer()
    writer.unpack("inputs", graph.inputs)
    writer.unpack("held", graph.held)
    kept = [*graph.outputs, *graph.saved(), *(v for _, v in graph.writes)]
    draws = [d for d in graph.draws if not d.backward]
    steps = writer.body(nodes, kept)
    for target, value in graph.writes:
        writer.line(f"{writer.name(target)}.copy_({writer.name(value)})")
    writer.line(f"return {writer.tuple(graph.outputs)}, {writer.tuple(graph.saved())}")
    return Part(steps, *writer.function("forward", "inputs, held, keys"), draws)


def backward_part(graph: Graph) -> Part:
    """`run(saved, heads, keys)` gives the gradients of the tracked values, None where they are zero.

    keys: those of the forward part and then its own. saved: a list, which it empties, so that what is read for the last time is let go.
    """
    nodes = [node for node in graph.nodes if node.backward]
    writer = _Writer()
    writer.unpack("saved", graph.saved())
    writer.line("saved.clear()")
    writer.unpack("heads", graph.heads)
    draws = [d for d in graph.draws if d.backward]
    steps = writer.body(nodes, [v for v in graph.gradients if v is not None])
    writer.line(f"return {writer.tuple(graph.gradients)}")
    return Part(steps, *writer.function("backward", "saved, heads, keys"), draws)


def lower(node: Node) -> Step:
    """The call that computes a node."""
    op, attrs = node.op, node.attrs
    if not op.inputs:
        return Step(op.name, op.forward, (), {"ctx": node.ctx, **attrs}, node)
    tensors = [None if v is None else v.meta for v in node.inputs]
    plain = {key: v.meta if isinstance(v, Value) else v for key, v in attrs.items()}
    result, called = kernels.observe(lambda: op.forward(*tensors, **plain))
    if len(called) == 1 and called[0][4] is result:
        room, name, args, kwargs, _ = called[0]
        places = {id(v.meta): v for v in node.reads()}
        try:
            arguments = [_slots(a, places) for a in args]
            keywords = {key: _slots(a, places) for key, a in kwargs.items()}
        except LookupError:
            pass
        else:
            device = storage.device(node.ctx)
            if room == "pointwise":
                formula, operands, values, dtype = arguments
                function = kernels.formula_kernel(formula, dtype, operands[0].meta.dtype, device)
                return Step(f"pointwise {formula.name}", function, [*operands, *values], {}, node)
            return Step(f"{room}.{name}", kernels.kernel(room, name, device), arguments, keywords, node)
    return Step(op.name, op.forward, node.inputs, dict(attrs), node)


# ----------------------------------------------------------------------------------------------


class _Writer:
    """Writes the function: local variables for values, names in its scope for functions and constants."""

    def __init__(self):
        self._lines: list[str] = []
        self._names: dict[Value, str] = {}
        self._scope: dict[str, object] = {}
        self._constants: dict[int, str] = {}

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

    def body(self, nodes: list[Node], kept: Sequence[Value]) -> list[Step]:
        """The calls, each followed by the release of what it was the last to read."""
        self._kept = set(kept)
        last: dict[Value, int] = {}
        for k, node in enumerate(nodes):
            last.update((v, k) for v in node.reads())
        steps = []
        for k, node in enumerate(nodes):
            step = lower(node)
            steps.append(step)
            read = {v for v in node.reads() if last[v] == k and v not in self._kept and v in self._names}
            wanted = [v if v in last or v in self._kept else None for v in node.outputs]
            self._call(step, wanted)
            if read:
                self.line(f"del {', '.join(sorted(self.name(v) for v in read))}")
        return steps

    def function(self, name: str, parameters: str) -> tuple[str, Callable]:
        """The source, and the function that it defines."""
        source = "\n".join([f"def {name}({parameters}):", *self._lines, ""])
        exec(compile(source, f"<plan {name}>", "exec"), self._scope)
        return source, self._scope[name]

    def _call(self, step: Step, wanted: list[Value | None]) -> None:
        arguments = [self._text(a) for a in step.arguments]
        arguments += [f"{key}={self._text(a)}" for key, a in step.keywords.items()]
        call = f"{self._constant(step.function, 'k')}({', '.join(arguments)})"
        node = step.node
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


def _slots(argument, places: dict[int, Value]):
    """An argument of a kernel with values for tensors; LookupError for a tensor that is none of the node's inputs."""
    if storage.is_tensor(argument):
        return places[id(argument)]
    if isinstance(argument, (list, tuple)):
        if id(argument) in places:
            return places[id(argument)]
        return type(argument)(_slots(a, places) for a in argument) if type(argument) in (list, tuple) else argument
    return argument
