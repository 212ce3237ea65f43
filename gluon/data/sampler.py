"""Samplers: which samples a loader takes, in which order, and how they are cut into batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from core.base import BadArgument


class Sampler:
    """Indices of samples behind `iter(sampler)` and `len(sampler)`; subclasses define the two.

    >>> isinstance(gluon.data.RandomSampler(3), gluon.data.Sampler)
    True
    """

    def __iter__(self) -> Iterator:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")


class SequentialSampler(Sampler):
    """`start`, `start + 1`, ..., `length` of them.

    >>> list(gluon.data.SequentialSampler(3, start=10))
    [10, 11, 12]
    """

    def __init__(self, length: int, start: int = 0):
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """0..length-1 in an order drawn for each pass from NumPy's global generator (`numpy.random.seed`).

    >>> sorted(gluon.data.RandomSampler(3))
    [np.int64(0), np.int64(1), np.int64(2)]
    """

    def __init__(self, length: int):
        self._length = length

    def __iter__(self) -> Iterator[int]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples of `dataset` for which `fn(sample)` is true, found once, in order.

    >>> list(gluon.data.FilterSampler(lambda x: x > 2, gluon.data.SimpleDataset([1, 5, 2, 4])))
    [1, 3]
    """

    def __init__(self, fn: Callable[[Any], bool], dataset):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """0, interval, 2 interval, ... below `length`; with `rollover` then 1, 1 + interval, ... until all were visited.

    The length is `length` in both cases, as in MXNet.

    >>> list(gluon.data.IntervalSampler(5, interval=2))
    [0, 2, 4, 1, 3]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True):
        if not 0 < interval <= length:
            raise BadArgument(f"IntervalSampler needs interval 1..length, got interval {interval}, length {length}")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length


class BatchSampler(Sampler):
    """Lists of `batch_size` indices from `sampler`.

    `last_batch` says what becomes of a last batch that is not full: "keep" yields it, "discard" drops it,
    "rollover" puts its indices in front of the next pass.

    >>> list(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, last_batch="discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {last_batch}")
        if batch_size < 1:
            raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list = []

    def __iter__(self) -> Iterator[list]:
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        if self._last_batch == "discard":
            return count // self._batch_size
        return (len(self._prev) + count) // self._batch_size


class SplitSampler(Sampler):
    """The samples of one process: part `part_index` of `num_parts` contiguous parts of `length` samples.

    With a distributed kvstore: `SplitSampler(len(data), kv.num_workers, kv.rank)`.

    even_size: False: parts differ by one sample where they must, 51 and 50 for `SplitSampler(101, 2, i)`, and so may the
    numbers of batches (see `Trainer.join`). True or "pad": every part has the size of the largest, 51; what lacks is drawn
    from all samples. "drop": every part has the size of the smallest, 50; the samples behind the last part are left out.
    repeat: how often the part is gone through in one iteration.
    shuffle: shuffles the part each time, by Python's global generator.
    seed: parts are dealt, sample by sample, from one order of all samples, that of the seed and the epoch (shuffle=False: as
    they lie): with batches of B / num_parts, all parts together see the same batches of B whatever num_parts is, so that a
    run may go on with another number of processes. See `set_epoch`.

    >>> sorted(gluon.data.SplitSampler(6, num_parts=2, part_index=1))
    [3, 4, 5]
    """

    def __init__(self, length, num_parts=1, part_index=0, even_size=False, repeat=1, shuffle=True, seed=None):
        if length < num_parts:
            raise BadArgument(f"{length} samples cannot be split into {num_parts} parts.")
        if even_size not in (False, True, "pad", "drop"):
            raise ValueError(f"even_size is False, True, 'pad' or 'drop', got {even_size!r}")
        self.even_size = even_size
        self.num_parts = num_parts
        self._total_length = length
        if even_size:
            self._len = length // num_parts if even_size == "drop" else -(-length // num_parts)
            self._start, self._end = (min(self._len * i, length) for i in (part_index, part_index + 1))
        else:
            size, left_over = divmod(length, num_parts)
            self._start, self._end = (size * i + min(i, left_over) for i in (part_index, part_index + 1))
            self._len = self._end - self._start
        self._repeat = repeat
        self._shuffle = shuffle
        self._seed, self._part = seed, part_index
        self._epoch, self._done = 0, 0
        if seed is not None and repeat != 1:
            raise ValueError(f"repeat is 1 where a seed gives each epoch an order of its own, got {repeat}")

    def set_epoch(self, epoch, done=0):
        """Goes on in an epoch, from 0, of which all parts together have seen `done` samples; for a sampler with a seed.

        After each iteration the next epoch begins. ValueError where `done` is no multiple of num_parts below the length.
        """
        if self._seed is None:
            raise ValueError("set_epoch is for a SplitSampler with a seed, whose order is that of an epoch")
        if not 0 <= done <= self._total_length or done % self.num_parts:
            raise ValueError(
                f"done is a multiple of {self.num_parts} parts up to {self._total_length} samples, got {done}"
            )
        self._epoch, self._done = epoch, done

    def _dealt(self):
        """What this part still sees of the epoch."""
        order, draws = list(range(self._total_length)), random.Random(f"{self._seed} {self._epoch}")
        if self._shuffle:
            draws.shuffle(order)
        if self.even_size == "drop":
            del order[self._len * self.num_parts :]
        elif self.even_size:
            order += draws.sample(order, self._len * self.num_parts - len(order))
        return order[self._done + self._part :: self.num_parts]

    def __iter__(self):
        if self._seed is not None:
            dealt = self._dealt()
            self._epoch, self._done = self._epoch + 1, 0
            return iter(dealt)
        order = []
        for _ in range(self._repeat):
            part = list(range(self._start, self._end))
            part += random.sample(range(self._total_length), k=self._len - len(part))
            if self._shuffle:
                random.shuffle(part)
            order += part
        return iter(order)

    def __len__(self):
        return self._len * self._repeat - self._done // self.num_parts
