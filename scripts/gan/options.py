"""Flags that the programs for generative networks share."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_gan_arguments(
    parser: argparse.ArgumentParser, batch_size: int, beta1: float, pictures: str = "folder of pictures"
) -> None:
    """Adds --dataroot, what is in `pictures`, --batchSize, --workers, --beta1, --experiment and --log-interval."""
    add = parser.add_argument
    add("--dataroot", type=Path, required=True, help=pictures)
    add("--batchSize", type=int, default=batch_size, help="pictures in a batch (default: %(default)s)")
    add("--workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add("--beta1", type=float, default=beta1, help="of Adam (default: %(default)s)")
    add("--experiment", type=Path, default=Path("samples"), help="folder of the drawn samples (default: %(default)s)")
    add("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
