"""Trains Faster R-CNN (Ren et al., 2015), on one map or on a pyramid (Lin et al., 2017).

    python scripts/object_detection/train_faster_rcnn.py --dataset voc --dataset-root VOCdevkit \\
        --network resnet50_v1b --gpus 0
    python scripts/object_detection/train_faster_rcnn.py --dataset coco --dataset-root coco --use-fpn --gpus 0,1 \\
        --batch-size 2
    python scripts/object_detection/train_faster_rcnn.py --dataset rendered --custom-model --network resnet18_v1b \\
        --image-short 96 --no-pretrained-base

Data sets as for train_ssd.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from gluon.data import DataLoader
from gluoncv.data import MixupDetection
from gluoncv.data.batchify import Append, Tuple
from gluoncv.data.transforms.presets.rcnn import FasterRCNNDefaultValTransform
from scripts.common import regions
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import Run, add_interval_arguments, add_run_arguments
from scripts.object_detection.detection import (
    add_data_arguments,
    add_detections,
    data_files,
    datasets,
    mean_average_precision,
)


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("object_detection", args, data=data_files(args), best="mAP")
    train_set, test_set, metric = datasets(args)
    net = regions.network(args, "faster_rcnn", train_set.classes, devices)

    if args.mixup:
        train_set = MixupDetection(train_set)

    def test():
        return {"mAP": validate(net, test_set, metric, devices, args.num_workers)}

    def begin(epoch):
        blended = args.mixup and epoch <= args.epochs - args.no_mixup_epochs
        if args.mixup:
            train_set.set_mixup(*((np.random.uniform, 0.5, 0.5) if blended else ()))
        return 0.5 if blended else 1  # of a blend in halves each object is half there

    regions.train(args, run, net, train_set, devices, test, begin=begin)
    return run.finish("mAP")


def validate(net, pictures, metric, devices, workers: int = 0) -> float:
    """The mean average precision, between 0 and 1; boxes are compared at the pictures' own size."""
    metric.reset()
    short = net.short[-1] if isinstance(net.short, (tuple, list)) else net.short
    batches = DataLoader(
        pictures.transform(FasterRCNNDefaultValTransform(short, net.max_size)), len(devices),
        batchify_fn=Tuple(Append(), Append(), Append()), num_workers=workers,
    )  # fmt: skip
    for batch in batches:
        for device, x, truth, scale in zip(devices, *batch, strict=False):
            labels, scores, boxes = (part.as_in_context(truth.context) for part in net(x.as_in_context(device))[:3])
            factor = float(scale.asscalar())
            boxes = nd.concat(
                nd.clip(boxes[:, :, 0::2], 0, x.shape[3]), nd.clip(boxes[:, :, 1::2], 0, x.shape[2]), dim=2
            )[:, :, [0, 2, 1, 3]]
            truth[:, :, :4] *= factor
            add_detections(metric, labels, scores, boxes * factor, truth)
    return mean_average_precision(metric)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_data_arguments(parser)
    regions.add_arguments(parser)
    add = parser.add_argument
    add("--mixup", action="store_true", help="train on blends of two pictures")
    add("--no-mixup-epochs", type=int, default=20, help="last epochs without blends (default: %(default)s)")
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser, save=1)
    add_run_arguments(parser, "faster_rcnn", "--save-prefix", seed=233)
    args = parser.parse_args(argv)
    regions.settle_arguments(args)
    return args


if __name__ == "__main__":
    main()
