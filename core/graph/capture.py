"""CUDA graphs: what a plan computes again and again for the same shapes is handed to the GPU as a whole.

A launch of a kernel costs several microseconds of the CPU, a replay of a captured graph costs one launch for all of
them. A plan decides by itself: a set of shapes that came `WARM_UP` times is captured, the plan's parts apart. Memory
for all captures together is limited to a share of the device's (the environment variable `MXNET_CUDA_GRAPH_SHARE`,
default 0.5; with 0 nothing is captured); where it is used up, those that were not replayed for the longest time go.

A graph's kernels read and write fixed addresses. Its first ones fetch inputs and output gradients, and others write
results and gradients to where the caller finds them: memory that is new with each call, or a parameter's own gradient.
Where that is they read from a table, as they read random keys; writing the table is all that a call does besides the
replay. So results belong to the caller for as long as he likes, and nothing is copied around a replay. Handing out the
graph's own results instead would need as many captures as calls whose results are still referenced.

What a forward part saves for the backward part stays where it is. It is lent to the tape, and until it is back (the
backward part has run, or the tape is gone) calls of that plan run kernel by kernel, in memory of their own. Hence the
captures of a training plan can share memory for what they compute on the way, and so can those of all predictions.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence

from core import kernels, storage
from core.base import MXNetError
from core.graph.ir import Draw, Graph
from core.graph.plan import Part, Step
from core.graph.versions import values_changed

WARM_UP = 4  # calls before a set of shapes is captured; kernels are loaded and tuned in them
PROMISED = 2  # the same where static_alloc and static_shape promise that it comes again; the last is like a replay
MOVES = 4  # times that arrays may move before a plan is run kernel by kernel
LIMIT = 256  # sets of shapes that one plan counts
SHARE = "MXNET_CUDA_GRAPH_SHARE"


def considered(graph: Graph) -> bool:
    """Whether a plan may be captured if nothing speaks against it: it computes on a GPU, and memory is allowed."""
    values = (*graph.inputs, *graph.held, *graph.outputs)
    return bool(graph.outputs) and any(v.ctx.device_type == "gpu" for v in values) and _share() > 0


def obstacle(graph: Graph, parts: Sequence[Part]) -> str:
    """Why a plan cannot be captured, as far as that is known before it is tried; empty where it can."""
    if any(v.ctx.device_type != "gpu" for v in (*graph.inputs, *graph.held, *graph.outputs)):
        return "some of its arrays are not on the GPU"
    for step in (step for part in parts for step in part.steps):
        for call in step.called:
            if call.full_name in kernels.ON_CPU_ONLY:
                return f"{step.node.op.name} computes {call.name} on the CPU"
            if call.full_name in kernels.WAITING:
                return f"{step.node.op.name} reads a value back in {call.name}"
        if not _reads_keys(step):
            return f"{step.node.op.name} computes with its random key in Python"
    return ""


def _reads_keys(step: Step) -> bool:
    """Whether a step takes its random key, if it has one, from memory as well: it does where kernels alone get it."""
    if not any(isinstance(a, Draw) for a in (*step.arguments, *step.keywords.values())):
        return True
    if not step.node.op.draws(step.node.attrs):
        return True
    given = [key for call in step.called if (key := call.key) is not None]
    return bool(given) and all(isinstance(key, Draw) for key in given)


def _share() -> float:
    """The share of a device's memory that all captures together may take."""
    text = os.environ.get(SHARE, "") or "0.5"
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise MXNetError(f"the environment variable {SHARE} is {text!r}; a number from 0 to 1 is expected")
    return share


class Saved(list):
    """What a forward part leaves for the backward part of the same shapes.

    forward: the capture in whose memory it lies, None where it has its own; back: whether a replay may write there.
    """

    def __init__(self, values: Sequence, shapes: _Shapes, forward: _Forward | None = None):
        super().__init__(values)
        self.shapes, self.forward, self.back = shapes, forward, forward is None


