"""Worker processes that make batches for a `DataLoader`."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import multiprocessing
import os
import pickle
import random as python_random
import select
import signal
import socket
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from core import random, storage
from core.base import MXNetError
from gluon.data import arrays, shared

# How often, in seconds, a waiting process looks whether the other one still lives.
HEARTBEAT = 1.0
# How long a worker that has nothing left to do may take to end.
GRACE = 5.0
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


class WorkerError(MXNetError):
    """A worker process died, or did not answer in time."""


class WorkerPool:
    """`count` forked processes; each evaluates `make(indices)` for the tasks that it is given.

    Tasks go to the worker that has the least to do. The generators of Python, NumPy and `core.random` are seeded for
    each task from (`seed`, number of the task): what a task draws depends neither on the number of workers nor on
    who does it. Workers compute with one thread.
    """

    def __init__(self, count: int, make: Callable[[Any], Any], seed: int):
        self._seed = seed
        self._workers: list[_Worker] = []
        self._backlog: collections.deque = collections.deque()
        self._ready: dict[int, Any] = {}
        self._poll = select.poll()
        self._by_descriptor: dict[int, _Worker] = {}
        # Also runs when the pool is dropped and when the program ends.
        self._finalizer = weakref.finalize(self, _stop, self._workers, os.getpid())
        try:
            for number in range(count):
                worker = _Worker(number, make, [other.channel for other in self._workers])
                self._workers.append(worker)
                self._by_descriptor[worker.channel.fileno()] = worker
                self._poll.register(worker.channel, select.POLLIN)
        except BaseException:
            self.close()
            raise

    def submit(self, task: int, indices) -> None:
        """Queues `make(indices)` as number `task`; never waits."""
        self._backlog.append((task, indices, _seeds(self._seed, task)))
        self._feed()

    def result(self, task: int, timeout: float) -> Any:
        """What `task` gave, after at most `timeout` seconds.

        Raises what `make` raised (its cause shows the worker's traceback), and `WorkerError` when a worker died or
        the time is over; the pool is closed then.
        """
        deadline = time.monotonic() + timeout
        try:
            self._collect(0)
            while task not in self._ready:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise WorkerError(
                        f"no batch from the {len(self._workers)} workers within {timeout} s. A larger `timeout`, more "
                        "workers or a faster dataset may help; num_workers=0 shows where the time goes"
                    )
                self._collect(min(left, HEARTBEAT))
            failed, value = self._ready.pop(task)
            if failed:
                error, text = value
                raise error from WorkerTraceback(text)
        except BaseException:
            self.close()
            raise
        return value

    def finish(self) -> None:
        """Lets the idle workers end in their own time, up to `GRACE` seconds."""
        for worker in self._workers:
            worker.dismiss()
        deadline = time.monotonic() + GRACE
        for worker in self._workers:
            worker.process.join(max(0, deadline - time.monotonic()))
        self.close()

    def close(self) -> None:
        """Ends the workers at once, whatever they do."""
        self._finalizer()
        self._backlog.clear()

    def _feed(self) -> None:
        while self._backlog:
            worker = min(self._workers, key=lambda worker: len(worker.tasks))
            if not worker.take(self._backlog[0]):
                return
            self._backlog.popleft()

    def _collect(self, timeout: float) -> None:
        """Takes in what has arrived, waiting up to `timeout` seconds for the first of it."""
        events = self._poll.poll(timeout * 1000)
        for descriptor, _ in events:
            worker = self._by_descriptor[descriptor]
            try:
                task, failed, value = worker.channel.receive()
            except EOFError:
                raise WorkerError(worker.obituary()) from None
            worker.tasks.pop(task, None)
            self._ready[task] = failed, value
        if events:
            self._feed()
        elif timeout:
            for worker in self._workers:
                if not worker.process.is_alive():
                    raise WorkerError(worker.obituary())


class WorkerTraceback(Exception):
    """The traceback of a worker, as the cause of the exception that the loader raises."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class _Worker:
    """The parent's side of one process."""

    def __init__(self, number: int, make: Callable, siblings: list[shared.Channel]):
        if multiprocessing.current_process().daemon:
            raise MXNetError(
                "a DataLoader with num_workers inside of another loader's worker: these have no processes of their own. "
                "There, use num_workers=0, or thread_pool=True"
            )
        self.tasks: dict[int, Any] = {}
        self.channel, theirs = shared.pair()
        try:
            self.process = multiprocessing.get_context("fork").Process(
                target=_serve,
                args=(theirs, make, os.getpid(), [self.channel, *siblings], *orphan_rule()[1:]),
                name=f"DataLoader worker {number}",
                daemon=True,
            )
            self.process.start()
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close()

    def take(self, task: tuple) -> bool:
        """Hands a task over; False when the worker's queue is full."""
        message = self.channel.prepare(task)
        try:
            self.channel.post(message, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self.channel.discard(message)
            return False
        except (BrokenPipeError, ConnectionResetError):
            # It died; `receive` will tell. Its tasks are lost in any case.
            pass
        self.tasks[task[0]] = task[1]
        return True

    def dismiss(self) -> None:
        """Tells the worker that nothing more comes."""
        self.take((None, None, None))

    def obituary(self) -> str:
        self.process.join(HEARTBEAT)
        code = self.process.exitcode
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            how += " (by the system, if memory ran out)" if -code == signal.SIGKILL else ""
        else:
            how = f"ended with exit code {code}"
        doing = next(iter(self.tasks.values()), None)
        at = f" while it had to load the samples {_shown(doing)}" if doing is not None else ""
        return f"{self.process.name} (process {self.process.pid}) {how}{at}"


def _stop(workers: list[_Worker], owner: int) -> None:
    # A forked process inherits the pool, but not the right to end its workers.
    if os.getpid() != owner:
        return
    for worker in workers:
        worker.channel.close()
        if worker.process.is_alive():
            worker.process.terminate()
    for worker in workers:
        worker.process.join(GRACE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def orphan_rule() -> tuple[int, bool]:
    """The arguments of `end_with_parent` for a process that this thread forks."""
    return os.getpid(), threading.current_thread() is threading.main_thread()


def end_with_parent(parent: int, forked_by_main: bool) -> None:
    """Has the system kill this process when its parent ends, even where it is stuck in a sample (Linux).

    Not where another than the main thread forked it: the system looks at that thread, which may end before the process.
    """
    if sys.platform != "linux" or not forked_by_main:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)


def _serve(
    channel: shared.Channel, make: Callable, parent: int, others: list[shared.Channel], forked_by_main: bool
) -> None:
    """The life of a worker: tasks in, batches out, until dismissed or orphaned."""
    end_with_parent(parent, forked_by_main)
    # Ctrl-C reaches the whole group of processes; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in others:
        other.close()
    # Threads do not survive a fork, and the processes are the parallelism.
    storage.set_threads(1)
    arrays.using(channel.reserve)
    channel.settimeout(HEARTBEAT)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError, _Orphaned):
        while True:
            task, indices, seeds = _patiently(channel.receive, parent)
            if task is None:
                return
            answer = _answer(channel, task, make, indices, seeds)
            _patiently(functools.partial(channel.post, answer), parent)


class _Orphaned(Exception):
    """The parent is gone."""


def _answer(channel: shared.Channel, task: int, make: Callable, indices, seeds: tuple[int, int, int]) -> shared.Message:
    """The batch, or the exception, ready to be sent."""
    try:
        python_random.seed(seeds[0])
        np.random.seed(seeds[1])
        random.seed(seeds[2])
        return channel.prepare((task, False, make(indices)))
    except (Exception, SystemExit) as error:
        return channel.prepare((task, True, (portable(error, "a DataLoader worker"), traceback.format_exc())))


def portable(error: BaseException, place: str) -> BaseException:
    """The exception itself if it survives the way to another process and can be raised there from an iterator.

    Else a MXNetError that tells of it, and in what place it was raised.
    """
    if not isinstance(error, StopIteration | SystemExit):
        try:
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:  # whatever a class of the user's makes of it
            pass
    return MXNetError(f"{type(error).__name__} in {place}: {error}")


def _patiently(step: Callable[[], Any], parent: int) -> Any:
    """The result of `step`, repeated while it times out; raises _Orphaned once the parent is gone."""
    while os.getppid() == parent:
        try:
            return step()
        except TimeoutError:
            pass
    raise _Orphaned


def _seeds(seed: int, task: int) -> tuple[int, int, int]:
    """Seeds of the three generators for one task, statistically independent of those of every other task."""
    return tuple(int(word) for word in np.random.SeedSequence((seed, task)).generate_state(3))


def _shown(indices) -> str:
    text = repr([int(i) for i in indices] if isinstance(indices, list) else indices)
    return text if len(text) <= 80 else text[:77] + "..."
