"""The functions of `nd.sparse`, which give the storage type that MXNet gives."""

from __future__ import annotations

import functools

from core import documentation
from core.base import MXNetError, nearest
from core.context import Context
from core.ndarray import sparse_arrays
from core.ndarray.ndarray import NDArray
from core.ndarray.rows import rows_of, set_rows
from core.ndarray.sparse_arrays import (
    BaseSparseNDArray,
    CSRNDArray,
    RowSparseNDArray,
    cast_storage,
    csr_matrix,
    row_sparse_array,
    zeros,
)
from core.ops.registry import TABLE

__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "adagrad_update", "add", "array", "cast_storage",
    "csr_matrix", "divide", "empty", "getnnz", "multiply", "retain", "row_sparse_array", "sparse_retain", "subtract",
    "zeros",
]  # fmt: skip


def array(source_array, ctx: Context | None = None, dtype=None):
    """A sparse copy of a sparse array (of ours or of SciPy).

    >>> nd.sparse.array(nd.sparse.zeros("csr", (2, 3))).stype
    'csr'
    """
    if isinstance(source_array, RowSparseNDArray):
        return row_sparse_array(source_array, ctx=ctx, dtype=dtype)
    if isinstance(source_array, CSRNDArray) or hasattr(source_array, "tocsr"):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    raise ValueError(
        f"nd.sparse.array takes a sparse array, not a {type(source_array).__name__}; nd.array takes dense ones"
    )


def empty(stype: str, shape, ctx: Context | None = None, dtype=None):
    """As `zeros`: nothing is stored.

    >>> nd.sparse.empty("csr", (2, 3)).shape
    (2, 3)
    """
    return zeros(stype, shape, ctx, dtype)


def add(lhs, rhs):
    """lhs + rhs; arrays of one storage type keep it.

    >>> a = nd.array([[0, 1]]).tostype("csr")
    >>> nd.sparse.add(a, a).stype
    'csr'
    """
    return sparse_arrays.infix("add", lhs, rhs)


def subtract(lhs, rhs):
    """lhs - rhs; arrays of one storage type keep it.

    >>> a = nd.array([[0, 1]]).tostype("csr")
    >>> nd.sparse.subtract(a, a).stype
    'csr'
    """
    return sparse_arrays.infix("sub", lhs, rhs)


def multiply(lhs, rhs):
    """lhs * rhs; a sparse factor makes the product sparse.

    >>> a = nd.array([[0, 2]]).tostype("csr")
    >>> nd.sparse.multiply(a, a).asnumpy()
    array([[0., 4.]], dtype=float32)
    """
    return sparse_arrays.infix("mul", lhs, rhs)


def divide(lhs, rhs):
    """lhs / rhs; sparse for a sparse array divided by a number.

    >>> a = nd.array([[0, 2]]).tostype("csr")
    >>> nd.sparse.divide(a, 2).asnumpy()
    array([[0., 1.]], dtype=float32)
    """
    return sparse_arrays.infix("div", lhs, rhs)


def retain(data: RowSparseNDArray, indices=None, out=None, name=None, **kwargs) -> RowSparseNDArray:
    """The row-sparse array with only the given rows left, in their order, zeros where it has none.

    One without rows stays so.

    >>> rows = nd.array([[1, 1], [2, 2]]).tostype("row_sparse")
    >>> nd.sparse.retain(rows, nd.array([1])).asnumpy()
    array([[0., 0.],
           [2., 2.]], dtype=float32)
    """
    if indices is None or kwargs:
        raise MXNetError(f"retain takes data and indices; given {', '.join(kwargs) or 'no indices'}")
    kept = data.retain(indices)
    return kept if out is None else kept.copyto(out)


sparse_retain = _sparse_retain = retain


def adagrad_update(
    weight, grad, history, lr, epsilon=1e-7, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, out=None
) -> NDArray:
    """One AdaGrad step on the rows of a row-sparse gradient; `history` (the sum of squares) is changed in place.

    >>> weight, history = nd.ones((3, 2)), nd.zeros((3, 2))
    >>> gradient = nd.sparse.row_sparse_array(([[1, 1]], [2]), shape=(3, 2))
    >>> _ = nd.sparse.adagrad_update(weight, gradient, history, lr=0.1, out=weight)
    >>> weight
    [[1.  1. ]
     [1.  1. ]
     [0.9 0.9]]
    <NDArray 3x2 @cpu(0)>
    """
    if wd:
        raise MXNetError(f"sparse adagrad_update takes no weight decay, given wd={wd}")
    if grad.stype != "row_sparse":
        raise MXNetError("sparse adagrad_update takes a row_sparse gradient, given a dense one")
    target = weight if out is None else out
    if target is not weight:
        weight.copyto(target)
    rows = grad.indices
    if len(rows):
        gradient = grad.data * rescale_grad
        if clip_gradient > 0:
            gradient = gradient.clip(-clip_gradient, clip_gradient)
        total = rows_of(history, rows) + gradient * gradient
        set_rows(target, rows, rows_of(target, rows) - lr * gradient / (total + epsilon).sqrt())
        set_rows(history, rows, total)
    return target


def getnnz(data: CSRNDArray, axis: int | None = None) -> NDArray:
    """How many values a CSR matrix stores: in all, (1,), or with `axis` 1 in each row; int64.

    >>> nd.sparse.getnnz(nd.array([[0, 2], [3, 4]]).tostype("csr"))
    [3]
    <NDArray 1 @cpu(0)>
    """
    if data.stype != "csr" or axis not in (None, 1):
        raise MXNetError(f"getnnz takes a CSR matrix and axis None or 1, given {data.stype} and axis {axis}")
    indptr = data.indptr
    return indptr[-1:] if axis is None else indptr[1:] - indptr[:-1]


def __getattr__(name: str):
    op = TABLE.get(name)
    if op is None or name.startswith("__"):
        raise AttributeError(f"nd.sparse has no function {name!r}.{nearest(name, TABLE)}")
    return _function(op)


@functools.cache  # not kept in this module, where names such as slice and abs have their usual meaning
def _function(op):
    """The function of an operator: inputs, then attributes by place or name, then `out`."""

    def function(*args, out=None, name=None, **kwargs):
        if op.variadic:
            inputs, rest = (args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args), ()
        else:
            inputs, rest = args[: len(op.inputs)], args[len(op.inputs) :]
        inputs = [*inputs, *(kwargs.pop(given) for given in op.inputs[len(inputs) :] if given in kwargs)]
        return sparse_arrays.apply_operator(op, inputs, op.parse({**dict(zip(op.attrs, rest)), **kwargs}), out)

    function.__name__, function.__doc__ = op.name, documentation.of_operator(op)
    return function
