"""Arrays that store few of their values: CSR matrices, and arrays of which few rows are stored.

They hold their parts as dense arrays. An operator that has no sparse form gets the dense values, as in MXNet; the infix
operators give the storage type that MXNet gives.
"""

from __future__ import annotations

import math
import numbers

import numpy as onp

from core import autograd, dispatch, kernels, storage, writes
from core.base import BadValue, MXNetError
from core.context import Context, current_context
from core.dtypes import dtype_name
from core.extras import load
from core.ndarray.ndarray import NDArray
from core.ndarray.ndarray import array as dense_array
from core.ndarray.rows import distinct, on_host, own_index, plain, row_index, rows_of, set_rows
from core.ops.registry import TABLE
from core.util import no_more

STYPES = ("default", "csr", "row_sparse")
_OF_NUMBERS = {"add": "_plus_scalar", "sub": "_minus_scalar", "mul": "_mul_scalar", "div": "_div_scalar"}


class BaseSparseNDArray(NDArray):
    """What both kinds share. `data` and the index arrays are the stored parts; `asnumpy()` fills in the zeros.

    >>> isinstance(nd.sparse.zeros("csr", (2, 3)), nd.sparse.BaseSparseNDArray)
    True
    """

    __slots__ = ("_order", "_parts", "_shape")
    _dense_kind = NDArray  # what an operator computes of the dense values is dense

    @classmethod
    def _of(cls, parts: tuple[NDArray, ...], shape: tuple[int, ...], ctx: Context):
        array = cls.__new__(cls)
        array._parts, array._shape, array._ctx, array._entry = parts, tuple(int(n) for n in shape), ctx, None
        array._order = None
        return array

    @classmethod
    def _made(cls, parts, shape: tuple[int, ...], ctx: Context, dtype: str):
        """The array of values and indices that lie on the host."""
        data, *indices = parts
        values = dense_array(onp.asarray(data), ctx, dtype)
        return cls._of((values, *(row_index(part, ctx) for part in indices)), shape, ctx)

    @classmethod
    def _apply_operator(cls, op, inputs: list, attrs: dict, out=None):
        return apply_operator(op, inputs, attrs, out)

    @property
    def _data(self):
        """The dense values, made anew for the operator that asks."""
        return storage.from_numpy(self._dense(), dtype_name(self.dtype), self._ctx, copy=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def _num_aux(self) -> int:
        """How many arrays of indices there are."""
        return len(self._parts) - 1

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def dtype(self) -> type:
        return self._parts[0].dtype

    @property
    def data(self) -> NDArray:
        """The stored values: a vector for CSR, rows for row-sparse."""
        return self._parts[0]

    @property
    def indices(self) -> NDArray:
        """int64: the column of each value for CSR, the number of each stored row for row-sparse."""
        return self._parts[1]

    def __len__(self):
        return self._shape[0]

    def __repr__(self):
        return f"\n<{type(self).__name__} {'x'.join(map(str, self._shape))} @{self._ctx}>"

    def asnumpy(self) -> onp.ndarray:
        return self._dense()

    def tostype(self, stype: str):
        return cast_storage(self, stype)

    def astype(self, dtype, copy: bool = True):
        if not copy and dtype_name(dtype) == dtype_name(self.dtype):
            return self
        return self._with(self.data.astype(dtype))

    def copy(self):
        parts = tuple(NDArray._wrap(storage.own_copy(part._data), self._ctx) for part in self._parts)
        return type(self)._of(parts, self._shape, self._ctx)

    def copyto(self, other):
        if isinstance(other, Context):
            return type(self)._of(tuple(part.copyto(other) for part in self._parts), self._shape, other)
        if isinstance(other, BaseSparseNDArray):
            other._assign(self)
            return other
        return super().copyto(other)

    def as_in_context(self, context: Context):
        return self if context == self._ctx else self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def wait_to_read(self) -> None:
        for part in self._parts:
            part.wait_to_read()

    wait_to_write = wait_to_read

    def check_format(self, full_check: bool = True) -> None:
        """Raises MXNetError when the parts make no array of this shape; `full_check`: or when indices do not ascend."""
        fault = self._fault() or (self._disorder() if full_check else None)
        if fault:
            raise MXNetError(f"damaged {self.stype} array of shape {self._shape}: {fault}")

    def _disorder(self) -> str | None:
        """What keeps the indices from ascending."""
        return None

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        super().attach_grad(grad_req, stype or self.stype)

    def zeros_like(self, out=None, name=None):
        made = zeros(self.stype, self._shape, self._ctx, self.dtype)
        return made if out is None else writes.assign(TABLE["zeros_like"], out, made)

    def __setitem__(self, key, value):
        if not (isinstance(key, slice) and key == slice(None)):
            raise ValueError(f"only x[:] = value is possible for a {self.stype} array, not {key!r}")
        if isinstance(value, numbers.Number) and value == 0:
            value = self.zeros_like()
        elif isinstance(value, numbers.Number):
            value = dense_array(onp.full(self._shape, value), self._ctx, self.dtype)
        elif not isinstance(value, NDArray):
            value = dense_array(onp.asarray(value), self._ctx, self.dtype)
        self._assign(value)

    def __getstate__(self):
        return {"parts": self._parts, "shape": self._shape, "ctx": self._ctx}

    def __setstate__(self, given):
        self._parts, self._shape, self._ctx, self._entry = given["parts"], given["shape"], given["ctx"], None
        self._order = None

    def _assign(self, value: NDArray, own: bool = False) -> None:
        """Takes over the values of an array of the same shape and any storage type; own: which nobody else keeps."""
        if tuple(value.shape) != self._shape:
            raise MXNetError(
                f"cannot write an array of shape {value.shape} to a {self.stype} array of shape {self._shape}"
            )
        if value.stype != self.stype or value.dtype != self.dtype or value._ctx != self._ctx:
            value = value.tostype(self.stype).astype(self.dtype, copy=False).as_in_context(self._ctx)
        self._parts = value._parts if own else value.copy()._parts

    def _receive(self, value: NDArray | None, req: str) -> None:
        """Takes over a gradient (None: zero), or adds it for `req` "add"."""
        if value is not None:
            self._assign(self + value.tostype(self.stype) if req == "add" else value)
        elif req == "write":
            self._assign(self.zeros_like())

    def _with(self, data: NDArray):
        """Other values in the same places."""
        return type(self)._of((data, *self._parts[1:]), self._shape, self._ctx)

    def _detached(self):
        return type(self)._of(self._parts, self._shape, self._ctx)

    detach = _detached

    def __add__(self, other):
        return infix("add", self, other)

    def __radd__(self, other):
        return NDArray.__add__(other, self) if isinstance(other, NDArray) else self + other

    def __sub__(self, other):
        return infix("sub", self, other)

    def __mul__(self, other):
        return infix("mul", self, other)

    def __rmul__(self, other):
        return NDArray.__mul__(other, self) if isinstance(other, NDArray) else self * other

    def __truediv__(self, other):
        return infix("div", self, other)

    def __neg__(self):
        return self._with(-self.data)


def _compared_with_numbers(method: str, scalar_op: str):
    """A comparison that keeps the storage type where zeros compare to zero."""
    inherited = getattr(NDArray, method)

    def compare(self, other):
        if isinstance(other, numbers.Number):
            return apply_operator(TABLE[scalar_op], [self], {"scalar": other})
        return inherited(self, other)

    return compare


def _in_place(method: str):
    """An infix operator whose result the array takes over."""

    def compute(self, other):
        self._assign(getattr(self, method)(other))
        return self

    return compute


for _word in ("add", "sub", "mul", "truediv"):
    setattr(BaseSparseNDArray, f"__i{_word}__", _in_place(f"__{_word}__"))
for _sign, _word in (("eq", "equal"), ("ne", "not_equal"), ("lt", "lesser"), ("le", "lesser_equal"), ("gt", "greater"),
                     ("ge", "greater_equal")):  # fmt: skip
    setattr(BaseSparseNDArray, f"__{_sign}__", _compared_with_numbers(f"__{_sign}__", f"_{_word}_scalar"))


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows: `data`, `indices` (columns) and `indptr` (where each row begins).

    >>> matrix = nd.array([[0, 1], [2, 0]]).tostype("csr")
    >>> matrix.data, matrix.indptr
    (
    [1. 2.]
    <NDArray 2 @cpu(0)>,
    [0 1 2]
    <NDArray 3 @cpu(0)>)
    """

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """int64, (rows + 1,): where the values of each row begin."""
        return self._parts[2]

    def asscipy(self):
        """The `scipy.sparse.csr_matrix` with the same parts."""
        scipy_sparse = load("scipy.sparse", "asscipy")
        data, indices, indptr = (part.asnumpy() for part in self._parts)
        return scipy_sparse.csr_matrix((data, indices, indptr), shape=self._shape)

    def __getitem__(self, key):
        rows = self._shape[0]
        if isinstance(key, numbers.Integral):
            if not -rows <= key < rows:
                raise IndexError(f"row {key} of a matrix of {rows} rows")
            key = slice(int(key) % rows, int(key) % rows + 1)
        if isinstance(key, slice):
            begin, end, step = key.indices(rows)
            if step != 1:
                raise ValueError(f"rows of a CSR matrix are cut out with step 1, not {step}")
            return self._rows(begin, max(end, begin))
        raise ValueError(f"a CSR matrix is indexed by a row or a slice of rows, not {key!r}")

    def _rows(self, begin: int, end: int):
        data, indices, indptr = (part.asnumpy() for part in self._parts)
        first, last = indptr[begin], indptr[end]
        parts = (data[first:last], indices[first:last], indptr[begin : end + 1] - first)
        return CSRNDArray._made(parts, (end - begin, self._shape[1]), self._ctx, dtype_name(self.dtype))

    def _dense(self) -> onp.ndarray:
        data, indices, indptr = (part.asnumpy() for part in self._parts)
        result = onp.zeros(self._shape, data.dtype)
        if len(data):
            onp.add.at(result, (onp.repeat(onp.arange(self._shape[0]), onp.diff(indptr)), indices), data)
        return result

    def _fault(self) -> str | None:
        data, indices, indptr = (part.asnumpy() for part in self._parts)
        if (
            len(indptr) != self._shape[0] + 1
            or indptr[0] != 0
            or indptr[-1] != len(indices)
            or len(data) != len(indices)
        ):
            return f"{len(data)} values, {len(indices)} columns, row ends {indptr[:1]}..{indptr[-1:]}"
        if (onp.diff(indptr) < 0).any():
            return "row ends that fall"
        if len(indices) and not 0 <= indices.min() <= indices.max() < self._shape[1]:
            return f"columns outside 0..{self._shape[1] - 1}"
        return None

    def _disorder(self) -> str | None:
        _, indices, indptr = (part.asnumpy() for part in self._parts)
        rows = onp.repeat(onp.arange(self._shape[0]), onp.diff(indptr))
        falls = (onp.diff(indices) <= 0) & (onp.diff(rows) == 0)
        return f"columns that do not ascend in row {rows[falls.argmax()]}" if falls.any() else None


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows are stored: `data` (rows) and `indices` (their ascending numbers).

    >>> rows = nd.array([[0, 0], [2, 0]]).tostype("row_sparse")
    >>> rows.indices
    [1]
    <NDArray 1 @cpu(0)>
    """

    __slots__ = ()
    stype = "row_sparse"

    @property
    def _data(self):
        """The dense values: what is stored where that is every row, else made anew for the operator that asks."""
        if self._full():
            return self.data._data
        dense = zeros("default", self._shape, self._ctx, self.dtype)
        set_rows(dense, self.indices, self.data)
        return dense._data

    def _full(self) -> bool:
        """Whether every row is stored, in order."""
        return len(self.indices) == self._shape[0] and self._ascends()

    def _ascends(self) -> bool:
        """Whether the row numbers ascend, remembered until they are written to."""
        tensor = self.indices._data
        known = self._order
        if known is None or known[0] is not tensor or known[1] != tensor._version:
            stored = on_host(self.indices)
            known = self._order = tensor, tensor._version, bool((stored[1:] > stored[:-1]).all())
        return known[2]

    def _places(self, rows: NDArray) -> tuple[onp.ndarray, onp.ndarray]:
        """Where rows, by number, are among those stored (at least one), and whether they are."""
        stored, wanted = on_host(self.indices), on_host(rows).astype(onp.int64, copy=False)
        order = None if self._ascends() else onp.argsort(stored, kind="stable")
        places = onp.searchsorted(stored, wanted, sorter=order).clip(max=len(stored) - 1)
        places = places if order is None else order[places]
        return places, stored[places] == wanted

    def retain(self, indices):
        """The array with only the given rows left."""
        if autograd.is_recording() and self._entry is not None:
            return apply_operator(TABLE["_sparse_retain"], [self, indices], {})
        return self._retained(row_index(indices if len(self.indices) else [], self._ctx))

    def _retained(self, rows: NDArray):
        """The given rows alone; it keeps `rows` themselves."""
        return RowSparseNDArray._of((rows_of(self, rows), rows), self._shape, self._ctx)

    def __add__(self, other):
        if isinstance(other, RowSparseNDArray) and other._shape == self._shape and not autograd.is_recording():
            return _merged(self, other)
        return super().__add__(other)

    def __getitem__(self, key):
        if isinstance(key, slice) and key == slice(None):
            return self
        raise ValueError(f"a row-sparse array gives x[:] only, not {key!r}; tostype('default') has every index")

    def _dense(self) -> onp.ndarray:
        data = self.data.asnumpy()
        result = onp.zeros(self._shape, data.dtype)
        if len(data):
            result[self.indices.asnumpy()] = data
        return result

    def _fault(self) -> str | None:
        data, indices = (part.asnumpy() for part in self._parts)
        if data.shape != (len(indices), *self._shape[1:]):
            return f"{len(indices)} row numbers for rows of shape {data.shape}"
        if len(indices) and not 0 <= indices.min() <= indices.max() < self._shape[0]:
            return f"row numbers outside 0..{self._shape[0] - 1}"
        return None

    def _disorder(self) -> str | None:
        return "row numbers that do not ascend" if (onp.diff(self.indices.asnumpy()) <= 0).any() else None


def csr_matrix(arg1, shape=None, ctx: Context | None = None, dtype=None) -> CSRNDArray:
    """A CSR matrix of (data, indices, indptr), of (data, (row, column)), of a shape (empty),
    or of a dense or sparse matrix.

    dtype: that of the data if it is an array, else float32. Parts are taken as they are: `check_format` checks whether
    they fit.

    >>> matrix = nd.sparse.csr_matrix(([1, 2], [0, 2], [0, 1, 2]), shape=(2, 3))
    >>> matrix.asnumpy()
    array([[1., 0., 0.],
           [0., 0., 2.]], dtype=float32)
    """
    ctx = ctx or current_context()
    if isinstance(arg1, tuple) and len(arg1) == 2 and all(isinstance(n, numbers.Integral) for n in arg1):
        return _empty("csr", arg1, shape, ctx, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        data, (rows, columns) = _values(arg1[0], dtype), (onp.asarray(plain(part), onp.int64) for part in arg1[1])
        shape = shape or (_extent(rows), _extent(columns))
        order = onp.lexsort((columns, rows))
        indptr = onp.searchsorted(rows[order], onp.arange(shape[0] + 1))
        parts = (data[order], columns[order], indptr)
    elif isinstance(arg1, tuple):
        data, indices, indptr = arg1
        parts = (_values(data, dtype), plain(indices), plain(indptr))
        shape = shape or (len(parts[2]) - 1, _extent(parts[1]))
    elif isinstance(arg1, CSRNDArray):
        return arg1.astype(dtype or arg1.dtype).copyto(ctx)
    elif hasattr(arg1, "tocsr"):  # of SciPy, which may name a place twice
        matrix = arg1.tocsr(copy=True)
        matrix.sum_duplicates()
        parts, shape = (_values(matrix.data, dtype), matrix.indices, matrix.indptr), matrix.shape
    else:
        values = _values(arg1, dtype)
        if values.ndim != 2 or (shape and tuple(shape) != values.shape):
            raise ValueError(
                f"a CSR matrix of shape {shape or '(rows, columns)'} cannot be made of shape {values.shape}"
            )
        rows, columns = onp.nonzero(values)
        indptr = onp.searchsorted(rows, onp.arange(len(values) + 1))
        parts, shape = (values[rows, columns], columns, indptr), values.shape
    return CSRNDArray._made(parts, shape, ctx, _name(arg1, parts[0], dtype))


def row_sparse_array(arg1, shape=None, ctx: Context | None = None, dtype=None) -> RowSparseNDArray:
    """A row-sparse array of (rows, row numbers), of a shape (empty), or of a dense or sparse array.

    dtype: that of the data if it is an array, else float32. Parts are taken as they are: `check_format` checks whether
    they fit.

    >>> nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2)).asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    """
    ctx = ctx or current_context()
    if isinstance(arg1, RowSparseNDArray):
        return arg1.astype(dtype or arg1.dtype).copyto(ctx)
    if isinstance(arg1, tuple) and all(isinstance(n, numbers.Integral) for n in arg1):
        return _empty("row_sparse", arg1, shape, ctx, dtype)
    if isinstance(arg1, tuple):
        data, indices = _values(arg1[0], dtype), onp.asarray(plain(arg1[1]), onp.int64)
        shape = shape or (_extent(indices), *data.shape[1:])
    else:
        data = _values(arg1, dtype)
        shape, indices = data.shape, onp.flatnonzero(data.reshape(len(data), -1).any(1))
        data = data[indices]
    return RowSparseNDArray._made((data, indices), shape, ctx, _name(arg1, data, dtype))


def zeros(stype: str, shape, ctx: Context | None = None, dtype=None, **kwargs):
    """An array of zeros, of which nothing is stored.

    >>> nd.sparse.zeros("row_sparse", (2, 3)).asnumpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    no_more("nd.sparse.zeros", kwargs)
    ctx, dtype = ctx or current_context(), dtype_name(dtype or "float32")
    shape = (int(shape),) if isinstance(shape, numbers.Integral) else tuple(int(n) for n in shape)
    if stype == "default":
        return NDArray._wrap(kernels.shape.zeros(shape, dtype, ctx), ctx)
    if stype == "row_sparse":
        return RowSparseNDArray._made((onp.zeros((0, *shape[1:])), onp.zeros(0)), shape, ctx, dtype)
    if stype == "csr" and len(shape) == 2:
        return CSRNDArray._made((onp.zeros(0), onp.zeros(0), onp.zeros(shape[0] + 1)), shape, ctx, dtype)
    raise ValueError(f"there is no array of storage type {stype!r} and shape {shape}; accepted are {', '.join(STYPES)}")


def cast_storage(data: NDArray, stype: str, out=None, name=None) -> NDArray:
    """The array in another storage type; it keeps its place on the tape.

    >>> nd.sparse.cast_storage(nd.array([[0, 2]]), "csr").stype
    'csr'
    """
    if out is not None:
        return data.tostype(stype).copyto(out)
    if stype == data.stype:
        return data
    if stype not in STYPES or {stype, data.stype} == {"csr", "row_sparse"}:
        raise BadValue(f"cannot cast storage type {data.stype} to {stype!r}; accepted are {', '.join(STYPES)}")
    if stype == "default":
        dense = data._data
        result = NDArray._wrap(storage.copy_to(dense) if dense is data.data._data else dense, data._ctx)
    else:
        result = csr_matrix(data, ctx=data._ctx, dtype=data.dtype) if stype == "csr" else _occupied_rows(data)
    if autograd.is_recording():
        result._entry = data._entry
    return result


def apply_operator(op, inputs: list, attrs: dict, out=None):
    """An operator of the table on arrays of any storage type."""
    from core.ndarray import stored

    sparse = [x for x in inputs if isinstance(x, BaseSparseNDArray)]
    if sparse and out is None and op.on_stored is not None and autograd.state.tracer is None:
        result = op.on_stored(inputs, attrs)
        if result is not None:
            stype = op.storage.result([x.stype for x in inputs], attrs)
            return result if result.stype == stype else result.tostype("default").tostype(stype)
    if sparse and inputs[1:] and inputs[1].stype == "row_sparse" and op.storage.rows_alone(attrs):
        return _update_rows(op, inputs, attrs, out)
    if len(inputs) == len(sparse) == 1 and op.storage.keeps_zero(attrs):
        result = stored.keep_zeros(op, inputs[0], attrs)
    else:
        stype = op.storage.result([x.stype for x in inputs if isinstance(x, NDArray)], attrs)  # refuses before it runs
        result = dispatch.launch(op, inputs, attrs, NDArray)
        if stype != "default" and isinstance(result, NDArray):
            result = result.tostype(stype)
    return result if out is None else writes.assign(op, out, result)


def _update_rows(op, inputs: list, attrs: dict, out):
    """An optimizer step on the rows of the gradient; states are arrays beside the weight, changed in place."""
    weight, gradient, *states = inputs
    target = weight if out is None else out
    if target is not weight:
        weight.copyto(target)
    rows = gradient.indices
    if len(rows):
        parts = [rows_of(array_, rows) for array_ in (weight, *states)]
        changed = dispatch.launch(op, [parts[0], gradient.data, *parts[1:]], attrs, NDArray)
        changed = changed[0] if isinstance(changed, (list, tuple)) else changed
        for array_, part in zip((target, *states), (changed, *parts[1:])):
            set_rows(array_, rows, part)
    return target


def infix(word: str, lhs, rhs):
    """`lhs + rhs` for the word "add", and so on, of a sparse array and an array of any kind or a number."""
    if isinstance(rhs, numbers.Number):
        return apply_operator(TABLE[_OF_NUMBERS[word]], [lhs], {"scalar": rhs})
    if isinstance(lhs, numbers.Number):
        raise TypeError("a number may stand to the right of a sparse array only")
    kind = "elemwise" if lhs.shape == rhs.shape else "broadcast"
    return apply_operator(TABLE[f"{kind}_{word}"], [lhs, rhs], {})


def _merged(lhs: RowSparseNDArray, rhs: RowSparseNDArray) -> RowSparseNDArray:
    """The sum, with all rows that either stores."""
    given = on_host(lhs.indices), on_host(rhs.indices)
    numbers_ = distinct(onp.concatenate(given))
    rows = zeros("default", (len(numbers_), *lhs.shape[1:]), lhs._ctx, lhs.dtype)
    first, second = (row_index(onp.searchsorted(numbers_, part), lhs._ctx) for part in given)
    set_rows(rows, first, lhs.data)
    set_rows(rows, second, rows_of(rows, second) + rhs.data)
    return _of_rows(rows, numbers_, lhs)


def _occupied_rows(data: NDArray) -> RowSparseNDArray:
    """A dense array with the rows stored that are not all zero."""
    dense = data._data
    if data.size:
        occupied = kernels.reduce.any(dense, tuple(range(1, data.ndim)), False)
        rows = onp.flatnonzero(storage.to_numpy(occupied))
    else:
        rows = onp.arange(len(data))
    numbers_ = own_index(rows, data._ctx)
    every = len(rows) == len(data)
    stored = NDArray._wrap(storage.own_copy(dense), data._ctx) if every else rows_of(data.detach(), numbers_)
    return RowSparseNDArray._of((stored, numbers_), data.shape, data._ctx)


def _of_rows(rows: NDArray, numbers_: onp.ndarray, like: NDArray) -> RowSparseNDArray:
    return RowSparseNDArray._of((rows, row_index(numbers_, like._ctx)), like.shape, like._ctx)


def _extent(indices: onp.ndarray) -> int:
    """The least extent that has all the indices."""
    if not len(indices):
        raise ValueError("a sparse array that stores nothing does not tell its shape: give it")
    return int(onp.max(indices)) + 1


def _empty(stype: str, given: tuple, shape, ctx: Context, dtype):
    """Nothing but zeros of the given shape, which `shape` may only repeat."""
    if shape is not None and tuple(shape) != given:
        raise ValueError(f"the shapes {given} and {tuple(shape)} are given at once")
    return zeros(stype, given, ctx, dtype or "float32")


def _values(source, dtype) -> onp.ndarray:
    """The numbers of an array or of nested lists; lists become float32 unless a dtype is given."""
    if isinstance(source, (NDArray, onp.ndarray)):
        return onp.asarray(plain(source))
    return onp.asarray(source, None if dtype is not None else onp.float32)


def _name(source, data: onp.ndarray, dtype) -> str:
    """The dtype of a new array: the one asked for, the one of the source, that of the data."""
    given = source[0] if isinstance(source, tuple) else source
    return dtype_name(dtype or (given.dtype if isinstance(given, NDArray) else data.dtype))
