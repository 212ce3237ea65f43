"""What a hybridized block calls: one plan for each signature of its inputs, and one node on the tape for each call."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence

from core import autograd, heap, kernels, operand_errors, random_keys, storage
from core.backward import ZERO, gradients_through, is_remade, remade, zeros_dy
from core.base import MXNetError
from core.context import current_context
from core.dtypes import dtype_name
from core.extents import evaluated, hints
from core.graph.capture import Captured, considered, warn
from core.graph.ir import HELD, INPUT, Graph, Value, written
from core.graph.passes import optimize
from core.graph.plan import Part, backward_part, early_part, forward_part, sharing_of
from core.graph.replay import run_forward
from core.graph.shape_classes import MOST, OpenShapes, ShapeClass, class_of
from core.graph.trace import ReadsValue, Slot, Traced, Untraceable, mapped, trace
from core.graph.versions import Versions, thread
from core.ndarray.ndarray import NDArray
from core.ndarray.sealed import Watch

state = autograd.state
LIMIT = 256  # plans that one block keeps; the oldest goes first
MOST_PREPARED = 2**31  # bytes of packed weights that the plans of one block keep: there is one set for each signature
PROMISED = 8  # shapes that are few, as static_shape promises
WARM_UP = 24  # calls of a network of small arrays in which a plan saves the time that it takes to make
SMALL = 2**17  # bytes that an operator writes while another one is called


class Compiled:
    """A function of arrays (nested in lists and tuples), compiled anew for each signature of its arguments.

    parameters: gives the arrays that the function may read besides; other ones than last time mean other plans. flags:
    the options of `hybridize`. otherwise(error): another function to compile in place of one that reads a value, or the
    error is raised.
    """

    def __init__(
        self, function: Callable, parameters: Callable[[], Sequence], flags: dict | None = None,
        otherwise: Callable | None = None,
    ):  # fmt: skip
        self._function, self._parameters, self.flags = function, parameters, flags or {}
        self._otherwise = otherwise
        self._plans: dict[tuple, Plan | Untraceable] = {}
        self._classes: dict[tuple, ShapeClass] = {}
        self._seen, self._arrays = -1, []
        self._example: tuple = ()
        self._met: dict[tuple, int] = {}  # how often signatures without a plan came
        self._latest: dict[tuple, Plan | Untraceable] = {}  # the last plan of each mode
        self._holding: list[Plan] = []
        self._warned = False  # that it is not captured
        self._broken = False  # the promise of static_shape, which was warned of
        self._lock = threading.RLock()

    def __call__(self, *args, variant=None):
        """The function's results; `variant` is whatever else they depend on."""
        if thread.untraced and not self._accepts(args):
            return self._function(*args)
        leaves: list[NDArray] = []
        key = (*_signature(args, leaves, state.recording), _mode(variant))
        if self._seen != Versions.arrays:
            self._look_again()
        plan = self._plans.get(key)
        if plan is None:
            plan = self._find(key, args)
        if plan is None:
            self._check(args)
            return self._run_untraced(args, waiting=True)
        if type(plan) is Untraceable:
            return self._run_untraced(args)
        return plan(leaves)

    def plan(self, *args, variant=None):
        """The plan of a call with these arguments, made if there is none yet."""
        leaves: list[NDArray] = []
        key = (*_signature(args, leaves, state.recording), _mode(variant))
        self._look_again()
        return self._plans.get(key) or self._find(key, args, at_once=True)

    def whole(self, shapes: Sequence[tuple] = ()) -> Traced:
        """The graph of a call like the last one that was compiled, in terms of the operators that it called.

        shapes: those of the arrays among its arguments, where lengths are to be open. MXNetError where it cannot be
        traced.
        """
        example = _without_memory(self._example, iter(shapes)) if shapes else self._example
        try:
            with autograd.predict_mode():
                return trace(self._function, example, False, self._parameters(), whole=True, shapes=shapes)
        except Untraceable as reason:
            raise MXNetError(f"the block has no graph that could be written to a file: {reason}") from reason

    def _find(self, key: tuple, args: tuple, at_once: bool = False):
        """The plan for a signature that was not met before; None where it is to come more often first."""
        with self._lock:
            name, shapes = class_of(key)
            known = self._classes.get(name)
            self._count_promised(name, shapes)
            plan = None if known is None else known.serving(shapes)
            if plan is None:
                opens = known is not None and not known.closed
                if not (at_once or known is None or (opens and len(known.plans) < MOST) or self._is_due(key)):
                    return None
                self._check(args)
                if opens:
                    plan = self._open(known, shapes, args)
                    if plan is None and not (at_once or self._is_due(key)):
                        return None
            if plan is None:
                self._example = _without_memory(args)
                plan = self._make(args)
                if known is None:
                    known = self._classes[name] = ShapeClass(shapes)
                    known.closed = str(plan) if type(plan) is Untraceable else ""
                self._seen, self._arrays = Versions.arrays, _marks(self._parameters())
            while len(self._plans) >= LIMIT:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = self._latest[key[-1]] = plan
            return plan

    def _is_due(self, key: tuple) -> bool:
        """Whether a signature that no plan for open lengths serves came as often as pays for a plan of its own."""
        latest = self._latest.get(key[-1])
        if latest is None or type(latest) is Untraceable or self.flags.get("static_shape"):
            return True
        came = self._met[key] = self._met.pop(key, 0) + 1
        if len(self._met) > LIMIT:
            self._met.pop(next(iter(self._met)))
        return came >= latest.warm_up

    def _count_promised(self, name: tuple, shapes: list) -> None:
        """Warns, once, where few shapes were promised and many come; each may be captured for itself, no more."""
        if not self.flags.get("static_shape") or self._broken:
            return
        met = sum(class_of(key)[0] == name for key in self._plans)
        if met >= PROMISED:
            self._broken = True
            warnings.warn(
                f"static_shape=True promises few shapes, and a block is called with the {met + 1}th: "
                f"{', '.join(map(str, shapes))}. It is run as without that flag",
                stacklevel=4,
            )

    def _open(self, known: ShapeClass, shapes: list, args: tuple) -> Plan | None:
        """A plan for these shapes and all that differ from them in what varies, or, where such a trace fails, for these
        alone; None where all of these lengths are needed as numbers.
        """
        varying = set(known.varying)
        while True:
            open_ = known.opened(shapes)
            if not open_.space.symbols:
                lines = sorted(set(known.fixed.values()))
                known.closed = f"the lengths that vary are needed as numbers by {' and '.join(lines)}"
                return None
            try:
                traced = trace(self._function, args, state.recording, self._parameters(), shapes=open_.extents)
                if traced.keeps:
                    known.closed = "the block keeps arrays of the trace"
                    return None
                if not open_.pinned():
                    open_.mark(traced.graph)
                    traced.graph.mark_parameters(self._parameters())
                    plan = Plan(traced, self.flags, self._hold, open_, self._decline)
            except (*operand_errors.KERNEL_ERRORS, AssertionError, Untraceable) as error:
                known.varying = varying
                plan = self._make(args)  # raises where the call is at fault, which says nothing of its class
                known.closed = f"{type(error).__name__}: {error}"
                return plan
            if not open_.pinned():
                break
            known.fixed.update(open_.pinned())
        self._replace(known, plan)
        return plan

    def _replace(self, known: ShapeClass, plan: Plan) -> None:
        """Enters a plan for open lengths; those that it stands for go, with the weights that they keep."""
        before = set(map(id, known.plans))
        known.add(plan)
        gone = before - set(map(id, known.plans))
        self._plans = {key: p for key, p in self._plans.items() if id(p) not in gone}
        if plan.prepared_bytes:
            self._plans = {
                key: p
                for key, p in self._plans.items()
                if not (type(p) is Plan and p.shapes is None and _served(plan, key))
            }
        self._holding = [p for p in self._holding if any(p is q for q in (*self._plans.values(), *known.plans))]

    def _run_untraced(self, args: tuple, waiting: bool = False):
        before = thread.untraced, thread.waiting
        thread.untraced, thread.waiting = True, waiting
        try:
            return self._function(*args)
        finally:
            thread.untraced, thread.waiting = before

    def _accepts(self, args: tuple) -> bool:
        """Whether these can be arguments of a compiled function.

        Within a traced one, whose part it is, anything can.
        """
        try:
            self._check(args)
        except ValueError:
            return False
        return True

    def _check(self, args: tuple) -> None:
        """ValueError unless there are arrays, None and lists of them, all of one device.

        Arguments nested otherwise than in the first call, such as states that were None, have plans of their own.
        """
        contexts: set = set()

        def note(x) -> None:
            if isinstance(x, NDArray):
                contexts.add(x._ctx)
            elif x is not None:
                raise ValueError(
                    f"a hybridized block takes arrays, None, and lists of them, given {type(x).__name__} ({x!r}); keep "
                    "other values in attributes of the block, or call hybridize(active=False)"
                )

        mapped(args, note)
        if len(contexts) != 1:
            raise ValueError(
                "a hybridized block needs arrays of one context, given "
                + (" and ".join(sorted(map(str, contexts))) or "no array at all")
            )

    def _make(self, args: tuple):
        heap.settle()
        parameters = self._parameters()
        try:
            try:
                traced = trace(self._function, args, state.recording, parameters)
            except ReadsValue as error:
                if self._otherwise is None:
                    raise
                self._function, self._otherwise = self._otherwise(error), None
                traced = trace(self._function, args, state.recording, parameters)
            if len(self._parameters()) != len(parameters):  # some have been initialised on the way: now all are known
                parameters = self._parameters()
                traced = trace(self._function, args, state.recording, parameters)
        except Untraceable as reason:
            return reason
        traced.graph.mark_parameters(parameters)
        return Plan(traced, self.flags, self._hold, decline=self._decline)

    def _hold(self, plan: Plan) -> None:
        """Notes that a plan keeps prepared weights now.

        Those that did so first let theirs go where that is too much.
        """
        with self._lock:
            self._holding = [*(p for p in self._holding if p is not plan), plan]
            while len(self._holding) > 1 and sum(p.prepared_bytes for p in self._holding) > MOST_PREPARED:
                self._holding.pop(0).forget()

    def _decline(self, reason: str) -> None:
        """Says, once, that plans of this function are not captured."""
        if not self._warned:
            self._warned = True
            warn(reason)

    def _look_again(self) -> None:
        with self._lock:
            marks = _marks(self._parameters())
            if len(marks) != len(self._arrays) or any(
                a[0] is not b[0] or a[1:] != b[1:] for a, b in zip(marks, self._arrays)
            ):
                self._plans.clear()
                self._classes.clear()
                self._latest.clear()
                self._holding.clear()
            self._seen, self._arrays = Versions.arrays, marks