class Captured:
    """Stands for the functions of a plan's parts: captures both for shapes that come often, and replays them then.

    promised: whether the user said that shapes come again. decline: is called with the reason where a plan is not
    captured.
    """

    def __init__(
        self, graph: Graph, forward: Part, backward: Part | None = None, promised: bool = False,
        decline: Callable[[str], None] = lambda reason: None,
    ):  # fmt: skip
        self._run, self._run_backward = forward.run, backward and backward.run
        self.reason = obstacle(graph, [part for part in (forward, backward) if part is not None])
        self._decline, self._warm_up, self._calls = decline, PROMISED if promised else WARM_UP, 0
        self._ctx, self._by_shape = graph.outputs[0].ctx, graph.space is not None
        self._writes = bool(graph.writes) or any(node.effect for node in graph.nodes)
        self._pool = _predictions(self._ctx) if backward is None else storage.GraphPool()
        self._shapes: dict[tuple, _Shapes] = {}
        self._held: list = []  # of the captures, so that no other tensor takes their addresses
        self._places: list[int] | None = None
        self._prepared: tuple = ()
        self._latest: tuple | None = None
        self._moves = 0
        self._lent: Callable[[], Saved | None] = lambda: None

    def forward(self, inputs: list, held: list, prepared: tuple, keys: list) -> tuple:
        """The function of the forward part."""
        self._calls += 1
        if self.reason:
            if self._calls == self._warm_up:
                self._decline(self.reason)
            return self._run(inputs, held, prepared, keys)
        shapes = self._count(inputs)
        lent = self._lent()
        if shapes.calls < self._warm_up << shapes.evictions or (lent is not None and not lent.back):
            return self._uncaptured(shapes, inputs, held, prepared, keys)
        with _budget.lock:
            if not self._stays(held):
                return self._run(inputs, held, prepared, keys)
            rehearsal = shapes.forward is None
            if rehearsal:
                shapes.forward = _Forward(self._run, inputs, keys, shapes.results, self._ctx)
            forward = shapes.forward
            results = [storage.empty_in(layout) for layout in shapes.results]
            sources = forward.set(keys, inputs, results)
            if rehearsal:
                return tuple(results), Saved(forward.compute(held, prepared), shapes)
            if forward.replay is None and not self._capture_forward(shapes, held, prepared):
                return self._run(inputs, held, prepared, keys)
            if prepared is not self._latest:
                _copy(prepared, self._prepared)
                self._latest = prepared
            _budget.use(shapes)
            forward.replay()
            del sources
        if self._writes:
            values_changed()
        saved = Saved(forward.kept, shapes, forward)
        self._lent = weakref.ref(saved)
        return tuple(results), saved

    def backward(self, saved: list, dys: list, keys: list[int], found: list, store: Callable) -> None:
        """The function of the backward part, of which a replay reads what the last replay of the forward part left.

        store.target(k) may name a tensor that the k-th gradient can be written to at once.
        """
        shapes = saved.shapes if type(saved) is Saved and not self.reason else None
        if shapes is None:
            self._run_backward(saved, dys, keys, found, store)
        else:
            shapes.backward_calls += 1
            with _budget.lock:
                self._backward(shapes, saved, dys, keys, found, store)
        if type(saved) is Saved:
            saved.back = True

    def describe(self) -> str:
        """For people: whether the plan is captured, and if not why."""
        if self.reason:
            return f"not captured as a CUDA graph: {self.reason}"
        captured = [s for s in self._shapes.values() if s.forward is not None and s.forward.replay is not None]
        if not captured:
            return f"captured as a CUDA graph once shapes came {self._warm_up} times"
        return (
            f"captured as a CUDA graph for {len(captured)} of {len(self._shapes)} sets of shapes, "
            f"{sum(s.nbytes for s in captured)} bytes"
        )

    def _count(self, inputs: list) -> _Shapes:
        key = tuple([t.shape for t in inputs]) if self._by_shape else ()
        shapes = self._shapes.get(key)
        if shapes is None:
            if len(self._shapes) >= LIMIT:
                self._shapes.pop(next(iter(self._shapes)))
            shapes = self._shapes[key] = _Shapes(self._ctx)
        shapes.calls += 1
        return shapes

    def _uncaptured(self, shapes: _Shapes, inputs: list, held: list, prepared: tuple, keys: list) -> tuple:
        """Runs the forward part kernel by kernel, and learns how its results lie in memory."""
        results, saved = self._run(inputs, held, prepared, keys)
        if shapes.results is None:
            shapes.results = [storage.layout(storage.dense(t)) for t in results]
        return results, Saved(saved, shapes)

    def _stays(self, held: list) -> bool:
        """Whether the plan is to be captured further: not where its arrays moved too often. What was captured of
        arrays that have moved goes.
        """
        places = [t.data_ptr() for t in held]
        if self._places is not None and places != self._places:
            self._moves += 1
            self._release()
            if self._moves > MOVES:
                self._refuse("the arrays that it reads keep moving in memory")
                return False
        return True

    def _capture_forward(self, shapes: _Shapes, held: list, prepared: tuple) -> bool:
        if self._places is None:
            self._held, self._places = list(held), [t.data_ptr() for t in held]
        if self._latest is None:
            self._prepared = self._latest = prepared
        forward = shapes.forward
        return self._capture(shapes, forward, lambda: forward.compute(self._held, self._prepared))

    def _backward(self, shapes: _Shapes, saved: Saved, dys: list, keys: list, found: list, store: Callable) -> None:
        """The backward part for shapes that are counted, kernel by kernel or as a replay."""
        if shapes.gradients is None:
            shapes.gradients, shapes.stored = [None] * len(found), []

            def note(k):
                shapes.gradients[k] = storage.layout(storage.dense(found[k]))
                shapes.stored.append(k)
                store(k)

            self._run_backward(saved, dys, keys, found, note)
            for k, gradient in enumerate(found):
                if gradient is not None:
                    shapes.gradients[k] = storage.layout(storage.dense(gradient))
            return
        rehearsal = shapes.backward is None
        if rehearsal:
            shapes.backward = _Backward(self._run_backward, dys, keys, shapes.gradients, self._ctx)
        backward = shapes.backward
        if not rehearsal and (saved.forward is None or saved.forward is not shapes.forward):
            self._run_backward(saved, dys, keys, found, store)
            return
        kept, gradients = shapes.forward.kept if shapes.forward else [], backward.places(store)
        sources = backward.set(keys, dys, gradients)
        if rehearsal:
            backward.compute(saved)
        elif backward.replay is None and not self._capture(shapes, backward, lambda: backward.compute([*kept])):
            self._run_backward(saved, dys, keys, found, store)
            return
        else:
            backward.replay()
        del sources
        saved.clear()
        dys.clear()
        for k in range(len(found)):
            found[k], gradients[k] = gradients[k], None
        for k in shapes.stored:
            store(k)

    def _capture(self, shapes: _Shapes, part: _Replayed, compute: Callable) -> bool:
        """Captures a part; whether that could be done. Where it is refused nothing is tried again."""
        try:
            part.replay, part.kept, nbytes = storage.capture(compute, self._pool)
        except RuntimeError as error:
            self._refuse(str(error).splitlines()[0])
            return False
        needs = _budget.admit(shapes, nbytes)
        if needs:
            self._refuse(needs)
        return not needs

    def _refuse(self, reason: str) -> None:
        self.reason = reason
        self._release()
        self._decline(reason)

    def _release(self) -> None:
        for shapes in self._shapes.values():
            shapes.release()
        self._held, self._places = [], None


