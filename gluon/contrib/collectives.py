"""The interface of Horovod and of BytePS for MXNet, on our processes: their programs start as they are.

After `core.install_as_mxnet()`, `import horovod.mxnet as hvd` and `import byteps.mxnet as bps` give this module, where
the originals are not installed. Processes are those of torchrun, `scripts/launch.py`, mpirun or horovodrun; all of them
call the same operations in the same order.
"""

from __future__ import annotations

import json
import os

from core import ndarray as nd
from core.base import MXNetError, as_list
from core.kernels import communication
from core.kvstore import processes
from core.ndarray import NDArray
from core.optimizer import Optimizer
from gluon.trainer import Trainer

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "DistributedTrainer",
    "Sum",
    "allgather",
    "allreduce",
    "allreduce_",
    "broadcast",
    "broadcast_",
    "broadcast_object",
    "broadcast_parameters",
    "byteps_declare_tensor",
    "byteps_push_pull",
    "gloo_built",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "nccl_built",
    "rank",
    "shutdown",
    "size",
]

Average, Sum = "Average", "Sum"
# Our name of each number, and those under which mpirun and horovodrun give it.
NUMBERS = {
    "RANK": ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK"),
    "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "HOROVOD_LOCAL_RANK"),
    "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE"),
}
_begun = False


def init(*_, **__) -> None:
    """Joins the other processes. Arguments of the originals (communicators, ranks) are for launchers, and not needed."""
    global _begun
    find_numbers(os.environ)
    communication.start()
    _begun = True


def find_numbers(environment) -> None:
    """Sets RANK, LOCAL_RANK, WORLD_SIZE and where processes meet, where only another launcher has said them."""
    for ours, theirs in NUMBERS.items():
        said = next((environment[name] for name in theirs if name in environment), None)
        if said is not None:
            environment.setdefault(ours, said)
    if int(environment.get("WORLD_SIZE", 1)) > 1:
        environment.setdefault("MASTER_ADDR", "127.0.0.1")
        environment.setdefault("MASTER_PORT", "29500")


def shutdown() -> None:
    """Leaves the other processes."""
    global _begun
    communication.stop()
    _begun = False


def is_initialized() -> bool:
    """Whether `init` was called."""
    return _begun


def rank() -> int:
    """The number of this process, from 0; ValueError before `init`, as in Horovod."""
    return _after_init(communication.rank)


def size() -> int:
    """How many processes there are."""
    return _after_init(communication.size)


def local_rank() -> int:
    """The number of this process on its machine: that of its GPU."""
    return _after_init(lambda: int(os.environ.get("LOCAL_RANK", communication.rank())))


def local_size() -> int:
    """How many processes this machine has."""
    return _after_init(lambda: int(os.environ.get("LOCAL_WORLD_SIZE", communication.size())))


def mpi_built(*_) -> bool:
    """Whether sums travel by MPI: never."""
    return False


def gloo_built() -> bool:
    """Whether sums of arrays on CPUs travel by Gloo: always."""
    return True


def nccl_built() -> bool:
    """Whether sums of arrays on GPUs travel by NCCL: always, where there are any."""
    return True


class Compression:
    """Names of Horovod's: `none`; `fp16` is refused, since our sums are of what gradients are."""

    none = "none"
    fp16 = "fp16"


# ---------------------------------------------------------------- arrays


def allreduce(tensor: NDArray, average=True, name=None, priority=0, op=None) -> NDArray:
    """The mean (or with `average=False` or `op=Sum` the sum) of the arrays of all processes, as a new array."""
    total = processes.all_sum(tensor) if size() > 1 else tensor.copy()
    return total / size() if (average if op is None else op == Average) else total


def allreduce_(tensor: NDArray, average=True, name=None, priority=0, op=None) -> NDArray:
    """`allreduce` in place."""
    tensor[:] = allreduce(tensor, average, name, priority, op)
    return tensor


