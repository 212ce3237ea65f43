"""Tests a single shot detector: mean average precision on VOC 2007 or COCO.

python scripts/object_detection/eval_ssd.py --network vgg16_atrous --data-shape 300 --dataset voc --dataset-root
VOCdevkit
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms.presets.ssd import SSDDefaultValTransform
from scripts.common.devices import add_first_argument
from scripts.common.program import program
from scripts.object_detection import evaluation
from scripts.object_detection.train_ssd import detector


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    parser = evaluation.arguments(__doc__, "ssd_300", "vgg16_atrous", size=300, batch_size=64)
    add_first_argument(parser)
    args = parser.parse_args(argv)
    args.prefix = f"ssd_{args.data_shape}"
    return evaluation.evaluate(
        args, detector, SSDDefaultValTransform, prepare=lambda net: net.set_nms(nms_thresh=0.45, nms_topk=400)
    )


if __name__ == "__main__":
    main()
