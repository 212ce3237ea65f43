"""Trains a single shot detector (Liu et al., 2016).

    python scripts/object_detection/train_ssd.py --dataset rendered --network mobilenet0.25 --data-shape 128
    python scripts/object_detection/train_ssd.py --dataset voc --dataset-root VOCdevkit --network vgg16_atrous
    python scripts/object_detection/train_ssd.py --dataset coco --dataset-root coco

The data set "rendered" are coloured disks, squares and triangles on noise, and the figure on it is that on the pictures
that were trained on: it shows that targets, losses, decoding and metrics fit together. The root of "voc" holds VOC2007 and
VOC2012, trained on 2007+2012 trainval and tested on 2007 test; that of "coco" train2017, val2017 and annotations.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd, image, nd
from gluon import Trainer
from gluon.data import DataLoader
from gluoncv import model_zoo
from gluoncv.loss import SSDMultiBoxLoss
from gluoncv.model_zoo.ssd.target import SSDTargetGenerator
from scripts.common.run import Run, add_run_arguments
from scripts.object_detection.datasets import Plain
from scripts.object_detection.detection import data_files, datasets, epochs_of, mean_average_precision

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406], "float32"), np.array([0.229, 0.224, 0.225], "float32")


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = mx.gpu(0) if args.cuda else mx.cpu()
    run = Run("object_detection", args, data=data_files(args))
    size = args.data_shape
    train_set, test_set, metric = datasets(args, (size, size))
    train_set, test_set = Plain(train_set), Plain(test_set)
    collate = Batch(size)
    train_batches = DataLoader(
        train_set, args.batch_size, shuffle=True, last_batch="rollover", batchify_fn=Batch(size, flip=True),
        num_workers=args.num_workers,
    )  # fmt: skip
    test_batches = DataLoader(test_set, args.batch_size, batchify_fn=collate, num_workers=args.num_workers)

    net = detector(args, train_set.classes, context)
    if args.hybridize:
        net.hybridize()
    with autograd.train_mode():
        anchors = net(nd.zeros((1, 3, size, size), ctx=context))[2]
    steps = [epoch * len(train_batches) for epoch in args.lr_decay_epoch]
    warmup = {"warmup_steps": args.lr_warmup, "warmup_begin_lr": 0.0} if args.lr_warmup else {}
    schedule = mx.lr_scheduler.MultiFactorScheduler(steps, args.lr_decay, base_lr=args.lr, **warmup)
    optimizer = {"momentum": args.momentum, "wd": args.wd, "lr_scheduler": schedule}
    trainer = Trainer(net.collect_params(), "sgd", optimizer)
    # The loss picks the hard negatives.
    targets, loss = SSDTargetGenerator(negative_mining_ratio=-1), SSDMultiBoxLoss()

    for epoch in run.epochs(args.epochs, net, trainer):
        sums, batches = np.zeros(2), 0
        for data, truth in run.progress(train_batches, f"epoch {epoch}"):
            data, truth = data.as_in_context(context), truth.as_in_context(context)
            classes, boxes, _ = targets(anchors, None, truth[:, :, :4], truth[:, :, 4:5])
            with autograd.record():
                class_scores, offsets, _ = net(data)
                total, class_loss, box_loss = loss(class_scores, offsets, classes, boxes)
                autograd.backward(total)
            # The loss is divided by the number of positive anchors.
            trainer.step(1)
            sums += [part[0].sum().asscalar() for part in (class_loss, box_loss)]
            batches += 1
        row = dict(zip(("class_loss", "box_loss"), (sums / batches).tolist(), strict=True))
        if epoch % args.val_interval == 0 or epoch == args.epochs:
            row["mAP"] = validate(net, test_batches, metric, context)
        run.epoch_done(epoch, row, samples=len(train_set))
    return run.finish("mAP")


def validate(net, batches, metric, context) -> float:
    """The mean average precision, between 0 and 1."""
    metric.reset()
    net.set_nms(nms_thresh=0.45, nms_topk=400)
    for data, truth in batches:
        labels, scores, boxes = net(data.as_in_context(context))
        boxes = nd.clip(boxes, 0, data.shape[2])
        metric.update(boxes, labels, scores, truth[:, :, :4], truth[:, :, 4:5], truth[:, :, 5:6])
    return mean_average_precision(metric)


class Batch:
    """Pictures (B, 3, size, size), normalised, and boxes (B, M, 6), -1 behind the last; `flip` mirrors every other one."""

    def __init__(self, size: int, flip: bool = False):
        self.size, self.flip = size, flip

    def __call__(self, samples):
        pictures, boxes = zip(*(self._sample(*sample) for sample in samples), strict=True)
        most = max(len(rows) for rows in boxes)
        truth = np.full((len(boxes), max(most, 1), 6), -1, "float32")
        for rows, padded in zip(boxes, truth, strict=True):
            padded[: len(rows)] = rows
        return nd.array(np.stack(pictures)), nd.array(truth)

    def _sample(self, picture, boxes):
        boxes = boxes.copy()
        height, width = picture.shape[:2]
        if (height, width) != (self.size, self.size):
            picture = image.imresize(nd.array(picture, dtype="uint8"), self.size, self.size).asnumpy()
            boxes[:, :4] *= np.array([self.size / width, self.size / height] * 2, "float32")
        if self.flip and np.random.random() < 0.5:
            picture = picture[:, ::-1]
            boxes[:, [0, 2]] = self.size - 1 - boxes[:, [2, 0]]
        picture = (picture.astype("float32") / 255 - MEAN) / DEVIATION
        return np.ascontiguousarray(picture.transpose(2, 0, 1)), boxes


def detector(args, classes, context):
    """The network of the zoo, or for sizes that the zoo has not got, one with anchors that fit the size."""
    name = f"ssd_{args.data_shape}_{args.network}_{args.dataset}"
    norm = {"norm_layer": mx.gluon.contrib.nn.SyncBatchNorm} if args.syncbn else {}
    base = {"pretrained_base": args.pretrained_base, "ctx": context, **norm}
    if name in model_zoo.get_model_list():
        net = model_zoo.get_model(name, pretrained=args.pretrained, **base)
    else:
        size, layers = args.data_shape, ["relu22_fwd", "relu26_fwd"]
        if not args.network.startswith("mobilenet"):
            raise SystemExit(f"there is no {name}: the zoo has {', '.join(_known())}; any size goes with a mobilenet")
        # Maps of a 16th of the size, and half and half again, up to one place.
        steps = [2**k for k in range(4, 16) if 2 ** (k - 1) < size]
        net = model_zoo.get_ssd(
            args.network, size, layers, [128] * (len(steps) - 2), list(np.linspace(0.2, 1.05, len(steps) + 1) * size),
            [[1, 2, 0.5]] * len(steps), steps, classes, "", **base,
        )  # fmt: skip
    net.initialize(mx.init.Xavier(), ctx=context)
    net.collect_params().reset_ctx(context)
    return net


def _known():
    return [name for name in model_zoo.get_model_list() if name.startswith("ssd_") and not name.endswith("_int8")]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--network", default="vgg16_atrous", help="name of the body (default: %(default)s)")
    add("--data-shape", type=int, default=300, help="pixels of the pictures (default: %(default)s)")
    add("--batch-size", type=int, default=32, help="pictures in a batch (default: %(default)s)")
    add("--dataset", choices=("voc", "coco", "rendered"), default="voc", help="data set (default: %(default)s)")
    add("--dataset-root", default=".", help="folder of the data set (default: %(default)s)")
    add("--coco-splits", nargs=2, default=["train2017", "val2017"], metavar=("TRAIN", "TEST"), help="parts of coco")
    add("--num-samples", type=int, default=-1, help="use only so many pictures (default: all, 32 rendered ones)")
    add("-j", "--num-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add("--cuda", action="store_true", help="train on the first GPU")
    add("--epochs", type=int, default=240, help="passes over the data (default: %(default)s)")
    add("--lr", type=float, default=0.001, help="learning rate (default: %(default)s)")
    add("--lr-decay", type=float, default=0.1, help="what the rate is multiplied with (default: %(default)s)")
    add(
        "--lr-decay-epoch",
        type=epochs_of,
        default=[160, 200],
        metavar="E,E",
        help="after which epochs (default: 160,200)",
    )
    add("--lr-warmup", type=int, default=0, help="batches in which the rate rises from 0 (default: %(default)s)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default: %(default)s)")
    add("--wd", type=float, default=0.0005, help="weight decay (default: %(default)s)")
    add("--val-interval", type=int, default=1, help="epochs from test to test (default: %(default)s)")
    add("--pretrained", help="file of weights to begin with")
    add("--pretrained-base", action="store_true", help="begin with the published weights of the body")
    add("--syncbn", action="store_true", help="normalise over all devices")
    add("--hybridize", action="store_true", help="compile the network")
    add_run_arguments(parser, run="ssd", seed=233)
    args = parser.parse_args(argv)
    if args.network.endswith("atrous") and args.syncbn:
        parser.error("VGG has no normalisation: leave --syncbn out")
    return args


if __name__ == "__main__":
    main()
