"""Trains a network on ImageNet in several processes, one of which a device has, as GluonCV does with Horovod.

    python scripts/launch.py -n 8 scripts/image_classification/train_horovod.py --use-rec --rec-train train.rec \\
        --rec-val val.rec --model resnest50 --lr 0.05 --num-epochs 270 --batch-size 128 --mixup --label-smoothing \\
        --no-wd --last-gamma --warmup-epochs 5 --auto_aug

Processes are started by scripts/launch.py, torchrun, mpirun or horovodrun. --lr is that of one process: it is multiplied
by their number, also where --resume goes on with another one, and falls by a cosine. The batch size is that of one process
as well. Process K computes on GPU K of its machine, without GPUs or with --no-cuda on the CPU. Pictures of 320 pixels and
more are cut out as EfficientNet's. Other flags are those of train_imagenet.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import nd
from core.context import num_gpus
from gluon.block import Block
from gluon.contrib.collectives import find_numbers
from gluon.data.vision import transforms
from gluoncv.utils.transforms import EfficientNetCenterCrop, EfficientNetRandomCrop
from scripts.common.autoaugment import AutoAugment
from scripts.common.program import program
from scripts.image_classification import train_imagenet

LARGE = 320  # pixels from which on crops are EfficientNet's


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    find_numbers(os.environ)
    large = args.input_size >= LARGE
    return train_imagenet.execute(
        args,
        [device(args, int(os.environ.get("LOCAL_RANK", 0)))],
        large_augmentation(args) if large else train_imagenet.augmentation(args),
        large_preprocessing(args) if large else train_imagenet.preprocessing(args),
        scale=int(os.environ.get("WORLD_SIZE", 1)),
    )


def device(args: argparse.Namespace, number: int) -> mx.Context:
    """The GPU of this number, or the CPU where there is none or --no-cuda is given."""
    if args.no_cuda or num_gpus() == 0:
        return mx.cpu()
    return mx.gpu(number % num_gpus())


class Picture(Block):
    """A crop of Pillow pictures, then `size` x `size` pixels, for arrays (H, W, 3) of uint8."""

    def __init__(self, crop, size: int):
        super().__init__()
        self._crop, self._size = crop, size

    def forward(self, picture: nd.NDArray) -> nd.NDArray:
        from PIL import Image

        cut = self._crop(Image.fromarray(picture.asnumpy()))
        return nd.array(np.asarray(cut.resize((self._size,) * 2, Image.Resampling.BICUBIC)), dtype="uint8")


def large_augmentation(args: argparse.Namespace) -> transforms.Compose:
    """A random crop of random size and shape, mirrored, with random colours."""
    return transforms.Compose(
        [
            *([AutoAugment()] if args.auto_aug else []),
            Picture(EfficientNetRandomCrop(args.input_size), args.input_size),
            transforms.RandomFlipLeftRight(),
            transforms.RandomColorJitter(brightness=0.4, contrast=0.4, saturation=0.4),
            transforms.RandomLighting(0.1),
            *train_imagenet.normalisation(args),
        ]
    )


def large_preprocessing(args: argparse.Namespace) -> transforms.Compose:
    """The middle."""
    crop = Picture(EfficientNetCenterCrop(args.input_size), args.input_size)
    return transforms.Compose([crop, *train_imagenet.normalisation(args)])


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = train_imagenet.parser_of(__doc__, "resnet50_v1", devices=False)
    parser.add_argument("--no-cuda", action="store_true", help="compute on the CPU")
    parser.set_defaults(
        batch_size=128, num_epochs=90, lr=0.05, warmup_epochs=10, lr_mode="cosine", mode="hybrid",
        run="horovod", eval_frequency=0, save_interval=20, log_interval=40,
    )  # fmt: skip
    return train_imagenet.settle_arguments(parser, parser.parse_args(argv))


if __name__ == "__main__":
    main()