class _Shapes:
    """A set of shapes that a plan was called with: how often, what was captured for it, and how much memory that keeps.

    results, gradients: layouts of what the parts give; stored: numbers of the gradients that are handed over at once.
    """

    def __init__(self, ctx):
        self.ctx, self.calls, self.backward_calls, self.used, self.evictions = ctx, 0, 0, 0, 0
        self.results: list | None = None
        self.gradients: list | None = None
        self.stored: list[int] = []
        self.release()

    def release(self) -> None:
        """Lets the captures go; those who still read what one has left keep its memory."""
        self.forward: _Forward | None = None
        self.backward: _Backward | None = None
        self.nbytes = 0


class _Budget:
    """The captures of all plans, and how much memory they may take together."""

    def __init__(self):
        self.lock = threading.RLock()  # a table and the replay that reads it belong together
        self._all: weakref.WeakSet[_Shapes] = weakref.WeakSet()
        self._clock = itertools.count(1)

    def use(self, shapes: _Shapes) -> None:
        """Notes that a capture is replayed."""
        shapes.used = next(self._clock)

    def admit(self, shapes: _Shapes, nbytes: int) -> str:
        """Counts what a capture took, and lets others go where that is too much; why not even that would do."""
        limit = _share() * storage.gpu_memory(shapes.ctx.device_id)[1]
        shapes.nbytes += nbytes
        if shapes.nbytes > limit:
            return f"it would keep {shapes.nbytes} bytes, and {SHARE} allows {limit:.0f} for all captures together"
        self.use(shapes)
        self._all.add(shapes)
        living = sorted((s for s in self._all if s.ctx == shapes.ctx), key=lambda s: s.used)
        total = sum(s.nbytes for s in living)
        for oldest in living[:-1]:
            if total <= limit:
                break
            total -= oldest.nbytes
            oldest.release()
            oldest.calls, oldest.evictions = 0, oldest.evictions + 1
        return ""


