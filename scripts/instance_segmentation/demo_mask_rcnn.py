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
from scripts.common.devices import add_list_argument, contexts


def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    from PIL import Image

    args = parse_args(argv)
    device = contexts(args)[0]
    net = get_model(args.network, pretrained=args.pretrained or True, pretrained_base=False, ctx=device)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    found = []
    for path in args.images:
        x, picture = load_test(str(path), short=args.short)
        classes, scores, boxes, masks = (part[0].asnumpy() for part in net(x.as_in_context(device)))
        height, width = picture.shape[:2]
        drawn, _ = expand_mask(masks, boxes, (width, height), scores.ravel(), thresh=args.threshold)
        shown = cv_plot_bbox(plot_mask(picture, drawn), boxes, scores, classes, args.threshold, net.classes)
        target = args.save_dir / f"{path.stem}.png"
        Image.fromarray(shown).save(target)
        pairs = zip(classes.ravel(), scores.ravel(), strict=True)
        found.append([(net.classes[int(c)], float(s)) for c, s in pairs if s >= args.threshold and c >= 0])
        print(f"{path} -> {target}")
        for name, score in found[-1]:
            print(f"  {score:.3f}  {name}")
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--network", default="mask_rcnn_resnet50_v1b_coco", help="name in the model zoo (default: %(default)s)")
    add("--images", type=Path, nargs="+", required=True, help="pictures")
    add("--pretrained", help="file, folder or URL of weights (default: the published ones)")
    add("--short", type=int, default=600, help="short side of the input (default: %(default)s)")
    add("--threshold", type=float, default=0.5, help="lowest score that is shown (default: %(default)s)")
    add("--save-dir", type=Path, default=Path("segmentations"), help="folder of the drawn pictures")
    add_list_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
