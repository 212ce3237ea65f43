"""Loops and branches over symbols: `sym.contrib.foreach`, `while_loop` and `cond`, and how a graph runs them.

The functions that a user gives are called once, on variables; what they make becomes a subgraph of one node. What a
subgraph reads from outside is an input of that node, which the attributes called `..._locs` place (the layout is that
of MXNet 1.9.1, which reads the JSON of such graphs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core import autograd, storage
from core.attribute import AttrScope
from core.base import MXNetError
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
        "_foreach",
        [s._entries[0] for s in (*flat_data, *flat_states)] + [sub.outside[n] for n in free],
        [sub],
        num_outputs=len(sub.entries),
        num_out_data=len(flat_outputs),
        in_data_locs=[sub.names.index(v.name) for v in slices],
        in_state_locs=[sub.names.index(v.name) for v in states],
        remain_locs=[sub.names.index(n) for n in free],
    )
    return _like(outputs, made[: len(flat_outputs)]), _like(new_states, made[len(flat_outputs) :])


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """Runs `func(*loop_vars) -> (step output, new loop_vars)` while `cond(*loop_vars)` holds,
    `max_iterations` times at most.

    Gives (outputs stacked along a new axis 0, padded to `max_iterations` rows, last loop_vars).
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
    with _Subgraph(f"{name}_cond") as scope:
        tested = scope.variables(loop)
        cond_sub = scope.cut(_flat(cond(*tested)))
    with _Subgraph(f"{name}_func") as scope:
        variables = scope.variables(loop)
        outputs, new = func(*variables)
        flat_outputs, flat_new = _flat([] if outputs is None else outputs), _flat(new)
        if len(flat_new) != len(loop):
            raise ValueError(f"while_loop: func gives {len(flat_new)} variables, it got {len(loop)}")
        func_sub = scope.cut(flat_outputs, flat_new)
    entries = [s._entries[0] for s in loop]
    places = []
    for sub, own in ((cond_sub, tested), (func_sub, variables)):
        of_loop = {v.name: k for k, v in enumerate(own)}
        places.append([of_loop[n] if n in of_loop else _place(entries, sub.outside[n], len(loop)) for n in sub.names])
    made = _node(
        "_while_loop",
        entries,
        [cond_sub, func_sub],
        num_outputs=len(func_sub.entries),
        num_out_data=len(flat_outputs),
        max_iterations=limit,
        cond_input_locs=places[0],
        func_input_locs=places[1],
        func_var_locs=[func_sub.names.index(v.name) if v.name in func_sub.names else -1 for v in variables],
    )
    count = len(flat_outputs)
    return _like([] if outputs is None else outputs, made[:count]), made[count:]


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
    places = [[_place(entries, sub.outside[n]) for n in sub.names] for sub in subs]
    made = _node(
        "_cond",
        entries,
        subs,
        num_outputs=len(subs[1].entries),
        cond_input_locs=places[0],
        then_input_locs=places[1],
        else_input_locs=places[2],
    )
    return _like(results[1], made)


def run(node: Node, inputs: Sequence) -> list:
    """The outputs of a node with subgraphs on arrays, step by step and on the tape."""
    if autograd.state.tracer is None and any(x._data.is_meta for x in inputs):  # inside of what is inferred
        return infer(node, inputs)
    return node.op.control.run(node, inputs)


def infer(node: Node, inputs: Sequence) -> list:
    """The outputs of a node with subgraphs on arrays without memory: one step tells all shapes."""
    return node.op.control.infer(node, inputs)


def parameter_shapes(node: Node, found: list, infer_shapes: Callable) -> list:
    """Shapes of the node's inputs, with those that its subgraphs tell of their variables filled in."""
    found = list(found)
    for places, names, drop_axis, sub in wiring(node):
        known = {n: found[k][1:] if d else found[k] for n, k, d in zip(names, places, drop_axis) if k >= 0 and found[k]}
        inside, _ = infer_shapes(sub, known)
        for n, k, d in zip(names, places, drop_axis):
            if k >= 0 and not found[k] and inside.get(n) and not d:
                found[k] = inside[n]
    return found


def wiring(node: Node) -> list[tuple[Sequence[int], list[str], list[bool], list[Value]]]:
    """For each subgraph: the node's inputs that its variables stand for, their names, which of them are slices."""
    return node.op.control.wiring(node)


def check_wiring(node: Node) -> None:
    """MXNetError where the attributes of a node from a file do not fit its inputs and subgraphs."""
    if len(node.subgraphs) != node.op.subgraphs:
        raise MXNetError(f"{node.op.name} has {node.op.subgraphs} subgraphs, {len(node.subgraphs)} are given")
    good = node.op.control.fits(node) and all(len(sub) > 0 for sub in node.subgraphs)
    if not good or node.op.control.results(node) != node.attrs["num_outputs"]:
        raise MXNetError(f"{node.op.name} {node.name!r}: its attributes do not fit its inputs and subgraphs")


