"""CRC-32 checksums for formats that have none, in positions that other readers pass over.

- `.params`: the second word of the header, which MXNet writes as 0 and does not look at.
- RecordIO: the one to three bytes that fill a record up to a multiple of 4; a record that needs none has none.
- `.npy` and pickles of optimizer states: a line behind the content.
- `.safetensors`: an entry of the metadata. `-symbol.json`: an attribute of the graph.

A file without one is read as it is: other programs, and earlier versions of this one, write none. `.params`, RecordIO and
`-symbol.json` get one where `MXNET_FILE_CHECKSUMS=1` alone: otherwise they are MXNet's to the byte, which programs
compare, and text that people edit. (What a checkpoint of `scripts` holds has digests in its `state.json` in any case.)
"""

from __future__ import annotations

import os
import zlib

crc32 = zlib.crc32
TAG = b"CRC\x01"  # in the upper half of a 64-bit word
NAME = "crc32"
_BEFORE = b"\n#crc32 "
TRAILER_SIZE = len(_BEFORE) + 9


def in_old_formats() -> bool:
    """Whether `.params`, RecordIO and `-symbol.json` are written with checksums."""
    return os.environ.get("MXNET_FILE_CHECKSUMS", "0") == "1"


class Sum:
    """A file to write to, of which the CRC-32 remains."""

    def __init__(self) -> None:
        self.value = 0

    def write(self, data) -> None:
        self.value = crc32(data, self.value)


def word(value: int) -> bytes:
    """The 64-bit word that holds a checksum."""
    return value.to_bytes(4, "little") + TAG


def padding(value: int, count: int) -> bytes:
    """`count` bytes (up to three) of a checksum; never all zeros, which stand for none."""
    return (value % (256**count - 1) + 1).to_bytes(count, "little") if count else b""


def trailer(value: int) -> bytes:
    """The line behind the content."""
    return _BEFORE + f"{value:08x}\n".encode()


def trailer_in(data: bytes) -> int | None:
    """The checksum that a trailer holds; None for other bytes."""
    digits = data[len(_BEFORE) : -1]
    if len(data) != TRAILER_SIZE or data[: len(_BEFORE)] != _BEFORE or data[-1:] != b"\n":
        return None
    return int(digits, 16) if digits.isalnum() and not set(digits) - set(b"0123456789abcdef") else None


def text(value: int) -> str:
    """A checksum in eight hexadecimal digits."""
    return f"{value:08x}"
