"""Trains a single shot detector (Liu et al., 2016).

    python scripts/object_detection/train_ssd.py --dataset voc --dataset-root VOCdevkit --network vgg16_atrous --gpus 0
    python scripts/object_detection/train_ssd.py --dataset coco --dataset-root coco --network resnet50_v1 \\
        --data-shape 512
    python scripts/object_detection/train_ssd.py --dataset rendered --network mobilenet0.25 --data-shape 128 \\
        --no-pretrained-base --augment mirror

The data set "rendered" are coloured disks, squares and triangles on noise; it is tested on as many others, of another
seed. The root of "voc" holds VOC2007
and VOC2012, trained on 2007+2012 trainval and tested on 2007 test; that of "coco" train2017, val2017 and annotations.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, nd
from gluon.contrib.nn import SyncBatchNorm
from gluoncv import model_zoo
from gluoncv.data.batchify import Stack, Tuple
from gluoncv.data.transforms.presets.ssd import SSDDefaultTrainTransform, SSDDefaultValTransform
from gluoncv.loss import SSDMultiBoxLoss
from gluoncv.model_zoo.ssd import sized_ssd
from scripts.common import parallel
from scripts.common.devices import contexts, settle
from scripts.common.flags import Parser
from scripts.common.foreign import add_replaced_argument
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.object_detection.detection import (
    Mirrored,
    add_augment_argument,
    add_data_arguments,
    add_training_arguments,
    data_files,
    datasets,
    epochs_of,
    test_loader,
    train,
    validate,
)  # fmt: skip


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("object_detection", args, data=data_files(args), best="mAP")
    size = args.data_shape
    train_set, test_set, metric = datasets(args, (size, size))
    net = detector(args, train_set.classes, devices)
    if args.hybridize:
        net.hybridize()
    with autograd.train_mode():
        anchors = net(nd.zeros((1, 3, size, size), ctx=devices[0]))[2].as_in_context(mx.cpu())
    transform = (MirroredTrainTransform if args.augment == "mirror" else SSDDefaultTrainTransform)(size, size, anchors)
    train_batches = parallel.loader(
        train_set.transform(transform), args.batch_size, last_batch="rollover",
        batchify_fn=Tuple(Stack(), Stack(), Stack()), num_workers=args.num_workers,
    )  # fmt: skip
    test_batches = test_loader(test_set, SSDDefaultValTransform(size, size), args)
    updates = len(train_batches)
    schedule = mx.lr_scheduler.MultiFactorScheduler(
        [epoch * updates for epoch in args.lr_decay_epoch], args.lr_decay, base_lr=args.lr,
        **({"warmup_steps": args.lr_warmup, "warmup_begin_lr": 0.0} if args.lr_warmup else {}),
    )  # fmt: skip
    optimizer = {
        "lr_scheduler": schedule,
        "wd": args.wd,
        "momentum": args.momentum,
        "begin_num_update": args.start_epoch * updates,
    }
    trainer = parallel.trainer(args, net.collect_params(), "sgd", optimizer)
    loss = SSDMultiBoxLoss()

    def losses(parts):
        found = [(*net(x)[:2], classes, boxes) for x, classes, boxes in parts]
        _, *each = loss(*(list(part) for part in zip(*found, strict=True)))
        return [dict(zip(("class_loss", "box_loss"), own, strict=True)) for own in zip(*each, strict=True)]

    def test():
        net.set_nms(nms_thresh=0.45, nms_topk=400)
        return validate(net, test_batches, metric, devices)

    return train(args, run, net, trainer, train_batches, devices, losses, test, together=True)


class MirroredTrainTransform(Mirrored, SSDDefaultTrainTransform):
    """Pictures with nothing changed but their sides."""


def detector(args, classes, devices):
    """The network of the zoo, or for sizes that the zoo has not got, one with anchors that fit the size."""
    name = f"ssd_{args.data_shape}_{args.network}_{args.dataset}"
    norm = {"norm_layer": SyncBatchNorm, "norm_kwargs": {"num_devices": len(devices)}} if args.syncbn else {}
    base = {"pretrained_base": not args.no_pretrained_base, **norm}
    if name in model_zoo.get_model_list():
        net = model_zoo.get_model(name, **base)
    else:
        if not args.network.startswith("mobilenet"):
            raise SystemExit(f"there is no {name}: the zoo has {', '.join(_known())}; any size goes with a mobilenet")
        net = sized_ssd(args.network, args.data_shape, classes, **base)
    settle(net, devices, mx.init.Xavier())
    return net


def _known():
    return [name for name in model_zoo.get_model_list() if name.startswith("ssd_") and not name.endswith("_int8")]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--network", default="vgg16_atrous", help="name of the body (default: %(default)s)")
    add("--data-shape", type=int, default=300, help="pixels of the pictures (default: %(default)s)")
    add("--lr-decay", type=float, default=0.1, help="factor of a step (default: %(default)s)")
    add(
        "--lr-decay-epoch",
        type=epochs_of,
        default=[160, 200],
        metavar="E,E",
        help="epochs of the steps (default: 160,200)",
    )
    add("--lr-warmup", type=int, default=0, help="batches in which the rate rises from 0 (default: %(default)s)")
    add("--syncbn", action="store_true", help="normalise over all devices")
    add("--hybridize", action="store_true", help="compile the network")
    add_augment_argument(parser)
    add_data_arguments(parser)
    add_training_arguments(parser, epochs=240, batch_size=32, lr=0.001, wd=0.0005)
    add_dtype_argument(parser, float16=True)
    add_replaced_argument(parser, "--dali", "pictures are prepared by -j processes, without NVIDIA's DALI")
    parallel.add_horovod_argument(parser)
    add_run_arguments(parser, "ssd", "--save-prefix", seed=233)
    args = parser.parse_args(argv)
    if args.network.endswith("atrous") and args.syncbn:
        parser.error("VGG has no normalisation: leave --syncbn out")
    return args


if __name__ == "__main__":
    main()
