"""DataLoader: contents as MXNet 1.9.1 gives them, and what remains when workers fail, hang, die or are dropped."""

import functools
import gc
import io
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from core import ndarray as nd
from core import random as mx_random
from core.base import MXNetError
from core.context import cpu, cpu_pinned
from gluon.data import ArrayDataset, BatchSampler, DataLoader, Dataset, SequentialSampler, SimpleDataset, batchify
from gluon.data.dataloader import ForkingPickler, _MultiWorkerIter, default_batchify_fn
from gluon.data.workers import WorkerError

# (workers, thread_pool)
MODES = [(0, False), (2, False), (2, True)]


class Made(Dataset):
    """Samples that a function makes."""

    def __init__(self, fn, length=8):
        self.fn, self.length = fn, length

    def __getitem__(self, idx):
        return self.fn(idx)

    def __len__(self):
        return self.length


def children():
    """Processes whose parent is this one."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


@pytest.fixture
def nothing_left():
    """Fails when a child process, a descriptor or a mapping of a batch remains after the test."""
    gc.collect()
    before = children(), set(os.listdir("/proc/self/fd")), set(os.listdir("/dev/shm"))
    yield
    gc.collect()
    assert children() == before[0]
    assert set(os.listdir("/dev/shm")) <= before[2]
    assert len(os.listdir("/proc/self/fd")) <= len(before[1])
    with open("/proc/self/maps") as file:
        assert "gluon.data" not in file.read()


@pytest.mark.parametrize("workers, threads", MODES)
def test_batches(nothing_left, workers, threads):
    x = np.arange(15, dtype="float32").reshape(5, 3)
    y = [10, 11, 12, 13, 14]
    for data in (x, nd.array(x)):
        batches = list(DataLoader(ArrayDataset(data, y), 2, num_workers=workers, thread_pool=threads))
        assert [type(b) for b in batches] == [list] * 3
        assert [type(a) for a in batches[0]] == [nd.NDArray] * 2
        assert batches[0][0].dtype == np.float32 and batches[0][1].dtype == np.int64
        np.testing.assert_array_equal(np.concatenate([b[0].asnumpy() for b in batches]), x)
        np.testing.assert_array_equal(np.concatenate([b[1].asnumpy() for b in batches]), y)


@pytest.mark.parametrize("workers", [0, 2])
def test_last_batch_and_samplers(workers):
    def shapes(**options):
        loader = DataLoader(SimpleDataset(list(range(5))), num_workers=workers, **options)
        return [[batch.shape[0] for batch in loader] for _ in range(2)]

    assert shapes(batch_size=2) == [[2, 2, 1]] * 2
    assert shapes(batch_size=2, last_batch="discard") == [[2, 2]] * 2
    assert shapes(batch_size=2, last_batch="rollover") == [[2, 2], [2, 2, 2]]
    assert shapes(batch_size=2, sampler=SequentialSampler(3)) == [[2, 1]] * 2
    assert shapes(batch_sampler=BatchSampler(SequentialSampler(4), 3)) == [[3, 1]] * 2


@pytest.mark.parametrize(
    "samples, expected",
    [
        ([1, 2], "int64"),
        ([1.5, 2.5], "float64"),
        ([True, False], "bool"),
        ([np.float16(1)], "float16"),
        ([np.ones(2, "uint8")] * 2, "uint8"),
        ([[1, 2], [3, 4]], "int64"),
        ([nd.ones(2, dtype="int32")] * 2, "int32"),
        ([(1, 2.0), (3, 4.0)], ["int64", "float64"]),
        ([(1, (2, 3.0))], ["int64", ["int64", "float64"]]),
    ],
)
def test_default_batchify_keeps_dtypes(samples, expected):
    def dtypes(batch):
        return [dtypes(b) for b in batch] if isinstance(batch, list) else np.dtype(batch.dtype).name

    assert dtypes(default_batchify_fn(samples)) == expected


def test_contexts():
    data = ArrayDataset(np.ones((4, 2)))
    for options, context in [
        ({}, cpu(0)),
        ({"pin_memory": True}, cpu_pinned(0)),
        ({"pin_memory": True, "pin_device_id": 1, "num_workers": 1}, cpu_pinned(1)),
    ]:
        assert [batch.ctx for batch in DataLoader(data, 2, **options)] == [context] * 2


def test_a_list_is_a_dataset():
    for workers in (0, 1):
        (first, _), (second, labels) = DataLoader([([1, 2], 0), ([3, 4], 1)], 1, num_workers=workers)
        assert first.asnumpy().tolist() == [[1, 2]] and second.shape == (1, 2) and labels.asnumpy().tolist() == [1]


def test_what_cannot_be_stacked_is_named():
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\).*Pad"):
        default_batchify_fn([np.ones(2), np.ones(3)])
    for samples in (["a", "b"], [{"a": 1}], [None]):
        with pytest.raises(TypeError, match=type(samples[0]).__name__):
            default_batchify_fn(samples)


def test_arguments_that_contradict_each_other():
    data = SimpleDataset([1, 2, 3])
    for options, message in [
        ({}, "batch_size must be specified"),
        ({"batch_size": 2, "shuffle": True, "sampler": SequentialSampler(3)}, "shuffle must not"),
        ({"batch_size": 2, "batch_sampler": BatchSampler(SequentialSampler(3), 2)}, "must not be specified if"),
        ({"batch_size": 2, "last_batch": "drop"}, "keep"),
        ({"batch_size": 2, "timeout": 0}, "positive"),
    ]:
        with pytest.raises(ValueError, match=message):
            DataLoader(data, **options)


def test_anything_that_pickles_travels(nothing_left):
    def fn(samples):
        return {"a": np.arange(5000.0), "b": ["text", None], "c": nd.ones((3, 3), dtype="bfloat16"), "d": samples}

    first, *_ = DataLoader(SimpleDataset([1, 2, 3]), 2, batchify_fn=fn, num_workers=1)
    assert first["b"] == ["text", None] and first["d"] == [1, 2]
    np.testing.assert_array_equal(first["a"], np.arange(5000.0))
    assert first["c"].dtype == nd.ones(1, dtype="bfloat16").dtype and first["c"].astype("float32").asnumpy().sum() == 9
    first["a"][0] = 7  # the memory is the receiver's alone
    del first


def test_more_arrays_than_descriptors_in_a_batch(nothing_left):
    def fn(samples):
        return [default_batchify_fn([np.full(3000, i)] * 2) for i in range(400)]

    ((first, *_, last),) = DataLoader(SimpleDataset([1]), 1, batchify_fn=fn, num_workers=1)
    assert first.asnumpy().max() == 0 and last.asnumpy().min() == 399
    del first, last, _


def test_batches_that_a_worker_keeps(nothing_left):
    kept = []

    def fn(samples):
        kept.append(default_batchify_fn(samples))
        return kept[0]

    loader = DataLoader(Made(lambda i: np.full(5000, i), 12), 2, batchify_fn=fn, num_workers=1)
    assert [float(batch[0, 0].asscalar()) for batch in loader] == [0] * 6


def test_batches_outlive_the_loader_and_are_independent(nothing_left):
    data = np.random.default_rng(0).standard_normal((64, 3, 32, 32)).astype("float32")
    loader = DataLoader(data, 16, num_workers=2)
    first, second = list(loader), list(loader)
    del loader
    first[0][:] = 0
    np.testing.assert_array_equal(np.concatenate([b.asnumpy() for b in second]), data)
    np.testing.assert_array_equal(np.concatenate([b.asnumpy() for b in first[1:]]), data[16:])
    del first, second


def test_more_batches_than_descriptors(nothing_left):
    data = np.zeros((1500, 4096), "float32")
    kept = list(DataLoader(data, 1, num_workers=2))
    assert len(kept) == 1500 and len(os.listdir("/proc/self/fd")) < 400
    del kept


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_randomness_depends_on_the_seed_alone(workers):
    def draw(_):
        return random.random(), np.random.rand(), float(nd.random.uniform(shape=(1,)).asscalar())

    def numbers(seed):
        np.random.seed(seed)
        return np.concatenate(
            [np.stack([a.asnumpy() for a in b], 1) for b in DataLoader(Made(draw, 12), 2, num_workers=workers)]
        )

    first, again, other = numbers(5), numbers(5), numbers(6)
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first)) == first.size and not np.isin(first, other).any()
    reference = np.load(REFERENCE_DRAWS) if REFERENCE_DRAWS.exists() else first
    np.save(REFERENCE_DRAWS, first)
    np.testing.assert_array_equal(first, reference)


@pytest.fixture(autouse=True, scope="module")
def reference_draws(tmp_path_factory):
    global REFERENCE_DRAWS
    REFERENCE_DRAWS = tmp_path_factory.mktemp("draws") / "draws.npy"


def test_loading_leaves_the_parents_mxnet_generator_alone():
    mx_random.seed(3)
    expected = nd.random.uniform(shape=(4,)).asnumpy()
    mx_random.seed(3)
    list(DataLoader(Made(lambda i: i), 2, num_workers=2))
    np.testing.assert_array_equal(nd.random.uniform(shape=(4,)).asnumpy(), expected)


@pytest.mark.parametrize("threads", [False, True])
def test_an_exception_arrives_with_its_traceback(nothing_left, threads):
    def broken(i):
        return [][i] if i == 5 else i

    iterator = iter(DataLoader(Made(broken), 2, num_workers=2, thread_pool=threads))
    with pytest.raises(IndexError) as caught:
        list(iterator)
    if not threads:
        assert "in broken" in str(caught.value.__cause__)
        assert list(iterator) == []


class Awkward(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


@pytest.mark.parametrize("error", [StopIteration("enough"), Awkward(1, 2), SystemExit(3)], ids=repr)
def test_exceptions_that_cannot_be_raised_here_are_named(nothing_left, error):
    def broken(i):
        raise error

    with pytest.raises(MXNetError, match=type(error).__name__):
        list(DataLoader(Made(broken), 2, num_workers=1))


@pytest.mark.parametrize(
    "death, message",
    [(lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by SIGKILL"), (lambda: os._exit(3), "exit code 3")],
)
def test_a_worker_that_dies_is_noticed_within_seconds(nothing_left, death, message):
    def fn(i):
        return death() if i == 5 else i

    begin = time.monotonic()
    with pytest.raises(WorkerError, match=message + r".*\[4, 5\]"):
        list(DataLoader(Made(fn), 2, num_workers=2))
    assert time.monotonic() - begin < 5


def test_a_worker_killed_from_outside(nothing_left):
    others = children()  # of tests before this one
    iterator = iter(DataLoader(Made(lambda i: time.sleep(0.02) or i, 1000), 1, num_workers=2))
    next(iterator)
    os.kill(int((children() - others).pop()), signal.SIGKILL)
    with pytest.raises(WorkerError, match="SIGKILL"):
        list(iterator)


def test_timeout(nothing_left):
    begin = time.monotonic()
    with pytest.raises(WorkerError, match=r"0\.3 s"):
        list(DataLoader(Made(lambda i: time.sleep(60)), 2, num_workers=2, timeout=0.3))
    assert time.monotonic() - begin < 5


def test_a_dropped_iterator_leaves_nothing(nothing_left):
    loader = DataLoader(np.zeros((100, 3, 32, 32), "float32"), 4, num_workers=2)
    for batch in loader:
        assert batch.shape == (4, 3, 32, 32)
        break
    iterator = iter(DataLoader(Made(lambda i: time.sleep(60)), 2, num_workers=2))
    begin = time.monotonic()
    del iterator, batch
    assert time.monotonic() - begin < 2


def test_two_iterators_at_once(nothing_left):
    loader = DataLoader(np.arange(6.0), 2, num_workers=2)
    pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in zip(loader, loader)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4, 5], [4, 5])]


def test_a_long_prefetch_of_large_results_does_not_block(nothing_left):
    loader = DataLoader(Made(lambda i: np.full(3000, i), 3000), 1, num_workers=2, prefetch=2500)
    assert [int(batch[0, 0].asscalar()) for batch in loader] == list(range(3000))


def test_auto_reload_begins_the_next_pass(nothing_left):
    loader = DataLoader(np.arange(4.0), 2, num_workers=1, auto_reload=True)
    assert [len(list(loader)) for _ in range(3)] == [2, 2, 2]
    assert loader._iter is not None
    loader.clean()
    del loader


def test_workers_after_parallel_work_in_the_parent(nothing_left):
    a = nd.ones((400, 400))
    nd.dot(a, a).wait_to_read()

    def fn(i):
        return float(nd.dot(a, a)[0, i].asscalar())

    assert [b.asnumpy().tolist() for b in DataLoader(Made(fn, 4), 2, num_workers=2)] == [[400.0] * 2] * 2


PROGRAM = """
import os, signal, sys, time
from gluon.data import DataLoader, SimpleDataset
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
def slow(i):
    time.sleep({seconds})
    return i
