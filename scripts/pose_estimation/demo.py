"""Finds persons in a picture and their joints, and draws both.

python scripts/pose_estimation/demo.py --detector yolo3_mobilenet1.0_coco --pose-model simple_pose_resnet50_v1b \\
    --input-pic soccer.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms.pose import detector_to_simple_pose, heatmap_to_coord
from gluoncv.data.transforms.presets import ssd, yolo
from gluoncv.model_zoo import get_model
from gluoncv.utils.viz import plot_keypoints
from scripts.common.demo import PUBLISHED, add_score_arguments, demo_parser
from scripts.common.devices import add_count_argument, contexts
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    device = contexts(args)[0]
    detector = get_model(args.detector, pretrained=args.detector_params or True, pretrained_base=False, ctx=device)
    if "person" in detector.classes and len(detector.classes) > 1:
        detector.reset_class(["person"], reuse_weights=["person"])
    net = get_model(args.pose_model, pretrained=args.pose_params or True, ctx=device)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    persons = 0
    for path in args.images:
        preset = yolo if args.detector.startswith("yolo") else ssd
        x, picture = preset.load_test(str(path), short=args.short)
        classes, scores, boxes = detector(x.as_in_context(device))
        inputs, grown = detector_to_simple_pose(picture, classes, scores, boxes, ctx=device, thr=args.threshold)
        if len(grown) == 0:
            print(f"{path}: nobody")
            continue
        places, sure = heatmap_to_coord(net(inputs), grown)
        axes = plot_keypoints(
            picture, places, sure, classes[0], boxes[0], scores[0], box_thresh=args.threshold, keypoint_thresh=0.2
        )
        target = args.save_dir / f"{path.stem}.png"
        axes.figure.savefig(target)
        persons += len(grown)
        print(f"{path} -> {target}: {len(grown)}")
    return persons


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "poses", weights=None)
    add = parser.add_argument
    add("--detector", default="yolo3_mobilenet1.0_coco", help="finds persons (default: %(default)s)")
    add("--detector-params", help=f"its weights: {PUBLISHED}")
    add("--pose-model", default="simple_pose_resnet50_v1b", help="finds joints (default: %(default)s)")
    add("--pose-params", help=f"its weights: {PUBLISHED}")
    add_score_arguments(parser, short=512)
    add_count_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
