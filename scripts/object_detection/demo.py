"""Finds objects in pictures, and draws them.

python scripts/object_detection/demo.py --network ssd_512_mobilenet1.0_voc --images street.jpg --save-dir found
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms import presets
from gluoncv.model_zoo import get_model
from gluoncv.utils.viz import cv_plot_bbox
from scripts.common.demo import add_score_arguments, demo_parser, keep, objects
from scripts.common.devices import add_list_argument, contexts
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    args = parse_args(argv)
    device = contexts(args)[0]
    if args.classes:  # a network of the user's own: all of its weights are in the file
        net = get_model(args.network, classes=args.classes.split(","), pretrained_base=False)
        net.load_parameters(args.pretrained, ctx=device)
    else:
        net = get_model(args.network, pretrained=args.pretrained or True, pretrained_base=False, ctx=device)
    net.set_nms(0.45, 200)
    family = args.network.split("_")[0]
    preset = {"ssd": presets.ssd, "yolo3": presets.yolo}.get(family, presets.rcnn)
    found = []
    for path in args.images:
        x, picture = preset.load_test(str(path), short=args.short)
        classes, scores, boxes = (part[0] for part in net(x.as_in_context(device))[:3])
        shown = cv_plot_bbox(picture, boxes, scores, classes, args.threshold, net.classes)
        found.append(objects(net, classes, scores, args.threshold))
        keep(shown, path, args.save_dir, found[-1])
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "detections")
    parser.add_argument("--network", required=True, help="name of a detector in the model zoo")
    parser.add_argument("--classes", help="names of the classes, with commas, for networks of your own")
    add_score_arguments(parser, short=512)
    add_list_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
