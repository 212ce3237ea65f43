"""Turns pictures into another kind with a generator of CycleGAN.

python scripts/gan/demo_cycle_gan.py --images horse.jpg --pretrained checkpoints/gan/cycle_gan/epoch-0200/net.params
--to B
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon.data.vision import transforms
from scripts.common.demo import demo_parser
from scripts.common.program import program
from scripts.common.several import Networks
from scripts.gan.cycle_gan import GENERATORS, generator
from scripts.gan.pictures import redraw


@program
def main(argv: list[str] | None = None) -> list[Path]:
    args = parse_args(argv)
    device = mx.gpu(args.gpu_id) if args.gpu_id >= 0 else mx.cpu()
    net = generator(args.which_model_netG, args.output_nc, args.ngf, not args.no_dropout)
    Networks(**{f"to_{args.to}": net}).load_parameters(args.pretrained, ctx=device, ignore_extra=True)
    steps = transforms.Compose(
        [transforms.Resize(args.loadSize), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]
    )
    return redraw(args.images, args.save_dir, lambda x: net(steps(x).expand_dims(0).as_in_context(device)))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "turned", "file of weights that train_cgan.py has kept", needed=True)
    add = parser.add_argument
    add("--to", choices=("A", "B"), default="B", help="the kind to make (default: %(default)s)")
    add("--loadSize", type=int, default=256, help="sides of the pictures (default: %(default)s)")
    add("--output_nc", type=int, default=3, help="channels of generated pictures (default: %(default)s)")
    add("--ngf", type=int, default=64, help="channels of the generator's outer maps (default: %(default)s)")
    add("--which_model_netG", choices=GENERATORS, default="resnet_9blocks", help="generator (default: %(default)s)")
    add("--no_dropout", action=argparse.BooleanOptionalAction, default=True, help="no dropout in the generator")
    add("--gpu_id", type=int, default=-1, help="number of a GPU (default: none, the CPU)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
