"""Batches from a pool of `multiprocessing`: what loaders written for MXNet build on.

`DataLoader` has workers of its own.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
from typing import Any

from core.context import Context, cpu_pinned, num_gpus
from core.ndarray import NDArray
from gluon.data.workers import WorkerError


class PoolIter:
    """Batches in the order of `batch_sampler`, made by `worker_fn(indices, batchify_fn, dataset)` in `worker_pool`.

    `worker_fn` gives a pickle of the batch where `dataset` is None (processes), else the batch itself (threads).
    `prefetch`: batches asked for at the start. Subclasses override `_push_next`. `WorkerError` after `timeout` seconds.
    """

    def __init__(
        self,
        worker_pool,
        batchify_fn,
        batch_sampler,
        pin_memory=False,
        pin_device_id=0,
        worker_fn=None,
        prefetch=0,
        dataset=None,
        data_loader=None,
        timeout=120,
    ):
        self._worker_pool, self._worker_fn = worker_pool, worker_fn
        self._batchify_fn, self._batch_sampler = batchify_fn, batch_sampler
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._dataset, self._data_loader, self._timeout = dataset, data_loader, timeout
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter = iter(batch_sampler)
        for _ in range(prefetch):
            self._push_next()

    def __len__(self):
        return len(self._batch_sampler)

    def __iter__(self):
        return self

    def __next__(self):
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        try:
            batch = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        except multiprocessing.TimeoutError:
            raise WorkerError(f"no batch from the pool within {self._timeout} s") from None
        batch = pickle.loads(batch) if self._dataset is None else batch
        self._rcvd_idx += 1
        return in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    def next(self):
        return next(self)

    def _push_next(self) -> None:
        for indices in itertools.islice(self._iter, 1):
            arguments = indices, self._batchify_fn, self._dataset
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, arguments)
            self._sent_idx += 1


def in_context(data: Any, ctx: Context) -> Any:
    """The arrays in nested lists and tuples moved to `ctx`; anything else as it is."""
    if isinstance(data, NDArray):
        if ctx.device_type == "cpu_pinned" and not num_gpus():
            return type(data)._wrap(data._data, ctx)  # all memory is alike
        return data.as_in_context(ctx)
    if isinstance(data, list | tuple):
        return [in_context(item, ctx) for item in data]
    return data
