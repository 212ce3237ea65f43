"""Datasets: anything with a length and integer indexing, and the views that can be taken of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from core import recordio
from core.base import BadArgument
from core.dtypes import dtype_name
from core.html import table
from gluon.data import arrays
from gluon.data.sampler import FilterSampler, Sampler, SequentialSampler


class Dataset:
    """Samples behind `len(dataset)` and `dataset[i]`, i in 0..len-1; subclasses define the two.

    `transform(f)` maps samples, `transform_first(f)` their first part, both when they are asked for unless lazy=False; `filter`, `take`,
    `shard` and `sample` pick samples.

    >>> data = gluon.data.SimpleDataset([1, 2, 3]).transform(lambda x: x * 10)
    >>> data[2], len(data.filter(lambda x: x > 10))
    (30, 2)
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")

    def _repr_html_(self) -> str:
        facts = f"<b>{type(self).__name__}</b> of {len(self):,} samples"
        if not len(self):
            return facts
        sample = self[0]
        fields = sample if isinstance(sample, tuple) else (sample,)
        rows = [
            (k, type(x).__name__, getattr(x, "shape", ""), dtype_name(x.dtype) if hasattr(x, "dtype") else x)
            for k, x in enumerate(fields)
        ]
        return facts + table(rows, ("field of the first", "class", "shape", "type or value"))

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """The samples for which `fn(sample)` is true; every sample is read once to find them."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of `num_shards` contiguous parts whose lengths differ by one at most, longer ones first."""
        if not 0 <= index < num_shards:
            raise BadArgument(
                f"shard index {index} is out of range; with {num_shards} shards it is 0..{num_shards - 1}"
            )
        length, extra = divmod(len(self), num_shards)
        start = length * index + min(index, extra)
        return _SampledDataset(self, SequentialSampler(length + (index < extra), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all of them for None or a count beyond the length.

        As in MXNet, of a negative count there is a dataset without samples, whose length raises ValueError.
        """
        length = len(self) if count is None else min(count, len(self))
        return _SampledDataset(self, SequentialSampler(length))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples in the order in which `sampler` yields their indices, drawn once, now."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Every sample through `fn`, which gets the fields of a tuple as separate arguments.

        Lazy: anew at each access, as random augmentation needs. Otherwise once, now, for all samples.
        """
        transformed = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset([transformed[i] for i in range(len(transformed))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """Only the first field of every sample (the image beside a label) through `fn`."""
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """A list, or anything else with a length and indexing, as a dataset.

    >>> data = gluon.data.SimpleDataset(["a", "b"])
    >>> len(data), data[0]
    (2, 'a')
    """

    def __init__(self, data):
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Equally long arrays, lists or datasets side by side: sample i is the tuple of their elements i.

    With a single argument a sample is the element itself. One-dimensional NDArrays are kept as NumPy arrays, so
    that labels come out as scalars. Raises ValueError when the lengths differ.

    >>> data = gluon.data.ArrayDataset(nd.array([[1, 2], [3, 4]]), [7, 8])
    >>> len(data), data[1][1]
    (2, 8)
    """

    def __init__(self, *args):
        if not args:
            raise BadArgument("ArrayDataset needs at least 1 array")
        lengths = [len(data) for data in args]
        if len(set(lengths)) > 1:
            raise BadArgument(f"ArrayDataset needs arrays of one length, got lengths {lengths}")
        self._length = lengths[0]
        self._data = [_scalars(data) for data in args]

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length

    def batch(self, indices: Sequence[int]) -> list:
        """The samples `indices` field by field, which for fields that are arrays costs one step instead of many."""
        return [arrays.gather(data, indices) for data in self._data]


class RecordFileDataset(Dataset):
    """The raw records (bytes) of a RecordIO file `NAME.rec`, found through the `NAME.idx` beside it.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> writer = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> writer.write_idx(0, b"first")
    >>> writer.close()
    >>> gluon.data.RecordFileDataset(path + ".rec")[0]
    b'first'
    """

    def __init__(self, filename: str | os.PathLike):
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _LazyTransformDataset(Dataset):
    def __init__(self, data, fn: Callable[..., Any]):
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _TransformFirstClosure:
    """A class rather than a closure, so that the dataset can be pickled."""

    def __init__(self, fn: Callable[[Any], Any]):
        self._fn = fn

    def __call__(self, x, *args):
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(Dataset):
    def __init__(self, dataset, sampler: Sampler):
        self._dataset = dataset
        self._indices, self._length = list(iter(sampler)), sampler.__len__()  # which `len` refuses below 0

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class _DownloadedDataset(Dataset):
    """Base of data sets that lie, or are put, under `root`; `_get_data` fills `_data` and `_label`."""

    def __init__(self, root: str | os.PathLike, transform: Callable[..., Any] | None):
        self._transform = transform
        self._data = None
        self._label = None
        self._root = os.path.expanduser(root)
        self._get_data()

    def __getitem__(self, idx: int) -> Any:
        if self._transform is not None:
            return self._transform(self._data[idx], self._label[idx])
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _get_data")


def _scalars(data):
    """NumPy instead of a one-dimensional NDArray."""
    return data.asnumpy() if hasattr(data, "asnumpy") and len(data.shape) == 1 else data
