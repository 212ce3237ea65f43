"""Draws pictures that a trained StyleGAN makes of noise.

python scripts/gan/stylegan/demo_stylegan.py --path stylegan-ffhq-1024px-new.params --n_sample 4 --gpu_id -1
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import core as mx
from core import nd
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.gan.pictures import save_grid
from scripts.gan.stylegan import model
from scripts.gan.stylegan.train import power_of_two, stage

WEIGHT = 0.7  # of the way from the mean style that is kept (truncation)
MEANS = 10  # batches of 1,024 codes that the mean style is of


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the files of the pictures."""
    args = parse_args(argv)
    device = mx.cpu() if args.gpu_id < 0 else mx.gpu(args.gpu_id)
    mx.random.seed(args.seed)
    step = stage(args.size)
    widths = [min(width, args.channels) for width in model.WIDTHS[: max(step + 1, args.stages)]]
    net = model.StyledGenerator(args.code, widths=widths)
    net.load_parameters(args.path, ctx=device, ignore_extra=True)
    codes = [nd.random.normal(shape=(1024, args.code), ctx=device) for _ in range(MEANS)]
    mean = nd.add_n(*[net.mean_style(code) for code in codes]) / MEANS
    found = []
    for number in range(args.n_sample):
        code = nd.random.normal(shape=(1, args.code), ctx=device)
        found.append(args.out_dir / f"sample_{number}.png")
        save_grid(found[-1], net(code, step, 1.0, None, 0, mean, WEIGHT))
        print(found[-1])
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--size", type=power_of_two, default=1024, help="sides of the pictures (default: %(default)s)")
    add("--n_sample", type=int, default=10, help="pictures (default: %(default)s)")
    add("--gpu_id", type=int, default=-1, help="number of the GPU, -1 for the CPU (default: %(default)s)")
    add("--out_dir", type=Path, default=Path("samples"), help="folder of the pictures (default: %(default)s)")
    add("--path", default="stylegan-ffhq-1024px-new.params", help="file of weights (default: %(default)s)")
    add("--stages", type=int, default=9, help="stages that the file has, 9 for 1024 pixels (default: %(default)s)")
    add("--code", type=int, default=model.CODE, help="length of noise and styles (default: %(default)s)")
    add("--channels", type=int, default=512, help="most channels of a map (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the noise (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
