"""Trains Monodepth2 (Godard et al., 2019): depth from videos, or from pairs of pictures, without measured depths.

    python scripts/depth/train.py --data_path kitti/kitti_data --pretrained_base --frame_ids 0 -1 1 --gpu 0
    python scripts/depth/train.py --data_path kitti/kitti_data --pretrained_base --frame_ids 0 --use_stereo \\
        --split eigen_full

A video alone needs a second network, for the camera's motion; two cameras do not. The errors of depth are those of the
part "val" where laser points lie beside its pictures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import autograd
from gluon.data import DataLoader
from gluoncv.data.kitti.kitti_utils import dict_batchify_fn
from gluoncv.model_zoo import MonoDepth2PoseNet, get_model
from gluoncv.model_zoo.monodepthv2.layers import disp_to_depth
from gluoncv.utils import LRScheduler
from scripts.common import parallel
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_interval_arguments, add_run_arguments
from scripts.common.several import Networks
from scripts.depth.evaluation import STEREO_SCALE, errors, means
from scripts.depth.options import add_shared_arguments, data_set, device_of, listed
from scripts.depth.reprojection import Reprojection, motions


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = device_of(args)
    files = [args.splits_dir / args.split / f"{part}_files.txt" for part in ("train", "val")]
    run = Run("depth", args, data=checksums(files), best="a1")
    frames = [*args.frame_ids, "s"] if args.use_stereo else args.frame_ids
    train_set = data_set(args, listed(args, args.split, "train"), frames, train=True)
    test_set = data_set(args, listed(args, args.split, "val"), [0])
    loading = {"batchify_fn": dict_batchify_fn, "num_workers": args.num_workers}
    batches = parallel.loader(train_set, args.batch_size, last_batch="discard", **loading)

    nets = networks(args, frames, device)
    if args.hybridize:
        nets.hybridize()
    rate = LRScheduler(
        "step", args.learning_rate, nepochs=args.num_epochs, iters_per_epoch=max(len(batches), 1), step_factor=0.1,
        step_epoch=[args.scheduler_step_size],
    )  # fmt: skip
    begun = args.start_epoch * len(batches)
    optimizer = {"lr_scheduler": rate, "learning_rate": args.learning_rate, "begin_num_update": begun}
    trainer = parallel.trainer(args, nets.collect_params(), "adam", optimizer)
    criterion = Reprojection(args, args.batch_size, device)

    for epoch in run.epochs(args.num_epochs, nets, trainer, first=args.start_epoch + 1):
        figures = Means(run, args.log_interval)
        for batch in run.progress(batches, f"epoch {epoch}"):
            inputs = {key: value.as_in_context(device) for key, value in batch.items()}
            with autograd.record():
                disparities = dict(zip(_largest_last(args.scales), nets.depth(inputs["color_aug", 0, 0]), strict=True))
                loss = criterion(inputs, disparities, motions(getattr(nets, "pose", None), inputs, frames))
            loss.backward()
            trainer.step(args.batch_size, ignore_stale_grad=True)  # the bodies' layers of classes are not used
            figures.add(loss=loss)
        row = figures.row()
        if test_set.load_depth:
            row |= test(nets.depth, DataLoader(test_set, args.batch_size, **loading), args, device)
        run.epoch_done(epoch, row, samples=len(batches) * args.batch_size)
    return run.finish(*run.measured())


def networks(args: argparse.Namespace, frames: list, device) -> Networks:
    """That of depth, and, unless the frame and the other camera are all there is, that of motion."""
    base = {"pretrained_base": args.pretrained_base, "ctx": device}
    nets = {"depth": get_model(args.model_zoo, scales=args.scales, **base)}
    if frames != [0, "s"]:
        nets["pose"] = get_model(args.model_zoo_pose, **base) if args.model_zoo_pose else MonoDepth2PoseNet(**base)
    for name, file in (("depth", args.resume_depth), ("pose", args.resume_pose)):
        if file:
            nets[name].load_parameters(file, ctx=device)
    return Networks(**nets)


def test(net, batches, args: argparse.Namespace, device) -> dict[str, float]:
    """The mean errors of depth."""
    rows = []
    for batch in batches:
        *_, full = net(batch["color", 0, 0].as_in_context(device))
        disparities, _ = disp_to_depth(full, args.min_depth, args.max_depth)
        for found, truth in zip(disparities.asnumpy(), batch["depth_gt"].asnumpy(), strict=True):
            rows.append(errors(found[0], truth[0], STEREO_SCALE if args.use_stereo else None))
    return means(rows)


def _largest_last(scales: list[int]) -> list[int]:
    """The scales in the order in which the network gives them."""
    return sorted(scales, reverse=True)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_shared_arguments(parser, batch_size=12)
    add("--model_zoo_pose", help="name of the network of motion in the zoo (default: one of 18 layers)")
    add("--pretrained_base", action="store_true", help="begin with the published weights of the bodies")
    add("--split", default="eigen_zhou", help="folder in --splits_dir (default: %(default)s)")
    add("--use_stereo", action="store_true", help="learn from the other camera, too")
    add("--frame_ids", type=int, nargs="+", default=[0, -1, 1], help="frames that are seen, 0 first (default: 0 -1 1)")
    add("--learning_rate", type=float, default=1e-4, help="learning rate of Adam (default: %(default)s)")
    add("--num_epochs", type=int, default=20, help="passes over the data (default: %(default)s)")
    add("--start_epoch", type=int, default=0, help="epochs that --resume_depth has had")
    add(
        "--scheduler_step_size",
        type=int,
        default=15,
        help="epoch from which the rate is a tenth (default: %(default)s)",
    )
    add(
        "--disparity_smoothness",
        type=float,
        default=1e-3,
        help="weight of roughness in the loss (default: %(default)s)",
    )
    add("--v1_multiscale", action="store_true", help="compare pictures at the size of the disparities")
    add("--avg_reprojection", action="store_true", help="the mean over frames, not the best of them")
    add("--disable_automasking", action="store_true", help="count what does not move against the camera, too")
    add("--no_ssim", action="store_true", help="compare brightness only")
    add("--resume_depth", help="file of weights of the network of depth to begin with")
    add("--resume_pose", help="file of weights of the network of motion to begin with")
    add_interval_arguments(parser, "--save_frequency", save=1)
    add_run_arguments(parser, "monodepth2", "--model_name")
    args = parser.parse_args(argv)
    if args.frame_ids[0] != 0 or (len(args.frame_ids) == 1 and not args.use_stereo):
        parser.error("--frame_ids begins with 0, and names further frames unless --use_stereo is given")
    return args


if __name__ == "__main__":
    main()
