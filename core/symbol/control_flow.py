"""Loops, branches and gradients of symbols: `sym.contrib.foreach`, `while_loop`, `cond`, and how a graph runs them.

The functions that a user gives are called once, on variables; what they make becomes a subgraph of one node. What a
subgraph reads from outside is an input of that node, which the attributes called `..._locs` place (the layout is that
of MXNet 1.9.1, which reads the JSON of such graphs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from core import autograd, kernels
from core.attribute import AttrScope
from core.base import MXNetError, nearest
from core.dtypes import dtype_name
from core.graph.ir import Node, Value, Variable
from core.name import NameManager
from core.ndarray import control_flow
from core.ops.registry import TABLE, F
from core.symbol import graph
from core.symbol.infer import blank
from core.symbol.symbol import Symbol

SUBGRAPH = "__subgraph_name__"  # the attribute that tells the nodes of a subgraph from those that it reads


def foreach(body, data, init_states, name="foreach"):
    """Runs `body(slice, states) -> (output, states)` over axis 0 of `data` (a symbol or a list of symbols).

    Gives (outputs stacked along a new axis 0, last states), each a symbol or a list as `body` gives them. Data and
    states must be used by `body`.
    """
    flat_data, flat_states = _flat(data), _flat(init_states)
    with _Subgraph(name) as scope:
        slices, states = scope.variables(flat_data), scope.variables(flat_states)
        outputs, new_states = body(_like(data, slices), _like(init_states, states))
        flat_outputs, flat_new = _flat(outputs), _flat(new_states)
        if len(flat_new) != len(flat_states):
            raise ValueError(f"foreach: body gives {len(flat_new)} states, it got {len(flat_states)}")
        sub = scope.cut(flat_outputs, flat_new)
    for what, variables in (("data", slices), ("states", states)):
        if any(v.name not in sub.names for v in variables):
            raise AssertionError(f"foreach: all {what} have to be used in the body")
    own = {v.name for v in (*slices, *states)}
    free = [n for n in sub.names if n not in own]
    made = _node(
        "_foreach", [s._entries[0] for s in (*flat_data, *flat_states)] + [sub.outside[n] for n in free], [sub],
        num_outputs=len(sub.entries), num_out_data=len(flat_outputs),
        in_data_locs=[sub.names.index(v.name) for v in slices],
        in_state_locs=[sub.names.index(v.name) for v in states], remain_locs=[sub.names.index(n) for n in free],
    )  # fmt: skip
    return _like(outputs, made[: len(flat_outputs)]), _like(new_states, made[len(flat_outputs) :])


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """Runs `func(*loop_vars) -> (step output, new loop_vars)` while `cond(*loop_vars)` holds,
    `max_iterations` times at most.

    Gives (outputs stacked along a new axis 0, padded to `max_iterations` rows, last loop_vars), the latter nested as
    `loop_vars` are: one symbol where they are one.
    """
    if max_iterations is None:
        raise ValueError("while_loop needs max_iterations")
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        raise ValueError(f"max_iterations is an int, given {max_iterations!r}") from None
    loop = _flat(loop_vars)
    if not loop:
        raise ValueError("while_loop needs at least one loop variable")
    single = isinstance(loop_vars, Symbol)
    pattern = list(loop_vars)
    with _Subgraph(f"{name}_cond") as scope:
        tested = scope.variables(loop)
        cond_sub = scope.cut(_flat(cond(*_like(pattern, tested))))
    with _Subgraph(f"{name}_func") as scope:
        variables = scope.variables(loop)
        outputs, new = func(*_like(pattern, variables))
        flat_outputs, flat_new = _flat([] if outputs is None else outputs), _flat(new)
        if len(flat_new) != len(loop):
            raise ValueError(f"while_loop: func gives {len(flat_new)} variables, it got {len(loop)}")
        func_sub = scope.cut(flat_outputs, flat_new)
    entries = [s._entries[0] for s in loop]
    places = [_placed(entries, cond_sub, tested), _placed(entries, func_sub, variables)]
    count = len(flat_outputs)
    made = _node(
        "_while_loop", entries, [cond_sub, func_sub], num_outputs=len(func_sub.entries), num_out_data=count,
        max_iterations=limit, cond_input_locs=places[0], func_input_locs=places[1],
        func_var_locs=[func_sub.names.index(v.name) if v.name in func_sub.names else -1 for v in variables],
    )  # fmt: skip
    last = _like(pattern, made[count:])
    return _like([] if outputs is None else outputs, made[:count]), last[0] if single and len(last) == 1 else last


def cond(pred, then_func, else_func, name="cond"):
    """`then_func()` where the scalar `pred` is true, else `else_func()`.

    Both give symbols of the same number and kind.
    """
    subs, results = [], []
    for kind, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        with _Subgraph(f"{name}_{kind}") as scope:
            results.append(function())
            subs.append(scope.cut(_flat(results[-1])))
    if len(subs[1].entries) != len(subs[2].entries):
        raise ValueError(f"cond: {len(subs[1].entries)} outputs in one branch, {len(subs[2].entries)} in the other")
    if len(subs[0].entries) != 1:
        raise ValueError("cond: pred is to be a symbol of one output")
    entries: list[Value] = []
    places = [_placed(entries, sub) for sub in subs]
    made = _node(
        "_cond", entries, subs, num_outputs=len(subs[1].entries), cond_input_locs=places[0], then_input_locs=places[1],
        else_input_locs=places[2],
    )  # fmt: skip
    return _like(results[1], made)


def gradient(symbol: Symbol, wrt: list[str]) -> Symbol:
    """The gradients of the sum of the outputs by the variables called `wrt`; differentiable itself.

    MXNetError where there is no such variable. MXNet 1.9.1 cannot read the JSON of this node.
    """
    names = symbol.list_inputs()
    for name in wrt:
        if name not in names:
            raise MXNetError(f"there is no variable {name!r} to differentiate by.{nearest(name, names)}")
    sub = graph.copy(symbol._entries)
    inputs = graph.variables(symbol._entries)
    texts = {"num_outputs": str(len(wrt)), "wrt": str([names.index(name) for name in wrt])}
    node = graph.applied(TABLE["_gradient"], NameManager.current.get(None, "_gradient"), texts, inputs, subgraphs=[sub])
    return type(symbol)(node.outputs)


# ----------------------------------------------------------------------------------------------


class _Subgraph:
    """While it is entered, nodes are marked as belonging to one subgraph; `cut` then takes them out."""

    def __init__(self, name: str):
        if around := AttrScope.current.get().get(SUBGRAPH):
            name = f"{around}${name}"
        self.name = AttrScope.subgraph_name(name)
        self._scope = AttrScope(**{SUBGRAPH: self.name})
        self._own: set[Variable] = set()
        self._names: set[str] = set()

    def __enter__(self):
        self._scope.__enter__()
        return self

    def __exit__(self, *exception):
        self._scope.__exit__(*exception)

    def variables(self, symbols: list[Symbol]) -> list[Symbol]:
        """One variable of the subgraph for each symbol that comes in."""
        made = []
        for symbol in symbols:
            value = symbol._entries[0]
            name = f"{value.maker.name}-{value.index}"
            if name in self._names:  # the same symbol comes in twice
                name = f"{name}-{len(self._names)}"
            self._names.add(name)
            variable = Variable(name, {SUBGRAPH: self.name})
            self._own.add(variable)
            made.append(type(symbol)([variable]))
        return made

    def cut(self, outputs: list[Symbol], states: Sequence[Symbol] = ()) -> _Cut:
        """The subgraph that computes outputs and states; what it reads from outside becomes variables."""
        ends, seen = [], set()
        of_outputs = {symbol._entries[0].maker for symbol in outputs}
        for i, symbol in enumerate([*outputs, *states]):
            value = symbol._entries[0]
            again = value in seen or (i >= len(outputs) and value.maker in of_outputs)
            if value.source is None or value.source.texts.get(SUBGRAPH) != self.name or again:
                # An output is made by a node of the subgraph, and by no other output; a state by none of theirs.
                end = _single_node("_copy", "identity", [value])
            else:
                end = value
            seen.add(value)
            ends.append(end)
        inner: dict[Value, Value] = {}
        outside: dict[str, Value] = {}

        def moved(value: Value | None) -> Value | None:
            if value is None or value in inner:
                return value and inner[value]
            name = value.name
            if outside.setdefault(name, value) is not value:
                raise MXNetError(f"a loop or branch reads two different things called {name!r}; give one another name")
            inner[value] = Variable(name, dict(value.texts) if isinstance(value, Variable) else {})
            return inner[value]

        for node in graph.order(ends):
            if node.op is None:
                if node in self._own:
                    inner[node] = node
            elif node.texts.get(SUBGRAPH) == self.name:
                inner.update(zip(node.outputs, graph.with_inputs(node, [moved(v) for v in node.inputs]).outputs))
        return _Cut([moved(v) for v in ends], outside)


class _Cut:
    """A subgraph: its outputs, the names of its variables in order, and what is behind those from outside."""

    def __init__(self, entries: list[Value], outside: dict[str, Value]):
        self.entries, self.outside = entries, outside
        self.names = _names(entries)


def _node(op_name: str, inputs: list[Value], subs: list[_Cut], **attrs) -> list[Symbol]:
    op = TABLE[op_name]
    name = NameManager.current.get(None, op_name)
    texts = graph.hidden(AttrScope.current.get())
    texts |= {key: str(value) for key, value in attrs.items()} | {"num_args": str(len(inputs) + len(subs))}
    node = graph.applied(op, name, texts, inputs, subgraphs=[sub.entries for sub in subs])
    return [Symbol([v]) for v in node.visible]


def _single_node(op_name: str, hint: str, inputs: list[Value]) -> Value:
    name = NameManager.current.get(None, hint)
    return graph.applied(TABLE[op_name], name, graph.hidden(AttrScope.current.get()), inputs).outputs[0]


def _placed(entries: list[Value], sub: _Cut, own: Sequence[Symbol] = ()) -> list[int]:
    """Where the variables of a subgraph are among the inputs of a node: its own ones first, others are put behind."""
    places, first = [], [v.name for v in own]
    for name in sub.names:
        if name in first:
            places.append(first.index(name))
            continue
        entry = sub.outside[name]
        if entry not in entries[len(own) :]:
            entries.append(entry)
        places.append(entries.index(entry, len(own)))
    return places


def _names(sub: list[Value]) -> list[str]:
    return [v.name for v in graph.variables(sub)]


def _flat(value) -> list[Symbol]:
    if isinstance(value, Symbol):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [s for part in value for s in _flat(part)]
    raise TypeError(f"loops and branches give symbols or lists of symbols, got {type(value).__name__}")


def _like(pattern, flat: list[Symbol]):
    """The flat list in the nesting of `pattern`."""
    flat = list(flat)

    def take(part):
        if isinstance(part, Symbol):
            return flat.pop(0) if len(part) == 1 else [flat.pop(0) for _ in range(len(part))]
        return [take(p) for p in part]

    return take(pattern)


# ----------------------------------------------------------------------------------------------


class Wires(NamedTuple):
    """What a subgraph of a node reads: the node's inputs at `places`, under these names; of some it gets slices."""

    places: Sequence[int]
    names: list[str]
    sliced: Sequence[bool]
    entries: list[Value]


