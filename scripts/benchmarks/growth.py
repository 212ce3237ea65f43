"""How costs grow with the work: time at several sizes, the exponent between them, and what the largest may take.

    OMP_NUM_THREADS=1 python scripts/benchmarks/growth.py [NAME ...] [--quick]

Each row is a cost with its law: the exponent that it is to stay at or below between the two largest sizes (1: the cost
grows as the work does). Some have a bar besides: seconds or megabytes at the largest size, or a share of what another
way takes, which is measured in turns (PyTorch's attention, a dense gradient, bytes that are only written). Times are of
this process's CPU, so that other programs of the machine disturb them little, but for those that wait for a disk; the
best of some rounds. One thread: of several, one waits, busy, for another that does not get a core. Rows in megabytes
count what the process holds at most beyond what it held before. Where a row above its law or bar was not kept, the
program ends with exit code 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import math
import os
import random
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluon
import gluonnlp
from core import autograd, heap, nd
from scripts.benchmarks.table import report
from scripts.common.record import LOGS

CLASSES = 80
# What an exponent may be above its law: caches hold small work, and not large work.
MARGIN = 0.5
NOTHING = 1e-2  # seconds or megabytes
ROUNDS, SHORT_ROUNDS = 3, 30

Measure = Callable[[int], Callable[[], object]]


@dataclasses.dataclass
class Cost:
    """A cost at sizes: `measure(size)` prepares the work, and gives a function whose time counts; memory: its peak does.

    bar: what the cost may be at the sizes from `since` on (by default at the largest), in seconds, in megabytes, or as
    a share of `reference`'s. waits: whether time passes that the processor is not busy.
    """

    name: str
    law: float
    sizes: Sequence[int]
    measure: Measure
    memory: bool = False
    bar: float = math.inf
    reference: Measure | None = None
    since: int = 0
    waits: bool = False

    def bar_text(self) -> str:
        if self.bar == math.inf:
            return ""
        return f"{self.bar:g}" if self.reference else f"{self.bar:g} MB" if self.memory else f"{self.bar:g} s"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(COSTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, one round, no bars and no log")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    args = parser.parse_args(argv)
    unknown = set(args.names) - set(COSTS)
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}; there are {', '.join(COSTS)}")
    rows = [show(COSTS[name], args.quick) for name in args.names or COSTS]
    if not args.quick:
        report("growth", "Costs at sizes, exponents between them, and bars at the largest", rows, args.logs)
    return int(not args.quick and any(row["kept"] == "no" for row in rows))


def show(cost: Cost, quick: bool) -> dict:
    """Prints a row; returns it."""
    sizes = [max(2, size // 10) for size in cost.sizes] if quick else list(cost.sizes)
    found = [measured(cost, size, 1 if quick else ROUNDS) for size in sizes]
    values = [own for own, _ in found]
    slope = exponent(*sizes[-2:], *values[-2:])
    shares = [own / other for own, other in found if other is not None]
    held = [v for size, v in zip(sizes, shares or values) if size >= (cost.since or sizes[-1])]
    kept = slope <= cost.law + MARGIN or values[-1] < NOTHING
    row = {
        "cost": cost.name,
        "sizes": ", ".join(f"{size:,}" for size in sizes),
        "s or MB": ", ".join(f"{v:,.1f} MB" if cost.memory else f"{v:.4g} s" for v in values),
        "exponent": slope,
        "law": cost.law,
        "over the other way": ", ".join(f"{share:.3g}" for share in shares),
        "bar": cost.bar_text(),
        "kept": "yes" if kept and (quick or max(held) <= cost.bar) else "no",
    }
    print(*[f"{v:.2f}" if isinstance(v, float) else v for v in row.values()], sep="  ", flush=True)
    return row


def measured(cost: Cost, size: int, rounds: int) -> tuple[float, float | None]:
    """What the cost is, and what it is the other way, where there is one: measured in turns."""
    if cost.memory:
        return peak(cost.measure(size)), None
    timer = time.perf_counter if cost.waits else time.process_time
    ways = [cost.measure(size)] + ([cost.reference(size)] if cost.reference else [])
    turns = [[seconds(work, timer) for work in ways] for _ in range(rounds)]
    if rounds > 1 and max(turns[0]) < NOTHING:  # what is over soon is disturbed for a whole round
        turns += [[seconds(work, timer) for work in ways] for _ in range(SHORT_ROUNDS)]
    own, *other = map(min, zip(*turns))
    return own, other[0] if other else None


def seconds(work: Callable, timer: Callable[[], float]) -> float:
    """Time of a call, without the garbage collector, as `timeit` measures; of many where one takes next to no time."""
    once = timeit.timeit(work, nd.waitall, timer=timer, number=1)
    count = int(min(50, max(1, NOTHING / max(once, 1e-6))))
    return once if count == 1 else timeit.timeit(work, nd.waitall, timer=timer, number=count) / count


def exponent(small: float, large: float, first: float, second: float) -> float:
    """p where the cost is size ** p between two sizes; costs of nothing count as a ten-thousandth."""
    return math.log(max(second, 1e-4) / max(first, 1e-4)) / math.log(large / small)


def peak(work: Callable) -> float:
    """Megabytes that the process holds at most while `work()` runs, beyond what it held before (Linux)."""
    work()  # what is made once
    gc.collect()
    heap.trim()
    over, before, highest = threading.Event(), resident(), 0.0

    def watch():
        nonlocal highest
        while not over.wait(5e-4):
            highest = max(highest, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    work()
    over.set()
    thread.join()
    return max(0.0, highest - before)


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


# ---------------------------------------------------------------- the costs


def suppression(count: int) -> Callable:
    numbers = np.random.RandomState(0)
    corner, extent = numbers.uniform(0, 1000, (count, 2)), numbers.uniform(10, 100, (count, 2))
    columns = [numbers.randint(0, CLASSES, (count, 1)), numbers.uniform(0, 1, (count, 1)), corner, corner + extent]
    data = nd.array(np.concatenate(columns, 1))
    return lambda: nd.contrib.box_nms(data, overlap_thresh=0.5, id_index=0)


def bind(count: int) -> Callable:
    out, x = mx.sym.var("x"), nd.ones((2,))
    for _ in range(count):
        out = out + 1
    return lambda: out.bind(mx.cpu(), {"x": x})


def step(count: int) -> Callable:
    parameters = [gluon.Parameter(f"p{i}", shape=(4,)) for i in range(count)]
    for parameter in parameters:
        parameter.initialize()
    trainer = gluon.Trainer(parameters, "adam")

    def fresh():
        with autograd.record():
            total = nd.add_n(*[parameter.data() for parameter in parameters])
        total.backward()

    fresh()
    trainer.step(1)
    fresh()

    def once():
        trainer.step(1)
        for parameter in parameters:
            parameter.data()._entry.fresh = True  # the next round's, as after a backward pass

    return once


def counter(count: int) -> gluonnlp.data.Counter:
    numbers = random.Random(0)
    return gluonnlp.data.Counter({f"token{numbers.random()}": numbers.randint(1, 1000) for _ in range(count)})


def vocabulary(count: int) -> Callable:
    counted = counter(count)
    return lambda: gluonnlp.Vocab(counted)


def vocabulary_json(count: int) -> Callable:
    return gluonnlp.Vocab(counter(count)).to_json


def vocabulary_from_json(count: int) -> Callable:
    text = gluonnlp.Vocab(counter(count)).to_json()
    return lambda: gluonnlp.Vocab.from_json(text)


def saved(count: int) -> Callable:
    arrays = {"whole": nd.ones((count, 1 << 18)), "turned": nd.ones((count, 1 << 18)).T}
    folder = tempfile.TemporaryDirectory()

    def work():
        nd.save(f"{folder.name}/arrays.params", arrays)

    return work


def written(count: int) -> Callable:
    """As many bytes, which are only written, and are on the disk then."""
    block, folder = bytes(1 << 20), tempfile.TemporaryDirectory()

    def work():
        with open(f"{folder.name}/bytes", "wb") as file:
            for _ in range(2 * count):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())

    return work


def lookup(sparse: bool, optimizer: str) -> Measure:
    """A step on 32 rows of 16 columns."""

    def measure(words: int) -> Callable:
        net = gluon.nn.Embedding(words, 16, sparse_grad=sparse)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
        ids = nd.array(np.random.RandomState(0).randint(0, words, 32))

        def work():
            with autograd.record():
                rows = net(ids)
            rows.backward()
            trainer.step(1)

        work()
        return work

    return measure


UNITS, HEADS = 128, 2


def cell_of(hybridized: bool) -> gluonnlp.model.MultiHeadAttentionCell:
    base = gluonnlp.model.DotProductAttentionCell()
    cell = gluonnlp.model.MultiHeadAttentionCell(base, UNITS, UNITS, UNITS, num_heads=HEADS)
    cell.initialize()
    cell.hybridize(hybridized)
    return cell


def attention(hybridized: bool, first: bool = False) -> Measure:
    """A step, forward and backward, of gluonnlp's attention, of which nobody looks at the weights; first: of a new cell."""

    def measure(length: int) -> Callable:
        kept = cell_of(hybridized)
        x = nd.random.normal(shape=(1, length, UNITS))
        x.attach_grad()

        def work():
            cell = cell_of(hybridized) if first else kept
            with autograd.record():
                read, _ = cell(x, x, x)
            read.backward()

        if not first:
            work()
        return work

    return measure


