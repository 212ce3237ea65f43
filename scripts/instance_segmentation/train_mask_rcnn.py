"""Trains Mask R-CNN (He et al., 2017) on COCO.

    python scripts/instance_segmentation/train_mask_rcnn.py --dataset-root coco --use-fpn --network resnet50_v1b \\
        --gpus 0,1 --batch-size 2
    python scripts/instance_segmentation/train_mask_rcnn.py --dataset-root tiny_coco \\
        --coco-splits train2017 train2017 \\
        --custom-model --network resnet18_v1b --image-short 128 --image-max-size 213 --no-pretrained-base

The root of the data set holds folders of pictures named after the splits, and annotations.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import autograd
from gluoncv.data import COCOInstance
from gluoncv.data.transforms import mask as polygons
from gluoncv.data.transforms.presets.rcnn import MaskRCNNDefaultValTransform
from gluoncv.utils.metrics import COCOInstanceMetric
from scripts.common import regions
from scripts.common.devices import add_list_argument, contexts
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.foreign import add_replaced_argument
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import data_root, program
from scripts.common.run import Run, add_interval_arguments, add_run_arguments

FIGURES = "box_AP", "mask_AP", "box_AP50", "mask_AP50"


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("instance_segmentation", args, data=data_files(args), best="mask_AP")
    train_set, test_set, metric = datasets(args, args.log_dir)
    net = regions.network(args, "mask_rcnn", train_set.classes, devices)
    count = args.num_samples if args.num_samples > 0 else None

    def test():
        return validate(net, test_set.take(count), metric, devices[0])

    regions.train(args, run, net, train_set.take(count), devices, test, masks=True)
    return run.finish(*FIGURES)


def validate(net, pictures, metric, device) -> dict[str, float]:
    """COCO's average precisions of boxes and of masks, between 0 and 1: the means over the least overlaps of 0.5 to 0.95
    that a find has, and those at 0.5."""
    metric.reset()
    short = net.short[-1] if isinstance(net.short, (tuple, list)) else net.short
    transform = MaskRCNNDefaultValTransform(short, net.max_size)
    for k in range(len(pictures)):
        picture, boxes, shapes = pictures[k]
        x, (_, _, scale) = transform(picture, boxes, shapes)
        with autograd.predict_mode():
            labels, scores, found, masks = (part[0].asnumpy() for part in net(x.expand_dims(0).as_in_context(device)))
        height, width = picture.shape[:2]
        there = labels.ravel() >= 0
        found = np.clip(found[there] / float(scale.asscalar()), 0, [width, height, width, height])
        drawn = polygons.fill(masks[there], found, (width, height))
        metric.update(found, labels[there], scores[there], drawn)
    _, (of_boxes, boxes, of_masks, masks) = metric.get()
    at_half = (float(re.search(r"IoU=0\.50 .*= (\S+)", text)[1]) for text in (of_boxes, of_masks))
    return dict(zip(FIGURES, (float(boxes) / 100, float(masks) / 100, *at_half), strict=True))


def datasets(args, folder: Path):
    """(data set to train on, to test on, metric)"""
    train, test = (f"instances_{split}" for split in args.coco_splits)
    root = data_root(args.dataset_root, "coco")
    train = COCOInstance(root, train, skip_empty=True)
    # The metric counts on every picture, those without objects too.
    test = COCOInstance(root, test, skip_empty=False)
    prefix = folder / "instance_segmentation" / f"{args.run or 'eval'}.masks"
    return train, test, COCOInstanceMetric(test, prefix, use_time=False, cleanup=not getattr(args, "save_json", False))


def data_files(args) -> dict[str, str]:
    """Checksums of what says which pictures there are."""
    return checksums(
        data_root(args.dataset_root, "coco") / "annotations" / f"instances_{split}.json"
        for split in sorted(set(args.coco_splits))
    )


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --dataset, --dataset-root, --coco-splits, --num-samples, --num-workers and --gpus."""
    add = parser.add_argument
    add("--num-samples", type=int, default=-1, help="use only so many pictures (default: all)")
    add("--dataset", choices=("coco",), default="coco", help="data set (default: %(default)s)")
    add("--dataset-root", default="", help="folder of COCO, or of coco (default: ~/.mxnet/datasets)")
    add("--coco-splits", nargs=2, default=["train2017", "val2017"], metavar=("TRAIN", "TEST"), help="parts of coco")
    add("-j", "--num-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add_replaced_argument(parser, "--use-ext", "pycocotools measures the same, without NVIDIA's extension")
    add_list_argument(parser)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_data_arguments(parser)
    regions.add_arguments(parser, masks=True)
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser, save=1)
    add_run_arguments(parser, "mask_rcnn", "--save-prefix", seed=233)
    args = parser.parse_args(argv)
    regions.settle_arguments(args)
    return args


if __name__ == "__main__":
    main()
