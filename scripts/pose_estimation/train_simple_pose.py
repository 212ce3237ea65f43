"""Trains SimplePose (Xiao et al., 2018), its small relatives, or AlphaPose (Fang et al., 2017):
a heat map for each joint.

    python scripts/pose_estimation/train_simple_pose.py --data-dir coco --model simple_pose_resnet18_v1b --num-gpus 4 \\
        --batch-size 32 --num-epochs 140 --lr 0.001 --lr-decay-epoch 90,120 --use-pretrained-base --mode hybrid
    python scripts/pose_estimation/train_simple_pose.py --data-dir coco --model alpha_pose_resnet101_v1b_coco \\
        --num-gpus 4 --input-size 320,256 --sigma 1 --addDPG --use-pretrained-base

`--data-dir` holds COCO: folders of pictures named after the splits, and annotations. The batch size is that of one
device.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd
from gluon import nn
from gluon.finetune import decay_weights_only
from gluon.loss import L2Loss
from gluoncv.data import COCOKeyPoints
from gluoncv.data.transforms.presets.alpha_pose import AlphaPoseDefaultTrainTransform
from gluoncv.data.transforms.presets.simple_pose import SimplePoseDefaultTrainTransform
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.resnetv1b import BasicBlockV1b, BottleneckV1b
from gluoncv.utils.metrics import HeatmapAccuracy
from scripts.common import packaged, parallel
from scripts.common.devices import add_count_argument, contexts, settle, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, backward, use_dtype, watch_overflow
from scripts.common.program import data_root, program
from scripts.common.recipe import (
    add_batch_arguments,
    add_mode_argument,
    add_optimizer_arguments,
    add_schedule_arguments,
    add_untrained_argument,
    schedule,
    test_untrained,
)  # fmt: skip
from scripts.common.run import Run, add_interval_arguments, add_run_arguments
from scripts.pose_estimation.evaluation import is_alpha, precisions


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    run = Run("pose_estimation", args, data=data_files(args), best="heatmap_accuracy")
    persons = COCOKeyPoints(str(args.data_dir), splits=(f"person_keypoints_{args.train_split}",))
    taken = persons.take(args.samples).transform(augmentation(args, persons))
    batches = parallel.loader(
        taken,
        args.batch_size * len(devices),
        last_batch="discard",
        num_workers=args.num_data_workers,
    )

    base = packaged.weights(args.use_pretrained_base)
    options = {"pretrained_base": base, "num_joints": args.num_joints or persons.num_joints}
    net = get_model(args.model, pretrained=args.use_pretrained, **options)
    if args.last_gamma:
        close_residual_branches(net)
    settle(net, devices, mx.init.MSRAPrelu())
    if args.load_model:
        net.load_parameters(args.load_model, ctx=devices)
    if args.mode == "hybrid":
        net.hybridize(static_alloc=True, static_shape=True)
    if args.no_wd:
        decay_weights_only(net)
    optimizer = {
        "lr_scheduler": schedule(args, args.num_epochs, max(len(batches), 1)),
        "learning_rate": args.lr,
        "wd": args.wd,
    }
    trainer = parallel.trainer(args, net.collect_params(), "adam", optimizer)
    watch_overflow(trainer, args.dtype)
    loss = L2Loss(weight=2.0 if is_alpha(args) else 1.0)

    def test() -> dict[str, float]:
        if not args.val_split:
            return {}
        persons = COCOKeyPoints(str(args.data_dir), splits=(f"person_keypoints_{args.val_split}",))
        figures = precisions(net, persons, args, devices[0], args.flip_test)
        return {"AP": figures["AP"], "AP50": figures["Ap .5"], "OKS": figures["OKS"]}

    for epoch in run.epochs(args.num_epochs, net, trainer):
        test_untrained(args, run, epoch, test)
        means, accuracy = Means(run, args.log_interval), HeatmapAccuracy()
        for data, maps, weight, _ in run.progress(batches, f"epoch {epoch}"):
            inputs, labels, weights = (spread(part, devices) for part in (data, maps, weight))
            with autograd.record():
                outputs = [net(x) for x in inputs]
                losses = [loss(out, y, w) for out, y, w in zip(outputs, labels, weights, strict=True)]
                backward(losses, trainer, args.dtype)
            trainer.step(data.shape[0])
            means.add(loss=losses)
            accuracy.update(labels, outputs)
        row = means.row() | {"heatmap_accuracy": accuracy.get()[1]}
        run.epoch_done(epoch, row | test(), samples=len(taken))
    return run.finish("loss", "heatmap_accuracy", *(("AP", "AP50", "OKS") if args.val_split else ()))


def close_residual_branches(net) -> None:
    """The last scale of each residual block will begin at 0, the block as the identity (Goyal et al., 2017)."""

    def close(block):
        if isinstance(block, (BasicBlockV1b, BottleneckV1b)):
            *_, last = (layer for layer in block._children.values() if isinstance(layer, nn.BatchNorm))
            last.gamma.init = mx.init.Zero()

    net.apply(close)


def augmentation(args, persons):
    """How persons are cut out, turned and mirrored at random, and their heat maps are made."""
    shared = {
        "num_joints": persons.num_joints, "joint_pairs": persons.joint_pairs, "image_size": args.input_size,
        "heatmap_size": [side // 4 for side in args.input_size], "sigma": args.sigma,
    }  # fmt: skip
    if is_alpha(args):
        return AlphaPoseDefaultTrainTransform(
            **shared, rotation_factor=40, random_crop=args.addDPG, random_sample=args.addDPG
        )
    return SimplePoseDefaultTrainTransform(**shared, mean=args.mean, std=args.std)


def data_files(args) -> dict[str, str]:
    """Checksums of what says which persons there are."""
    splits = [args.train_split, *([args.val_split] if args.val_split else [])]
    return checksums(args.data_dir / "annotations" / f"person_keypoints_{split}.json" for split in splits)


def add_picture_arguments(parser: argparse.ArgumentParser, split: str) -> None:
    """Adds what says which pictures there are, and how persons are cut out of them."""
    add = parser.add_argument
    add("--data-dir", type=Path, default=data_root("", "coco"), help="folder with COCO (default: %(default)s)")
    add("--dataset", choices=("coco",), help="data set, as the names of AlphaPose's networks end")
    add(
        f"--{'val' if split.startswith('val') else 'train'}-split",
        default=split,
        help="part of COCO (default: %(default)s)",
    )
    add("--samples", type=int, help="use only the first so many persons")
    add("--num-joints", type=int, help="number of joints (default: that of the data set)")
    add("--input-size", type=_sizes, default=[256, 192], help="height,width of the input (default: 256,192)")
    add("--mean", type=_numbers, default=[0.485, 0.456, 0.406], help="mean of each channel")
    add("--std", type=_numbers, default=[0.229, 0.224, 0.225], help="deviation of each channel")
    add_batch_arguments(parser, 32, "persons")
    add("--dsnt", action="store_true", help="in tests joints lie at the means of their heat maps, not at the peaks")
    add("--flip-test", action="store_true", help="in tests heat maps are the means of pictures and their mirror images")
    add_count_argument(parser)


def with_dataset(args: argparse.Namespace) -> argparse.Namespace:
    """The flags, --model with the data set that --dataset says at its end."""
    if args.dataset and not args.model.endswith(f"_{args.dataset}"):
        args.model = f"{args.model}_{args.dataset}"
    if args.dsnt and is_alpha(args):
        raise SystemExit("--dsnt is for simple_pose and mobile_pose: AlphaPose has its joints at peaks of heat maps")
    return args


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.split(",")]
    return sizes * 2 if len(sizes) == 1 else sizes


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_picture_arguments(parser, "train2017")
    add("--val-split", help="part of COCO that is tested after every epoch (default: none, validate.py tests)")
    add_untrained_argument(parser)
    add("--model", default="simple_pose_resnet18_v1b", help="name in the model zoo (default: %(default)s)")
    add(
        "--addDPG", action="store_true", help="AlphaPose: boxes err as those of detectors, and persons are cut in parts"
    )
    add("--sigma", type=float, default=2, help="deviation of the peaks in heat maps (default: %(default)s)")
    add_optimizer_arguments(parser, epochs=140, lr=0.001, wd=0.0)
    add_mode_argument(parser)
    add("--use-pretrained", action="store_true", help="begin with the published weights")
    add("--load-model", help="file of weights to begin with")
    add("--last-gamma", action="store_true", help="residual blocks begin as the identity: their last scale is 0")
    add(
        "--use-pretrained-base", nargs="?", const=True, default=False, metavar="WEIGHTS",
        help="begin with the published weights of the body, or with those of a file, a folder or a name",
    )  # fmt: skip
    add_schedule_arguments(parser, "90,120")
    add_dtype_argument(parser, float16=True)
    add_interval_arguments(parser, "--save-frequency", save=1)
    add_run_arguments(parser, "simple_pose", "--logging-file")
    return with_dataset(parser.parse_args(argv))


if __name__ == "__main__":
    main()
