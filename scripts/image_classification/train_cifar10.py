"""Trains a network of the model zoo on CIFAR-10 (50,000 training and 10,000 test pictures, 32x32 colour).

    python scripts/image_classification/train_cifar10.py --data-dir ../shared/data/cifar10 --model cifar_resnet20_v1

`--data-dir` holds the original binary files, or the records that MXNet's examples use (`cifar10-rec.tar.gz`), whose
pictures are JPEG-compressed: accuracies on the two are not comparable.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core.files.atomic import write_bytes
from gluon.data import DataLoader
from gluon.data.vision import CIFAR10, transforms
from gluon.finetune.curves import svg
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.classify import test, train_epoch
from scripts.common.devices import add_count_argument, contexts
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.pictures import mixup
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import data_root, program
from scripts.common.run import Run, add_interval_arguments, add_run_arguments

CLASSES = 10
# The statistics that the published networks were trained with.
NORMALIZE = transforms.Normalize([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010])
PUBLISHED = {  # GluonCV's model zoo, original pixels, 200 epochs and more
    "cifar_resnet20_v1": 0.921,
    "cifar_resnet56_v1": 0.936,
    "cifar_resnet110_v1": 0.930,
    "cifar_resnet20_v2": 0.921,
    "cifar_resnet56_v2": 0.937,
    "cifar_resnet110_v2": 0.943,
    "cifar_wideresnet16_10": 0.951,
    "cifar_resnext29_16x64d": 0.963,
}


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    return execute(parse_args(argv))


def execute(args: argparse.Namespace) -> dict[str, float]:
    """Trains as the flags say, and gives the figures of the test."""
    devices = contexts(args)
    use_dtype(args.dtype)
    train_set, test_set = CIFAR10(str(args.data_dir), train=True), CIFAR10(str(args.data_dir), train=False)
    run = Run("image_classification", args, data=checksums(sorted(p for p in args.data_dir.iterdir() if p.is_file())))
    if args.samples:
        train_set, test_set = train_set.take(args.samples), test_set.take(args.samples)
    augment = [transforms.RandomCrop(32, pad=4), transforms.RandomFlipLeftRight()]
    train_batches = parallel.loader(
        train_set.transform_first(transforms.Compose([*augment, transforms.ToTensor(), NORMALIZE])),
        args.batch_size * len(devices),
        last_batch="discard",
        num_workers=args.num_data_workers,
    )
    test_batches = DataLoader(
        test_set.transform_first(transforms.Compose([transforms.ToTensor(), NORMALIZE])),
        250,
        num_workers=args.num_data_workers,
    )

    options = {"drop_rate": args.drop_rate} if args.drop_rate else {}
    net = get_model(args.model, classes=CLASSES, **options)
    net.initialize(mx.init.Xavier(), ctx=devices)
    if args.mode == "hybrid":
        net.hybridize(static_alloc=True, static_shape=True)
    optimizer = {
        "learning_rate": args.lr,
        "momentum": args.momentum,
        "wd": args.wd,
        "lr_scheduler": schedule(args, len(train_batches)),
    }
    trainer = parallel.trainer(args, net.collect_params(), "nag", optimizer)

    for epoch in run.epochs(args.num_epochs, net, trainer):
        mixed = args.mixup and epoch <= args.num_epochs - args.mixup_off_epoch
        batches = run.progress(train_batches, f"epoch {epoch}")
        if mixed:
            loss = SoftmaxCrossEntropyLoss(sparse_label=False)
            metrics = train_epoch(net, mixup(batches, args.mixup_alpha, CLASSES), trainer, loss, devices)
            del metrics["train_accuracy"]  # of mixed pictures, which have two labels
        else:
            metrics = train_epoch(net, batches, trainer, SoftmaxCrossEntropyLoss(), devices)
        metrics["test_accuracy"] = test(net, test_batches, devices)
        run.epoch_done(epoch, metrics, samples=len(train_set))
        if args.save_plot_dir:
            args.save_plot_dir.mkdir(parents=True, exist_ok=True)
            target = args.save_plot_dir / f"{args.run}.svg"
            parallel.on_first(write_bytes, target, svg(run.record.facts["epochs"]).encode())
    published = PUBLISHED.get(args.model)
    return run.finish("test_accuracy", published=f"{published} (original pixels, long schedule)" if published else "")


def schedule(args: argparse.Namespace, updates: int) -> mx.lr_scheduler.LRScheduler:
    """The learning rate by update; `updates` are those of an epoch."""
    warmup = {"warmup_steps": args.warmup_epochs * updates}
    if args.lr_mode == "cosine":
        return mx.lr_scheduler.CosineScheduler(args.num_epochs * updates, base_lr=args.lr, final_lr=0, **warmup)
    if args.lr_decay_period:
        epochs = range(args.lr_decay_period, args.num_epochs, args.lr_decay_period)
    else:
        epochs = [int(epoch) for epoch in args.lr_decay_epoch.split(",")]
    steps = [epoch * updates for epoch in epochs]
    return mx.lr_scheduler.MultiFactorScheduler(steps, factor=args.lr_decay, base_lr=args.lr, **warmup)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    return parser_of(__doc__).parse_args(argv)


def parser_of(description: str, run: str = "cifar_resnet20_v1") -> Parser:
    """A parser of all flags, which are those of train_mixup_cifar10.py, too."""
    parser = Parser(description)
    home = Path(data_root("", "cifar10"))
    parser.add_argument("--data-dir", type=Path, default=home, help="folder of CIFAR-10 (default: %(default)s)")
    parser.add_argument("--model", default="cifar_resnet20_v1", help="name in the model zoo (default: %(default)s)")
    parser.add_argument(
        "--batch-size", type=int, default=128, help="pictures in a batch of a device (default: %(default)s)"
    )
    parser.add_argument("--num-epochs", type=int, default=200, help="passes over the data (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default: %(default)s)")
    parser.add_argument("--momentum", type=float, default=0.9, help="Nesterov momentum (default: %(default)s)")
    parser.add_argument("--wd", type=float, default=1e-4, help="weight decay (default: %(default)s)")
    parser.add_argument("--lr-mode", choices=("step", "cosine"), default="step", help="how the learning rate falls")
    parser.add_argument("--lr-decay", type=float, default=0.1, help="factor of a step (default: %(default)s)")
    parser.add_argument("--lr-decay-epoch", default="100,150", help="epochs of the steps (default: %(default)s)")
    parser.add_argument("--lr-decay-period", type=int, default=0, help="epochs between steps, instead of a list")
    parser.add_argument("--warmup-epochs", type=int, default=0, help="epochs in which the learning rate rises")
    parser.add_argument("--drop-rate", type=float, default=0.0, help="dropout of wide residual networks")
    parser.add_argument("--mixup", action="store_true", help="train on blends of two pictures")
    parser.add_argument("--mixup-alpha", type=float, default=1.0, help="parameter of the blend's Beta distribution")
    parser.add_argument("--mixup-off-epoch", type=int, default=0, help="last epochs without blends")
    parser.add_argument("--mode", choices=("imperative", "hybrid"), default="imperative", help="hybrid: compile")
    add_dtype_argument(parser)
    add_count_argument(parser)
    parser.add_argument("-j", "--num-data-workers", type=int, default=0, help="loading processes (default: 0)")
    parser.add_argument("--samples", type=int, help="use only the first so many pictures of each part")
    parser.add_argument("--save-plot-dir", type=Path, help="folder of a picture with the run's curves (default: none)")
    add_interval_arguments(parser, "--save-period")
    add_run_arguments(parser, run)
    return parser


if __name__ == "__main__":
    main()
