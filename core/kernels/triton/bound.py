"""Plans, bound: what a plan launches follows from the layouts of what it is given, so one key serves all of its calls.

A kernel that is called by itself makes a key of its arguments, looks up the replay and calls it
(`core.kernels.triton.replay`); of a plan's step that is the greater part of its time. A plan that was called `WARM_UP`
times with a key is recorded once as a whole, as a launcher is. What is bound to that key is one function that
allocates, launches and lets go as the plan does, without anything between launches.

A plan that is captured as a CUDA graph was captured before that (`core.graph.capture`); what is bound are the others:
several calls before the first gradient, shapes beyond the memory for captures, networks that cannot be captured.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence

from core.kernels.triton import replay
from core.kernels.triton._kernel import unrecorded
from core.kernels.triton._recording import Recording

WARM_UP = 6  # calls of a key before it is bound
MOST = 256  # keys of one plan; beyond, all are dropped


def bound(function: Callable, calls: Sequence[str], given: Callable[..., tuple[Sequence, Sequence]]) -> Callable:
    """`function`, bound for keys that come often.

    It takes tensors, lists of them, random keys (a list named `keys`), and functions of a number, which it calls for
    what they do. Lists it may clear, or put tensors into.

    calls: the global names under which it calls kernels. given: of its arguments, what the layouts of all that it
    computes follow from (tensors, None, lengths, random keys, which may be other ones each time), and further tensors,
    of which all but the address is known to stay.
    """
    memos = {name: replay.memo_of(function.__globals__[name]) for name in calls}
    known = {name: memo.function for name, memo in memos.items() if memo is not None}
    return _Bound(function, known, given).call if known else function


class _Bound:
    """A plan and what it is bound to, by key. launchers: what its kernels do when nothing is remembered, by name."""

    def __init__(self, function: Callable, launchers: dict[str, Callable], given: Callable):
        self._function, self._given = function, given
        self._plain = types.FunctionType(function.__code__, {**function.__globals__, **launchers})
        self._names = list(inspect.signature(function).parameters)
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
        return self._record(key, args)

    def _record(self, key: tuple, args: tuple):
        """The call, in which what is bound to the key is found."""
        watch = Recording(self._names, args, lambda name, value: name == "keys" and type(value) is int)
        given = [_stand_in(watch, *each) for each in zip(self._names, args, watch.values, strict=True)]
        watch.values.clear()  # the plan lets go of what it takes out of lists
        result = watch.run(lambda _: self._plain(*given), lambda: self._function(*args))
        if not watch.provisional:
            self._known[key] = watch.replay(result, self._function) or self._function
        return result

    def forget(self) -> None:
        self._known.clear()
        self._seen.clear()


def _stand_in(watch: Recording, name: str, value, seen):
    """What the plan gets for an argument in the call that is recorded, in which it is `seen` as that."""
    if isinstance(value, list):
        return _List(watch, name, value, seen)
    return functools.partial(_call, watch, name, value) if callable(value) else seen


class _List(list):
    """A list as a recording sees it, and what is done to it: to the list itself as well."""

    def __init__(self, watch: Recording, name: str, real: list, items: list):
        super().__init__(items)
        self._watch, self._name, self._real = watch, name, real

    def clear(self) -> None:
        self._watch.changed = True
        self._watch.lines.append(f"{self._name}.clear()")
        self._real.clear()
        super().clear()

    def __setitem__(self, index, value) -> None:
        self._watch.note_item(f"{self._name}[{index}]", value)
        self._real[index] = value


def _call(watch: Recording, name: str, function: Callable, index: int) -> None:
    """Calls a function for what it does, which is no part of the plan."""
    watch.lines.append(f"{name}({index})")
    with unrecorded():
        function(index)
