"""CUDA graphs: a plan that computes the same from the same places again and again is handed to the GPU as a whole.

A launch of a kernel costs several microseconds of the CPU, a replay of a captured graph costs one launch for all of
them. Its kernels read and write fixed addresses: inputs, head gradients and random keys are copied to buffers of their
own before, results and gradients are copied from theirs after a replay, and where a parameter has moved the graph is
captured anew.

What a forward part leaves for the backward part stays where it is. It is lent to the tape, and until it is back (the
backward part has run, or the tape is gone) calls of the forward part run kernel by kernel, in memory of their own.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence

from core import storage
from core.graph.changes import values_changed
from core.graph.ir import Draw, Graph
from core.graph.plan import Part, Step

WARM = 2  # calls before the capture: autotuning and loading of kernels happen in them, the last is like a capture
MOST = 4  # captures after which a plan whose arrays keep moving is run kernel by kernel


def capturable(graph: Graph, parts: list[Part], flags: dict) -> bool:
    """Whether a plan may be captured: on a GPU, with static_alloc and static_shape, if kernels read all its keys."""
    on_gpu = bool(graph.outputs) and all(
        v.ctx.device_type == "gpu" for v in (*graph.inputs, *graph.held, *graph.outputs)
    )
    wanted = flags.get("static_alloc") and flags.get("static_shape") and graph.space is None
    return bool(on_gpu and wanted) and all(_reads_keys(step) for part in parts for step in part.steps)


def _reads_keys(step: Step) -> bool:
    """Whether a step takes its random key, if it has one, from memory as well: one that computes with it does not."""
    if not any(isinstance(a, Draw) for a in (*step.arguments, *step.keywords.values())):
        return True
    return not step.node.op.draws(step.node.attrs) or step.kernel.startswith(("random.", "attention."))


class Lent(list):
    """What a replay left for the backward part, in memory that the next replay writes to; `back` when it may do so."""

    back = False


class Captured:
    """Stands for the functions of a plan's parts: captures each after some calls, and replays it from then on.

    What cannot be captured (a step that waits for the GPU, or computes on the CPU) is told of once and run as before.
    """

    def __init__(self, graph: Graph, forward: Part, backward: Part | None = None):
        self._run, self._run_backward = forward.run, backward and backward.run
        self._keys = _Keys(graph)
        self._writes = bool(graph.writes) or any(node.effect for node in graph.nodes)
        self._calls, self._backward_calls, self._captures = 0, 0, 0
        self._there: _Forward | None = None
        self._lent: Callable[[], Lent | None] = lambda: None

    def forward(self, inputs: list, held: list, prepared: tuple, keys: list) -> tuple:
        """The function of the forward part."""
        self._calls += 1
        lent = self._lent()
        if self._calls == WARM:
            inputs, keys = [storage.copy_to(t) for t in inputs], self._keys.set(keys)
        if self._calls <= WARM or self._captures > MOST or (lent is not None and not lent.back):
            return self._run(inputs, held, prepared, keys)
        if self._there is None or self._there.places != _addresses(held):
            self._captures += 1
            self._there = self._capture(_Forward, self._run, inputs, held, prepared, self._keys)
            if self._there is None:
                return self._run(inputs, held, prepared, keys)
        self._keys.set(keys)
        results, saved = self._there(inputs, prepared)
        if self._writes:
            values_changed()
        self._lent = weakref.ref(saved)
        return results, saved

    def backward(self, saved: list, heads: list, keys: list, found: list, store: Callable) -> None:
        """The function of the backward part, of which a replay reads what the last replay of the forward part left."""
        self._backward_calls += 1
        if self._backward_calls == WARM:
            heads[:], keys = [storage.copy_to(t) for t in heads], self._keys.set(keys)
        there = self._there if self._backward_calls > WARM and saved is self._lent() else None
        if there is not None and there.backward is None:
            there.backward = self._capture(_Backward, self._run_backward, saved, heads, self._keys, len(found), there)
        if there is None or there.backward is None:
            self._run_backward(saved, heads, keys, found, store)
        else:
            self._keys.set(keys)
            there.backward(heads, found, store)
            saved.clear()
            heads.clear()
        if type(saved) is Lent:
            saved.back = True

    def _capture(self, kind: type, *arguments):
        """The part as it was captured; None where that is refused, and then nothing is tried again."""
        try:
            return kind(*arguments)
        except RuntimeError as error:
            self._captures = MOST + 1
            warnings.warn(
                "a hybridized block is not captured as a CUDA graph and runs kernel by kernel: "
                f"{str(error).splitlines()[0]}",
                stacklevel=2,
            )
            return None


class _Forward:
    """A captured forward part. `places`: of the held arrays; `pool`: its memory; `backward`: the part that follows."""

    def __init__(self, run: Callable, inputs: list, held: list, prepared: tuple, keys: _Keys):
        self._inputs, self._prepared = [storage.copy_to(t) for t in inputs], prepared
        self._latest = prepared
        self._held = held  # so that no other tensor takes their addresses
        self.places, self.backward = _addresses(held), None
        places = keys.places()
        self._replay, self.pool, (self._results, self._saved) = storage.capture(
            lambda: run(self._inputs, held, prepared, places)
        )

    def __call__(self, inputs: list, prepared: tuple) -> tuple:
        _copy(inputs, self._inputs)
        if prepared is not self._latest:
            _copy(prepared, self._prepared)
            self._latest = prepared
        self._replay()
        return tuple(storage.copy_to(t) for t in self._results), Lent(self._saved)


class _Backward:
    """A captured backward part, in the memory that the forward part before it is done with."""

    def __init__(self, run: Callable, saved: list, heads: list, keys: _Keys, count: int, after: _Forward):
        self._heads = [storage.copy_to(t) for t in heads]
        self._gradients, self._stored = [None] * count, []
        places = keys.places()
        self._replay, _, _ = storage.capture(
            lambda: run(list(saved), list(self._heads), places, self._gradients, self._stored.append), after.pool
        )

    def __call__(self, heads: list, found: list, store: Callable) -> None:
        _copy(heads, self._heads)
        self._replay()
        for k in self._stored:
            found[k] = storage.copy_to(self._gradients[k])
            store(k)
        for k, gradient in enumerate(self._gradients):
            if gradient is not None and k not in self._stored:
                found[k] = storage.copy_to(gradient)


class _Keys:
    """The random keys of a plan in memory, where captured kernels find those of the call."""

    def __init__(self, graph: Graph):
        self._count, self._ctx, self._memory = len(graph.draws), graph.outputs[0].ctx, None

    def places(self) -> list:
        """A tensor of one element for each key, 16 bytes apart as Triton likes its pointers."""
        if self._memory is None:
            self._memory = storage.zeros((self._count, 2), "int64", self._ctx)
        return [self._memory[k, :1] for k in range(self._count)]

    def set(self, keys: list[int]) -> list:
        """Writes the first keys, without waiting for the GPU, and says where they are."""
        places = self.places()
        if keys:
            storage.write(self._memory[: len(keys)], [[key, 0] for key in keys])
        return places


def _addresses(tensors: list) -> list[int]:
    return [t.data_ptr() for t in tensors]


def _copy(sources: Sequence, targets: Sequence) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)
