"""Tracing: a block's Python runs once on arrays without memory, and the operators that it applies become a graph.

Traced arrays are arrays of the ordinary classes over `meta` tensors, so that shapes and dtypes are there and values
are not. `core.dispatch` tells the tracer of every application of a primitive; composites are run, and so are the
gradient rules: the tape records the traced arrays as any others, and its walk back adds the backward part to the graph.
"""

from __future__ import annotations

import linecache
import sys
import traceback
import weakref
from collections.abc import Callable, Sequence

from core import autograd, backward, dispatch, storage, symbolic
from core.base import MXNetError, NotImplementedForSymbol
from core.extents import symbols_in
from core.graph.ir import HELD, INPUT, NODE, OUTPUT_GRADIENT, Draw, Graph, Node, Value
from core.graph.loops import Body, Branch, While
from core.graph.replay import give_values
from core.graph.views import Views, replaced
from core.ndarray.ndarray import NDArray
from core.ops.registry import TABLE, F, Operator

state = autograd.state


class Untraceable(Exception):
    """Raised while tracing where a shape depends on values: the block is run operator by operator instead."""


class ReadsValue(NotImplementedForSymbol):
    """The error of a program that reads the value of an array while it is traced."""


class _Reserve(tuple):
    """What a kernel keeps for its gradient, apart from equal ones."""


class Traced:
    """What tracing gives: the graph, and how results are made of its outputs.

    template: nested lists and tuples as the block returned them, with numbers of `graph.outputs` (`Slot`) in the places
    of arrays and other values as they are. keeps: whether somebody holds arrays of the trace, which have values in
    other traces only.
    """

    def __init__(self, graph: Graph, template, keeps: bool):
        self.graph, self.template, self.keeps = graph, template, keeps


class Slot(int):
    """In a template: the number of an output; `same` marks one that is an array from outside, as it is."""

    same = False


def trace(
    function: Callable, args: tuple, record: bool, parameters=(), whole: bool = False, shapes: Sequence = ()
) -> Traced:
    """The graph of `function(*args)`; `args` may nest arrays in lists and tuples.

    record: whether gradients are wanted, for those arrays (given, or met inside) that autograd tracks. parameters:
    arrays whose values are not to be read either, for they change. whole: whether composites become nodes, as files
    want them, rather than the primitives that they are made of. shapes: of the arrays among `args`, with extents
    (`core.extents`) for those lengths that the graph is to leave open. MXNetError names the line where the function reads a
    value; Untraceable where a shape depends on one.
    """
    tracer = Tracer(parameters, whole, shapes)
    before = state.recording, state.tracer
    autograd.engage(record, tracer)
    try:
        results = function(*mapped(args, tracer.argument))
        template = mapped((results,), tracer.result)[0]
        tracer.finish()
        if record:
            tracer.differentiate()
    finally:
        autograd.engage(*before)
    graph, made = tracer.graph, tracer.made
    del tracer, results
    return Traced(graph, template, keeps=any(array() is not None for array in made))


