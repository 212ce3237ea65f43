"""`.params` files: the arrays of a network as MXNet stores them.

A file is `0x112, 0, n` (64 bits each), n arrays, then the number of names (0 for a list) and each name with its
length. In place of the second word, which MXNet does not look at, a checksum of all the rest may stand
(`core.files.checksums`). Of the arrays five layouts exist: without a magic number (before 1.0; the first word is the
rank, 32-bit extents), V1 (64-bit extents), V2 (storage types), V3 (V2 where rank 0 and extent 0 are shapes, not
"unknown"). All are read; V2 is written, V3 for NumPy semantics, byte for byte as MXNet 1.9.1 does
(ndarray.cc of Apache MXNet 1.9.1 is the only specification).
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.base import MXNetError
from core.files.atomic import replacing
from core.files.checksums import Sum, crc32, in_old_formats, word
from core.files.reader import MAX_NDIM, Reader, short_shape

LIST_MAGIC = 0x112
V1_MAGIC, V2_MAGIC, V3_MAGIC = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
DTYPES = (
    ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")
    + ("bool", "int16", "uint16", "uint32", "uint64", "bfloat16")
)  # fmt: skip
DTYPE_CODES = {name: code for code, name in enumerate(DTYPES)}
STORAGE_TYPES = ("default", "row_sparse", "csr")
AUXILIARY = {"default": (), "row_sparse": ("indices",), "csr": ("indptr", "indices")}
CPU = (1, 0)
PIECE = 16 << 20  # bytes of an array that are laid out for a file at a time


@dataclass(frozen=True)
class Record:
    """One array of a file.

    `data` holds the elements (of the stored rows or non-zeros, for the sparse types) as a NumPy array; bfloat16 is
    held as its bits in uint16, with `dtype` telling the truth. `aux` are the index arrays: `(indices,)` of row_sparse,
    `(indptr, indices)` of csr. `data` is None for an array that was never allocated.
    """

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray | None
    stype: str = "default"
    aux: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(cls, array, dtype: str | None = None) -> Record:
        """The record of a dense NumPy array; `dtype` "bfloat16" says that uint16 elements are bits of bfloat16."""
        if isinstance(array, Record):
            return array
        array = np.asarray(array)
        name = dtype or array.dtype.name
        if name not in DTYPE_CODES or array.dtype.itemsize != numpy_dtype(name).itemsize:
            raise MXNetError(
                f"dtype {array.dtype} cannot be stored in a .params file; accepted are {', '.join(DTYPES)}"
            )
        return cls(name, array.shape, array)

    def dense(self) -> np.ndarray:
        """The whole array as NumPy, zeros filled in (bfloat16 as bits)."""
        if self.stype == "default":
            return self.data
        result = np.zeros(self.shape, self.data.dtype)
        if self.stype == "row_sparse":
            result[self.aux[0]] = self.data
        else:
            indptr, indices = self.aux
            result[np.repeat(np.arange(self.shape[0]), np.diff(indptr)), indices] = self.data
        return result


def read_params(path: str | os.PathLike) -> dict[str, Record] | list[Record]:
    """The records of a `.params` file, by name where it has names; MXNetError names file and offset of any damage.

    Damage is also two arrays of one name, bytes behind the end, and a checksum that is not that of the content.
    """
    with Reader.open(path) as reader:
        return _read(reader)


def load_params(data, name: str = "<buffer>") -> dict[str, Record] | list[Record]:
    """The records of `.params` content in memory (bytes, memoryview)."""
    return _read(Reader.over(data, name))


def write_params(
    path: str | os.PathLike, data: Mapping | Sequence, np_shape: bool = False, record: Callable = Record.of
) -> None:
    """Writes records or NumPy arrays, by name (mapping) or not (sequence), atomically.

    record: makes the record of a value, when its turn comes: memory is taken for one of them at a time.
    `np_shape` writes the layout of NumPy semantics (V3), which MXNet reads back only under `npx.set_np()`.
    Arrays that have rank 0 or an extent of 0 are written so in any case, because V2 cannot say them.
    """
    with replacing(path) as file:
        _write(file, data, np_shape, record)


def dump_params(data: Mapping | Sequence, np_shape: bool = False) -> bytes:
    """The bytes that `write_params` writes."""
    file = io.BytesIO()
    _write(file, data, np_shape)
    return file.getvalue()


def read_record(reader: Reader, what: str = "an array") -> Record:
    """The array that begins at the reader's position, in whatever layout."""
    start = reader.offset
    magic = reader.one("I", what)
    if magic in (V2_MAGIC, V3_MAGIC):
        return _read_typed(reader, what, numpy_shapes=magic == V3_MAGIC)
    if magic == V1_MAGIC:
        shape = _read_shape(reader, what)
    elif magic <= MAX_NDIM:
        shape = reader.unpack(f"{magic}I", f"the shape of {what}")
    else:
        raise reader.error(f"{what} begins with {magic:#x}, which is no array of MXNet", start)
    return _read_dense(reader, what, shape) if shape else Record("float32", (), None)


