"""How a network on a BERT learns: arguments of the programs that tune one, their trainer, a pass over the data."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core import autograd
from core.contrib import amp
from core.kvstore import processes
from gluon import Trainer
from gluon.finetune import decay_weights_only
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, backward, watch_overflow
from scripts.common.run import ROOT, Run, add_run_arguments


def add_tuning_arguments(
    parser: argparse.ArgumentParser,
    output: str,
    *,
    lr: float,
    epochs: int = 3,
    optimizer: str = "bertadam",
    seed: int = 2,
    warmup: float = 0.1,
    gpu: bool = True,
) -> None:
    """Adds what `trainer` and `train` take, --output_dir (`output` below checkpoints) and what every run has.

    gpu: also --gpu with the number of one.
    """
    folder = ROOT / "checkpoints" / output
    parser.add_argument(
        "--output_dir", type=Path, default=folder, help="of the result (default: checkpoints/" + output + ")"
    )
    parser.add_argument("--optimizer", default=optimizer, help="(default: %(default)s)")
    parser.add_argument(
        "--epochs", "--num-epochs", type=int, default=epochs, help="passes over the data (default: %(default)s)"
    )
    parser.add_argument("--training_steps", type=int, metavar="N", help="updates in all, in place of --epochs")
    parser.add_argument("--batch_size", "--batch-size", type=int, default=32, help="samples (default: %(default)s)")
    parser.add_argument("--accumulate", type=int, default=1, help="batches for one update (default: %(default)s)")
    parser.add_argument("--lr", "--learning-rate", type=float, default=lr, help="highest rate (default: %(default)s)")
    parser.add_argument("--wd", type=float, default=0.01, help="weight decay (default: %(default)s)")
    parser.add_argument(
        "--warmup_ratio", "--warmup-ratio", type=float, default=warmup, help="part of the steps (default: %(default)s)"
    )
    parser.add_argument("--epsilon", type=float, default=1e-6, help="of the optimizer (default: %(default)s)")
    parser.add_argument(
        "--log_interval", "--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log"
    )
    parser.add_argument("--hybridize", action="store_true", help="compile the network")
    parser.add_argument("--samples", type=int, help="use only the first so many of each part")
    if gpu:
        add_gpu_argument(parser)
    add_dtype_argument(parser, float16=True)
    add_run_arguments(parser, run="", seed=seed)


def trainer(args: argparse.Namespace, net, samples: int) -> Trainer:
    """The trainer of `net` for `samples` a pass; --epochs becomes the passes that --training_steps takes, where that is given."""
    if args.accumulate > 1:
        net.collect_params().setattr("grad_req", "add")
    steps = max(-(-samples // (args.batch_size * args.accumulate)) // processes.count(), 1)
    if args.training_steps:
        args.epochs = -(-args.training_steps // steps)
    return rising_and_falling(net, args.training_steps or args.epochs * steps, args, epsilon=args.epsilon, wd=args.wd)


def rising_and_falling(net, steps: int, args: argparse.Namespace, past: int = 0, **settings) -> Trainer:
    """The trainer by --optimizer, --lr and --warmup_ratio: the rate rises, then falls to zero; only weights decay.

    past: updates of an earlier phase, which the rate does not count.
    """
    decay_weights_only(net)
    warmup = int(args.warmup_ratio * steps)
    schedule = mx.lr_scheduler.PolyScheduler(steps, base_lr=args.lr, pwr=1, final_lr=0, warmup_steps=warmup)
    settings |= {
        "learning_rate": args.lr,
        "lr_scheduler": Later(schedule, past) if past else schedule,
    }
    made = parallel.trainer(args, net.collect_params(), args.optimizer, settings, update_on_kvstore=False)
    watch_overflow(made, args.dtype)
    return made


class Later(mx.lr_scheduler.LRScheduler):
    """A schedule that begins after `past` updates."""

    def __init__(self, schedule: mx.lr_scheduler.LRScheduler, past: int):
        super().__init__(schedule.base_lr)
        self._schedule, self._past = schedule, past

    def __call__(self, num_update: int) -> float:
        return self._schedule(max(num_update - self._past, 1))


def train(run: Run, net, batches, loss_of: Callable, trainer: Trainer) -> dict[str, float]:
    """One pass of training, or its beginning, up to --training_steps; the mean loss as a row.

    loss_of(batch): a scalar, or a list of the shares that several devices have in it. Gradients are cut to the norm 1.
    """
    accumulate, last = run.args.accumulate, run.args.training_steps or math.inf
    means = Means(run, run.args.log_interval)
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    count = len(batches)
    for index, batch in enumerate(batches, 1):
        with autograd.record():
            loss = loss_of(batch)
            shares = loss if isinstance(loss, list) else [loss]
            backward(shares, trainer, run.args.dtype)
        means.add(loss=sum(float(share.asscalar()) for share in shares))
        if index % accumulate == 0 or index == count:
            if run.args.dtype == "float16":
                amp.unscale(trainer)
            trainer.allreduce_grads()
            nlp.utils.clip_grad_global_norm(parameters, processes.count())
            trainer.update(accumulate)
            if accumulate > 1:
                net.collect_params().zero_grad()
            if trainer.optimizer.num_update >= last:
                break
    return means.row()
