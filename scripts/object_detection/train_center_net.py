"""Trains CenterNet: objects as points (Zhou et al., 2019).

    python scripts/object_detection/train_center_net.py --dataset voc --dataset-root VOCdevkit \\
        --network resnet18_v1b --gpus 0
    python scripts/object_detection/train_center_net.py --dataset rendered --data-shape 96 --no-pretrained-base

Data sets as for train_ssd.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gluoncv.data.batchify import Stack, Tuple
from gluoncv.data.transforms.presets.center_net import (
    CenterNetDefaultTrainTransform,
    CenterNetDefaultValTransform,
    get_post_transform,
)  # fmt: skip
from gluoncv.loss import HeatmapFocalLoss, MaskedL1Loss
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.devices import contexts, settle
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.recipe import add_schedule_arguments, schedule
from scripts.common.run import Run, add_run_arguments
from scripts.object_detection.detection import (
    add_augment_argument,
    add_data_arguments,
    add_training_arguments,
    data_files,
    datasets,
    test_loader,
    train,
    validate,
)  # fmt: skip


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    run = Run("object_detection", args, data=data_files(args), best="mAP")
    size = args.data_shape
    train_set, test_set, metric = datasets(args, (size, size), get_post_transform)
    net = network(args, train_set.classes, devices)
    preset = MirroredTrainTransform if args.augment == "mirror" else CenterNetDefaultTrainTransform
    transform = preset(size, size, num_class=len(train_set.classes), scale_factor=net.scale)
    transform._data_rng = np.random  # whose state a checkpoint keeps
    train_batches = parallel.loader(
        train_set.transform(transform), args.batch_size, last_batch="rollover",
        batchify_fn=Tuple([Stack() for _ in range(6)]), num_workers=args.num_workers,
    )  # fmt: skip
    test_batches = test_loader(test_set, CenterNetDefaultValTransform(size, size), args)
    updates = len(train_batches)
    optimizer = {
        "lr_scheduler": schedule(args, args.epochs, updates),
        "learning_rate": args.lr,
        "wd": args.wd,
        "begin_num_update": args.start_epoch * updates,
    }
    trainer = parallel.trainer(args, net.collect_params(), "adam", optimizer)
    heatmap_loss = HeatmapFocalLoss(from_logits=True)
    size_loss, offset_loss = MaskedL1Loss(weight=args.wh_weight), MaskedL1Loss(weight=args.center_reg_weight)

    def losses(x, heat_t, size_t, size_mask, offset_t, offset_mask):
        heat, sizes, offsets = net(x)
        return {
            "heatmap_loss": heatmap_loss(heat, heat_t),
            "size_loss": size_loss(sizes, size_t, size_mask),
            "offset_loss": offset_loss(offsets, offset_t, offset_mask),
        }

    def test():
        net.flip_test = args.flip_validation
        return validate(net, test_batches, metric, devices)

    # Each device's losses are over its own objects.
    return train(args, run, net, trainer, train_batches, devices, losses, test, per_picture=False)


class MirroredTrainTransform(CenterNetDefaultTrainTransform):
    """Whole pictures, every other one mirrored, and nothing more."""

    def _view(self, width, height):
        return np.array([width / 2, height / 2], "float32"), max(height, width)

    def _coloured(self, img):
        return img


def network(args, classes, devices):
    """The network of the zoo, with classes of one's own where the data set has them."""
    own = args.dataset == "rendered"
    name = f"center_net_{args.network}_{'voc' if own else args.dataset}"
    net = get_model(name, pretrained_base=not args.no_pretrained_base)
    if own:
        net.reset_class(classes)
    settle(net, devices)
    return net


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--network", default="resnet18_v1b", help="name of the body (default: %(default)s)")
    add("--data-shape", type=int, default=512, help="pixels of the pictures (default: %(default)s)")
    add("--wh-weight", type=float, default=0.1, help="weight of the loss of sizes (default: %(default)s)")
    add("--center-reg-weight", type=float, default=1.0, help="weight of the loss of offsets (default: %(default)s)")
    add("--flip-validation", action="store_true", help="test on the mean of pictures and their mirror images")
    add_augment_argument(parser)
    add_data_arguments(parser)
    add_training_arguments(parser, epochs=140, batch_size=32, lr=1.25e-4, wd=1e-4)
    add_schedule_arguments(parser, "90,120")
    add_run_arguments(parser, "center_net", "--save-prefix", seed=233)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
