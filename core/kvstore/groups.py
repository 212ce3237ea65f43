"""Groups of processes that compute one network together, each with a part of its layers."""

from __future__ import annotations

import hashlib

import numpy as np

from core import ndarray as nd
from core import storage
from core.kernels import communication
from core.ndarray import NDArray

_whole: ProcessGroup | None = None


class ProcessGroup:
    """Neighbouring processes that compute together; all processes make the same groups in the same order.

    size: how many are in a group, a divisor of the number of processes; None for all of them.
    """

    def __init__(self, size: int | None = None):
        communication.start()
        count = communication.size()
        self.size = count if size is None else size
        if self.size < 1 or count % self.size:
            raise ValueError(f"the size of a group divides the number of processes, {count}, got {size}")
        self.rank = communication.rank() % self.size
        ranks = [range(first, first + self.size) for first in range(0, count, self.size)]
        self._group = communication.new_group("layers of which each process has a part", ranks)

    def sum(self, array: NDArray) -> NDArray:
        """The sum of the arrays of the group, in new memory."""
        total = array.copy()
        if self.size > 1:
            communication.all_reduce(total._data, "the sum of parts of a layer", self._group).wait()
        return total

    def gather(self, array: NDArray, axis: int) -> NDArray:
        """The arrays of the group, which have one shape, one after the other along an axis."""
        if self.size == 1:
            return array
        part = array.copy().reshape((-1,))
        flat = storage.flat(part.size * self.size, part._data)
        communication.gather_parts(flat, part._data, self._group).wait()
        parts = NDArray._wrap(flat, array.context).reshape((self.size, *array.shape))
        return nd.concat(*[parts[k] for k in range(self.size)], dim=axis)

    def part(self, array: NDArray, axis: int) -> NDArray:
        """What `gather` would take from this process."""
        length = array.shape[axis] // self.size
        return array.slice_axis(axis, self.rank * length, (self.rank + 1) * length)

    def divide(self, length: int, what: str) -> int:
        """The part of a length; ValueError where it is not the same for all processes."""
        if length % self.size:
            raise ValueError(f"{what} is a multiple of the {self.size} processes that share it, got {length}")
        return length // self.size


def all_processes() -> ProcessGroup:
    """The group of all, made when it is first asked for."""
    global _whole
    if _whole is None or _whole.size != communication.size():
        _whole = ProcessGroup()
    return _whole


def same_values(what: str, array: NDArray) -> None:
    """MXNetError on all processes where they have other values."""
    digest = hashlib.blake2b(np.ascontiguousarray(array.asnumpy()), digest_size=16).hexdigest()
    communication.same(what, [digest], "Seed all processes alike, with mx.random.seed")
