"""RecordIO: files of byte records, with or without an index, and the header of labelled images.

A record is the magic word, a word of 3 bits kind and 29 bits length, the bytes, and zeros up to a multiple of 4. Bytes
that hold the magic word at a multiple of 4 are cut there into parts (kinds 1, 2 ..., 3), so that a reader may look
for the magic word from anywhere (recordio.h of dmlc-core). In place of the zeros, which nobody looks at, a checksum
of the part may stand (`core.files.checksums`), which readers compare. Readers use positioned reads, which share nothing
between processes: they go on working in a forked or unpickled copy.
"""

from __future__ import annotations

import contextlib
import numbers
import os
import struct
from collections import namedtuple

import numpy as np

from core.base import MXNetError
from core.documentation.classes import complete as _complete
from core.files.atomic import AtomicFile
from core.files.checksums import crc32, in_old_formats, padding

MAGIC = 0xCED7230A
MAGIC_BYTES = struct.pack("<I", MAGIC)
MAX_LENGTH = (1 << 29) - 1
WHOLE, FIRST, MIDDLE, LAST = range(4)

IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])
IRHeader.__doc__ = """Header of an image record: label count (0: one float), label(s), two 64-bit numbers.

`flag` is the number of labels that follow the header, or 0 where `label` is one float in it; `id` numbers the record.

>>> header = recordio.IRHeader(flag=0, label=3.0, id=7, id2=0)
>>> recordio.unpack(recordio.pack(header, b"bytes of a picture"))
(HEADER(flag=0, label=3.0, id=7, id2=0), b'bytes of a picture')
"""
HEADER_LAYOUT = "<IfQQ"
HEADER_SIZE = struct.calcsize(HEADER_LAYOUT)


