"""Trains a network that recognises actions in videos: TSN, C3D, P3D, R2+1D, I3D, SlowFast.

    python scripts/action_recognition/train_recognizer.py --dataset ucf101 --model inceptionv3_ucf101 \\
        --num-segments 3 \\
        --input-size 299 --new-height 340 --new-width 450 --partial-bn --num-epochs 80 --lr-decay-epoch 30,60,80 \\
        --num-gpus 4
    python scripts/action_recognition/train_recognizer.py --dataset custom --data-dir frames --train-list train.txt \\
        --val-list val.txt --model i3d_resnet50_v1_custom --num-classes 5 --new-length 32 --num-gpus 1

A line of a list is "path below the folder, number of frames, class"; the path is a folder with img_00001.jpg and so on,
or with --video-loader a video, which needs PyAV. The batch size is that of one device.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, nd
from gluon.finetune import decay_weights_only
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.data.base import DATASETS as HOME
from scripts.action_recognition import videos
from scripts.common import parallel
from scripts.common.devices import contexts, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.pictures import shares
from scripts.common.precision import backward, use_dtype, watch_overflow
from scripts.common.program import program
from scripts.common.recipe import (
    add_optimizer_arguments,
    add_schedule_arguments,
    add_untrained_argument,
    schedule,
    test_untrained,
)  # fmt: skip
from scripts.common.run import Run, add_run_arguments


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("action_recognition", args, data=checksums([args.train_list, args.val_list]), best="top1")
    train_set = videos.dataset(args, args.data_dir, args.train_list, train=True)
    val_set = videos.dataset(args, args.val_data_dir or args.data_dir, args.val_list)
    batch_size = args.batch_size * len(devices)
    train_batches = videos.loader(train_set, batch_size, args.num_data_workers, train=True, prefetch=videos.ahead(args))
    val_batches = videos.loader(val_set, batch_size, args.num_data_workers, prefetch=videos.ahead(args))
    net = videos.network(args, devices)
    if args.no_wd:
        decay_weights_only(net)
    updates = max(len(train_batches) // args.accumulate, 1)
    optimizer = {
        "lr_scheduler": schedule(args, args.num_epochs, updates),
        "wd": args.wd,
        "momentum": args.momentum,
        "begin_num_update": args.resume_epoch * updates,
    }
    trainer = parallel.trainer(
        args, net.collect_params(), "nag" if args.slowfast else "sgd", optimizer,
        clip_global_norm=args.clip_grad if args.clip_grad > 0 else None,
    )  # fmt: skip
    watch_overflow(trainer, args.dtype)
    if args.resume_states:
        trainer.load_states(args.resume_states)
    if args.accumulate > 1:
        net.collect_params().setattr("grad_req", "add")

    for epoch in run.epochs(args.num_epochs, net, trainer, first=args.resume_epoch + 1):
        test_untrained(args, run, epoch, lambda: test(net, val_batches, devices))
        row = train(args, run, epoch, net, trainer, train_batches, devices)
        if not args.train_only:
            row |= test(net, val_batches, devices)
        run.epoch_done(epoch, row, samples=len(train_set))
    return run.finish(*(["train_top1"] if args.train_only else ["top1", "top5"]), published=args.published)


def train(args, run, epoch: int, net, trainer, batches, devices) -> dict[str, float]:
    """Trains for an epoch, with a step after every --accumulate batches, and gives its means."""
    loss = SoftmaxCrossEntropyLoss(sparse_label=not args.label_smoothing)
    means, accuracy = Means(run, args.log_interval), mx.metric.Accuracy()
    waiting = 0
    for count, (data, label) in enumerate(run.progress(batches, f"epoch {epoch}"), 1):
        pieces = list(zip(by_video(data, label, devices), spread(label, devices), strict=True))
        with autograd.record():
            outputs = [net(x) for x, _ in pieces]
            targets = [
                shares(y, out.shape[1], 0.1) if args.label_smoothing else y for (_, y), out in zip(pieces, outputs)
            ]
            losses = [loss(out, y) for out, y in zip(outputs, targets, strict=True)]
            backward(losses, trainer, args.dtype)
        waiting += label.shape[0]
        means.add(loss=losses)
        accuracy.update([y for _, y in pieces], outputs)
        if count % args.accumulate and count < len(batches):
            continue
        trainer.step(waiting)
        waiting = 0
        if args.accumulate > 1:
            net.collect_params().zero_grad()
    return means.row() | {"train_top1": accuracy.get()[1]}


def by_video(data, label, devices) -> list:
    """The clips of each device's videos."""
    clips = data.shape[0] // label.shape[0]
    ends = [0]
    for piece in spread(label, devices):
        ends.append(ends[-1] + piece.shape[0] * clips)
    return [data[a:b].as_in_context(c) for a, b, c in zip(ends, ends[1:], devices, strict=False)]


