"""What programs for detectors have in common: flags of data and training, data sets with their metrics, tests."""

from __future__ import annotations

import argparse

import numpy as np

from core import autograd, nd
from gluon.data import DataLoader
from gluoncv.data import COCODetection, VOCDetection
from gluoncv.data.batchify import Pad, Stack, Tuple
from gluoncv.data.transforms import bbox, image
from gluoncv.utils.metrics import COCODetectionMetric, VOC07MApMetric, VOCMApMetric
from scripts.common.devices import add_list_argument, spread
from scripts.common.environment import checksums
from scripts.common.means import Means
from scripts.common.precision import backward, watch_overflow
from scripts.common.program import data_root
from scripts.common.run import add_interval_arguments
from scripts.object_detection.datasets import Arrays, Rendered


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --dataset, --dataset-root, --coco-splits, --num-samples, --num-workers and --gpus."""
    add = parser.add_argument
    add("--dataset", choices=("voc", "coco", "rendered"), default="voc", help="data set (default: %(default)s)")
    add(
        "--dataset-root",
        default="",
        help="folder of the data set, or that of voc and coco (default: ~/.mxnet/datasets)",
    )
    add("--coco-splits", nargs=2, default=["train2017", "val2017"], metavar=("TRAIN", "TEST"), help="parts of coco")
    add("--num-samples", type=int, default=-1, help="use only so many pictures (default: all, 32 rendered ones)")
    add("-j", "--num-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add_list_argument(parser)


def add_training_arguments(parser: argparse.ArgumentParser, epochs: int, batch_size: int, lr: float, wd: float) -> None:
    """Adds flags of the length of training, of the optimizer, and of what is kept and said on the way."""
    add = parser.add_argument
    add("--batch-size", type=int, default=batch_size, help="pictures in a batch (default: %(default)s)")
    add("--epochs", type=int, default=epochs, help="passes over the data (default: %(default)s)")
    add("--start-epoch", type=int, default=0, help="epochs that --resume PARAMS has had")
    add("--lr", type=float, default=lr, help="highest learning rate (default: %(default)s)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default: %(default)s)")
    add("--wd", type=float, default=wd, help="weight decay (default: %(default)s)")
    add("--val-interval", type=int, default=1, help="epochs from test to test (default: %(default)s)")
    add("--no-pretrained-base", action="store_true", help="begin with random numbers instead of published weights")
    add_interval_arguments(parser)


def add_augment_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --augment."""
    parser.add_argument(
        "--augment", choices=("full", "mirror"), default="full", help="mirror: neither colours nor crops are changed"
    )


class Mirrored:
    """Before a preset of training: pictures at the network's size, every other one mirrored, and nothing more."""

    def _augmented(self, src, label):
        height, width = src.shape[:2]
        size = (self._width, self._height)
        picture, (flipped, _) = image.random_flip(image.imresize(src, *size), px=0.5)
        boxes = bbox.resize(label, (width, height), size)
        # The pixels of a box include those on its right border.
        return picture, bbox.flip(boxes, (self._width - 1, self._height), flip_x=flipped)


def datasets(args, shape=None, post_affine=None):
    """(data set to train on, to test on, metric).

    `shape` and `post_affine` are of the metric, see `COCODetectionMetric`.
    """
    root = data_root(args.dataset_root, args.dataset)
    if args.dataset == "rendered":
        count, size = _rendered(args), max(shape or (96,))
        train, test = (Arrays(Rendered(count, size, seed)) for seed in (0, 1))
        return train, test, VOCMApMetric(class_names=test.classes)
    if args.dataset == "voc":
        test, train = (
            VOCDetection(root, splits) for splits in ([(2007, "test")], [(2007, "trainval"), (2012, "trainval")])
        )
        return _first(train, args), test, VOC07MApMetric(class_names=test.classes)
    train, test = (f"instances_{split}" for split in args.coco_splits)
    train = COCODetection(root, train, use_crowd=False)
    # The metric counts on every picture, those without objects too.
    test = COCODetection(root, test, use_crowd=False, skip_empty=False)
    found = args.log_dir / "object_detection" / f"{args.run or 'eval'}.detections"
    metric = COCODetectionMetric(
        test, found, use_time=False, cleanup=not getattr(args, "save_json", False), data_shape=shape,
        post_affine=post_affine
    )  # fmt: skip
    return _first(train, args), test, metric


