"""Sums of row_sparse arrays over processes: what travels are the numbers of rows, and the rows."""

from __future__ import annotations

from core import ndarray as nd
from core.kernels import communication
from core.ndarray import NDArray


def sum_rows(array: NDArray, group=None) -> NDArray:
    """The sum of the row_sparse arrays of all processes, each of which may have other rows."""
    if communication.size() == 1:
        return array
    numbers, rows = array.indices, array.data
    mine = nd.array([numbers.shape[0]], dtype="int64")
    counts = [int(t) for t in communication.all_gather(mine._data, "counts of rows", group)]
    room = max(counts)
    if not room:
        return array
    # Parts of one length travel together; what is added is cut off again.
    numbers = _padded(numbers.reshape((-1,)), room)
    rows = _padded(rows, room)
    parts = zip(
        communication.all_gather(numbers._data, "numbers of rows", group),
        communication.all_gather(rows._data, "rows", group),
        counts,
    )
    total = None
    for others, values, count in parts:
        wrapped = [NDArray._wrap(t[:count], array.context) for t in (values, others)]
        part = nd.sparse.row_sparse_array(tuple(wrapped), array.shape, array.context, array.dtype)
        total = part if total is None else total + part
    return total


def _padded(array: NDArray, length: int) -> NDArray:
    lacking = length - array.shape[0]
    if not lacking:
        return array.copy()
    zeros = nd.zeros((lacking, *array.shape[1:]), array.context, array.dtype)
    return nd.concat(array, zeros, dim=0) if array.shape[0] else zeros
