"""Trains a network to tell persons apart, on Market-1501 (Zheng et al., 2015).

    python scripts/re_identification/train.py --dataset-root datasets --use-pretrained --num-gpus 1

The root holds Market-1501-v15.09.15 with `bounding_box_train` and `train.txt`, a line "file number" for each picture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import autograd, metric
from gluon.data import DataLoader
from gluon.data.vision import transforms
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.data.base import DATASETS
from gluoncv.data.market1501.data_read import ImageTxtDataset
from gluoncv.data.market1501.label_read import LabelList
from gluoncv.data.transforms.block import RandomCrop
from scripts.common import parallel
from scripts.common.devices import add_count_argument, contexts, settle, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, backward, use_dtype, watch_overflow
from scripts.common.program import program
from scripts.common.run import Run, add_interval_arguments, add_run_arguments
from scripts.re_identification.network import DEPTHS, PersonNet

FOLDER = "Market-1501-v15.09.15"
# The share of the rate with which the warm-up begins.
COLD = 0.01


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("re_identification", args, data=checksums([args.dataset_root / FOLDER / "train.txt"]))
    train_items, val_items = LabelList(args.ratio, str(args.dataset_root), args.dataset)
    size = (args.img_width, args.img_height)
    whole = args.batch_size * len(devices)
    loading = {"batch_size": whole, "num_workers": args.num_workers}
    train_set = ImageTxtDataset(train_items, transform=steps(size, train=True, pad=args.pad))
    train_batches = parallel.loader(train_set, last_batch="discard", **loading)
    val_batches = DataLoader(ImageTxtDataset(val_items, transform=steps(size)), **loading) if val_items else None

    persons = 1 + max(number for _, number in train_items + val_items)
    net = PersonNet(args.depth, persons, pretrained=args.use_pretrained)
    settle(net, devices)
    if args.hybridize:
        net.hybridize()
    trainer = parallel.trainer(args, net.collect_params(), "adam", {"learning_rate": args.lr, "wd": args.wd})
    watch_overflow(trainer, args.dtype)
    loss = SoftmaxCrossEntropyLoss()

    for epoch in run.epochs(args.epochs[-1], net, trainer):
        trainer.set_learning_rate(rate(epoch - 1, args))
        means = Means(run, args.log_interval)
        for data, label in run.progress(train_batches, f"epoch {epoch}"):
            with autograd.record():
                losses = [loss(net(x), y) for x, y in zip(spread(data, devices), spread(label, devices), strict=True)]
                backward(losses, trainer, args.dtype)
            trainer.step(whole)
            means.add(loss=losses)
        row = means.row()
        if val_batches is not None:
            accuracy = metric.Accuracy()
            for data, label in val_batches:
                accuracy.update(spread(label, devices), [net(x) for x in spread(data, devices)])
            row["val_accuracy"] = accuracy.get()[1]
        run.epoch_done(epoch, row, samples=len(train_batches) * whole)
    return run.finish(*run.measured())


def steps(size: tuple[int, int], train: bool = False, pad: int = 0) -> transforms.Compose:
    """From a picture to the input of `size` = (width, height); in training mirrored and moved at random."""
    moved = [transforms.RandomFlipLeftRight(), RandomCrop(size, pad=pad)] if train else []
    last = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    return transforms.Compose([transforms.Resize(size), *moved, *last])


def rate(epoch: int, args: argparse.Namespace) -> float:
    """The learning rate of an epoch, counted from 0: it rises until the first of --epochs, and falls at the others."""
    first, *falls = args.epochs
    if args.warmup and epoch < first:
        return args.lr * (COLD + (1 - COLD) * epoch / max(first - 1, 1))
    return args.lr * args.lr_decay ** sum(epoch >= fall for fall in falls)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_picture_arguments(parser)
    add("--dataset", choices=("market1501",), default="market1501", help="data set (default: %(default)s)")
    add("--ratio", type=float, default=1.0, help="share of the pictures to train on; the others are for tests")
    add("--pad", type=int, default=10, help="pixels by which pictures are moved at most (default: %(default)s)")
    add("--use-pretrained", action="store_true", help="begin with the published weights of the body")
    add(
        "--epochs",
        type=_numbers,
        default=[5, 25, 50, 75],
        help="end of the warm-up, of each rate, and of all (default: 5,25,50,75)",
    )
    add("--warmup", action=argparse.BooleanOptionalAction, default=True, help="the rate rises at first")
    add("--lr", type=float, default=3.5e-4, help="highest learning rate of Adam (default: %(default)s)")
    add("--lr-decay", type=float, default=0.1, help="factor between rates (default: %(default)s)")
    add("--wd", type=float, default=5e-4, help="weight decay (default: %(default)s)")
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser)
    add_run_arguments(parser, "market1501", seed=613)
    return parser.parse_args(argv)


def add_picture_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which network sees which pictures, and where."""
    add = parser.add_argument
    add("--dataset-root", type=Path, default=Path(DATASETS).expanduser(), help="folder of the data set")
    add("--img-height", type=int, default=384, help="height of the input (default: %(default)s)")
    add("--img-width", type=int, default=128, help="width of the input (default: %(default)s)")
    add("--depth", type=int, choices=DEPTHS, default=50, help="layers of the network (default: %(default)s)")
    add("--batch-size", type=int, default=32, help="pictures in a batch of a device (default: %(default)s)")
    add("--num-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add("--hybridize", action=argparse.BooleanOptionalAction, default=True, help="compile the network")
    add_count_argument(parser)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
