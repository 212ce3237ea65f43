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
from gluon import Trainer, nn
from gluon.data import ArrayDataset, DataLoader, RandomSampler, SplitSampler
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common.classify import train_epoch
from scripts.common.run import Run, add_run_arguments


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--kv-store", default="device")
    parser.add_argument("-j", "--num-workers", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0, help="seconds before each batch")
    parser.add_argument(
        "--die", default="", help="EPOCH:BATCH, or EPOCH:checkpoint; of several processes the last one dies, once"
    )
    add_run_arguments(parser, run="small")
    args = parser.parse_args()
    store = mx.kv.create(args.kv_store)
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    death = args.die if store.rank == store.num_workers - 1 and not again else ""
    pause = args.pause
    del args.die, args.pause

    run = Run("test", args, data={})
    numbers = np.random.RandomState(0)
    x, y = numbers.standard_normal((64, 10)).astype(np.float32), numbers.randint(0, 3, 64).astype(np.float32)
    sampler = RandomSampler(64) if store.num_workers == 1 else SplitSampler(64, store.num_workers, store.rank, True)
    batches = DataLoader(ArrayDataset(x, y), 8, sampler=sampler, num_workers=args.num_workers)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    schedule = mx.lr_scheduler.FactorScheduler(step=5, factor=0.9, base_lr=args.lr)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": args.lr, "lr_scheduler": schedule}, kvstore=store)

    for epoch in run.epochs(args.epochs, net, trainer):
        metrics = train_epoch(
            net,
            dying(run.progress(batches, "training"), f"{epoch}:", death, pause),
            trainer,
            SoftmaxCrossEntropyLoss(),
            mx.cpu(),
            workers=store.num_workers,
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
