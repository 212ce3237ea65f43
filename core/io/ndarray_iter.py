"""Batches of arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.image.arrays import pixels_of, to_array
from core.io.base import DataBatch, DataDesc, DataIter
from core.ndarray.ndarray import NDArray

HANDLES = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of `data` and `label`, each an array, a list of arrays or a dictionary of arrays.

    The first array gives the number of samples; what others have beyond it is left out. `last_batch_handle`: "pad"
    fills the last batch from the beginning, "discard" drops it, "roll_over" keeps it for the next pass. NumPy arrays
    become float32; `data` and `label` are lists of (name, NDArray), whose new values later batches have. `shuffle`
    draws a new order by `numpy.random` for every pass. ValueError for an unknown `last_batch_handle`, a batch size
    below 1 or fewer samples than the first array has; NotImplementedError for sparse arrays without "discard".

    >>> iterator = mx.io.NDArrayIter(nd.arange(10).reshape((5, 2)), nd.arange(5), batch_size=2, last_batch_handle="discard")
    >>> [batch.label[0].asnumpy().tolist() for batch in iterator]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    def __init__(
        self, data, label=None, batch_size: int = 1, shuffle: bool = False, last_batch_handle: str = "pad",
        data_name: str = "data", label_name: str = "softmax_label", layout: str = "NCHW",
    ):  # fmt: skip
        super().__init__(batch_size)
        if last_batch_handle not in HANDLES:
            raise ValueError(f"unknown last_batch_handle {last_batch_handle!r}; accepted are {', '.join(HANDLES)}")
        if batch_size < 1:
            raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
        self.data = init_data(data, False, data_name)
        self.label = init_data(label, True, label_name)
        sparse = [name for name, array in self.data + self.label if _is_sparse(array)]
        if sparse and last_batch_handle != "discard":
            raise NotImplementedError(f"{sparse[0]!r} is a sparse array, for which last_batch_handle must be 'discard'")
        self.num_data = self.data[0][1].shape[0]
        for name, array in self.data + self.label:
            if array.shape[0] < self.num_data:
                raise ValueError(f"{name!r} has {array.shape[0]} samples where {self.data[0][0]!r} has {self.num_data}")
        self.data_list = [array for _, array in self.data + self.label]
        self.num_source = len(self.data_list)
        self.shuffle, self.last_batch_handle, self.layout = shuffle, last_batch_handle, layout
        self.idx = np.arange(self.num_data)
        self._kept: np.ndarray | None = None
        self.hard_reset()

    @property
    def provide_data(self) -> list[DataDesc]:
        return self._descriptions(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        return self._descriptions(self.label)

    def hard_reset(self) -> None:
        """Begins a pass and forgets samples kept from the one before."""
        self._kept = None
        self._begin(-self.batch_size)

    def reset(self) -> None:
        unfinished = self.last_batch_handle == "roll_over" and self.num_data - self.batch_size < self.cursor
        if unfinished and self.cursor < self.num_data:
            self._kept = self._order(self.cursor, self.num_data)
            self._begin(-len(self._kept) - self.batch_size)
        else:
            self.hard_reset()

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        if self.cursor + self.batch_size > self.num_data and self.last_batch_handle != "pad":
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), None)

    def getdata(self) -> list:
        return self._batch(self.data)

    def getlabel(self) -> list:
        return self._batch(self.label)

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return max(self.cursor + self.batch_size - self.num_data, 0)
        return max(-self.cursor, 0) if self.last_batch_handle == "roll_over" else 0

    def _begin(self, cursor: int) -> None:
        if self.shuffle:
            np.random.shuffle(self.idx)
        self.cursor = cursor

    def _batch(self, arrays: list) -> list:
        rows = self._order(self.cursor, self.cursor + self.batch_size)
        return [_rows(array, rows, contiguous=not self.shuffle) for _, array in arrays]

    def _order(self, begin: int, end: int) -> np.ndarray:
        """Sample numbers of the places from `begin` to `end`; negative places are those kept from the last pass."""
        if begin < 0:
            return np.concatenate([self._kept[len(self._kept) + begin :], self.idx[:end]])
        return self.idx.take(np.arange(begin, end), mode="wrap")

    def _descriptions(self, arrays: list) -> list[DataDesc]:
        return [
            DataDesc(name, (self.batch_size, *array.shape[1:]), np.dtype(array.dtype).type, self.layout)
            for name, array in arrays
        ]


def init_data(data, allow_empty: bool, default_name: str) -> list[tuple[str, object]]:
    """(name, array) pairs of an array, a list or a dictionary of them."""
    if data is None:
        data = []
    if isinstance(data, Mapping):
        named = list(data.items())
    elif isinstance(data, (list, tuple)):
        names = [default_name] if len(data) == 1 else [f"_{i}_{default_name}" for i in range(len(data))]
        named = list(zip(names, data))
    else:
        named = [(default_name, data)]
    if not named and not allow_empty:
        raise ValueError(f"{default_name} is empty; an array, a list or a dictionary of arrays is needed")
    return [(name, _stored(array, name)) for name, array in named]


def _stored(array, name: str):
    """What is kept: an NDArray on the CPU, of NumPy arrays a copy in float32; sparse arrays, also SciPy's CSR."""
    if hasattr(array, "indptr") and not _is_sparse(array):
        from core import ndarray

        return ndarray.sparse.csr_matrix(array, dtype=array.dtype)
    if _is_sparse(array):
        return array
    if hasattr(array, "asnumpy"):
        return to_array(pixels_of(array), NDArray)
    if isinstance(array, (np.ndarray, list, tuple)) or hasattr(array, "__array__"):
        return to_array(np.array(array, np.float32), NDArray)
    raise TypeError(f"{name!r} is a {type(array).__name__}; an NDArray or NumPy array is needed")


def _is_sparse(array) -> bool:
    return getattr(array, "stype", "default") != "default"


def _rows(array, rows: np.ndarray, contiguous: bool):
    if _is_sparse(array):
        if contiguous:
            return array[int(rows[0]) : int(rows[-1]) + 1]
        from core import ndarray

        return ndarray.sparse.csr_matrix(array.asnumpy()[rows], dtype=array.dtype)
    return to_array(pixels_of(array)[rows])
