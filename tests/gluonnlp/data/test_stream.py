"""Streams: order, prefetching in threads and processes, errors where they belong, many files."""

import os
import signal

import numpy as np
import pytest

import gluonnlp as nlp
from core.base import MXNetError
from gluon.data import BatchSampler, SequentialSampler

WORKERS = ["thread", "process"]


def numbers(stop):
    def generate():
        yield from range(stop)
        raise KeyError("the end")

    return generate()


@pytest.mark.parametrize("worker", WORKERS)
def test_prefetching_keeps_items_and_order(worker):
    stream = nlp.data.PrefetchingStream(nlp.data.SimpleDataStream(range(50)), 3, worker)
    assert list(stream) == list(range(50)) == list(stream.transform(lambda x: x))


@pytest.mark.parametrize("worker", WORKERS)
def test_errors_come_after_the_items_before_them(worker):
    stream = iter(nlp.data.PrefetchingStream(nlp.data.SimpleDataStream(numbers(3)), 2, worker))
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="the end"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


def test_a_killed_worker_is_noticed():
    def generate():
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)

    stream = iter(nlp.data.PrefetchingStream(nlp.data.SimpleDataStream(generate()), 1, "process"))
    with pytest.raises(MXNetError, match="died"):
        list(stream)


class TwoParts(Exception):
    """Cannot be made again of its message alone, as pickling would have it."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    "error, message", [(TwoParts(1, 2), "TwoParts .* 1 and 2"), (SystemExit(3), "SystemExit .* 3")]
)
def test_errors_that_cannot_leave_their_process_are_told_of(error, message):
    stream = nlp.data.PrefetchingStream(nlp.data.SimpleDataStream([error]).transform(throw), 1, "process")
    with pytest.raises(MXNetError, match=message):
        list(stream)


def test_a_thread_that_wants_to_end_the_program_does():
    stream = nlp.data.PrefetchingStream(nlp.data.SimpleDataStream([SystemExit(3)]).transform(throw), 1, "thread")
    with pytest.raises(SystemExit):
        list(stream)


def throw(error):
    raise error


def test_what_cannot_be_pickled_is_an_error():
    stream = nlp.data.PrefetchingStream(nlp.data.SimpleDataStream([lambda: 0]), 1, "process")
    with pytest.raises(Exception, match=r"[Pp]ickle|local object"):
        list(stream)


@pytest.fixture
def files(tmp_path):
    for i in range(5):
        (tmp_path / f"part{i}.txt").write_text("".join(f"{i} {j}\n" for j in range(3)))
    return str(tmp_path / "part*.txt")


def test_one_dataset_a_file(files):
    stream = nlp.data.SimpleDatasetStream(nlp.data.CorpusDataset, files, "sequential")
    assert [dataset[0][0] for dataset in stream] == list("01234")
    with pytest.raises(ValueError, match="No file matches"):
        nlp.data.SimpleDatasetStream(nlp.data.CorpusDataset, files + "x")
    with pytest.raises(ValueError, match="'sequential'"):
        nlp.data.SimpleDatasetStream(nlp.data.CorpusDataset, files, "backwards")


def read(file):
    return nlp.data.CorpusDataset(file)


def sample(dataset, size):
    return BatchSampler(SequentialSampler(len(dataset)), size, "keep")


def as_array(rows):
    return np.array([[int(x) for x in row] for row in rows])


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("circle", [1, 2])
def test_dataset_loader(files, workers, circle):
    loader = nlp.data.DatasetLoader(
        files,
        SequentialSampler(5),
        dataset_fn=read,
        batch_sampler_fn=sample,
        batch_sampler_params={"size": 2},
        batchify_fn=as_array,
        num_dataset_workers=workers,
        num_batch_workers=workers,
        circle_length=circle,
    )
    rows = np.concatenate(list(loader)).tolist()
    assert rows == [[i, j] for i in range(5) for j in range(3)]


def test_dataset_loader_repeats_cached_data_while_it_waits(files):
    loader = nlp.data.DatasetLoader(
        files,
        SequentialSampler(5),
        dataset_fn=read,
        batch_sampler_fn=sample,
        batch_sampler_params={"size": 3},
        batchify_fn=as_array,
        num_dataset_workers=1,
        num_batch_workers=1,
        dataset_cached=True,
        num_max_dataset_cached=2,
    )
    first = [int(batch[0, 0]) for batch in loader]
    assert set(first) == set(range(5)) and first[0] == 0
