"""Functions that make a batch of a list of samples, for `DataLoader(batchify_fn=...)` (names of MXNet 2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core import ndarray as nd
from core.util import is_np_array
from gluon.data import arrays

__all__ = ["Append", "AsList", "Group", "Pad", "Stack"]


class Stack:
    """Stacks equally shaped samples (arrays, lists of numbers, numbers) along a new first axis; tuples field by field.

    `use_shared_mem` is accepted as in MXNet: the loader itself puts batches of its workers into shared memory.
    """

    def __init__(self, use_shared_mem: bool = False):
        pass

    def __call__(self, data: Sequence) -> Any:
        if isinstance(data[0], tuple):
            return [self(field) for field in zip(*data)]
        return arrays.stack(data)


class Pad:
    """Pads samples of one rank at the end of every axis to the longest and stacks them along a new first axis.

    Parameters
    ----------
    val : the padding value, default 0.
    dtype : of the batch; default: that of the samples.
    round_to : make every padded length a multiple of this.
    use_shared_mem : accepted as in MXNet, see `Stack`.

    Samples are NumPy arrays, lists of numbers or (slower) NDArrays.
    """

    def __init__(self, val: float | None = None, dtype=None, round_to: int | None = None, use_shared_mem: bool = False):
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to
        self._warned = False

    def __call__(self, data: Sequence) -> Any:
        first = data[0]
        if not isinstance(first, nd.NDArray | np.ndarray | list):
            raise NotImplementedError(
                f"Pad takes arrays or lists of numbers, got {type(first).__name__}; for samples of several fields use "
                "Group(Pad(), Pad(), ...)"
            )
        if isinstance(first, nd.NDArray) and not self._warned:
            self._warned = True
            warnings.warn("Pad is faster with lists or NumPy arrays than with NDArrays", stacklevel=2)
        samples = [sample.asnumpy() if isinstance(sample, nd.NDArray) else np.asarray(sample) for sample in data]
        shape = np.max([sample.shape for sample in samples], axis=0)
        if self._round_to is not None:
            shape = -(-shape // self._round_to) * self._round_to
        dtype = self._dtype or np.result_type(*samples)
        batch = arrays.empty((len(samples), *shape), dtype)
        batch[...] = self._val
        for row, sample in zip(batch, samples):
            row[tuple(map(slice, sample.shape))] = sample
        return arrays.wrap(batch)


class Append:
    """The samples as a list of arrays of any shapes, each (with `expand`) given a batch axis of length 1."""

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False):
        self._expand = expand
        self._batch_axis = batch_axis

    def __call__(self, data: Sequence) -> list:
        samples = [sample if isinstance(sample, nd.NDArray) else _array(sample) for sample in data]
        return [sample.expand_dims(self._batch_axis) for sample in samples] if self._expand else samples


class Group:
    """One function for each field of the samples: `Group(Stack(), Pad(), AsList())`; gives a tuple."""

    def __init__(self, fn: Callable | Sequence[Callable], *args: Callable):
        if isinstance(fn, list | tuple):
            if args:
                raise ValueError("Group takes its functions one by one or as a single list, not both")
            self._fn = tuple(fn)
        else:
            self._fn = (fn, *args)
        for position, function in enumerate(self._fn):
            if not callable(function):
                raise TypeError(f"Group needs functions, argument {position} is a {type(function).__name__}")

    def __call__(self, data: Sequence) -> tuple:
        if len(data[0]) != len(self._fn):
            raise ValueError(f"Group has {len(self._fn)} functions for samples of {len(data[0])} fields")
        return tuple(function([sample[i] for sample in data]) for i, function in enumerate(self._fn))


class AsList:
    """The samples as they are, in a list: for texts and other things that are no arrays."""

    def __call__(self, data: Sequence) -> list:
        return list(data)


def _array(sample):
    """float32, but a NumPy array under `npx.set_np`, which keeps its dtype: as `nd.array` and `np.array` do."""
    values = np.asarray(sample)
    keep = is_np_array() and values is sample
    return arrays.wrap(values.copy() if keep else values.astype("float32"))
