"""The arguments that the depth programs share, and the data that they name."""

from __future__ import annotations

import argparse
from pathlib import Path

import core as mx
from gluoncv.data.base import DATASETS
from gluoncv.data.kitti.kitti_dataset import KITTIOdomDataset, KITTIRAWDataset
from gluoncv.data.kitti.kitti_utils import readlines
from scripts.common.devices import own_gpus

SETS = {"kitti": KITTIRAWDataset, "kitti_odom": KITTIOdomDataset}
KITTI = Path(DATASETS).expanduser() / "kitti"


def add_shared_arguments(parser: argparse.ArgumentParser, batch_size: int) -> None:
    """Adds what says which network sees which pictures, and where."""
    add = parser.add_argument
    add(
        "--model_zoo",
        default="monodepth2_resnet18_kitti_mono_640x192",
        help="name in the model zoo (default: %(default)s)",
    )
    add("--dataset", choices=SETS, default="kitti", help="data set (default: %(default)s)")
    add("--data_path", type=Path, default=KITTI / "kitti_data", help="folder of its videos (default: %(default)s)")
    add("--splits_dir", type=Path, default=KITTI / "splits", help="folder of the splits (default: %(default)s)")
    add("--png", action="store_true", help="frames are PNG files, not JPEG")
    add("--height", type=int, default=192, help="height of the input, a multiple of 32 (default: %(default)s)")
    add("--width", type=int, default=640, help="width of the input, a multiple of 32 (default: %(default)s)")
    add(
        "--scales",
        type=int,
        nargs="+",
        default=[0, 1, 2, 3],
        help="sizes of disparities, in halvings (default: 0 1 2 3)",
    )
    add("--min_depth", type=float, default=0.1, help="least depth (default: %(default)s)")
    add("--max_depth", type=float, default=100.0, help="largest depth (default: %(default)s)")
    add("--batch_size", type=int, default=batch_size, help="pictures in a batch (default: %(default)s)")
    add("--num_workers", "-j", type=int, default=0, help="loading processes (default: %(default)s)")
    add("--hybridize", action="store_true", help="compile the networks")
    add("--gpu", type=int, help="number of a GPU (default: none, the CPU)")
    add("--no_gpu", action="store_true", help="the CPU, whatever --gpu says")


def device_of(args: argparse.Namespace) -> mx.Context:
    """What --gpu and --no_gpu say."""
    return mx.cpu() if args.gpu is None or args.no_gpu else mx.gpu(*own_gpus([args.gpu]))


def listed(args: argparse.Namespace, split: str, part: str) -> list[str]:
    """The lines "folder frame side" of a part (train, val, test) of a split."""
    return readlines(args.splits_dir / split / f"{part}_files.txt")


def data_set(args: argparse.Namespace, lines: list[str], frames: list, train: bool = False):
    """The samples that the lines name, each with its neighbours `frames`."""
    if args.height % 32 or args.width % 32:
        raise SystemExit(f"--height and --width are multiples of 32, given {args.height} and {args.width}")
    return SETS[args.dataset](
        str(args.data_path), lines, args.height, args.width, frames, num_scales=max(args.scales) + 1, is_train=train,
        img_ext=".png" if args.png else ".jpg",
    )  # fmt: skip