def attention_of_torch(length: int) -> Callable:
    import torch
    from torch.nn.functional import linear, scaled_dot_product_attention

    x = torch.randn(1, length, UNITS, requires_grad=True)
    weights = [torch.randn(UNITS, UNITS, requires_grad=True) for _ in range(3)]

    def work():
        split = [linear(x, w).view(1, length, HEADS, -1).transpose(1, 2) for w in weights]
        read = scaled_dot_product_attention(*split).transpose(1, 2).reshape(1, length, UNITS)
        read.backward(torch.ones_like(read))

    work()
    return work


COSTS = {
    cost.name: cost
    for cost in (
        Cost("box_nms", 1.5, (10_000, 30_000, 100_000), suppression, bar=1),
        Cost("bind", 1, (1_000, 10_000, 40_000), bind),
        Cost("step", 1, (1_000, 10_000), step),
        *[
            Cost(
                name,
                1,
                (1_000, 10_000, 100_000, 1_000_000),
                lookup(True, optimizer),
                bar=1,
                reference=lookup(False, optimizer),
                since=10_000,
            )
            for name, optimizer in (("sparse_embedding", "sgd"), ("sparse_embedding_adam", "adam"))
        ],
        Cost("vocab", 1, (10_000, 100_000, 1_000_000), vocabulary, bar=1),
        Cost("vocab_to_json", 1, (10_000, 100_000, 1_000_000), vocabulary_json, bar=1),
        Cost("vocab_from_json", 1, (10_000, 100_000, 1_000_000), vocabulary_from_json, bar=1),
        Cost("save", 1, (128, 512), saved, bar=1.5, reference=written, waits=True),
        Cost("save_memory", 0, (128, 512), saved, memory=True, bar=64),
        Cost("attention", 2, (2048, 8192), attention(False), bar=1.2, reference=attention_of_torch),
        Cost("attention_hybridized", 2, (2048, 8192), attention(True), bar=1.2, reference=attention_of_torch),
        Cost("attention_first_call", 2, (2048, 8192), attention(True, True), bar=1.2, reference=attention_of_torch),
        Cost("attention_memory", 1, (2048, 8192), attention(False), memory=True),
        Cost("attention_hybridized_memory", 1, (2048, 8192), attention(True), memory=True),
        Cost("attention_first_call_memory", 1, (2048, 8192), attention(True, True), memory=True),
    )
}

if __name__ == "__main__":
    raise SystemExit(main())
