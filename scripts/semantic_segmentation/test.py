"""Tests a segmentation network at several scales, or draws what it finds.

    python scripts/semantic_segmentation/test.py --model-zoo deeplab_resnet101_voc --pretrained \\
        --dataset-root VOCdevkit --eval
    python scripts/semantic_segmentation/test.py --model fcn --backbone resnet50 --aux --resume best.params \\
        --save-dir drawn

`--eval` prints the share of pixels that are right and the mean intersection over union of the part `--mode`; scores are
summed over six scales and mirror images as in the published figures, or with `--single-scale` taken from the picture as
it is. Without `--eval` every picture's map of classes is drawn in the palette of PASCAL VOC.
"""

from __future__ import annotations

import argparse
import operator
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import nd
from gluon.data import DataLoader
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.segbase import MultiEvalModel, SegEvalModel
from gluoncv.utils.metrics import SegmentationMetric
from gluoncv.utils.viz import get_color_pallete
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.devices import add_count_argument, contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.semantic_segmentation.datasets import data_set
from scripts.semantic_segmentation.train import NORMALISE, add_network_arguments, network


@program
def main(argv: list[str] | None = None) -> dict[str, float] | None:
    args = parse_args(argv)
    (device,) = contexts(args)
    pictures = data_set(args, args.mode, "testval" if args.eval else "test", NORMALISE)
    net = tested_network(args, lambda suffix: zoo_network(args, device, suffix), device)
    count = min(len(pictures), args.samples or len(pictures))
    looked = DataLoader(pictures.take(count), 1, batchify_fn=operator.itemgetter(0), num_workers=args.num_workers)
    batches = ((picture.expand_dims(0), truth) for picture, truth in looked)
    name = args.model_zoo or f"{args.model}_{args.backbone}_{args.dataset}"
    figures = instead_of_test(
        args, net, batches, (args.batch_size, 3, *[args.image_shape or args.crop_size] * 2), device, name
    )
    if figures:
        return figures
    if args.deploy or args.quantized:
        scores = lambda batch: net(batch)[0]  # noqa: E731 - of the best scores and those of the second loss
    elif args.single_scale:
        scores = SegEvalModel(net, use_predict=True)
    else:
        many = MultiEvalModel(net, pictures.num_class, [device])
        scores = lambda batch: many(batch[0])  # noqa: E731 - one picture in, the batch of one out, as above
    if args.eval:
        metric = SegmentationMetric(pictures.num_class)
        for picture, truth in looked:
            metric.update(truth.expand_dims(0), scores(picture.expand_dims(0).as_in_context(device)))
        accuracy, overlap = metric.get()
        print(f"{count} pictures: pixAcc {accuracy:.4f}  mIoU {overlap:.4f}")
        return {"pixAcc": float(accuracy), "mIoU": float(overlap)}
    args.save_dir.mkdir(parents=True, exist_ok=True)
    for k, (picture, _) in enumerate(looked):
        found = scores(picture.expand_dims(0).as_in_context(device))
        classes = nd.argmax(found, axis=1)[0] + pictures.pred_offset
        get_color_pallete(classes, args.dataset).save(args.save_dir / f"{k:05d}.png")
    print(f"{count} maps of classes in {args.save_dir}")
    return None


def zoo_network(args, device, suffix: str = ""):
    """The network that the flags say, with the weights of --resume; `suffix` ends its name in the zoo."""
    if suffix:
        return get_model(f"{args.model_zoo}{suffix}", pretrained=args.resume or True, ctx=device)
    net = network(args, [device])
    if args.resume:
        net.load_parameters(args.resume, ctx=device)
    return net


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_network_arguments(parser)
    add("--resume", help="file of parameters")
    add("--mode", default="val", help="part of the data set (default: %(default)s)")
    add("--eval", action="store_true", help="compare with the truth")
    add("--single-scale", action="store_true", help="one look at each picture")
    add("--samples", type=int, help="use only the first so many pictures")
    add("--save-dir", type=Path, default=Path("segmentations"), help="folder of the drawn maps (default: %(default)s)")
    add("--image-shape", type=int, help="sides of the input of --benchmark (default: --crop-size)")
    add("--batch-size", type=int, default=1, help="pictures in a batch of --benchmark (default: %(default)s)")
    add_deployment_arguments(parser)
    add_count_argument(parser, "--ngpus")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
