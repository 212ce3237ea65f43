"""`nd.save`, `nd.load`, `npx.save`, `npx.load`: arrays of users to and from `.params` files (`core.files.params`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core import storage
from core.base import MXNetError
from core.context import cpu
from core.dtypes import dtype_name
from core.files.archives import ZIP_MAGICS
from core.files.numpy_files import MAGIC as NPY_MAGIC
from core.files.numpy_files import read_npy, read_npz
from core.files.params import Record, load_params, read_params, read_record, write_params
from core.files.reader import Reader
from core.ndarray.ndarray import NDArray
from core.util import is_np_shape


def save(fname: str | os.PathLike, data) -> None:
    """Writes an array, a list of arrays or a dictionary of arrays by name, atomically.

    Under `npx.set_np()` the file keeps shapes without or with empty dimensions, and MXNet reads it back so only.
    """
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, Mapping):
        if not all(isinstance(name, str) for name in data):
            raise TypeError("the names of saved arrays must be strings")
        arrays = data.values()
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        arrays = data
    else:
        raise ValueError(
            f"cannot save a {type(data).__name__}; accepted are an array, a list or a dictionary of arrays"
        )
    for array in arrays:
        if not isinstance(array, NDArray):
            raise TypeError(f"cannot save a {type(array).__name__} in a .params file; an NDArray is needed")
    write_params(fname, data, is_np_shape(), to_record)


def save_each(fname: str | os.PathLike, sources: Mapping, array: Callable) -> None:
    """As `save` by name, of the arrays that `array(source)` makes, one at a time."""
    write_params(fname, sources, is_np_shape(), lambda source: to_record(array(source)))


def load(fname: str | os.PathLike, kind: type | None = None, *, max_ratio: float | None = None) -> list | dict:
    """The arrays of a file: a dictionary when they have names, else a list; also of NumPy's `.npz` and `.npy` files.

    `kind` is the class of dense arrays, by default NDArray. `max_ratio`: how many times its size an `.npz` may unpack
    to, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no limit. Raises MXNetError for a file that cannot be opened,
    is damaged (with the offset), or is beyond the limit.
    """
    start = _start(fname)
    if start == NPY_MAGIC or start[:4] in ZIP_MAGICS:
        return _from_numpy_file(fname, kind or NDArray, max_ratio)
    return _arrays(read_params(fname), kind or NDArray, os.fspath(fname))


def is_npy(file: str | os.PathLike) -> bool:
    """Whether a file holds one array in NumPy's format."""
    return _start(file) == NPY_MAGIC


def _start(file: str | os.PathLike) -> bytes:
    with Reader.open(file) as reader:
        return reader.bytes(min(reader.remaining, len(NPY_MAGIC)))


def _from_numpy_file(file: str | os.PathLike, kind: type, max_ratio: float | None) -> list | dict:
    if is_npy(file):
        return [from_record(Record.of(read_npy(file)), kind)]
    return {name: from_record(Record.of(array), kind) for name, array in read_npz(file, max_ratio=max_ratio).items()}


def load_frombuffer(buf, kind: type | None = None) -> list | dict:
    """As `load`, from the bytes of a file."""
    return _arrays(load_params(buf), kind or NDArray, "<buffer>")


def to_record(array) -> Record:
    """An array of any storage type as it stands in files; of dense ones on the CPU the memory is shared."""
    stype = array.stype
    name = dtype_name(array.dtype)
    if stype == "default":
        return Record(name, tuple(array.shape), storage.bits(array._data))
    aux = (array.indices,) if stype == "row_sparse" else (array.indptr, array.indices)
    indices = tuple(index.asnumpy().astype(np.int64) for index in aux)
    return Record(name, tuple(array.shape), storage.bits(array.data._data), stype, indices)


def from_record(record: Record, kind: type = NDArray, ctx=None):
    """The array of a record, on `ctx` (the CPU by default)."""
    ctx = ctx or cpu()
    data = kind._wrap(_tensor(record.data, record.dtype, ctx), ctx)
    if record.stype == "default":
        return data
    from core.ndarray import sparse

    if record.stype == "row_sparse":
        return sparse.row_sparse_array((data, *record.aux), shape=record.shape, ctx=ctx, dtype=record.dtype)
    indptr, indices = record.aux
    return sparse.csr_matrix((data, indices, indptr), shape=record.shape, ctx=ctx, dtype=record.dtype)


def from_bytes(data: bytes, kind: type = NDArray):
    """The array of one record, as `pickle` finds it in what MXNet wrote."""
    return from_record(read_record(Reader.over(data, "<pickle>")), kind)


def _arrays(records: Mapping | Sequence, kind: type, name: str) -> list | dict:
    def array(key, record: Record):
        if record.data is None:
            raise MXNetError(f"{name!r}: array {key!r} was saved before it had a shape; it holds nothing to load")
        return from_record(record, kind)

    if isinstance(records, Mapping):
        return {key: array(key, record) for key, record in records.items()}
    return [array(i, record) for i, record in enumerate(records)]


def _tensor(values: np.ndarray, dtype: str, ctx):
    if dtype == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return storage.from_numpy(values, dtype, ctx, copy=False)
