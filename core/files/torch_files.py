"""`.pth` and `.pt` files of PyTorch, read as data: tensors become records, and no code of the file runs.

Two layouts exist. Since 1.6 a file is a ZIP archive without compression: `NAME/data.pkl` describes the object, and
`NAME/data/KEY` holds the bytes of a storage. Before, five pickles follow one another (a magic number, the protocol,
the machine, the object, the storage keys), then each storage with its length (torch/serialization.py of PyTorch).
"""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass, replace

import numpy as np

from core.base import MXNetError
from core.files.archives import open_zip
from core.files.params import Record, numpy_dtype
from core.files.pickles import Global, load_pickle, load_pickles
from core.files.reader import Reader, short_shape

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
DTYPES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
}  # fmt: skip
INERT = rf"torch\.({'|'.join(DTYPES)})Storage|torch\.Size|torch\.device"


def read_torch(path: str | os.PathLike):
    """The object that `torch.save` wrote: plain containers with a `Record` for every tensor.

    Raises MXNetError for damage, with the file, and for any class other than tensors and plain containers, by name.
    """
    with Reader.open(path) as reader:
        zipped = reader.remaining >= 4 and reader.bytes(4) == b"PK\x03\x04"
    return _read_zip(path) if zipped else _read_legacy(path)


@dataclass
class _Storage:
    """The memory that tensors share; `data` comes when it has been read."""

    dtype: str
    size: int
    data: np.ndarray | None = None


@dataclass(frozen=True)
class _Tensor:
    """A window into a storage, in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Storages:
    """The storages of one file by key, as the pickle asks for them."""

    def __init__(self):
        self.by_key: dict[str, _Storage] = {}

    def __call__(self, identifier) -> _Storage:
        if not isinstance(identifier, tuple) or len(identifier) < 5 or identifier[0] != "storage":
            raise MXNetError("damaged file of PyTorch: a reference that is no storage")
        _, kind, key, _, size, *window = identifier
        if not isinstance(kind, Global) or not isinstance(key, str) or not isinstance(size, int) or any(window):
            raise MXNetError("damaged file of PyTorch: a malformed storage")
        dtype = DTYPES.get(kind.name.removeprefix("torch.").removesuffix("Storage"))
        if dtype is None:
            raise MXNetError(f"storages of {kind.name!r} are not read; accepted are {', '.join(DTYPES)}")
        return self.by_key.setdefault(key, _Storage(dtype, size))


def _read_zip(path: str | os.PathLike):
    name, storages = os.fspath(path), _Storages()
    try:
        with open_zip(path) as archive:
            entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
                raise MXNetError(f"{name!r}: compressed parts are not read; PyTorch writes none")
            if sum(entry.file_size for entry in entries.values()) > os.path.getsize(path):
                raise MXNetError(f"{name!r}: damaged file of PyTorch: its parts are larger than the file")
            if "data.pkl" not in entries:
                raise MXNetError(f"{name!r}: a ZIP archive without data.pkl is no file of PyTorch")
            if "byteorder" in entries and archive.read(entries["byteorder"]) != b"little":
                raise MXNetError(f"{name!r}: only little-endian files are read")
            content = load_pickle(archive.read(entries["data.pkl"]), name, BUILDERS, INERT, storages)
            for key, storage in storages.by_key.items():
                if f"data/{key}" not in entries:
                    raise MXNetError(f"{name!r}: the storage {key!r} is missing")
                _fill(storage, Reader.over(archive.read(entries[f"data/{key}"]), f"{name}, storage {key}"))
    except (zipfile.BadZipFile, OSError, NotImplementedError, EOFError, RuntimeError, ValueError) as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(f"{name!r}: damaged file of PyTorch: {error}") from error
    return _resolved(content, name)


def _read_legacy(path: str | os.PathLike):
    storages = _Storages()
    with Reader.open(path) as reader:
        data = reader.bytes(reader.size)
        parts, end = load_pickles(data, 5, reader.name, BUILDERS, INERT, storages, first=LEGACY_MAGIC)
        keys, content = parts[4], parts[3]
        if not isinstance(keys, list) or set(map(str, keys)) != set(storages.by_key):
            raise reader.error("damaged file of PyTorch: the storages do not belong to the object", end)
        tail = Reader.over(memoryview(data)[end:], f"{reader.name}, from byte {end} on")
        for key in keys:
            storage = storages.by_key[key]
            if tail.one("q", f"the length of storage {key}") != storage.size:
                raise tail.error(f"storage {key} has another length than its tensors expect")
            _fill(storage, tail)
    return _resolved(content, os.fspath(path))


def _fill(storage: _Storage, reader: Reader) -> None:
    storage.data = reader.array(numpy_dtype(storage.dtype), (storage.size,), "a storage")


def _tensor(storage, offset, shape, strides, *_) -> _Tensor:
    """`torch._utils._rebuild_tensor_v2`, which gives a window of a storage its shape."""
    shape, strides = tuple(shape), tuple(strides)
    whole = all(isinstance(n, int) and n >= 0 for n in (offset, *shape, *strides))
    if not isinstance(storage, _Storage) or not whole or len(shape) != len(strides):
        raise MXNetError("damaged file of PyTorch: a malformed tensor")
    return _Tensor(storage, offset, shape, strides)


def _parameter(data, *_):
    """`torch._utils._rebuild_parameter`: the tensor of a parameter."""
    return data


def _resolved(value, name: str):
    """The object with records in place of tensors."""
    if isinstance(value, _Tensor):
        return _record(value, name)
    if isinstance(value, dict):
        return type(value)((key, _resolved(part, name)) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(_resolved(part, name) for part in value)
    return value


def _record(tensor: _Tensor, name: str) -> Record:
    data, shape = tensor.storage.data, tensor.shape
    reach = sum((extent - 1) * stride for extent, stride in zip(shape, tensor.strides))
    if math.prod(shape) and (tensor.offset + reach >= len(data) or math.prod(shape) > len(data)):
        raise MXNetError(f"{name!r}: a tensor of shape {short_shape(shape)} reaches beyond its storage of {len(data)}")
    if not math.prod(shape):
        return Record(tensor.storage.dtype, shape, np.empty(shape, data.dtype))
    strides = tuple(stride * data.itemsize for stride in tensor.strides)
    window = np.lib.stride_tricks.as_strided(data[tensor.offset :], shape, strides)
    return replace(Record.of(window, tensor.storage.dtype), data=np.ascontiguousarray(window).reshape(shape))


BUILDERS = {"torch._utils._rebuild_tensor_v2": _tensor, "torch._utils._rebuild_parameter": _parameter}
