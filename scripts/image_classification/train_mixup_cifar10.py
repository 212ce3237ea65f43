"""Trains a network on CIFAR-10 on blends of two pictures (Zhang et al., 2018), but for the last twenty epochs.

    python scripts/image_classification/train_mixup_cifar10.py --model cifar_resnet20_v1 --num-epochs 220 \\
        --mode hybrid --num-gpus 1 -j 2 --batch-size 128 --lr-decay-epoch 100,150

The flags are those of train_cifar10.py, of which this is `--mixup --mixup-off-epoch 20`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.image_classification.train_cifar10 import execute, parser_of


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    return execute(parse_args(argv))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__, run="")
    parser.set_defaults(mixup=True, mixup_off_epoch=20)
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.model}_mixup"
    return args


if __name__ == "__main__":
    main()
