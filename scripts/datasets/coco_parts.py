"""Splits a small data set in COCO's layout into a part to train on and a part to test on.

    python scripts/datasets/coco_parts.py ../shared/data/tiny_coco --target tiny_coco_persons --hold-out 3 \\
        --categories person

Every K-th picture, by its number, is held out as `val2017`; the others are `train2017`. Pictures are linked, not copied.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import program

KINDS = ("instances", "person_keypoints")


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of pictures of each part."""
    args = parse_args(argv)
    (args.target / "annotations").mkdir(parents=True, exist_ok=True)
    counts = {}
    for kind in KINDS:
        source = args.source / "annotations" / f"{kind}_{args.split}.json"
        if not source.is_file():
            raise SystemExit(
                f"{source} is missing: the first argument is a folder with COCO's annotations and pictures"
            )
        whole = json.loads(source.read_text(encoding="utf-8"))
        for part, chosen in split(whole, args).items():
            write_bytes(args.target / "annotations" / f"{kind}_{part}2017.json", json.dumps(chosen).encode())
            counts[part] = len(chosen["images"])
    for part in counts:
        link = args.target / f"{part}2017"
        if not link.exists():
            link.symlink_to((args.source / args.split).resolve(), target_is_directory=True)
    print("  ".join(f"{part}: {count} pictures" for part, count in counts.items()))
    return counts


def split(whole: dict, args: argparse.Namespace) -> dict[str, dict]:
    """The annotations of the two parts, with objects of the wanted categories that are no crowds."""
    names, most, every = args.categories, args.max_objects, args.hold_out
    wanted = {c["id"] for c in whole["categories"] if names is None or c["name"] in names}
    objects = [a for a in whole["annotations"] if a["category_id"] in wanted and not a["iscrowd"]]
    counts = Counter(a["image_id"] for a in objects)
    pixels = {image["id"]: image["width"] * image["height"] for image in whole["images"]}
    shown = {number for number, count in counts.items() if most is None or count <= most}
    pictures = sorted((image for image in whole["images"] if image["id"] in shown), key=lambda image: image["id"])
    small = {a["image_id"] for a in objects if a["area"] < args.least_share * pixels[a["image_id"]]}
    held = {image["id"] for image in [p for p in pictures if p["id"] not in small][every - 1 :: every]}
    return {
        part: whole
        | {
            "images": [image for image in pictures if (image["id"] in held) == (part == "val")],
            "annotations": [
                a for a in objects if a["image_id"] in shown and (a["image_id"] in held) == (part == "val")
            ],
        }
        for part in ("train", "val")
    }


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("source", type=Path, help="folder with annotations and pictures")
    add("--split", default="train2017", help="part that is split (default: %(default)s)")
    add("--target", type=Path, required=True, help="folder that is made")
    add("--hold-out", type=int, default=3, metavar="K", help="every K-th picture is for tests (default: %(default)s)")
    add(
        "--least-share", type=float, default=0, metavar="S",
        help="pictures with an object of less than this share of their pixels are not held out (default: %(default)s)",
    )  # fmt: skip
    add("--max-objects", type=int, metavar="N", help="leave out pictures with more objects (default: none)")
    add("--categories", nargs="+", help="objects to keep (default: all)")
    args = parser.parse_args(argv)
    if args.hold_out < 2:
        parser.error(f"--hold-out is 2 or more, given {args.hold_out}")
    return args


if __name__ == "__main__":
    main()
