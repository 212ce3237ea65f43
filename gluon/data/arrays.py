"""Batches of samples as arrays of the namespace in use (`nd`, or `np` under `npx.set_np`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core import ndarray as nd
from core.dtypes import dtype_name
from core.image.arrays import pixels_of as view
from core.image.arrays import to_array as wrap
from core.ops.registry import F


def stack(samples: Sequence):
    """Equally shaped samples (NDArrays, NumPy arrays, lists or numbers) along a new first axis, dtype kept.

    Raises ValueError when the shapes differ and TypeError for samples without numbers.
    """
    first = samples[0]
    if isinstance(first, nd.NDArray):
        if on_gpu(first) or dtype_name(first.dtype) == "bfloat16":
            return F.stack(*samples)
        return wrap(_stack([view(sample) for sample in samples]), type(first))
    return wrap(_stack(samples))


def gather(data, indices: Sequence[int]):
    """`stack` of the elements `indices` of `data`; in one step where `data` is an array in this machine's memory."""
    if isinstance(data, nd.NDArray) and not on_gpu(data) and dtype_name(data.dtype) != "bfloat16":
        return wrap(_rows(view(data), indices), type(data))
    if type(data) is np.ndarray and data.dtype.kind in "biuf":
        return wrap(_rows(data, indices))
    return stack([data[index] for index in indices])


def using(allocate: Callable[[Sequence[int], object], np.ndarray]) -> None:
    """Makes batches from now on in memory that `allocate(shape, dtype)` gives; worker processes take shared memory."""
    global empty
    empty = allocate


# Called as `arrays.empty(shape, dtype)`.
empty: Callable[..., np.ndarray] = np.empty


def on_gpu(array) -> bool:
    """Whether an array lies on a GPU, which worker processes cannot share."""
    return array.ctx.device_type == "gpu"


def _rows(data: np.ndarray, indices: Sequence[int]) -> np.ndarray:
    if data.ndim == 1:
        return data[indices]
    batch = empty((len(indices), *data.shape[1:]), data.dtype)
    for place, index in enumerate(indices):
        batch[place] = data[index]
    return batch


def _stack(samples: Sequence) -> np.ndarray:
    first = samples[0]
    numeric = isinstance(first, np.ndarray) and first.dtype.kind in "biuf"
    try:
        if numeric and all(getattr(sample, "dtype", None) == first.dtype for sample in samples):
            array = np.stack(samples, out=empty((len(samples), *first.shape), first.dtype))
        else:
            array = np.asarray(samples)
    except ValueError:
        array = None
    if array is None or array.dtype == object:
        shapes = {np.shape(sample) for sample in samples if isinstance(sample, np.ndarray | list)}
        if len(shapes) > 1:
            raise ValueError(
                f"samples of the shapes {', '.join(map(str, sorted(shapes)))} cannot be stacked; give the loader a "
                "batchify_fn, such as gluon.data.batchify.Pad()"
            )
    if array is None or array.dtype.kind not in "biuf":
        kinds = ", ".join(dict.fromkeys(type(sample).__name__ for sample in samples))
        raise TypeError(
            f"samples of type {kinds} cannot be stacked; give the loader a batchify_fn, "
            "such as gluon.data.batchify.AsList()"
        )
    return array
