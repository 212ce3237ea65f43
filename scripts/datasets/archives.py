"""From downloaded archives of a data set to the layout that the programs read: what the programs beside this one share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from core.files.archives import Archive
from core.files.atomic import write_bytes
from core.store import check_sha1, download, home
from scripts.common.flags import Parser

DATASETS = Path(home()) / "datasets"


class Source(NamedTuple):
    """An archive: its address, its SHA-1 where it is published, and the folder below the target that it is unpacked in.

    by_hand: it can be had only after a registration, and has to be put into --download-dir.
    """

    url: str
    sha1: str | None = None
    inside: str = ""
    by_hand: bool = False


def parser_of(description: str, folder: str) -> Parser:
    """A parser with --download-dir, --target-dir, --no-download and --overwrite, as GluonCV's programs have them."""
    parser = Parser(description)
    add = parser.add_argument
    add("--download-dir", type=Path, help="folder of the archives (default: archives in --target-dir)")
    add("--target-dir", type=Path, default=DATASETS / folder, help="folder that is filled (default: %(default)s)")
    add("--no-download", action="store_true", help="the archives lie in --download-dir")
    add("--overwrite", action="store_true", help="download what is there already, too")
    return parser


def unpack(args: argparse.Namespace, sources: tuple[Source, ...]) -> list[Path]:
    """Gives the archives, which are downloaded where that is possible, and unpacks them below --target-dir.

    A JSON file among them is copied.
    """
    folder = args.download_dir or args.target_dir / "archives"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for source in sources:
        path = folder / source.url.rsplit("/", 1)[-1]
        if source.by_hand or args.no_download:
            if not path.is_file():
                raise SystemExit(f"{path} is missing: get it from {source.url} and put it there")
            if source.sha1 and not check_sha1(path, source.sha1):
                raise SystemExit(f"{path} is not what {source.url} gives: its SHA-1 is another one")
        else:
            download(source.url, str(path), overwrite=args.overwrite, sha1_hash=source.sha1)
        target = args.target_dir / source.inside
        target.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            write_bytes(target / path.name, path.read_bytes())
        else:
            Archive(path).extract(target)
        print(f"{path} -> {target}")
        found.append(path)
    return found