class Control:
    """What a kind of node with subgraphs does with them; by default one of them, as the first tells."""

    names: tuple[str, ...] = ("cond", "then", "else")  # of the subgraphs, in attributes

    def run(self, node: Node, inputs: Sequence) -> list:
        """The outputs on arrays, step by step and on the tape."""
        if autograd.state.tracer is None and any(x._data.is_meta for x in inputs):  # inside of what is inferred
            return self.infer(node, inputs)
        return self.compute(node, inputs, *self.functions(node, inputs))

    def infer(self, node: Node, inputs: Sequence) -> list:
        """The outputs on arrays without memory: one step tells all shapes."""
        return self.shaped(node, inputs, *self.functions(node, inputs))

    def functions(self, node: Node, inputs: Sequence) -> list[Callable]:
        """The subgraphs as functions of what takes the place of the first inputs."""
        like = inputs[0]

        def function(wires: Wires):
            def call(*first):
                given = [*first, *inputs[len(first) :]]
                values = {name: given[k] for name, k in zip(wires.names, wires.places, strict=True)}
                return graph.run(wires.entries, values, like._ctx, type(like))

            return call

        return [function(wires) for wires in self.wiring(node)]

    def wiring(self, node: Node) -> list[Wires]:
        """What each subgraph reads."""
        places = [node.attrs[f"{kind}_input_locs"] for kind in self.names]
        return [Wires(k, _names(sub), [False] * len(k), sub) for k, sub in zip(places, node.subgraphs, strict=True)]

    def compute(self, node: Node, inputs: Sequence, *functions: Callable) -> list:
        """The outputs on arrays with values; functions: of the subgraphs."""
        test, then, other = functions
        return control_flow.cond(test()[0], then, other)

    def shaped(self, node: Node, inputs: Sequence, *functions: Callable) -> list:
        """The outputs on arrays without memory."""
        return functions[1]()

    def fits(self, node: Node) -> bool:
        """Whether the attributes of a node fit its inputs and subgraphs."""
        return len(node.subgraphs[1]) == len(node.subgraphs[2]) and self._wired(node)

    def results(self, node: Node) -> int:
        """The number of outputs."""
        return len(node.subgraphs[-1])

    def check(self, node: Node) -> None:
        """MXNetError where the attributes of a node from a file do not fit its inputs and subgraphs."""
        if len(node.subgraphs) != node.op.subgraphs:
            raise MXNetError(f"{node.op.name} has {node.op.subgraphs} subgraphs, {len(node.subgraphs)} are given")
        good = self.fits(node) and all(len(sub) > 0 for sub in node.subgraphs)
        if not good or self.results(node) != node.attrs["num_outputs"]:
            raise MXNetError(f"{node.op.name} {node.name!r}: its attributes do not fit its inputs and subgraphs")

    def parameter_shapes(self, node: Node, found: list, infer_shapes: Callable) -> list:
        """Shapes of the node's inputs, with those that its subgraphs tell of their variables filled in."""
        found = list(found)
        for wires in self.wiring(node):
            own = [w for w in zip(wires.names, wires.places, wires.sliced, strict=True) if w[1] >= 0]
            known = {n: found[k][1:] if sliced else found[k] for n, k, sliced in own if found[k]}
            inside, _ = infer_shapes(wires.entries, known)
            for n, k, sliced in own:
                if not found[k] and inside.get(n) and not sliced:
                    found[k] = inside[n]
        return found

    def auxiliary_places(self, node: Node) -> set[int]:
        """Which inputs of the node hold states of operators in its subgraphs."""
        places = set()
        for wires in self.wiring(node):
            inside = {v.name for v in graph.auxiliaries(graph.order(wires.entries))}
            places |= {k for n, k in zip(wires.names, wires.places, strict=True) if n in inside}
        return places

    def _wired(self, node: Node) -> bool:
        return all(
            len(wires.places) == len(wires.names) and all(0 <= k < len(node.inputs) for k in wires.places)
            for wires in self.wiring(node)
        )


