"""Follows one object through a video, and draws its box.

    python scripts/tracking/demo.py --video-path Dog.mp4 --gt-bbox 74,86,56,48 --save-dir track

The video is a file (with PyAV) or a folder of pictures; the box is left,top,width,height in the first frame.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.siamrpn import SiamRPNTracker
from gluoncv.utils.viz import cv_plot_bbox
from scripts.common.devices import add_count_argument, contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.tracking.frames import frames


@program
def main(argv: list[str] | None = None) -> list[list[float]]:
    from PIL import Image

    args = parse_args(argv)
    device = contexts(args)[0]
    tracker = SiamRPNTracker(get_model(args.model_name, pretrained=args.model_path or True, ctx=device))
    args.save_dir.mkdir(parents=True, exist_ok=True)
    boxes, shown = [], []
    for number, frame in enumerate(frames(args.video_path)):
        blue_first = frame[..., ::-1]
        if number:
            found = tracker.track(blue_first, device)
            boxes.append([float(v) for v in found["bbox"]])
            score = float(found["best_score"])
        else:
            tracker.init(blue_first, args.gt_bbox, device)
            boxes.append(args.gt_bbox)
            score = 1.0
        left, top, width, height = boxes[-1]
        drawn = cv_plot_bbox(
            frame.copy(), np.array([[left, top, left + width, top + height]]), np.array([score]), thresh=0
        )
        shown.append(Image.fromarray(drawn))
        shown[-1].save(args.save_dir / f"{number:05d}.png")
        print(f"{number}: {' '.join(f'{v:.1f}' for v in boxes[-1])}  {score:.3f}")
    if args.gif:
        shown[0].save(args.save_dir / "track.gif", save_all=True, append_images=shown[1:], duration=100, loop=0)
    return boxes


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--video-path", type=Path, required=True, help="file of a video, or a folder of pictures")
    add("--gt-bbox", type=_box, required=True, metavar="X,Y,W,H", help="the object in the first frame")
    add("--model-name", default="siamrpn_alexnet_v2_otb15", help="name in the model zoo (default: %(default)s)")
    add("--model-path", help="file, folder or URL of weights (default: the published ones)")
    add("--save-dir", type=Path, default=Path("track"), help="folder of the drawn frames (default: %(default)s)")
    add("--gif", action="store_true", help="write track.gif too")
    add_count_argument(parser)
    return parser.parse_args(argv)


def _box(text: str) -> list[float]:
    numbers = [float(part) for part in text.split(",")]
    if len(numbers) != 4:
        raise argparse.ArgumentTypeError(f"a box is left,top,width,height, given {text!r}")
    return numbers


if __name__ == "__main__":
    main()
