"""Brings scenes of LSUN into ~/.mxnet/datasets/lsun: for each category a data base of pictures to train on, and of others.

    python scripts/datasets/lsun.py --category bedroom church_outdoor

The data bases are LMDB's, which the package `lmdb` reads; their values are pictures in WebP.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

HOME = "http://dl.yf.io/lsun/scenes"
CATEGORIES = (
    "bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen", "living_room",
    "restaurant", "tower",
)  # fmt: skip


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    args = parse_args(argv)
    parts = [f"{category}_{part}" for category in args.category if category != "test" for part in ("train", "val")]
    parts += ["test"] if "test" in args.category else []
    return unpack(args, tuple(Source(f"{HOME}/{part}_lmdb.zip") for part in parts))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__, "lsun")
    every = [*CATEGORIES, "test"]
    parser.add_argument(
        "-c", "--category", nargs="+", choices=every, default=every, metavar="NAME",
        help=f"kinds of scenes, or test: {', '.join(every)} (default: all)",
    )  # fmt: skip
    same = {"dest": "target_dir", "default": argparse.SUPPRESS, "help": "the same as --target-dir"}
    parser.add_argument("-o", "--out_dir", type=Path, **same)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