class Foreach(Control):
    """The only subgraph for each slice of some inputs, with states."""

    def compute(self, node, inputs, body):
        data, states = self._given(node, inputs)
        outputs, states = control_flow.foreach(lambda x, held: _parted(node, body(*x, *held)), data, states)
        return [*outputs, *states]

    def shaped(self, node, inputs, body):
        data, states = self._given(node, inputs)
        outputs, states = _parted(node, body(*(x[0] for x in data), *states))
        return [*_rows(outputs, data[0].shape[0]), *states]

    def wiring(self, node):
        (sub,), sliced = node.subgraphs, len(node.attrs["in_data_locs"])
        names, order = _names(sub), self._order(node)
        return [Wires(range(len(order)), [names[k] for k in order], [i < sliced for i in range(len(order))], sub)]

    def fits(self, node):
        attrs, (sub,), order = node.attrs, node.subgraphs, self._order(node)
        whole = sorted(order) == list(range(len(_names(sub)))) and len(order) == len(node.inputs)
        states = len(sub) - attrs["num_out_data"]
        return whole and states == len(attrs["in_state_locs"]) and len(attrs["in_data_locs"]) > 0

    def _order(self, node: Node) -> list[int]:
        """Which variable of the subgraph each input of the node is."""
        return [k for kind in ("in_data", "in_state", "remain") for k in node.attrs[f"{kind}_locs"]]

    def _given(self, node: Node, inputs: Sequence) -> tuple[list, list]:
        """(data, states)."""
        sliced, states = (len(node.attrs[f"in_{kind}_locs"]) for kind in ("data", "state"))
        return list(inputs[:sliced]), list(inputs[sliced : sliced + states])


