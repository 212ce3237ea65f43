"""What recipes of training have in common: how much is loaded, how it is learned, and learning rates by update."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gluoncv.utils import LRScheduler, LRSequential
from scripts.common.run import Run


def add_batch_arguments(parser: argparse.ArgumentParser, size: int, of: str, *names: str) -> None:
    """Adds --batch-size, of one device, and -j, under further `names` too."""
    add = parser.add_argument
    add("--batch-size", type=int, default=size, help=f"{of} in a batch of a device (default: %(default)s)")
    add(
        "-j",
        "--num-data-workers",
        *names,
        dest="num_data_workers",
        type=int,
        default=0,
        help="loading processes (default: %(default)s)",
    )


def add_optimizer_arguments(
    parser: argparse.ArgumentParser, epochs: int, lr: float, wd: float, momentum: float | None = None
) -> None:
    """Adds --num-epochs, --lr, --wd (also as --epochs and --weight-decay), --no-wd and, where there is one, --momentum."""
    add = parser.add_argument
    add(
        "--num-epochs",
        "--epochs",
        dest="num_epochs",
        type=int,
        default=epochs,
        help="passes over the data (default: %(default)s)",
    )
    add("--lr", type=float, default=lr, help="highest learning rate (default: %(default)s)")
    if momentum is not None:
        add("--momentum", type=float, default=momentum, help="momentum (default: %(default)s)")
    add("--wd", "--weight-decay", dest="wd", type=float, default=wd, help="weight decay (default: %(default)s)")
    add("--no-wd", action="store_true", help="no weight decay of biases and of normalisation")


def add_mode_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --mode."""
    modes = ("imperative", "hybrid")
    parser.add_argument("--mode", choices=modes, default=modes[0], help="hybrid: compile the network")


def add_untrained_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --test-untrained, of `test_untrained`."""
    parser.add_argument("--test-untrained", action="store_true", help="test before the first epoch, too")


def test_untrained(args: argparse.Namespace, run: Run, epoch: int, test: Callable[[], dict[str, float]]) -> None:
    """What `test` finds before anything is learned becomes the record's "untrained", where --test-untrained asks for it."""
    if args.test_untrained and epoch == 1:
        run.record.put(untrained=test())
        run.record.say("untrained: " + "  ".join(f"{k} {v:.6g}" for k, v in run.record.facts["untrained"].items()))


def add_squeeze_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --use_se, of `squeeze_option`."""
    parser.add_argument("--use_se", "--use-se", action="store_true", help="squeeze and excitation in a ResNeXt")


def squeeze_option(args: argparse.Namespace) -> dict[str, bool]:
    """What the zoo is told for that."""
    return {"use_se": True} if args.use_se and args.model.startswith("resnext") else {}


def add_schedule_arguments(parser: argparse.ArgumentParser, decay: str, modes=("step", "cosine", "poly")) -> None:
    """Adds --lr-mode, --lr-decay, --lr-decay-epoch, --lr-decay-period, --warmup-lr and --warmup-epochs."""
    add = parser.add_argument
    add("--lr-mode", choices=modes, default=modes[0], help="how the rate falls (default: %(default)s)")
    add("--lr-decay", type=float, default=0.1, help="factor of a step (default: %(default)s)")
    add("--lr-decay-epoch", default=decay, metavar="E,E", help="epochs of the steps (default: %(default)s)")
    add("--lr-decay-period", type=int, default=0, metavar="N", help="epochs between steps, instead of a list")
    add("--warmup-lr", type=float, default=0.0, help="rate at which the warm-up begins (default: %(default)s)")
    add("--warmup-epochs", type=int, default=0, help="epochs in which the rate rises (default: %(default)s)")


def schedule(
    args: argparse.Namespace, epochs: int, updates: int, power: float = 2, rate: float | None = None
) -> LRSequential:
    """The learning rate by update, of `epochs` of so many updates: a linear warm-up, then what --lr-mode says.

    rate: the highest one (default: --lr).
    """
    rate = args.lr if rate is None else rate
    if args.lr_decay_period > 0:
        steps = range(args.lr_decay_period, epochs, args.lr_decay_period)
    else:
        steps = [int(epoch) for epoch in args.lr_decay_epoch.split(",")]
    warmup, rest = args.warmup_epochs, epochs - args.warmup_epochs
    return LRSequential(
        [
            LRScheduler("linear", args.warmup_lr, rate, nepochs=warmup, iters_per_epoch=updates),
            LRScheduler(
                args.lr_mode, rate, 0, nepochs=rest, iters_per_epoch=updates, power=power,
                step_epoch=[step - warmup for step in steps], step_factor=args.lr_decay,
            ),
        ]
    )  # fmt: skip
