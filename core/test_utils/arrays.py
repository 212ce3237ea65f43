"""Random arrays and shapes for tests, dense and sparse."""

from __future__ import annotations

import itertools

import numpy as np

from core import ndarray as nd
from core.ndarray import sparse
from core.test_utils.compare import default_dtype


def random_arrays(*shapes):
    """Standard normal NumPy arrays: one, or a list of several."""
    arrays = [np.asarray(np.random.randn(*shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=np.float32):
    """A list of NumPy arrays with numbers between `low` and `high`."""
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population, k):
    """`k` different elements in random order."""
    if not 0 <= k <= len(population):
        raise AssertionError(f"{k} of {len(population)} elements are asked for")
    return [population[i] for i in np.random.permutation(len(population))[:k]]


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False):
    """Two random extents up to those given."""
    return rand_shape_nd(2, (dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False):
    """Three random extents up to those given."""
    return rand_shape_nd(3, (dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim, dim=10, allow_zero_size=False):
    """`num_dim` random extents up to `dim` (a number, or one for each)."""
    return tuple(np.random.randint(0 if allow_zero_size else 1, np.asarray(dim) + 1, size=num_dim).tolist())


def rand_coord_2d(x_low, x_high, y_low, y_high):
    """A random (x, y) in the rectangle, upper ends excluded."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def rand_ndarray(shape, stype="default", density=None, dtype=None, modifier_func=None, shuffle_csr_indices=False,
                 distribution=None, ctx=None):  # fmt: skip
    """A random array of a storage type.

    Dense ones are uniform in [0, 1), of sparse ones the share `density` is set.
    """
    if stype == "default":
        return nd.array(np.random.random_sample(shape), dtype=dtype or default_dtype(), ctx=ctx)
    return rand_sparse_ndarray(
        shape, stype, density, dtype, distribution, modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices, ctx=ctx,
    )[0]  # fmt: skip


def rand_sparse_ndarray(shape, stype, density=None, dtype=None, distribution=None, data_init=None, rsp_indices=None,
                        modifier_func=None, shuffle_csr_indices=False, ctx=None):  # fmt: skip
    """(array, its parts as NumPy arrays): (values, indices) of row_sparse, (indptr, indices, values) of csr.

    data_init: a value for all stored elements. rsp_indices: which rows are stored. modifier_func: applied to each
    stored element. distribution: uniform, or (csr) powerlaw, where rows hold 2, 4, 8, ... elements.
    """
    density = float(np.random.rand()) if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    distribution = distribution or "uniform"
    if density < 0 or (stype == "csr" and density > 1):
        raise ValueError(f"density is between 0 and 1, got {density}")
    if stype == "row_sparse":
        if distribution != "uniform":
            raise AssertionError(f"rows of row_sparse arrays are distributed uniformly, got {distribution!r}")
        rows = np.nonzero(np.random.rand(shape[0]) < density)[0] if rsp_indices is None else np.unique(rsp_indices)
        if rows.size > shape[0] or (rows.size and rows.max() >= shape[0]):
            raise AssertionError(f"rows {rows} of an array of {shape[0]} rows")
        values = np.random.rand(rows.size, *shape[1:]).astype(dtype)
        values = _modified(values, data_init, modifier_func)
        made = sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx)
        return made, (values, rows.astype(np.int64))
    if stype != "csr" or len(shape) != 2:
        raise AssertionError(f"storage types are row_sparse, and csr of two axes; got {stype!r} with shape {shape}")
    if min(shape) <= 0:
        raise ValueError(f"a csr array has rows and columns, got shape {shape}")
    mask = _powerlaw(shape, density) if distribution == "powerlaw" else _uniform(shape, density)
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    indices = np.nonzero(mask)[1]
    if distribution == "powerlaw":
        values = 1 + np.random.uniform(0.001, 2, indices.size)
    else:
        values = 1 - np.random.rand(indices.size)  # in (0, 1]: a stored element is none that is left out
    values = _modified(values.astype(dtype), data_init, modifier_func)
    if shuffle_csr_indices:
        for begin, end in itertools.pairwise(indptr):
            np.random.shuffle(indices[begin:end])
    made = sparse.csr_matrix((values, indices, indptr), shape=shape, dtype=dtype, ctx=ctx)
    return made, (indptr.astype(np.int64), indices.astype(np.int64), values)


def shuffle_csr_column_indices(csr):
    """Shuffles the column indices of each row, in a matrix with NumPy parts such as SciPy's."""
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:]):
        np.random.shuffle(csr.indices[begin:end])


def create_sparse_array(shape, stype, data_init=None, rsp_indices=None, dtype=None, modifier_func=None, density=0.5,
                        shuffle_csr_indices=False):  # fmt: skip
    """A sparse array with chosen values and, for row_sparse, chosen rows."""
    if stype == "row_sparse" and rsp_indices is not None:
        rows = np.unique(np.asarray(rsp_indices)).astype(np.int64)
        if rows.size > shape[0]:
            raise AssertionError(f"{rows.size} rows are chosen of {shape[0]}")
        return rand_sparse_ndarray(shape, stype, density, dtype, None, data_init, rows, modifier_func)[0]
    return rand_sparse_ndarray(
        shape, stype, density, dtype, None, data_init, modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]  # fmt: skip


