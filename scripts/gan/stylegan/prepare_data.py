"""Writes the pictures of a folder in all sizes that StyleGAN is trained on: OUT/8/00000.jpg, OUT/16/00000.jpg and so on.

python scripts/gan/stylegan/prepare_data.py --path pictures --out sizes --n_worker 8
"""

from __future__ import annotations

import argparse
import io
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.gan.pictures import Folder

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)


@program
def main(argv: list[str] | None = None) -> int:
    """Gives how many pictures each size has."""
    args = parse_args(argv)
    files = list(enumerate(Folder(args.path, None).files))
    write = partial(write_sizes, out=args.out)
    if args.n_worker > 1:
        with ProcessPoolExecutor(args.n_worker) as pool:
            list(pool.map(write, files))
    else:
        for file in files:
            write(file)
    print(f"{len(files)} pictures in {len(SIZES)} sizes below {args.out}")
    return len(files)


def write_sizes(file: tuple[int, Path], out: Path) -> None:
    """Writes one picture in all sizes, square."""
    from PIL import Image

    number, path = file
    with Image.open(path) as opened:
        whole = opened.convert("RGB")
    for size in SIZES:
        (out / str(size)).mkdir(parents=True, exist_ok=True)
        packed = io.BytesIO()
        whole.resize((size, size), Image.Resampling.LANCZOS).save(packed, "JPEG", quality=100)
        write_bytes(out / str(size) / f"{number:05d}.jpg", packed.getvalue())


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--path", type=Path, required=True, help="folder of pictures, and of folders of them")
    add("--out", type=Path, required=True, help="folder that is written")
    add("--n_worker", type=int, default=8, help="processes (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
