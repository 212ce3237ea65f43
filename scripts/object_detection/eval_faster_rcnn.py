"""Tests Faster R-CNN: mean average precision on VOC 2007 or COCO.

python scripts/object_detection/eval_faster_rcnn.py --network resnet50_v1b --use-fpn --dataset coco --dataset-root coco
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common import regions
from scripts.common.devices import contexts
from scripts.common.program import program
from scripts.object_detection import evaluation
from scripts.object_detection.detection import datasets
from scripts.object_detection.train_faster_rcnn import validate


@program
def main(argv: list[str] | None = None) -> dict:
    parser = evaluation.arguments(__doc__, "faster_rcnn", "resnet50_v1b", size=None, batch_size=1)
    regions.add_network_arguments(parser)
    regions.add_test_arguments(parser)
    args = parser.parse_args(argv)
    regions.settle_network_arguments(args)
    devices = contexts(args)
    files, args.run = (regions.kept_files(args), "") if args.eval_all else ([], args.run)
    _, test_set, metric = datasets(args)
    args.prefix = regions.prefix_of(args, "faster_rcnn")
    if files:
        net = regions.network(args, "faster_rcnn", test_set.classes, devices)
        return regions.tested(
            net, files, devices, lambda: {"mAP": validate(net, test_set, metric, devices, args.num_workers)}
        )
    net = evaluation.detector(
        args, lambda *given: regions.network(args, "faster_rcnn", *given[1:]), test_set.classes, devices
    )
    value = validate(net, test_set, metric, devices, args.num_workers)
    return evaluation.report(args, len(test_set), metric, value)


if __name__ == "__main__":
    main()
