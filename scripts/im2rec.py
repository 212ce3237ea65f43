"""Makes image lists out of folders, and record files out of image lists, as MXNet's tools/im2rec.py does.

    python scripts/im2rec.py --list --recursive data/train images/train     writes data/train.lst
    python scripts/im2rec.py --resize 256 --num-thread 8 data/train images/train     writes data/train.rec and .idx

A list has a line `number TAB label ... TAB path under root` for each image. With `--recursive` the folders, in order of
their names, are the classes 0, 1, ... Images that cannot be read are left out and named at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from core import resample
from core.base import MXNetError
from core.files import replacing
from core.image import codec
from core.recordio import IRHeader, MXIndexedRecordIO, pack
from gluon.data.workers import end_with_parent, orphan_rule

SEED = 100


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.list:
        for path in write_lists(options):
            print(path)
        return 0
    lists = lists_of(options.prefix)
    if not lists:
        print(f"there is no image list {options.prefix}*.lst; make one with --list", file=sys.stderr)
        return 2
    return max(write_records(path, options) for path in lists)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("prefix", help="path, without an ending, of the lists and record files; or a folder of lists")
    parser.add_argument("root", help="folder of the images")
    making = parser.add_argument_group("making lists")
    making.add_argument("--list", action="store_true", help="make image lists instead of record files")
    making.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="endings of image files")
    making.add_argument("--chunks", type=int, default=1, help="number of lists")
    making.add_argument("--train-ratio", type=float, default=1.0, help="share of the images for training")
    making.add_argument("--test-ratio", type=float, default=0.0, help="share of the images for testing")
    making.add_argument("--recursive", action="store_true", help="walk through the folders, which are the classes")
    making.add_argument("--no-shuffle", dest="shuffle", action="store_false", help="keep the order of the names")
    packing = parser.add_argument_group("making record files")
    packing.add_argument("--pass-through", action="store_true", help="pack the files as they are")
    packing.add_argument("--resize", type=int, default=0, help="length of the shorter edge; 0 leaves the size")
    packing.add_argument("--center-crop", action="store_true", help="cut the image square before resizing")
    packing.add_argument("--quality", type=int, default=95, help="1..100 for JPEG, compression level 0..9 for PNG")
    packing.add_argument("--num-thread", type=int, default=1, help="number of processes; the order stays")
    packing.add_argument(
        "--color", type=int, default=1, choices=(-1, 0, 1), help="1 colour, 0 gray, -1 as stored (with transparency)"
    )
    packing.add_argument("--encoding", default=".jpg", choices=(".jpg", ".png"), help="format inside the record file")
    packing.add_argument("--pack-label", action="store_true", help="pack every label of a line, not the first alone")
    return parser.parse_args(arguments)


def write_lists(options: argparse.Namespace) -> list[str]:
    """Writes the lists of all images under the root, or of their shares; the paths written."""
    entries = list(images_under(options.root, options.recursive, {ext.lower() for ext in options.exts}))
    if options.shuffle:
        random.Random(SEED).shuffle(entries)
    size, written = -(-len(entries) // options.chunks), []
    for i in range(options.chunks):
        chunk = entries[i * size : (i + 1) * size]
        prefix = f"{options.prefix}_{i}" if options.chunks > 1 else options.prefix
        test, train = int(size * options.test_ratio), int(size * options.train_ratio)
        if options.train_ratio == 1.0:
            shares = {"": chunk}
        else:
            shares = {"_test": chunk[:test], "_train": chunk[test : test + train], "_val": chunk[test + train :]}
        for name, share in shares.items():
            if share or not name:
                written.append(f"{prefix}{name}.lst")
                with replacing(written[-1], "w", encoding="utf-8") as file:
                    file.writelines(f"{number}\t{label:f}\t{path}\n" for number, path, label in share)
    return written


def images_under(root: str, recursive: bool, endings: set[str]) -> Iterator[tuple[int, str, int]]:
    """(number, path under the root, class) of every image."""
    count, classes = itertools.count(), {}
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        if not recursive:
            folders.clear()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1].lower() in endings and os.path.isfile(path):
                label = classes.setdefault(folder, len(classes)) if recursive else 0
                yield next(count), os.path.relpath(path, root), label


def lists_of(prefix: str) -> list[str]:
    """The lists that a prefix, or a folder, stands for."""
    folder, start = (prefix, "") if os.path.isdir(prefix) else os.path.split(prefix)
    names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    return [os.path.join(folder, name) for name in names if name.startswith(start) and name.endswith(".lst")]


def write_records(path: str, options: argparse.Namespace) -> int:
    """Writes the record file and the index of one list; 1 when images had to be left out, else 0."""
    from tqdm import tqdm

    base, entries, missing = os.path.splitext(path)[0], list(read_list(path)), []
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(MXIndexedRecordIO(f"{base}.idx", f"{base}.rec", "w"))
        work, done = [(entry, options) for entry in entries], map
        if options.num_thread > 1:
            done = functools.partial(
                stack.enter_context(multiprocessing.Pool(options.num_thread, end_with_parent, orphan_rule())).imap,
                chunksize=8,
            )
        progress = tqdm(done(encoded, work), base, total=len(entries), unit="images")
        for (number, name, _), (record, error) in zip(entries, progress):
            if error:
                missing.append(f"{name}: {error}")
            else:
                out.write_idx(number, record)
    for line in missing:
        print(f"left out {line}", file=sys.stderr)
    return 1 if missing else 0


def read_list(path: str) -> Iterator[tuple[int, str, list[float]]]:
    """(number, path, labels) of every line."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                key, label, *labels, name = line.strip().split("\t")
                yield int(key), name, [float(value) for value in (label, *labels)]
            except ValueError:
                raise MXNetError(
                    f"{path!r}, line {number}: {line[:80]!r} is not 'number TAB label ... TAB path'"
                ) from None


def encoded(work: tuple) -> tuple[bytes | None, str | None]:
    """(record, None) of one entry of a list, or (None, what went wrong)."""
    (number, name, labels), options = work
    header = IRHeader(0, labels if options.pack_label and len(labels) > 1 else labels[0], number, 0)
    try:
        with open(os.path.join(options.root, name), "rb") as file:
            data = file.read()
        if not options.pass_through:
            data = codec.encode(prepared(codec.decode(data, options.color), options), options.encoding, options.quality)
        return pack(header, data), None
    except (OSError, MXNetError) as error:
        return None, str(error)


def prepared(pixels: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    """The image cut and resized as asked."""
    rows, columns = pixels.shape[:2]
    if options.center_crop:
        side = min(rows, columns)
        y, x = (rows - side) // 2, (columns - side) // 2
        pixels, rows, columns = pixels[y : y + side, x : x + side], side, side
    if not options.resize:
        return pixels
    tall = rows > columns
    height = rows * options.resize // columns if tall else options.resize
    width = options.resize if tall else columns * options.resize // rows
    return resample.resize(pixels, width, height, resample.LINEAR)


if __name__ == "__main__":
    sys.exit(main())
