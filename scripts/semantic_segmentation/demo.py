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
from scripts.common.demo import demo_parser, keep
from scripts.common.devices import add_count_argument, contexts
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[dict[int, float]]:
    args = parse_args(argv)
    (device,) = contexts(args)
    net = get_model(args.model, pretrained=args.pretrained or True, pretrained_base=False, ctx=device)
    found = []
    for path in args.images:
        scores = net.predict(test_transform(image.imread(str(path)), device))
        classes = scores[0].asnumpy().argmax(0)
        numbers, counts = np.unique(classes, return_counts=True)
        found.append({int(k): float(n) / classes.size for k, n in zip(numbers, counts, strict=True)})
        shares = [(_name(k, net.nclass), share) for k, share in found[-1].items()]
        keep(get_color_pallete(classes), path, args.save_dir, shares, "6.1%")
    return found


def _name(number: int, count: int) -> str:
    return ("background", *VOC)[number] if count == 1 + len(VOC) else f"class {number}"


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "segmentations")
    parser.add_argument("--model", required=True, help="name of a segmentation network in the model zoo")
    add_count_argument(parser, "--ngpus")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