def test(net, batches, devices, softmax: bool = False) -> dict[str, float]:
    """Shares of videos whose class is the likeliest, and among the five likeliest.

    `softmax`: scores are turned into shares.
    """
    top1, top5 = mx.metric.Accuracy(), None
    for data, label in batches:
        labels, outputs = spread(label, devices), [net(x) for x in by_video(data, label, devices)]
        outputs = [nd.softmax(out) for out in outputs] if softmax else outputs
        top5 = top5 or mx.metric.TopKAccuracy(min(5, outputs[0].shape[1]))
        top1.update(labels, outputs)
        top5.update(labels, outputs)
    return {"top1": top1.get()[1], "top5": top5.get()[1]}


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    home, lists = Path(HOME) / "ucf101" / "rawframes", Path(HOME) / "ucf101" / "ucfTrainTestlist"
    add("--dataset", choices=videos.DATASETS, default="ucf101", help="data set (default: %(default)s)")
    add("--data-dir", type=Path, default=home, help="folder of the videos to train on (default: %(default)s)")
    add("--val-data-dir", type=Path, help="folder of the videos of the test (default: the same)")
    add("--train-list", type=Path, default=lists / "ucf101_train_rgb_split1.txt", help="videos to train on")
    add("--val-list", type=Path, default=lists / "ucf101_val_rgb_split1.txt", help="videos of the test")
    add("--batch-size", type=int, default=25, help="videos in a batch of a device (default: %(default)s)")
    add_optimizer_arguments(parser, epochs=3, lr=0.1, wd=1e-4, momentum=0.9)
    add("--label-smoothing", action="store_true", help="0.1 of a label is spread over all classes")
    add("--clip-grad", type=float, default=0, help="largest norm of a video's gradient, 0 for no limit")
    add("--accumulate", type=int, default=1, help="batches whose gradients are added up for a step (default: 1)")
    add("--use-pretrained-base", action="store_true", help="begin with the published weights of the body")
    add("--scale-ratios", default="1.0,0.875,0.75,0.66", help="sides of random crops over the short side")
    add("--more-fix-crop", action=argparse.BooleanOptionalAction, default=True, help="crops from 13 places, not 5")
    add("--max-distort", type=int, default=1, help="how far apart in --scale-ratios height and width may be")
    add("--train-only", action="store_true", help="no tests")
    add_untrained_argument(parser)
    add("--resume-epoch", type=int, default=0, help="epochs that --resume-params has had")
    add("--resume-states", help="file of the optimizer's states to begin with")
    add("--save-frequency", dest="save_interval", type=int, default=10, help="keep parameters every N-th epoch")
    add("--published", default="", help="what others reached, for the log")
    videos.add_video_arguments(parser)
    videos.add_prefetch_argument(parser)
    videos.add_foreign_arguments(parser)
    add_schedule_arguments(parser, "40,60")
    add_run_arguments(parser, "recognizer", "--logging-file")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
