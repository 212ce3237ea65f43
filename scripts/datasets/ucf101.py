"""Brings UCF101 into ~/.mxnet/datasets/ucf101: folders of frames, and the lists of the three splits.

    python scripts/datasets/ucf101.py --num_worker 8

The videos are in a .rar archive, which has to be unpacked by hand, so that --src_dir has a folder for each class.
With --tiny_dataset a few of them come in a .zip archive, which is got and unpacked.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets import videos
from scripts.datasets.archives import Source, unpack

HOME = "https://www.crcv.ucf.edu/data/UCF101/UCF101.rar"
TINY = Source("https://github.com/bryanyzhu/tiny-ucf101/raw/master/tiny-UCF101.zip")
SPLITS = Source("https://www.crcv.ucf.edu/data/UCF101/UCF101TrainTestSplits-RecognitionTask.zip")


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives how many videos were decoded, and how many lines each list has."""
    args = videos.parser_of(
        __doc__, "ucf101", videos="UCF-101", frames="rawframes", lists="ucfTrainTestlist",
        annotations="ucfTrainTestlist", ext="avi", splits=3,
    ).parse_args(argv)  # fmt: skip
    if args.download and not (args.anno_dir / "classInd.txt").is_file():
        unpack(unpacking(args), (SPLITS,))
    if args.download and args.tiny_dataset and not args.src_dir.is_dir():
        unpack(unpacking(args), (TINY,))
    return videos.prepare(args, lambda: videos.ucf101_splits(args.anno_dir, args.level), HOME)


def unpacking(args: argparse.Namespace) -> argparse.Namespace:
    """What `archives.unpack` takes: the splits, and the tiny set's videos, lie in a folder of their own in the archive."""
    return argparse.Namespace(
        download_dir=args.download_dir, target_dir=args.anno_dir.parent, no_download=False, overwrite=False
    )


if __name__ == "__main__":
    main()
