"""A reader of binary files that checks every size against what is left of the file before it allocates."""

from __future__ import annotations

import contextlib
import io
import math
import os
import struct
from collections.abc import Iterator
from typing import IO

import numpy as np

from core.base import MXNetError
from core.files.checksums import crc32

MAX_NDIM = 32
CHUNK = 4 << 20


class DamagedFile(MXNetError, ValueError):
    """A file that is not of its kind, is damaged, or is refused."""


class Reader:
    """Reads `size` bytes of `stream` from its start; every error names the file and the offset."""

    def __init__(self, stream: IO[bytes], size: int, name: str):
        self.stream, self.size, self.name = stream, size, name
        self.offset = 0
        self.sum: int | None = None  # CRC-32 of what was read since `begin_sum`

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: str | os.PathLike) -> Iterator[Reader]:
        """The reader of a regular file; raises MXNetError when it cannot be opened."""
        name = os.fspath(path)
        try:
            file = open(name, "rb")  # noqa: SIM115
        except OSError as error:
            raise MXNetError(f"cannot open {name!r}: {error.strerror or error}") from error
        with file:
            yield cls(file, os.fstat(file.fileno()).st_size, name)

    @classmethod
    def over(cls, data, name: str = "<buffer>") -> Reader:
        """The reader of bytes in memory."""
        view = memoryview(data).cast("B")
        return cls(io.BytesIO(view), view.nbytes, name)

    @property
    def remaining(self) -> int:
        return self.size - self.offset

    def error(self, message: str, offset: int | None = None) -> DamagedFile:
        """The error to raise about what stands at `offset` (default: the current one)."""
        return DamagedFile(
            f"{self.name!r}: {message} (at byte {self.offset if offset is None else offset} of {self.size})"
        )

    def begin_sum(self, value: int = 0) -> None:
        """Sums up, from `value` on, what is read from now on."""
        self.sum = value

    def need(self, count: int, what: str) -> None:
        """Raises unless `count` more bytes are there."""
        if count > self.remaining:
            raise self.error(f"damaged or cut short: {what} needs {count} bytes, {self.remaining} are left")

    def bytes(self, count: int, what: str = "a field") -> bytes:
        """The next `count` bytes."""
        self.need(count, what)
        data = self.stream.read(count)
        self._advance(data, len(data), count, what)
        return data

    def unpack(self, layout: str, what: str = "a field") -> tuple:
        """The next values by a `struct` layout, little endian."""
        layout = "<" + layout
        return struct.unpack(layout, self.bytes(struct.calcsize(layout), what))

    def one(self, code: str, what: str = "a field"):
        """The next value by a one-letter `struct` code."""
        return self.unpack(code, what)[0]

    def array(self, dtype: np.dtype, shape: tuple[int, ...], what: str = "an array") -> np.ndarray:
        """The next `prod(shape)` elements, in memory of their own."""
        dtype = np.dtype(dtype)
        if len(shape) > MAX_NDIM or any(d < 0 for d in shape):
            raise self.error(f"{what} has an impossible shape {short_shape(shape)}")
        if math.prod(d or 1 for d in shape) * dtype.itemsize >= 2**63:
            raise self.error(f"{what} has an impossible shape {short_shape(shape)}")
        count = math.prod(shape) * dtype.itemsize
        self.need(count, f"{what} of shape {short_shape(shape)} and dtype {dtype.name}")
        result = np.empty(shape, dtype)
        if count:
            target = result.reshape(-1).view(np.uint8).data
            for begin in range(0, count, CHUNK):  # a stream that unpacks holds what it is asked for once more
                part = target[begin : begin + CHUNK]
                self._advance(part, self.stream.readinto(part), len(part), what)
        return result

    def _advance(self, data, got: int, wanted: int, what: str) -> None:
        if got != wanted:  # the file shrank while it was read
            raise self.error(f"{what} ends after {got} of {wanted} bytes")
        self.offset += got
        if self.sum is not None:
            self.sum = crc32(data, self.sum)


def short_shape(shape: tuple[int, ...]) -> str:
    """A shape for an error message, cut when a damaged file makes it long."""
    return str(tuple(shape)) if len(shape) <= 8 else f"({', '.join(map(str, shape[:8]))}, ... {len(shape)} dimensions)"
