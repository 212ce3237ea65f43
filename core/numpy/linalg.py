"""`np.linalg`: factorisations, inverses, norms."""

from __future__ import annotations

import math
import numbers

import numpy as onp

from core.base import MXNetError
from core.dtypes import dtype_name
from core.numpy import array_api
from core.numpy import manipulation as _arrays
from core.numpy.fallback import on_the_host
from core.numpy.keywords import explain
from core.numpy.manipulation import expand_dims, moveaxis, squeeze, swapaxes, tril
from core.numpy.multiarray import _as_array, _into, array
from core.numpy.products import cross as _cross
from core.numpy.products import outer as _outer
from core.numpy.products import tensordot
from core.ops import linalg as _table
from core.ops.registry import F

LinAlgError = onp.linalg.LinAlgError


def _square(name, a):
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise MXNetError(f"np.linalg.{name}: square matrices are needed, given the shape {a.shape}")
    if dtype_name(a.dtype) not in ("float32", "float64"):
        raise MXNetError(f"np.linalg.{name}: float32 or float64 is needed, given {dtype_name(a.dtype)}")


def _with_fractions(a):
    """Integers and bools as float64, as NumPy takes them."""
    return a if "float" in dtype_name(a.dtype) else F.Cast(a, dtype="float64")


def inv(a):
    """The inverse of square matrices."""
    _square("inv", a)
    return F._linalg_inverse(a)


def det(a):
    """The determinant of square matrices."""
    _square("det", a)
    return F._reshape_to(F._linalg_det(a), shape=a.shape[:-2])


def slogdet(a):
    """Sign and logarithm of the size of the determinant."""
    _square("slogdet", a)
    sign, log = F._linalg_slogdet(a)
    return F._reshape_to(sign, shape=a.shape[:-2]), F._reshape_to(log, shape=a.shape[:-2])


def cholesky(a, upper=False):
    """The Cholesky factor of symmetric positive definite matrices."""
    _square("cholesky", a)
    return F._linalg_potrf(a, lower=not upper)


