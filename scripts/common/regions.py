"""Training of detectors that look at regions: what Faster R-CNN and Mask R-CNN share."""

from __future__ import annotations

import argparse
import glob

import core as mx
from core import autograd
from gluon import nn
from gluon.contrib.nn import SyncBatchNorm
from gluon.loss import HuberLoss, SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss
from gluoncv.data import batchify
from gluoncv.data.transforms.presets import rcnn as presets
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.rcnn.losses import RegionLosses
from scripts.common import packaged, parallel
from scripts.common.devices import settle
from scripts.common.means import Means
from scripts.common.precision import backward, watch_overflow
from scripts.common.recipe import add_untrained_argument, test_untrained
from scripts.common.run import Run


def numbers(text: str) -> list[float]:
    """Numbers with commas between."""
    return [float(part) if "." in part else int(part) for part in text.split(",")]


# Flags of a network of one's own: (flag, type, default, argument of the network, what it is)
CUSTOM = (
    ("--num-fpn-filters", int, 256, "num_fpn_filters", "channels of the pyramid"),
    ("--num-box-head-conv", int, 4, "num_box_head_conv", "convolutions on regions"),
    ("--num-box-head-conv-filters", int, 256, "num_box_head_conv_filters", "their channels"),
    ("--num_box_head_dense_filters", int, 1024, "num_box_head_dense_filters", "units of the dense layers on regions"),
    ("--image-short", numbers, [800], "short", "short side of pictures; of several one is drawn"),
    ("--image-max-size", int, 1333, "max_size", "longest side of pictures"),
    ("--nms-thresh", float, 0.5, "nms_thresh", "overlap above which the lesser of two boxes is dropped"),
    ("--nms-topk", int, -1, "nms_topk", "boxes that compete, -1 for all"),
    ("--post-nms", int, -1, "post_nms", "boxes that are given, -1 for all"),
    ("--roi-mode", str, "align", "roi_mode", "align or pool"),
    ("--roi-size", numbers, [7, 7], "roi_size", "height and width of regions"),
    ("--strides", numbers, [4, 8, 16, 32, 64], "strides", "pixels of a place of each map"),
    ("--clip", float, 4.14, "clip", "highest logarithm of a size"),
    ("--rpn-channel", int, 256, "rpn_channel", "channels of the region proposals"),
    ("--anchor-base-size", int, 16, "base_size", "pixels of an anchor of scale 1"),
    ("--anchor-aspect-ratio", numbers, [0.5, 1, 2], "ratios", "aspects of anchors"),
    ("--anchor-scales", numbers, [2, 4, 8, 16, 32], "scales", "scale of each map's anchors"),
    ("--anchor-alloc-size", numbers, [384, 384], "alloc_size", "largest map"),
    ("--rpn-nms-thresh", float, 0.7, "rpn_nms_thresh", "overlap above which the lesser of two proposals is dropped"),
    ("--rpn-train-pre-nms", int, 12000, "rpn_train_pre_nms", "proposals that compete in training"),
    ("--rpn-train-post-nms", int, 2000, "rpn_train_post_nms", "proposals that are given in training"),
    ("--rpn-test-pre-nms", int, 6000, "rpn_test_pre_nms", "proposals that compete in tests"),
    ("--rpn-test-post-nms", int, 1000, "rpn_test_post_nms", "proposals that are given in tests"),
    ("--rpn-min-size", int, 1, "rpn_min_size", "smallest side of a proposal"),
    ("--rcnn-num-samples", int, 512, "num_sample", "regions of a picture in training"),
    ("--rcnn-pos-iou-thresh", float, 0.5, "pos_iou_thresh", "overlap from which on a region is positive"),
    ("--rcnn-pos-ratio", float, 0.25, "pos_ratio", "share of positive regions at most"),
    ("--max-num-gt", int, 100, "max_num_gt", "boxes of a picture at most"),
)
MASKS = (
    ("--target-roi-scale", int, 2, "target_roi_scale", "size of masks over that of regions"),
    ("--num-mask-head-convs", int, 4, "num_fcn_convs", "convolutions before masks"),
)
# By data set: epochs, learning rate for one picture per batch, weight decay, epochs of the steps, batches of warm-up.
DEFAULTS = {
    "voc": (20, 0.001, 5e-4, "14,20", 0),
    "coco": (26, 0.00125, 1e-4, "17,23", 1000),
    "rendered": (20, 0.001, 1e-4, "14,20", 0),
}


