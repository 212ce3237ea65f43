"""Enlarges pictures to four times their size with a generator of train_srgan.py.

python scripts/gan/demo_srgan.py --images small.png --pretrained checkpoints/gan/srgan/epoch-0100/net.params
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import nd
from scripts.common.demo import demo_parser
from scripts.common.devices import add_count_argument, add_numbers_argument, contexts
from scripts.common.program import program
from scripts.common.several import Networks
from scripts.gan.pictures import redraw
from scripts.gan.srgan import SRGenerator


@program
def main(argv: list[str] | None = None) -> list[Path]:
    args = parse_args(argv)
    device = contexts(args)[0]
    net = SRGenerator(args.blocks, args.width)
    Networks(generator=net).load_parameters(args.pretrained, ctx=device, ignore_extra=True)

    def enlarged(picture):
        pixels = nd.transpose(picture.as_in_context(device).astype("float32"), (2, 0, 1))
        return net(nd.expand_dims(pixels, 0) / 127.5 - 1)

    return redraw(args.images, args.save_dir, enlarged)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "enlarged", "checkpoint of train_srgan.py", needed=True)
    add = parser.add_argument
    add("--blocks", type=int, default=16, help="its residual blocks (default: %(default)s)")
    add("--width", type=int, default=64, help="its channels (default: %(default)s)")
    add_count_argument(parser)
    add_numbers_argument(parser, "--gpu_id")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
