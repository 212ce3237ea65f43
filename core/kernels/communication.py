"""Collective operations between processes, on `torch.distributed`: Gloo for memory of the CPU, NCCL for that of GPUs.

Processes find each other by the environment that `torchrun` and `scripts/launch.py` set: RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT. All of them call the same operations in the same order. A process that is gone makes the operation that
waits for it raise MXNetError: at once where the connection breaks, after `TIMEOUT` seconds where it only falls silent.
"""

from __future__ import annotations

import atexit
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from core.base import MXNetError

# MXNET_KVSTORE_TIMEOUT: seconds that an operation waits for another process.
TIMEOUT = float(os.environ.get("MXNET_KVSTORE_TIMEOUT", 25))


def start() -> None:
    """Joins the other processes; does nothing when that is done, or when this process is alone."""
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
        dist.init_process_group(backend, timeout=timedelta(seconds=TIMEOUT))
    except (RuntimeError, ValueError) as error:
        raise MXNetError(f"process {rank()} of {size()} cannot reach the others: {_reason(error)}") from error
    atexit.register(stop)


def stop() -> None:
    """Leaves the other processes."""
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """The number of this process, from 0."""
    return int(os.environ.get("RANK", 0)) if size() > 1 else 0


def size() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", 1))


class Pending:
    """An operation that runs beside the computation; `wait()` returns when the result is there."""

    def __init__(self, work, what: str):
        self._work, self._what = work, what

    def wait(self) -> None:
        if self._work is not None:
            try:
                self._work.wait()
            except RuntimeError as error:
                raise _lost(self._what, error) from error


def all_reduce(tensor: torch.Tensor) -> Pending:
    """Begins to replace a dense tensor by the sum of those of all processes."""
    return _begin("the sum of gradients", dist.all_reduce, tensor)


def broadcast(tensor: torch.Tensor, root: int = 0) -> None:
    """Replaces a dense tensor by that of process `root`."""
    _begin("the first values", dist.broadcast, tensor, root).wait()


def all_gather(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors of all processes, which have one shape, by rank."""
    if size() == 1:
        return [tensor]
    found = [torch.empty_like(tensor) for _ in range(size())]
    _begin("the parts of all processes", dist.all_gather, found, tensor).wait()
    return found


def barrier() -> None:
    """Returns when every process has come here."""
    if size() > 1:
        all_reduce(torch.zeros(1)).wait()


def _begin(what: str, operation, *arguments) -> Pending:
    if size() == 1:
        return Pending(None, what)
    try:
        return Pending(operation(*arguments, async_op=True), what)
    except RuntimeError as error:
        raise _lost(what, error) from error


def _lost(what: str, error: Exception) -> MXNetError:
    return MXNetError(
        f"process {rank()} of {size()} cannot get {what}: another process has ended, or has been silent for "
        f"{TIMEOUT:g} s ({_reason(error)}). Start all processes again; with --resume they go on from the last "
        "checkpoint"
    )


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
