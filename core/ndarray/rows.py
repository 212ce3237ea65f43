"""Rows of arrays by their numbers, read and written in place: dense arrays, and those of which few rows are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as onp

from core import autograd, kernels, storage
from core.context import Context
from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray
from core.ndarray.ndarray import array as dense_array
from core.ops.values import Array, SparseArray, Tensor, Value

Numbers = onp.ndarray[Any, Any]
# The dense array of a tensor. Stubs, which say what users are to see, leave it out.
wrap: Callable[[Tensor, Context], Array] = cast(Any, NDArray)._wrap


def rows_of(array_: SparseArray, rows: Array) -> Value:
    """Rows by their numbers (any shape), as a dense array; those that a row-sparse array does not store are zero."""
    if not rows.size or (array_.stype == "row_sparse" and not len(array_.indices)):
        shape = *rows.shape, *array_.shape[1:]
        return wrap(kernels.shape.zeros(shape, dtype_name(array_.dtype), array_._ctx), array_._ctx)
    found = None
    if array_.stype == "row_sparse":
        if not array_._full():
            places, found = array_._places(rows)
            rows = row_index(places, array_._ctx)
    source = _dense(array_)._data
    taken = kernels.index.take(source, kernels.index.clipped(rows._data, source.shape[0]), 0)
    result = wrap(taken, array_._ctx)
    if found is None or found.all():
        return result
    with autograd.pause(train_mode=autograd.is_training()):
        room = found.reshape(*found.shape, *(1,) * (taken.dim() - found.ndim))
        return result * dense_array(room, array_._ctx, result.dtype)


def set_rows(array_: SparseArray, rows: Array, values: Array) -> None:
    """Writes rows by their numbers; a row-sparse array then stores them too."""
    if not len(rows):
        return
    if array_.stype == "row_sparse" and not array_._full():
        places, found = array_._places(rows) if len(array_.indices) else (None, onp.zeros(1, bool))
        if not found.all():
            both = row_index(distinct(onp.concatenate([on_host(array_.indices), on_host(rows)])), array_._ctx)
            array_._parts = cast(Array, rows_of(array_, both)), both
            places, _ = array_._places(rows)
        rows = row_index(places, array_._ctx)
    target = _dense(array_)._data
    target.index_copy_(0, rows._data, values._data)
    autograd.written(target)


def rows_of_each(arrays: Sequence[SparseArray], rows: Array) -> list[Value]:
    """`rows_of` each of several arrays that have as many rows."""
    if not rows.size or not all([one.stype == "default" or one._full() for one in arrays]):
        return [rows_of(one, rows) for one in arrays]
    numbers = kernels.index.clipped(rows._data, len(arrays[0]))
    return [wrap(kernels.index.take(_dense(one)._data, numbers, 0), one._ctx) for one in arrays]


def _dense(array_: SparseArray) -> Array:
    """What holds the rows: the array, or the rows that it stores."""
    return array_.data if array_.stype == "row_sparse" else array_


def distinct(numbers_: Numbers) -> Numbers:
    """The different numbers of an array, ascending."""
    ascending = numbers_.flatten()
    ascending.sort()
    first = onp.empty(ascending.size, bool)
    first[:1] = True
    onp.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


def row_index(values: Any, ctx: Context) -> Array:
    """Numbers of rows as an int64 array of its own."""
    return own_index(onp.array(plain(values), onp.int64), ctx)


def own_index(values: Numbers, ctx: Context) -> Array:
    """Numbers of rows, int64, that nobody else keeps, as an array."""
    return wrap(storage.of_own(values, ctx), ctx)


def on_host(indices: Array) -> Numbers:
    """Indices where the host reads them, without a copy if they are there: to be read alone."""
    shared = indices._data.is_cpu and dtype_name(indices.dtype) != "bfloat16"  # which NumPy lacks
    return storage.share_numpy(indices._data) if shared else storage.to_numpy(indices._data)


def plain(values: Any) -> Any:
    """The values of an array on the host; anything else as it is."""
    return values.asnumpy() if isinstance(values, NDArray) else values