def auxiliary_places(node: Node) -> set[int]:
    """Which inputs of the node hold states of operators in its subgraphs."""
    places = set()
    for where, names, _, sub in wiring(node):
        inside = {v.name for v in graph.auxiliaries(graph.order(sub))}
        places |= {k for n, k in zip(names, where) if n in inside}
    return places


# ----------------------------------------------------------------------------------------------


class _Subgraph:
    """While it is entered, nodes are marked as belonging to one subgraph; `cut` then takes them out."""

    def __init__(self, name: str):
        if around := AttrScope.current.get().get(SUBGRAPH):
            name = f"{around}${name}"
        counts = AttrScope._subgraph_names
        self.name = f"{name}{counts[name]}"
        counts[name] += 1
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
        heads, seen = [], set()
        of_outputs = {symbol._entries[0].maker for symbol in outputs}
        for i, symbol in enumerate([*outputs, *states]):
            value = symbol._entries[0]
            again = value in seen or (i >= len(outputs) and value.maker in of_outputs)
            if value.source is None or value.source.texts.get(SUBGRAPH) != self.name or again:
                # An output is made by a node of the subgraph, and by no other output; a state by none of theirs.
                head = _single_node("_copy", "identity", [value])
            else:
                head = value
            seen.add(value)
            heads.append(head)
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

        for node in graph.order(heads):
            if node.op is None:
                if node in self._own:
                    inner[node] = node
            elif node.texts.get(SUBGRAPH) == self.name:
                inner.update(zip(node.outputs, graph.with_inputs(node, [moved(v) for v in node.inputs]).outputs))
        return _Cut([moved(v) for v in heads], outside)


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


def _place(entries: list[Value], entry: Value, start: int = 0) -> int:
    """Where a value is among the inputs of a node from `start` on, put behind them where it is not there."""
    if entry not in entries[start:]:
        entries.append(entry)
    return entries.index(entry, start)


def _names(sub: list[Value]) -> list[str]:
    return [v.name for v in graph.variables(sub)]


def _foreach_parts(node: Node, inputs: Sequence):
    """(body on lists of slices and states, data, states)."""
    attrs, (sub,) = node.attrs, node.subgraphs
    names = _names(sub)
    data_places, state_places = attrs["in_data_locs"], attrs["in_state_locs"]
    data = list(inputs[: len(data_places)])
    states = list(inputs[len(data) : len(data) + len(state_places)])
    free = {names[k]: x for k, x in zip(attrs["remain_locs"], inputs[len(data) + len(states) :], strict=True)}
    like, count = inputs[0], attrs["num_out_data"]

    def body(slices, states):
        values = dict(free)
        values |= {names[k]: x for k, x in zip(data_places, slices, strict=True)}
        values |= {names[k]: x for k, x in zip(state_places, states, strict=True)}
        results = graph.run(sub, values, like._ctx, type(like))
        return results[:count], results[count:]

    return body, data, states


def _while_parts(node: Node, inputs: Sequence):
    """(test, step, loop variables)."""
    attrs, (test, step) = node.attrs, node.subgraphs
    loop = len(step) - attrs["num_out_data"]

    def caller(sub, places):
        names = _names(sub)

        def call(*variables):
            values = {n: variables[k] if k < loop else inputs[k] for n, k in zip(names, places, strict=True)}
            return graph.run(sub, values, inputs[0]._ctx, type(inputs[0]))

        return call

    run_test, run_step = caller(test, attrs["cond_input_locs"]), caller(step, attrs["func_input_locs"])
    count = attrs["num_out_data"]

    def stepped(*variables):
        results = run_step(*variables)
        return results[:count], results[count:]

    return lambda *variables: run_test(*variables)[0], stepped, list(inputs[:loop])


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


class Control:
    """What a kind of node with subgraphs does with them; by default one of them, as the first tells."""

    names: tuple[str, ...] = ("cond", "then", "else")  # of the subgraphs, in attributes

    def run(self, node: Node, inputs: Sequence) -> list:
        """The outputs on arrays."""
        test, then, other = (self._branch(node, k, inputs) for k in range(3))
        return control_flow.cond(test()[0], then, other)

    def infer(self, node: Node, inputs: Sequence) -> list:
        """The outputs on arrays without memory."""
        return self._branch(node, 1, inputs)()

    def wiring(self, node: Node) -> list:
        """See `wiring`."""
        return [
            (places, _names(sub), [False] * len(places), sub)
            for kind, sub in zip(self.names, node.subgraphs, strict=True)
            for places in [node.attrs[f"{kind}_input_locs"]]
        ]

    def fits(self, node: Node) -> bool:
        """Whether the attributes of a node fit its inputs and subgraphs."""
        return len(node.subgraphs[1]) == len(node.subgraphs[2]) and self._wired(node)

    def results(self, node: Node) -> int:
        """The number of outputs."""
        return len(node.subgraphs[-1])

    def _wired(self, node: Node) -> bool:
        return all(
            len(places) == len(names) and all(0 <= k < len(node.inputs) for k in places)
            for places, names, _, _ in self.wiring(node)
        )

    def _branch(self, node: Node, k: int, inputs: Sequence) -> Callable[[], list]:
        values = [inputs[place] for place in node.attrs[f"{self.names[k]}_input_locs"]]
        like, sub = inputs[0], node.subgraphs[k]
        return lambda: graph.run(sub, dict(zip(_names(sub), values, strict=True)), like._ctx, type(like))