class WhileLoop(Control):
    """The second subgraph as long as the first gives true."""

    names = ("cond", "func")

    def compute(self, node, inputs, test, step):
        most, count = node.attrs["max_iterations"], node.attrs["num_out_data"]
        outputs, last = control_flow.while_loop(
            lambda *x: test(*x)[0], lambda *x: _parted(node, step(*x)), self._given(node, inputs), most
        )
        if not outputs and count:
            shapes = self.infer(node, [blank(x.shape, dtype_name(x.dtype)) for x in inputs])[:count]
            kind, ctx = type(inputs[0]), inputs[0]._ctx
            outputs = [kind._wrap(kernels.shape.zeros(s.shape, s.dtype, ctx), ctx) for s in shapes]
        return [*outputs, *last]

    def shaped(self, node, inputs, test, step):
        outputs, last = _parted(node, step(*self._given(node, inputs)))
        return [*_rows(outputs, node.attrs["max_iterations"]), *last]

    def fits(self, node):
        data = node.attrs["num_out_data"]
        return self._wired(node) and 0 < self.results(node) - data <= len(node.inputs) and data >= 0

    def _given(self, node: Node, inputs: Sequence) -> list:
        """The loop variables."""
        return list(inputs[: self.results(node) - node.attrs["num_out_data"]])


