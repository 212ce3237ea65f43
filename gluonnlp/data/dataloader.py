"""A data loader whose batches may be lists of batches, one for each device."""

from __future__ import annotations

from gluon.data import DataLoader

__all__ = ["ShardedDataLoader"]


class ShardedDataLoader(DataLoader):
    """`gluon.data.DataLoader` that also takes a batch sampler of lists of batches.

    With `FixedBucketSampler(..., num_shards=n)` each item is a list of n batches.  The arguments
    are those of DataLoader.
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
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            last_batch,
            batch_sampler,
            batchify_fn,
            num_workers,
            pin_memory,
            prefetch=prefetch,
            thread_pool=thread_pool,
        )
