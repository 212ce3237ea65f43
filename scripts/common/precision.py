"""The precision that a program trains in: one flag, and what it switches on."""

from __future__ import annotations

import argparse

from core import autograd
from core.contrib import amp


def add_dtype_argument(parser: argparse.ArgumentParser, *, float16: bool = False) -> None:
    """Adds `--dtype`, and `--amp` for float16; call `use_dtype` with its value before anything is computed.

    float16: offered as well, by programs that call `watch_overflow` and `backward`.
    """
    others = ("float16", "bfloat16") if float16 else ("bfloat16",)
    parser.add_argument(
        "--dtype",
        choices=("float32", *others),
        default="float32",
        help=f"{' or '.join(others)}: automatic mixed precision, the weights stay float32 (default: %(default)s)",
    )
    if float16:
        parser.add_argument("--amp", dest="dtype", action="store_const", const="float16", help="--dtype float16")


def use_dtype(dtype: str) -> None:
    """Switches automatic mixed precision on where `dtype` asks for it."""
    if dtype != "float32":
        amp.init(target_dtype=dtype)


def watch_overflow(trainer, dtype: str) -> None:
    """Lets a trainer scale the loss, and skip steps whose gradients overflow, where `dtype` needs that."""
    if dtype != "float32":
        amp.init_trainer(trainer)


def backward(losses: list, trainer, dtype: str = "float32") -> None:
    """The backward pass of one loss per device, within `autograd.record`.

    Scaled where `watch_overflow` has seen to it.
    """
    if dtype == "float32":
        autograd.backward(losses)
        return
    with amp.scale_loss(losses, trainer) as scaled:
        autograd.backward(scaled)
