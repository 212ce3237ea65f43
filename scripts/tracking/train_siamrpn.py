"""Trains SiamRPN (Li et al., 2018): which anchor on a region is the object of a template, and how it is moved to fit.

    python scripts/tracking/train_siamrpn.py --data-dir tracking --num-gpus 4 --batch-size 32 --num-epochs 50 --no-wd

`--data-dir` holds folders of pictures cut to 511 pixels and a JSON of boxes for each source, as
`gluoncv.data.TrkDataset` reads them. The batch size is that of one device.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd, nd
from gluon.finetune import decay_weights_only
from gluoncv.data.tracking_data.track import TrkDataset
from gluoncv.loss import SiamRPNLoss
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.devices import add_count_argument, add_cpu_argument, contexts, settle, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.foreign import add_idle_arguments
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, backward, use_dtype, watch_overflow
from scripts.common.program import program
from scripts.common.recipe import (
    add_batch_arguments,
    add_mode_argument,
    add_optimizer_arguments,
    add_schedule_arguments,
    schedule,
)  # fmt: skip
from scripts.common.run import Run, add_interval_arguments, add_run_arguments

# Sources -> folder of pictures, boxes, frames that a pair is apart at most, videos per epoch
SOURCES = {
    "vid": ("vid/crop511", "vid/train.json", 100, 100000),
    "Youtube_bb": ("Youtube_bb/crop511", "Youtube_bb/train.json", 3, -1),
    "coco": ("coco/crop511", "coco/train2017.json", 1, -1),
    "det": ("det/crop511", "det/train.json", 1, -1),
}


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    names = args.sources.split(",")
    roots, boxes, ranges, used = zip(*(SOURCES[name] for name in names), strict=True)
    run = Run("tracking", args, data=checksums([args.data_dir / path for path in boxes]))
    pairs = TrkDataset(
        str(args.data_dir), names, roots, boxes, ranges, used, videos_per_epoch=args.videos_per_epoch, train_epoch=1
    )
    whole = args.batch_size * len(devices)
    batches = parallel.loader(pairs, whole, last_batch="discard", num_workers=args.num_data_workers)

    net = get_model(args.model, pretrained=args.use_pretrained, bz=args.batch_size, is_train=True)
    settle(net, devices, mx.init.Xavier())
    if args.resume_params:
        net.load_parameters(args.resume_params, ctx=devices)
    if args.accumulate > 1:
        net.collect_params().setattr("grad_req", "add")
    if args.mode == "hybrid":
        net.hybridize(static_alloc=True, static_shape=True)
    if args.no_wd:
        decay_weights_only(net)
    optimizer = {
        "lr_scheduler": schedule(args, args.num_epochs, max(len(batches) // args.accumulate, 1)), "learning_rate": args.lr,
        "momentum": args.momentum, "wd": args.wd,
        "begin_num_update": args.start_epoch * len(batches) // args.accumulate,
    }  # fmt: skip
    trainer = parallel.trainer(args, net.collect_params(), "sgd", optimizer)
    watch_overflow(trainer, args.dtype)
    criterion = SiamRPNLoss(args.batch_size)

    for epoch in run.epochs(args.num_epochs, net, trainer, first=args.start_epoch + 1):
        means = Means(run, args.log_interval)
        for number, batch in enumerate(run.progress(batches, f"epoch {epoch}"), 1):
            parts = zip(*(spread(part, devices) for part in batch[:5]), strict=True)
            with autograd.record():
                found = [_losses(net, criterion, *part) for part in parts]
                losses = [args.cls_weight * cls + args.loc_weight * loc for cls, loc in found]
                backward(losses, trainer, args.dtype)
            if number % args.accumulate == 0 or number == len(batches):
                trainer.step(len(devices) * args.accumulate)  # both losses are means over the batch of a device
                if args.accumulate > 1:
                    net.collect_params().zero_grad()
            cls, loc = (list(part) for part in zip(*found, strict=True))
            means.add(loss=losses, class_loss=cls, place_loss=loc)
        run.epoch_done(epoch, means.row(), samples=len(batches) * whole)
    return run.finish("loss")


def _losses(net, criterion, template, region, label, offsets, weights):
    """(class loss, place loss) of a device's part of a batch."""
    kinds = label.asnumpy().ravel()
    positive, negative = (nd.array(np.flatnonzero(kinds == kind), ctx=label.context) for kind in (1, 0))
    return criterion(*net(template, region), label, positive, negative, offsets, weights)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--data-dir", type=Path, default=Path("tracking"), help="folder of the sources (default: %(default)s)")
    add("--sources", default=",".join(SOURCES), help="of %(default)s, with commas (default: all)")
    add("--videos-per-epoch", type=int, default=600000, help="pairs of an epoch, -1: videos (default: %(default)s)")
    add(
        "--model",
        "--model-name",
        dest="model",
        default="siamrpn_alexnet_v2_otb15",
        help="name in the model zoo (default: %(default)s)",
    )
    add("--use-pretrained", action="store_true", help="begin with the published weights")
    add("--resume-params", help="file of parameters to begin with")
    add("--start-epoch", type=int, default=0, help="epochs that --resume-params has had")
    add("--accumulate", type=int, default=1, help="batches for one step (default: %(default)s)")
    add_idle_arguments(
        parser, ("--no-val", "--syncbn"), ("--base-lr", "--is-train"), "there is no test while it trains, no layer "
        "that --syncbn changes, and --lr is the rate",
    )  # fmt: skip
    add("--cls-weight", type=float, default=1.0, help="weight of the loss of classes (default: %(default)s)")
    add("--loc-weight", type=float, default=1.2, help="weight of the loss of places (default: %(default)s)")
    add_batch_arguments(parser, 128, "pairs")
    add_optimizer_arguments(parser, epochs=50, lr=0.005, wd=1e-4, momentum=0.9)
    add_mode_argument(parser)
    add_count_argument(parser, "--ngpus")
    add_cpu_argument(parser)
    add_schedule_arguments(parser, "20,30,40")
    add_dtype_argument(parser, float16=True)
    add("--use-amp", dest="dtype", action="store_const", const="float16", help="the same as --dtype float16")
    add_interval_arguments(parser, "--save-frequency", save=1)
    add_run_arguments(parser, "siamrpn", "--logging-file")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
