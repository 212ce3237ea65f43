"""Two processes train as one with the doubled batch; one that is killed ends the other with a clear error."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from core.kernels import communication
from tests.core.distributed import worker

WORKER = worker.__file__


AS_ONE = ["sgd", "lamb", "hybrid", "contexts", "norm", "module"]


def launch(root, folder, *tasks):
    command = [sys.executable, str(root / "scripts" / "launch.py"), "-n", "2", WORKER, str(folder), *tasks]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)


@pytest.fixture(scope="module")
def results(root, tmp_path_factory):
    """What both processes saved, by task."""
    folder, tasks = tmp_path_factory.mktemp("processes"), [*AS_ONE, "store", "compressed"]
    result = launch(root, folder, *tasks)
    assert result.returncode == 0, result.stderr[-3000:]
    return {task: [arrays(folder / f"{task}-{rank}.npz") for rank in range(2)] for task in tasks}


def arrays(path):
    return [a for _, a in sorted(np.load(path).items())]


@pytest.mark.parametrize("task", AS_ONE)
def test_two_processes_train_as_one(results, tmp_path, task):
    first, second = results[task]
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    worker.main(task, str(tmp_path))  # the same task in this process, on the whole batches
    for mine, expected in zip(first, arrays(tmp_path / f"{task}-0.npz"), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-6)


def test_a_store_sums_over_processes(results):
    for first, total, rows in results["store"]:
        assert first.tolist() == [5, 5, 5]
        assert total.tolist() == [6, 6, 6]  # two contexts of 1 and of 2
        np.testing.assert_array_equal(rows, np.diag([3, 0, 7]))


def test_compressed_gradients_reach_all_processes_alike(results):
    first, second = results["compressed"]
    start = worker.network(0)
    start(worker.mx.nd.zeros((1, 6)))
    for mine, theirs, p in zip(first, second, start.collect_params().values(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        # four steps, each of -2, -1, 0, 1 or 2 thresholds times the rate over the batch
        moved = (p.data().asnumpy() - mine) / (0.1 * 0.05 / worker.SAMPLES)
        np.testing.assert_allclose(moved, np.round(moved), atol=2e-2)
        assert np.abs(moved).max() <= 8.01


def test_a_killed_process_ends_the_others(root, tmp_path):
    begin = time.monotonic()
    result = launch(root, tmp_path, "killed")
    assert result.returncode == 1
    assert "process 1 of 2 was ended by SIGKILL" in result.stderr
    assert "MXNetError: process 0 of 2 cannot get" in result.stderr and "--resume" in result.stderr
    assert time.monotonic() - begin < 200  # with the imports of a busy machine


class Nothing:
    """An operation that is over."""

    def wait(self):
        pass


def watched(monkeypatch, all_reduce, steps=2):
    """A network whose reducer believes that there are other processes; (net, trainer, its reducer, complete)."""
    from core.kvstore import reducer

    monkeypatch.setattr(reducer, "BUCKET_BYTES", 1)
    monkeypatch.setattr(reducer, "FIRST_BYTES", 1)
    monkeypatch.setattr(communication, "all_reduce", all_reduce)
    net, trainer = worker.train(None, seed=0)
    flat = reducer.Reducer()
    for p in trainer._params:
        flat.watch(p._data[0]._entry)

    def complete():
        rows = [reducer.Row(p._data[0]._entry, p._grad[0], True) for p in trainer._params]

        def build(order):
            return trainer._build_arenas([(k, trainer._params[k]) for k in order])

        flat.complete("a step", rows, trainer._arenas if flat._source else [], build, count=1.0, ignores=False)

    def backward():
        with worker.mx.autograd.record():
            out = net(worker.mx.nd.ones((2, 6))).sum()
        out.backward()
        return net[0].weight.grad().asnumpy()

    backward()
    complete()
    return net, trainer, flat, complete, backward


def test_gradients_are_cut_into_buckets_that_are_full(monkeypatch):
    """The first one goes early, so that something is on its way soon."""
    from core.kvstore import reducer

    first, later = reducer.FIRST_BYTES // 4, reducer.BUCKET_BYTES // 4
    elements = [first, later - 1, 1, first - 1, later, 5]
    arrays = [worker.mx.nd.zeros((n,)) for n in elements]
    for array in arrays:
        array.attach_grad()
    buckets = reducer.cut([(array._entry, array.grad._data) for array in arrays])
    assert [[t.numel() for t in bucket.tensors()] for bucket in buckets] == [
        [first], [later - 1, 1], [first - 1, later], [5]
    ]  # fmt: skip


def test_gradients_leave_before_the_backward_pass_is_over(monkeypatch):
    """In the order in which they arrive: the last layer's is sent while the first layer's is still missing."""
    sent, seen = [], []
    net, _, flat, complete, backward = watched(monkeypatch, lambda t, group=None: sent.append(t.numel()) or Nothing())
    assert len(sent) == 6  # the first step shows the order
    sent.clear()
    original = flat.ready
    flat.ready = lambda leaf: (original(leaf), seen.append(list(sent)))
    backward()
    assert [len(counts) for counts in seen] == [1, 2, 3, 4, 5, 6]
    assert {sent[0], sent[1]} == {3, 99} and {sent[4], sent[5]} == {17, 102}
    complete()  # nothing is left to do
    assert len(sent) == 6


def test_gradients_stay_those_of_the_process_until_the_step(monkeypatch):
    """What is done to them in between, such as clipping, counts."""
    net, _, _, complete, backward = watched(monkeypatch, lambda t, group=None: (t.mul_(2), Nothing())[1])
    weight = net[0].weight
    own = backward()
    complete()
    np.testing.assert_array_equal(weight.grad().asnumpy(), 2 * own)
    np.testing.assert_array_equal(backward(), own)
    weight.grad()[:] = weight.grad() * 0.5
    complete()
    np.testing.assert_array_equal(weight.grad().asnumpy(), own)
    backward()
    np.testing.assert_array_equal(backward(), own)
    complete()
    np.testing.assert_array_equal(weight.grad().asnumpy(), 2 * own)
