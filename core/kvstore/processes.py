"""What a trainer needs of the other processes: first values, sums of gradients, compressed ones too."""

from __future__ import annotations

from core.kernels import communication
from core.kvstore.compression import TwoBit
from core.kvstore.kvstore import _all_reduce, _broadcast
from core.kvstore.reducer import Reducer, cut
from core.ndarray import NDArray


def count() -> int:
    """How many processes train together."""
    return communication.size()


def rank() -> int:
    """The number of this process, from 0."""
    return communication.rank()


def barrier() -> None:
    """Returns when every process has come here."""
    communication.start()
    communication.barrier()


def all_sum(array: NDArray) -> NDArray:
    """The sum of the arrays of all processes, in new memory."""
    communication.start()
    return _all_reduce(array.copy())


class Processes:
    """All processes of a `dist` store, seen from one of them.

    compression: parameters of gradient compression, or None.
    """

    def __init__(self, kind: str, compression: dict | None = None):
        communication.warn_if_alone(kind)
        communication.start()
        self.count = communication.size()
        self._compression = TwoBit.of(compression) if compression else None
        self._reducer: Reducer | None = None
        self._source: list = []

    def share(self, arrays: list[NDArray]) -> None:
        """Gives the copies of a parameter the values that process 0 has."""
        _broadcast(arrays[0])
        for other in arrays[1:]:
            arrays[0].copyto(other)

    def watch(self, rows: list[tuple], arenas: list) -> None:
        """From now on sums gradients while they are computed.

        rows: (array, its gradient) of each parameter, all dense and on one context. arenas: the flat arrays that hold
        them, or none. Does nothing where these are watched already.
        """
        source = [array._entry for array, _ in rows] + arenas
        if self._compression or [id(s) for s in source] == [id(s) for s in self._source]:
            return
        if self._reducer is not None:
            self._reducer.detach()
        self._source = source
        if arenas:
            buckets = [bucket for arena in arenas for bucket in cut(*arena.gradients())]
        else:
            buckets = cut([(array._entry, gradient._data) for array, gradient in rows])
        self._reducer = Reducer(buckets)

    def sum_watched(self) -> None:
        """The gradients of `watch` are sums over processes from here on."""
        self._reducer.complete()

    def sum(self, gradients: list[NDArray]) -> None:
        """Replaces gradients by their sums over processes, one by one."""
        for index, gradient in enumerate(gradients):
            if self._compression:
                self._compression.sum_over_processes(index, gradient).copyto(gradient)
            elif gradient.stype != "default":
                _all_reduce(gradient.tostype("default")).tostype(gradient.stype).copyto(gradient)
            else:
                _all_reduce(gradient)

    @property
    def watches(self) -> bool:
        """Whether gradients may be summed while they are computed: compressed ones are not."""
        return self._compression is None
