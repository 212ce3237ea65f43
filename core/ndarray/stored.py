"""What operators make of sparse arrays from what they store: products of CSR matrices, lookups of rows.

Values stay on their device and go through kernels; which rows are stored where is found out on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from core import dispatch, kernels, storage
from core.autograd import is_recording, pause
from core.context import Context
from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray, array
from core.ndarray.rows import distinct, on_host, own_index, row_index, rows_of, wrap
from core.ndarray.sparse_arrays import RowSparseNDArray
from core.ops.registry import TABLE, F, Operator, gradients_through, tell
from core.ops.storage_types import KeepsZero
from core.ops.values import Array, Attrs, Gradients, SparseArray, Value
from core.tape import attach_rule, is_tracked, state

Rule = Callable[[SparseArray], Gradients]  # gradients of the inputs from that of the output
# The array of the rows that are stored, and their numbers.
_by_rows: Callable[[tuple[Value, Array], tuple[int, ...], Context], SparseArray] = cast(Any, RowSparseNDArray)._of


@tell(TABLE["dot"], "on_stored")
def _dot(inputs: list[SparseArray], attrs: Attrs) -> Value | None:
    """A CSR matrix, or its transpose, times a matrix; that of the transpose is stored by rows."""
    lhs, rhs = inputs
    if lhs.stype != "csr" or rhs.stype == "csr" or attrs["transpose_b"] or is_tracked(lhs):
        return None
    if len(rhs.shape) != 2 or rhs.shape[0] != lhs.shape[0 if attrs["transpose_a"] else 1] or rhs.dtype != lhs.dtype:
        return None
    product, back = (_transposed_product, _product) if attrs["transpose_a"] else (_product, _transposed_product)
    return _recorded(
        TABLE["dot"], attrs, inputs, lambda: product(lhs, rhs),
        lambda dy: [None, back(lhs, dy)], lambda dy: [None, F.dot(lhs, dy, transpose_a=not attrs["transpose_a"])],
    )  # fmt: skip


@tell(TABLE["Embedding"], "on_stored")
def _embedding(inputs: list[SparseArray], attrs: Attrs) -> Value | None:
    """Rows of a row-sparse weight."""
    data, weight = inputs
    if weight.stype != "row_sparse" or data.stype != "default" or is_tracked(data):
        return None
    shape = weight.shape
    return _recorded(
        TABLE["Embedding"], attrs, inputs,
        lambda: rows_of(weight, _in_range(data, shape[0])),
        lambda dy: [None, lookup_gradient(dy, data, shape)],
        lambda dy: [None, F._embedding_grad(dy, data, shape=shape)],
    )  # fmt: skip


def _in_range(numbers: Array, count: int) -> Array:
    """Numbers of rows; those that there are not become the nearest."""
    if not numbers._data.is_cpu:
        return cast(Array, F.clip(numbers, a_min=0, a_max=count - 1))
    found = on_host(numbers).astype(np.int64)
    np.minimum(np.maximum(found, 0, out=found), count - 1, out=found)
    return own_index(found, numbers._ctx)


def lookup_gradient(dy: Array, data: Array, shape: tuple[int, ...]) -> Value:
    """The gradient of a lookup of rows by number (`Embedding`) with respect to the array of this shape.

    Row-sparse with the rows that `data` names; dense where a graph is traced or recorded, which has no sparse
    values.
    """
    kind: Any = type(dy)
    if is_recording() or state.tracer is not None or kind is not NDArray:
        return F._embedding_grad(dy, data, shape=shape)
    named = on_host(data).astype(np.int64)
    stored = distinct(named)
    if stored.size and (stored[0] < 0 or stored[-1] >= shape[0]):
        named = named.clip(0, shape[0] - 1)
        stored = distinct(named)
    where = own_index(stored.searchsorted(named), dy._ctx)
    rows = kernels.index.embedding_grad(dy._data, where._data, (len(stored), *shape[1:]))
    return _by_rows((wrap(rows, dy._ctx), own_index(stored, dy._ctx)), shape, dy._ctx)


def keep_zeros(op: Operator, array_: SparseArray, attrs: Attrs) -> Value:
    """An operator that leaves zeros alone, on what an array stores.

    Its gradient is stored by rows where the output's is, unless it is steep at zero.
    """
    by_rows = array_.stype == "row_sparse" and not cast(KeepsZero, op.storage).steep

    def on_values(values: Array) -> Any:
        return dispatch.launch(op, [values], attrs, NDArray)

    def gradient(dy: SparseArray) -> Gradients:
        if by_rows and dy.stype == "row_sparse":
            found = _gradient_at(on_values, rows_of(array_, dy.indices), dy.data)
            return [None if found is None else _by_rows((found, dy.indices), dy.shape, dy._ctx)]
        return dense_gradient(dy)

    def dense_gradient(dy: SparseArray) -> Gradients:
        return [_gradient_at(on_values, array_.tostype("default"), dy.tostype("default"))]

    return _recorded(op, attrs, [array_], lambda: array_._with(on_values(array_.data)), gradient, dense_gradient)


def _gradient_at(function: Callable[[Array], Any], x: Value, dy: Array) -> Any:
    return gradients_through(function, [x], [dy], [True])[0]


def _recorded(
    op: Operator, attrs: Attrs, inputs: Sequence[Array], compute: Callable[[], Value], rule: Rule, dense_rule: Rule
) -> Value:
    """What `compute()` gives, on the tape if an input is; dense_rule: for gradients that are recorded themselves."""
    recorded = is_recording() and any([is_tracked(x) for x in inputs])
    with pause():
        result = compute()
    if recorded:
        attach_rule(op, attrs, inputs, result, lambda dy: dense_rule(dy) if is_recording() else rule(dy))
    return result


def _product(lhs: SparseArray, rhs: SparseArray) -> Value:
    values, columns, starts = lhs._parts
    if rhs.stype == "row_sparse" and not rhs._full():
        if not len(rhs.indices):
            return wrap(kernels.shape.zeros((lhs.shape[0], rhs.shape[1]), dtype_name(rhs.dtype), rhs._ctx), rhs._ctx)
        places, found = rhs._places(columns)
        columns = row_index(places, lhs._ctx)
        if not found.all():
            return F._csr_dot(values * array(found, lhs._ctx, lhs.dtype), columns, starts, rhs.data)
    return F._csr_dot(values, columns, starts, rhs if rhs.stype == "default" else rhs.data)


def _transposed_product(lhs: SparseArray, rhs: SparseArray) -> Value:
    """The product of the transpose: a row for each column that stores a value."""
    values, columns, starts = (storage.to_numpy(part._data) for part in lhs._parts)
    order = np.argsort(columns, kind="stable")
    columns = columns[order]
    first = np.flatnonzero(np.append(True, columns[1:] != columns[:-1])[: len(columns)])
    rows = np.repeat(np.arange(lhs.shape[0]), np.diff(starts))[order]
    ctx = lhs._ctx
    parts = (row_index(x, ctx) for x in (rows, np.append(first, len(order))))
    made = F._csr_dot(array(values[order], ctx, lhs.dtype), *parts, rhs.tostype("default"))
    return _by_rows((made, row_index(columns[first], ctx)), (lhs.shape[1], rhs.shape[1]), ctx)