class Plan:
    """A compiled trace: runs the forward part and, where gradients are wanted, leaves one node on the tape."""

    def __init__(
        self, traced: Traced, flags: dict | None = None, hold: Callable[[Plan], None] = lambda plan: None,
        shapes: OpenShapes | None = None, decline: Callable[[str], None] = warn,
    ):  # fmt: skip
        self._traced, self._hold, self.shapes = traced.graph, hold, shapes
        self.inline_limit = (flags or {}).get("inline_limit", 2)
        self.warm_up = 0 if traced.keeps else _warm_up(traced.graph)
        graph = self.graph = optimize(traced.graph)
        self._sharing = sharing_of(graph)
        self.early = early_part(graph, self._sharing) if any(node.early for node in graph.nodes) else None
        self._watched = sorted({v.index for node in graph.nodes if node.early for v in node.reads() if v.role == HELD})
        self.prepared_bytes = sum(v.nbytes for v in graph.prepared())
        self._ready: tuple = ()
        self.starts = any(node.op.starts for node in traced.graph.nodes if not node.backward)
        self.moves = any(node.op.moves(node.attrs) for node in traced.graph.nodes if not node.backward)
        self.forward = forward_part(graph, self._sharing)
        self.training = state.training
        ctx = next((v.ctx for v in (*graph.outputs, *graph.inputs)), None) or current_context()
        self.backward = backward_part(graph, self._sharing) if graph.dys else None
        promised = bool(flags and flags.get("static_alloc") and flags.get("static_shape"))
        self.captured = captured = None
        if considered(graph):
            self.captured = captured = Captured(graph, self.forward, self.backward, promised, decline)
        self._run = storage.on_device(ctx, captured.forward if captured else self.forward.run)
        self._run_early = None if self.early is None else storage.on_device(ctx, self.early.run)
        self._ctx = ctx
        self.arrays = graph.arrays
        # What is written to is taken from its array as by anybody else: that tells others who rely on it.
        parts = [[n for n in graph.nodes if n.early], [n for n in graph.nodes if not n.early]]
        early, late = ({v.index for v in written(nodes) if v.role == HELD} for nodes in parts)
        self._written_early = sorted(early)
        self._others = sorted({*range(len(self.arrays))} - {*self._watched} | late)
        self._watch, self._values = Watch([self.arrays[k] for k in self._watched]), -1
        self._results = [(v.kind, v.ctx) for v in graph.outputs]
        self._views = [k for k, v in enumerate(graph.outputs) if _looks_outside(v, self._sharing)]
        self._template = traced.template
        self._plain = self._template if type(self._template) is Slot and not self._template.same else None
        self.tracked = [(v.role == INPUT, v.index) for v in graph.tracked]
        self._dys = [dy.index for dy in graph.dys]
        self._aside = sorted({*range(len(graph.outputs))} - {*self._dys})  # no gradient comes in there
        self._run_backward = None
        if self.backward is not None:
            self._run_backward = storage.on_device(ctx, captured.backward if captured else self.backward.run)
        self._retaining: Part | None = None
        moving = written(graph.nodes)
        self.guarded = [k for k, v in enumerate(graph.saved()) if v.source is None and v not in moving]
        # Arrays of parameters among them, whose values may be made again and not kept.
        self.kept = [(k, v.index) for k, v in enumerate(graph.saved()) if v.role == HELD and v.source is None]
        self._draw_contexts = [d.ctx for d in self.forward.draws]
        self._symbols = [] if shapes is None else [symbol.text for symbol in shapes.space.symbols]
        if shapes is not None:
            shapes.close()

    def __call__(self, leaves: list[NDArray]):
        keys = [random_keys.next_key(ctx) for ctx in self._draw_contexts]
        held = self._held()
        prepared = self._prepared(held) if self.early is not None else ()
        try:
            results, saved = self._run([x._data for x in leaves], held, prepared, keys)
        except operand_errors.KERNEL_ERRORS as error:
            if isinstance(error, MXNetError):
                raise
            raise operand_errors.failure("a hybridized block", leaves, error) from error
        outputs = [kind._wrap(t, ctx) for (kind, ctx), t in zip(self._results, results)]
        for k in self._views:
            outputs[k]._data = storage.lazy_clone(outputs[k]._data)
        if self.backward is not None and state.recording:
            node = _Call(self, leaves, outputs, saved, keys)
            for k in self._dys:
                outputs[k]._entry = (node, k)
            for k in self._aside:
                outputs[k]._aside = (node, k)
        if self._plain is not None:
            return outputs[self._plain]
        return _filled(self._template, outputs, leaves, self)

    def _held(self) -> list:
        """The tensors of the arrays; what was made of those that the early part reads is let go where they changed."""
        if not self._watched:
            return [a._data for a in self.arrays]
        if self._watch.changed() or self._values != Versions.values:
            self._values, self._ready = Versions.values, ()
        held = [None] * len(self.arrays)
        for k, tensor in zip(self._watched, self._watch.tensors, strict=True):
            held[k] = tensor
        for k in self._others:
            held[k] = self.arrays[k]._data
        return held

    def _prepared(self, held: list) -> tuple:
        """What the early part gives for these held tensors."""
        ready = self._ready
        if not ready:
            for k in self._written_early:
                held[k] = self.arrays[k]._data
            ready = self._ready = self._run_early(held)
            self._watch.look()
            self._hold(self)
        return ready

    def forget(self) -> None:
        """Lets go of what the early part gave; the next call makes it anew."""
        self._ready = ()

    def gradients(self, saved: list, dys: list, keys: list[int], retain: bool, found: list, store: Callable) -> None:
        """Runs the backward part; what is saved stays as it is where the tape is to be retained.

        found: gets the gradients; store(k): called as soon as the k-th is there, may take it out."""
        keys = [*keys, *(random_keys.next_key(d.ctx) for d in self.backward.draws)]
        if not retain:
            self._run_backward(saved, dys, keys, found, store)
            return
        if self._retaining is None:
            self._retaining = backward_part(self.graph, self._sharing, retain=True)
        storage.on_device(self._ctx, self._retaining.run)(list(saved), dys, keys, found, store)

    def source_of(self, k: int, leaves: list[NDArray]) -> NDArray:
        """The array from outside that output `k` is."""
        value = self.graph.outputs[k]
        return leaves[value.index] if value.role == INPUT else self.arrays[value.index]

    def lengths(self, saved: list) -> dict[str, int]:
        """The lengths of the symbols in a call, by name, from what it saved."""
        return dict(zip(self._symbols, saved[-1], strict=True)) if self._symbols else {}

    def again(
        self, leaves: list[NDArray], keys: list[int], results: Sequence[int], lengths: dict[str, int]
    ) -> tuple[list, Callable]:
        """The tracked arrays, and the forward part as an expression of them that the tape can record;
        `results` of its outputs.
        """
        graph = self._traced
        arrays = dict(zip(graph.inputs, leaves, strict=True))
        held = [remade(array) if is_remade(array) else array for array in self.arrays]
        arrays.update(zip(graph.held, held, strict=True))

        def expression(*tracked):
            values = {**arrays, **dict(zip(graph.tracked, tracked, strict=True))}
            with random_keys.replayed(keys):
                outputs = run_forward(graph, values, lengths)
            return [outputs[k] for k in results]

        return [arrays[v] for v in graph.tracked], expression


