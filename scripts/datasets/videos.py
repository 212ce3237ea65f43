"""From videos and published splits to folders of frames and lists: what UCF101, HMDB51 and Kinetics400 share.

A frame is FOLDER/img_00001.jpg and so on; a line of a list "path below the folder, number of frames, class", or of
videos, "path, class".
"""

from __future__ import annotations

import argparse
import io
import random
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from core.files.atomic import write_bytes
from gluoncv.data.video_custom.reader import VideoReader
from scripts.common.flags import Parser
from scripts.common.foreign import add_idle_arguments
from scripts.common.program import missing
from scripts.datasets import optical_flow
from scripts.datasets.archives import DATASETS

Split = list[tuple[str, int]]  # path of a video below the folder, without ending, and its class


def parser_of(
    description: str, name: str, *, videos: str, frames: str, lists: str, annotations: str, ext: str, splits: int
):
    """A parser with the flags of GluonCV's programs; folders are those below ~/.mxnet/datasets/NAME."""
    parser = Parser(description)
    add, home = parser.add_argument, DATASETS / name
    for flag, default, what in (
        ("--download_dir", "", "folder of the archives"),
        ("--src_dir", videos, "folder of the videos"),
        ("--out_dir", frames, "folder of the frames that are written"),
        ("--frame_path", frames, "folder of the frames, or of the videos, that are listed"),
        ("--anno_dir", annotations, "folder of the published splits"),
        ("--out_list_path", lists, "folder of the lists that are written"),
    ):
        add(
            flag,
            type=lambda text: Path(text).expanduser(),
            default=home / default,
            help=f"{what} (default: %(default)s)",
        )
    add("--level", type=int, choices=(1, 2), default=2, help="2: a folder for each class (default: %(default)s)")
    add("--num_worker", type=int, default=8, help="processes that decode (default: %(default)s)")
    add("--ext", choices=("avi", "mp4"), default=ext, help="ending of the videos (default: %(default)s)")
    add("--new_width", type=int, default=0, help="width of the frames, 0 for their own (default: %(default)s)")
    add("--new_height", type=int, default=0, help="height of the frames, 0 for their own (default: %(default)s)")
    add("--resume", action="store_true", help="videos that have frames are not decoded again")
    add("--rgb_prefix", default="img_", help="how names of frames begin (default: %(default)s)")
    add("--num_split", type=int, default=splits, help="splits that are listed (default: %(default)s)")
    add("--subset", choices=("train", "val", "test"), default="train", help="of a single split, what is listed")
    add("--format", choices=("rawframes", "videos"), default="rawframes", help="what is listed (default: %(default)s)")
    add("--shuffle", action="store_true", help="lists in random order, of seed 0")
    for flag, what in (
        ("--download", "get the published splits; videos have to be put into --src_dir"),
        ("--decode_video", "write the frames"),
        ("--build_file_list", "write the lists"),
    ):
        add(
            flag,
            action=argparse.BooleanOptionalAction,
            default=name != "kinetics400",
            help=f"{what} (default: %(default)s)",
        )
    add("--dataset", default=name, help="how names of lists begin (default: %(default)s)")
    add("--tiny_dataset", action="store_true", help="of UCF101 a part for trying out; without effect for others")
    add("--flow_type", choices=("tvl1", "warp_tvl1"), help="write the optical flow; warp: less the camera's motion")
    for axis in "xy":
        add(
            f"--flow_{axis}_prefix",
            default=f"flow_{axis}_",
            help="how names of its pictures begin (default: %(default)s)",
        )
    add_idle_arguments(
        parser, (), ("--df_path", "--out_format", "--num_gpu"), why="it is of the program that GluonCV gets flow from"
    )
    return parser


def prepare(args: argparse.Namespace, splits, home: str) -> dict[str, int]:
    """Decodes and lists, as the flags say; splits: gives a list of the parts (`Split`) of each split.

    Gives how many videos were decoded, and how many lines each list has. SystemExit says where missing videos are from.
    """
    counts = {}
    if args.decode_video:
        if not args.src_dir.is_dir():
            raise SystemExit(f"{args.src_dir} is missing: get the videos from {home} and unpack them there")
        counts["videos"] = decode(args)
    if args.build_file_list:
        known = frames(args) if args.format == "rawframes" else None
        found = splits()
        for number, parts in enumerate(found[: args.num_split], 1):
            if len(found) > 1:
                names = {
                    f"{args.dataset}_{part}_split_{number}_{args.format}.txt": rows for part, rows in parts.items()
                }
            else:
                names = {f"{args.dataset}_{args.subset}_list_{args.format}.txt": parts[args.subset]}
            for name, rows in names.items():
                counts[name] = write_list(args.out_list_path / name, rows, known, args)
    for name, count in counts.items():
        print(f"{name}: {count}")
    return counts


