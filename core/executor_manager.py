"""How a batch is divided over the contexts of a data-parallel network."""

from __future__ import annotations

from core.base import NotSupportedError


class DataParallelExecutorManager:
    """Refuses: `mx.mod.Module` takes its place, as in MXNet itself since 1.0."""

    def __init__(self, *args, **kwargs):
        raise NotSupportedError(
            f"{type(self).__name__} is not offered; mx.mod.Module(symbol, context=[...]) does its work"
        )


class DataParallelExecutorGroup(DataParallelExecutorManager):
    """Refuses, as `DataParallelExecutorManager`."""


def _split_input_slice(batch_size, work_load_list):
    """Slices of a batch in proportion to the work loads; ValueError where one would be empty."""
    total, ends, done = sum(work_load_list), [], 0
    for load in work_load_list[:-1]:
        done = min(done + round(batch_size * load / total), batch_size)
        ends.append(done)
    ends.append(batch_size)
    slices = [slice(begin, end) for begin, end in zip([0, *ends], ends)]
    if any(part.start >= part.stop for part in slices):
        raise ValueError(f"a batch of {batch_size} cannot be divided over {len(work_load_list)} contexts")
    return slices
