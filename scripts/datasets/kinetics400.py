"""Brings Kinetics400 into ~/.mxnet/datasets/kinetics400: folders of frames, and lists.

    python scripts/datasets/kinetics400.py --decode_video --build_file_list
    python scripts/datasets/kinetics400.py --decode_video --build_file_list --subset val --src_dir val \\
        --out_dir rawframes_val --frame_path rawframes_val

The videos are on YouTube; whoever has them puts them into --src_dir, a folder for each class, named
YOUTUBEID_000001_000011.mp4 after the seconds. --anno_dir holds kinetics_train.csv, kinetics_val.csv and
kinetics_test.csv.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets import videos

HOME = "https://github.com/cvdfoundation/kinetics-dataset"


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives how many videos were decoded, and how many lines each list has."""
    args = videos.parser_of(
        __doc__, "kinetics400", videos="train", frames="rawframes_train", lists="", annotations="annotations",
        ext="mp4", splits=1,
    ).parse_args(argv)  # fmt: skip
    if args.download:
        raise SystemExit(f"the videos are on YouTube: {HOME} says how to get them; then leave --download out")
    return videos.prepare(args, lambda: [splits(args.anno_dir, args.level)], HOME)


def splits(folder: Path, level: int) -> dict[str, videos.Split]:
    """The parts; classes are numbered by their names, and are -1 where they were never published."""
    tables = {part: table(folder / f"kinetics_{part}.csv") for part in ("train", "val", "test")}
    classes = {name: k for k, name in enumerate(sorted({_label(row["label"]) for row in tables["train"]}))}
    return {
        part: [(_path(row, level), classes[_label(row["label"])] if row.get("label") else -1) for row in rows]
        for part, rows in tables.items()
    }


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a published table, by the names of its columns."""
    return list(csv.DictReader(videos.lines_of(path)))


def _label(text: str) -> str:
    return text.replace('"', "").replace(" ", "_")


def _path(row: dict[str, str], level: int) -> str:
    name = f"{row['youtube_id']}_{int(row['time_start']):06d}_{int(row['time_end']):06d}"
    return f"{_label(row['label'])}/{name}" if level == 2 and row.get("label") else name


if __name__ == "__main__":
    main()
