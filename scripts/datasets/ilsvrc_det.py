"""Brings ImageNet's detection pictures (DET 2015) into ~/.mxnet/datasets/tracking/det: crops around their objects, and
the boxes.

python scripts/datasets/ilsvrc_det.py --download-dir ~/downloads --num-threads 8
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets import tracking
from scripts.datasets.archives import Source, unpack

SOURCES = (
    Source("http://image-net.org/image/ILSVRC2015/ILSVRC2015_DET.tar.gz", "cbf602d89f2877fa8843392a1ffde03450a18d38"),
)
# Folders of the archive by the letters that pictures are named after; the last one is for tests.
FOLDERS = {
    "a": "train/ILSVRC2013_train",
    **{letter: f"train/ILSVRC2014_train_000{k}" for k, letter in enumerate("bcdefgh")},
    "i": "val",
}


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of pictures of each part."""
    args = tracking.parser_of(__doc__, "tracking/det").parse_args(argv)
    root = next(
        (args.target_dir / name for name in ("ILSVRC", "ILSVRC2015") if (args.target_dir / name).is_dir()), None
    )
    if root is None:
        unpack(args, SOURCES)
        root = args.target_dir / "ILSVRC2015"
    found = list(frames(root))
    tracking.crop(args, found)
    boxes = tracking.boxes_of(found)
    parts = {
        "train": {v: b for v, b in boxes.items() if v[0] != "i"},
        "val": {v: b for v, b in boxes.items() if v[0] == "i"},
    }
    return {part: tracking.write_json(args.target_dir / f"{part}.json", own) for part, own in parts.items()}


def frames(root: Path):
    """The pictures, each a video of one frame, with the boxes of their objects."""
    for letter, folder in FOLDERS.items():
        base = root / "Annotations" / "DET" / folder
        for path in sorted(base.glob("*/*.xml" if letter == "a" else "*.xml")):
            boxes = {number: box for number, (_, box) in enumerate(tracking.objects(path))}
            picture = root / "Data" / "DET" / folder / path.relative_to(base).with_suffix(".JPEG")
            if boxes:
                yield tracking.Frame(picture, f"{letter}/{path.stem}", 0, boxes)


if __name__ == "__main__":
    main()
