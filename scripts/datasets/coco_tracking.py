"""Brings COCO 2017 into ~/.mxnet/datasets/coco as trackers are trained with it: crops around its objects, and their boxes.

python scripts/datasets/coco_tracking.py --download-dir ~/downloads --num-threads 8
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import missing, program
from scripts.datasets import tracking
from scripts.datasets.archives import unpack
from scripts.datasets.mscoco import SOURCES

PARTS = ("val2017", "train2017")


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of pictures with objects of each part."""
    args = tracking.parser_of(__doc__, "coco").parse_args(argv)
    if not all((args.target_dir / part).is_dir() for part in PARTS):
        unpack(args, SOURCES)
    counts = {}
    for part in PARTS:
        found = list(frames(args.target_dir, part))
        tracking.crop(args, found)
        counts[part] = tracking.write_json(args.target_dir / f"{part}.json", tracking.boxes_of(found))
    return counts


def frames(root: Path, part: str):
    """The pictures of a part that have objects of some width and height."""
    listed = root / "annotations" / f"instances_{part}.json"
    if not listed.is_file():
        raise missing(listed)
    whole = json.loads(listed.read_text(encoding="utf-8"))
    names = {image["id"]: image["file_name"] for image in whole["images"]}
    boxes: dict[int, dict[int, list[float]]] = {number: {} for number in names}
    counts = dict.fromkeys(names, 0)
    for entry in whole["annotations"]:
        left, top, width, height = entry["bbox"]
        target = counts[entry["image_id"]]
        counts[entry["image_id"]] += 1
        if width > 0 and height > 0:
            boxes[entry["image_id"]][target] = [left, top, left + width, top + height]
    for number, name in names.items():
        if boxes[number]:
            yield tracking.Frame(root / part / name, f"{part}/{Path(name).stem}", 0, boxes[number])


if __name__ == "__main__":
    main()
