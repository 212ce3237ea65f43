"""Streams: data that is read once from front to back, transformed and prefetched on the way."""

from __future__ import annotations

import glob
import multiprocessing
import os
import pickle
import queue
import random
import threading
import traceback
import warnings

import numpy as np

from core import random as core_random
from core.base import MXNetError
from gluon.data import RandomSampler, Sampler, SequentialSampler, SimpleDataset
from gluon.data.workers import portable

from ..base import InvalidArgument

__all__ = ["DataStream", "SimpleDataStream", "DatasetStream", "SimpleDatasetStream", "PrefetchingStream"]


class DataStream:
    """Something to iterate over, of unknown length.

    >>> isinstance(gluonnlp.data.SimpleDataStream([1]), gluonnlp.data.DataStream)
    True
    """

    def __iter__(self):
        raise NotImplementedError

    def transform(self, fn):
        """The stream of `fn(item)`, or `fn(*item)` where items are tuples."""
        return _LazyTransformDataStream(self, fn)


class SimpleDataStream(DataStream):
    """The items of an iterable.

    >>> list(gluonnlp.data.SimpleDataStream([1, 2]).transform(lambda x: x * 10))
    [10, 20]
    """

    def __init__(self, iterable):
        self._stream = iterable

    def __iter__(self):
        return iter(self._stream)


class _LazyTransformDataStream(DataStream):
    def __init__(self, stream, fn):
        self._stream = stream
        self._fn = fn

    def __iter__(self):
        # The inner stream starts here and not at the first item: it may begin to prefetch.
        items = iter(self._stream)
        return (self._fn(*item) if isinstance(item, tuple) else self._fn(item) for item in items)


class DatasetStream(DataStream):
    """A stream of data sets.

    >>> issubclass(gluonnlp.data.SimpleDatasetStream, gluonnlp.data.DatasetStream)
    True
    """


class SimpleDatasetStream(DatasetStream):
    r"""`dataset(file, **kwargs)` for each file that matches `file_pattern` (several: separated by commas).

    file_sampler gives the order: 'random', 'sequential', or a Sampler of file numbers.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "text.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a\nb\n")
    >>> stream = gluonnlp.data.SimpleDatasetStream(gluonnlp.data.TextLineDataset, path)
    >>> [list(data) for data in stream]
    [['a', 'b']]
    """

    def __init__(self, dataset, file_pattern, file_sampler="random", **kwargs):
        self._dataset = dataset
        self._files = _matching_files(file_pattern)
        self._file_sampler = _file_sampler(file_sampler, len(self._files))
        self._kwargs = kwargs

    def __iter__(self):
        for i in self._file_sampler:
            yield self._dataset(self._files[i], **self._kwargs)


class _PathDataset(SimpleDataset):
    """The files that match a pattern, in alphabetical order."""

    def __init__(self, file_pattern):
        super().__init__(_matching_files(file_pattern))


def _matching_files(file_pattern):
    if not isinstance(file_pattern, str):
        raise TypeError(f"file_pattern must be a string, not a {type(file_pattern).__name__}.")
    patterns = [os.path.expanduser(p.strip()) for p in file_pattern.split(",")]
    files = sorted(file for pattern in patterns for file in glob.glob(pattern))
    if not files:
        raise ValueError(f"No file matches {file_pattern!r}.")
    return files


def _file_sampler(sampler, length):
    if isinstance(sampler, Sampler):
        return sampler
    named = {"random": RandomSampler, "sequential": SequentialSampler}
    if sampler not in named:
        raise ValueError(f"file_sampler is 'random', 'sequential' or a Sampler, not {sampler!r}.")
    return named[sampler](length)


class PrefetchingStream(DataStream):
    """Reads up to `num_prefetch` items ahead, in a thread or (worker_type='process') in a process.

    The worker draws its random seeds from the generators of the caller, so a seeded program stays
    repeatable.  An exception of the worker is raised where its item would have come.

    >>> list(gluonnlp.data.PrefetchingStream(gluonnlp.data.SimpleDataStream([1, 2])))
    [1, 2]
    """

    def __init__(self, stream, num_prefetch=1, worker_type="thread"):
        if num_prefetch < 1:
            raise InvalidArgument(f"num_prefetch must be 1 or more, not {num_prefetch}.")
        if worker_type.lower() not in ("thread", "process"):
            raise InvalidArgument(f"worker_type is 'thread' or 'process', not {worker_type!r}.")
        self._stream = stream
        self._num_prefetch = num_prefetch
        self._in_process = worker_type.lower() == "process"

    def __iter__(self):
        seeds = random.getrandbits(32), np.random.randint(0, np.iinfo(np.int32).max)
        return _Prefetcher(self._stream, self._num_prefetch, self._in_process, seeds)


class _Prefetcher:
    """The iterator of a PrefetchingStream: a worker that fills a queue of (kind, content) pairs."""

    def __init__(self, stream, num_prefetch, in_process, seeds):
        if in_process:
            context = multiprocessing.get_context("fork")
            self._items, self._stop = context.Queue(num_prefetch), context.Event()
            start = context.Process
        else:
            self._items, self._stop = queue.Queue(num_prefetch), threading.Event()
            start = threading.Thread
        self._in_process, self._over = in_process, False
        self._worker = start(target=_prefetch, args=(stream, self._items, self._stop, in_process, seeds), daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks in threaded programs; the child runs the stream and nothing else.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._worker.start()

    def __iter__(self):
        return self

    def __next__(self):
        if self._over:
            raise StopIteration
        kind, content = pickle.loads(self._wait()) if self._in_process else self._items.get()
        if kind == "item":
            return content
        self._over = True
        if kind == "end":
            raise StopIteration
        error, trace = content
        raise error from RuntimeError(f"In the prefetching worker:\n{trace}")

    def _wait(self):
        """The next message of a worker process, which may have been killed."""
        while True:
            try:
                return self._items.get(timeout=1)
            except queue.Empty:
                if not self._worker.is_alive() and self._items.empty():
                    raise MXNetError(f"The prefetching process died (exit code {self._worker.exitcode}).") from None

    next = __next__

    def __del__(self):
        if hasattr(self, "_worker"):
            self._stop.set()


def _prefetch(stream, items, stop, in_process, seeds):
    if in_process:
        # A thread shares its generators with the program and must leave them alone.
        random.seed(seeds[0])
        np.random.seed(seeds[1])
        core_random.seed(int(seeds[1]))

    def put(message):
        if in_process:
            # Pickled here and not in the queue's own thread, where a failure would go unnoticed.
            message = pickle.dumps(message)
        while not stop.is_set():
            try:
                return items.put(message, timeout=0.1)
            except queue.Full:
                continue

    try:
        for item in stream:
            put(("item", item))
            if stop.is_set():
                return
        put(("end", None))
    except (Exception, SystemExit) as error:  # whatever the user's stream raises belongs to the consumer
        error = portable(error, "a prefetching process") if in_process else error
        put(("error", (error, traceback.format_exc())))