class Gradient(Control):
    """Gradients of the only subgraph by some of its variables, which are the node's inputs."""

    def compute(self, node, inputs, function):
        again = autograd.is_recording()
        # Outside a recording, the caller's places on the tape are left alone.
        values = [x if again and x._entry is not None else x.detach() for x in inputs]
        wrt = [values[k] for k in node.attrs["wrt"]]
        for x in wrt:
            if x._entry is None:
                x.attach_grad()
        with autograd.record(autograd.is_training()):
            return autograd.grad(function(*values), wrt, create_graph=again, train_mode=autograd.is_training())

    def shaped(self, node, inputs, function):
        return [inputs[k] for k in node.attrs["wrt"]]

    def wiring(self, node):
        names = _names(node.subgraphs[0])
        return [Wires(range(len(names)), names, [False] * len(names), node.subgraphs[0])]

    def fits(self, node):
        inside = all(0 <= k < len(node.inputs) for k in node.attrs["wrt"])
        return inside and self._wired(node) and self.results(node) > 0

    def results(self, node):
        return len(node.attrs["wrt"])


def _parted(node: Node, results: list) -> tuple[list, list]:
    """(outputs, states) of a step."""
    count = node.attrs["num_out_data"]
    return results[:count], results[count:]


def _rows(outputs: list, count) -> list:
    """Outputs of so many steps, without memory."""
    return [blank((count, *x.shape), dtype_name(x.dtype)) for x in outputs]


F._foreach.control, F._while_loop.control, F._cond.control, F._gradient.control = (
    Foreach(), WhileLoop(), Control(), Gradient(),
)  # fmt: skip
