"""The graph: values, nodes that apply an operator of the table, and what a call gives and takes.

Symbols, traced blocks and files that were read are made of the same values and nodes. What was traced knows the shape,
dtype and place of every value; what was composed knows names, and shapes when one asks for them (`core.symbol.infer`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from core import storage
from core.extents import Space, hint, is_symbolic
from core.ops.registry import Operator

INPUT, HELD, OUTPUT_GRADIENT, NODE, VARIABLE = "input", "held", "dy", "node", "variable"


class Draw(int):
    """Stands in a node's attributes for a random key that every run draws anew; its value is good for shapes only."""

    def __new__(cls, index: int, ctx, backward: bool = False):
        draw = int.__new__(cls, 0)
        draw.index, draw.ctx, draw.backward = index, ctx, backward
        return draw

    def __repr__(self):
        return f"key{self.index}"


class Value:
    """What flows between nodes: an array of known shape and dtype, or (`opaque`) what a kernel keeps for its gradient.

    source: the node that makes it (its `index`-th output), None for what comes from outside; then `role` says from
    where: an input of the call, an array that the block holds (a parameter, a constant), an output gradient, a variable.
    meta: a tensor without memory that has its shape, dtype and strides, None where these are not known.
    """

    __slots__ = ("ctx", "index", "kind", "meta", "opaque", "role", "source")

    def __init__(self, meta, ctx, kind, role: str, index: int = 0, source: Node | None = None, opaque: bool = False):
        self.meta, self.ctx, self.kind, self.role, self.index = meta, ctx, kind, role, index
        self.source, self.opaque = source, opaque

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return () if self.opaque else tuple(self.meta.shape)

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return "opaque" if self.opaque else storage.NAMES[self.meta.dtype]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, for lengths as they were in the call that was traced."""
        return 0 if self.opaque else hint(self.meta.numel()) * self.meta.element_size()

    @property
    def maker(self) -> Node | Variable:
        """The node that makes it; a variable itself."""
        return self.source

    @property
    def name(self) -> str:
        """What `list_outputs` of a symbol calls it."""
        return self.source.output_name(self.index)

    def __repr__(self):
        known = "" if self.meta is None else f": {self.dtype}{self.shape}"
        return f"<{self.role} {self.index}{known}>"


class Variable(Value):
    """A value with a name that comes from outside. texts: its attributes as files hold them.

    It stands among nodes where these are listed (`core.symbol.graph.order`), as one without operator and inputs.
    """

    __slots__ = ("_name", "texts")

    op, inputs, given, slots, subgraphs = None, (), (), (), ()

    def __init__(self, name: str, texts: dict[str, str]):
        super().__init__(None, None, None, VARIABLE)
        self._name, self.texts = name, texts

    @property
    def maker(self) -> Variable:
        return self

    @property
    def outputs(self) -> tuple[Variable]:
        """What it stands for."""
        return (self,)

    visible = outputs

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name


class Node:
    """One application of an operator. attrs: typed, with `key` (a `Draw`) and `training` where the operator takes them.

    inputs: values in the order of the operator, None for an optional one that is missing. outputs: as many as the
    forward rule gives, and behind them the opaque one of an operator that `reserves`. single: whether the rule gives a
    tensor rather than a tuple. backward: whether it belongs to the backward pass. early: whether it depends on held
    arrays alone, so that it runs only where these changed. Of symbols, name and texts: what files hold, attributes as
    texts. subgraphs: values that loops and branches compute inside.
    """

    __slots__ = (
        "_reads", "attrs", "backward", "ctx", "early", "inputs", "name", "op", "outputs", "single", "subgraphs", "texts",
    )  # fmt: skip

    def __init__(self, op: Operator, attrs: dict, inputs: list, ctx=None, single: bool = True, backward: bool = False):
        self.op, self.attrs, self.inputs, self.ctx = op, attrs, inputs, ctx
        self.single, self.backward, self.early = single, backward, False
        self.name, self.texts, self.subgraphs = "", {}, ()
        self.outputs: list[Value] = []
        self._reads = tuple([v for v in (*inputs, *attrs.values()) if isinstance(v, Value)])

    @property
    def given(self) -> list[Value]:
        """The inputs that are not missing."""
        return [v for v in self.inputs if v is not None]

    @property
    def slots(self) -> list[str]:
        """The operator's names of the inputs that are given."""
        if self.op.variadic:
            return [f"arg{k}" for k in range(len(self.inputs))]
        return [slot for slot, v in zip(self.op.inputs, self.inputs, strict=True) if v is not None]

    @property
    def visible(self) -> list[Value]:
        """Those of its outputs that a caller sees."""
        return self.outputs[: self.op.count_visible(self.attrs)]

    def output_name(self, k: int) -> str:
        """What `list_outputs` of a symbol calls output `k`."""
        return f"{self.name}_{self.op.output_name(k, len(self.visible), self.attrs)}"

    @property
    def effect(self) -> bool:
        """Whether it writes to one of its inputs, so that it runs even where nobody reads what it gives."""
        return bool(self.op.mutates)

    @property
    def sized(self) -> bool:
        """Whether a length that is no number yet is among its attributes."""
        return any(map(is_symbolic, self.attrs.values()))

    def reads(self) -> tuple[Value, ...]:
        """Values that it reads: inputs, and opaque ones among the attributes."""
        return self._reads

    def __repr__(self):
        return f"<{self.op.name} {self.inputs} -> {self.outputs}>"