def write_record(file, record: Record, np_shape: bool = False) -> None:
    """Writes one array."""
    numpy_shapes = np_shape or (
        record.data is not None and record.stype == "default" and 0 in (len(record.shape), *record.shape)
    )
    file.write(struct.pack("<Ii", V3_MAGIC if numpy_shapes else V2_MAGIC, STORAGE_TYPES.index(record.stype)))
    if record.data is None:
        _write_shape(file, None if numpy_shapes else ())
        return
    if record.stype != "default":
        _write_shape(file, record.data.shape)
    _write_shape(file, record.shape)
    file.write(struct.pack("<iii", *CPU, DTYPE_CODES[record.dtype]))
    for index in record.aux:
        file.write(struct.pack("<i", DTYPE_CODES[index.dtype.name]))
        _write_shape(file, index.shape)
    for array in (record.data, *record.aux):
        for piece in pieces(array):
            file.write(piece)


def pieces(array: np.ndarray) -> Iterator[memoryview]:
    """The elements of an array as they stand in files, little-endian and in order, a few megabytes at a time."""
    little = array.dtype.newbyteorder("<")
    if array.flags.c_contiguous and array.dtype == little:
        rows = [array] if array.size else []
    elif array.ndim and len(array) == 1:
        yield from pieces(array[0])
        return
    elif array.ndim:
        step = max(1, PIECE * len(array) // max(1, array.nbytes))
        rows = (array[k : k + step] for k in range(0, len(array), step)) if array.size else []
    else:
        rows = [array]
    for part in rows:
        yield np.ascontiguousarray(part, little).reshape(-1).view(np.uint8).data


def numpy_dtype(name: str) -> np.dtype:
    """The little-endian NumPy dtype that holds elements of `name`."""
    return np.dtype("uint16" if name == "bfloat16" else name).newbyteorder("<")


def _read(reader: Reader) -> dict[str, Record] | list[Record]:
    magic, reserved = reader.unpack("QQ", "the header of a .params file")
    if magic != LIST_MAGIC:
        raise reader.error(f"not a .params file: it begins with {magic:#x} instead of {LIST_MAGIC:#x}", 0)
    reader.begin_sum(crc32(struct.pack("<Q", magic)))
    count = reader.one("Q", "the number of arrays")
    reader.need(4 * count, f"a list of {count} arrays")
    records = [read_record(reader, f"array {i} of {count}") for i in range(count)]
    start, named = reader.offset, reader.one("Q", "the number of names")
    if named not in (0, count):
        raise reader.error(f"{named} names for {count} arrays", start)
    names: dict[str, int] = {}
    for i in range(named):
        start, name = reader.offset, _read_name(reader, i)
        if name in names:
            raise reader.error(f"arrays {names[name]} and {i} have one name, {name[:200]!r}", start)
        names[name] = i
    if reader.remaining:
        raise reader.error(f"{reader.remaining} bytes behind the end")
    if reserved and reserved.to_bytes(8, "little") != word(reader.sum):
        raise reader.error("damaged: the checksum in the header is not that of the content", 8)
    return dict(zip(names, records)) if named else records


def _read_name(reader: Reader, i: int) -> str:
    what = f"name {i}"
    start, length = reader.offset, reader.one("Q", f"the length of {what}")
    try:
        return reader.bytes(length, what).decode()
    except UnicodeDecodeError as error:
        raise reader.error(f"{what} is not UTF-8 ({error.reason})", start) from error


def _read_typed(reader: Reader, what: str, numpy_shapes: bool) -> Record:
    start, code = reader.offset, reader.one("i", f"the storage type of {what}")
    if not 0 <= code < len(STORAGE_TYPES):
        raise reader.error(f"{what} has the unknown storage type {code}", start)
    stype = STORAGE_TYPES[code]
    stored = _read_shape(reader, what) if stype != "default" else None
    shape = _read_shape(reader, what)
    if shape is None or (not numpy_shapes and not shape):
        return Record("float32", (), None)
    if stype == "default":
        return _read_dense(reader, what, shape)
    return _read_sparse(reader, what, stype, stored, shape)


def _read_dense(reader: Reader, what: str, shape: tuple[int, ...]) -> Record:
    reader.unpack("ii", f"the context of {what}")
    dtype = _read_dtype(reader, what)
    return Record(dtype, shape, reader.array(numpy_dtype(dtype), shape, what))


def _read_sparse(
    reader: Reader, what: str, stype: str, stored: tuple[int, ...] | None, shape: tuple[int, ...]
) -> Record:
    reader.unpack("ii", f"the context of {what}")
    dtype, headers = _read_dtype(reader, what), []
    for part in AUXILIARY[stype]:
        kind = _read_dtype(reader, f"the {part} of {what}")
        start, extents = reader.offset, _read_shape(reader, f"the {part} of {what}")
        if kind not in ("int32", "int64") or extents is None or len(extents) != 1:
            raise reader.error(
                f"the {part} of {what} are {kind} of shape {extents}; integers in one dimension are expected", start
            )
        headers.append((kind, extents))
    start = reader.offset
    if stored and stored[0] == 0:  # MXNet may leave the number of stored rows at 0; the indices tell the truth
        stored = (*headers[-1][1], *stored[1:])
    data = reader.array(numpy_dtype(dtype), stored or (), what)
    aux = tuple(reader.array(numpy_dtype(kind), extents, f"an index of {what}") for kind, extents in headers)
    fault = _row_sparse_fault(shape, data, *aux) if stype == "row_sparse" else _csr_fault(shape, data, *aux)
    if fault:
        raise reader.error(f"{what} is a damaged {stype} array: {fault}", start)
    return Record(dtype, shape, data, stype, aux)


def _row_sparse_fault(shape: tuple[int, ...], data: np.ndarray, indices: np.ndarray) -> str | None:
    if data.shape != (len(indices), *shape[1:]):
        return f"{len(indices)} row numbers and rows of shape {short_shape(data.shape)} for shape {short_shape(shape)}"
    if len(indices) and not (indices[0] >= 0 and indices[-1] < shape[0] and (np.diff(indices) > 0).all()):
        return f"row numbers outside 0..{shape[0] - 1} or not ascending"
    return None


def _csr_fault(shape: tuple[int, ...], data: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> str | None:
    if len(shape) != 2 or data.ndim != 1 or len(indices) != len(data):
        return f"{len(indices)} columns for values of shape {short_shape(data.shape)} in shape {short_shape(shape)}"
    if len(indptr) != shape[0] + 1 and (len(data) or len(indptr)):
        return f"{len(indptr)} row ends for {shape[0]} rows"
    if len(indptr) and (indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any()):
        return f"row ends that do not rise from 0 to {len(data)}"
    if len(indices) and not (indices.min() >= 0 and indices.max() < shape[1]):
        return f"columns outside 0..{shape[1] - 1}"
    return None


def _read_dtype(reader: Reader, what: str) -> str:
    start, code = reader.offset, reader.one("i", f"the dtype of {what}")
    if not 0 <= code < len(DTYPES):
        raise reader.error(f"{what} has the unknown dtype number {code}", start)
    return DTYPES[code]


def _read_shape(reader: Reader, what: str) -> tuple[int, ...] | None:
    """A shape; None for one that is not known (rank or extent -1)."""
    start, ndim = reader.offset, reader.one("i", f"the rank of {what}")
    if ndim == -1:
        return None
    if not 0 <= ndim <= MAX_NDIM:
        raise reader.error(f"{what} has the impossible rank {ndim}", start)
    shape = reader.unpack(f"{ndim}q", f"the shape of {what}")
    if any(extent < 0 for extent in shape):
        if all(extent >= -1 for extent in shape):
            return None
        raise reader.error(f"{what} has an impossible shape {short_shape(shape)}", start)
    return shape


def _write(file, data: Mapping | Sequence, np_shape: bool, record: Callable = Record.of) -> None:
    named = isinstance(data, Mapping)
    values = list(data.values() if named else data)
    names = [str(name).encode() for name in data] if named else []
    magic, total, checksum = struct.pack("<Q", LIST_MAGIC), Sum(), bytes(8)
    if in_old_formats():
        total.write(magic)
        _write_content(total, values, names, np_shape, record)
        checksum = word(total.value)
    file.write(magic + checksum)
    _write_content(file, values, names, np_shape, record)


def _write_content(file, values: list, names: list[bytes], np_shape: bool, record: Callable) -> None:
    file.write(struct.pack("<Q", len(values)))
    for value in values:
        write_record(file, record(value), np_shape)
    file.write(struct.pack("<Q", len(names)))
    for name in names:
        file.write(struct.pack("<Q", len(name)) + name)


def _write_shape(file, shape: tuple[int, ...] | None) -> None:
    file.write(struct.pack("<i", -1) if shape is None else struct.pack(f"<i{len(shape)}q", len(shape), *shape))
