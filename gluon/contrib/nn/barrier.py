"""Layers that need the batches of several contexts at once,
in programs that call a network for one context after the other.

Called from threads, one per context, the layers of all of them wait for each other. Called one after the other, by the
main thread, a call that comes to such a layer is suspended there, in a thread of its own, and gives an array that is
`Awaited`; blocks that are called with it are suspended with it. The call for the last context lets all of them go on.
Threads take turns: at any time one of them runs.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable

from core import autograd
from core.base import MXNetError
from core.context import Context, current_context
from core.ndarray import NDArray
from core.util import is_np_array, is_np_shape, np_array, np_shape
from gluon.block import block as blocks
from gluon.block.operators import leaves

TIMEOUT = 120  # seconds that a thread waits for the others


class Barrier:
    """Where the calls of a layer for `size` contexts come together."""

    def __init__(self, size: int):
        self._size = size
        self._changed = threading.Condition()
        self._round = _Round()

    def __reduce__(self):  # copies of a layer meet elsewhere
        return Barrier, (self._size,)

    def join(self, context: Context, brought, compute: Callable[[list], list]):
        """What `compute` makes for this context of a list of what all of them brought, once they are there.

        MXNetError where the others do not come.
        """
        with self._changed:
            while context in self._round.brought:  # a second call on a context belongs to the next round
                self._wait(self._round)
            current = self._round
            current.brought[context] = brought
            if len(current.brought) < self._size:
                self._wait(current)
            else:
                self._round = _Round()
                try:
                    current.results = dict(zip(current.brought, compute(list(current.brought.values()))))
                finally:
                    current.over = True
                    self._changed.notify_all()
            if context not in current.results:
                raise MXNetError(f"the layer failed for another of the {self._size} contexts")
            return current.results[context]

    def leave(self, context: Context) -> None:
        """Forgets what a context brought whose call is given up."""
        self._round.brought.pop(context, None)

    def _wait(self, current: _Round) -> None:
        queue = _thread_state.queue
        if queue is not None:
            self._changed.release()
            try:
                queue.suspend(lambda: current.over, self)
            finally:
                self._changed.acquire()
        elif not self._changed.wait_for(lambda: current.over, TIMEOUT):
            contexts = ", ".join(map(str, current.brought))
            raise MXNetError(
                f"a layer over {self._size} contexts waited {TIMEOUT} s for the others; only {contexts} called it"
            )


class _Round:
    def __init__(self):
        self.brought, self.results, self.over = {}, {}, False


class Awaited(NDArray):
    """The result of a call that was suspended; it becomes an ordinary array when the call goes on."""

    __slots__ = ()

    @property
    def _data(self):
        raise MXNetError(
            f"this array on {self._ctx} waits for the calls of the network for the other contexts: between them only "
            "blocks (layers, losses) can be applied to it. Call the network for all contexts first, or each in a "
            "thread of its own"
        )

    _entry = _data


def watch() -> None:
    """From now on calls of blocks by the main thread are looked after."""
    blocks.route = _route


def _route(call, block, args):
    """The result of call(block, *args) by the main thread in training, in a list.

    None elsewhere, and inside such a call.
    """
    if _thread_state.inside or threading.current_thread() is not threading.main_thread() or not autograd.is_training():
        return None
    arrays = [x for x in leaves(args) if isinstance(x, NDArray)]
    awaited = [x for x in arrays if isinstance(x, Awaited)]
    if not arrays or not (awaited or _has_barrier(block)):
        _thread_state.inside = True  # blocks inside are not looked through once more
        try:
            return [call(block, *args)]
        finally:
            _thread_state.inside = False
    for queue in _queues.values():
        queue.give_up_if_forgotten()
    context = (awaited or arrays)[0]._ctx
    queue = _queues.setdefault(context, _Queue(context))
    call = _Call(functools.partial(call, block), args)
    queue.calls.append(call)
    while any([queue.go_on() for queue in _queues.values()]):
        pass
    if call.error is not None:
        raise call.error
    if call.over:
        return [call.result]
    result = Awaited.__new__(Awaited)
    result._ctx = context
    call.awaited = weakref.ref(result)
    return [result]


def _has_barrier(block) -> bool:
    return getattr(block, "_barrier", None) is not None or any(map(_has_barrier, block._children.values()))


class _Call:
    """A call of a block, with the circumstances in which it was made."""

    def __init__(self, function, args):
        self._function, self._args = function, args
        self._circumstances = autograd.is_recording(), is_np_shape(), is_np_array(), current_context()
        self.over, self.result, self.error, self.awaited = False, None, None, lambda: None

    def run(self) -> None:
        recording, shape, array, context = self._circumstances
        try:
            with autograd.Scope(recording, True), np_shape(shape), np_array(array), context:
                self.result = self._function(*self._args)
        except BaseException as error:
            self.error = error
        self.over = True
        awaited = self.awaited()
        if awaited is not None and isinstance(self.result, NDArray):
            NDArray._data.__set__(awaited, self.result._data)
            NDArray._entry.__set__(awaited, self.result._entry)
            awaited.__class__ = type(self.result)


class _Queue:
    """The calls for one context, in order; its thread runs only while the main thread waits in `go_on`."""

    def __init__(self, context: Context):
        self.context, self.calls = context, []
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._condition = self._barrier = None  # what the call that was suspended waits for
        self._given_up = False
        self._thread = None

    def go_on(self) -> bool:
        """Runs calls until one is suspended or all are over; whether there was anything to do."""
        if not self.calls or (self._condition is not None and not self._condition()):
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._turn.release()
        self._back.acquire()
        return True

    def suspend(self, condition: Callable[[], bool], barrier: Barrier) -> None:
        """Called by the thread of the queue: the main thread goes on until `condition()` holds."""
        self._condition, self._barrier = condition, barrier
        self._back.release()
        self._turn.acquire()
        self._condition = self._barrier = None
        if self._given_up:
            raise MXNetError("the call was given up")

    def give_up_if_forgotten(self) -> None:
        """Ends the calls whose result nobody has any more: the program went on without them, after an error."""
        if self._condition is not None and all(call.awaited() is None for call in self.calls):
            self._barrier.leave(self.context)
            self._given_up, self._condition = True, lambda: True
            del self.calls[1:]
            self.go_on()
            self._given_up = False

    def _work(self) -> None:
        _thread_state.queue = self
        while True:
            self._turn.acquire()
            while self.calls:
                self.calls[0].run()
                del self.calls[0]
            self._back.release()


class _ThreadState(threading.local):
    queue: _Queue | None = None  # of the calls that the thread runs
    inside = False  # a call that is looked after


_thread_state = _ThreadState()
_queues: dict[Context, _Queue] = {}
