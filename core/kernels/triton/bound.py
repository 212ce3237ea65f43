"""Plans, bound: what a plan launches follows from the layouts of what it is given, so one key serves all of its calls.

A kernel that is called by itself makes a key of its arguments, looks up the replay and calls it
(`core.kernels.triton.replay`); of a plan's step that is the greater part of its time. A plan that was called `WARM_UP`
times with a key is watched once: which replay does each of its calls find? The plan bound to that key is the same code
with those in place of the kernels.

A plan that is captured as a CUDA graph was captured before that (`core.graph.capture`); what is bound are the others:
several calls before the first gradient, shapes beyond the memory for captures, networks that cannot be captured.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence

from core.kernels.triton import replay

WARM_UP = 6  # calls of a key before it is bound
MOST = 256  # keys of one plan; beyond, all are dropped


def bound(function: Callable, calls: Sequence[str], given: Callable[..., tuple[Sequence, Sequence]]) -> Callable:
    """`function`, bound for keys that come often.

    calls: the global names under which it calls kernels, each of them in one line that runs once. given: of its
    arguments, what the layouts of all that it computes follow from (tensors, None, lengths, random keys, which may be
    other ones each time), and further tensors, of which all but the address is known to stay.
    """
    known = [name for name in calls if replay.memo_of(function.__globals__[name]) is not None]
    return _Bound(function, known, given).call if known else function


class _Bound:
    """A plan and what it is bound to, by key."""

    def __init__(self, function: Callable, calls: Sequence[str], given: Callable):
        self._function, self._given = function, given
        self._calls = {name: function.__globals__[name] for name in calls}
        self._known: dict[tuple, Callable] = {}
        self._seen: dict[tuple, int] = {}
        replay.memories.add(self)

    def call(self, *args):
        values, tensors = self._given(*args)
        key = tuple([replay.part(v, type(v) is int) for v in values]), tuple([t.data_ptr() & 15 for t in tensors])
        known = self._known.get(key)
        if known is not None:
            return known(*args)
        came = self._seen[key] = self._seen.get(key, 0) + 1
        if came < WARM_UP:
            if len(self._seen) > MOST:
                self.forget()
            return self._function(*args)
        found: dict[str, Callable | None] = {}
        result = self._with({name: _watched(name, call, found) for name, call in self._calls.items()})(*args)
        if None not in found.values():
            self._known[key] = self._with(found)
        return result

    def _with(self, functions: dict) -> Callable:
        """The plan with other functions behind the names of its kernels."""
        return types.FunctionType(self._function.__code__, {**self._function.__globals__, **functions})

    def forget(self) -> None:
        self._known.clear()
        self._seen.clear()


def _watched(name: str, function: Callable, found: dict[str, Callable | None]) -> Callable:
    """Stands for a kernel in the call in which a plan is bound."""

    def call(*args, **kwargs):
        found[name] = replay.memo_of(function).replay_of(*args, **kwargs)
        return function(*args, **kwargs)

    return call