class _Call(autograd.Application):
    """One call of a plan on the tape."""

    __slots__ = ("_keys", "_leaves", "_plan", "_remade", "_versions")

    def __init__(self, plan: Plan, leaves: list[NDArray], outputs: list[NDArray], saved: list, keys: list[int]):
        self._plan, self._leaves, self._keys = plan, leaves, keys
        self.op, self.attrs, self.kind = None, {}, None
        self.outputs = outputs = [None] * len(outputs)
        self.parents = [(leaves if given else plan.arrays)[k]._entry for given, k in plan.tracked]
        self._remade = {k: plan.arrays[index] for k, index in plan.kept if is_remade(plan.arrays[index])}
        guarded = [k for k in plan.guarded if k not in self._remade]
        if storage.writable_elsewhere:
            for k in guarded:
                saved[k] = storage.safe_to_keep(saved[k])
        self._versions = [(k, saved[k]._version) for k in guarded]
        for k in self._remade:
            saved[k] = None
        self.saved_inputs, self.saved_outputs, self.reserve = saved, None, None

    @property
    def starts(self) -> bool:
        return self._plan.starts

    @property
    def moves(self) -> bool:
        return self._plan.moves

    def apply_rule(self, dys: list, retain: bool, finish: Callable) -> list:
        """Gradients with respect to the parents, None for those that are stored or zero; called by the tape.

        finish(k, take): stores `take(k)`, the gradient of the k-th parent, if that is the whole of it; finish.target(k)
        is the tensor that it may be written to before, or None. `dys` are let go.
        """
        plan, saved = self._plan, self.saved_inputs
        if saved is None:
            raise MXNetError(
                "this computation was differentiated before and its tape is freed; pass retain_graph=True to keep it"
            )
        for k, version in self._versions:
            if saved[k]._version != version:
                raise MXNetError(
                    "an input or a parameter of a hybridized block was changed in place after it was used, but its "
                    "value is needed for the gradient; write to a copy, or outside of record() after backward()"
                )
        # What leads to outputs that nobody read starts nothing.
        came = [k for k in plan._dys if dys[k] is not None] if plan.starts else plan._dys
        lengths = plan.lengths(saved)
        given = [
            zeros_dy(v.kind, _zeros_like(v, lengths), v.ctx) if any(dys[k] is x for x in (None, ZERO)) else dys[k]
            for k, v in zip(plan._dys, plan.graph.dys)
            if k in came
        ]
        if len(came) < len(plan._dys) or state.recording or state.tracer is not None:
            inputs, expression = plan.again(self._leaves, self._keys, came, lengths)
            with autograd.Scope(None, plan.training):
                return gradients_through(expression, inputs, given, [p is not None for p in self.parents])
        found: list = [None] * len(plan.graph.tracked)

        def array(k):
            value, tensor = plan.graph.tracked[k], found[k]
            found[k] = None
            return None if tensor is None else value.kind._wrap(tensor, value.ctx)

        tensors = [h._data for h in given]
        del given
        dys.clear()
        for k, parameter in self._remade.items():
            saved[k] = remade(parameter)._data
        plan.gradients(saved, tensors, self._keys, retain, found, _Store(finish, array))
        if retain:
            for k in self._remade:
                saved[k] = None
        return [array(k) for k in range(len(found))]


