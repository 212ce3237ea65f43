"""Trains a network of the model zoo on ImageNet, with the refinements of "Bag of Tricks" (He et al., 2019).

    python scripts/image_classification/train_imagenet.py --data-dir imagenet --model resnet50_v1b --mode hybrid \\
        --batch-size 128 --num-gpus 8 --num-epochs 120 --lr 0.4 --lr-mode cosine --warmup-epochs 5 --no-wd \\
        --last-gamma --label-smoothing --mixup --dtype bfloat16
    python scripts/image_classification/train_imagenet.py --use-rec --rec-train train.rec --rec-val val.rec \\
        --model mobilenet1.0
    python scripts/image_classification/train_imagenet.py --data-dir imagenet --model resnet18_v1b \\
        --teacher resnet152_v1d

`--data-dir` holds train.rec and val.rec, folders train and val with one folder per class, a list of pictures (`*.lst`),
or the files of CIFAR-10. The batch size is that of one device. `--resume` goes on after the last finished epoch with
everything; `--resume-params` and `--resume-states` begin with given files after `--resume-epoch` epochs.
"""

from __future__ import annotations

import argparse
import sys
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, nd
from core.kvstore import processes
from gluon.data import DataLoader
from gluon.data.vision import ImageRecordDataset, transforms
from gluon.finetune import decay_weights_only
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.loss import DistillationSoftmaxCrossEntropyLoss
from gluoncv.model_zoo import get_model
from gluoncv.nn import GroupNorm
from scripts.common import parallel
from scripts.common.autoaugment import AutoAugment
from scripts.common.devices import add_count_argument, add_cpu_argument, contexts, settle, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.foreign import add_refused_argument
from scripts.common.means import Means
from scripts.common.pictures import data_set, mixup, shares
from scripts.common.precision import add_dtype_argument, backward, use_dtype, watch_overflow
from scripts.common.program import data_root, program
from scripts.common.recipe import (
    add_batch_arguments,
    add_mode_argument,
    add_optimizer_arguments,
    add_schedule_arguments,
    add_squeeze_argument,
    schedule,
    squeeze_option,
)  # fmt: skip
from scripts.common.run import Run, add_interval_arguments, add_run_arguments

SMOOTHING = 0.1


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    return execute(args, contexts(args), augmentation(args), preprocessing(args))


def execute(args: argparse.Namespace, devices: list[mx.Context], augment, prepare, scale: int = 1) -> dict[str, float]:
    """Trains as the flags say, and gives the figures of the last test.

    augment, prepare: of pictures to train on, and of the test. scale: what --lr is multiplied by. Several processes share
    the pictures of an epoch and of a test among them.
    """
    use_dtype(args.dtype)
    run = Run("image_classification", args, data=data_files(args), best="top1")
    train_set, val_set = pictures(args, "train"), pictures(args, "val")
    classes = args.num_classes or len(getattr(train_set, "synsets", ())) or 1000
    batch_size = args.batch_size * len(devices)
    loading = {"num_workers": args.num_data_workers}
    if processes.count() > 1:
        val_set = val_set.shard(processes.count(), processes.rank())
    train_batches = parallel.loader(train_set.transform_first(augment), batch_size, last_batch="discard", **loading)
    val_batches = DataLoader(val_set.transform_first(prepare), batch_size, **loading)

    net = network(args, classes, devices)
    teacher = None
    if args.teacher:
        teacher = get_model(args.teacher, pretrained=args.teacher_params or True, ctx=devices)
        teacher.hybridize(args.mode == "hybrid")
    if args.no_wd:
        decay_weights_only(net)
    share = args.num_training_samples // (batch_size * processes.count()) if args.num_training_samples else 0
    updates = max(share or len(train_batches), 1)
    optimizer = {
        "lr_scheduler": schedule(args, args.num_epochs, updates, rate=args.lr * scale),
        "wd": args.wd,
        "momentum": args.momentum,
        "begin_num_update": args.resume_epoch * updates,
    }
    trainer = parallel.trainer(args, net.collect_params(), "nag", optimizer)
    watch_overflow(trainer, args.dtype)
    if args.resume_params:
        net.load_parameters(args.resume_params, ctx=devices)
    if args.resume_states:
        trainer.load_states(args.resume_states)

    for epoch in run.epochs(args.num_epochs, net, trainer, first=args.resume_epoch + 1):
        row = train(args, run, epoch, net, teacher, trainer, train_batches, classes, devices)
        if epoch == args.num_epochs or (args.eval_frequency and epoch % args.eval_frequency == 0):
            row |= test(net, val_batches, devices)
        run.epoch_done(epoch, row, samples=len(train_set))
    return run.finish("top1", "top5", published=args.published)


