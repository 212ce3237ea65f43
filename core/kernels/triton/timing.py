"""Time that a GPU takes, without the time that Python takes to tell it what to do."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import torch

from core import storage

LAUNCHES = 20  # calls in a graph, at least
REPLAYS = 7
SECONDS = 0.05  # of a replay, at most, where a few calls do not take longer


def seconds(calls: Sequence[Callable[[], object]], launches: int = LAUNCHES, replays: int = REPLAYS) -> float:
    """Median time of one of `calls`, which do the same work on memory of their own, each in turn.

    They are captured as one CUDA graph, so that a call shorter than its launch is timed, too; with enough memory among
    them a call does not find its operands in the cache. Raises RuntimeError where a call waits for the GPU or does
    anything else that a graph cannot hold.
    """
    for call in (*calls, *calls):  # compiles, tunes, loads
        call()
    single = _elapsed(calls[0])
    turns = max(1, min(-(-launches // len(calls)), int(SECONDS / max(single * len(calls), 1e-9))))

    def run() -> None:
        for _ in range(turns):
            for call in calls:
                call()

    replay, _, _ = storage.capture(run)
    replay()
    return statistics.median(_elapsed(replay) for _ in range(replays)) / (turns * len(calls))


def _elapsed(call: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return 1e-3 * start.elapsed_time(end)
