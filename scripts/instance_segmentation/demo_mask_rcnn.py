"""Finds objects in pictures, and draws their masks and boxes.

python scripts/instance_segmentation/demo_mask_rcnn.py --network mask_rcnn_resnet50_v1b_coco --images biking.jpg
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms.presets.rcnn import load_test
from gluoncv.model_zoo import get_model
from gluoncv.utils.viz import cv_plot_bbox, expand_mask, plot_mask
from scripts.common.demo import add_score_arguments, demo_parser, keep, objects
from scripts.common.devices import add_list_argument, contexts
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    args = parse_args(argv)
    device = contexts(args)[0]
    net = get_model(args.network, pretrained=args.pretrained or True, pretrained_base=False, ctx=device)
    found = []
    for path in args.images:
        x, picture = load_test(str(path), short=args.short)
        classes, scores, boxes, masks = (part[0] for part in net(x.as_in_context(device)))
        height, width = picture.shape[:2]
        sure = scores.asnumpy().ravel()
        drawn, _ = expand_mask(masks.asnumpy(), boxes.asnumpy(), (width, height), sure, thresh=args.threshold)
        shown = cv_plot_bbox(plot_mask(picture, drawn), boxes, scores, classes, args.threshold, net.classes)
        found.append(objects(net, classes, scores, args.threshold))
        keep(shown, path, args.save_dir, found[-1])
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "segmentations")
    name = "mask_rcnn_resnet50_v1b_coco"
    parser.add_argument("--network", default=name, help="name in the model zoo (default: %(default)s)")
    add_score_arguments(parser, short=600)
    add_list_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
