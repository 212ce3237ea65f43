"""Archives and packed files that others made: zip, tar, gzip and bzip2, unpacked without trust.

What comes out stays below the folder that it was meant for, and below `limits.unpacked_limit` bytes. Links become
copies of the files in the archive that they point at. The tar reader is our own (POSIX.1-2001, "pax", and the long
names of GNU tar): it goes through the file once, and takes the memory of one block.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from core.base import MXNetError
from core.files.limits import UNPACKED_FREELY, too_large, unpacked_limit
from core.files.reader import DamagedFile

CHUNK = 1 << 20
BLOCK = 512
MAX_EXTENSION = 1 << 20  # bytes of one extended header of a tar file
MAX_LINK = 4096
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
# What the standard library raises when a packed file is damaged, beside its own errors.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, IndexError, OverflowError, MemoryError,
    RuntimeError, struct.error,
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A member of an archive; `read` gives its next bytes, until the next member is asked for."""

    name: str
    size: int
    is_folder: bool
    link: str | None
    read: Callable[[int], bytes]


class Archive:
    """The members of a zip file or of a tar file, which may be packed by gzip or bzip2.

    max_ratio: how many times its size the content may have, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no limit;
    64 MiB are always accepted. Raises MXNetError, with the file and the member, for damage, for a member that would
    leave the folder, and beyond the limit.
    """

    def __init__(self, path: str | os.PathLike, max_ratio: float | None = None):
        self.path, self.max_ratio = os.fspath(path), max_ratio

    def entries(self) -> Iterator[Entry]:
        """All members, in order."""
        with damage_in(self.path):
            is_zip = zipfile.is_zipfile(self.path)
        return self._in_zip() if is_zip else self._in_tar()  # generators, which close the file when they end

    def names(self) -> list[str]:
        """The names of all members, folders included, in order."""
        return [entry.name for entry in self.entries()]

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[Entry]:
        """The file called `name`, to be read within the block; MXNetError where there is none."""
        with contextlib.closing(self.entries()) as entries:
            for entry in entries:
                if entry.name == name and not entry.is_folder and entry.link is None:
                    yield entry
                    return
        raise DamagedFile(f"{self.path!r} has no member {name!r}")

    def extract(self, folder: str | os.PathLike) -> None:
        """Puts all members below `folder`; a file that is there is replaced."""
        root, seen = os.fspath(folder), set()
        limit, total = unpacked_limit(os.path.getsize(self.path), self.max_ratio), 0
        os.makedirs(root, exist_ok=True)
        for entry in self.entries():
            parts = self._parts(entry.name)
            target = os.path.join(root, *parts)
            with damage_in(self.path, entry.name):
                os.makedirs(target if entry.is_folder else os.path.dirname(target), exist_ok=True)
                if entry.is_folder:
                    continue
                if entry.link is not None:
                    source = self._linked(entry, parts, seen)
                    total += os.path.getsize(os.path.join(root, *source))
                    self._check_total(total, limit)
                    shutil.copyfile(os.path.join(root, *source), target)
                else:
                    total += entry.size
                    self._check_total(total, limit)
                    with open(target, "wb") as file:
                        while chunk := entry.read(CHUNK):
                            file.write(chunk)
            seen.add(parts)

    def _check_total(self, total: int, limit: float) -> None:
        if total > limit:
            raise too_large(self.path, "it", total, os.path.getsize(self.path), self.max_ratio)

    def _parts(self, name: str) -> tuple[str, ...]:
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if name.startswith("/") or ".." in parts or "\0" in name:
            raise DamagedFile(f"{self.path!r} holds {name[:200]!r}, which would lie outside of the folder; refused")
        return parts

    def _linked(self, entry: Entry, parts: tuple[str, ...], seen: set) -> tuple[str, ...]:
        """The member that a link points at: by its name in the archive, or from the link's own folder."""
        way: list[str] = []
        for part in (*parts[:-1], *entry.link.split("/")):
            if part == ".." and way:
                way.pop()
            elif part not in ("", "."):
                way.append(part)
        whole = tuple(part for part in entry.link.split("/") if part not in ("", "."))
        for found in (tuple(way), whole):
            if found in seen and not entry.link.startswith("/"):
                return found
        raise DamagedFile(
            f"{self.path!r}: the link {entry.name[:200]!r} points at {entry.link[:200]!r}, which is no file before it in "
            "the archive; refused"
        )

    # ------------------------------------------------------------------ zip

    def _in_zip(self) -> Iterator[Entry]:
        with open_zip(self.path, self.max_ratio) as archive:
            for info in archive.infolist():
                yield self._zip_entry(archive, info)

    def _zip_entry(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Entry:
        stream: list[BinaryIO] = []  # opened on first use: most members of an archive are passed over

        def read(size: int) -> bytes:
            with damage_in(self.path, info.filename):
                if not stream:
                    stream.append(archive.open(info))
                return stream[0].read(size)

        link = None
        if stat.S_ISLNK(info.external_attr >> 16):
            link = read(MAX_LINK).decode("utf-8", "surrogateescape")
        return Entry(info.filename, info.file_size, info.filename.endswith("/"), link, read)

    # ------------------------------------------------------------------ tar

    def _in_tar(self) -> Iterator[Entry]:
        packed = os.path.getsize(self.path)
        with open_packed(self.path, self.max_ratio) as stream:
            count, extended = 0, {}
            while head := _exactly(stream, BLOCK, self.path, at_end=True):
                if not head.strip(b"\0"):
                    break
                count += 1
                if count > max(UNPACKED_FREELY // BLOCK, packed):  # a header takes more than a byte, however packed
                    raise DamagedFile(f"{self.path!r}: {count} members or more in {packed} bytes; refused")
                with damage_in(self.path):
                    fields = _tar_header(head)
                if fields["kind"] in "xgLK":
                    extended |= self._extension(stream, fields)
                    continue
                if sparse := [key for key in extended if key.startswith("GNU.sparse")]:
                    raise DamagedFile(f"{self.path!r}: sparse members ({sparse[0]!r}) are not read")
                fields |= extended
                extended = {}
                left = size = _size(fields["size"], self.path) if fields["kind"] in "0\x007" else 0

                def read(wanted: int) -> bytes:
                    nonlocal left
                    data = _exactly(stream, min(wanted, left), self.path)
                    left -= len(data)
                    return data

                yield self._tar_entry(fields, size, read)
                while read(CHUNK):
                    pass
                _exactly(stream, -size % BLOCK, self.path)

    def _tar_entry(self, fields: dict, size: int, read: Callable[[int], bytes]) -> Entry:
        kind, name = fields["kind"], fields["path"]
        if kind not in "0\x007125":
            raise DamagedFile(
                f"{self.path!r}: {name[:200]!r} is of the kind {kind!r}; files, folders and links are read"
            )
        is_folder = kind == "5" or (kind in "0\0" and name.endswith("/"))
        return Entry(name, size, is_folder, fields["linkpath"] if kind in "12" else None, read)

    def _extension(self, stream: BinaryIO, fields: dict) -> dict:
        """What an extended header says of the next member: `path`, `linkpath`, `size`."""
        size = _size(fields["size"], self.path)
        if size > MAX_EXTENSION:
            raise DamagedFile(f"{self.path!r}: damaged tar file: an extended header of {size} bytes")
        data = _exactly(stream, size + -size % BLOCK, self.path)[:size]
        with damage_in(self.path):
            if fields["kind"] in "LK":
                return {"path" if fields["kind"] == "L" else "linkpath": _text(data)}
            return _pax(data)


@contextlib.contextmanager
def open_zip(path: str | os.PathLike, max_ratio: float | None = None) -> Iterator[zipfile.ZipFile]:
    """A zip file whose directory was looked at: MXNetError for one that unpacks beyond the limit of `Archive`."""
    name, packed = os.fspath(path), os.path.getsize(path)
    with damage_in(name):
        archive = zipfile.ZipFile(name)
    with archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) != len(names):
            twice = next(one for i, one in enumerate(names) if one in names[:i])
            raise DamagedFile(f"{name!r} holds two members called {twice[:200]!r}")
        if sum(info.compress_size for info in infos) > packed:
            raise DamagedFile(f"{name!r}: damaged zip file: its members overlap, or reach beyond its end")
        total = sum(info.file_size for info in infos)
        if total > unpacked_limit(packed, max_ratio):
            raise too_large(name, "it", total, packed, max_ratio)
        for info in infos:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
                method = f"{info.filename[:200]!r} is packed by the method {info.compress_type}"
                raise DamagedFile(f"{name!r}: {method}; stored, deflated and bzip2 are read")
        yield archive


def open_packed(path: str | os.PathLike, max_ratio: float | None = None) -> BinaryIO:
    """The content of a file packed by gzip or bzip2, or of one that is not packed; limits and errors as of `Archive`."""
    name = os.fspath(path)
    with damage_in(name):
        file = open(name, "rb")  # noqa: SIM115
        magic = file.peek(3)[:3]
    source = gzip.GzipFile(fileobj=file) if magic[:2] == b"\x1f\x8b" else bz2.BZ2File(file) if magic == b"BZh" else file
    return io.BufferedReader(_Unpacked(source, file, name, max_ratio), CHUNK)


@contextlib.contextmanager
def damage_in(name: str, member: str | None = None) -> Iterator[None]:
    """Says which file, and which member, an error of the standard library is about."""
    try:
        yield
    except FileNotFoundError as error:
        raise DamagedFile(f"cannot open {name!r}: {error.strerror}") from error
    except DAMAGE as error:
        if isinstance(error, MXNetError):
            raise
        where = f"{name!r}" if member is None else f"{name!r}, member {member[:200]!r}"
        raise DamagedFile(f"{where}: damaged, or cannot be unpacked: {type(error).__name__}: {error}") from error


class _Unpacked(io.RawIOBase):
    """The bytes of a decompressing stream, up to the limit."""

    def __init__(self, source: BinaryIO, file: BinaryIO, name: str, max_ratio: float | None):
        self._source, self._file, self._path, self._max_ratio = source, file, name, max_ratio
        self._packed, self._count = os.fstat(file.fileno()).st_size, 0
        self._limit = unpacked_limit(self._packed, max_ratio) if source is not file else float("inf")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        with damage_in(self._path):
            data = self._source.read(min(len(buffer), CHUNK))
        self._count += len(data)
        if self._count > self._limit:
            raise too_large(self._path, "it", self._count, self._packed, self._max_ratio)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        super().close()
        self._source.close()
        self._file.close()


def _exactly(stream: BinaryIO, count: int, name: str, at_end: bool = False) -> bytes:
    data = stream.read(count)
    if len(data) != count and (data or not at_end):
        raise DamagedFile(f"{name!r}: damaged tar file: it ends {count - len(data)} bytes early")
    return data


def _tar_header(head: bytes) -> dict:
    """Name, size, kind and link of a header block; ValueError if its checksum is wrong."""
    total = sum(head) - sum(head[148:156]) + 8 * 32
    signed = total - 256 * sum(byte > 127 for byte in (*head[:148], *head[156:]))
    if _number(head[148:156]) not in (total, signed):
        raise ValueError("no tar file: the checksum of a header is wrong")
    name, prefix = _text(head[:100]), _text(head[345:500]) if head[257:263] == b"ustar\0" else ""
    return {
        "path": f"{prefix}/{name}" if prefix else name,
        "size": _number(head[124:136]),
        "kind": chr(head[156]),
        "linkpath": _text(head[157:257]),
    }


def _number(field: bytes) -> int:
    """An octal number, or a binary one as GNU tar writes large ones."""
    if field[:1] in (b"\x80", b"\xff"):
        return int.from_bytes(field[1:], "big", signed=False) if field[:1] == b"\x80" else -1
    return int(field.split(b"\0")[0].strip() or b"0", 8)


def _size(value, name: str) -> int:
    with damage_in(name):
        size = int(value)
    if not 0 <= size < 1 << 60:
        raise DamagedFile(f"{name!r}: damaged tar file: a member of {size} bytes")
    return size


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _pax(data: bytes) -> dict:
    """The records `LENGTH KEY=VALUE NEWLINE` of an extended header that matter here."""
    found, offset = {}, 0
    while offset < len(data):
        digits, _, _ = data[offset : offset + 20].partition(b" ")
        length = int(digits)
        record = data[offset : offset + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if length <= len(digits) + 2 or not equals or record[-1:] != b"\n":
            raise ValueError("a malformed extended header")
        if key in (b"path", b"linkpath", b"size") or key.startswith(b"GNU.sparse"):
            found[_text(key)] = _text(value)
        offset += length
    return found
