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


def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    from PIL import Image

    args = parse_args(argv)
    if args.classes:  # a network of the user's own: all of its weights are in the file
        net = get_model(args.network, classes=args.classes.split(","), pretrained_base=False)
        net.load_parameters(args.pretrained)
    else:
        net = get_model(args.network, pretrained=args.pretrained or True, pretrained_base=False)
    net.set_nms(0.45, 200)
    family = args.network.split("_")[0]
    preset = {"ssd": presets.ssd, "yolo3": presets.yolo}.get(family, presets.rcnn)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    found = []
    for path in args.images:
        x, picture = preset.load_test(str(path), short=args.short)
        classes, scores, boxes = (part[0] for part in net(x)[:3])
        shown = cv_plot_bbox(picture, boxes, scores, classes, args.threshold, net.classes)
        target = args.save_dir / f"{path.stem}.png"
        Image.fromarray(shown).save(target)
        pairs = zip(classes.asnumpy().ravel(), scores.asnumpy().ravel(), strict=True)
        found.append([(net.classes[int(c)], float(s)) for c, s in pairs if s >= args.threshold and c >= 0])
        print(f"{path} -> {target}")
        for name, score in found[-1]:
            print(f"  {score:.3f}  {name}")
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", required=True, help="name of a detector in the model zoo")
    parser.add_argument("--images", type=Path, nargs="+", required=True, help="pictures")
    parser.add_argument("--pretrained", help="file, folder or URL of weights (default: the published ones)")
    parser.add_argument("--classes", help="names of the classes, with commas, for networks of your own")
    parser.add_argument("--short", type=int, default=512, help="short side of the input (default: %(default)s)")
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="lowest score that is shown (default: %(default)s)"
    )
    parser.add_argument("--save-dir", type=Path, default=Path("detections"), help="folder of the drawn pictures")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
