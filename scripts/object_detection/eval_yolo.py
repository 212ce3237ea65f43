"""Tests YOLOv3: mean average precision on VOC 2007 or COCO.

python scripts/object_detection/eval_yolo.py --network darknet53 --data-shape 416 --dataset coco --dataset-root coco
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data.transforms.presets.yolo import YOLO3DefaultValTransform
from scripts.common.program import program
from scripts.object_detection import evaluation
from scripts.object_detection.train_yolo3 import network


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    parser = evaluation.arguments(__doc__, "yolo3", "darknet53", size=416, batch_size=64)
    parser.add_argument(
        "--algorithm", dest="prefix", default="yolo3", help="how names of the zoo begin (default: %(default)s)"
    )
    return evaluation.evaluate(
        parser.parse_args(argv),
        network,
        YOLO3DefaultValTransform,
        prepare=lambda net: net.set_nms(nms_thresh=0.45, nms_topk=400),
    )


if __name__ == "__main__":
    main()
