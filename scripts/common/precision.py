"""The precision that a program trains in: one flag, and what it switches on."""

from __future__ import annotations

import argparse

from core.contrib import amp


def add_dtype_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--dtype`; call `use_dtype` with its value before anything is computed."""
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        default="float32",
        help="bfloat16: automatic mixed precision, the weights stay float32 (default: %(default)s)",
    )


def use_dtype(dtype: str) -> None:
    """Switches automatic mixed precision on where `dtype` asks for it."""
    if dtype != "float32":
        amp.init(target_dtype=dtype)
