"""How costs grow with the work: time at several sizes, and the exponent between them.

    python scripts/benchmarks/growth.py [NAME ...] [--quick]

Each row is a cost with its law: the exponent that it is to stay at or below between the two largest sizes (1: the cost
grows as the work does). Times are of this process's CPU, the best of a few rounds, so that other programs of the
machine disturb them little; rows in megabytes count what the process holds at most beyond what it held before. Rows
above their law end in "!"; the program then ends with exit code 1.
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

CLASSES = 80
# What an exponent may be above its law: caches hold small work, and not large work.
MARGIN = 0.5
NOTHING = 1e-2  # seconds or megabytes


@dataclasses.dataclass
class Cost:
    """A cost at sizes: `measure(size)` prepares the work, and gives a function whose time counts; memory: its peak does."""

    name: str
    law: float
    sizes: Sequence[int]
    measure: Callable[[int], Callable[[], object]]
    memory: bool = False


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(COSTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, one round")
    args = parser.parse_args(argv)
    unknown = set(args.names) - set(COSTS)
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}; there are {', '.join(COSTS)}")
    above = [not show(COSTS[name], args.quick) for name in args.names or COSTS]
    return int(any(above) and not args.quick)


def show(cost: Cost, quick: bool) -> bool:
    """Prints a row; whether it keeps its law."""
    sizes = [max(2, size // 10) for size in cost.sizes] if quick else cost.sizes
    values = [peak(cost.measure(size)) if cost.memory else seconds(cost.measure(size), quick) for size in sizes]
    slopes = [exponent(*pair) for pair in zip(sizes, sizes[1:], values, values[1:])]
    kept = slopes[-1] <= cost.law + MARGIN or values[-1] < NOTHING
    cells = ", ".join(
        f"{size:,}: {value:,.1f} MB" if cost.memory else f"{size:,}: {value:.4f} s"
        for size, value in zip(sizes, values)
    )
    exponents = " ".join(f"{slope:.2f}" for slope in slopes)
    print(f"{cost.name:28} {cells}; exponents {exponents} (law {cost.law:g}){'' if kept else ' !'}", flush=True)
    return kept


def exponent(small: float, large: float, first: float, second: float) -> float:
    """p where the cost is size ** p between two sizes; costs of nothing count as a ten-thousandth."""
    return math.log(max(second, 1e-4) / max(first, 1e-4)) / math.log(large / small)


def seconds(work: Callable, quick: bool) -> float:
    """CPU time of the quickest round, without the garbage collector, as `timeit` measures."""
    return min(timeit.repeat(work, nd.waitall, number=1, repeat=1 if quick else 3, timer=time.process_time))


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


def attention(hybridized: bool) -> Callable[[int], Callable]:
    """A step, forward and backward, of gluonnlp's attention of 2 heads, of which nobody looks at the weights."""

    def measure(length: int) -> Callable:
        units = 2 * 64
        base = gluonnlp.model.DotProductAttentionCell()
        cell = gluonnlp.model.MultiHeadAttentionCell(base, units, units, units, num_heads=2)
        cell.initialize()
        cell.hybridize(hybridized)
        x = nd.random.normal(shape=(1, length, units))
        x.attach_grad()

        def work():
            with autograd.record():
                read, _ = cell(x, x, x)
            read.backward()

        return work

    return measure


COSTS = {
    cost.name: cost
    for cost in (
        Cost("box_nms", 1.5, (10_000, 30_000, 100_000), suppression),
        Cost("bind", 1, (1_000, 10_000, 40_000), bind),
        Cost("step", 1, (1_000, 10_000), step),
        Cost("vocab", 1, (10_000, 100_000, 1_000_000), vocabulary),
        Cost("vocab_to_json", 1, (10_000, 100_000, 1_000_000), vocabulary_json),
        Cost("vocab_from_json", 1, (10_000, 100_000, 1_000_000), vocabulary_from_json),
        Cost("save_memory", 0, (128, 512), saved, memory=True),
        Cost("attention", 2, (2048, 8192), attention(False)),
        Cost("attention_hybridized", 2, (2048, 8192), attention(True)),
        Cost("attention_memory", 1, (2048, 8192), attention(False), memory=True),
        Cost("attention_hybridized_memory", 1, (2048, 8192), attention(True), memory=True),
    )
}

if __name__ == "__main__":
    raise SystemExit(main())