iterator = iter(DataLoader(SimpleDataset(list(range(1000))).transform(slow), 1, num_workers=2))
next(iterator)
print(*open(f"/proc/self/task/{{os.getpid()}}/children").read().split(), flush=True)
for batch in iterator:
    {body}
"""


def run(seconds, body):
    """A program in the middle of a pass, and the process ids of its workers."""
    code = textwrap.dedent(PROGRAM.format(seconds=seconds, body=body))
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    return program, [int(pid) for pid in program.stdout.readline().split()]


def gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_ctrl_c_ends_everything_with_one_traceback():
    program, workers = run(0.2, "pass")  # a pass long enough to be interrupted on a busy machine
    assert len(workers) == 2
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
    assert gone(workers, 5)


@pytest.mark.parametrize(("workers", "threads"), MODES)
def test_a_stop_iteration_of_the_dataset_does_not_end_the_pass(nothing_left, workers, threads):
    def fn(i):
        return next(iter(())) if i == 4 else i

    with pytest.raises(MXNetError, match="StopIteration in the dataset"):
        list(DataLoader(Made(fn), 2, num_workers=workers, thread_pool=threads))


def test_a_loader_inside_of_a_worker_is_told_what_it_can_do(nothing_left):
    def fn(i):
        return sum(
            int(b.sum().asscalar()) for b in DataLoader(np.arange(4.0), 2, num_workers=inner, thread_pool=threads)
        )

    inner, threads = 1, False
    with pytest.raises(MXNetError, match="num_workers=0, or thread_pool=True"):
        list(DataLoader(Made(fn), 4, num_workers=1))
    for inner, threads in ((0, False), (2, True)):  # noqa: B007
        assert [b.asnumpy().tolist() for b in DataLoader(Made(fn), 4, num_workers=1)] == [[6] * 4] * 2


@pytest.mark.parametrize("seconds", [0.01, "0.01 if i < 1 else 600"], ids=["at work", "stuck"])
def test_workers_do_not_outlive_a_killed_parent(seconds):
    program, workers = run(seconds, "time.sleep(0.1)")
    assert len(workers) == 2
    program.kill()
    program.communicate()
    assert gone(workers, 5)


def test_leaving_the_program_in_the_middle_of_a_pass():
    program, workers = run(0.01, "sys.exit(4)")
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 4 and errors == ""
    assert gone(workers, 5)


def test_batchify_functions():
    pad = batchify.Pad(val=-1)
    np.testing.assert_array_equal(pad([[1, 2, 3], [4]]).asnumpy(), [[1, 2, 3], [4, -1, -1]])
    two = pad([np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), np.array([[5, 8], [1, 2]])])
    np.testing.assert_array_equal(two.asnumpy()[1], [[5, 8, -1, -1], [1, 2, -1, -1]])
    assert batchify.Pad(round_to=4)([[1, 2, 3, 4, 5]]).shape == (1, 8)
    assert batchify.Pad(dtype="float16")([[1]]).dtype == np.float16
    with pytest.raises(NotImplementedError, match="Group"):
        pad([(1, 2)])
    group = batchify.Group(batchify.Stack(), batchify.Pad(), batchify.AsList(), batchify.Append())
    a, b, c, d = group([(1, [1, 2], "x", [1.0]), (2, [3], "y", [2.0, 3.0])])
    assert a.asnumpy().tolist() == [1, 2] and b.shape == (2, 2) and c == ["x", "y"]
    assert [array.shape for array in d] == [(1, 1), (1, 2)]
    assert [f.shape for f in batchify.Stack()([([1, 2], [3]), ([4, 5], [6])])] == [(2, 2), (2, 1)]
    assert batchify.Stack()([[1, 2, 3], [4, 5, 6]]).shape == (2, 3)
    with pytest.raises(ValueError, match="4 functions for samples of 1"):
        group([(1,)])


def test_a_batchify_function_in_workers():
    fn = batchify.Group(batchify.Pad(), batchify.AsList())
    loader = DataLoader(SimpleDataset([([1], "a"), ([1, 2], "b")]), 2, batchify_fn=fn, num_workers=1)
    ((numbers, texts),) = loader
    assert numbers.asnumpy().tolist() == [[1, 0], [1, 2]] and texts == ["a", "b"]


def test_pickled_transforms_keep_their_functions():
    times = functools.partial(np.multiply, 3)
    assert [b.asnumpy().tolist() for b in DataLoader(SimpleDataset([1, 2]).transform(times), 2, num_workers=1)] == [
        [3, 6]
    ]


class _EveryOther(_MultiWorkerIter):
    """As the loaders of GluonCV do on `PoolIter`: other tasks for the same pool."""

    def _push_next(self):
        indices = next(self._iter, None)
        if indices is not None:
            batch = self._worker_pool.apply_async(self._worker_fn, (indices, self._batchify_fn))
            self._data_buffer[self._sent_idx] = batch
            self._sent_idx += 1


def _pickled_batch(indices, batchify):
    buffer = io.BytesIO()
    ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(batchify([nd.ones((2,)) * i for i in indices]))
    return buffer.getvalue()


def test_a_loader_of_a_program_draws_batches_from_a_pool_of_its_own():
    sampler = BatchSampler(SequentialSampler(5), 2)
    with multiprocessing.Pool(1) as pool:
        batches = _EveryOther(pool, default_batchify_fn, sampler, worker_fn=_pickled_batch, prefetch=2, pin_memory=True)
        got = list(batches)
    assert len(batches) == 3 and [b.asnumpy()[:, 0].tolist() for b in got] == [[0, 1], [2, 3], [4]]
    assert got[0].context == cpu_pinned(0)
    with multiprocessing.Pool(1) as pool:
        batches = _EveryOther(pool, default_batchify_fn, sampler, worker_fn=_pickled_batch, prefetch=2)
        assert [batch.context for batch in batches] == [cpu(0)] * 3