def write_list(path: Path, rows: Split, known: dict[str, int] | None, args) -> int:
    """Writes a list of the videos that there are; gives how many."""
    there = set(known) if known is not None else {name for name, _ in rows if _video(args.frame_path, name, args.ext)}
    lines = [
        f"{name} {known[name]} {label}\n" if known else f"{name} {label}\n" for name, label in rows if name in there
    ]
    if args.shuffle:
        random.Random(0).shuffle(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, "".join(lines).encode())
    return len(lines)


def decode(args: argparse.Namespace) -> int:
    """Writes the frames of all videos; gives how many videos these were."""
    pattern = f"*.{args.ext}" if args.level == 1 else f"*/*.{args.ext}"
    jobs = []
    for path in sorted(args.src_dir.glob(pattern)):
        folder = args.out_dir / path.relative_to(args.src_dir).with_suffix("")
        if not (args.resume and folder.is_dir() and any(folder.iterdir())):
            jobs.append((path, folder))
    sizes, names = (args.new_width, args.new_height), "{:05d}.jpg"
    write = partial(write_frames, size=sizes, name=args.rgb_prefix + names)
    if args.flow_type:
        along = args.flow_x_prefix + names, args.flow_y_prefix + names
        write = partial(write_flow, size=sizes, names=along, kind=args.flow_type, then=write)
    if args.num_worker > 1 and len(jobs) > 1:
        with ProcessPoolExecutor(args.num_worker) as pool:
            list(pool.map(write, jobs))
    else:
        for job in jobs:
            write(job)
    return len(jobs)


def write_frames(job: tuple[Path, Path], size: tuple[int, int], name: str, keep_aspect: bool = False) -> int:
    """Writes the frames of a video to a folder as JPEG; gives how many.

    size: (width, height), 0 for the video's own; or, with `keep_aspect` and a width of 0, for one that fits the height.
    """
    path, folder = job
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for number, frame in enumerate(_frames(path, size, keep_aspect), 1):
        _write_picture(folder / name.format(number), frame)
    return number


def write_flow(job: tuple[Path, Path], size: tuple[int, int], names: tuple[str, str], kind: str, then) -> int:
    """Writes the optical flow between the frames of a video to a folder, and what `then(job)` writes where `kind` is
    "tvl1"; gives how many flows. names: of the pictures along x and along y.
    """
    from PIL import Image

    path, folder = job
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "tvl1":
        then(job)
    number = 0
    for number, parts in enumerate(optical_flow.pictures(map(np.asarray, _frames(path, size)), kind), 1):
        for name, part in zip(names, parts, strict=True):
            _write_picture(folder / name.format(number), Image.fromarray(part))
    return number


def _frames(path: Path, size: tuple[int, int], keep_aspect: bool = False):
    """The frames of a video, of the size that `write_frames` says."""
    from PIL import Image

    with VideoReader(str(path)) as reader:
        for pixels in reader:
            frame = Image.fromarray(pixels)
            width, height = (given or own for given, own in zip(size, frame.size, strict=True))
            if keep_aspect:
                width = max(round(frame.width * height / frame.height), 1)
            if (width, height) != frame.size:
                frame = frame.resize((width, height), Image.Resampling.BILINEAR)
            yield frame


def _write_picture(path: Path, picture) -> None:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=95)
    write_bytes(path, file.getvalue())


def frames(args: argparse.Namespace) -> dict[str, int]:
    """How many frames each folder has, by its path below --frame_path."""
    folders = args.frame_path.glob("*" if args.level == 1 else "*/*")
    counts = {
        folder.relative_to(args.frame_path).as_posix(): sum(1 for _ in folder.glob(args.rgb_prefix + "*"))
        for folder in folders
        if folder.is_dir()
    }
    return {name: count for name, count in counts.items() if count}


def ucf101_splits(folder: Path, level: int) -> list[dict[str, Split]]:
    """The three splits of classInd.txt, trainlist01.txt, testlist01.txt and so on; paths without the ending."""
    classes = {name: int(number) - 1 for number, name in (line.split() for line in lines_of(folder / "classInd.txt"))}

    def part(name: str) -> Split:
        paths = [line.split()[0] for line in lines_of(folder / name)]
        return [(_named(path, level), classes[path.split("/")[0]]) for path in paths]

    return [{"train": part(f"trainlist{k:02d}.txt"), "val": part(f"testlist{k:02d}.txt")} for k in (1, 2, 3)]


def lines_of(path: Path) -> list[str]:
    """The lines of a published file that are not empty; SystemExit where it is missing."""
    if not path.is_file():
        raise missing(path)
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _named(path: str, level: int) -> str:
    return "/".join(Path(path).with_suffix("").parts[-level:])


def _video(folder: Path, name: str, ext: str) -> bool:
    return (folder / f"{name}.{ext}").is_file()