class Foreach(Control):
    """The only subgraph for each slice of some inputs, with states."""

    def run(self, node, inputs):
        body, data, states = _foreach_parts(node, inputs)
        outputs, states = control_flow.foreach(lambda slices, s: body(slices, s), data, states)
        return [*outputs, *states]

    def infer(self, node, inputs):
        body, data, states = _foreach_parts(node, inputs)
        outputs, states = body([x[0] for x in data], states)
        steps = data[0].shape[0] if data else 0
        return [*(blank((steps, *x.shape), dtype_name(x.dtype)) for x in outputs), *states]

    def wiring(self, node):
        attrs, (sub,) = node.attrs, node.subgraphs
        names, sliced = _names(sub), len(attrs["in_data_locs"])
        order = [*attrs["in_data_locs"], *attrs["in_state_locs"], *attrs["remain_locs"]]
        return [(range(len(order)), [names[k] for k in order], [i < sliced for i in range(len(order))], sub)]

    def fits(self, node):
        attrs, (sub,) = node.attrs, node.subgraphs
        places = [*attrs["in_data_locs"], *attrs["in_state_locs"], *attrs["remain_locs"]]
        whole = sorted(places) == list(range(len(_names(sub)))) and len(places) == len(node.inputs)
        states = len(sub) - attrs["num_out_data"]
        return whole and states == len(attrs["in_state_locs"]) and len(attrs["in_data_locs"]) > 0


class WhileLoop(Control):
    """The second subgraph as long as the first gives true."""

    names = ("cond", "func")

    def run(self, node, inputs):
        attrs = node.attrs
        test, step, variables = _while_parts(node, inputs)
        outputs, last = control_flow.while_loop(test, step, variables, attrs["max_iterations"])
        if not outputs and attrs["num_out_data"]:
            shapes = infer(node, [blank(x.shape, dtype_name(x.dtype)) for x in inputs])[: attrs["num_out_data"]]
            kind, ctx = type(inputs[0]), inputs[0]._ctx
            outputs = [kind._wrap(storage.zeros(s.shape, s.dtype, ctx), ctx) for s in shapes]
        return [*outputs, *last]

    def infer(self, node, inputs):
        _, step, variables = _while_parts(node, inputs)
        outputs, last = step(*variables)
        most = node.attrs["max_iterations"]
        return [*(blank((most, *x.shape), dtype_name(x.dtype)) for x in outputs), *last]

    def fits(self, node):
        data = node.attrs["num_out_data"]
        return self._wired(node) and 0 < self.results(node) - data <= len(node.inputs) and data >= 0


class Gradient(Control):
    """Gradients of the only subgraph by some of its variables, which are the node's inputs."""

    def run(self, node, inputs):
        (sub,), names = node.subgraphs, _names(node.subgraphs[0])
        again = autograd.is_recording()
        # Outside a recording, the caller's places on the tape are left alone.
        values = [x if again and x._entry is not None else x.detach() for x in inputs]
        wrt = [values[k] for k in node.attrs["wrt"]]
        for x in wrt:
            if x._entry is None:
                x.attach_grad()
        with autograd.record(autograd.is_training()):
            outputs = graph.run(sub, dict(zip(names, values, strict=True)), inputs[0]._ctx, type(inputs[0]))
            return autograd.grad(outputs, wrt, create_graph=again, train_mode=autograd.is_training())

    def infer(self, node, inputs):
        return [inputs[k] for k in node.attrs["wrt"]]

    def wiring(self, node):
        names = _names(node.subgraphs[0])
        return [(range(len(names)), names, [False] * len(names), node.subgraphs[0])]

    def fits(self, node):
        return (
            self._wired(node) and self.results(node) > 0 and all(0 <= k < len(node.inputs) for k in node.attrs["wrt"])
        )

    def results(self, node):
        return len(node.attrs["wrt"])


F._foreach.control, F._while_loop.control, F._cond.control, F._gradient.control = (
    Foreach(), WhileLoop(), Control(), Gradient(),
)  # fmt: skip
