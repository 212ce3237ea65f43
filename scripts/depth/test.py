"""The errors of a network's depths on pictures with laser points (Eigen et al., 2014).

    python scripts/depth/test.py --data_path kitti/kitti_data --eval_mono \\
        --load_weights_folder checkpoints/depth/monodepth2 --eval_model monodepth2-best.params
    python scripts/depth/test.py --data_path kitti/kitti_data --eval_stereo --pretrained_type gluoncv \\
        --model_zoo monodepth2_resnet18_kitti_stereo_640x192

`--eval_mono` brings the median of each picture's depths to that of the laser's; `--eval_stereo` takes them as they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from core.files.numpy_files import read_npy
from core.image.codec import load_picture
from gluon.data import DataLoader
from gluoncv.data.kitti.kitti_utils import dict_batchify_fn, generate_depth_map
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.monodepthv2.layers import disp_to_depth
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.several import Networks
from scripts.depth.evaluation import NAMES, STEREO_SCALE, errors, joined, means
from scripts.depth.options import add_shared_arguments, data_set, device_of, listed


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    lines = listed(args, args.eval_split, "test")
    found = read_npy(args.ext_disp_to_eval) if args.ext_disp_to_eval else disparities(args, lines)
    if args.save_pred_disps:
        args.load_weights_folder.mkdir(parents=True, exist_ok=True)
        np.save(args.load_weights_folder / f"disps_{args.eval_split}_split.npy", found)
    if args.no_eval:
        return {}
    scale = STEREO_SCALE if args.eval_stereo else args.pred_depth_scale_factor if args.disable_median_scaling else None
    depths = benchmark_depth if args.eval_split == "eigen_benchmark" else laser_depth
    rows = [
        errors(map_, depths(args.data_path, *line.split()[:2]), scale, crop=args.eval_split == "eigen")
        for map_, line in zip(found, lines, strict=True)
    ]
    figures = means(rows)
    print("  ".join(f"{name:>8}" for name in NAMES))
    print("  ".join(f"{figures[name]:8.3f}" for name in NAMES))
    return figures


def disparities(args: argparse.Namespace, lines: list[str]) -> np.ndarray:
    """What the network gives for the pictures, (N, height, width), in units of 1 / depth."""
    device = device_of(args)
    net = network(args, device)
    batches = DataLoader(
        data_set(args, lines, [0]), args.batch_size, batchify_fn=dict_batchify_fn, num_workers=args.num_workers
    )
    found = []
    for batch in batches:
        pictures = batch["color", 0, 0].as_in_context(device)
        seen = one_by_one(net, pictures, args)
        if args.post_process:
            seen = joined(seen, one_by_one(net, nd.flip(pictures, axis=3), args)[:, :, ::-1])
        found.append(seen)
    return np.concatenate(found)


def one_by_one(net, pictures: nd.NDArray, args: argparse.Namespace) -> np.ndarray:
    """The disparities (batch, height, width) of pictures."""
    *_, full = net(pictures)
    return disp_to_depth(full, args.min_depth, args.max_depth)[0].asnumpy()[:, 0]


def network(args: argparse.Namespace, device):
    """The network of depth with its published weights, or those that train.py has kept."""
    if args.pretrained_type == "gluoncv":
        return get_model(args.model_zoo, pretrained=True, ctx=device)
    if not args.eval_model:
        raise SystemExit("--eval_model names the file of weights in --load_weights_folder")
    net = get_model(args.model_zoo, pretrained_base=False, scales=args.scales, ctx=device)
    Networks(depth=net).load_parameters(str(args.load_weights_folder / args.eval_model), ctx=device, ignore_extra=True)
    if args.hybridize:
        net.hybridize()
    return net


def laser_depth(root: Path, folder: str, frame: str) -> np.ndarray:
    """Depths in front of the laser in the left picture."""
    points = root / folder / "velodyne_points" / "data" / f"{int(frame):010d}.bin"
    return generate_depth_map(str(root / folder.split("/")[0]), str(points), 2, vel_depth=True)


def benchmark_depth(root: Path, folder: str, frame: str) -> np.ndarray:
    """The denser depths of the left picture (Uhrig et al., 2017)."""
    path = root / folder / "proj_depth" / "groundtruth" / "image_02" / f"{int(frame):010d}.png"
    return np.array(load_picture(path)).astype("float32") / 256


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_shared_arguments(parser, batch_size=12)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--eval_mono", action="store_true", help="bring medians together")
    kind.add_argument("--eval_stereo", action="store_true", help=f"multiply depths by {STEREO_SCALE}")
    add("--eval_split", choices=("eigen", "eigen_benchmark"), default="eigen", help="folder in --splits_dir")
    add("--pretrained_type", choices=("gluoncv", "customer"), default="customer", help="published weights, or your own")
    add("--load_weights_folder", type=Path, default=Path("checkpoints/depth/monodepth2"), help="folder of the weights")
    add("--eval_model", help="their file")
    add("--disable_median_scaling", action="store_true", help="multiply depths by --pred_depth_scale_factor instead")
    add("--pred_depth_scale_factor", type=float, default=1.0, help="see above (default: %(default)s)")
    add("--post_process", action="store_true", help="join disparities with those of mirror images")
    add("--ext_disp_to_eval", help="file .npy of disparities to evaluate, in place of a network's")
    add("--save_pred_disps", action="store_true", help="write the disparities to --load_weights_folder")
    add("--no_eval", action="store_true", help="evaluate nothing")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
