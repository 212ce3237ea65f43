"""On what a program computes."""

from __future__ import annotations

import argparse
import warnings

import core as mx
from core.context import Context, num_gpus
from gluon.utils import split_and_load


def add_count_argument(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds a flag that says on how many GPUs to compute, by default `--num-gpus`."""
    parser.add_argument(
        *(names or ["--num-gpus"]),
        dest="num_gpus",
        type=int,
        default=0,
        metavar="N",
        help="GPUs (default: none, the CPU)",
    )


def add_list_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--gpus 0,1`."""
    parser.add_argument("--gpus", default="", help="numbers of GPUs, with commas (default: none, the CPU)")


def add_refused_argument(parser: argparse.ArgumentParser, flag: str, instead: str) -> None:
    """Adds a flag of the original that ends the program with the words of what serves here."""

    class Refused(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            parser.error(f"{option_string} is not here: {instead}")

    parser.add_argument(flag, action=Refused, nargs=0, default=argparse.SUPPRESS, help=f"not here: {instead}")


def contexts(args: argparse.Namespace) -> list[Context]:
    """What the flag says, and the CPU where it says nothing; SystemExit for GPUs that are not there."""
    wanted = [int(k) for k in args.gpus.split(",") if k] if "gpus" in args else list(range(args.num_gpus))
    if any(k >= num_gpus() for k in wanted):
        raise SystemExit(f"GPU {', '.join(map(str, wanted))} asked for, there are {num_gpus()}")
    return [mx.gpu(k) for k in wanted] or [mx.cpu()]


def settle(net, devices: list[Context], init=None) -> None:
    """Initialises with `init` what has no values yet, new heads on a published body say, and puts all on `devices`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "parameter .* is initialized already")
        net.initialize(init, ctx=devices)
    net.collect_params().reset_ctx(devices)


def spread(batch, devices: list[Context]) -> list:
    """Pieces of a batch, one on each device, fewer for a batch with fewer samples."""
    return split_and_load(batch, devices[: len(batch)], even_split=False)
