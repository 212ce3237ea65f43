"""Gathers, scatters and other kernels that move elements by integer indices.

Index tensors may be of any integer type; the operator layer has clipped or wrapped those of one axis into range. Those
of several axes, and those along an axis, may be negative and then count from the end. Outside of several axes the CPU
raises IndexError; a GPU, which could do so only after it has been waited for, takes the nearest position. Where several
elements are written to one position, `scatter_nd` keeps the last. Sums of half types add in float32, in the order of
the indices on a CPU and under `core.kernels.deterministic()`, else in any order. Floor: the bytes of the rows that are
read, of those that are written, and of the indices.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from core.kernels.contracts.rules import broadcast, depends_on_values, empty, fits, without
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel


@kernel
def clipped(indices: Tensor, n: int) -> Tensor:
    """Indices as int64 (floats truncated), those out of range moved to 0 or n - 1."""
    return empty(indices.shape, torch.int64)


@kernel
def wrapped(indices: Tensor, n: int) -> Tensor:
    """Indices as int64 (floats truncated), counted modulo n."""
    return empty(indices.shape, torch.int64)


@kernel
def take(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Slices of `x` along `axis`: result shape x.shape[:axis] + indices.shape + x.shape[axis + 1:]."""
    return empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@kernel
def take_grad(dy: Tensor, indices: Tensor, axis: int, x_shape: Ints) -> Tensor:
    """Gradient of `take` with respect to `x` (shape `x_shape`)."""
    return empty(x_shape, dy.dtype)


@kernel
def embedding(indices: Tensor, weight: Tensor) -> Tensor:
    """Rows of `weight` (V, D): result indices.shape + (D,)."""
    return empty((*indices.shape, *weight.shape[1:]), weight.dtype)


@kernel
def embedding_grad(dy: Tensor, indices: Tensor, weight_shape: Ints) -> Tensor:
    """Gradient of `embedding` with respect to the weight of shape (V, D)."""
    return empty(weight_shape, dy.dtype)


@kernel
def csr_dot(values: Tensor, columns: Tensor, starts: Tensor, x: Tensor) -> Tensor:
    """The product of a CSR matrix (R, N), its rows at `starts` (R + 1,), with x (N, D): (R, D), of the type of x.

    Half types add in float32. Floor: the rows of x that are named, once for each value, and the result.
    """
    return empty((starts.shape[0] - 1, *x.shape[1:]), x.dtype)


@kernel
def pick(x: Tensor, indices: Tensor, axis: int, keepdims: bool) -> Tensor:
    """One element of each row along `axis`; `indices` has the shape of `x` without that axis."""
    axis %= x.dim()
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    fits(len(rest) == indices.dim() and all(map(operator.le, indices.shape, rest)), "pick", x, indices)
    shape = list(indices.shape)
    if keepdims:
        shape.insert(axis, 1)
    return empty(shape, x.dtype)


@kernel
def pick_grad(dy: Tensor, indices: Tensor, axis: int, x_shape: Ints) -> Tensor:
    """Gradient of `pick` with respect to `x`; `dy` with or without the picked axis."""
    return empty(x_shape, dy.dtype)


@kernel
def gather_nd(x: Tensor, indices: Tensor) -> Tensor:
    """y[j...] = x[indices[0, j...], ..., indices[M - 1, j...]], indices (M, ...) of the first M axes."""
    return empty((*indices.shape[1:], *x.shape[indices.shape[0] :]), x.dtype)


@kernel
def scatter_nd(data: Tensor, indices: Tensor, shape: Ints) -> Tensor:
    """Zeros of `shape` with `data` written at `indices` (M, ...); of several writes the last one stays."""
    return empty(shape, data.dtype)


@kernel
def scatter_nd_add(data: Tensor, indices: Tensor, shape: Ints) -> Tensor:
    """Zeros of `shape` with `data` added at `indices` (M, ...): the gradient of `gather_nd`."""
    return empty(shape, data.dtype)


@kernel
def gather_along(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """NumPy's take_along_axis: shapes broadcast on all axes but `axis`."""
    axis %= x.dim()
    shape = list(broadcast([without(x.shape, axis), without(indices.shape, axis)]))
    shape.insert(axis, indices.shape[axis])
    return empty(shape, x.dtype)


@kernel
def scatter_along_add(dy: Tensor, indices: Tensor, axis: int, x_shape: Ints) -> Tensor:
    """Gradient of `gather_along` with respect to `x` (shape `x_shape`)."""
    return empty(x_shape, dy.dtype)


@kernel
def one_hot(indices: Tensor, depth: int, on_value: float, off_value: float, dtype: torch.dtype) -> Tensor:
    """indices.shape + (depth,): `on_value` at the index, `off_value` elsewhere; none for an index out of range."""
    return empty((*indices.shape, depth), dtype)


@kernel
def index_get(x: Tensor, index_tuple: Sequence[Tensor | None]) -> Tensor:
    """Advanced indexing: one index tensor (integers, or a boolean mask) or None for each leading axis of `x`."""
    axes = [axis for axis, i in enumerate(index_tuple) if i is not None]
    given = [i for i in index_tuple if i is not None]
    if any(i.dtype is torch.bool for i in given):
        raise depends_on_values("index.index_get with a mask")
    rest = [n for axis, n in enumerate(x.shape) if axis not in axes]
    at = axes[0] if axes == [*range(axes[0], axes[-1] + 1)] else 0
    return empty((*rest[:at], *broadcast([i.shape for i in given]), *rest[at:]), x.dtype)


@kernel
def index_put(x: Tensor, index_tuple: Sequence[Tensor | None], value: Tensor, accumulate: bool) -> Tensor:
    """A copy of `x` with `value` (broadcast) written, or added, at the positions that `index_get` would read."""
    return empty(x.shape, x.dtype)


@kernel
def sequence_reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """`x` (T, N, ...) with the first lengths[n] steps of every sequence reversed (all T with `lengths` None)."""
    return empty(x.shape, x.dtype)


@kernel
def nonzero(x: Tensor) -> Tensor:
    """Coordinates (n, ndim) of the nonzero elements in row-major order, int64; `n` depends on the data."""
    raise depends_on_values("index.nonzero")


@kernel
def check(indices: Tensor, n: int) -> None:
    """IndexError where an index is outside [0, n)."""
    return None


@kernel
def wrapped_negative(indices: Tensor, n: int) -> Tensor:
    """Indices as int64, negative ones counted from the end."""
    return empty(indices.shape, torch.int64)


@kernel
def index_put_(
    base: Tensor, view: Tensor, index_tuple: Sequence[Tensor | None], value: Tensor, accumulate: bool
) -> Tensor:
    """`base`, in whose memory `value` was written, or added, at the positions that `index_get` would read in `view`.

    What is added has one element for each that is read, in whatever shape, and adds up where positions repeat; what is
    written broadcasts.
    """
    return base
