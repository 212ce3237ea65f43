"""Clips of camera moves over pictures, for recipes that recognise actions: a window that stands still, goes left,
right, up or down, that draws near or away, or a scene that it dawns or falls dark over.

    python scripts/datasets/camera_moves.py ../shared/data/tiny_coco/train2017 --target moves --hold-out 4

Each picture gives --clips clips of each move, from random places, with random speeds, by some light or other. Clips of
every K-th picture are for tests: nothing of these pictures is seen in training. Folders of frames and the lists train.txt
and val.txt are what train_recognizer.py reads with `--dataset custom`.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import program

PICTURES = (".jpg", ".jpeg")
# name: direction of the window in x and y, of its size, and of the light
MOVES = {
    "still": (0, 0, 0, 0),
    "left": (-1, 0, 0, 0),
    "right": (1, 0, 0, 0),
    "up": (0, -1, 0, 0),
    "down": (0, 1, 0, 0),
    "near": (0, 0, -1, 0),
    "away": (0, 0, 1, 0),
    "dawn": (0, 0, 0, 1),
    "dusk": (0, 0, 0, -1),
}


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of clips of each part."""
    args = parse_args(argv)
    pictures = [path for source in args.sources for path in sorted(source.glob("*")) if path.suffix.lower() in PICTURES]
    if len(pictures) < args.hold_out:
        folders = ", ".join(map(str, args.sources))
        raise SystemExit(f"{folders} has {len(pictures)} JPEG pictures, --hold-out {args.hold_out} needs as many")
    random = np.random.RandomState(args.seed)
    lines: dict[str, list[str]] = {"train": [], "val": []}
    for number, path in enumerate(pictures, 1):
        part = "val" if number % args.hold_out == 0 else "train"
        for clip, (label, move) in product(range(args.clips), enumerate(MOVES[name] for name in args.moves)):
            name = f"{path.stem}_{label}" + (f"_{clip}" if clip else "")
            write_clip(args.target / name, path, move, args.frames, args.size, random)
            lines[part].append(f"{name} {args.frames} {label}\n")
    for part, listed in lines.items():
        write_bytes(args.target / f"{part}.txt", "".join(listed).encode())
    counts = {part: len(listed) for part, listed in lines.items()}
    print("  ".join(f"{part}: {count} clips" for part, count in counts.items()))
    return counts


def write_clip(folder: Path, picture: Path, move: tuple, frames: int, size: int, random) -> None:
    """The frames img_00001.jpg and so on, of `size` x `size` pixels."""
    from PIL import Image, ImageEnhance

    folder.mkdir(parents=True, exist_ok=True)
    with Image.open(picture) as opened:
        whole = opened.convert("RGB")
    side = min(whole.size) * random.uniform(0.5, 0.6)
    middle = np.array([random.uniform(0.48, 0.52) * extent for extent in whole.size])
    speed = random.uniform(0.25, 0.4)
    along = np.array(move) * side * speed  # the way from the middle to the last frame
    light = random.uniform(0.5, 0.7)  # of the middle frame, as a share of the picture's
    for index, t in enumerate(np.linspace(-1, 1, frames), 1):
        half = (side + along[2] * t) / 2
        left, top = middle + along[:2] * t - half
        box = (left, top, left + 2 * half, top + 2 * half)
        frame = whole.resize((size, size), Image.Resampling.BILINEAR, box=_within(box, whole.size))
        frame = ImageEnhance.Brightness(frame).enhance(light * (1 + 2 * move[3] * speed * t))
        frame.save(folder / f"img_{index:05d}.jpg", quality=90)


def _within(box, size) -> tuple[float, ...]:
    return tuple(float(np.clip(value, 0, size[k % 2])) for k, value in enumerate(box))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("sources", type=Path, nargs="+", metavar="source", help="folders with pictures *.jpg or *.jpeg")
    add("--moves", nargs="+", choices=MOVES, default=list(MOVES), help="classes, in this order (default: all)")
    add("--target", type=Path, required=True, help="folder that is made")
    add("--hold-out", type=int, default=4, metavar="K", help="every K-th picture is for tests (default: %(default)s)")
    add("--clips", type=int, default=1, help="clips of each move over a picture (default: %(default)s)")
    add("--frames", type=int, default=16, help="frames of a clip (default: %(default)s)")
    add("--size", type=int, default=64, help="sides of a frame in pixels (default: %(default)s)")
    add("--seed", type=int, default=0, help="seed of places and speeds (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
