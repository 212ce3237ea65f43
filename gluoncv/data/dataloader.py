"""Loaders of pictures with any number of boxes, and of pictures whose size changes between batches."""

from __future__ import annotations

import numpy as np

from core import nd
from gluon.data.dataloader import DataLoader
from gluon.data.dataset import Dataset
from gluon.data.sampler import Sampler

__all__ = [
    "DetectionDataLoader", "RandomTransformDataLoader", "default_mp_pad_batchify_fn", "default_pad_batchify_fn",
    "tsn_mp_batchify_fn",
]  # fmt: skip


def default_pad_batchify_fn(data):
    """`mx.nd` arrays stacked; NumPy arrays (M, K) padded by -1 to the longest, (N, max M, K); tuples field by field."""
    if isinstance(data[0], nd.NDArray):
        return nd.stack(*data)
    if isinstance(data[0], tuple):
        return [default_pad_batchify_fn(field) for field in zip(*data)]
    data = [np.asarray(x) for x in data]
    batch = np.full((len(data), max(1, *map(len, data)), data[0].shape[-1]), -1, data[0].dtype)
    for row, sample in zip(batch, data):
        row[: len(sample)] = sample
    return nd.array(batch, dtype=batch.dtype)


def default_mp_pad_batchify_fn(data):
    """`default_pad_batchify_fn`, as worker processes use it: the batch reaches the parent through shared memory."""
    return default_pad_batchify_fn(data)


def tsn_mp_batchify_fn(data):
    """Joins videos of several clips along their first axis, stacks NumPy arrays and numbers; tuples field by field."""
    if isinstance(data[0], nd.NDArray):
        return nd.concat(*data, dim=0)
    if isinstance(data[0], tuple):
        return [tsn_mp_batchify_fn(field) for field in zip(*data)]
    data = np.asarray(data)
    return nd.array(data, dtype=data.dtype)


class DetectionDataLoader(DataLoader):
    """`gluon.data.DataLoader` that pads boxes, see `default_pad_batchify_fn`.

    >>> picture = nd.ones((3, 4, 4))
    >>> data = gluon.data.SimpleDataset([(picture, onp.ones((1, 5))), (picture, onp.ones((2, 5)))])
    >>> pictures, boxes = next(iter(gluoncv.data.DetectionDataLoader(data, batch_size=2)))
    >>> pictures.shape, boxes.shape
    ((2, 3, 4, 4), (2, 2, 5))
    """

    def __init__(
        self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, batch_sampler=None,
        batchify_fn=None, num_workers=0,
    ):  # fmt: skip
        batchify_fn = batchify_fn or default_pad_batchify_fn
        super().__init__(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers)


class RandomTransformDataLoader(DataLoader):
    """`gluon.data.DataLoader` that applies one of `transform_fns` to the samples, another one every `interval` batches.

    They are drawn by `numpy.random` in this process, whoever makes the batches.

    >>> data = gluon.data.SimpleDataset([(nd.ones((4, 4, 3)), 1)] * 4)
    >>> halve = lambda picture, label: (picture[::2, ::2], label)
    >>> for pictures, labels in gluoncv.data.RandomTransformDataLoader([halve], data, batch_size=2):
    ...     print(pictures.shape)
    (2, 2, 2, 3)
    (2, 2, 2, 3)
    """

    def __init__(
        self, transform_fns, dataset, interval=1, batch_size=None, shuffle=False, sampler=None, last_batch=None,
        batch_sampler=None, batchify_fn=None, num_workers=0, pin_memory=False, pin_device_id=0, prefetch=None, **kwargs,
    ):  # fmt: skip
        self._transform_fns = list(transform_fns)
        if not self._transform_fns:
            raise AssertionError("RandomTransformDataLoader takes at least one transform")
        super().__init__(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory,
            pin_device_id, prefetch, **kwargs,
        )  # fmt: skip
        self._batch_sampler = _WithTransform(self._batch_sampler, len(self._transform_fns), max(int(interval), 1))

    def _make(self, drawn):
        transform, indices = drawn
        dataset: Dataset = self._dataset.transform(self._transform_fns[transform])
        return self._batchify_fn([dataset[index] for index in indices])


class _WithTransform(Sampler):
    """Batches of a sampler, each with the number of its transform."""

    def __init__(self, batches, count, interval):
        self._batches, self._count, self._interval = batches, count, interval

    def __iter__(self):
        number = np.random.choice(self._count)
        for k, batch in enumerate(self._batches):
            if k % self._interval == 0:
                number = np.random.choice(self._count)
            yield int(number), batch

    def __len__(self):
        return len(self._batches)