def train(args, run, epoch: int, net, teacher, trainer, batches, classes: int, devices) -> dict[str, float]:
    """Trains for an epoch and gives its means.

    Under mixup and label smoothing labels are distributions over the classes.
    """
    mixed = args.mixup and epoch <= args.num_epochs - args.mixup_off_epoch
    soft = mixed or args.label_smoothing
    smoothing = SMOOTHING if args.label_smoothing else 0.0
    loss = loss_function(args, sparse_label=not soft)
    means, accuracy = Means(run, args.log_interval), mx.metric.Accuracy()
    batches = run.progress(batches, f"epoch {epoch}")
    if mixed:
        batches = mixup(batches, args.mixup_alpha, classes, smoothing)
    for data, label in batches:
        if soft and not mixed:
            label = shares(label, classes, smoothing)
        pieces = list(zip(spread(data, devices), spread(label, devices), strict=True))
        distilled = [() if teacher is None else (soft_labels(teacher, x, args.temperature),) for x, _ in pieces]
        with autograd.record():
            outputs = [net(x) for x, _ in pieces]
            losses = [loss(out, y, *more) for out, (_, y), more in zip(outputs, pieces, distilled, strict=True)]
            backward(losses, trainer, args.dtype)
        trainer.step(data.shape[0])
        means.add(loss=losses)
        if not soft:
            accuracy.update([y for _, y in pieces], outputs)
    return means.row() | ({} if soft else {"train_top1": accuracy.get()[1]})


def test(net, batches, devices) -> dict[str, float]:
    """Shares of pictures whose class is the likeliest, and among the five likeliest."""
    top1, top5 = mx.metric.Accuracy(), mx.metric.TopKAccuracy(5)
    for data, label in batches:
        labels, outputs = spread(label.reshape((-1,)), devices), [net(x) for x in spread(data, devices)]
        top1.update(labels, outputs)
        top5.update(labels, outputs)
    if processes.count() > 1:  # each has tested its share
        top1, top5 = processes.sum_metric(top1), processes.sum_metric(top5)
    return {"top1": top1.get()[1], "top5": top5.get()[1]}


def soft_labels(teacher, x, temperature: float):
    """The teacher's distribution over the classes, at a temperature (Hinton et al., 2015)."""
    return nd.softmax(teacher(x) / temperature)


def loss_function(args, sparse_label: bool):
    """The loss of (output, label), of (output, label, soft label) where there is a teacher."""
    if args.teacher:
        return DistillationSoftmaxCrossEntropyLoss(
            temperature=args.temperature, hard_weight=args.hard_weight, sparse_label=sparse_label
        )
    return SoftmaxCrossEntropyLoss(sparse_label=sparse_label)


def network(args, classes: int, devices):
    """The network of the zoo, to begin with."""
    options = {"batch_norm": True} if args.batch_norm and args.model.startswith("vgg") else {}
    options |= squeeze_option(args)
    options |= {"dropblock_prob": args.dropblock_prob} if args.dropblock_prob else {}
    options |= {"last_gamma": True} if args.last_gamma else {}
    options |= {"norm_layer": GroupNorm} if args.use_gn else {}
    if args.use_pretrained:
        net = get_model(args.model, pretrained=True, ctx=devices, **options)
    else:
        net = get_model(args.model, classes=classes, **options)
    settle(net, devices, mx.init.MSRAPrelu())
    if args.mode == "hybrid":
        net.hybridize(static_alloc=True, static_shape=True)
    return net


# ---------------------------------------------------------------------------------------------- pictures


def pictures(args, part: str):
    """The pictures of `part` with their classes."""
    if args.use_rec:
        return ImageRecordDataset(str(getattr(args, f"rec_{part}")))
    found = data_set(args.data_dir, part)
    return found.take(args.samples) if args.samples else found


def data_files(args) -> dict[str, str]:
    """Checksums of what says which pictures there are."""
    if args.use_rec:
        return checksums([args.rec_train.with_suffix(".idx"), args.rec_val.with_suffix(".idx")])
    return checksums(sorted(p for p in args.data_dir.iterdir() if p.suffix in (".idx", ".lst", ".gz", ".bin")))


def augmentation(args) -> transforms.Compose:
    """A random crop of random size and shape, mirrored, with random colours."""
    return transforms.Compose(
        [
            *([AutoAugment()] if args.auto_aug else []),
            transforms.RandomResizedCrop(args.input_size),
            transforms.RandomFlipLeftRight(),
            transforms.RandomColorJitter(brightness=0.4, contrast=0.4, saturation=0.4),
            transforms.RandomLighting(0.1),
            *normalisation(args),
        ]
    )


def preprocessing(args) -> transforms.Compose:
    """The middle of a picture whose short side is resized to the input's over --crop-ratio."""
    resize = transforms.Resize(ceil(args.input_size / args.crop_ratio), keep_ratio=True)
    return transforms.Compose([resize, transforms.CenterCrop(args.input_size), *normalisation(args)])


def normalisation(args) -> list:
    mean, deviation = ([value / 255 for value in values] for values in (args.rgb_mean, args.rgb_std))
    return [transforms.ToTensor(), transforms.Normalize(mean, deviation)]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    return settle_arguments(parser, parser.parse_args(argv))