def allgather(tensor: NDArray, name=None, priority=0) -> NDArray:
    """The arrays of all processes one below the other; their first extents may differ."""
    if size() == 1:
        return tensor.copy()
    counts = [int(text) for text in communication.texts("rows to gather", str(tensor.shape[0]))]
    missing = max(counts) - tensor.shape[0]
    padding = nd.zeros((missing, *tensor.shape[1:]), tensor.context, tensor.dtype) if missing else None
    padded = tensor.copy() if padding is None else nd.concat(tensor, padding, dim=0)
    parts = communication.all_gather(padded._data, "rows of all processes")
    return nd.concat(*[NDArray._wrap(part, tensor.context)[:n] for part, n in zip(parts, counts)], dim=0)


def broadcast(tensor: NDArray, root_rank: int, name=None, priority=0) -> NDArray:
    """The array of process `root_rank`, as a new one."""
    return broadcast_(tensor.copy(), root_rank)


def broadcast_(tensor: NDArray, root_rank: int, name=None, priority=0) -> NDArray:
    """Gives an array the values of that of process `root_rank`."""
    if size() > 1:
        communication.exchange(f"values of process {root_rank}, {tensor.dtype} {tensor.shape}")
        communication.broadcast(tensor._data, root_rank)
    return tensor


def broadcast_parameters(params, root_rank: int = 0, prefix=None) -> None:
    """Gives parameters (a dictionary of arrays, or of a block) the values of process `root_rank`.

    Parameters whose shape is not known yet take those of process 0 when a `DistributedTrainer` meets them.
    """
    for _, value in sorted(params.items()):
        for array in [value] if isinstance(value, NDArray) else (value._data or []):
            broadcast_(array, root_rank)


def broadcast_object(obj, root_rank: int = 0, name=None):
    """What process `root_rank` gives, of what JSON can say; MXNetError for other things, which would need pickle."""
    try:
        text = json.dumps(obj)
    except (TypeError, ValueError) as error:
        raise MXNetError(f"broadcast_object takes what JSON can say, given {type(obj).__name__}: {error}") from error
    return json.loads(communication.texts("an object", text)[root_rank]) if size() > 1 else obj


def byteps_declare_tensor(name) -> None:
    """Tensors need no declaration here."""


def byteps_push_pull(tensor: NDArray, version=0, priority=0, name=None, is_average=True) -> None:
    """BytePS's `allreduce_`."""
    allreduce_(tensor, is_average, name, priority)


# ---------------------------------------------------------------- training


class _Averaging:
    """What `DistributedOptimizer` makes."""


class DistributedTrainer(Trainer):
    """A `Trainer` over all processes, whose `step(n)` takes the batch size of one of them, as Horovod's and BytePS's.

    Gradients are averaged over processes. Groups and predivision are Horovod's settings of how sums travel, which here
    they do in buckets; root_rank is 0.
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        compression=Compression.none,
        gradient_predivide_factor=1.0,
        prefix=None,
        num_groups=0,
        root_rank=0,
        compression_params=None,
    ):
        if compression != Compression.none:
            raise MXNetError("DistributedTrainer: gradients travel as they are; compression is Compression.none")
        if root_rank:
            raise MXNetError(f"DistributedTrainer: first values are those of process 0, given root_rank={root_rank}")
        if isinstance(optimizer, _Averaging):
            optimizer = optimizer.own()
        kind = "dist_sync" if size() > 1 else "device"
        super().__init__(params, optimizer, optimizer_params, kind, compression_params if size() > 1 else None, False)

    def _rescale(self, batch_size):
        return super()._rescale(batch_size * size())


def DistributedOptimizer(optimizer: Optimizer) -> Optimizer:
    """An optimizer like the given one that averages gradients over processes before each update.

    For `Module`, and for a `Trainer` with kvstore None; `DistributedTrainer` sums beside the backward pass.
    """
    kind = type(optimizer)

    class Distributed(kind, _Averaging):
        def update(self, index, weight, grad, state):
            for gradient in as_list(grad):
                allreduce_(gradient)
            return super().update(index, weight, grad, state)

        def own(self):
            return _like(kind, self)

    Distributed.__name__ = kind.__name__
    return _like(Distributed, optimizer)


def _like(kind: type, other: Optimizer) -> Optimizer:
    made = kind.__new__(kind)
    made.__dict__.update(other.__dict__)
    return made


def _after_init(number):
    if not _begun:
        raise ValueError("call init() first: hvd.init()")
    return number()
