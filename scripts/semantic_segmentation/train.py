"""Trains a network that gives every pixel its class: FCN, PSPNet, DeepLabV3 and V3+, ICNet, Fast-SCNN, DANet.

    python scripts/semantic_segmentation/train.py --dataset pascal_voc --dataset-root VOCdevkit --model fcn --aux
    python scripts/semantic_segmentation/train.py --dataset ade20k --model psp --backbone resnet50 --aux --lr 0.01 \\
        --epochs 120
    python scripts/semantic_segmentation/train.py --dataset folder --dataset-root pictures --model fastscnn \\
        --crop-size 192

The learning rate falls to zero as (1 - progress)^0.9. The data set "folder" is a folder with NAME.jpg and masks
NAME.png, or with folders train and val of such; "rendered" are disks, squares and triangles on noise, tested on as
many others. The figure on a folder without a folder val is that on the pictures that were trained on: it shows that
data, losses and metrics fit together.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import autograd
from gluon.contrib.nn import SyncBatchNorm
from gluon.data import DataLoader
from gluon.data.vision import transforms
from gluon.finetune import decay_weights_only
from gluoncv.loss import ICNetLoss, MixSoftmaxCrossEntropyLoss, SegmentationMultiLosses
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.segbase import get_segmentation_model
from gluoncv.utils import LRScheduler, LRSequential
from gluoncv.utils.metrics import SegmentationMetric
from scripts.common import parallel
from scripts.common.devices import add_count_argument, add_cpu_argument, contexts, settle, spread
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, backward, use_dtype, watch_overflow
from scripts.common.program import program
from scripts.common.recipe import add_mode_argument
from scripts.common.run import Run, add_interval_arguments, add_run_arguments
from scripts.semantic_segmentation.datasets import data_files, data_set

NORMALISE = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
)


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("semantic_segmentation", args, data=data_files(args), best="mIoU")
    train_set = data_set(args, args.train_split, args.train_mode, NORMALISE)
    val_set = data_set(args, "val", "val", NORMALISE)
    train_batches = parallel.loader(train_set, args.batch_size, last_batch="rollover", num_workers=args.num_workers)
    val_batches = DataLoader(val_set, args.test_batch_size, last_batch="keep", num_workers=args.num_workers)

    net = network(args, devices)
    if args.mode == "hybrid":
        net.hybridize()
    if args.no_wd:
        decay_weights_only(net)
    trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer(args, len(train_batches)))
    watch_overflow(trainer, args.dtype)
    loss = loss_function(args)

    if args.eval:
        if isinstance(args.resume, str):
            net.load_parameters(args.resume, ctx=devices)
        scores = validate(net, val_batches, val_set.num_class, devices)
        print("  ".join(f"{name} {value:.4f}" for name, value in scores.items()))
        return scores
    for epoch in run.epochs(args.epochs, net, trainer, first=args.start_epoch + 1):
        means = Means(run, args.log_interval)
        for pictures, classes in run.progress(train_batches, f"epoch {epoch}"):
            pieces = zip(spread(pictures, devices), spread(classes, devices), strict=True)
            with autograd.record():
                losses = [loss(*net(x), y) for x, y in pieces]
                backward(losses, trainer, args.dtype)
            trainer.step(args.batch_size)
            means.add(loss=losses)
        row = means.row()
        if not args.no_val and (epoch % args.val_interval == 0 or epoch == args.epochs):
            row |= validate(net, val_batches, val_set.num_class, devices)
        run.epoch_done(epoch, row, samples=len(train_set))
    return run.finish(*([] if args.no_val else ["pixAcc", "mIoU"]), published=args.published)


def validate(net, batches, classes: int, devices) -> dict[str, float]:
    """Share of pixels that are right, and the mean over classes of intersection over union."""
    metric = SegmentationMetric(classes)
    for pictures, truth in batches:
        pieces = zip(spread(pictures, devices), spread(truth, devices), strict=True)
        for x, y in pieces:
            metric.update(y, net(x)[0])
    accuracy, overlap = metric.get()
    return {"pixAcc": float(accuracy), "mIoU": float(overlap)}


def network(args, devices):
    """The network of the zoo, or that of a family, backbone and data set."""
    options = {"norm_layer": SyncBatchNorm, "norm_kwargs": {"num_devices": len(devices)}} if args.syncbn else {}
    sizes = {"crop_size": args.crop_size, "base_size": args.base_size}
    sizes |= {name: getattr(args, name) for name in ("height", "width") if getattr(args, name)}
    if args.model_zoo:
        net = get_model(args.model_zoo, pretrained=args.pretrained, ctx=devices, **sizes, **options)
    else:
        if args.model not in ("fastscnn", "icnet"):
            options["backbone"] = args.backbone
        if args.model != "icnet":
            options["aux"] = args.aux
        net = get_segmentation_model(
            args.model,
            dataset=args.dataset,
            pretrained_base=args.pretrained_base,
            ctx=devices,
            **sizes,
            **options,
        )
    settle(net, devices)
    return net


def loss_function(args):
    if args.model == "icnet":
        return ICNetLoss(height=args.height, width=args.width, crop_size=args.crop_size)
    if args.model == "danet":
        return SegmentationMultiLosses()
    return MixSoftmaxCrossEntropyLoss(args.aux, aux_weight=args.aux_weight)


def optimizer(args, updates: int) -> dict:
    """What the trainer needs; `updates` are those of an epoch."""
    schedule = LRSequential(
        [
            LRScheduler("linear", 0, args.lr, nepochs=args.warmup_epochs, iters_per_epoch=updates),
            LRScheduler("poly", args.lr, nepochs=args.epochs - args.warmup_epochs, iters_per_epoch=updates, power=0.9),
        ]
    )
    given = {"lr_scheduler": schedule, "wd": args.wd, "begin_num_update": args.start_epoch * updates}
    return given | ({"momentum": args.momentum} if args.optimizer in ("sgd", "nag") else {})


def add_network_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which network is meant, and for which data set."""
    add = parser.add_argument
    add("--model", default="fcn", help="family: fcn, psp, deeplab, deeplabplus, icnet, fastscnn, danet (default: fcn)")
    add("--backbone", default="resnet50", help="body of the network (default: %(default)s)")
    add("--model-zoo", help="name of a network in the zoo, in place of family and backbone")
    add("--pretrained", action="store_true", help="begin with the published weights of --model-zoo")
    add("--pretrained-base", action="store_true", help="begin with the published weights of the body")
    add("--dataset", default="pascal_voc", help="data set of gluoncv.data, folder or rendered (default: %(default)s)")
    add("--dataset-root", default="", help="folder of the data set (default: that of gluoncv.data)")
    add("--num-samples", type=int, default=16, help="rendered pictures (default: %(default)s)")
    add("--base-size", type=int, default=520, help="size around which pictures are scaled (default: %(default)s)")
    add("--crop-size", type=int, default=480, help="pixels of the crops (default: %(default)s)")
    add("--height", type=int, help="height of the network's output (default: --crop-size)")
    add("--width", type=int, help="width of the network's output (default: --crop-size)")
    add("--workers", "-j", dest="num_workers", type=int, default=0, help="loading processes (default: 0)")
    add("--aux", action="store_true", help="a second loss, on features before the last ones")
    add("--syncbn", action="store_true", help="normalise over all devices")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_network_arguments(parser)
    add("--train-split", default="train", help="part to train on (default: %(default)s)")
    add(
        "--train-mode",
        choices=("train", "val"),
        default="train",
        help="train: scaled, mirrored, cropped and blurred at random; val: the middle",
    )
    add("--aux-weight", type=float, default=0.5, help="what the second loss is multiplied with (default: %(default)s)")
    add("--epochs", type=int, default=50, help="passes over the data (default: %(default)s)")
    add("--start-epoch", "--start_epoch", type=int, default=0, help="epochs that --resume PARAMS has had")
    add("--batch-size", type=int, default=16, help="pictures in a batch (default: %(default)s)")
    add("--test-batch-size", type=int, default=16, help="pictures in a batch of the test (default: %(default)s)")
    add("--optimizer", default="sgd", help="name of the optimizer (default: %(default)s)")
    add("--lr", type=float, default=1e-3, help="highest learning rate (default: %(default)s)")
    add("--warmup-epochs", type=int, default=0, help="epochs in which the rate rises (default: %(default)s)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default: %(default)s)")
    add("--weight-decay", dest="wd", type=float, default=1e-4, help="weight decay (default: %(default)s)")
    add("--no-wd", action="store_true", help="no weight decay of biases and of normalisation")
    add_mode_argument(parser)
    add_cpu_argument(parser)
    add("--eval", action="store_true", help="only test, with the parameters of --resume PARAMS")
    add("--no-val", action="store_true", help="no tests")
    add("--val-interval", type=int, default=1, help="epochs from test to test (default: %(default)s)")
    add("--published", default="", help="what others reached, for the log")
    add_count_argument(parser, "--ngpus")
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser)
    add_run_arguments(parser, "segmentation", "--checkname", "--logging-file", seed=1)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