class Graph:
    """A traced computation: forward nodes, and behind them those of the backward pass where gradients are wanted.

    inputs, held, dys (output gradients): values from outside; `arrays` are what `held` stands for, read anew at each call;
    those of them that are `parameters` change from call to call. outputs: what the forward part gives. tracked: those inputs and held
    values that gradients are wanted for; gradients: theirs, None where zero. writes: (value from outside, value to
    store in its memory after the forward part). draws: one per random key, in order. space: of a graph for a class of
    shapes, the symbols in its extents and what was presumed of them; each is the length of the `lengths` (input, axis).
    """

    def __init__(self):
        self.inputs: list[Value] = []
        self.held: list[Value] = []
        self.arrays: list = []
        self.parameters: set[Value] = set()
        self.dys: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.tracked: list[Value] = []
        self.gradients: list[Value | None] = []
        self.writes: list[tuple[Value, Value]] = []
        self.draws: list[Draw] = []
        self.space: Space | None = None
        self.lengths: list[tuple[int, int]] = []

    def like(self, nodes: list[Node]) -> Graph:
        """The same graph with other nodes; passes give what they return so."""
        graph = Graph()
        graph.__dict__.update(self.__dict__)
        graph.nodes = nodes
        return graph

    def replaced(self, nodes: list[Node], replace: dict[Value, Value]) -> Graph:
        """The graph with other nodes, whose values and results that are keys of `replace` become what they map to."""

        def final(value):
            while value in replace:
                value = replace[value]
            return value

        graph = self.like([reading(node, final) for node in nodes])
        graph.outputs = [final(v) for v in self.outputs]
        graph.gradients = [final(v) for v in self.gradients]
        graph.writes = [(target, final(v)) for target, v in self.writes]
        return graph

    def mark_parameters(self, arrays) -> None:
        """Tells which held values are parameters."""
        known = set(map(id, arrays))
        self.parameters = {v for v, array in zip(self.held, self.arrays, strict=True) if id(array) in known}

    def prepared(self) -> list[Value]:
        """Values that early nodes make and others read, in a fixed order."""
        made = {v for node in self.nodes if node.early for v in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes if not node.early for v in node.reads() if v in made))

    def saved(self) -> list[Value]:
        """Values that the backward part reads and the forward part makes or is given, in a fixed order."""
        dys = set(self.dys)
        made: set[Value] = set()
        found: dict[Value, None] = {}
        for node in self.nodes:
            if node.backward:
                found.update((v, None) for v in node.reads() if v not in made and v not in dys)
                made.update(node.outputs)
        found.update((v, None) for v in self.gradients if v is not None and v not in made and v not in dys)
        return list(found)

    def results(self) -> set[Value]:
        """Values that somebody outside gets."""
        return {*self.outputs, *(v for v in self.gradients if v is not None), *(v for _, v in self.writes)}

    def __str__(self):
        names: dict[Value, str] = {}

        def name(v):
            if not isinstance(v, Value):
                return repr(v)
            return names.setdefault(v, f"{v.role}{v.index}" if v.source is None else f"v{len(names)}")

        lines = []
        for node in self.nodes:
            outputs = ", ".join(f"{name(v)}: {v.dtype}{list(v.shape)}" for v in node.outputs)
            attrs = "".join(f", {key}={name(v)}" for key, v in node.attrs.items())
            mark = "~ " if node.backward else "! " if node.early else ""
            lines.append(f"{mark}{outputs} = {node.op.name}({', '.join(map(name, node.inputs))}{attrs})")
        lines.append(f"return {', '.join(map(name, self.outputs))}")
        if self.gradients:
            lines.append(f"gradients {', '.join(map(name, self.gradients))}")
        return "\n".join(lines)


