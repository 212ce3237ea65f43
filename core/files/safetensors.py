"""`.safetensors` files, read and written without the package of that name.

Layout: the length of a JSON header (64 bits), the header
`{name: {dtype, shape, data_offsets}, "__metadata__": {str: str}}`, then the bytes of the tensors
(https://github.com/huggingface/safetensors, "Format").
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping

import numpy as np

from core.base import MXNetError
from core.files.atomic import replacing
from core.files.checksums import NAME, Sum, crc32, text
from core.files.params import Record, numpy_dtype, pieces
from core.files.reader import Reader, short_shape

DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip
CODES = {name: code for code, name in DTYPES.items()}
METADATA = "__metadata__"


def read_safetensors(path: str | os.PathLike) -> tuple[dict[str, Record], dict[str, str]]:
    """The tensors by name and the metadata of a file; MXNetError names file and offset of any damage.

    A checksum that `write_safetensors` put into the metadata is compared, and is not among them.
    """
    with Reader.open(path) as reader:
        header = _read_header(reader)
        metadata = dict(header.pop(METADATA, {}))
        entries = [(name, *_checked(reader, name, entry)) for name, entry in header.items()]
        base, records, end = reader.offset, {}, 0
        for name, dtype, shape, begin in sorted(entries, key=lambda entry: entry[3]):
            if begin != end:
                raise reader.error(f"tensor {name!r} begins at {begin}, not at {end} where the one before ends", base)
            records[name] = Record(dtype, shape, reader.array(numpy_dtype(dtype), shape, f"tensor {name!r}"))
            end = reader.offset - base
        if reader.remaining:
            raise reader.error(f"{reader.remaining} bytes behind the last tensor")
        checksum = metadata.pop(NAME, None)
        if checksum not in (None, _checksum(records, metadata)):
            raise reader.error(
                f"damaged: {NAME} in the metadata is not that of the content (a program that changes the content may "
                "leave it out)",
                8,
            )
    return {name: records[name] for name in header}, metadata


def write_safetensors(path: str | os.PathLike, tensors: Mapping, metadata: Mapping[str, str] | None = None) -> None:
    """Writes dense records or NumPy arrays by name, with metadata of strings, atomically.

    The metadata get a checksum of all (`core.files.checksums`); without any, also the format "pt", which programs for
    PyTorch ask files with metadata for.
    """
    records = {name: Record.of(value) for name, value in tensors.items()}
    for name, record in records.items():
        if record.stype != "default" or record.data is None:
            raise MXNetError(f"tensor {name!r} is {record.stype}; .safetensors files hold dense arrays only")
    metadata = dict(metadata or {"format": "pt"})
    header, end = {METADATA: {NAME: _checksum(records, metadata), **metadata}}, 0
    for name, record in records.items():
        begin, end = end, end + record.data.nbytes
        header[name] = {"dtype": CODES[record.dtype], "shape": list(record.shape), "data_offsets": [begin, end]}
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)  # the first tensor begins at a multiple of 8
    with replacing(path) as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for record in records.values():
            for piece in pieces(record.data):
                file.write(piece)


def _checksum(records: Mapping[str, Record], metadata: Mapping[str, str]) -> str:
    """Of names, types, shapes and elements in the order of the names, and of the metadata: not of their layout."""
    facts = [[name, r.dtype, list(r.shape), _sum(r.data)] for name, r in sorted(records.items())]
    return text(crc32(json.dumps([facts, sorted(metadata.items())]).encode()))


def _sum(array: np.ndarray) -> int:
    total = Sum()
    for piece in pieces(array):
        total.write(piece)
    return total.value


def _read_header(reader: Reader) -> dict:
    length = reader.one("Q", "the length of the header")
    text = reader.bytes(length, "the header")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise reader.error(f"the header is not JSON: {error}", 8) from error
    if not isinstance(header, dict):
        raise reader.error("the header is not a JSON object", 8)
    metadata = header.get(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise reader.error("the metadata of the header are not strings by name", 8)
    return header


def _checked(reader: Reader, name: str, entry) -> tuple[str, tuple[int, ...], int]:
    """dtype, shape and start of a tensor, once its header entry agrees with itself."""
    try:
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
        whole = all(isinstance(value, int) and value >= 0 for value in (*shape, begin, end))
    except (KeyError, TypeError, ValueError) as error:
        raise reader.error(
            f"tensor {name!r} has a damaged header entry ({type(error).__name__}: {error})", 8
        ) from error
    if not whole or math.prod(shape) * numpy_dtype(dtype).itemsize != end - begin:
        raise reader.error(
            f"tensor {name!r} of shape {short_shape(shape)} and dtype {dtype} cannot lie in [{begin}, {end})", 8
        )
    return dtype, shape, begin
