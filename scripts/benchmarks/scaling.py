"""The seconds of `core.kvstore.scaling` beside measured ones: a step of a deep network in each way to share it.

python scripts/launch.py -n 2 scripts/benchmarks/scaling.py

What a process computes in a second is that of a step without sums, in all processes at once; the link is that of a sum of
as many bytes as there are parameters. Both are measured in the same run, then steps of each kind in turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gluon
from core import autograd, nd
from core.kernels import communication
from core.kvstore import processes
from core.kvstore.scaling import KINDS, Mesh, Work, estimate
from scripts.benchmarks.table import report
from scripts.common.record import LOGS

LAYERS = 12
ROUNDS = 5


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024, help="units of a layer (default: 1024)")
    parser.add_argument("--batch", type=int, default=512, help="samples of a process (default: 512)")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    args = parser.parse_args(argv)
    communication.start()
    steps = {kind: step(kind, args.width, args.batch) for kind in (None, *KINDS)}
    turns = [{kind: seconds(once) for kind, once in steps.items()} for _ in range(ROUNDS)]
    found = {kind: statistics.median(turn[kind] for turn in turns) for kind in steps}
    parameters = LAYERS * args.width**2
    flops = 6 * parameters * args.batch
    flat, count = nd.ones((parameters,)), processes.count()
    sums = [seconds(lambda: communication.all_reduce(flat._data).wait()) for _ in range(ROUNDS)]
    link = 2 * 4 * parameters * (count - 1) / count / statistics.median(sums)
    mesh = Mesh(count, link=link, rate=flops / found[None])
    rows = []
    for kind in KINDS:
        expected = estimate(Work(parameters, flops, slots=0, largest=args.width**2), mesh, kind)
        rows.append(
            {
                "kind": kind if kind == "dist_sync" else f"stage {kind}",
                "processes": count,
                "GFLOP/s": mesh.rate / 1e9,
                "link GB/s": link / 1e9,
                "alone s": found[None],
                "computed s": expected.seconds,
                "measured s": found[kind],
                "measured/computed": found[kind] / expected.seconds,
            }
        )
    if processes.rank() == 0:
        report("scaling", "Seconds of a step, computed and measured", rows, args.logs)
    return rows


def step(kind: str | int | None, width: int, batch: int) -> Callable[[], None]:
    """A step of SGD that is ready to be measured; None: without sums."""
    net = gluon.nn.Sequential()
    net.add(*[gluon.nn.Dense(width, in_units=width, use_bias=False) for _ in range(LAYERS)])
    net.initialize()
    more = {"kvstore": kind} if kind in (None, "dist_sync") else {"kvstore": "dist_sharded", "stage": kind}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-6}, **more)
    x = nd.ones((batch, width))

    def once():
        with autograd.record():
            loss = net(x).mean()
        loss.backward()
        trainer.step(1)
        nd.waitall()

    for _ in range(3):
        once()
    return once


def seconds(work: Callable[[], object]) -> float:
    """Of the slowest process, which all begin together."""
    processes.barrier()
    start = time.perf_counter()
    work()
    own = time.perf_counter() - start
    return max(float(text) for text in communication.texts("seconds", repr(own)))


if __name__ == "__main__":
    main()
