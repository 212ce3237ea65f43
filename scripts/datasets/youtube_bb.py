"""Brings YouTube-BoundingBoxes, which is published as crops, into ~/.mxnet/datasets/yt_bb.

python scripts/datasets/youtube_bb.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.store import download
from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

ADDRESS = "https://yizhu-migrate-data.s3.amazonaws.com/YouTube-BB/"
PARTS = 100


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    args = parser_of(__doc__, "yt_bb").parse_args(argv)
    boxes = args.target_dir / "train.json"
    if not args.no_download:
        download(f"{ADDRESS}train.json", str(boxes), overwrite=args.overwrite)
    if not boxes.is_file():
        raise SystemExit(f"{boxes} is missing: get it from {ADDRESS}train.json and put it there")
    sources = [Source(f"{ADDRESS}{part}{number:04d}.tar") for number in range(PARTS) for part in ("train", "val")]
    return unpack(args, tuple(sources))


if __name__ == "__main__":
    main()
