"""What sums of gradients over processes take, of BERT-base: when they begin, as a share of the backward pass, bucket by
bucket; seconds and memory of a step, of plain and of compressed ones, beside training without sums.

python scripts/launch.py -n 2 scripts/benchmarks/collectives.py
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gluon
from core import autograd, heap, nd
from core.kernels import communication
from core.kvstore import processes
from gluonnlp.model import BERTEncoder, BERTModel
from scripts.benchmarks.growth import peak, resident
from scripts.benchmarks.table import report
from scripts.common.record import LOGS

STEPS = 4  # of which the first tells the order in which gradients arrive, and the last is looked at


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tiny network, to see that it runs")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    args = parser.parse_args(argv)
    rows = [begins(args.small)]
    if processes.rank() == 0:
        report("collectives", "When sums of gradients begin, as a share of the backward pass", rows, args.logs)
    kinds = {"no sums": None, "dist_sync": {}, "dist_sync, 2bit": {"type": "2bit", "threshold": 1e-4}}
    steps = [costs(name, compression, args.small) for name, compression in kinds.items()]
    if processes.rank() == 0:
        report("gradient_sums", "What sums of gradients over processes add to a step", steps, args.logs)
    return rows


def pieces(small: bool, kvstore: str | None, **settings) -> tuple[gluon.Trainer, Callable]:
    """A trainer, and what makes a forward pass."""
    units, layers, heads, words = (64, 2, 2, 2000) if small else (768, 12, 12, 30522)
    sizes = {"units": units, "hidden_size": 4 * units, "num_heads": heads, "num_layers": layers, "max_length": 64}
    net = BERTModel(BERTEncoder(dropout=0.0, **sizes), words, 2, units=units, embed_size=units, use_decoder=False)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=kvstore, **settings)
    ids, types, lengths = nd.arange(128).reshape((2, 64)), nd.zeros((2, 64)), nd.array([64, 64])

    def forward():
        with autograd.record():
            return sum(out.mean() for out in net(ids, types, lengths))

    return trainer, forward


def costs(name: str, compression: dict | None, small: bool) -> dict:
    """Seconds of the backward pass and of `Trainer.step`, medians; megabytes that are held, and those of a step besides."""
    gc.collect()
    heap.trim()
    before = resident()
    settings = {} if compression is None else {"compression_params": compression}
    trainer, forward = pieces(small, None if compression is None else "dist_sync", **settings)
    times = []

    def work():
        loss = forward()
        start = time.perf_counter()
        loss.backward()
        middle = time.perf_counter()
        trainer.step(1)
        nd.waitall()
        times.append((middle - start, time.perf_counter() - middle))

    for _ in range(STEPS):
        work()
    times.clear()
    gc.collect()
    heap.trim()
    held = resident() - before
    for _ in range(STEPS):
        work()
    backward, step = map(statistics.median, zip(*times))
    besides = peak(work)
    parameters = sum(param.data().size for param in trainer._params) * 4 / 2**20
    return {
        "kind": name,
        "processes": processes.count(),
        "MB of parameters": parameters,
        "backward s": backward,
        "step s": step,
        "MB held": held,
        "MB of a step besides": besides,
    }


def begins(small: bool) -> dict:
    """When the sums begin."""
    trainer, forward = pieces(small, "dist_sync")
    begun: list[tuple[float, int]] = []
    send = communication.all_reduce

    def noting(tensor, *more, **named):
        begun.append((time.perf_counter(), tensor.nbytes))
        return send(tensor, *more, **named)

    communication.all_reduce = noting
    for _ in range(STEPS):
        begun.clear()
        loss = forward()
        start = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        trainer.step(1)
    communication.all_reduce = send
    shares = [((t - start) / (end - start), size) for t, size in begun if t < end]
    return {
        "network": "BERT, tiny" if small else "BERT-base",
        "processes": processes.count(),
        "sums within the backward pass": len(shares),
        "the first begins at": min(share for share, _ in shares),
        "bar": 0.1,
        "the last begins at": max(share for share, _ in shares),
        "MB within": sum(size for _, size in shares) / 1e6,
        "MB of all": sum(size for _, size in begun) / 1e6,
    }


if __name__ == "__main__":
    main()
