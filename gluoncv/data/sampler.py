"""Which samples the loader of one process of several takes."""

from __future__ import annotations

import math
import random

import numpy as np

from gluon.data.sampler import Sampler

__all__ = ["ShuffleSplitSampler", "SplitSampler", "SplitSortedBucketSampler"]


class SplitSampler(Sampler):
    """Part `part_index` of `num_parts` equal parts of `length` samples (what is left over belongs to none), shuffled by
    Python's generator.

    >>> sorted(int(i) for i in gluoncv.data.SplitSampler(6, num_parts=2, part_index=1))
    [3, 4, 5]
    """

    def __init__(self, length, num_parts=1, part_index=0):
        self.part_len = length // num_parts
        self.start = self.part_len * part_index
        self.end = self.start + self.part_len

    def __iter__(self):
        indices = list(range(self.start, self.end))
        random.shuffle(indices)
        return iter(indices)

    def __len__(self):
        return self.part_len


class ShuffleSplitSampler(Sampler):
    """Part `part_index` of all samples, which every process shuffles alike by `seed`, anew each time.

    The last part has what is left over.

    >>> sorted([*gluoncv.data.ShuffleSplitSampler(4, 2, 0), *gluoncv.data.ShuffleSplitSampler(4, 2, 1)])
    [0, 1, 2, 3]
    """

    def __init__(self, length, num_parts=1, part_index=0, seed=0):
        self._state, self._indices = np.random.RandomState(seed), list(range(length))
        size = length // num_parts
        self._start, self._end = size * part_index, length if part_index == num_parts - 1 else size * (part_index + 1)

    def __iter__(self):
        self._state.shuffle(self._indices)
        return iter(self._indices[self._start : self._end])

    def __len__(self):
        return self._end - self._start


class SplitSortedBucketSampler(Sampler):
    """Batches of indices with similar `sort_keys`, from part `part_index` of `num_parts`.

    Samples are sorted within buckets of `mult * batch_size`, upwards or downwards by Python's generator. shuffle: the
    samples of the part, and the batches of a bucket, in an order drawn by `numpy.random`. seed: of the shuffling that
    decides which samples a part has. A batch that is not full takes samples of the one before it.
    """

    def __init__(self, sort_keys, batch_size, mult=32, num_parts=1, part_index=0, shuffle=False, seed=233):
        if not (len(sort_keys) > 0 and batch_size > 0 and mult >= 1):
            raise AssertionError(
                f"SplitSortedBucketSampler takes keys, a batch size above 0 and mult of 1 or more; "
                f"given {len(sort_keys)} keys, {batch_size} and {mult}"
            )
        self._sort_keys, self._batch_size, self._mult, self._shuffle = sort_keys, batch_size, mult, shuffle
        length = len(sort_keys)
        size = math.ceil(length / num_parts)
        self._start = length - size if part_index == num_parts - 1 else size * part_index
        self._end = self._start + size
        self._num_parts, self._seed = num_parts, seed
        self._shuffled_ids = np.random.RandomState(seed=seed).permutation(length)

    def __iter__(self):
        if self._num_parts > 1:
            self._shuffled_ids = np.random.RandomState(seed=self._seed).permutation(self._shuffled_ids)
        ids = range(self._start, self._end)
        if self._shuffle:
            ids = np.random.permutation(self._shuffled_ids[self._start : self._end])
        size, bucket = self._batch_size, int(self._mult * self._batch_size)
        for begin in range(0, len(ids), bucket):
            end = min(begin + bucket, len(ids))
            begin = max(0, min(begin, end - size))
            order = sorted(ids[begin:end], key=lambda i: self._sort_keys[i], reverse=bool(random.randint(0, 1)))
            starts = list(range(0, len(order), size))
            if self._shuffle:
                np.random.shuffle(starts)
            for start in starts:
                stop = min(start + size, len(order))
                yield order[max(0, min(start, stop - size)) : stop]

    def __len__(self):
        return math.ceil((self._end - self._start) / self._batch_size)