def parser_of(description: str, model: str | None = None, *, devices: bool = True) -> Parser:
    """A parser of all flags; train_horovod.py has them too, but for those that choose `devices`.

    model: that of a command line without --model, which is needed otherwise.
    """
    parser = Parser(description)
    add = parser.add_argument
    add(
        "--data-dir",
        type=Path,
        default=data_root("", "imagenet"),
        help="folder with the pictures (default: %(default)s)",
    )
    add("--data-backend", choices=("mxnet",), default="mxnet", help="who decodes and augments (default: %(default)s)")
    add("--use-rec", action="store_true", help="read --rec-train and --rec-val")
    for part in ("train", "val"):
        add(f"--rec-{part}", type=Path, help=f"record file (default: rec/{part}.rec in --data-dir)")
        add(f"--rec-{part}-idx", type=Path, help="its index, beside it (default: the same name with .idx)")
    add("--num-training-samples", type=int, help="pictures in an epoch of the schedule (default: all)")
    add("--num-classes", type=int, help="number of classes (default: that of the folders, or 1000)")
    add("--samples", type=int, help="use only the first so many pictures of each part")
    add_batch_arguments(parser, 32, "pictures", "--data-nthreads")
    add_optimizer_arguments(parser, epochs=120, lr=0.1, wd=1e-4, momentum=0.9)
    add_schedule_arguments(parser, "40,60")
    add("--last-gamma", action="store_true", help="residual blocks begin as the identity: their last scale is 0")
    add_mode_argument(parser)
    add("--model", required=model is None, default=model, help="name in the model zoo")
    add("--input-size", type=int, default=224, help="sides of the crop (default: %(default)s)")
    add("--crop-ratio", type=float, default=0.875, help="crop over short side, in the test (default: %(default)s)")
    add("--use-pretrained", action="store_true", help="begin with the published weights")
    add_squeeze_argument(parser)
    add("--batch-norm", action="store_true", help="batch normalisation in a VGG")
    add("--use-gn", action="store_true", help="group normalisation in place of batch normalisation")
    add("--mixup", action="store_true", help="train on blends of two pictures")
    add("--mixup-alpha", type=float, default=0.2, help="parameter of the blend's Beta distribution (default: 0.2)")
    add("--mixup-off-epoch", type=int, default=0, help="last epochs without blends (default: %(default)s)")
    add("--label-smoothing", action="store_true", help=f"{SMOOTHING} of a label is spread over all classes")
    add("--teacher", help="name of a network whose answers are learned, too")
    add("--teacher-params", help="its weights: file, folder or URL (default: the published ones)")
    add("--temperature", type=float, default=20, help="what scores are divided by for that (default: %(default)s)")
    add("--hard-weight", type=float, default=0.5, help="share of the true labels in the loss (default: %(default)s)")
    add("--resume-epoch", type=int, default=0, help="epochs that --resume-params has had")
    add("--resume-params", help="file of parameters to begin with")
    add("--resume-states", help="file of the optimizer's states to begin with")
    add("--rgb-mean", type=float, nargs=3, default=[123.68, 116.779, 103.939], help="mean of each channel")
    add("--rgb-std", type=float, nargs=3, default=[58.393, 57.12, 57.375], help="deviation of each channel")
    add("--published", default="", help="what others reached, for the log")
    add("--eval-frequency", type=int, default=1, metavar="N", help="test after every N-th epoch, 0: after the last one")
    add(
        "--dropblock-prob",
        type=float,
        default=0,
        metavar="P",
        help="share that DropBlock drops in a ResNeSt (its own: 0.1)",
    )
    add_refused_argument(
        parser, "--use_sk", "GluonCV hands it to a network, and none takes it; --use_se and resnest50 come near"
    )
    add("--use_avd", action="store_true", help="strides of a ResNeSt are means, which they are in any case")
    add("--auto_aug", action="store_true", help="AutoAugment: pictures are changed by policies found on ImageNet")
    if devices:
        add_cpu_argument(parser)
        add_count_argument(parser)
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser, "--save-frequency")
    add_run_arguments(parser, "imagenet", "--logging-file")
    return parser


def settle_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> argparse.Namespace:
    """Fills in where the records are; ends the program where arguments contradict each other."""
    for flag, given in (("--dropblock-prob", args.dropblock_prob), ("--use_avd", args.use_avd)):
        if given and not args.model.startswith("resnest"):
            parser.error(f"{flag} is for a ResNeSt, given {args.model}")
    for part in ("train", "val"):
        file = getattr(args, f"rec_{part}") or _records(args.data_dir, part)
        setattr(args, f"rec_{part}", file)
        index = vars(args).pop(f"rec_{part}_idx")
        if index not in (None, file.with_suffix(".idx")):
            parser.error(f"--rec-{part}-idx is the file beside the records, {file.with_suffix('.idx')}, given {index}")
    return args


def _records(folder: Path, part: str) -> Path:
    """Where the records of a part are: in the folder, or in its folder rec."""
    inside = folder / f"{part}.rec"
    return inside if inside.exists() else folder / "rec" / inside.name


if __name__ == "__main__":
    main()
