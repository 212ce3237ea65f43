"""Draws the depth of pictures: near is bright.

python scripts/depth/demo.py --model_zoo monodepth2_resnet18_kitti_stereo_640x192 --images street.jpg --save-dir depths
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import image, nd
from core.extras import load
from gluoncv.model_zoo import get_model
from scripts.common.demo import demo_parser, keep
from scripts.common.devices import add_count_argument, contexts
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[np.ndarray]:
    colormaps = load("matplotlib", "colouring depths").colormaps

    args = parse_args(argv)
    device = contexts(args)[0]
    net = get_model(args.model_zoo, pretrained=args.pretrained or True, ctx=device)
    found = []
    for path in args.images:
        picture = image.imread(str(path))
        height, width, _ = picture.shape
        x = nd.image.to_tensor(image.imresize(picture, args.width, args.height))
        *_, full = net(x.expand_dims(0).as_in_context(device))
        found.append(nd.contrib.BilinearResize2D(full, height=height, width=width).asnumpy()[0, 0])
        # What is nearest is often a few pixels wide.
        shown = found[-1] / np.percentile(found[-1], 95)
        colours = colormaps["magma"](shown.clip(0, 1))[..., :3]
        keep((colours * 255).round().astype("uint8"), path, args.save_dir)
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "depths")
    add = parser.add_argument
    add(
        "--model_zoo",
        default="monodepth2_resnet18_kitti_stereo_640x192",
        help="name in the model zoo (default: %(default)s)",
    )
    add("--height", type=int, default=192, help="height of the input (default: %(default)s)")
    add("--width", type=int, default=640, help="width of the input (default: %(default)s)")
    add_count_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