class Tracer:
    """Takes down what operators are applied to; `core.dispatch` calls it while `autograd.state.tracer` is set."""

    def __init__(self, parameters=(), whole: bool = False, shapes: Sequence = ()):
        self.graph, self.whole, self._shapes = Graph(), whole, shapes
        self._unreadable = set(map(id, parameters))
        self._parameters = {id(p._data): p for p in parameters}
        self._values: dict[int, Value] = {}  # by id of the tensor (or what a kernel reserves), which the value keeps
        self._proxies: dict[int, NDArray] = {}  # traced arrays, by id of the array from outside that they stand for
        self._given: dict[int, NDArray] = {}  # arrays that a traced one stands for
        self._entered: list[tuple[NDArray, Value]] = []  # all of these, with what they were before anything was written
        self._leaves: dict[int, autograd.Leaf] = {}
        self._outputs: dict[tuple, tuple[Slot, NDArray]] = {}
        self._views = Views()
        self._backward = False
        self._ctx = None
        self.made: list[weakref.ref] = []  # all traced arrays

    # ------------------------------------------------------------------ called by core.dispatch

    def proxies(self, inputs: list) -> list:
        """The inputs of an operator as traced arrays; placeholders of parameters stay."""
        return [x if x is None or not isinstance(x, NDArray) or x._is_placeholder else self._proxy(x) for x in inputs]

    def draw(self, ctx) -> Draw:
        """What stands for a random key."""
        draw = Draw(len(self.graph.draws), ctx, self._backward)
        self.graph.draws.append(draw)
        return draw

    def record(self, op: Operator, inputs, attrs: dict, outputs: list, reserve, single: bool):
        """Adds one application; gives what is to be kept as `reserve`."""
        ctx = outputs[0]._ctx if outputs else self._ctx
        values = [None if x is None else self._values[id(x._data)] for x in inputs]
        attrs = {key: self._values.get(id(v), v) if _opaque(v) else v for key, v in attrs.items()}
        node = Node(op, attrs, values, ctx, single, self._backward)
        self.made += map(weakref.ref, outputs)
        for k, array in enumerate(outputs):
            if not array._data.is_meta:
                array._data = storage.meta_like(array._data)
            else:
                if not self._backward:
                    self._views.note(op, inputs, attrs, array)
                if id(array._data) in self._values:  # the input as it is, or what a primitive of a composite gave
                    array._data = array._data.view(array._data.shape)
            node.outputs.append(self._made(array._data, array._ctx, type(array), node, k))
        if reserve is not None:
            if type(reserve) is tuple:
                reserve = _Reserve(reserve)  # known by its identity, which the empty tuple shares with others
            node.outputs.append(self._made(reserve, ctx, None, node, len(outputs), opaque=True))
        self.graph.nodes.append(node)
        return reserve

    def composite(self, op: Operator, inputs: list, attrs: dict, context_attrs: dict):
        """What a composite gives: its primitives are taken down, or, for files, itself."""
        graph = self.graph
        count = len(graph.nodes)
        result = op.function(*inputs, **context_attrs)
        if not self.whole:
            return result
        inputs = self.proxies(inputs)
        if any(x is not None and id(x._data) not in self._values for x in inputs):
            return result  # an input got its shape inside
        del graph.nodes[count:]
        outputs = result if isinstance(result, (list, tuple)) else [result]
        self.record(op, inputs, attrs, outputs, None, outputs is not result)
        return result

    def write(self, target: NDArray, source: NDArray) -> None:
        """`target[:] = source`: from here on the target stands for the source's value."""
        if target.stype != "default":
            raise Untraceable("a sparse array is written")
        if target._data is not None and tuple(target.shape) != tuple(source.shape):
            raise MXNetError(f"cannot write a result of shape {source.shape} to an array of shape {target.shape}")
        source = self._proxy(source)
        if target._data is None:
            target._data = source._data
            return
        target = self._proxy(target)
        target._data = source._data if target.dtype == source.dtype else F.Cast(source, dtype=target.dtype)._data
        self._views.written(target)

    def unshare(self, array: NDArray) -> None:
        """The user gets an array that shares its memory with no other, whichever operator it came from."""
        self._views.forget(array)

    def write_part(self, target: NDArray, key: tuple, value: NDArray) -> None:
        """`target[key] = value` for a basic index and a value in the shape of the part."""
        self.write(target, replaced(self._proxy(target), key, value))

    def failed(self, op: Operator, error: Exception) -> None:
        """Tells operators that cannot be run without values from those that are misused."""
        if isinstance(error, NotImplementedError) or "meta" in str(error).lower():
            raise Untraceable(f"the result of {op.name} depends on values") from error

    # ------------------------------------------------------------------ called by arrays and the tape

    def hides(self, array: NDArray) -> bool:
        """Whether the values of an array are not there while the block is traced."""
        return id(array) in self._given or id(array) in self._unreadable or array._data.is_meta

    def refuse(self, array: NDArray) -> None:
        """Raises the error of a read of a value, or Untraceable where it is one of ours that reads."""
        if not self.hides(array):
            return
        where = _line_of_user()
        if where is None:
            raise Untraceable("a function reads values of its inputs")
        raise ReadsValue(
            f"{where}: a hybridized block reads the value of an array, which is not there while the block is traced "
            "into a graph. Express the choice with operators (F.where, F.contrib.cond, F.contrib.foreach, a mask), "
            "read the value outside of the block, or call hybridize(active=False)"
        )

    def zeros(self, kind: type, description: tuple) -> NDArray:
        """Zeros like the output that `storage.like` described."""
        shape, dtype, _ = description
        return dispatch.create(TABLE["_zeros"], {"shape": tuple(shape), "dtype": storage.NAMES[dtype]}, self._ctx, kind)

    def loop(self, body: Callable, data: list[NDArray], states: list[NDArray]) -> tuple[list, list] | None:
        """`body(slices, states) -> (outputs, states)` over axis 0 of `data` as one node: (outputs stacked, last states).

        All are flat lists. None where steps are not alike, or write to arrays: those have to be run one by one.
        """
        found = self._body(
            lambda given: body(given[: len(data)], given[len(data) :]),
            [*((x, x.shape[1:], autograd.is_tracked(x)) for x in data), *((x, x.shape, True) for x in states)],
        )
        if found is None or not _alike(found[2][1], states):
            return None
        graph, slots, (outputs, _), free = found
        return self._node(Body(graph, len(data), *slots), [*data, *states, *free], len(outputs))

    def while_loop(self, test: Callable, step: Callable, states: list[NDArray], most: int) -> tuple[list, list] | None:
        """`step(states) -> (outputs, states)` while `test(states)` holds, as one node; what it gives is as of `loop`."""
        given = [(x, x.shape, True) for x in states]
        tested, found = self._body(lambda x: ([test(x)],), given), self._body(step, given)
        if found is None or tested is None or not _alike(found[2][1], states):
            return None
        graph, slots, (outputs, _), free = found
        body = While(graph, *slots, Body(tested[0], 0, tested[1][0], ()), most)
        return self._node(body, [*states, *free, *tested[3]], len(outputs))

    def branch(self, choice: NDArray, then: Callable, other: Callable) -> list | None:
        """`then()` or `other()`, flat lists, as a number tells, as one node; None where they are not alike."""
        found = [self._body(lambda _, f=f: (f(),), []) for f in (then, other)]
        if None in found or not _alike(found[0][2][0], found[1][2][0]):
            return None
        bodies = [Body(graph, 0, slots[0], ()) for graph, slots, _, _ in found]
        return self._node(Branch(*bodies), [choice, *found[0][3], *found[1][3]], bodies[0].results)[0]

    def _body(self, function: Callable, elements: Sequence) -> tuple | None:
        """(graph, numbers of its outputs, these, what it reads besides) of a function of a list of arrays, which gives
        flat lists. None where it writes to arrays. elements: as of `_BodyTracer.element`.
        """
        inner = _BodyTracer(self)
        before = state.recording, state.tracer
        autograd.engage(state.recording, inner)
        try:
            parts = [[inner.own(x) for x in part] for part in function([inner.element(*given) for given in elements])]
            slots = [[inner.result(x) for x in part] for part in parts]
            inner.finish()
            if state.recording:
                inner.differentiate()
        finally:
            autograd.engage(*before)
        self.made += inner.made
        graph = inner.graph
        if graph.writes or any(node.effect for node in graph.nodes):
            return None
        symbols = [s for v in (*graph.inputs, *self.graph.inputs) for s in symbols_in(v.shape)]
        graph.space = symbols[0].extent.space if symbols else None
        free, graph.arrays = graph.arrays, []  # which are inputs of the node
        return graph, slots, parts, free

    def _node(self, body: Body | Branch, inputs: list[NDArray], outputs: int) -> tuple[list, list]:
        """Adds a loop or a branch: (outputs, states)."""
        space = next((s.extent.space for v in self.graph.inputs for s in symbols_in(v.shape)), None)
        lengths = () if space is None else tuple(s.extent for s in space.symbols)
        attrs = {"body": body, "lengths": lengths, "keep": state.recording}
        found = dispatch.launch(TABLE["_loop"], inputs, attrs, type(inputs[0]))
        found = found if isinstance(found, list) else [found]
        return found[:outputs], found[outputs:]

    # ------------------------------------------------------------------ the ends of a trace

    def argument(self, x):
        """The traced array that stands for an argument."""
        if not isinstance(x, NDArray):
            return x
        if x.stype != "default":
            raise Untraceable("an input is sparse")
        return self._enter(
            x, INPUT, self.graph.inputs, self._shapes
        )  # one for each place, also where one array is given twice

    def result(self, x):
        """The slot of a result."""
        if not isinstance(x, NDArray):
            return x
        proxy = self._proxy(x)
        value = self._values[id(proxy._data)]
        entry = proxy._entry
        key = value, (id(entry[0]), entry[1]) if type(entry) is tuple else id(entry)
        if key not in self._outputs:
            slot = Slot(len(self.graph.outputs))
            slot.same = entry is self._leaves.get(id(proxy)) and value.source is None
            self._outputs[key] = slot, proxy
            self.graph.outputs.append(value)
        return self._outputs[key][0]

    def finish(self) -> None:
        """Notes what was written to arrays from outside."""
        for proxy, origin in self._entered:
            value = self._values[id(proxy._data)]
            if value is not origin:
                self.graph.writes.append((origin, value))

    def differentiate(self) -> None:
        """Adds the backward part, for one output gradient per output that autograd tracks."""
        graph, self._backward = self.graph, True
        dys, outputs = [], []
        for k, proxy in self._outputs.values():
            if type(proxy._entry) is not tuple:
                continue
            dy = type(proxy)._wrap(storage.meta_like(proxy._data), proxy._ctx)
            entry = Value(dy._data, dy._ctx, type(dy), OUTPUT_GRADIENT, k)
            self._values[id(dy._data)] = entry
            graph.dys.append(entry)
            dys.append(dy)
            outputs.append(proxy)
        sums = backward.run(outputs, dys, False, True, create_graph=False)
        for proxy, origin in self._entered:
            leaf = self._leaves.get(id(proxy))
            if leaf is not None and id(leaf) in sums.reached:
                found = sums.leaves.get(id(leaf))
                graph.tracked.append(origin)
                graph.gradients.append(None if found is None else self._values[id(self._proxy(found[1])._data)])

    # ------------------------------------------------------------------

    def _proxy(self, x: NDArray) -> NDArray:
        """The traced array of an array: itself where it is one."""
        if x.stype != "default":
            raise Untraceable("an array is sparse")
        if id(x._data) in self._values:
            return x
        proxy = self._proxies.get(id(x))
        if proxy is None:
            held = self._held(x)
            proxy = self._proxies[id(x)] = self._enter(x, HELD, self.graph.held)
            self.graph.arrays.append(held)
        return proxy

    def _held(self, x: NDArray) -> NDArray:
        """What is held for an array from outside."""
        if x._data.is_meta and not give_values(x):
            raise MXNetError(
                "an array that stands for no values is used: a block kept it in an attribute when it was traced, and it "
                "depends on what the block was given then. Give such arrays back as results and take them as inputs, or "
                "call hybridize(active=False)"
            )
        # Of a parameter that was looked at in another way (detach, as_np_ndarray) the parameter itself is held: its
        # memory may move.
        return self._parameters.get(id(x._data), x)

    def _enter(self, x: NDArray, role: str, into: list[Value], shapes: Sequence = ()) -> NDArray:
        """Makes the traced array for one from outside."""
        tensor = storage.meta_like(x._data)
        if shapes:
            tensor = symbolic.with_extents(tensor, shapes[len(into)])
        proxy = type(x)._wrap(tensor, x._ctx)
        self.made.append(weakref.ref(proxy))
        value = Value(proxy._data, x._ctx, type(x), role, len(into))
        into.append(value)
        self._values[id(proxy._data)] = value
        self._given[id(x)] = x
        self._entered.append((proxy, value))
        self._ctx = self._ctx or x._ctx
        if state.recording and autograd.is_tracked(x):
            # Parameters keep their own mark, by which rules of users' functions know them too.
            own = role == HELD and type(x._entry) is autograd.Leaf
            proxy._entry = x._entry if own else autograd.Leaf(None, "write")
            self._leaves[id(proxy)] = proxy._entry
        return proxy

    def _made(self, thing, ctx, kind, node: Node, index: int, opaque: bool = False) -> Value:
        value = Value(thing, ctx, kind, NODE, index, node, opaque)
        self._values[id(thing)] = value
        if not opaque:
            thing.traced = value  # for arrays that blocks keep
        return value


