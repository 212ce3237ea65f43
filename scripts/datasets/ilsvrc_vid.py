"""Brings ImageNet's videos (VID 2015) into ~/.mxnet/datasets/vid: crops around their objects, and the boxes.

python scripts/datasets/ilsvrc_vid.py --download-dir ~/downloads --num-threads 8
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets import tracking
from scripts.datasets.archives import Source, unpack

SOURCES = (
    Source(
        "http://bvisionweb1.cs.unc.edu/ilsvrc2015/ILSVRC2015_VID.tar.gz", "077dbdea4dff1853edd81b04fa98e19392287ca3"
    ),
)
# Folders of the archive by the letters that videos are named after.
FOLDERS = {**{letter: f"train/ILSVRC2015_VID_train_000{k}" for k, letter in enumerate("abcd")}, "e": "val"}


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of videos of each part."""
    args = tracking.parser_of(__doc__, "vid").parse_args(argv)
    root = args.target_dir / "ILSVRC2015"
    if not root.is_dir():
        unpack(args, SOURCES)
    found = list(frames(root))
    tracking.crop(args, found)
    boxes = {video: kept for video, tracks in tracking.boxes_of(found).items() if (kept := several(tracks))}
    parts = {part: {v: b for v, b in boxes.items() if f"_{part}_" in v} for part in ("train", "val")}
    return {part: tracking.write_json(args.target_dir / f"{part}.json", own) for part, own in parts.items()}


def frames(root: Path):
    """The frames of all videos, with the boxes of their targets."""
    for letter, folder in FOLDERS.items():
        for path in sorted((root / "Annotations" / "VID" / folder).glob("*/*.xml")):
            boxes = {track: box for track, box in tracking.objects(path) if track is not None}
            picture = root / "Data" / "VID" / folder / path.parent.name / f"{path.stem}.JPEG"
            yield tracking.Frame(picture, f"{letter}/{path.parent.name}", int(path.stem), boxes)


def several(tracks: dict) -> dict:
    """The targets that are seen in two frames one after the other, or more."""
    return {track: shown for track, shown in tracks.items() if any(f"{int(frame) + 1:06d}" in shown for frame in shown)}


if __name__ == "__main__":
    main()
