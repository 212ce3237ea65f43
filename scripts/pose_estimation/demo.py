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
from scripts.common.devices import add_count_argument, contexts


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    device = contexts(args)[0]
    detector = get_model(args.detector, pretrained=args.detector_params or True, pretrained_base=False, ctx=device)
    if "person" in detector.classes and len(detector.classes) > 1:
        detector.reset_class(["person"], reuse_weights=["person"])
    net = get_model(args.pose_model, pretrained=args.pose_params or True, ctx=device)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    persons = 0
    for path in args.input_pic:
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--detector", default="yolo3_mobilenet1.0_coco", help="finds persons (default: %(default)s)")
    add("--detector-params", help="its weights: file, folder or URL (default: the published ones)")
    add("--pose-model", default="simple_pose_resnet50_v1b", help="finds joints (default: %(default)s)")
    add("--pose-params", help="its weights: file, folder or URL (default: the published ones)")
    add("--input-pic", type=Path, nargs="+", required=True, help="pictures")
    add("--short", type=int, default=512, help="short side of the detector's input (default: %(default)s)")
    add("--threshold", type=float, default=0.5, help="least score of a person (default: %(default)s)")
    add("--save-dir", type=Path, default=Path("poses"), help="folder of the drawn pictures (default: %(default)s)")
    add_count_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
