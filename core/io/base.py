"""What every iterator over batches shares: descriptions, batches, the protocol, and wrappers of iterators."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import namedtuple

import numpy as np


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name, shape, dtype and layout of one input. Equal to, and unpacked as, (name, shape).

    >>> mx.io.DataDesc("data", (2, 3)).shape
    (2, 3)
    """

    def __new__(cls, name, shape, dtype=np.float32, layout="NCHW"):
        description = super().__new__(cls, name, shape)
        description.dtype, description.layout = dtype, layout
        return description

    def __repr__(self):
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __reduce__(self):
        return DataDesc, (self.name, self.shape, self.dtype, self.layout)

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The position of N in a layout; 0 without a layout."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes, types=None) -> list[DataDesc]:
        """Descriptions from (name, shape) pairs and, optionally, (name, dtype) pairs."""
        types = dict(types or ())
        return [DataDesc(name, shape, types[name]) if types else DataDesc(name, shape) for name, shape in shapes]


class DataBatch:
    """Arrays of one batch: `data` and `label` (lists), `pad` (how many samples at the end only fill up), `index`.

    >>> batch = mx.io.DataBatch(data=[nd.zeros((2, 3))], label=[nd.zeros(2)])
    >>> batch.data[0].shape
    (2, 3)
    """

    def __init__(self, data, label=None, pad=None, index=None, bucket_key=None, provide_data=None, provide_label=None):
        for name, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise AssertionError(f"{name} of a batch must be a list of arrays, not {type(value).__name__}")
        self.data, self.label, self.pad, self.index = data, label, pad, index
        self.bucket_key, self.provide_data, self.provide_label = bucket_key, provide_data, provide_label

    def __str__(self):
        shapes = [[d.shape for d in arrays] if arrays else None for arrays in (self.data, self.label)]
        return f"{self.__class__.__name__}: data shapes: {shapes[0]} label shapes: {shapes[1]}"


class DataIter:
    """The protocol: `next()` gives a `DataBatch` or raises StopIteration, `reset()` begins the next pass.

    Subclasses define `next`, or `iter_next` and `getdata` (and `getlabel`, `getpad`, None otherwise); and `provide_data`, `provide_label`.

    >>> iterator = mx.io.NDArrayIter(nd.zeros((4, 2)), batch_size=2)
    >>> isinstance(iterator, mx.io.DataIter), iterator.batch_size
    (True, 2)
    """

    def __init__(self, batch_size: int = 0):
        self.batch_size = batch_size

    def __iter__(self):
        return self

    def reset(self) -> None:
        """Begins the next pass."""

    def next(self) -> DataBatch:
        """The next batch; StopIteration at the end of the pass."""
        if self.iter_next():
            return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())
        raise StopIteration

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool:
        """Moves to the next batch; False at the end of the pass."""
        raise NotImplementedError(f"{type(self).__name__} defines neither next() nor iter_next()")

    def getdata(self):
        """The inputs of the current batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define getdata()")

    def getlabel(self):
        """The labels of the current batch, None where there are none."""
        return None

    def getindex(self):
        """The sample numbers of the current batch, None where they are not known."""
        return None

    def getpad(self) -> int | None:
        """How many samples at the end of the current batch only fill up; None for none."""
        return None


class CurrentBatch(DataIter):
    """An iterator whose `iter_next` sets `current_batch`."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        if self.iter_next():
            return self.current_batch
        raise StopIteration

    def getdata(self):
        return self.current_batch.data

    def getlabel(self):
        return self.current_batch.label

    def getindex(self):
        return self.current_batch.index

    def getpad(self) -> int:
        return self.current_batch.pad


class FileIter(DataIter):
    """An iterator over files: subclasses define `make_next`, the next batch or None at the end of the pass.

    >>> class Countdown(mx.io.FileIter):
    ...     provide_data, provide_label, left = [mx.io.DataDesc("data", (2,))], [], 2
    ...     def make_next(self):
    ...         self.left -= 1
    ...         return mx.io.DataBatch([nd.full((2,), self.left)], []) if self.left >= 0 else None
    >>> [batch.data[0].asnumpy().tolist() for batch in Countdown(batch_size=2)]
    [[1.0, 1.0], [0.0, 0.0]]
    """

    _current: DataBatch | None = None

    def make_next(self) -> DataBatch | None:
        raise NotImplementedError(f"{type(self).__name__} does not define make_next()")

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._current

    def iter_next(self) -> bool:
        self._current = self.make_next()
        return self._current is not None

    def getdata(self):
        return self._current.data[0]

    def getlabel(self):
        return self._current.label[0]

    def getindex(self):
        return self._current.index

    def getpad(self) -> int:
        return self._current.pad