class MXRecordIO:
    """Reads (`flag` "r") or writes ("w") records one after another.

    What is written takes the place of the file `uri` on `close`. Raises MXNetError for a file that cannot be opened,
    for damage (with file and offset), and when a forked process writes into its parent's file.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file.rec")
    >>> writer = recordio.MXRecordIO(path, "w")
    >>> writer.write(b"first")
    >>> writer.close()
    >>> recordio.MXRecordIO(path, "r").read()
    b'first'
    """

    def __init__(self, uri: str, flag: str):
        self.uri, self.flag = os.fspath(uri), flag
        self.is_open = False
        self.open()

    @property
    def handle(self) -> MXRecordIO:
        """What the reader or writer is to calls of `_LIB`."""
        return self

    def open(self) -> None:
        """Opens the file at its start."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"invalid flag {self.flag!r}; accepted are 'r' and 'w'")
        self.writable = self.flag == "w"
        self.pid = os.getpid()
        self._position = 0
        try:
            if self.writable:
                self._output = AtomicFile(self.uri)
            else:
                self._descriptor = os.open(self.uri, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise MXNetError(f"cannot open {self.uri!r}: {error.strerror or error}") from error
        self.is_open = True

    def close(self) -> None:
        """Closes the file; a written one gets its name now."""
        if not self.is_open:
            return
        self.is_open = False
        if not self.writable:
            os.close(self._descriptor)
        elif self.pid == os.getpid():
            self._output.commit()

    def reset(self) -> None:
        """Back to the start; a writer starts its file anew."""
        if self.writable:
            self.close()
            self.open()
        else:
            self._position = 0

    def write(self, buf: bytes) -> None:
        """Appends one record."""
        if not self.writable:
            raise MXNetError(f"{self.uri!r} is open for reading")
        self._check_writer()
        self._position += _write_record(self._output.file, bytes(buf))

    def read(self) -> bytes | None:
        """The next record, None behind the last one."""
        self._check_reader()
        record, self._position = _read_record(self._descriptor, self._position, self.uri)
        return record

    def read_at(self, offset: int) -> bytes:
        """The record at `offset`, without moving; several threads may do so at once."""
        self._check_reader()
        record, _ = _read_record(self._descriptor, offset, self.uri)
        if record is None:
            raise _damage(self.uri, offset, "the file ends where a record should begin")
        return record

    def offsets(self) -> list[int]:
        """Where the records begin, found by going from head to head."""
        self._check_reader()
        found, position, size = [], 0, os.fstat(self._descriptor).st_size
        while position < size:
            kind, length = _parse_head(os.pread(self._descriptor, 8, position), position, self.uri)
            if kind in (WHOLE, FIRST):
                found.append(position)
            position += 8 + length + -length % 4
        return found

    def tell(self) -> int:
        """The offset of the next record, in bytes."""
        return self._position

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        with contextlib.suppress(Exception):
            self.close()

    def __getstate__(self) -> dict:
        """Readers travel to other processes; they start there at the beginning."""
        if self.writable:
            raise MXNetError(f"the writer of {self.uri!r} cannot be copied to another process")
        hidden = ("_position", "_descriptor", "is_open", "pid")
        return {key: value for key, value in self.__dict__.items() if key not in hidden}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.is_open = False
        MXRecordIO.open(self)

    def _check_writer(self) -> None:
        if not self.is_open:
            raise MXNetError(f"{self.uri!r} is closed")
        if self.pid != os.getpid():
            raise MXNetError(f"{self.uri!r} was opened for writing by another process ({self.pid})")

    def _check_reader(self) -> None:
        if self.writable or not self.is_open:
            raise MXNetError(f"{self.uri!r} is {'open for writing' if self.writable else 'closed'}")


class MXIndexedRecordIO(MXRecordIO):
    """Records with an index file of lines `key TAB offset`, for random access by key.

    `key_type` turns the text of a key into the key. `keys` lists them in file order, `idx` maps them to offsets.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> writer = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> for key in range(3):
    ...     writer.write_idx(key, b"record %d" % key)
    >>> writer.close()
    >>> recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "r").read_idx(1)
    b'record 1'
    """

    def __init__(self, idx_path: str, uri: str, flag: str, key_type: type = int):
        self.idx_path, self.key_type = os.fspath(idx_path), key_type
        super().__init__(uri, flag)

    def open(self) -> None:
        super().open()
        self.idx, self.keys, self.fidx = {}, [], None
        if self.writable:
            try:
                self._index = AtomicFile(self.idx_path, "w", encoding="utf-8")
            except OSError as error:
                self.is_open = False
                self._output.discard()
                raise MXNetError(f"cannot open {self.idx_path!r}: {error.strerror or error}") from error
            self.fidx = self._index.file
        else:
            self._read_index()

    def close(self) -> None:
        owner = self.is_open and self.writable and self.pid == os.getpid()
        super().close()
        if owner:
            self._index.commit()

    def seek(self, idx) -> None:
        """Makes the record of key `idx` the next to be read."""
        self._check_reader()
        if idx not in self.idx:
            raise KeyError(f"{self.idx_path!r} has no key {idx!r}; it has {len(self.keys)} keys")
        self._position = self.idx[idx]

    def read_idx(self, idx) -> bytes:
        """The record of key `idx`."""
        self.seek(idx)
        record = self.read()
        if record is None:
            raise MXNetError(f"{self.uri!r} ends before the record of key {idx!r} at byte {self.idx[idx]}")
        return record

    def write_idx(self, idx, buf: bytes) -> None:
        """Appends a record under the key `idx`."""
        key, position = self.key_type(idx), self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{position}\n")
        self.idx[key] = position
        self.keys.append(key)

    def _read_index(self) -> None:
        try:
            with open(self.idx_path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise MXNetError(f"cannot read the index {self.idx_path!r}: {error}") from error
        size = os.fstat(self._descriptor).st_size
        for number, line in enumerate(lines, 1):
            try:
                key, position = line.split("\t")
                key, position = self.key_type(key), int(position)
            except (ValueError, TypeError, OverflowError) as error:
                raise MXNetError(f"{self.idx_path!r}, line {number}: {line[:80]!r} is no key and offset") from error
            if not 0 <= position < max(size, 1):
                raise MXNetError(
                    f"{self.idx_path!r}, line {number}: the record of key {str(key)[:40]} cannot begin at byte {position} "
                    f"of {size} in {self.uri!r}"
                )
            self.idx[key] = position
            self.keys.append(key)


def pack(header: IRHeader, s: bytes) -> bytes:
    """Bytes of an image record: the header, its labels as float32 unless there is a single number, and `s`.

    >>> header, content = recordio.unpack(recordio.pack(recordio.IRHeader(0, 3.0, 7, 0), b"content"))
    >>> header.label, header.id, content
    (3.0, 7, b'content')
    """
    _, label, number, second = header
    if isinstance(label, numbers.Number):
        return struct.pack(HEADER_LAYOUT, 0, label, number, second) + s
    labels = np.asarray(label, dtype="<f4")
    return struct.pack(HEADER_LAYOUT, labels.size, 0, number, second) + labels.tobytes() + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """The header and the content of an image record; several labels come as a float32 array.

    >>> header, content = recordio.unpack(recordio.pack(recordio.IRHeader(0, [1.0, 2.0], 7, 0), b"content"))
    >>> header.label
    array([1., 2.], dtype=float32)
    """
    if len(s) < HEADER_SIZE:
        raise MXNetError(
            f"an image record begins with {HEADER_SIZE} bytes of header; this one has {len(s)} bytes in all"
        )
    header = IRHeader(*struct.unpack_from(HEADER_LAYOUT, s))
    content = s[HEADER_SIZE:]
    if header.flag > 0:
        if 4 * header.flag > len(content):
            raise MXNetError(f"an image record announces {header.flag} labels, but {len(content)} bytes follow")
        header = header._replace(label=np.frombuffer(content, np.float32, header.flag))
        content = content[4 * header.flag :]
    return header, content


def pack_img(header: IRHeader, img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """The record of an image in BGR order, (height, width, 3), or gray, (height, width), uint8.

    `quality` is 1..100 for ".jpg" and the compression level 0..9 for ".png".

    >>> record = recordio.pack_img(recordio.IRHeader(0, 3.0, 0, 0), onp.zeros((4, 5, 3), "uint8"), img_fmt=".png")
    >>> recordio.unpack_img(record)[1].shape
    (4, 5, 3)
    """
    from core.image.codec import encode

    return pack(header, encode(_swapped(np.asarray(img)), img_fmt, quality))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """The header and the image of a record, in BGR order; `iscolor` 1 colour, 0 gray (height, width), -1 as stored.

    >>> record = recordio.pack_img(recordio.IRHeader(0, 3.0, 0, 0), onp.zeros((4, 5, 3), "uint8"), img_fmt=".png")
    >>> header, picture = recordio.unpack_img(record)
    >>> header.label, picture.shape
    (3.0, (4, 5, 3))
    """
    from core.image.codec import decode

    header, content = unpack(s)
    image = decode(content, iscolor)
    return header, image[:, :, 0] if image.shape[2] == 1 else _swapped(image)


def _swapped(image: np.ndarray) -> np.ndarray:
    """BGR for RGB and the other way round; a fourth channel stays the last."""
    if image.ndim == 3 and image.shape[2] in (3, 4):
        return np.ascontiguousarray(image[:, :, [2, 1, 0, 3][: image.shape[2]]])
    return image


def _write_record(file, data: bytes) -> int:
    """Writes one record; the number of bytes that it takes in the file."""
    if len(data) > MAX_LENGTH:
        raise MXNetError(f"a record of {len(data)} bytes; RecordIO takes at most {MAX_LENGTH}")
    cuts, offset = [], data.find(MAGIC_BYTES)
    while offset >= 0:
        if offset % 4 == 0:
            cuts.append(offset)
        offset = data.find(MAGIC_BYTES, offset + (4 if offset % 4 == 0 else 1))
    written, begin = 0, 0
    for i, end in enumerate([*cuts, len(data)]):
        kind = WHOLE if not cuts else FIRST if i == 0 else LAST if i == len(cuts) else MIDDLE
        part = data[begin:end]
        head = struct.pack("<II", MAGIC, kind << 29 | len(part))
        room = -len(part) % 4
        padded = part + (padding(crc32(part, crc32(head)), room) if in_old_formats() else bytes(room))
        file.write(head + padded)
        written += 8 + len(padded)
        begin = end + 4
    return written


def _read_record(descriptor: int, position: int, name: str) -> tuple[bytes | None, int]:
    """The record at `position` and the position behind it; None at the end of the file."""
    start, parts = position, []
    while True:
        head = os.pread(descriptor, 8, position)
        if not head and not parts:
            return None, position
        kind, length = _parse_head(head, position, name)
        if kind > LAST or (kind in (WHOLE, FIRST)) == bool(parts):
            raise _damage(
                name, position, f"a part of kind {kind} where {'another' if parts else 'the first'} part belongs"
            )
        padded = length + -length % 4
        size = os.fstat(descriptor).st_size
        if position + 8 + padded > size:
            raise _damage(name, position, f"a record of {length} bytes in a file of {size}")
        content = os.pread(descriptor, padded, position + 8)
        if len(content) != padded:
            raise _damage(name, position, f"{len(content)} of {padded} bytes could be read")
        data, checksum = content[:length], content[length:]
        if any(checksum) and checksum != padding(crc32(data, crc32(head)), padded - length):
            raise _damage(name, position, "the checksum of a record is not that of its content")
        parts.append(data)
        position += 8 + padded
        if kind in (WHOLE, LAST):
            return MAGIC_BYTES.join(parts) if len(parts) > 1 else data, position
        if position - start > MAX_LENGTH + 8 + (1 << 20):
            raise _damage(name, start, "a record longer than RecordIO allows")


def _parse_head(head: bytes, position: int, name: str) -> tuple[int, int]:
    if len(head) < 8:
        raise _damage(name, position, "the file ends inside a record")
    magic, word = struct.unpack("<II", head)
    if magic != MAGIC:
        raise _damage(name, position, f"{magic:#x} where a record begins with {MAGIC:#x}")
    return word >> 29, word & MAX_LENGTH


def _damage(name: str, position: int, what: str) -> MXNetError:
    return MXNetError(f"{name!r}: not RecordIO or damaged: {what} (at byte {position})")


_complete(globals())
