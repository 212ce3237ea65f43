"""What a trainer needs of the other processes: first values, sums of gradients, compressed ones too."""

from __future__ import annotations

from core.kernels import communication
from core.kvstore.compression import TwoBit
from core.kvstore.kvstore import _all_reduce, _broadcast
from core.kvstore.reducer import Agreed, Reducer, Row
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
    """All processes of a `dist` store, seen from one of them, for one trainer.

    compression: parameters of gradient compression, or None.
    """

    _made = 0  # trainers of this process, which all processes make in one order

    def __init__(self, kind: str, compression: dict | None = None):
        communication.warn_if_alone(kind)
        communication.start()
        self.count = communication.size()
        self.reducer = Reducer(TwoBit.of(compression) if compression else None)
        Processes._made += 1
        self._name, self._steps = f"trainer {Processes._made}", 0

    def compare(self, parameters: list[str]) -> None:
        """MXNetError on all processes, naming the first that differs, where they describe other parameters."""
        communication.same(f"the parameters of {self._name}", parameters)

    def share(self, name: str, arrays: list[NDArray]) -> None:
        """Gives the copies of a parameter the values that process 0 has."""
        first = arrays[0]
        communication.exchange(f"first values of {name}, {first.stype} {first.dtype} {first.shape}")
        _broadcast(first)
        for other in arrays[1:]:
            first.copyto(other)

    def sum(self, rows: list[Row], arenas: list, build, **how) -> Agreed:
        """The gradients are sums from here on; see `Reducer.complete`."""
        self._steps += 1
        return self.reducer.complete(f"step {self._steps} of {self._name}", rows, arenas, build, **how)
