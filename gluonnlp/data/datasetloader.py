"""Batches from many files, each of which is a data set of its own, read by worker processes ahead of time."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import warnings
from functools import partial

from gluon.data.dataloader import default_batchify_fn
from gluon.data.workers import end_with_parent, orphan_rule

from ..base import InvalidArgument
from .stream import _PathDataset

__all__ = ["DatasetLoader"]


class DatasetLoader:
    """Iterates over the batches of all data sets.

    file_patterns: the files, as in SimpleDatasetStream; file_sampler: a Sampler of their numbers.
    dataset_fn(file, **dataset_params): a data set; of a list of files when `circle_length` > 1.
    batch_sampler_fn(dataset, **batch_sampler_params): its batch sampler.
    batchify_fn: samples to a batch; stacks by default.
    num_dataset_workers, num_batch_workers: processes that read files and make batches.  Batches are
        made in processes only when both are positive.
    dataset_prefetch, batch_prefetch: how many files and batches to read ahead (default: as many as
        there are workers, and twice as many).
    dataset_cached, num_max_dataset_cached: keeps up to that many data sets, and takes batches from
        them once more while the next file is not read yet.
    """

    def __init__(
        self,
        file_patterns,
        file_sampler,
        dataset_fn=None,
        batch_sampler_fn=None,
        dataset_params=None,
        batch_sampler_params=None,
        batchify_fn=None,
        num_dataset_workers=0,
        num_batch_workers=0,
        pin_memory=False,
        circle_length=1,
        dataset_prefetch=None,
        batch_prefetch=None,
        dataset_cached=False,
        num_max_dataset_cached=0,
    ):
        if dataset_fn is None or batch_sampler_fn is None:
            raise InvalidArgument("DatasetLoader needs dataset_fn and batch_sampler_fn.")
        if min(num_dataset_workers, num_batch_workers) < 0:
            raise InvalidArgument("The numbers of workers must be 0 or more.")
        if num_batch_workers > 0 and num_dataset_workers == 0:
            raise InvalidArgument("num_batch_workers > 0 needs num_dataset_workers > 0.")
        if num_dataset_workers > 0 and num_batch_workers == 0:
            warnings.warn("DatasetLoader: without num_batch_workers everything runs in this process.", stacklevel=2)
        if circle_length < 1:
            raise InvalidArgument(f"circle_length must be 1 or more, not {circle_length}.")
        if dataset_cached and num_max_dataset_cached < 1:
            raise InvalidArgument("dataset_cached needs num_max_dataset_cached > 0.")
        self._files = _PathDataset(file_patterns)
        self._file_sampler = file_sampler
        self._dataset_fn = partial(dataset_fn, **(dataset_params or {}))
        self._batch_sampler_fn = partial(batch_sampler_fn, **(batch_sampler_params or {}))
        self._batchify_fn = batchify_fn or default_batchify_fn
        self._pin_memory = pin_memory
        self._circle_length = circle_length
        self._num_cached = num_max_dataset_cached if dataset_cached else 0
        self._dataset_prefetch = num_dataset_workers if dataset_prefetch is None else max(0, int(dataset_prefetch))
        self._batch_prefetch = 2 * num_batch_workers if batch_prefetch is None else max(0, int(batch_prefetch))
        self._dataset_pool = self._batch_pool = None
        if num_batch_workers > 0:
            context = multiprocessing.get_context("fork")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks in threaded programs
                self._dataset_pool = context.Pool(num_dataset_workers, end_with_parent, orphan_rule())
                self._batch_pool = context.Pool(num_batch_workers, end_with_parent, orphan_rule())

    def __iter__(self):
        batches = self._in_this_process() if self._batch_pool is None else self._in_workers()
        return map(self._pin, batches)

    def _file_groups(self):
        """File names, or with `circle_length` > 1 lists of that many."""
        files = iter([self._files[i] for i in self._file_sampler])
        if self._circle_length == 1:
            return files
        return iter(lambda: list(itertools.islice(files, self._circle_length)), [])

    def _in_this_process(self):
        for files in self._file_groups():
            dataset, sampler = _read(files, self._dataset_fn, self._batch_sampler_fn)
            for batch in sampler:
                yield _make_batch(_samples(dataset, batch), _is_sharded(batch), self._batchify_fn)

    def _in_workers(self):
        jobs = (
            self._batch_pool.apply_async(_make_batch, (_samples(dataset, batch), _is_sharded(batch), self._batchify_fn))
            for dataset, sampler in self._datasets()
            for batch in sampler
        )
        for job in _ahead(jobs, self._batch_prefetch):
            yield job.get()

    def _datasets(self):
        jobs = (
            self._dataset_pool.apply_async(_read, (files, self._dataset_fn, self._batch_sampler_fn))
            for files in self._file_groups()
        )
        cached = collections.deque()
        for job in _ahead(jobs, self._dataset_prefetch):
            while cached and not job.ready():
                yield cached.popleft()
            result = job.get()
            if len(cached) < self._num_cached:
                cached.append(result)
            yield result

    def _pin(self, batch):
        if not self._pin_memory:
            return batch
        from core import cpu_pinned

        if isinstance(batch, (list, tuple)):
            return type(batch)(self._pin(part) for part in batch)
        return batch.as_in_context(cpu_pinned())

    def __del__(self):
        for pool in (getattr(self, "_dataset_pool", None), getattr(self, "_batch_pool", None)):
            if pool is not None:
                pool.terminate()


def _ahead(jobs, number):
    """The same items, of which `number` were started before they are asked for."""
    started = collections.deque(itertools.islice(jobs, number))
    while True:
        started.extend(itertools.islice(jobs, 1))
        if not started:
            return
        yield started.popleft()


def _read(files, dataset_fn, batch_sampler_fn):
    dataset = dataset_fn(files)
    return dataset, batch_sampler_fn(dataset)


def _is_sharded(batch):
    """Whether a batch is a list of batches, one for each device."""
    return isinstance(batch[0], (list, tuple))


def _samples(dataset, batch):
    return [_samples(dataset, shard) for shard in batch] if _is_sharded(batch) else [dataset[i] for i in batch]


def _make_batch(samples, sharded, batchify_fn):
    return [batchify_fn(shard) for shard in samples] if sharded else batchify_fn(samples)
