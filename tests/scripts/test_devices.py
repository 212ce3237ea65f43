"""Which GPU each of several processes computes on."""

import argparse

import pytest

import core as mx
from scripts.common import devices


@pytest.mark.parametrize(
    ("gpus", "count", "local", "wanted"),
    [("1,3", 1, 0, [1, 3]), ("1,3", 2, 1, [3]), ("1,3", 4, 2, [1]), ("0", 4, 3, [3]), ("2", 4, 3, [1]), ("", 2, 1, [])],
)
def test_processes_have_gpus_of_their_own(gpus, count, local, wanted, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", str(count))
    monkeypatch.setenv("LOCAL_RANK", str(local))
    monkeypatch.setattr(devices, "num_gpus", lambda: 4)
    found = devices.contexts(argparse.Namespace(gpus=gpus))
    assert found == ([mx.gpu(k) for k in wanted] or [mx.cpu()])
    if "," not in gpus and gpus:
        assert devices.context_of(argparse.Namespace(gpu=int(gpus))) == found[0]
