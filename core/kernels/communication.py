"""Collective operations between processes, on `torch.distributed`: Gloo for memory of the CPU, NCCL for that of GPUs.

Processes find each other by the environment that `torchrun` and `scripts/launch.py` set: RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT. All of them call the same operations in the same order; small ones are checked to be the same (`exchange`),
for sums of different lengths end the process inside of Gloo. A process that has ended makes the operation that waits
for it raise MXNetError within seconds, one that is silent within HEARTBEAT seconds; one that is busy is waited for.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from core.base import MXNetError
from core.kernels import heartbeat
from core.kernels.heartbeat import Heartbeat

# MXNET_KVSTORE_TIMEOUT: seconds that an operation waits for processes that live.
TIMEOUT = float(os.environ.get("MXNET_KVSTORE_TIMEOUT", 1800))
# MXNET_KVSTORE_RENDEZVOUS_TIMEOUT: seconds that processes wait for each other at the start.
RENDEZVOUS = float(os.environ.get("MXNET_KVSTORE_RENDEZVOUS_TIMEOUT", 600))
# MXNET_KVSTORE_HEARTBEAT: seconds without a sign of life after which a process counts as lost.
HEARTBEAT = float(os.environ.get("MXNET_KVSTORE_HEARTBEAT", 30))

# Bytes of a small message: a label, its complement, and what is exchanged under it.
MESSAGE, LABEL = 512, 16

# Under the names of torch 2.13, which warns of the older ones.
_REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor

_heartbeat: Heartbeat | None = None
_given_up = False  # an operation was left that may never end


def start() -> None:
    """Joins the other processes; does nothing when that is done, or when this process is alone."""
    global _heartbeat
    if dist.is_initialized() or size() == 1:
        return
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise MXNetError(
            f"WORLD_SIZE is {size()}, but {', '.join(missing)} is not set: start the processes with torchrun or "
            "scripts/launch.py"
        )
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    try:
        store, prefix = _store()
        _heartbeat = Heartbeat(store.clone(), prefix, rank(), size(), HEARTBEAT, _release_gpus)
        _meet(store, prefix)
        dist.init_process_group(
            backend, store=dist.PrefixStore(prefix, store), rank=rank(), world_size=size(),
            timeout=timedelta(seconds=TIMEOUT),
        )  # fmt: skip
    except MXNetError:
        raise
    except (RuntimeError, ValueError) as error:
        raise MXNetError(f"process {rank()} of {size()} cannot reach the others: {_reason(error)}") from error
    _heartbeat.start()
    atexit.register(stop)


def stop() -> None:
    """Leaves the other processes."""
    global _heartbeat
    if _heartbeat is not None:
        _heartbeat.stop()
        _heartbeat = None
    if dist.is_initialized() and not _given_up:
        dist.destroy_process_group()


@atexit.register  # before everything that is imported later, and so at the very end
def _leave() -> None:
    """Gloo waits for operations that never end when it is taken apart, also by the end of the interpreter."""
    if _given_up:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def rank() -> int:
    """The number of this process, from 0."""
    return int(os.environ.get("RANK", 0)) if size() > 1 else 0


def size() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", 1))


def warn_if_alone(kind: str) -> None:
    """UserWarning where a store of several processes is made in a program that no launcher started."""
    if "WORLD_SIZE" not in os.environ:
        warnings.warn(
            f"kvstore {kind!r} in a program that no launcher started: it trains alone. "
            "`python scripts/launch.py -n N PROGRAM` or `torchrun --nproc-per-node N PROGRAM` start N processes",
            stacklevel=3,
        )


# ---------------------------------------------------------------- large operations


class Pending:
    """An operation that runs beside the computation; `wait()` returns when the result is there.

    what: what the others are to do at the same time, for errors.
    """

    def __init__(self, work, what: str, blocks: bool = True):
        self._work, self._what, self._blocks = work, what, blocks

    def wait(self) -> None:
        """MXNetError, which names the process and says since when, where it does not come."""
        if self._work is None:
            return
        if not self._blocks:  # NCCL: the device waits, not this thread
            self._work.wait()
            return
        begin, monitor = time.monotonic(), _heartbeat
        with monitor.waiting(self._what):
            while True:
                over = self._work.is_completed()
                try:
                    self._work.wait(timedelta(seconds=heartbeat.INTERVAL))
                    return
                except RuntimeError as error:
                    if over or (self._work.is_completed() and "Operation timed out" not in str(error)):
                        raise _broken(self._what, error) from error
                reason = monitor.verdict()
                if reason is None and time.monotonic() - begin > TIMEOUT:
                    reason = f"the others live, but have not come within {TIMEOUT:g} s (MXNET_KVSTORE_TIMEOUT)"
                if reason is not None:
                    _give_up()
                    raise _lost(self._what, reason)


def new_group(what: str, ranks: Sequence[Sequence[int]] | None = None):
    """A group for operations that run beside those of other groups, in an order of their own.

    ranks: disjoint sets of processes, which make a group each; None for one of all. Gives that of this process.
    """
    if size() == 1:
        return None
    exchange(f"a group for {what} of {'all processes' if ranks is None else [*map(list, ranks)]}")
    made = [dist.new_group(one, timeout=timedelta(seconds=TIMEOUT)) for one in ranks or [None]]
    return made[0] if ranks is None else next(group for one, group in zip(ranks, made) if rank() in one)


def all_reduce(tensor: torch.Tensor, what: str = "the sum of gradients", group=None) -> Pending:
    """Begins to replace a dense tensor by the sum of those of all processes."""
    return _begin(what, tensor, dist.all_reduce, tensor, group=group)


def broadcast(tensor: torch.Tensor, root: int = 0, what: str = "the first values") -> None:
    """Replaces a dense tensor by that of process `root`."""
    _begin(what, tensor, dist.broadcast, tensor, root).wait()


def all_gather(tensor: torch.Tensor, what: str = "the parts of all processes", group=None) -> list[torch.Tensor]:
    """The tensors of all processes, which have one shape, by rank."""
    found, pending = begin_all_gather(tensor, what, group)
    pending.wait()
    return list(found)


def begin_all_gather(tensor: torch.Tensor, what: str, group=None) -> tuple[torch.Tensor, Pending]:
    """Begins to gather the tensors of all processes: where they will be, one behind the other, and what to wait for."""
    if size() == 1:
        return tensor.unsqueeze(0), Pending(None, what)
    found = tensor.new_empty((size(), *tensor.shape))
    return found, _begin(what, tensor, dist.all_gather, list(found), tensor, group=group)


def reduce_scatter(part: torch.Tensor, tensor: torch.Tensor, group=None) -> Pending:
    """Begins to write the sum over processes of their part of a flat tensor, which is cut by rank, to `part`.

    part: may be that part of the tensor itself.
    """
    return _begin("the sum of parts of gradients", tensor, _REDUCE_SCATTER, part, tensor, group=group)


def gather_parts(tensor: torch.Tensor, part: torch.Tensor, group=None) -> Pending:
    """Begins to write the parts of all processes to a flat tensor, by rank; part: as in `reduce_scatter`."""
    return _begin("the parts of weights", tensor, _ALL_GATHER, tensor, part, group=group)


def joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """A new flat tensor with the values of all, whatever the order of their memory."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def divide(flat: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
    """Writes the parts of a tensor of `joined` to the tensors."""
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
        tensor.copy_(part.view(tensor.shape))


