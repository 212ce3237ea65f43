"""What was published where: the files of data sets, embeddings and vocabularies, with their SHA-1 sums.

The tables beside this module are plain text.  A file's `archive` is a URL, or a path below the
Gluon repository (`MXNET_GLUON_REPO`); `-` stands for nothing.  `fetch` is the only way from here
to the network.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

from core.base import MXNetError
from core.files.archives import Archive
from gluon import hub
from gluon.store import DownloadError, check_sha1, repo_url, write_checked

__all__ = ["File", "dataset_file", "dataset_parts", "embedding_files", "fetch", "table", "verify"]


class File(NamedTuple):
    """A published file: path below the user's root, SHA-1, and the archive (or URL) that it comes from."""

    name: str
    sha1: str | None
    archive: str | None
    archive_sha1: str | None


def fetch(file: File, root: str) -> str:
    """The local path of `file` below `root`; downloads and unpacks it when it is absent.

    Raises DownloadError when the file is neither there nor to be had, and MXNetError when it is not the published one.
    With `GLUONNLP_VERIFY=0` a file that lies in `root` is taken as it is.
    """
    root = os.path.expanduser(root)
    path = os.path.join(root, *file.name.split("/"))
    if _is_good(path, file.sha1):
        return path
    if os.path.isfile(path):
        problem = f"{path} is not the published file of that name (GLUONNLP_VERIFY=0 reads it all the same)"
    else:
        problem = f"{path} does not exist"
    if file.archive is None:
        raise DownloadError(f"{problem}. It is not hosted any more: put it there by hand.")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    packed = file.sha1 is None or file.sha1 != file.archive_sha1
    source = os.path.join(root, file.archive.rsplit("/", 1)[-1]) if packed else path
    if not (packed and _is_good(source, file.archive_sha1)):
        url = file.archive if "://" in file.archive else repo_url() + file.archive
        try:
            hub.download_or_advise(
                url, source, "the file there", "://" not in file.archive, overwrite=True, sha1_hash=file.archive_sha1
            )
        except DownloadError as error:
            raise DownloadError(f"{problem}, and it could not be downloaded: {error}") from error
    if packed:
        _unpack(source, file, path)
    if not _is_good(path, file.sha1):
        raise MXNetError(f"{path}, from {source}, does not have the published SHA-1 {file.sha1}.")
    return path


def dataset_file(dataset: str, part: str) -> File:
    """The published file of one part (segment, language, ...) of a data set."""
    return _datasets()[dataset][part]


def dataset_parts(dataset: str) -> list[str]:
    """The parts of a data set, in the order of the table."""
    return list(_datasets()[dataset])


def embedding_files(embedding: str, kind: str = "") -> dict[str, tuple[str, str]]:
    """{source: (file, SHA-1)} of an embedding; kind "ngram_": of the files with vectors of n-grams,
    where there are some.
    """
    rows = [row for row in table("embeddings") if row["embedding"] == embedding and row[kind + "file"]]
    return {row["source"]: (row[kind + "file"], row[kind + "sha1"]) for row in rows}


def table(name: str) -> list[dict[str, str | None]]:
    """The rows of `NAME.tsv`, keyed by its header."""
    with open(os.path.join(os.path.dirname(__file__), name + ".tsv"), encoding="utf8") as lines:
        header, *rows = [line.rstrip("\n").split("\t") for line in lines]
    return [{key: None if cell == "-" else cell for key, cell in zip(header, row, strict=True)} for row in rows]


def verify() -> bool:
    """Whether checksums are compared (`GLUONNLP_VERIFY`, default 1)."""
    return os.environ.get("GLUONNLP_VERIFY", "1") != "0"


@functools.cache
def _datasets() -> dict[str, dict[str, File]]:
    known: dict[str, dict[str, File]] = {}
    for row in table("datasets"):
        file = File(row["file"], row["sha1"], row["archive"], row["archive_sha1"])
        known.setdefault(row["dataset"], {})[row["part"]] = file
    return known


def _is_good(path: str, sha1: str | None) -> bool:
    return os.path.isfile(path) and (sha1 is None or not verify() or check_sha1(path, sha1))


def _unpack(archive: str, file: File, path: str) -> None:
    """Writes the one member that `file` names, whatever folder of the archive it is in."""
    base = file.name.rsplit("/", 1)[-1]
    packed = Archive(archive)
    names = packed.names()
    found = [n for n in names if n == file.name] or [n for n in names if n.rsplit("/", 1)[-1] == base]
    if not found:
        raise MXNetError(f"{archive} has no member {file.name!r}. It has: {', '.join(names[:20])}")
    with packed.open(found[0]) as member:
        write_checked(member, path)