class ResizeIter(CurrentBatch):
    """Gives `size` batches a pass, whatever the length of `data_iter`, which is begun anew when it ends.

    >>> iterator = mx.io.ResizeIter(mx.io.NDArrayIter(nd.zeros((4, 2)), batch_size=2), 5)
    >>> len(list(iterator))
    5
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True):
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.cur = 0
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(CurrentBatch):
    """Reads iterators one batch ahead in threads and joins their batches.

    `rename_data` and `rename_label`: one dictionary an iterator, old to new names.

    >>> iterator = mx.io.PrefetchingIter(mx.io.NDArrayIter(nd.zeros((4, 2)), batch_size=2))
    >>> len(list(iterator))
    2
    """

    def __init__(self, iters, rename_data=None, rename_label=None):
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        if not self.iters:
            raise ValueError("PrefetchingIter needs at least one iterator")
        self.n_iter = len(self.iters)
        self.rename_data, self.rename_label = rename_data, rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._readers = [_ReadAhead(one) for one in self.iters]

    @property
    def provide_data(self) -> list[DataDesc]:
        return self._renamed("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        return self._renamed("provide_label", self.rename_label)

    def reset(self) -> None:
        for reader in self._readers:
            reader.reset()

    def iter_next(self) -> bool:
        batches = [reader.next() for reader in self._readers]
        if any(batch is None for batch in batches):
            if not all(batch is None for batch in batches):
                raise AssertionError("the iterators give different numbers of batches")
            return False
        if len({batch.pad for batch in batches}) > 1:
            raise AssertionError("the iterators fill up their last batches differently")
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or ()], batches[0].pad, batches[0].index,
            provide_data=self.provide_data, provide_label=self.provide_label,
        )  # fmt: skip
        return True

    def __del__(self):
        for reader in getattr(self, "_readers", ()):
            reader.abandon()

    def _renamed(self, what: str, names) -> list[DataDesc]:
        result = []
        for i, one in enumerate(self.iters):
            for description in getattr(one, what):
                if not isinstance(description, DataDesc):
                    description = DataDesc(*description)
                name = names[i][description.name] if names else description.name
                result.append(DataDesc(name, description.shape, description.dtype, description.layout))
        return result


class _ReadAhead:
    """One thread that keeps the next batch of an iterator ready. It ends with the pass, or when told to."""

    def __init__(self, iterator: DataIter, depth: int = 1):
        self.iterator, self.depth = iterator, depth
        self._start()

    def next(self) -> DataBatch | None:
        """The next batch, None at the end of the pass; an error of the iterator is raised here."""
        if self._ended:
            return None
        kind, value = self._ready.get()
        self._ended = kind != "batch"
        if kind == "error":
            raise value
        return value

    def reset(self) -> None:
        self.stop()
        self.iterator.reset()
        self._start()

    def stop(self) -> None:
        """Ends the thread; returns when it has gone."""
        self._stopping.set()
        while self._thread.is_alive():
            try:
                self._ready.get(timeout=0.01)
            except queue.Empty:
                continue
        self._ended = True

    def abandon(self) -> None:
        """Tells the thread to end without waiting for it: when the interpreter exits it may never run again."""
        self._stopping.set()
        with contextlib.suppress(queue.Empty):
            self._ready.get_nowait()

    def _start(self) -> None:
        self._ready, self._stopping, self._ended = queue.Queue(self.depth), threading.Event(), False
        arguments = (self.iterator, self._ready, self._stopping)
        self._thread = threading.Thread(target=_read_ahead, args=arguments, daemon=True)
        self._thread.start()


def _read_ahead(iterator: DataIter, ready: queue.Queue, stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            item = ("batch", iterator.next())
        except StopIteration:
            item = ("end", None)
        except (Exception, SystemExit) as error:  # handed to the thread that asks for the batch
            item = ("error", error)
        ready.put(item)
        if item[0] != "batch":
            return
