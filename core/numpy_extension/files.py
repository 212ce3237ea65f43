"""`npx.save`, `npx.savez` and `npx.load`: `np` arrays to and from files."""

from __future__ import annotations

import os
import zipfile

import numpy as onp

from core import serialization
from core.base import MXNetError
from core.files.atomic import replacing
from core.files.reader import Reader
from core.numpy.multiarray import ndarray

ZIP_MAGIC, EMPTY_ZIP_MAGIC = b"PK\x03\x04", b"PK\x05\x06"
NPY_MAGIC = b"\x93NUMPY"


def save(file: str | os.PathLike, arr) -> None:
    """Writes an array, a list or a dictionary of arrays, atomically; a single array to `*.npy` in NumPy's format."""
    if isinstance(arr, ndarray) and os.fspath(file).endswith(".npy"):
        with replacing(file) as stream:
            onp.save(stream, arr.asnumpy())
    else:
        serialization.save(file, arr)


def savez(file: str | os.PathLike, *args, **kwargs) -> None:
    """Writes arrays as a NumPy `.npz` file, atomically; positional ones are named arr_0, arr_1, ..."""
    named = {f"arr_{i}": array for i, array in enumerate(args)}
    if both := named.keys() & kwargs.keys():
        raise ValueError(f"the name {min(both)!r} is given twice")
    with replacing(file) as stream:
        onp.savez(stream, **{name: array.asnumpy() for name, array in {**named, **kwargs}.items()})


def load(file: str | os.PathLike) -> ndarray | list | dict:
    """The arrays of a file written by `save` (an array of a `.npy` file, a list, or a dictionary by name) or `savez` (a dictionary).

    Raises MXNetError for a file that cannot be opened or is damaged.
    """
    with Reader.open(file) as reader:
        start = reader.bytes(min(reader.remaining, len(NPY_MAGIC)))
    if start == NPY_MAGIC:
        try:
            return _array(onp.load(file, allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise MXNetError(f"{os.fspath(file)!r}: damaged .npy file: {error}") from error
    if start[: len(ZIP_MAGIC)] not in (ZIP_MAGIC, EMPTY_ZIP_MAGIC):
        return serialization.load(file, ndarray)
    try:
        with onp.load(file, allow_pickle=False) as content:
            return {name: _array(content[name]) for name in content}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise MXNetError(f"{os.fspath(file)!r}: damaged .npz file: {error}") from error


def _array(values: onp.ndarray) -> ndarray:
    return serialization.from_record(serialization.Record.of(values), ndarray)
