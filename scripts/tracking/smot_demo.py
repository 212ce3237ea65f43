"""Follows all objects of some classes through a video by one detector (SMOT), and draws their boxes and numbers.

    python scripts/tracking/smot_demo.py street.mp4 --network-name ssd_512_mobilenet1.0_coco --use-pretrained \\
        --custom-classes person car --gpu 0

The video is a file (with PyAV) or a folder of pictures. `--eval` writes what was found for smot_eval.py too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gluoncv.data.classes import COCO
from gluoncv.model_zoo.smot import GluonSSDMultiClassTracktor, SMOTTracker
from gluoncv.model_zoo.smot.smot_tracker import MOTIONS
from gluoncv.utils.viz import cv_plot_bbox
from scripts.common.flags import Parser
from scripts.common.foreign import add_idle_arguments
from scripts.common.program import program
from scripts.tracking.frames import frames


@program
def main(argv: list[str] | None = None) -> np.ndarray:
    args = parse_args(argv)
    tracktor = GluonSSDMultiClassTracktor(
        args.gpu, args.detect_thresh, args.network_name, args.use_pretrained, args.param_path, args.data_shape
    )
    tracker = SMOTTracker(
        motion_model=args.motion if args.use_motion else "no", use_motion=args.use_motion, match_top_k=5,
        tracking_classes=args.custom_classes, track_keep_alive_thresh=args.track_thresh, gpu_id=args.gpu,
    )  # fmt: skip
    rows = []
    args.save_path.mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames(args.filename)):
        ((_, objects),) = tracker.process_frame_sequence([(number, frame)], tracktor)
        rows += [[number, one["track_id"], *one["bbox"].values(), -1, -1, -1, -1] for one in objects]
        print(f"{number}: " + ", ".join(said(one, args.verbose) for one in objects))
        if not args.vis_off:
            draw(frame, objects, args.save_path / f"output_{number:05d}.jpg")
    found = np.array(rows, "float64").reshape(-1, 10)
    if args.eval:
        np.save(args.save_path / args.save_filename, found)
    return found


def said(one: dict, verbose: bool) -> str:
    """The class and number of an object and, where asked for, left, top, width and height."""
    place = " at " + " ".join(f"{side:.1f}" for side in one["bbox"].values()) if verbose else ""
    return f"{one['class_name']} {one['track_id']}{place}"


def draw(frame: np.ndarray, objects: list[dict], target: Path) -> None:
    """Writes a frame (H, W, 3) with the boxes of objects, of one colour and with one number each."""
    from PIL import Image

    if objects:
        left, top, width, height = np.array([list(one["bbox"].values()) for one in objects]).T
        numbers = np.array([one["track_id"] for one in objects])
        names = [f"{number}" for number in range(numbers.max() + 1)]
        boxes = np.stack([left, top, left + width, top + height], axis=1)
        frame = cv_plot_bbox(frame, boxes, labels=numbers, class_names=names)
    Image.fromarray(frame).save(target)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("filename", type=Path, help="file of a video, or a folder of pictures")
    add("--input-type", choices=("video", "images"), default="video", help="means nothing: seen from the video itself")
    add_idle_arguments(parser, (), ("--tracktor-version",), why="there is one")
    add("--verbose", action="store_true", help="say where objects are, too")
    add("--network-name", default="ssd_512_resnet50_v1_coco", help="detector of the zoo (default: %(default)s)")
    add("--use-pretrained", action="store_true", help="its published weights")
    add("--param-path", default="", help="file of weights")
    add("--custom-classes", nargs="+", choices=COCO, default=["person"], metavar="NAME", help="(default: person)")
    add("--data-shape", type=int, default=512, help="sides of the detector's input (default: %(default)s)")
    add("--use-motion", action="store_true", help="move boxes by the optical flow")
    add("--motion", choices=MOTIONS, default="farneback", help="how it is found (default: %(default)s)")
    add("--detect-thresh", type=float, default=0.9, help="lowest score of a new object (default: %(default)s)")
    add("--track-thresh", type=float, default=0.3, help="lowest score of one that is followed (default: %(default)s)")
    add("--gpu", type=int, help="number of the GPU (default: none, the CPU)")
    add("--vis-off", action="store_true", help="draw nothing")
    add("--save-path", type=Path, default=Path("smot_vis"), help="folder of what is written (default: %(default)s)")
    add("--eval", action="store_true", help="write frame, number, left, top, width, height of each box")
    add("--save-filename", default="pred.npy", help="to this file there (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
