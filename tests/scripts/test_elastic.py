"""Runs that are killed and go on, with as many processes or others: numbers of an undisturbed run, each sample once."""

import collections
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.scripts import elastic
from tests.support import ranks

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = "-m torch.distributed.run --standalone --monitor-interval 0.1".split()
run = functools.partial(ranks.run, HEARTBEAT=30.0)


def forked(rank, folder, die, stop):
    elastic.train(Path(folder), die, stop)


def launched(folder, count, restarts, *arguments):
    command = [sys.executable, *TORCHRUN, "--nproc-per-node", str(count), "--max-restarts", str(restarts)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    program = [str(ROOT / "tests" / "scripts" / "elastic.py"), str(folder), *arguments]
    return subprocess.run([*command, *program], capture_output=True, text=True, timeout=200, env=environment)


@pytest.fixture
def folder(tmp_path):
    def make(name):
        elastic.make_files(tmp_path / name)
        return tmp_path / name

    return make


def final(folder):
    with np.load(folder / "final.npz") as arrays:
        return dict(arrays)


def check(folder, whole, exactly):
    expected, found = final(whole), final(folder)
    assert set(expected) == set(found)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=0 if exactly else 1e-6, err_msg=name)
    every = [json.loads(line) for path in (folder / "data").iterdir() for line in path.read_text().splitlines()]
    seen = [tuple(row) for path in folder.glob("step-*/seen-*.json") for row in json.loads(path.read_text())]
    assert collections.Counter(seen) == collections.Counter((e, s) for e in range(elastic.EPOCHS) for s in every)


@pytest.mark.parametrize("counts", [(2, 3)])
def test_another_number_of_processes_goes_on(folder, counts):
    """Stopped within the first epoch, after a step that no checkpoint holds."""
    whole, broken = folder("whole"), folder("broken")
    assert run(counts[0], forked, str(whole), 0, 0) == [None] * counts[0]
    assert run(counts[0], forked, str(broken), 0, 3) == [None] * counts[0]
    assert not (broken / "final.npz").exists()
    assert run(counts[1], forked, str(broken), 0, 0) == [None] * counts[1]
    check(whole, whole, exactly=True)
    check(broken, whole, exactly=False)


@pytest.mark.slow
@pytest.mark.parametrize("die", [3, 6])
def test_a_killed_rank_of_three(folder, die):
    """kill -9 in the first and in the second epoch: torchrun starts all again, or two go on."""
    whole, again, fewer = folder("whole"), folder("again"), folder("fewer")
    assert launched(whole, 3, 0).returncode == 0
    check(whole, whole, exactly=True)
    result = launched(again, 3, 2, "--die", str(die))
    assert result.returncode == 0, result.stderr[-3000:]
    assert "Signal 9 (SIGKILL)" in result.stderr or "exitcode: -9" in result.stderr
    check(again, whole, exactly=True)
    assert launched(fewer, 3, 0, "--die", str(die)).returncode != 0
    assert not (fewer / "final.npz").exists()
    result = launched(fewer, 2, 0)
    assert result.returncode == 0, result.stderr[-3000:]
    check(fewer, whole, exactly=False)
