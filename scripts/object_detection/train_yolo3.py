"""Trains YOLOv3 (Redmon and Farhadi, 2018), on inputs of changing size.

    python scripts/object_detection/train_yolo3.py --dataset voc --dataset-root VOCdevkit --network darknet53 \\
        --mixup --gpus 0
    python scripts/object_detection/train_yolo3.py --dataset rendered --network mobilenet0.25 --data-shape 96 \\
        --no-random-shape --no-pretrained-base

Data sets as for train_ssd.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gluon.contrib.nn import SyncBatchNorm
from gluon.data import BatchSampler, DataLoader, RandomSampler
from gluon.finetune import decay_weights_only
from gluoncv.data import MixupDetection, RandomTransformDataLoader
from gluoncv.data.batchify import Pad, Stack, Tuple
from gluoncv.data.transforms.presets.yolo import YOLO3DefaultTrainTransform, YOLO3DefaultValTransform
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.devices import contexts, settle
from scripts.common.flags import Parser
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.recipe import add_schedule_arguments, schedule
from scripts.common.run import Run, add_run_arguments
from scripts.object_detection.detection import (
    Mirrored,
    add_augment_argument,
    add_data_arguments,
    add_training_arguments,
    data_files,
    datasets,
    test_loader,
    train,
    validate,
)  # fmt: skip

LOSSES = ("object_loss", "center_loss", "scale_loss", "class_loss")
SIZES = [32 * k for k in range(10, 20)]


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("object_detection", args, data=data_files(args), best="mAP")
    size = args.data_shape
    train_set, test_set, metric = datasets(args, (size, size))
    net = network(args, train_set.classes, devices)
    net._target_generator._label_smooth = args.label_smooth
    if args.mixup:
        train_set = MixupDetection(train_set)
    train_batches = train_loader(net, train_set, args)
    test_batches = test_loader(test_set, YOLO3DefaultValTransform(size, size), args)
    if args.no_wd:
        decay_weights_only(net)
    updates = len(train_batches)
    optimizer = {
        "lr_scheduler": schedule(args, args.epochs, updates),
        "wd": args.wd,
        "momentum": args.momentum,
        "begin_num_update": args.start_epoch * updates,
    }
    trainer = parallel.trainer(args, net.collect_params(), "sgd", optimizer)

    def losses(x, *targets):
        *targets, truth = targets
        return dict(zip(LOSSES, net(x, truth, *targets), strict=True))

    def begin(epoch):
        if args.mixup:
            blend = (np.random.beta, 1.5, 1.5) if epoch <= args.epochs - args.no_mixup_epochs else ()
            train_set.set_mixup(*blend)

    def test():
        net.set_nms(nms_thresh=0.45, nms_topk=400)
        return validate(net, test_batches, metric, devices)

    return train(args, run, net, trainer, train_batches, devices, losses, test, per_picture=True, begin=begin)


def network(args, classes, devices):
    """The network of the zoo, with classes of one's own where the data set has them."""
    own = {"classes": classes} if args.dataset == "rendered" else {}
    norm = {"norm_layer": SyncBatchNorm, "norm_kwargs": {"num_devices": len(devices)}} if args.syncbn else {}
    name = f"yolo3_{args.network}_{'custom' if own else args.dataset}"
    net = get_model(name, pretrained_base=not args.no_pretrained_base, **own, **norm)
    settle(net, devices)
    return net


def train_loader(net, pictures, args) -> DataLoader:
    """Batches of inputs, five targets and boxes; every ten batches of another size, unless --no-random-shape."""
    loading = {
        "batch_size": args.batch_size,
        "last_batch": "rollover",
        "batchify_fn": Tuple(*[Stack() for _ in range(6)], Pad(axis=0, pad_val=-1)),
        "num_workers": args.num_workers,
    }
    sizes = [args.data_shape] if args.no_random_shape else SIZES
    preset = MirroredTrainTransform if args.augment == "mirror" else YOLO3DefaultTrainTransform
    transforms = [preset(size, size, net, mixup=args.mixup) for size in sizes]
    if args.no_random_shape:
        return parallel.loader(pictures.transform(transforms[0]), **loading)
    batch_size, last_batch = loading.pop("batch_size"), loading.pop("last_batch")
    drawn = parallel.shared(BatchSampler(RandomSampler(len(pictures)), batch_size, last_batch))
    return RandomTransformDataLoader(transforms, pictures, interval=10, batch_sampler=drawn, **loading)


class MirroredTrainTransform(Mirrored, YOLO3DefaultTrainTransform):
    """Pictures with nothing changed but their sides."""


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--network", default="darknet53", help="name of the body (default: %(default)s)")
    add("--data-shape", type=int, default=416, help="pixels of the pictures of the test (default: %(default)s)")
    add("--syncbn", action="store_true", help="normalise over all devices")
    add("--no-random-shape", action="store_true", help="train on pictures of --data-shape, not of changing size")
    add("--no-wd", action="store_true", help="no weight decay of biases and of normalisation")
    add("--mixup", action="store_true", help="train on blends of two pictures")
    add("--no-mixup-epochs", type=int, default=20, help="last epochs without blends (default: %(default)s)")
    add("--label-smooth", action="store_true", help="smooth the classes")
    add_augment_argument(parser)
    add_data_arguments(parser)
    add_training_arguments(parser, epochs=200, batch_size=64, lr=0.001, wd=0.0005)
    add_schedule_arguments(parser, "160,180")
    add_dtype_argument(parser, float16=True)
    parallel.add_horovod_argument(parser)
    add_run_arguments(parser, "yolo3", "--save-prefix", seed=233)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