class _Store:
    """Hands the k-th gradient of a call over as soon as it is there (see `Plan.gradients`)."""

    def __init__(self, finish: Callable, array: Callable):
        self._finish, self._array = finish, array

    def __call__(self, k: int) -> None:
        self._finish(k, self._array)

    def target(self, k: int):
        """The tensor that the k-th gradient may be written to at once, None where it is not known."""
        return self._finish.target(k)


def _mode(variant) -> tuple:
    """What a plan depends on besides its arguments."""
    return state.recording, state.training, kernels.forced_backend(), Versions.rules, variant


def _signature(args: Sequence, leaves: list[NDArray], recording: bool) -> list:
    """What a plan depends on; the arrays among `args` are put into `leaves`."""
    key = []
    for x in args:
        if isinstance(x, NDArray):
            leaves.append(x)
            if x.stype != "default":
                key.append((type(x),))
                continue
            data, ctx = x._data, x._ctx
            tracked = recording and autograd.is_tracked(x)
            strides = None if data.is_contiguous() else data.stride()  # they decide what is a view and what a copy
            key.append((type(x), data.shape, strides, data.dtype, ctx.device_type, ctx.device_id, tracked))
        elif isinstance(x, (list, tuple)):
            key.append((type(x), *_signature(x, leaves, recording)))
        else:  # a dictionary and its like is refused when a plan is made
            key.append((type(x), x if x.__hash__ else id(x)))
    return key


