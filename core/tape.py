"""The tape: what is recorded of the operators that read tracked arrays, and whether this thread records.

Inside `record()` every operator that reads a tracked array puts an `Application` on the tape; these hold their parents,
so the tape lives exactly as long as the arrays that need it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence

from core import storage
from core.ops.registry import Operator


class _State(threading.local):
    def __init__(self):  # of each thread
        self.recording = self.training = False
        self.pausing = False  # whether this is a pause() inside of a record()
        self.tracer = None
        self.thread = threading.get_ident()


state = _State()
# Threads that record or trace: while none does, none has to look at its own state, which takes longer.
busy: set[int] = set()


def engage(recording: bool, tracer) -> None:
    """Sets whether this thread records, and what it traces for (None: nothing)."""
    _engage(state.__dict__, recording, tracer)


def _engage(now: dict, recording: bool, tracer) -> None:
    """`engage` for the thread whose state `now` is: to look it up takes longer than the rest."""
    now["recording"], now["tracer"] = recording, tracer
    (busy.add if recording or tracer is not None else busy.discard)(now["thread"])


class Scope:
    """Context manager (and decorator-free) that sets recording and training for a block; None leaves one alone."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None):
        self._recording, self._training = recording, training

    def __enter__(self):
        now, wanted = state.__dict__, self._recording  # of this thread, looked up once
        recording, _, pausing = self._before = now["recording"], now["training"], now["pausing"]
        if wanted is not None:
            now["pausing"] = not wanted and (recording or pausing)
            if wanted is not recording:
                _engage(now, wanted, now["tracer"])
        if self._training is not None:
            now["training"] = self._training
        return self

    def __exit__(self, *_):
        now = state.__dict__
        recording, now["training"], now["pausing"] = self._before
        if self._recording is not None and recording is not now["recording"]:
            _engage(now, recording, now["tracer"])


class untraced:
    """Scope in which operators act on arrays at once, also while a block is traced: parameters are initialised so."""

    def __enter__(self):
        self._before = state.tracer
        engage(state.recording, None)

    def __exit__(self, *_):
        engage(state.recording, self._before)


class Leaf:
    """Marks an array that gradients are wanted for."""

    __slots__ = ("__weakref__", "fresh", "grad", "hook", "released", "req", "source")

    def __init__(self, grad, req: str):
        self.grad, self.req = grad, req
        self.released: tuple | None = None  # what the gradient is to be, while a backward pass has its memory
        self.hook = None  # told of each finished gradient while backward goes on: begin(), ready(leaf), finish()
        self.source = None  # called before a gradient rule reads the array, where the tape is not to keep its values
        self.fresh = False  # whether a backward pass has written the gradient since the last update


class Application:
    """One application of an operator: what its gradient rule will read, and where its inputs came from."""

    __slots__ = (
        "attrs", "kind", "kinds", "op", "outputs", "parents", "reserve", "saved_inputs", "saved_outputs", "shapes",
    )  # fmt: skip

    @property
    def starts(self) -> bool:
        """Whether there may be gradients although none comes in."""
        return self.op.starts

    @property
    def moves(self) -> bool:
        """Whether the rule moves states, and so runs where no gradient comes in, too."""
        return self.op.moves(self.attrs)


def attach(op: Operator, attrs: dict, inputs: Sequence, outputs: Sequence, reserve=None) -> None:
    """Puts one application of `op` on the tape where some input is on it; called when recording."""
    tracked, parents = False, []
    for x in inputs:
        entry = None
        if x is not None:
            entry = x._entry
            if type(entry) is tuple and entry[0].saved_inputs is None:
                x._entry = entry = None  # see is_tracked
            if entry is not None:
                tracked = True
        parents.append(entry)
    if not tracked:
        return
    node = Application()
    node.op, node.attrs, node.kind, node.reserve, node.parents = op, attrs, type(outputs[0]), reserve, parents
    kept_inputs, kept_outputs, wants_kinds = op.kept(len(inputs))
    node.shapes = shapes = []
    for x in inputs:  # a loop: in Python 3.11 a comprehension is a call
        shapes.append(None if x is None else x._data.shape)
    node.kinds = [None if x is None else x.dtype for x in inputs] if wants_kinds else None
    node.outputs = [storage.like(o._data) for o in outputs] if op.several_outputs else [None] * len(outputs)
    node.saved_inputs, node.saved_outputs, elsewhere = {}, {}, storage.writable_elsewhere
    for i in kept_inputs:
        x, entry = inputs[i], parents[i]
        if x is not None:
            if type(entry) is Leaf and entry.source is not None:
                node.saved_inputs[i] = (None, 0, entry, type(x), x._ctx, x)
                continue
            tensor = storage.safe_to_keep(x._data) if elsewhere else x._data
            node.saved_inputs[i] = (tensor, tensor._version, entry, type(x), x._ctx, x)
    for k in kept_outputs:
        tensor = storage.safe_to_keep(outputs[k]._data) if elsewhere else outputs[k]._data
        node.saved_outputs[k] = (tensor, tensor._version, outputs[k]._ctx)
    for k, o in enumerate(outputs):
        o._entry = (node, k)


def attach_rule(op: Operator, attrs: dict, inputs: Sequence, output, rule: Callable) -> None:
    """Puts one application on the tape whose gradients `rule(output gradient)` gives: it has what it reads."""
    node = Application()
    node.op = copy.copy(op)
    node.op.rule, node.op.reads, node.op.given, node.op.formula = rule, [("dy", 0)], None, None
    node.attrs, node.kind, node.reserve, node.kinds = attrs, type(inputs[0])._dense_kind, None, None
    node.parents = [x._entry for x in inputs]
    node.shapes, node.outputs = [x.shape for x in inputs], [None]
    node.saved_inputs, node.saved_outputs = {}, {}
    output._entry = (node, 0)


def is_tracked(array) -> bool:
    """Whether gradients reach an array: no longer, where its computation was differentiated, which frees it."""
    entry = array._entry
    if type(entry) is tuple and entry[0].saved_inputs is None:
        array._entry = entry = None
    return entry is not None


def written(tensor) -> None:
    """Called after a write.

    Inside of a pause() of the recording it is meant: gradients are those at the new values, as in MXNet.
    """
    if state.pausing:
        allow_writes(tensor)


def allow_writes(tensor) -> None:
    """Lets gradients be those at what the tensor holds now, whatever it held when it was read."""
    tensor.meant = tensor._version
