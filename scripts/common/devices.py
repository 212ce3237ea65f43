"""The devices that a program computes on: their flags, and networks and batches on them."""

from __future__ import annotations

import argparse
import os
import warnings

import core as mx
from core.context import Context, num_gpus
from core.kvstore import processes
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


def add_gpu_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--gpu K`, which `context_of` reads."""
    parser.add_argument("--gpu", type=int, metavar="K", help="compute on this GPU (default: the CPU)")


def add_list_argument(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds `--gpus 0,1`, under further `names` too."""
    parser.add_argument(
        "--gpus", *names, dest="gpus", default="", help="numbers of GPUs, with commas (default: none, the CPU)"
    )


def add_numbers_argument(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds `names` as further names of `--gpus 0,1`, beside the program's own flag; -1 is the CPU."""
    _add_gpus_under(parser, names, _numbers, "K,K", "numbers of GPUs, with commas, -1 for the CPU")


def add_first_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--num-gpus N` to a program with `--gpus`: the first N of them."""
    _add_gpus_under(parser, ["--num-gpus"], _first, "N", "the first N GPUs")


def add_cpu_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--no-cuda` to a program that counts its GPUs."""
    parser.add_argument(
        "--no-cuda", dest="num_gpus", action="store_const", const=0, default=0, help="the CPU, as by default"
    )


def _add_gpus_under(parser, names, kind, metavar: str, help: str) -> None:
    """Adds names under which a value for `--gpus` is given as well, which they leave alone where they are absent."""
    parser.add_argument(*names, dest="gpus", type=kind, default=argparse.SUPPRESS, metavar=metavar, help=help)


def _numbers(text: str) -> str:
    return ",".join(k for k in text.split(",") if int(k) >= 0)


def _first(count: str) -> str:
    return ",".join(map(str, range(int(count))))


def contexts(args: argparse.Namespace) -> list[Context]:
    """What the flag says, and the CPU where it says nothing; SystemExit for GPUs that are not there.

    Of several processes each has one (see `own_gpus`).
    """
    wanted = [int(k) for k in args.gpus.split(",") if k] if "gpus" in args else list(range(args.num_gpus))
    if any(k >= num_gpus() for k in wanted):
        raise SystemExit(f"GPU {', '.join(map(str, wanted))} asked for, there are {num_gpus()}")
    return [mx.gpu(k) for k in own_gpus(wanted)] or [mx.cpu()]


def own_gpus(wanted: list[int]) -> list[int]:
    """The numbers of the GPUs of this process: all that are wanted, but where several processes train together one.

    That is the one of its number (LOCAL_RANK) among those wanted; from a single one on, among all of the machine.
    """
    if processes.count() == 1 or not wanted:
        return wanted
    number = int(os.environ.get("LOCAL_RANK", 0))
    return [wanted[number % len(wanted)] if len(wanted) > 1 else (wanted[0] + number) % num_gpus()]


def context_of(args: argparse.Namespace) -> Context:
    """The GPU that `--gpu` names, or the CPU; SystemExit for one that is not there."""
    if args.gpu is None:
        return mx.cpu()
    if not 0 <= args.gpu < num_gpus():
        raise SystemExit(f"GPU {args.gpu} asked for, there are {num_gpus()}")
    return mx.gpu(*own_gpus([args.gpu]))


def settle(net, devices: list[Context], init=None) -> None:
    """Initialises with `init` what has no values yet, new heads on a published body say, and puts all on `devices`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "parameter .* is initialized already")
        net.initialize(init, ctx=devices)
    net.collect_params().reset_ctx(devices)


def spread(batch, devices: list[Context]) -> list:
    """Pieces of a batch, one on each device, fewer for a batch with fewer samples."""
    return split_and_load(batch, devices[: len(batch)], even_split=False)