def create_sparse_array_zd(shape, stype, density, data_init=None, rsp_indices=None, dtype=None, modifier_func=None,
                           shuffle_csr_indices=False):  # fmt: skip
    """`create_sparse_array` for a density that may be 0: then no row of a row_sparse array is stored."""
    if stype == "row_sparse" and density == 0 and rsp_indices is not None:
        rsp_indices = np.array([i for i in rsp_indices if i < shape[0]])
    return create_sparse_array(shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices)


def assign_each(the_input, function):
    """A NumPy array of `function` of each element, or a copy without a function."""
    values = np.asarray(the_input)
    return values.copy() if function is None else np.vectorize(function, otypes=[np.float64])(values)


def assign_each2(input1, input2, function):
    """A NumPy array of `function` of each pair of elements, or a copy of the first without a function."""
    if function is None:
        return np.array(input1)
    if input1.shape != input2.shape:
        raise AssertionError(f"the shapes {input1.shape} and {input2.shape} differ")
    return np.vectorize(function, otypes=[np.float64])(input1, input2)


def np_reduce(dat, axis, keepdims, numpy_reduce_func):
    """A NumPy reduction over one or several axes, with or without keeping them."""
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = tuple(sorted(a % dat.ndim for a in axes))
    result = np.asarray(dat)
    for a in reversed(axes):
        result = numpy_reduce_func(result, axis=a)
    return result.reshape([1 if i in axes else n for i, n in enumerate(dat.shape)]) if keepdims else result


def collapse_sum_like(a, shape):
    """The sum of an array over the axes along which one of `shape` is broadcast to it."""
    if len(a.shape) < len(shape):
        raise AssertionError(f"an array of shape {a.shape} has fewer axes than {shape}")
    if np.prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    extra = a.ndim - len(shape)
    axes = [*range(extra), *(i + extra for i, n in enumerate(shape) if n != a.shape[i + extra])]
    return np.sum(a, axis=tuple(axes)).reshape(shape)


def create_2d_tensor(rows, columns, dtype=np.int64):
    """Rows that hold their own number."""
    return nd.broadcast_to(nd.arange(0, rows, dtype=dtype).reshape((rows, 1)), shape=(rows, columns))


def create_2d_np_tensor(rows, columns, dtype=np.int64):
    """`create_2d_tensor` as an `np` array."""
    return create_2d_tensor(rows, columns, dtype).as_np_ndarray()


def create_vector(size, dtype=np.int64):
    """0, 1, ..., size - 1."""
    return nd.arange(0, size, dtype=dtype)


def get_identity_mat(size):
    """The identity matrix."""
    return nd.eye(size)


def get_identity_mat_batch(size):
    """Two identity matrices."""
    return nd.stack(nd.eye(size), nd.eye(size))


def new_matrix_with_real_eigvals_2d(n):
    """A random n x n matrix Q^T D Q' with real eigenvalues."""
    shape = (n, n)
    q = np.ones(shape) / n + np.random.uniform(-0.5, 0.5, shape) + np.eye(n) * n
    d = np.diag(np.random.uniform(-1.0, 1.0, n))
    return np.linalg.inv(q) @ d @ q


def new_matrix_with_real_eigvals_nd(shape):
    """A batch of `new_matrix_with_real_eigvals_2d`."""
    return _batched(shape, new_matrix_with_real_eigvals_2d)


def new_orthonormal_matrix_2d(n):
    """A random orthonormal n x n matrix."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n):
    """A random symmetric n x n matrix."""
    q = new_orthonormal_matrix_2d(n)
    return q.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q


def new_sym_matrix_with_real_eigvals_nd(shape):
    """A batch of `new_sym_matrix_with_real_eigvals_2d`."""
    return _batched(shape, new_sym_matrix_with_real_eigvals_2d)


def _batched(shape, make):
    count = int(np.prod(shape[:-2]))
    return np.stack([make(shape[-1]) for _ in range(count)]).reshape(shape)


def _modified(values, data_init, function):
    if data_init is not None:
        values[...] = data_init
    return values if function is None else assign_each(values, function).astype(values.dtype)


def _uniform(shape, density):
    """Exactly the share `density` of all places."""
    mask = np.zeros(int(np.prod(shape)), bool)
    mask[np.random.permutation(mask.size)[: round(mask.size * density)]] = True
    return mask.reshape(shape)


def _powerlaw(shape, density):
    rows, columns = shape
    left = int(rows * columns * density)
    if left < 2 * rows:
        raise ValueError(
            f"a powerlaw array of shape {shape} needs 2 elements per row, a density of {2 / columns:g} at least; got "
            f"{density}"
        )
    mask = np.zeros(shape, bool)
    mask[:, 0] = True
    left -= rows
    for row in range(rows):
        more = min(columns, 2 ** (row + 1)) - 1
        mask[row, 1 : 1 + min(more, left)] = True
        left -= min(more, left)
    if left > 0:
        raise ValueError(f"a powerlaw array of shape {shape} cannot have a density of {density}")
    return mask
