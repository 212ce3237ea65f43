"""Training in several processes, which scripts/launch.py or torchrun start: what programs do for it.

    python scripts/launch.py -n 2 scripts/bert/finetune_classifier.py ...

`trainer` sums the gradients of all of them; `loader` and `Share` give each its batches of one shuffled order that all
draw alike; `part` cuts a text; `on_first` leaves files to the first. `scripts.common.run` makes the metrics of an epoch
the means over processes, and writes logs and checkpoints in the first one. Batch sizes are those of a process. With one
process everything is as without this module.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

import gluon
from core import nd
from core.kvstore import processes
from core.kvstore.kvstore import DISTRIBUTED
from core.optimizer import Optimizer
from gluon.data import BatchSampler, DataLoader, RandomSampler, Sampler

LONGEST = 2**31  # bound of the seeds that processes share


def add_store_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --kv-store."""
    parser.add_argument(
        "--kv-store",
        "--kvstore",
        dest="kv_store",
        default="",
        metavar="STORE",
        help="how gradients are summed: device, local; over several processes dist_sync, dist_device_sync "
        "(default: device, dist_sync where several processes were started)",
    )


def add_horovod_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --horovod: processes were started, by scripts/launch.py, torchrun or horovodrun, and sum their gradients."""
    parser.add_argument(
        "--horovod",
        dest="kv_store",
        action="store_const",
        const="horovod",
        default=argparse.SUPPRESS,
        help="train in the processes that were started, the same as --kv-store horovod",
    )


def store(args: argparse.Namespace) -> str:
    """The name of the store; SystemExit for one that would leave each of several processes to itself."""
    several = processes.count() > 1
    name = args.kv_store or ("dist_sync" if several else "device")
    if several and name not in DISTRIBUTED:
        raise SystemExit(f"--kv-store {name} sums nothing over the {processes.count()} processes: give dist_sync")
    if name == "dist_sharded":
        raise SystemExit(
            "--kv-store dist_sharded keeps a part in each process, and checkpoints hold the whole: dist_sync"
        )
    return name


def trainer(args: argparse.Namespace, parameters, optimizer, settings: dict | None = None, **more) -> gluon.Trainer:
    """The trainer of a program; `step(n)` is told the samples of this process, and divides by those of all."""
    if processes.count() == 1:
        return gluon.Trainer(parameters, optimizer, settings, kvstore=store(args), **more)
    more["update_on_kvstore"] = False  # programs also set parameters: to means of moving statistics, to bounds
    return _Trainer(parameters, optimizer, settings, kvstore=store(args), **more)


class _Trainer(gluon.Trainer):
    """One of several processes: sums of gradients are divided by the samples of all."""

    def step(self, batch_size, ignore_stale_grad=False):
        super().step(_total(batch_size), ignore_stale_grad)

    def update(self, batch_size, ignore_stale_grad=False):
        super().update(_total(batch_size), ignore_stale_grad)


def _total(value: float) -> float:
    return processes.sum_statistics(nd.array([float(value)], dtype="float64")).asscalar()


def recount(optimizer: Optimizer, before: int) -> None:
    """The updates that `before` processes made count as those that these would have made in as many epochs."""
    if before == processes.count():
        return
    ratio = before / processes.count()
    for counts in optimizer._all_index_update_counts.values():
        counts.update({index: round(count * ratio) for index, count in counts.items()})
    optimizer.begin_num_update = round(optimizer.begin_num_update * ratio)
    optimizer.num_update = round(optimizer.num_update * ratio)


class Share(Sampler):
    """Of the batches of a sampler those of this process: every N-th, as many in each of the N processes.

    What is random in the sampler (NumPy's and Python's generators) is drawn alike in all; the number that it begins from
    is drawn by the first, whose generator a checkpoint keeps: so it is the same with any number of processes.
    SystemExit where there are fewer batches than processes.
    """

    def __init__(self, batches):
        self._batches = batches

    def __len__(self) -> int:
        return _each(len(self._batches))

    def __iter__(self) -> Iterator:
        with drawn_alike():
            batches = list(self._batches)
        return iter(batches[processes.rank() :: processes.count()][: _each(len(batches))])


def _each(count: int) -> int:
    """How many of so many batches each process has."""
    if processes.count() == 1:
        return count
    if count < processes.count():
        raise SystemExit(f"{count} batches are too few for {processes.count()} processes: give a smaller batch size")
    return count // processes.count()


def shared(batches):
    """`Share` of batches where there are several processes."""
    return batches if processes.count() == 1 else Share(batches)


def loader(
    dataset, batch_size: int, *, shuffle: bool = True, last_batch: str = "keep", batch_sampler=None, **settings
) -> DataLoader:
    """A DataLoader of the batches to train on, `batch_sampler` if there is one: those of this process.

    Other arguments are as there.
    """
    if processes.count() == 1:
        if batch_sampler is not None:
            return DataLoader(dataset, batch_sampler=batch_sampler, **settings)
        return DataLoader(dataset, batch_size, shuffle=shuffle, last_batch=last_batch, **settings)
    if batch_sampler is None:
        batch_sampler = BatchSampler(RandomSampler(len(dataset)), batch_size, last_batch)
    return DataLoader(dataset, batch_sampler=Share(batch_sampler), **settings)


def part(items: Sequence) -> Sequence:
    """The stretch of this process, of as many stretches of one length; a rest that does not divide is left out."""
    size = len(items) // processes.count()
    return items if processes.count() == 1 else items[processes.rank() * size : (processes.rank() + 1) * size]


def in_step(batches: Iterable) -> Iterator:
    """The batches of this process until any process has no more, for those whose number nobody knows before."""
    if processes.count() == 1:
        yield from batches
        return
    for batch in itertools.chain(([item] for item in batches), itertools.repeat([])):
        if _total(len(batch)) < processes.count():
            return
        yield batch[0]


@contextlib.contextmanager
def drawn_alike() -> Iterator[None]:
    """Within it all processes draw the same numbers, from NumPy and Python; afterwards each goes on with its own."""
    if processes.count() == 1:
        yield
        return
    first = np.random.randint(LONGEST) if processes.rank() == 0 else 0
    seed = int(_total(first))
    before = np.random.get_state(), random.getstate()
    np.random.seed(seed)
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before[0])
        random.setstate(before[1])


def on_first(write: Callable, *arguments, **named) -> None:
    """Has the first process write something; all go on when it is there."""
    if processes.rank() == 0:
        write(*arguments, **named)
    if processes.count() > 1:
        processes.barrier()


def mean_over_processes(row: dict) -> dict:
    """The numbers of an epoch, each the mean over processes; integers, which count epochs and sizes, stay."""
    names = [name for name, value in row.items() if isinstance(value, float)]
    if processes.count() == 1 or not names:
        return row
    total = processes.sum_statistics(nd.array([row[name] for name in names], dtype="float64")).asnumpy()
    return row | {name: float(value) / processes.count() for name, value in zip(names, total, strict=True)}


class Averaging:
    """Batches, after which the moving statistics of `net` become the means over processes."""

    def __init__(self, batches: Iterable, net):
        self._batches, self._net = batches, net

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator:
        yield from self._batches
        processes.average_statistics(self._net)
