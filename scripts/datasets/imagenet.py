"""Brings the archives of ImageNet 2012 into ~/.mxnet/datasets/imagenet: folders train and val with one folder per class.

    python scripts/datasets/imagenet.py --download-dir ~/ILSVRC2012 --with-rec

The archives can be had after a registration. --with-rec writes rec/train.rec and rec/val.rec, too. The classes of the
validation part are lines "picture class", such as "ILSVRC2012_val_00000001.JPEG n01751748", of val_classes.txt beside
the archives.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.files.archives import Archive
from scripts import im2rec
from scripts.common.program import missing, program
from scripts.datasets.archives import Source, parser_of, unpack

ADDRESS = "https://image-net.org/data/ILSVRC/2012/"
SOURCES = (
    Source(ADDRESS + "ILSVRC2012_img_train.tar", "43eda4fe35c1705d6606a6a7a633bc965d194284", "train", by_hand=True),
    Source(ADDRESS + "ILSVRC2012_img_val.tar", "5f3f73da3395154b60528b2b2a2caf2374f5f178", "val", by_hand=True),
)


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of classes of each part."""
    parser = parser_of(__doc__, "imagenet")
    parser.add_argument("--with-rec", action="store_true", help="write records, too")
    parser.add_argument("--num-thread", type=int, default=1, help="of what writes records (default: %(default)s)")
    args = parser.parse_args(argv)
    unpack(args, SOURCES)
    train, val = args.target_dir / "train", args.target_dir / "val"
    for packed in sorted(train.glob("*.tar")):  # an archive for each class
        (train / packed.stem).mkdir(exist_ok=True)
        Archive(packed).extract(train / packed.stem)
        packed.unlink()
    sort_by_class(val, (args.download_dir or args.target_dir / "archives") / "val_classes.txt")
    if args.with_rec:
        for part in ("train", "val"):
            write_records(args.target_dir, part, args.num_thread)
    return {part.name: sum(folder.is_dir() for folder in part.iterdir()) for part in (train, val)}


def sort_by_class(folder: Path, listed: Path) -> None:
    """Moves the pictures of a folder into folders of their classes, by lines "picture class"."""
    if not any(folder.glob("*.JPEG")):
        return
    if not listed.is_file():
        raise missing(listed)
    for line in listed.read_text(encoding="utf-8").splitlines():
        name, label = line.split()
        (folder / label).mkdir(exist_ok=True)
        (folder / name).rename(folder / label / name)


def write_records(root: Path, part: str, threads: int) -> None:
    """Writes rec/PART.rec of the folders of a part."""
    (root / "rec").mkdir(exist_ok=True)
    prefix = str(root / "rec" / part)
    im2rec.main([prefix, str(root / part), "--list", "--recursive"])
    im2rec.main([prefix, str(root / part), "--recursive", "--pass-through", "--num-thread", str(threads)])


if __name__ == "__main__":
    main()