def apply(op: Operator, inputs: list[Value | None], attrs: dict, like: Value, backward: bool = False) -> Node:
    """A new node; its outputs get shapes and dtypes from the forward rule, and the kind and place of `like`."""
    node = Node(op, attrs, inputs, like.ctx, backward=backward)
    plain = {key: v.meta if isinstance(v, Value) else v for key, v in attrs.items()}
    results = op.forward(*(None if v is None else v.meta for v in inputs), **plain)
    reserve = None
    if op.reserves:
        results, reserve = results
    node.single = not isinstance(results, (tuple, list))
    for k, t in enumerate((results,) if node.single else results):
        if any(v is not None and t is v.meta for v in inputs):
            t = t.view(t.shape)  # a value of its own in the same memory
        node.outputs.append(Value(t, like.ctx, like.kind, NODE, k, node))
    if reserve is not None:
        node.outputs.append(Value(reserve, like.ctx, None, NODE, len(node.outputs), node, opaque=True))
    return node


def uses(graph: Graph) -> dict[Value, int]:
    """How often each value is read, by nodes and from outside."""
    counts: dict[Value, int] = {}
    outside = [*graph.outputs, *graph.gradients, *(v for _, v in graph.writes)]
    for v in (*(v for node in graph.nodes for v in node.reads()), *(v for v in outside if v is not None)):
        counts[v] = counts.get(v, 0) + 1
    return counts


def written(nodes: Iterable[Node]) -> set[Value]:
    """Values whose memory some node writes to."""
    found = set()
    for node in nodes:
        names = node.op.inputs
        for slot, value in zip(names, node.inputs, strict=False):
            if slot in node.op.mutates and value is not None:
                found.add(value)
    return found


def reading(node: Node, final: Callable[[Value], Value]) -> Node:
    """The node over what `final` gives for the values that it reads; itself where these are the same."""
    if all(final(v) is v for v in node.reads()):
        return node
    attrs = {key: final(v) if isinstance(v, Value) else v for key, v in node.attrs.items()}
    return over(node, [v if v is None else final(v) for v in node.inputs], attrs)


def over(node: Node, inputs: list, attrs: dict) -> Node:
    """The node over these inputs and attributes, with the same outputs."""
    made = Node(node.op, attrs, inputs, node.ctx, node.single, node.backward)
    made.outputs, made.early = node.outputs, node.early
    for v in made.outputs:
        v.source = made
    return made
