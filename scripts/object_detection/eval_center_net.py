"""Tests CenterNet: mean average precision on VOC 2007 or COCO.

python scripts/object_detection/eval_center_net.py --network resnet18_v1b --dataset coco --dataset-root coco --flip-test
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms.presets.center_net import CenterNetDefaultValTransform, get_post_transform
from scripts.common.program import program
from scripts.object_detection import evaluation
from scripts.object_detection.train_center_net import network


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    parser = evaluation.arguments(__doc__, "center_net", "resnet18_v1b_dcnv2", size=512, batch_size=64)
    parser.add_argument("--flip-test", action="store_true", help="the mean of pictures and their mirror images")
    args = parser.parse_args(argv)

    def prepare(net):
        net.flip_test = args.flip_test

    return evaluation.evaluate(args, network, CenterNetDefaultValTransform, get_post_transform, prepare)


if __name__ == "__main__":
    main()
