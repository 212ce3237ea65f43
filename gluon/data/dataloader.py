"""`DataLoader`: batches of a dataset, made in this process, in threads or in worker processes."""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler  # noqa: F401
from typing import Any

import numpy as np

from core import ndarray as nd
from core.base import MXNetError
from core.context import cpu_pinned
from gluon.data import arrays
from gluon.data.dataset import ArrayDataset
from gluon.data.pool_iter import PoolIter as _MultiWorkerIter  # noqa: F401
from gluon.data.pool_iter import in_context as _as_in_context
from gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from gluon.data.workers import WorkerError, WorkerPool

# ForkingPickler, _MultiWorkerIter, _as_in_context: what the loaders of GluonCV and GluonNLP take from here.
__all__ = ["DataLoader", "DataLoaderV1", "default_batchify_fn", "default_mp_batchify_fn"]


class DataLoader:
    """Iterates over a dataset in batches.

    Parameters
    ----------
    dataset : anything with a length and integer indexing (`Dataset`, NDArray, NumPy array, list).
    batch_size : samples in a batch; required unless `batch_sampler` is given.
    shuffle : a new random order for each pass, from `numpy.random`.
    sampler : the indices to load, in place of `shuffle`.
    last_batch : "keep" (default), "discard" or "rollover", see `BatchSampler`.
    batch_sampler : yields lists of indices; excludes the four above.
    batchify_fn : makes a batch of a list of samples; default: stacks, field by field.
    num_workers : processes that load; 0 loads in this one.
    pin_memory, pin_device_id : give batches the context `cpu_pinned(pin_device_id)`: where there is a GPU, they lie in
        page-locked memory, from which they are copied while it computes.
    prefetch : batches that the workers may be ahead, default `2 * num_workers`.
    thread_pool : use threads for workers; right where loading releases the interpreter lock, and nothing is copied.
    timeout : seconds to wait for a batch before `WorkerError` is raised.
    auto_reload : start on the next pass as soon as one ends (or the loader is made).
    try_nopython : accepted as in MXNet 2 and without effect.

    Worker processes are forked when iteration begins, so they see the dataset as it is then, and end with it, be it
    complete, dropped or interrupted. Python's, NumPy's and MXNet's generators are seeded for each batch from a
    number that `numpy.random` draws as iteration begins: augmentation repeats for one seed, with any number of
    workers. Batches arrive in shared memory, without a copy. An exception in a worker is raised here, with the
    worker's traceback as its cause; a worker that dies raises `WorkerError`.

    >>> data = gluon.data.ArrayDataset(nd.arange(10).reshape((5, 2)), nd.arange(5))
    >>> for x, y in gluon.data.DataLoader(data, batch_size=2):
    ...     print(x.shape, y.shape)
    (2, 2) (2,)
    (2, 2) (2,)
    (1, 2) (1,)
    """

    def __init__(
        self,
        dataset,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Sampler | None = None,
        batchify_fn: Callable[[list], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
        try_nopython: bool | None = None,
    ):
        if timeout <= 0:
            raise ValueError(f"timeout must be positive, given {timeout}")
        self._dataset = dataset
        self._batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._num_workers = max(0, num_workers)
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._prefetch = max(1, 2 * self._num_workers if prefetch is None else prefetch)
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._auto_reload = auto_reload
        processes = self._num_workers > 0 and not thread_pool
        self._batchify_fn = batchify_fn or (default_mp_batchify_fn if processes else default_batchify_fn)
        self._iter: Iterator | None = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator:
        started, self._iter = self._iter, None
        return started if started is not None else self._start()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Starts the next pass now, so that its first batches are ready when iteration begins."""
        self._iter = self._start()

    def clean(self) -> None:
        """Drops the pass that `refresh` has started."""
        self._iter = None

    def _start(self) -> Iterator:
        if self._num_workers == 0:
            batches = map(self._make, self._batch_sampler)
        elif self._thread_pool:
            batches = _ThreadedIter(self)
        else:
            batches = _ProcessIter(self)
        if self._pin_memory:
            pinned = cpu_pinned(self._pin_device_id)
            batches = (_as_in_context(batch, pinned) for batch in batches)
        return _then_refresh(batches, weakref.ref(self)) if self._auto_reload else iter(batches)

    def _make(self, indices) -> Any:
        try:
            return self._batch(indices)
        except StopIteration as error:  # which would end the pass here as if it were complete
            raise MXNetError(f"StopIteration in the dataset or the batchify function: {error}") from error

    def _batch(self, indices) -> Any:
        dataset = self._dataset
        if self._batchify_fn in (default_batchify_fn, default_mp_batchify_fn):
            if type(dataset) is ArrayDataset:
                fields = dataset.batch(indices)
                return fields if len(fields) > 1 else fields[0]
            if isinstance(dataset, nd.NDArray | np.ndarray):
                return arrays.gather(dataset, indices)
        return self._batchify_fn([dataset[index] for index in indices])


# MXNet keeps its first loader under this name; the arguments of both are the same.
DataLoaderV1 = DataLoader


def default_batchify_fn(data: list) -> Any:
    """Stacks samples along a new first axis; tuples give a list with one such batch for each field.

    Scalars and NumPy arrays keep their dtype (Python ints become int64, floats float64).
    """
    if isinstance(data[0], tuple):
        return [default_batchify_fn(field) for field in zip(*data)]
    return arrays.stack(data)


def default_mp_batchify_fn(data: list) -> Any:
    """`default_batchify_fn`, as worker processes use it: the batch reaches the parent through shared memory."""
    return default_batchify_fn(data)


class _ProcessIter:
    """Batches from worker processes, in order."""

    def __init__(self, loader: DataLoader):
        self._timeout = loader._timeout
        self._batches = enumerate(iter(loader._batch_sampler))
        self._sent = self._received = 0
        self._pool = WorkerPool(loader._num_workers, loader._make, int(np.random.randint(1 << 31)))
        for _ in range(loader._prefetch):
            self._push_next()

    def __iter__(self):
        return self

    def __next__(self) -> Any:
        if self._pool is None:
            raise StopIteration
        self._push_next()
        if self._received == self._sent:
            self._pool.finish()
            self._pool = None
            raise StopIteration
        try:
            batch = self._pool.result(self._received, self._timeout)
        except BaseException:
            self._pool = None
            raise
        self._received += 1
        return batch

    def _push_next(self) -> None:
        for task, indices in itertools.islice(self._batches, 1):
            self._pool.submit(task, indices)
            self._sent += 1


class _ThreadedIter:
    """Batches from threads of this process, in order."""

    def __init__(self, loader: DataLoader):
        self._timeout = loader._timeout
        self._make = loader._make
        self._batches = iter(loader._batch_sampler)
        self._threads = concurrent.futures.ThreadPoolExecutor(loader._num_workers, "DataLoader")
        self._futures: collections.deque = collections.deque()
        weakref.finalize(self, self._threads.shutdown, wait=False, cancel_futures=True)
        for _ in range(loader._prefetch):
            self._push_next()

    def __iter__(self):
        return self

    def __next__(self) -> Any:
        self._push_next()
        if not self._futures:
            self._threads.shutdown()
            raise StopIteration
        batch = self._futures.popleft()
        if not concurrent.futures.wait([batch], self._timeout).done:
            raise WorkerError(f"no batch from the threads within {self._timeout} s")
        return batch.result()

    def _push_next(self) -> None:
        for indices in itertools.islice(self._batches, 1):
            self._futures.append(self._threads.submit(self._make, indices))


def _then_refresh(batches: Iterator, loader: weakref.ref) -> Iterator:
    """`batches`, and at their end a start of the next pass."""
    yield from batches
    if (alive := loader()) is not None:
        alive.refresh()


def _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler):
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified."
            )
        return batch_sampler
    if batch_size is None:
        raise ValueError("batch_size must be specified unless batch_sampler is specified")
    if sampler is None:
        if not hasattr(dataset, "__len__"):
            raise TypeError(f"a dataset has a length and takes an index, given {type(dataset).__name__}")
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ValueError("shuffle must not be specified if sampler is specified")
    return BatchSampler(sampler, batch_size, last_batch or "keep")
