"""Crops around targets, and their boxes, which trackers are trained with: what the tracking data sets share.

Below the root, FOLDER/VIDEO/000000.00.z.jpg and .x.jpg are the template and the search region of frame 0 and target 0;
a JSON file has the boxes: {video: {target: {frame: [left, top, right, bottom]}}}.
"""

from __future__ import annotations

import argparse
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.files.atomic import write_bytes
from core.files.text import reading
from gluoncv.utils.data.tracking import crop_like_SiamFC
from scripts.common.flags import Parser
from scripts.datasets.archives import parser_of as archives_parser

Boxes = dict[str, dict[str, dict[str, list[float]]]]


class Frame(NamedTuple):
    """A picture with targets: its file, its video (a path below the folder of crops), number, and boxes by target."""

    path: Path
    video: str
    number: int
    boxes: dict[int, list[float]]


def parser_of(description: str, folder: str) -> Parser:
    """A parser with the flags of archives, --instance-size and --num-threads."""
    parser = archives_parser(description, folder)
    add = parser.add_argument
    add("--instance-size", type=int, default=511, help="sides of the search regions in pixels (default: %(default)s)")
    add("--num-threads", type=int, default=12, help="processes that crop (default: %(default)s)")
    return parser


def crop(args: argparse.Namespace, frames: Iterable[Frame]) -> int:
    """Writes the crops of frames to cropSIZE below --target-dir; gives how many frames these were."""
    write = partial(write_crops, folder=args.target_dir / f"crop{args.instance_size}", size=args.instance_size)
    if args.num_threads > 1:
        with ProcessPoolExecutor(args.num_threads) as pool:
            return len(list(pool.map(write, frames, chunksize=16)))
    return len([write(frame) for frame in frames])


def write_crops(frame: Frame, folder: Path, size: int) -> None:
    """Writes the template and the search region of each target; outside of the picture is its mean colour."""
    from PIL import Image

    with Image.open(frame.path) as opened:
        picture = np.asarray(opened.convert("RGB"))
    mean = picture.mean(axis=(0, 1))
    (folder / frame.video).mkdir(parents=True, exist_ok=True)
    for target, box in frame.boxes.items():
        crops = crop_like_SiamFC(picture, box, instance_size=size, padding=mean)
        for kind, pixels in zip("zx", crops, strict=True):
            file = io.BytesIO()
            Image.fromarray(np.asarray(pixels, "uint8")).save(file, "JPEG", quality=95)
            write_bytes(folder / frame.video / f"{frame.number:06d}.{target:02d}.{kind}.jpg", file.getvalue())


def boxes_of(frames: Iterable[Frame]) -> Boxes:
    """The boxes of frames, by video, target and frame."""
    found: Boxes = {}
    for frame in frames:
        for target, box in frame.boxes.items():
            found.setdefault(frame.video, {}).setdefault(f"{target:02d}", {})[f"{frame.number:06d}"] = box
    return found


def write_json(path: Path, boxes: Boxes) -> int:
    """Writes boxes; gives how many videos they are of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, json.dumps(boxes, indent=1, sort_keys=True).encode())
    print(f"{path}: {len(boxes)} videos")
    return len(boxes)


def objects(path: Path) -> list[tuple[int | None, list[float]]]:
    """(number of the target, where there is one, and its box) of the objects in an annotation of ImageNet's."""
    with reading(str(path), "the annotation"):
        found = []
        for entry in ET.parse(path).getroot().iter("object"):
            box = [float(entry.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax")]
            track = entry.findtext("trackid")
            found.append((None if track is None else int(track), box))
        return found