def add_arguments(parser: argparse.ArgumentParser, masks: bool = False) -> None:
    """Adds what says how the network looks and how it learns; --network and --batch-size too."""
    add_network_arguments(parser, masks)
    add = parser.add_argument
    add("--network", default="resnet50_v1b", help="name of the body (default: %(default)s)")
    add("--batch-size", type=int, default=1, help="pictures in a batch of all devices (default: %(default)s)")
    add("--epochs", type=int, help="passes over the data (default: 20 for voc, 26 for coco)")
    add("--start-epoch", type=int, default=0, help="epochs that --resume PARAMS has had")
    add("--lr", type=float, help="highest learning rate (default: 0.001 for voc, 0.00125 a picture for coco)")
    add("--lr-decay", type=float, default=0.1, help="factor of a step (default: %(default)s)")
    add("--lr-decay-epoch", help="epochs of the steps (default: 14,20 for voc, 17,23 for coco)")
    add("--lr-warmup", type=int, help="batches in which the rate rises (default: 0 for voc, 1000 for coco)")
    add("--lr-warmup-factor", type=float, default=1 / 3, help="where it begins (default: a third)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default: %(default)s)")
    add("--wd", type=float, help="weight decay (default: 0.0005 for voc, 0.0001 for coco)")
    add("--clip-gradient", type=float, default=-1.0, help="largest element of a gradient (default: no limit)")
    add("--rpn-smoothl1-rho", type=float, default=1 / 9, help="where the loss of proposals becomes linear")
    add("--rcnn-smoothl1-rho", type=float, default=1.0, help="where the loss of boxes becomes linear")
    add("--val-interval", type=int, default=1, help="epochs from test to test (default: %(default)s)")
    add("--no-pretrained-base", action="store_true", help="begin with random numbers instead of published weights")
    add("--pretrained-base", help="file, folder or name of weights that the body begins with")
    add("--executor-threads", type=int, default=1, help="means nothing here: devices compute side by side anyway")
    parallel.add_horovod_argument(parser)
    add("--verbose", action="store_true", help="say which parameters are trained")
    add_untrained_argument(parser)


def add_network_arguments(parser: argparse.ArgumentParser, masks: bool = False) -> None:
    """Adds what says how the network looks, but for --network, its body."""
    add = parser.add_argument
    add("--use-fpn", action="store_true", help="a network of the zoo on a pyramid of maps")
    add("--norm-layer", choices=("bn", "syncbn"), help="syncbn: normalisation is trained, over all devices")
    add("--custom-model", action="store_true", help="a network on a pyramid as the flags below say")
    add("command", nargs="?", choices=("custom-model",), help="the same as --custom-model")
    add("--hybridize", action="store_true", help="compile the network")
    add("--disable-hybridization", dest="hybridize", action="store_false", help="do not, as by default")
    add("--static-alloc", action="store_true", help="compiled networks keep their memory")
    for flag, kind, default, _, what in CUSTOM + (MASKS if masks else ()):
        add(flag, type=kind, default=default, help=f"{what} (default: %(default)s)")
    if masks:
        parser.set_defaults(roi_size=[14, 14])  # as the networks of the zoo: masks are twice that


