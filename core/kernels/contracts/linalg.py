"""Factorisations and triangular systems. Matrices are the last two axes, leading axes a batch; real floating types.

On a GPU matrices of up to 64 rows and columns are computed in Triton, larger ones on the CPU with a warning, as are `pinv`,
`svd`, `eig` and `lstsq` of any size. What raises an error for some values reads back whether it has to. Floors: the bytes
of operands and results.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import broadcast, depends_on_values, empty
from core.kernels.dispatch import kernel


@kernel
def cholesky(a: Tensor, lower: bool) -> Tensor:
    """The triangular L with a = L L^T (or U with a = U^T U). RuntimeError where `a` is not positive definite."""
    return empty(a.shape, a.dtype)


@kernel
def triangular_solve(a: Tensor, b: Tensor, lower: bool, transpose: bool, rightside: bool) -> Tensor:
    """x with op(a) x = b, or x op(a) = b with `rightside`; only the named triangle of `a` is read.

    Zeros on its diagonal give infinities and NaN.
    """
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@kernel
def inverse(a: Tensor) -> Tensor:
    """The inverse of each matrix. RuntimeError where one is singular."""
    return empty(a.shape, a.dtype)


@kernel
def pinv(a: Tensor, cutoff: Tensor) -> Tensor:
    """The pseudo-inverse; singular values up to `cutoff` (of the shape of the leading axes, or of one value) times the
    largest count as zero.
    """
    return empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@kernel
def solve(a: Tensor, b: Tensor) -> Tensor:
    """x with a x = b. RuntimeError where `a` is singular."""
    if b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]):  # vectors
        return empty((*broadcast([a.shape[:-2], b.shape[:-1]]), b.shape[-1]), b.dtype)
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@kernel
def det(a: Tensor) -> Tensor:
    """The determinant of each matrix; 0 where it is singular."""
    return empty(a.shape[:-2], a.dtype)


@kernel
def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    """Sign and logarithm of the size of each determinant; 0 and minus infinity where it is singular."""
    return empty(a.shape[:-2], a.dtype), empty(a.shape[:-2], a.dtype)


@kernel
def qr(a: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    """Orthogonal Q and upper triangular R with a = Q R, signs as LAPACK leaves them."""
    *batch, m, n = a.shape
    k = m if complete else min(m, n)
    return empty((*batch, m, k), a.dtype), empty((*batch, k, n), a.dtype)


@kernel
def lq(a: Tensor) -> tuple[Tensor, Tensor]:
    """Q with orthonormal rows and lower triangular L with a = L Q, signs as LAPACK leaves them."""
    *batch, m, n = a.shape
    return empty((*batch, min(m, n), n), a.dtype), empty((*batch, m, min(m, n)), a.dtype)


@kernel
def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order and eigenvectors (columns) of symmetric matrices; the lower triangle is read.

    The largest component of each eigenvector is positive. Where an element is NaN or infinite there is NaN, or, from LAPACK
    for some matrices, RuntimeError.
    """
    return empty(a.shape[:-1], a.dtype), empty(a.shape, a.dtype)


@kernel
def syevd(a: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of eigenvectors, the largest component of each positive, and eigenvalues in ascending order.

    Where an element is NaN or infinite, as in `eigh`.
    """
    return empty(a.shape, a.dtype), empty(a.shape[:-1], a.dtype)


@kernel
def svd(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, singular values and V^T of each matrix, reduced."""
    *batch, m, n = a.shape
    k = min(m, n)
    return empty((*batch, m, k), a.dtype), empty((*batch, k), a.dtype), empty((*batch, k, n), a.dtype)


@kernel
def eig(a: Tensor) -> tuple[Tensor, Tensor]:
    """Real parts of the eigenvalues and of the eigenvectors of general matrices.

    RuntimeError where they are complex.
    """
    return empty(a.shape[:-1], a.dtype), empty(a.shape, a.dtype)


@kernel
def lstsq(a: Tensor, b: Tensor, rcond: float | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Least squares: solution, sums of squared residuals, rank, singular values."""
    raise depends_on_values("linalg.lstsq")