def broadcast_integers(numbers: Sequence[int], what: str) -> list[int]:
    """The integers of process 0; of one length everywhere."""
    exchange(f"{what}: {len(numbers)}")
    tensor = torch.tensor(list(numbers), dtype=torch.int64)
    if tensor.numel():
        broadcast(tensor, what=what)
    return tensor.tolist()


def _begin(what: str, tensor: torch.Tensor, operation, *arguments, group=None) -> Pending:
    if size() == 1:
        return Pending(None, what)
    try:
        return Pending(operation(*arguments, group=group, async_op=True), what, tensor.device.type == "cpu")
    except RuntimeError as error:
        raise _broken(what, error) from error


# ---------------------------------------------------------------- small ones, which are checked


def exchange(what: str, bits: bytes = b"") -> bytes:
    """The bits that any process has set, where all do the same thing.

    what: what this process does; MXNetError on every process where others do something else, or with another number
    of bits. The cost is one small sum on the CPU (two where there are more than 480 bytes).
    """
    if size() == 1:
        return bits
    label = hashlib.blake2b(f"{what} {len(bits)}".encode(), digest_size=LABEL).digest()
    head = label + bytes(255 - byte for byte in label)
    room = MESSAGE - len(head)
    answer = _either(what, head + bits[:room] + bytes(max(0, room - len(bits))))
    if answer[: len(head)] != head:
        raise _elsewhere(what)
    found = answer[len(head) :][: len(bits)]
    return found if len(bits) <= room else found + _either(what, bits[room:])


