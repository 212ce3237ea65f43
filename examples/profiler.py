"""Where the time of a training step goes, operator by operator.

    python examples/profiler.py --output profile.json

Open the file in chrome://tracing or Perfetto; the same as a table is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx
from core import autograd, nd
from gluon import Trainer, nn
from gluon.loss import SoftmaxCrossEntropyLoss


def main(argv: list[str] | None = None) -> str:
    """Gives the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("profile.json"), help="the trace (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="steps that are timed (default: %(default)s)")
    args = parser.parse_args(argv)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, activation="relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(10))
    net.initialize()
    trainer, loss = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}), SoftmaxCrossEntropyLoss()
    x, y = nd.random.uniform(shape=(32, 1, 28, 28)), nd.arange(32) % 10

    def step() -> None:
        with autograd.record():
            objective = loss(net(x), y)
        objective.backward()
        trainer.step(len(y))

    step()  # shapes are found, memory is taken
    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(args.output))
    mx.profiler.set_state("run")
    for _ in range(args.steps):
        task = mx.profiler.Domain("training").new_task("step")
        task.start()
        step()
        task.stop()
    nd.waitall()
    mx.profiler.set_state("stop")
    table = mx.profiler.dumps()
    mx.profiler.dump()
    print(table)
    return table


if __name__ == "__main__":
    main()