class _BodyTracer(Tracer):
    """Takes down one step of a loop; what it reads of the trace around it, and of arrays outside, its graph holds."""

    def __init__(self, around: Tracer):
        super().__init__(whole=around.whole)
        self._unreadable, self._parameters = around._unreadable, around._parameters
        self._given.update(around._given)

    def element(self, x: NDArray, shape: tuple, tracked: bool) -> NDArray:
        """What stands for a slice or a state in the step."""
        x = type(x)._wrap(storage.meta(shape, x.dtype), x._ctx)
        if state.recording and tracked and x._data.is_floating_point():
            x._entry = autograd.Leaf(None, "write")
        return self.argument(x)

    def own(self, x: NDArray) -> NDArray:
        """A result that the step makes itself."""
        x = self._proxy(x)
        return F.identity(x) if self._values[id(x._data)].source is None else x

    def _held(self, x: NDArray) -> NDArray:
        return x


def _alike(arrays: Sequence[NDArray], others: Sequence[NDArray]) -> bool:
    """Whether two lists are of arrays of the same shapes and dtypes."""
    return [(a.shape, a.dtype) for a in arrays] == [(b.shape, b.dtype) for b in others]


def mapped(values, function):
    """Nested lists and tuples with the function applied to what they hold."""
    kind = list if isinstance(values, list) else tuple
    return kind(mapped(v, function) if isinstance(v, (list, tuple)) else function(v) for v in values)


def _opaque(value) -> bool:
    """Whether an attribute may be what a kernel keeps for its gradient."""
    return isinstance(value, (list, tuple, dict)) or storage.is_tensor(value)


# Methods of arrays that read values: whoever calls them is the reader.
_READERS = ("core/ndarray/ndarray.py", "core/numpy/multiarray.py", "core/storage.py", "core/graph/trace.py")


def _line_of_user() -> str | None:
    """File, line and text of the code that reads a value; None where one of our own functions does."""
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        name = frame.f_code.co_filename.replace("\\", "/")
        if name.endswith(_READERS):
            continue
        if frame.f_globals.get("__name__", "").split(".")[0] == "core":
            return None
        text = linecache.getline(frame.f_code.co_filename, line).strip()
        return f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}: {text}"
    return None