def same(what: str, rows: Sequence[str], advice: str) -> None:
    """Nothing where all processes give the same rows; else MXNetError on each, which names the first difference."""
    digest = hashlib.blake2b("\n".join(rows).encode(), digest_size=LABEL).digest()
    both = digest + bytes(255 - byte for byte in digest)
    if exchange(what, both) == both:
        return
    tables = [text.split("\n") if text else [] for text in texts(what, "\n".join(rows))]
    k = next(k for k in range(max(map(len, tables))) if len({_row(table, k) for table in tables}) > 1)
    raise MXNetError(
        f"{what} differ between processes. The first difference: "
        + "; ".join(f"process {r}: {_row(table, k)}" for r, table in enumerate(tables))
        + f". {advice}"
    )


def barrier(what: str = "a barrier") -> None:
    """Returns when every process has come here."""
    exchange(what)


def _row(table: list[str], k: int) -> str:
    return table[k] if k < len(table) else "nothing more"


def _either(what: str, data: bytes) -> bytes:
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    _begin(what, tensor, dist.all_reduce, tensor, dist.ReduceOp.BOR).wait()
    return tensor.numpy().tobytes()


def texts(what: str, text: str) -> list[str]:
    """What each process says, by rank."""
    data = bytearray(text.encode())
    lengths = [int(n) for n in all_gather(torch.tensor([len(data)]), what)]
    padded = torch.zeros(max(1, *lengths), dtype=torch.uint8)
    padded[: len(data)] = torch.frombuffer(data, dtype=torch.uint8) if data else 0
    return [t[:n].numpy().tobytes().decode() for t, n in zip(all_gather(padded, what), lengths)]


# ---------------------------------------------------------------- how processes meet, and what goes wrong


def _store() -> tuple[dist.Store, str]:
    """The store in which processes find each other, and the prefix of their keys: torchrun has a store of its own."""
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=rank() == 0 and not agent,
        timeout=timedelta(seconds=RENDEZVOUS), wait_for_workers=False, multi_tenant=True,
    )  # fmt: skip
    return store, f"attempt-{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}"


def _meet(store, prefix: str) -> None:
    """Returns when every process has come to the store."""
    keys = [f"{prefix}/beat/{k}" for k in range(size())]
    try:
        store.wait(keys, timedelta(seconds=RENDEZVOUS))
    except RuntimeError as error:
        raise MXNetError(
            f"process {rank()} of {size()} has waited {RENDEZVOUS:g} s (MXNET_KVSTORE_RENDEZVOUS_TIMEOUT) for "
            f"{_absent(store, keys)} did not come"
        ) from error


def _absent(store, keys: list[str]) -> str:
    try:
        return f"process {', '.join(str(k) for k, key in enumerate(keys) if not store.check([key]))}, which"
    except RuntimeError:  # the process with the store has just given up
        return "one that"


def _release_gpus() -> None:
    """A process is lost: what GPUs wait for ends, and the next operation raises."""
    if torch.cuda.is_available() and dist.is_initialized() and dist.is_nccl_available():
        dist.group.WORLD.abort()


def _give_up() -> None:
    global _given_up
    _given_up = True


def _broken(what: str, error: Exception) -> MXNetError:
    return _lost(what, f"{_heartbeat.blame() or 'another process has ended'} ({_reason(error)})")


def _lost(what: str, reason: str) -> MXNetError:
    _heartbeat.lost()
    return MXNetError(
        f"process {rank()} of {size()} cannot get {what}: {reason}. Start all processes again; with --resume they go on "
        "from the last checkpoint. Where processes have different numbers of batches, see Trainer.join"
    )


def _elsewhere(what: str) -> MXNetError:
    accounts = texts("an account of what each process does", what)
    return MXNetError(
        "the processes do different things: "
        + "; ".join(f"process {r}: {text}" for r, text in enumerate(accounts))
        + ". Where they have different numbers of batches, see Trainer.join"
    )


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
