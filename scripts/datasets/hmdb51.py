"""Brings HMDB51 into ~/.mxnet/datasets/hmdb51: folders of frames, and the lists of the three splits.

    python scripts/datasets/hmdb51.py --num_worker 8

The videos and the splits are in .rar archives, which have to be unpacked by hand, so that --src_dir has a folder for
each class, and --anno_dir the files CLASS_test_split1.txt and so on.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import missing, program
from scripts.datasets import videos

HOME = "http://serre-lab.clps.brown.edu/wp-content/uploads/2013/10/hmdb51_org.rar"
PARTS = {"train": "1", "val": "2"}  # a video with 0 is in neither


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives how many videos were decoded, and how many lines each list has."""
    folder = "testTrainMulti_7030_splits"
    parser = videos.parser_of(
        __doc__, "hmdb51", videos="videos", frames="rawframes", lists=folder, annotations=folder, ext="avi", splits=3
    )
    parser.set_defaults(new_width=340, new_height=256)
    args = parser.parse_args(argv)
    return videos.prepare(args, lambda: splits(args.anno_dir, args.level), HOME)


def splits(folder: Path, level: int) -> list[dict[str, videos.Split]]:
    """The three splits; classes are numbered by their names."""
    ending = "_test_split1.txt"
    classes = sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}"))
    if not classes:
        raise missing(folder / f"CLASS{ending}")
    found = []
    for number in (1, 2, 3):
        parts: dict[str, videos.Split] = {part: [] for part in PARTS}
        for label, name in enumerate(classes):
            for line in videos.lines_of(folder / f"{name}_test_split{number}.txt"):
                video, which = line.split()
                path = f"{name}/{Path(video).stem}" if level == 2 else Path(video).stem
                for part, key in PARTS.items():
                    if which == key:
                        parts[part].append((path, label))
        found.append(parts)
    return found


if __name__ == "__main__":
    main()
