"""A small training program over `scripts.common.run`, which can kill itself at a given moment.

Everything random that a program may use takes part: initializers, dropout, the loader's shuffle, NumPy, Python.
"""

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core.kvstore import processes
from gluon import nn
from gluon.data import ArrayDataset
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common import parallel
from scripts.common.classify import train_epoch
from scripts.common.run import Run, add_run_arguments


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("-j", "--num-workers", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0, help="seconds before each batch")
    parser.add_argument(
        "--die", default="", help="EPOCH:BATCH, or EPOCH:checkpoint; of several processes the last one dies, once"
    )
    add_run_arguments(parser, run="small")
    args = parser.parse_args()
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    death = args.die if processes.rank() == processes.count() - 1 and not again else ""
    pause = args.pause
    del args.die, args.pause

    run = Run("test", args, data={})
    numbers = np.random.RandomState(0)
    x, y = numbers.standard_normal((64, 10)).astype(np.float32), numbers.randint(0, 3, 64).astype(np.float32)
    batches = parallel.loader(ArrayDataset(x, y), 8, num_workers=args.num_workers)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    schedule = mx.lr_scheduler.FactorScheduler(step=5, factor=0.9, base_lr=args.lr)
    settings = {"learning_rate": args.lr, "lr_scheduler": schedule}
    trainer = parallel.trainer(args, net.collect_params(), "adam", settings)

    for epoch in run.epochs(args.epochs, net, trainer):
        metrics = train_epoch(
            net,
            dying(run.progress(batches, "training"), f"{epoch}:", death, pause),
            trainer,
            SoftmaxCrossEntropyLoss(),
            mx.cpu(),
        )
        metrics |= {"numpy": float(np.random.random()), "python": random.random()}
        run.epoch_done(epoch, metrics, samples=64)
        if death == f"{epoch}:checkpoint":
            trainer.save_states = lambda _: die()
    run.finish("loss", "train_accuracy")


def dying(batches, epoch: str, death: str, pause: float):
    for index, batch in enumerate(batches):
        time.sleep(pause)
        if death == f"{epoch}{index}":
            die()
        yield batch


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