def solve(a, b):
    """x with a x = b."""
    a, b = _with_fractions(a), _with_fractions(b)
    _square("solve", a)
    column = b.ndim == a.ndim - 1
    x = F._npi_solve(a, expand_dims(b, -1) if column else b)
    return squeeze(x, -1) if column else x


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b."""
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    rest = a.shape[-(a.ndim - b.ndim) :]
    x = solve(F._reshape_to(a, shape=(b.size, math.prod(rest))), b.reshape(-1))
    return F._reshape_to(x, shape=rest)


def tensorinv(a, ind=2):
    """The inverse with respect to tensordot over `ind` axes."""
    a = _with_fractions(a)
    left, right = a.shape[:ind], a.shape[ind:]
    return F._reshape_to(inv(F._reshape_to(a, shape=(math.prod(left), math.prod(right)))), shape=right + left)


def qr(a, mode="reduced"):
    """Orthogonal Q (..., M, K) and upper triangular R (..., K, N) with a = Q R, K = min(M, N).

    mode: "reduced", or NumPy's "complete" and "r", computed by NumPy without gradients; ValueError for another, and
    inside `autograd.record()` for these two of an array that it tracks.
    """
    a = _with_fractions(a)
    if mode == "reduced":
        return tuple(F._npi_qr(a))
    if mode not in ("complete", "r"):
        raise ValueError(f"qr: mode is 'reduced', 'complete' or 'r', given {mode!r}")
    return on_the_host(onp.linalg.qr, "linalg.qr")(a, mode)


def svd(a):
    """U, singular values and V with a = U diag(s) V."""
    return tuple(F._npi_svd(a))


def eigh(a, UPLO="L", *, upper=None):
    """Eigenvalues in ascending order and eigenvectors (columns) of symmetric matrices.

    The lower triangle is read, or with UPLO="U", in words of the array API with `upper`, the upper one. The largest
    component of each eigenvector is positive, which NumPy leaves to LAPACK.
    """
    a = _with_fractions(a)
    _square("eigh", a)
    if UPLO not in ("L", "U"):
        raise ValueError(f"eigh: UPLO is 'L' or 'U', given {UPLO!r}")
    a = _table.transposed(a) if (UPLO != "L" if upper is None else upper) else a
    return tuple(F._npi_eigh(a))


def eigvalsh(a, UPLO="L", *, upper=None):
    """Eigenvalues of symmetric matrices in ascending order; UPLO, upper: as in `eigh`."""
    return eigh(a, UPLO, upper=upper)[0]


def eig(a):
    """Eigenvalues and eigenvectors (columns) of matrices whose eigenvalues are real."""
    a = _with_fractions(a)
    _square("eig", a)
    return tuple(F._npi_eig(a))


def eigvals(a):
    """Eigenvalues of matrices whose eigenvalues are real."""
    return eig(a)[0]


def pinv(a, rtol=1e-15, hermitian=False, rcond=None):
    """The pseudo-inverse; singular values below rtol (also: rcond) times the largest are zero.

    hermitian: `a` is symmetric, and only what is on and below its diagonal is read.
    """
    rcond = rtol if rcond is None else rcond
    a = _with_fractions(a)
    if hermitian:
        a = tril(a) + swapaxes(tril(a, -1), -2, -1)
    return F._npi_pinv(a, F.Cast(_as_array(rcond, a), dtype=a.dtype))


def matrix_rank(M, tol=None, hermitian=False, rtol=None):
    """The rank of matrices; hermitian: they are symmetric, and only what is on and below their diagonals is read."""
    tol = tol if rtol is None else rtol
    return array(onp.asarray(onp.linalg.matrix_rank(M.asnumpy(), tol, hermitian)), dtype="int64", ctx=M._ctx)


def lstsq(a, b, rcond="warn"):
    """The least squares solution of a x = b: x, residuals, rank (a number of NumPy's int32), singular values."""
    solve_on_the_host = on_the_host(onp.linalg.lstsq, "linalg.lstsq")
    x, residuals, rank, s = solve_on_the_host(a, b, None if rcond == "warn" else rcond)
    return x, residuals, onp.int32(rank), s


def multi_dot(arrays, out=None):
    """The product of several matrices."""
    result = _as_array(arrays[0])
    for a in arrays[1:]:
        result = tensordot(result, a, 1)
    return _into(out, result)


def matrix_power(a, n):
    """A square matrix multiplied with itself n times."""
    base = inv(a) if n < 0 else a
    _square("matrix_power", _with_fractions(a))
    result = None
    for _ in range(abs(n)):
        result = base if result is None else F._matmul(result, base)
    return array(onp.broadcast_to(onp.eye(a.shape[-1]), a.shape), dtype=a.dtype) if result is None else result


def norm(x, ord=None, axis=None, keepdims=False):
    """Norms of vectors and matrices, as NumPy defines them."""
    if ord in ("inf", "-inf"):
        ord = float(ord)
    if axis is None:
        if ord is None:
            flat = F._reshape_to(x, shape=(x.size,))
            return F._reshape_to(_lp(flat, 2, (0,), True), shape=(1,) * x.ndim if keepdims else ())
        axis = tuple(range(x.ndim))
    axis = (axis,) if isinstance(axis, numbers.Integral) else tuple(axis)
    if len(axis) == 1:
        return _lp(x, 2 if ord in (None, "fro") else ord, axis, keepdims)
    if len(axis) != 2:
        raise MXNetError(f"np.linalg.norm: one or two axes have norms, given {axis}")
    if ord in (None, "fro"):
        return _lp(x, 2, axis, keepdims)
    first, second = (a % x.ndim for a in axis)
    if ord in ("nuc", 2, -2):
        values = svd(moveaxis(x, (first, second), (-2, -1)))[1]
        result = {"nuc": F._np_sum, 2: F._np_max, -2: F._np_min}[ord](values, axis=(-1,))
    elif ord in (1, -1, math.inf, -math.inf):
        summed, other = (first, second) if abs(ord) == 1 else (second, first)
        sums = F._np_sum(F.abs(x), axis=(summed,), keepdims=True)
        result = (F._np_max if ord > 0 else F._np_min)(sums, axis=(other,), keepdims=True)
        return result if keepdims else squeeze(result, axis)
    else:
        raise MXNetError(f"np.linalg.norm: order {ord!r} is no norm of matrices")
    return expand_dims(result, tuple(sorted((first, second)))) if keepdims else result


def cond(x, p=None):
    """The condition number: the norm (by default the largest singular value) times that of the inverse."""
    x = _with_fractions(x)
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


def svdvals(a):
    """Singular values in descending order."""
    return svd(a)[1]


def matrix_norm(x, ord="fro", axis=(-2, -1), keepdims=False):
    """Norms of matrices."""
    return norm(x, ord, axis, keepdims)


def vector_norm(x, ord=None, axis=None, keepdims=False):
    """Norms of vectors along an axis, along several, or of all elements."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, numbers.Integral) else tuple(axis)
    return _lp(x, 2 if ord is None else float(ord), axes, keepdims)


def cross(a, b, axis=-1):
    """The cross product of vectors of three elements."""
    return _cross(a, b, axis=axis)


def outer(a, b):
    """The products of each element of a vector with each one of another."""
    return _outer(a, b)


def diagonal(a, offset=0):
    """A diagonal of the last two axes, as the last axis."""
    return _arrays.diagonal(a, offset, -2, -1)


def trace(a, offset=0):
    """The sum of a diagonal of the last two axes."""
    return _arrays.trace(a, offset, -2, -1)


matrix_transpose, vecdot = array_api.matrix_transpose, array_api.vecdot


def _lp(x, p, axis, keepdims):
    if p == math.inf:
        return F._np_max(F.abs(x), axis=axis, keepdims=keepdims)
    if p == -math.inf:
        return F._np_min(F.abs(x), axis=axis, keepdims=keepdims)
    if p == 0:
        return F._np_sum(F.Cast(F._npi_not_equal_scalar(x, scalar=0), dtype=x.dtype), axis=axis, keepdims=keepdims)
    if p == 1:
        return F._np_sum(F.abs(x), axis=axis, keepdims=keepdims)
    if p == 2:
        return F.sqrt(F._np_sum(F.square(x), axis=axis, keepdims=keepdims))
    return F._np_sum(F.abs(x) ** p, axis=axis, keepdims=keepdims) ** (1.0 / p)


explain(globals(), "linalg.")
