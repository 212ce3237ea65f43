"""Brings Something-Something V2 into ~/.mxnet/datasets/somethingsomethingv2: folders of frames, and lists.

    python scripts/datasets/somethingsomethingv2.py --num_threads 8

The videos (.webm) can be had after a registration and go into --video_root, the files something-something-v2-*.json into
--anno_root.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import missing, program
from scripts.datasets.archives import DATASETS
from scripts.datasets.videos import write_frames

NAME = "something-something-v2"
HEIGHT = 256
PARTS = {"train": "train", "val": "validation", "test": "test"}


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives how many videos were decoded, and how many lines each list has."""
    args = parse_args(argv)
    counts = {}
    if args.decode_video:
        if not args.video_root.is_dir():
            raise SystemExit(f"{args.video_root} is missing: get the videos of {NAME} and put them there")
        jobs = [(path, args.frame_root / path.stem) for path in sorted(args.video_root.glob("*.webm"))]
        write = partial(write_frames, size=(0, HEIGHT), name="{:06d}.jpg", keep_aspect=True)
        with ProcessPoolExecutor(args.num_threads) as pool:
            counts["videos"] = len(list(pool.map(write, jobs)))
    if args.build_file_list:
        counts |= lists(args.anno_root, args.frame_root)
    for name, count in counts.items():
        print(f"{name}: {count}")
    return counts


def lists(annotations: Path, frames: Path) -> dict[str, int]:
    """Writes PART_videofolder.txt, lines of folder, frames and class, and category.txt; gives how many lines each has."""
    classes = {name: int(number) for name, number in read(annotations / f"{NAME}-labels.json").items()}
    write_bytes(annotations / "category.txt", "\n".join(sorted(classes, key=classes.__getitem__)).encode())
    counts = {}
    for part, name in PARTS.items():
        lines = []
        for entry in read(annotations / f"{NAME}-{name}.json"):
            count = sum(1 for _ in (frames / entry["id"]).glob("*.jpg"))
            if not count:
                raise SystemExit(f"{frames / entry['id']} has no frames: the video {entry['id']} was not decoded")
            label = 0 if part == "test" else classes[entry["template"].replace("[", "").replace("]", "")]
            lines.append(f"{entry['id']} {count} {label}")
        write_bytes(annotations / f"{part}_videofolder.txt", "\n".join(lines).encode())
        counts[f"{part}_videofolder.txt"] = len(lines)
    return counts


def read(path: Path):
    """The content of a published JSON file; SystemExit where it is missing."""
    if not path.is_file():
        raise missing(path)
    return json.loads(path.read_text(encoding="utf-8"))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add, home = parser.add_argument, DATASETS / "somethingsomethingv2"
    for flag, default, what in (
        ("--video_root", f"20bn-{NAME}", "folder of the videos"),
        ("--frame_root", f"20bn-{NAME}-frames", "folder of the frames that are written"),
        ("--anno_root", "annotations", "folder of the published labels, and of the lists that are written"),
    ):
        add(
            flag,
            type=lambda text: Path(text).expanduser(),
            default=home / default,
            help=f"{what} (default: %(default)s)",
        )
    add("--num_threads", type=int, default=100, help="processes that decode (default: %(default)s)")
    for flag, what in (("--decode_video", "write the frames"), ("--build_file_list", "write the lists")):
        add(flag, action=argparse.BooleanOptionalAction, default=True, help=f"{what} (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