def _without_memory(args: Sequence, shapes: Iterator[tuple] | None = None):
    """The arguments with arrays that hold nothing, of the same shapes or of those of these hints."""

    def nothing(x):
        if not isinstance(x, NDArray) or x.stype != "default":
            return x
        made = storage.meta_like(x._data) if shapes is None else storage.meta(hints(next(shapes)), dtype_name(x.dtype))
        return type(x)._wrap(made, x._ctx)

    return mapped(args, nothing)


def _filled(template, outputs: list[NDArray], leaves: list[NDArray], plan: Plan):
    """The template with arrays in its slots."""

    def array(t):
        if type(t) is not Slot:
            return t
        return plan.source_of(t, leaves) if t.same else outputs[t]

    return mapped((template,), array)[0]


def _warm_up(graph: Graph) -> float:
    """Calls after which another plan like this one has paid for itself,
    which does not depend on how fast the machine is.

    A plan takes time for each node when it is made, and saves some for each node and each byte whenever it is called.
    """
    nodes = max(len(graph.nodes), 1)
    return WARM_UP * nodes / (nodes + sum(v.nbytes for node in graph.nodes for v in node.outputs) / SMALL)


def _looks_outside(output: Value, sharing) -> bool:
    """Whether a result may lie in memory of an input or a parameter, which no write of the user may reach by it."""
    return output.source is not None and any(v.source is None for v in sharing.group(output))


def _marks(arrays: Sequence[NDArray]) -> list[tuple]:
    """What plans presume about parameters; the arrays themselves are kept, so that none takes the place of another."""
    return [(a, a._data.dtype, a._data.stride(), a._entry is None) for a in arrays]


def _served(plan: Plan, key: tuple) -> bool:
    """Whether a plan for open lengths serves the arguments of this signature."""
    _, shapes = class_of(key)
    mine = plan.shapes.example
    return [len(s) for s in shapes] == [len(s) for s in mine] and plan.shapes.hold(shapes)


def _zeros_like(value: Value, lengths: dict[str, int]) -> tuple:
    return evaluated(value.shape, lengths), value.meta.dtype, storage.device(value.ctx)
