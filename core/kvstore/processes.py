"""What a trainer needs of the other processes: first values, sums of gradients, compressed ones too."""

from __future__ import annotations

import copy

from core import ndarray as nd
from core.base import NotSupportedError
from core.dtypes import dtype_name
from core.kernels import communication
from core.kvstore.compression import TwoBit
from core.kvstore.kvstore import _all_reduce, _broadcast
from core.kvstore.reducer import Agreed, Reducer, Row
from core.metric.base import CompositeEvalMetric, EvalMetric
from core.ndarray import NDArray

# What metrics add up.
_SUMS = ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst")
_statistics = None  # the group of processes in which layers sum


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
    """The sum of the arrays of all processes, in new memory; MXNetError on each where shapes or dtypes differ."""
    communication.start()
    what = f"the sum of arrays {dtype_name(array.dtype)} {array.shape}"
    communication.exchange(what)
    return _all_reduce(array.copy(), what)


def sum_statistics(array: NDArray) -> NDArray:
    """The sum of the arrays of all processes in new memory, by one operation.

    Layers ask for it: all processes call the same layers in the same order. It runs beside gradients and small messages.
    """
    global _statistics
    communication.start()
    if _statistics is None:
        _statistics = communication.new_group("statistics of layers")
    result = array.copy()
    communication.all_reduce(result._data, "statistics of a layer", _statistics).wait()
    return result


def sum_metric(metric: EvalMetric) -> EvalMetric:
    """The metric over the batches of all processes: `sum_metric(accuracy).get()`.

    A new one; the metric itself goes on with this process's batches. Composites go metric by metric.
    NotSupportedError for one that keeps more than sums ("micro" averages, `PCC`).
    """
    if count() == 1:
        return metric
    result = copy.deepcopy(metric)
    for part in result.metrics if isinstance(result, CompositeEvalMetric) else [result]:
        kind = type(part)
        plain = kind.reset is EvalMetric.reset and kind.reset_local is EvalMetric.reset_local
        if not plain and getattr(part, "average", None) != "macro":
            raise NotSupportedError(f"{kind.__name__} keeps more than sums, and cannot be summed over processes")
        sums = all_sum(nd.array([float(getattr(part, name)) for name in _SUMS], dtype="float64")).asnumpy()
        for name, total in zip(_SUMS, sums):
            setattr(part, name, type(getattr(part, name))(total))
    return result


def average_statistics(block) -> None:
    """Moving means and variances of a network become their means over processes: `BatchNorm` moves those of its own.

    Before a checkpoint or an evaluation that all processes share. Parameters with `grad_req="null"`, on all contexts.
    """
    if count() == 1:
        return
    for param in block.collect_params().values():
        if param.grad_req == "null" and param._data is not None:
            param.set_data(all_sum(param.list_data()[0]) / count())


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
        communication.same(f"the parameters of {self._name}", parameters, "All processes build the same network")

    def share(self, name: str, arrays: list[NDArray]) -> None:
        """Gives the copies of a parameter the values that process 0 has."""
        first = arrays[0]
        communication.exchange(f"first values of {name}, {first.stype} {first.dtype} {first.shape}")
        _broadcast(first)
        for other in arrays[1:]:
            first.copyto(other)

    def sum(self, rows: list[Row], arenas: list, build, **how) -> Agreed:
        """The gradients are sums from here on; see `Reducer.complete`."""
        return self.reducer.complete(self.next_step(), rows, arenas, build, **how)

    def next_step(self) -> str:
        """What all processes do next."""
        self._steps += 1
        return f"step {self._steps} of {self._name}"
