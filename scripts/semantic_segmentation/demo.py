"""Draws the class of every pixel of pictures, in the palette of PASCAL VOC.

python scripts/semantic_segmentation/demo.py --model fcn_resnet101_voc --input-pic street.jpg --save-dir drawn
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import image
from gluoncv.data import VOC
from gluoncv.data.transforms.presets.segmentation import test_transform
from gluoncv.model_zoo import get_model
from gluoncv.utils.viz import get_color_pallete
from scripts.common.devices import add_count_argument, contexts


def main(argv: list[str] | None = None) -> list[dict[int, float]]:
    args = parse_args(argv)
    (device,) = contexts(args)
    net = get_model(args.model, pretrained=args.pretrained or True, pretrained_base=False, ctx=device)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    found = []
    for path in args.input_pic:
        scores = net.predict(test_transform(image.imread(str(path)), device))
        classes = scores[0].asnumpy().argmax(0)
        target = args.save_dir / f"{path.stem}.png"
        get_color_pallete(classes).save(target)
        numbers, counts = np.unique(classes, return_counts=True)
        found.append({int(k): float(n) / classes.size for k, n in zip(numbers, counts, strict=True)})
        print(f"{path} -> {target}")
        for k, share in found[-1].items():
            print(f"  {share:6.1%}  {_name(k, net.nclass)}")
    return found


def _name(number: int, count: int) -> str:
    return ("background", *VOC)[number] if count == 1 + len(VOC) else f"class {number}"


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="name of a segmentation network in the model zoo")
    parser.add_argument("--input-pic", type=Path, nargs="+", required=True, help="pictures")
    parser.add_argument("--pretrained", help="file, folder or URL of weights (default: the published ones)")
    parser.add_argument("--save-dir", type=Path, default=Path("segmentations"), help="folder of the drawn pictures")
    add_count_argument(parser, "--ngpus")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