def add_test_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what programs for tests take besides: --save-json and --eval-all."""
    add = parser.add_argument
    add("--save-json", action="store_true", help="keep what was found in COCO, last of all, beside the logs")
    add("--eval-all", action="store_true", help="test every file, and checkpoint, whose path begins with --save-prefix")


def kept_files(args: argparse.Namespace) -> list[str]:
    """The parameters that --eval-all is about, in order; SystemExit where there are none."""
    prefix = glob.escape(args.run)
    files = sorted({*glob.glob(f"{prefix}*.params"), *glob.glob(f"{prefix}*/net.params")})
    if not files:
        raise SystemExit(f"--eval-all tests {args.run}*.params and {args.run}*/net.params, there are none")
    return files


def tested(net, files: list[str], devices, test) -> dict[str, dict[str, float]]:
    """What `test()` finds for `net` with the parameters of each file, by file."""
    found = {}
    for file in files:
        net.load_parameters(file, ctx=devices)
        found[file] = test()
        print(f"{file}: " + "  ".join(f"{name} {value:.4f}" for name, value in found[file].items()))
    return found


def settle_arguments(args: argparse.Namespace) -> None:
    """Fills in what depends on the data set, and --custom-model."""
    settle_network_arguments(args)
    epochs, lr, wd, steps, warmup = DEFAULTS[args.dataset]
    args.epochs = args.epochs or epochs
    args.lr = args.lr or lr * (args.batch_size if args.dataset == "coco" else 1)
    args.wd = wd if args.wd is None else args.wd
    args.lr_decay_epoch = args.lr_decay_epoch or steps
    args.lr_warmup = warmup if args.lr_warmup is None else args.lr_warmup


def settle_network_arguments(args: argparse.Namespace) -> None:
    """Fills in --custom-model: from the command, and for pictures whose classes no network of the zoo has."""
    args.custom_model |= args.command == "custom-model" or args.dataset == "rendered"


def network(args, prefix: str, classes, devices):
    """The network of the zoo called `prefix`_[fpn_][syncbn_]BODY_DATASET, or one as the flags say."""
    share = {"per_device_batch_size": max(args.batch_size // len(devices), 1)}
    base = {"pretrained_base": packaged.weights(args.pretrained_base or not args.no_pretrained_base)}
    if args.custom_model:
        flags = CUSTOM + (MASKS if prefix.startswith("mask") else ())
        options = {name: getattr(args, flag[2:].replace("-", "_")) for flag, _, _, name, _ in flags}
        options["short"] = options["short"][0] if len(options["short"]) == 1 else tuple(options["short"])
        # Maps from a quarter of the picture on, each half as large as the one before.
        levels = {"min_stage": 2, "max_stage": 1 + len(options["strides"])}
        norm = {"norm_layer": SyncBatchNorm if args.norm_layer == "syncbn" else nn.BatchNorm}
        net = get_model(
            f"custom_{prefix}_fpn", classes=classes, base_network_name=args.network, **base, **norm, **levels, **share,
            **options
        )  # fmt: skip
    else:
        net = get_model(f"{prefix_of(args, prefix)}_{args.network}_{args.dataset}", **base, **share)
    settle(net, devices)
    if args.hybridize:
        net.hybridize(static_alloc=args.static_alloc)
    return net


def prefix_of(args, prefix: str) -> str:
    """How names of the zoo begin: `prefix`, and what the flags add."""
    return prefix + ("_fpn" if args.use_fpn else "") + ("_syncbn" if args.norm_layer == "syncbn" else "")


def losses_of(net, args, masks: bool) -> RegionLosses:
    """Huber's loss of boxes, cross-entropies of objects, classes and masks."""
    binary = SigmoidBinaryCrossEntropyLoss(from_sigmoid=False)
    boxes = [HuberLoss(rho=rho) for rho in (args.rpn_smoothl1_rho, args.rcnn_smoothl1_rho)]
    return RegionLosses(net, binary, boxes[0], SoftmaxCrossEntropyLoss(), boxes[1], binary if masks else None)


def train(args, run: Run, net, pictures, devices, test, masks: bool = False, begin=lambda epoch: 1):
    """Trains `net` on `pictures`; `test()` gives the metrics of an epoch, `begin(epoch)` the weight of its losses."""
    kind = "MaskRCNN" if masks else "FasterRCNN"
    transform = getattr(presets, f"{kind}DefaultTrainTransform")(
        net.short, net.max_size, net, ashape=net.ashape, multi_stage=net.num_stages > 1
    )
    batches = parallel.loader(
        pictures.transform(transform), args.batch_size, last_batch="rollover",
        num_workers=args.num_workers,
        batchify_fn=getattr(batchify, f"{kind}TrainBatchify")(net, num_shards=len(devices)),
    )  # fmt: skip
    steps = [int(epoch) * len(batches) for epoch in args.lr_decay_epoch.split(",")]
    schedule = mx.lr_scheduler.MultiFactorScheduler(
        steps, args.lr_decay, base_lr=args.lr, warmup_steps=max(args.lr_warmup, 0),
        warmup_begin_lr=args.lr * args.lr_warmup_factor,
    )  # fmt: skip
    optimizer = {
        "lr_scheduler": schedule,
        "wd": args.wd,
        "momentum": args.momentum,
        "begin_num_update": args.start_epoch * len(batches),
        **({"clip_gradient": args.clip_gradient} if args.clip_gradient > 0 else {}),
    }
    trainer = parallel.trainer(args, net.collect_train_params(), "sgd", optimizer)
    if args.verbose:
        run.record.say(f"trained: {', '.join(net.collect_train_params())}")
    watch_overflow(trainer, args.dtype)
    losses = losses_of(net, args, masks)

    for epoch in run.epochs(args.epochs, net, trainer, first=args.start_epoch + 1):
        test_untrained(args, run, epoch, test)
        means, weight = Means(run, args.log_interval), begin(epoch)
        for batch in run.progress(batches, f"epoch {epoch}"):
            # Of one device pictures, boxes and masks are arrays, the targets lists in any case.
            parts = [part if isinstance(part, (list, tuple)) else [part] for part in batch]
            if masks:
                parts.append(parts.pop(2))
            with autograd.record():
                found = [
                    losses(*(x.as_in_context(device) for x in given))[0]
                    for device, *given in zip(devices, *parts, strict=True)
                ]
                sums = [sum(loss.sum() for loss in own.values()) * weight for own in found]
                backward(sums, trainer, args.dtype)
            trainer.step(args.batch_size)
            means.add(**{f"{name}_loss": [own[name] for own in found] for name in found[0]})
        row = means.row()
        if epoch % args.val_interval == 0 or epoch == args.epochs:
            row |= test()
        run.epoch_done(epoch, row, samples=len(pictures))
