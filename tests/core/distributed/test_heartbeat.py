"""Three processes of which one is busy, stopped, killed, absent, or does something else: each error names it."""

import os
import signal
import time

import pytest

import core as mx
from core.kernels import communication
from tests.support import ranks


def meet(rank, before):
    kv = mx.kv.create("dist_sync")
    kv.barrier()
    before(rank)
    kv.barrier()
    return "through"


def busy(rank):
    """Longer than the limit of silence, outside of the interpreter and, holding it, inside."""
    if rank == 1:
        time.sleep(2.5)
        sum(range(60_000_000))


def stop(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)


def die(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def step(rank):
    if rank == 1:
        communication.exchange("step 3")


def wait_elsewhere(rank):
    group = communication.new_group("gradients")
    if rank == 1:
        communication.all_reduce(mx.nd.ones((4,))._data, "the sum of gradients", group).wait()


def other_rows(rank):
    communication.same("parameters", ["weight (3, 4) float32", f"bias ({3 + rank // 2},) float32"], "Build alike")


def test_a_busy_process_is_waited_for():
    assert ranks.run(3, meet, busy, HEARTBEAT=1.5) == ["through"] * 3


@pytest.mark.parametrize(
    ("before", "errors"),
    [
        (stop, ["process 1 (", "has been silent for", "since"]),
        (die, ["process 1 (", "was killed; its last sign of life was at"]),
        (wait_elsewhere, ["the processes wait for different things"]),
    ],
)
def test_what_keeps_the_others_waiting_is_named(before, errors):
    begin = time.monotonic()
    for rank, text in enumerate(ranks.run(3, meet, before, HEARTBEAT=1.5)):
        if rank != 1:
            assert text.count("MXNetError: process") == 1
            others = ["process 2 (", "process 0 ("]
            ended = before is wait_elsewhere and "process 1 (" in text and "has ended at" in text  # it found out first
            assert ended or all(error in text or any(other in text for other in others) for error in errors), text
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    ("before", "error"),
    [
        (step, "process 0: a barrier; process 1: step 3; process 2: a barrier"),
        (other_rows, "process 0: bias (3,) float32; process 1: bias (3,) float32; process 2: bias (4,) float32"),
    ],
)
def test_processes_that_do_different_things_are_told_on_every_one(before, error):
    assert all("MXNetError" in text and error in text for text in ranks.run(3, meet, before))


def late(rank):
    if rank == 2:
        time.sleep(60)
    return meet(rank, lambda rank: None)


def test_a_process_that_does_not_come_is_named():
    texts = ranks.run(3, late, RENDEZVOUS=5.0)
    assert "has waited 5 s" in texts[0] and "2, which did not come" in texts[0]
    assert "MXNetError: process 1 of 3" in texts[1]


def test_alone_without_a_launcher():
    with pytest.warns(UserWarning, match="dist_sync.*no launcher started"):
        mx.kv.create("dist_sync")


def test_limits_let_a_rank_validate():
    assert communication.TIMEOUT == 1800 and communication.RENDEZVOUS == 600 and communication.HEARTBEAT == 30
