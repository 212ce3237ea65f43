"""Samplers: in which order, and in which batches, samples are read."""

from __future__ import annotations

import warnings

import numpy as np

from gluon.data import Sampler, SplitSampler

from .._constants import INT_TYPES
from ..base import InvalidArgument

__all__ = [
    "ConstWidthBucket",
    "LinearWidthBucket",
    "ExpWidthBucket",
    "SortedSampler",
    "FixedBucketSampler",
    "SortedBucketSampler",
    "SplitSampler",
]


class BucketScheme:
    """Chooses the keys of buckets: the longest sequence that each takes.

    Called with the largest and the smallest length (integers, or tuples for samples of several
    sequences) and the number of buckets; gives that many keys.
    """

    def __call__(self, max_lengths, min_lengths, num_buckets):
        if isinstance(max_lengths, INT_TYPES):
            return self.keys(max_lengths, min_lengths, num_buckets)
        per_sequence = [self.keys(high, low, num_buckets) for high, low in zip(max_lengths, min_lengths, strict=True)]
        return list(zip(*per_sequence, strict=True))

    def keys(self, longest, shortest, num_buckets):
        """The keys for one sequence."""
        raise NotImplementedError


class ConstWidthBucket(BucketScheme):
    """Buckets of the same width, from the longest length down.

    >>> gluonnlp.data.ConstWidthBucket()(max_lengths=20, min_lengths=5, num_buckets=3)
    [20, 15, 10]
    """

    def keys(self, longest, shortest, num_buckets):
        width = max((1 + longest - shortest) // num_buckets, 1)
        return [max(longest - i * width, shortest) for i in range(num_buckets)]


class LinearWidthBucket(BucketScheme):
    """Buckets whose width grows by a constant from one to the next.

    >>> gluonnlp.data.LinearWidthBucket()(max_lengths=20, min_lengths=5, num_buckets=3)
    [8, 13, 20]
    """

    def keys(self, longest, shortest, num_buckets):
        growth = 2 * float(longest - shortest - num_buckets) / (num_buckets * (num_buckets + 1))
        return _reach([shortest + growth * (i * (i + 1) / 2) + i for i in range(1, num_buckets + 1)], longest)


class ExpWidthBucket(BucketScheme):
    """Buckets whose width grows by the factor `bucket_len_step` from one to the next.

    >>> gluonnlp.data.ExpWidthBucket()(max_lengths=20, min_lengths=5, num_buckets=3)
    [10, 15, 20]
    """

    def __init__(self, bucket_len_step=1.1):
        self.bucket_len_step = bucket_len_step

    def keys(self, longest, shortest, num_buckets):
        step = self.bucket_len_step
        first = (longest - shortest) * (step - 1) / (step**num_buckets - 1)
        return _reach([shortest + first * (step**i - 1) / (step - 1) for i in range(1, num_buckets + 1)], longest)


def _reach(bounds, longest):
    """Bounds as integers, the last one at least the longest length."""
    keys = [round(b) for b in bounds]
    keys[-1] = max(keys[-1], longest)
    return keys


class SortedSampler(Sampler):
    """All samples in the order of their keys, the largest first unless `reverse` is False.

    >>> [int(i) for i in gluonnlp.data.SortedSampler([1, 5, 2, 6])]
    [3, 1, 2, 0]
    """

    def __init__(self, sort_keys, reverse=True):
        if not len(sort_keys):
            raise InvalidArgument("There is nothing to sort: sort_keys is empty.")
        self._sorted_ids = sorted(range(len(sort_keys)), key=lambda i: sort_keys[i], reverse=reverse)

    def __iter__(self):
        return iter(self._sorted_ids)

    def __len__(self):
        return len(self._sorted_ids)


class FixedBucketSampler(Sampler):
    """Batches of samples of similar length.

    Every sample goes to the bucket that pads it least, and a batch comes from one bucket.

    lengths: an integer for each sample, or a tuple when a sample has several sequences.
    batch_size: samples per batch; with `use_average_length`, sequence elements per batch (then a bucket's
        batches hold `batch_size / (mean + deviation of its lengths)` samples).
    num_buckets, bucket_scheme: how keys are chosen when `bucket_keys` are not given (by default buckets of one width).
    ratio: buckets of short sequences get batches larger by (longest key / key * ratio), never smaller.
    shuffle: new order of batches and of samples within their bucket each time, by NumPy's global generator.
    num_shards: when above 0, lists of that many batches are given, one for each device; the
        last list is filled up with batches that were already part of the one before.

    Raises ValueError for lengths below 1, or that fit no bucket.

    >>> sampler = gluonnlp.data.FixedBucketSampler([1, 5, 2, 6, 1], batch_size=2, num_buckets=2)
    >>> [[int(i) for i in batch] for batch in sampler]
    [[1, 3], [0, 2], [4]]
    """

    def __init__(
        self,
        lengths,
        batch_size,
        num_buckets=10,
        bucket_keys=None,
        ratio=0,
        shuffle=False,
        use_average_length=False,
        num_shards=0,
        bucket_scheme=None,
    ):
        if not len(lengths):
            raise InvalidArgument("There are no samples: lengths is empty.")
        if batch_size <= 0:
            raise InvalidArgument(f"batch_size must be above 0, not {batch_size}.")
        if ratio < 0:
            raise InvalidArgument(f"ratio must be 0 or more, not {ratio}.")
        self._lengths = np.array(lengths, dtype=np.int32)
        if self._lengths.ndim > 2:
            raise InvalidArgument("lengths holds an integer, or a tuple of integers, for each sample.")
        if self._lengths.min() < 1:
            raise InvalidArgument("Sequence lengths must all be 1 or more.")
        self._shuffle = shuffle
        self._num_shards = num_shards
        if bucket_keys is None:
            if num_buckets is None or num_buckets < 1:
                raise InvalidArgument(f"num_buckets must be 1 or more without bucket_keys, not {num_buckets}.")
            longest, shortest = self._lengths.max(axis=0).tolist(), self._lengths.min(axis=0).tolist()
            bucket_keys = (bucket_scheme or ConstWidthBucket())(longest, shortest, num_buckets)
        elif num_buckets is not None:
            warnings.warn("FixedBucketSampler: bucket_keys are given, num_buckets is not used.", stacklevel=2)
        self._fill_buckets(sorted(set(bucket_keys)))
        if use_average_length:
            if ratio > 0:
                warnings.warn("FixedBucketSampler: ratio is not used with use_average_length.", stacklevel=2)
            self._bucket_batch_sizes = self._sizes_by_elements(batch_size)
        else:
            widths = [key if isinstance(key, INT_TYPES) else sum(key) for key in self._bucket_keys]
            self._bucket_batch_sizes = [
                max(int(max(widths) / float(w) * ratio * batch_size), batch_size) for w in widths
            ]
        # (bucket, first sample within it), long buckets first
        self._batch_infos = [
            (bucket, begin)
            for bucket in reversed(range(len(self._bucket_keys)))
            for begin in range(0, len(self._bucket_sample_ids[bucket]), self._bucket_batch_sizes[bucket])
        ]

    def _fill_buckets(self, keys):
        buckets = _least_padding(keys, self._lengths)
        filled = [i for i, ids in enumerate(buckets) if ids]
        if len(filled) < len(keys):
            empty = [key for key, ids in zip(keys, buckets, strict=True) if not ids]
            warnings.warn(f"FixedBucketSampler: buckets {empty} are empty and left out.", stacklevel=3)
        self._bucket_keys = [keys[i] for i in filled]
        self._bucket_sample_ids = [buckets[i] for i in filled]

    def _sizes_by_elements(self, elements):
        in_bucket = [self._lengths[ids] for ids in self._bucket_sample_ids]
        return [max(int(elements / (np.mean(n) + np.std(n))), 1) for n in in_bucket]

    def __iter__(self):
        if self._shuffle:
            np.random.shuffle(self._batch_infos)
            for ids in self._bucket_sample_ids:
                np.random.shuffle(ids)
        if not self._num_shards:
            yield from (self._batch(*info) for info in self._batch_infos)
            return
        for begin in range(0, len(self._batch_infos), self._num_shards):
            if begin + self._num_shards > len(self._batch_infos):
                begin = len(self._batch_infos) - self._num_shards
            yield [self._batch(*info) for info in self._batch_infos[begin : begin + self._num_shards]]

    def _batch(self, bucket, begin):
        return self._bucket_sample_ids[bucket][begin : begin + self._bucket_batch_sizes[bucket]]

    def __len__(self):
        return -(-len(self._batch_infos) // (self._num_shards or 1))

    def stats(self):
        """The number of samples and batches, and the key, sample count and batch size of each bucket, as text."""
        return (
            f"{type(self).__name__}:\n"
            f"  sample_num={len(self._lengths)}, batch_num={len(self._batch_infos)}\n"
            f"  key={self._bucket_keys}\n"
            f"  cnt={[len(ids) for ids in self._bucket_sample_ids]}\n"
            f"  batch_size={self._bucket_batch_sizes}"
        )


def _least_padding(keys, lengths):
    """For each key the samples that fit it with less padding (summed over the sequences) than any other."""
    keys = np.array(keys, dtype=np.int32)
    buckets = [[] for _ in keys]
    block = max(1, 10_000_000 // (len(keys) * max(1, keys[0].size)))  # bounds the memory of the comparison
    for begin in range(0, len(lengths), block):
        room = keys[None] - lengths[begin : begin + block, None]
        fits, padding = (room >= 0, room) if room.ndim == 2 else ((room >= 0).all(axis=2), room.sum(axis=2))
        if not fits.any(axis=1).all():
            unfit = lengths[begin : begin + block][~fits.any(axis=1)]
            raise ValueError(f"Lengths {unfit[:10].tolist()} fit none of the buckets {keys.tolist()}.")
        chosen = np.where(fits, padding, np.iinfo(padding.dtype).max).argmin(axis=1)
        for i, bucket in enumerate(chosen.tolist(), begin):
            buckets[bucket].append(i)
    return buckets


class SortedBucketSampler(Sampler):
    """Batches of samples with similar keys: windows of `mult * batch_size` samples are sorted, then cut.

    The largest key comes first unless `reverse` is False.  With `shuffle` the windows are random
    and their batches come in random order, by NumPy's global generator.

    >>> [[int(i) for i in batch] for batch in gluonnlp.data.SortedBucketSampler([1, 5, 2, 6], batch_size=2)]
    [[3, 1], [2, 0]]
    """

    def __init__(self, sort_keys, batch_size, mult=100, reverse=True, shuffle=False):
        if not len(sort_keys):
            raise InvalidArgument("There is nothing to sort: sort_keys is empty.")
        if batch_size <= 0:
            raise InvalidArgument(f"batch_size must be above 0, not {batch_size}.")
        if mult < 1:
            raise InvalidArgument(f"mult, the batches in a window, must be 1 or more, not {mult}.")
        self._sort_keys = sort_keys
        self._batch_size = batch_size
        self._window = int(mult * batch_size)
        self._reverse = reverse
        self._shuffle = shuffle

    def __iter__(self):
        total = len(self._sort_keys)
        ids = np.random.permutation(total).tolist() if self._shuffle else list(range(total))
        for begin in range(0, total, self._window):
            window = sorted(ids[begin : begin + self._window], key=lambda i: self._sort_keys[i], reverse=self._reverse)
            starts = list(range(0, len(window), self._batch_size))
            if self._shuffle:
                np.random.shuffle(starts)
            for start in starts:
                yield window[start : start + self._batch_size]

    def __len__(self):
        return -(-len(self._sort_keys) // self._batch_size)