_budget = _Budget()


@functools.cache
def _predictions(ctx) -> storage.GraphPool:
    """Memory of all captured predictions on a device, of which nothing is read after the replay."""
    return storage.GraphPool()


class _Replayed:
    """A part of a plan between memory of its own and places that it reads from a table: keys, inputs, results.

    layouts: of the results, None for those that do not come. compute: what is captured, and run kernel by kernel once
    before: a rehearsal, in which the same kernels are launched with the same kinds of arguments.
    """

    def __init__(self, run: Callable, inputs: list, keys: list, layouts: list, ctx):
        self._run, self._layouts = run, layouts
        self._inputs = [storage.copy_to(t) for t in inputs]
        self._table = storage.zeros((len(keys) + len(inputs) + len(layouts), 2), "int64", ctx)
        places = [self._table[k, :1] for k in range(len(self._table))]  # 16 bytes apart, as Triton likes its pointers
        self._keys, self._sources = places[: len(keys)], places[len(keys) : len(keys) + len(inputs)]
        self._targets = places[len(keys) + len(inputs) :]
        self.replay: Callable | None = None
        self.kept: list = []

    def set(self, keys: list, inputs: list, targets: list) -> list:
        """Fills the table for a call; gives what must live until the kernels that read it are on their way."""
        sources = [t if _lies_as(t, own) else storage.copy_to(t) for t, own in zip(inputs, self._inputs, strict=True)]
        places = [0 if t is None else t.data_ptr() for t in (*sources, *targets)]
        if keys or places:
            storage.write(self._table, [[number, 0] for number in (*keys, *places)])
        return sources

    def _fetch(self) -> None:
        for own, source in zip(self._inputs, self._sources, strict=True):
            kernels.copies.at_address_(own, source, False)

    def _deliver(self, k: int, result) -> None:
        kernels.copies.at_address_(storage.dense(result), self._targets[k], True)


class _Forward(_Replayed):
    """The forward part; what its capture keeps is what the backward part reads."""

    def compute(self, held: list, prepared: tuple) -> list:
        """Computes the results from what the table names; gives what is saved."""
        self._fetch()
        results, saved = self._run(self._inputs, held, prepared, self._keys)
        for k, result in enumerate(results):
            self._deliver(k, result)
        return saved


class _Backward(_Replayed):
    """The backward part; its inputs are the gradients of the outputs."""

    def compute(self, saved: list) -> None:
        """Computes the gradients from what the table names."""
        self._fetch()
        found: list = [None] * len(self._layouts)

        def deliver(k):
            self._deliver(k, found[k])
            found[k] = None

        self._run(saved, list(self._inputs), self._keys, found, deliver)
        for k, gradient in enumerate(found):
            if gradient is not None:
                deliver(k)

    def places(self, store: Callable) -> list:
        """Where gradients go: to the parameters' own where these may be overwritten, or to new memory."""
        own = [None if layout is None else store.target(k) for k, layout in enumerate(self._layouts)]
        users = collections.Counter(t.data_ptr() for t in own if t is not None)
        for k, (target, layout) in enumerate(zip(own, self._layouts, strict=True)):
            fits = target is not None and storage.layout(target) == layout
            if layout is not None and not (fits and target.data_ptr() % 16 == 0 and users[target.data_ptr()] == 1):
                own[k] = storage.empty_in(layout)
        return own


def _lies_as(tensor, own) -> bool:
    """Whether the elements of a tensor lie as those of another one, so that their bytes can be copied."""
    same = tensor.stride() == own.stride() or (tensor.is_contiguous() and own.is_contiguous())
    return same and tensor.data_ptr() % 16 == 0


def _copy(sources: Sequence, targets: Sequence) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def warn(reason: str) -> None:
    """Says that a block is not captured."""
    warnings.warn(
        f"a hybridized block is not captured as a CUDA graph and runs kernel by kernel: {reason}", stacklevel=2
    )
