"""Trains LeNet on MNIST (60,000 training and 10,000 test pictures of digits, 28x28).

    python scripts/image_classification/train_mnist.py --data-dir ../shared/data/mnist

The learning rate falls to zero along a half cosine; 99 % of the test pictures are right within ten epochs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon import nn
from gluon.data import DataLoader
from gluon.data.vision import MNIST
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common import parallel
from scripts.common.classify import test, train_epoch
from scripts.common.devices import own_gpus
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.lenet import lenet
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = mx.gpu(*own_gpus([0])) if args.cuda else mx.cpu()
    train_set = MNIST(str(args.data_dir), train=True).take(args.samples).transform_first(scale)
    test_set = MNIST(str(args.data_dir), train=False).take(args.samples).transform_first(scale)
    run = Run("image_classification", args, data=checksums(sorted(args.data_dir.glob("*-ubyte*"))))
    train_batches = parallel.loader(train_set, args.batch_size, last_batch="discard", num_workers=args.num_workers)
    test_batches = DataLoader(test_set, 500, num_workers=args.num_workers)

    net = lenet(nn)
    net.initialize(mx.init.Xavier(magnitude=2.24), ctx=context)
    if args.hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    schedule = mx.lr_scheduler.CosineScheduler(
        args.epochs * len(train_batches), base_lr=args.lr, final_lr=0, warmup_steps=len(train_batches) // 2
    )
    optimizer = {"momentum": args.momentum, "wd": args.wd, "lr_scheduler": schedule}
    trainer = parallel.trainer(args, net.collect_params(), "sgd", optimizer)
    loss = SoftmaxCrossEntropyLoss()

    for epoch in run.epochs(args.epochs, net, trainer):
        batches = run.progress(train_batches, f"epoch {epoch}")
        metrics = train_epoch(net, batches, trainer, loss, context)
        metrics["test_accuracy"] = test(net, test_batches, context)
        run.epoch_done(epoch, metrics, samples=len(train_set))
    return run.finish("test_accuracy", published="0.9905 (LeNet-5, LeCun et al. 1998)")


def scale(picture):
    """Pixels (28, 28, 1) of 0 to 255 as (1, 28, 28) of 0 to 1."""
    return picture.transpose((2, 0, 1)).astype("float32") / 255


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with the four MNIST files")
    parser.add_argument(
        "--batch-size", type=int, default=100, help="pictures in a batch of a process (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=10, help="passes over the data (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.05, help="highest learning rate (default: %(default)s)")
    parser.add_argument("--momentum", type=float, default=0.9, help="momentum of SGD (default: %(default)s)")
    parser.add_argument("--wd", type=float, default=1e-4, help="weight decay (default: %(default)s)")
    parser.add_argument("--hybridize", action="store_true", help="compile the network")
    parser.add_argument("--cuda", action="store_true", help="train on the first GPU")
    parser.add_argument("-j", "--num-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=60000, help="use only the first so many pictures")
    add_run_arguments(parser, run="lenet_mnist")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
