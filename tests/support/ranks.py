"""Several processes that train together, forked from the one that tests: they import nothing, and so begin at once."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import socket
import time
import traceback
from collections.abc import Callable

from core import storage
from core.kernels import communication, heartbeat

# Short, for tests; `settings` of `run` change them.
SETTINGS = {"TIMEOUT": 60.0, "RENDEZVOUS": 30.0, "HEARTBEAT": 2.0}
PATIENCE = 3.0  # seconds


def run(count: int, function: Callable, *arguments, seconds: float = 120, **settings) -> list:
    """What `function(rank, *arguments)` gives in each of `count` processes, by rank.

    An exception is given as its text, a process that was ended by a signal as minus its number, and one that had to be
    killed as None: PATIENCE seconds after the others answered, or after `seconds`.
    """
    context = multiprocessing.get_context("fork")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pipes = [context.Pipe(duplex=False) for _ in range(count)]
    processes = [
        context.Process(target=_work, args=(rank, count, port, theirs, function, arguments, SETTINGS | settings))
        for rank, (_, theirs) in enumerate(pipes)
    ]
    for process, (_, theirs) in zip(processes, pipes):
        process.start()
        theirs.close()
    answers = {}
    waiting, deadline = {ours: rank for rank, (ours, _) in enumerate(pipes)}, time.monotonic() + seconds
    while waiting and (left := deadline - time.monotonic()) > 0:
        for ours in multiprocessing.connection.wait(list(waiting), left):
            rank = waiting.pop(ours)
            try:
                answers[rank] = ours.recv()
            except EOFError:
                processes[rank].join(PATIENCE)
                answers[rank] = processes[rank].exitcode
            if len(waiting) == 1:
                deadline = min(deadline, time.monotonic() + PATIENCE)
    for rank, process in enumerate(processes):
        process.join(PATIENCE if rank in answers else 0)
        process.kill()
        process.join()
    return [answers.get(rank) for rank in range(count)]


def _work(rank: int, count: int, port: int, pipe, function: Callable, arguments: tuple, settings: dict) -> None:
    storage.set_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    heartbeat.INTERVAL, heartbeat.GRACE = 0.2, 0.6
    for name, value in settings.items():
        setattr(communication, name, value)
    try:
        answer = function(rank, *arguments)
    except Exception:
        answer = traceback.format_exc()
    pipe.send(answer)
    communication.stop()
    pipe.close()
