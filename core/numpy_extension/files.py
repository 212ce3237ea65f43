"""`npx.save`, `npx.savez` and `npx.load`: `np` arrays to and from files."""

from __future__ import annotations

import os

import numpy as onp

from core import serialization
from core.files.atomic import replacing
from core.files.numpy_files import write_npy
from core.numpy.multiarray import ndarray


def save(file: str | os.PathLike, arr) -> None:
    """Writes an array, a list or a dictionary of arrays, atomically; a single array to `*.npy` in NumPy's format.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.npy")
    >>> npx.save(path, np.array([1.0, 2.0]))
    >>> npx.load(path)
    array([1., 2.])
    """
    if isinstance(arr, ndarray) and os.fspath(file).endswith(".npy"):
        write_npy(file, arr.asnumpy())
    else:
        serialization.save(file, arr)


def savez(file: str | os.PathLike, *args, **kwargs) -> None:
    """Writes arrays as a NumPy `.npz` file, atomically; positional ones are named arr_0, arr_1, ...

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.npz")
    >>> npx.savez(path, np.array([1.0]), bias=np.array([2.0]))
    >>> sorted(npx.load(path))
    ['arr_0', 'bias']
    """
    named = {f"arr_{i}": array for i, array in enumerate(args)}
    if both := named.keys() & kwargs.keys():
        raise ValueError(f"the name {min(both)!r} is given twice")
    with replacing(file) as stream:
        onp.savez(stream, **{name: array.asnumpy() for name, array in {**named, **kwargs}.items()})


def load(file: str | os.PathLike) -> ndarray | list | dict:
    """The arrays of a file written by `save` (an array of a `.npy` file, a list, or a dictionary by name) or `savez` (a
    dictionary).

    Raises MXNetError for a file that cannot be opened or is damaged.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.params")
    >>> npx.save(path, {"w": np.array([1.0, 2.0])})
    >>> npx.load(path)
    {'w': array([1., 2.])}
    """
    found = serialization.load(file, ndarray)
    return found[0] if serialization.is_npy(file) else found