def _rendered(args) -> int:
    return args.num_samples if args.num_samples > 0 else 32


def _first(pictures, args):
    classes = pictures.classes
    taken = pictures.take(args.num_samples if args.num_samples > 0 else None)
    taken.classes = classes
    return taken


def data_files(args) -> dict[str, str]:
    """Checksums of what says which pictures there are, or what is drawn."""
    if args.dataset == "rendered":
        return {"rendered": f"{_rendered(args)} pictures, seed 0; tested on as many others, seed 1"}
    if args.dataset == "voc":
        return checksums(sorted(data_root(args.dataset_root, "voc").glob("VOC20*/ImageSets/Main/*.txt")))
    root = data_root(args.dataset_root, "coco")
    return checksums(root / "annotations" / f"instances_{split}.json" for split in args.coco_splits)


def test_loader(pictures, transform, args) -> DataLoader:
    """Batches of inputs of one size, and of boxes (B, M, 5 or 6), -1 behind the last."""
    return DataLoader(
        pictures.transform(transform),
        args.batch_size,
        batchify_fn=Tuple(Stack(), Pad(pad_val=-1)),
        num_workers=args.num_workers,
    )


def train(
    args, run, net, trainer, batches, devices, losses, test, *, per_picture: bool = False, together: bool = False,
    begin=None
) -> dict[str, float]:  # fmt: skip
    """Trains as long as the flags say, and gives the metrics.

    losses: called with the parts of a batch that one device gets, gives its losses by name. test: gives the mean
    average precision. per_picture: losses are sums over pictures, else means over what a device has got. together:
    `losses` is called with a list of the parts of all devices, gives a list, and divides by what counts in all of them.
    begin: called with the number of each epoch.
    """
    dtype = getattr(args, "dtype", "float32")
    watch_overflow(trainer, dtype)
    for epoch in run.epochs(args.epochs, net, trainer, first=args.start_epoch + 1):
        if begin is not None:
            begin(epoch)
        means, samples = Means(run, args.log_interval), 0
        for batch in run.progress(batches, f"epoch {epoch}"):
            with autograd.record():
                given = list(zip(*(spread(part, devices) for part in batch), strict=True))
                parts = losses(given) if together else [losses(*part) for part in given]
                backward([sum(own.values()) for own in parts], trainer, dtype)
            pictures = batch[0].shape[0]
            trainer.step(pictures if per_picture else 1 if together else len(parts))
            means.add(**{name: [own[name] for own in parts] for name in parts[0]})
            samples += pictures
        row = means.row()
        if epoch % args.val_interval == 0 or epoch == args.epochs:
            row["mAP"] = test()
        run.epoch_done(epoch, row, samples=samples)
    return run.finish("mAP")


def validate(net, batches, metric, devices) -> float:
    """The mean average precision, between 0 and 1, of a detector of classes, scores and corners."""
    metric.reset()
    for data, truth in batches:
        pieces = zip(spread(data, devices), spread(truth, devices), strict=True)
        for x, y in pieces:
            labels, scores, boxes = net(x)
            add_detections(metric, labels, scores, nd.clip(boxes, 0, data.shape[2]), y)
    return mean_average_precision(metric)


def add_detections(metric, labels, scores, boxes, truth) -> None:
    """Tells a metric what was found in pictures, and the truth (B, M, 5), or (B, M, 6) with what is difficult."""
    difficult = truth[:, :, 5:6] if truth.shape[2] > 5 else None
    metric.update(boxes, labels, scores, truth[:, :, :4], truth[:, :, 4:5], difficult)


def mean_average_precision(metric) -> float:
    """What a metric of VOC or COCO has found, between 0 and 1."""
    _, value = metric.get()
    if isinstance(metric, COCODetectionMetric):
        return float(value[-1]) / 100
    return float(np.asarray(value).ravel()[-1])


def epochs_of(text: str) -> list[int]:
    """Numbers with commas between."""
    return [int(epoch) for epoch in text.split(",")]
