"""A data loader whose batches may be lists of batches, one for each device."""

from __future__ import annotations

from gluon.data import DataLoader, Dataset
from gluon.data.dataloader import default_batchify_fn, default_mp_batchify_fn

__all__ = ["ShardedDataLoader"]


class ShardedDataLoader(DataLoader):
    """`gluon.data.DataLoader` that also takes a batch sampler of lists of batches.

    With `FixedBucketSampler(..., num_shards=n)` each item is a list of n batches.  The arguments
    are those of DataLoader.

    >>> data = gluon.data.ArrayDataset(nd.arange(4))
    >>> sampler = gluonnlp.data.FixedBucketSampler([1] * 4, batch_size=2, num_shards=2)
    >>> [len(shards) for shards in gluonnlp.data.ShardedDataLoader(data, batch_sampler=sampler)]
    [2]
    """

    def __init__(
        self,
        dataset,
        batch_size=None,
        shuffle=False,
        sampler=None,
        last_batch=None,
        batch_sampler=None,
        batchify_fn=None,
        num_workers=0,
        pin_memory=False,
        prefetch=None,
        thread_pool=False,
    ):
        if batchify_fn is None:
            batchify_fn = default_mp_batchify_fn if num_workers > 0 else default_batchify_fn
        super().__init__(
            _ShardedDataset(dataset),
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            last_batch=last_batch,
            batch_sampler=batch_sampler,
            batchify_fn=_ShardedBatchify(batchify_fn),
            num_workers=num_workers,
            pin_memory=pin_memory,
            prefetch=prefetch,
            thread_pool=thread_pool,
        )


class _Shard(list):
    """The samples of one batch within a list of batches."""


class _ShardedDataset(Dataset):
    """Gives the sample for a number, and a _Shard for a list of numbers."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __getitem__(self, index):
        if isinstance(index, (list, tuple)):
            return _Shard(self._dataset[i] for i in index)
        return self._dataset[index]

    def __len__(self):
        return len(self._dataset)


class _ShardedBatchify:
    def __init__(self, batchify_fn):
        self._batchify_fn = batchify_fn

    def __call__(self, samples):
        if isinstance(samples[0], _Shard):
            return [self._batchify_fn(shard) for shard in samples]
        return self._batchify_fn(samples)
