"""NumPy's `.npy` and `.npz` files, read with every size checked first; arrays of Python objects only as plain data.

The format is NEP 1 (https://numpy.org/neps/nep-0001-npy-format.html), an `.npz` file a zip file of `.npy` files.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from core.files.archives import damage_in, open_zip
from core.files.atomic import replacing
from core.files.checksums import TRAILER_SIZE, Sum, trailer, trailer_in
from core.files.pickles import OBJECT_ARRAYS, load_pickle
from core.files.reader import Reader

MAGIC = b"\x93NUMPY"
MAX_EMPTY_ROWS = 1 << 20  # a list of them takes memory, though the array does not
MAX_HEADER = 10_000  # as NumPy has it: what is longer is no header
PLAIN = r"[<>|=]?(\?|[biufc]\d{1,2}|[SUV]\d{1,9}|[mM]8(\[\w{1,20}\])?)"


def read_npy(path: str | os.PathLike, objects: bool = False, mmap_mode: str | None = None) -> np.ndarray:
    """The array of an `.npy` file; MXNetError names file and offset of any damage.

    objects: whether an array of Python objects is read, which must be strings, numbers and arrays of numbers: it is a pickle, which is
    read as data. mmap_mode: "r", "r+" or "c" maps the file into memory, as `numpy.memmap` does.
    """
    with Reader.open(path) as reader:
        if mmap_mode is None:
            checksum = _checksum_at_end(reader)
            reader.begin_sum()
            array = _array(reader, objects)
            if checksum is not None and (reader.remaining or checksum != reader.sum):
                raise reader.error("damaged: the checksum is not that of the content")
            return array  # bytes behind it are not looked at: NumPy writes several arrays into one file
        shape, fortran, descr = _header(reader)
        dtype = _dtype(reader, descr)
        reader.need(math.prod(shape) * dtype.itemsize, f"an array of shape {shape} and dtype {dtype}")
        return np.memmap(path, dtype, mmap_mode, reader.offset, shape, "F" if fortran else "C")


def write_npy(path: str | os.PathLike, array: np.ndarray) -> None:
    """Writes an array with a checksum behind it (`core.files.checksums`), atomically."""
    total = Sum()
    with replacing(path) as file:
        for target in (total, file):
            np.lib.format.write_array(target, array, allow_pickle=False)
        file.write(trailer(total.value))


class NumpyArchive:
    """The arrays of an `.npz` file, each read when it is asked for, as `numpy.load` gives them.

    max_ratio: how many times its size the content may have, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no limit;
    64 MiB are always accepted. Raises MXNetError for damage, two arrays of one name, and beyond the limit.
    """

    def __init__(self, path: str | os.PathLike, objects: bool = False, max_ratio: float | None = None):
        self.path, self._objects, self._max_ratio = os.fspath(path), objects, max_ratio
        with self._opened() as archive:
            self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if len(self._members) != len(archive.infolist()):
                raise Reader(None, 0, self.path).error("two arrays of one name")

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def __contains__(self, name) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __getitem__(self, name: str) -> np.ndarray:
        info = self._members[name]
        with self._opened() as archive, damage_in(self.path, name), archive.open(info) as stream:
            array = _array(Reader(stream, info.file_size, f"{self.path}, array {name}"), self._objects)
            stream.read(1)  # at its end the checksum is compared
        return array

    def _opened(self):
        return _checked(self.path, self._max_ratio)


def read_npz(path: str | os.PathLike, objects: bool = False, max_ratio: float | None = None) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` file by name; see `NumpyArchive`."""
    archive = NumpyArchive(path, objects, max_ratio)
    return {name: archive[name] for name in archive}


@contextmanager
def _checked(path: str, max_ratio: float | None):
    with Reader.open(path), open_zip(path, max_ratio) as archive:
        yield archive


def _checksum_at_end(reader: Reader) -> int | None:
    """What the trailer says, which does not belong to the content then."""
    if reader.size < TRAILER_SIZE:
        return None
    reader.stream.seek(reader.size - TRAILER_SIZE)
    checksum = trailer_in(reader.stream.read(TRAILER_SIZE))
    reader.stream.seek(0)
    if checksum is not None:
        reader.size -= TRAILER_SIZE
    return checksum


def _array(reader: Reader, objects: bool) -> np.ndarray:
    shape, fortran, descr = _header(reader)
    if re.fullmatch(r"\|?O8?", descr) if isinstance(descr, str) else False:
        return _object_array(reader, shape, objects)
    dtype = _dtype(reader, descr)
    if not dtype.itemsize and len(shape):
        raise reader.error(f"an array of shape {shape} whose elements take no bytes")
    if 0 in shape and math.prod(shape[: shape.index(0)]) > MAX_EMPTY_ROWS:
        raise reader.error(f"an empty array of the impossible shape {shape}")
    values = reader.array(dtype, shape[::-1] if fortran else shape)
    return values.T if fortran else values


def _header(reader: Reader) -> tuple[tuple[int, ...], bool, object]:
    if reader.bytes(len(MAGIC), "the beginning of an .npy file") != MAGIC:
        raise reader.error("not an .npy file", 0)
    major, minor = reader.unpack("BB", "the version of the format")
    if (major, minor) not in ((1, 0), (2, 0), (3, 0)):
        raise reader.error(f"version {major}.{minor} of the .npy format is unknown; 1.0, 2.0 and 3.0 are read")
    start, length = reader.offset, reader.one("H" if major == 1 else "I", "the length of the header")
    if length > MAX_HEADER:
        raise reader.error(f"a header of {length} bytes; at most {MAX_HEADER} are read", start)
    try:
        text = reader.bytes(length, "the header").decode("utf-8" if major == 3 else "latin-1")
        # Python 2 wrote long extents as 3L.
        fields = ast.literal_eval(re.sub(r"(\d)L(?=[,)])", r"\1", text).strip())
        shape, fortran, descr = fields["shape"], fields["fortran_order"], fields["descr"]
        whole = isinstance(shape, tuple) and all(type(extent) is int and extent >= 0 for extent in shape)
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise reader.error(f"a damaged header ({type(error).__name__}: {error})", start) from error
    if not whole or type(fortran) is not bool or len(fields) != 3:
        raise reader.error(f"a damaged header: shape {str(shape)[:80]}, fortran_order {str(fortran)[:20]}", start)
    return shape, fortran, descr


def _dtype(reader: Reader, descr) -> np.dtype:
    """A plain type, or a record of plain ones."""
    is_record = isinstance(descr, list) and all(isinstance(part, tuple) and len(part) in (2, 3) for part in descr)
    codes = [part[1] for part in descr] if is_record else [descr]
    try:
        if all(isinstance(code, str) and re.fullmatch(PLAIN, code) for code in codes):
            return np.dtype(descr)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise reader.error(f"elements of the type {str(descr)[:80]} are impossible ({error})") from error
    raise reader.error(
        f"elements of the type {str(descr)[:80]} are refused: numbers, strings and records of them are read"
    )


def _object_array(reader: Reader, shape: tuple[int, ...], objects: bool) -> np.ndarray:
    if not objects:
        raise reader.error("an array of Python objects, which is a pickle; it is refused")
    start = reader.offset
    found = load_pickle(reader.bytes(reader.remaining), reader.name, OBJECT_ARRAYS)
    if not isinstance(found, np.ndarray) or found.shape != shape:
        raise reader.error(f"an array of objects of shape {shape} is announced, and something else follows", start)
    return found
