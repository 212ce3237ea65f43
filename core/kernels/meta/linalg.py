"""Rules for the kernels of `linalg` on tensors without memory."""

from core.kernels.meta.base import broadcast, empty, enter, like_first

enter("linalg", "cholesky", "inverse")(like_first)


@enter("linalg")
def triangular_solve(a, b, lower, transpose, rightside):
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@enter("linalg")
def det(a):
    return empty(a.shape[:-2], a.dtype)


@enter("linalg")
def slogdet(a):
    return det(a), det(a)


@enter("linalg", "eigh", "eig")
def eigen(a):
    return empty(a.shape[:-1], a.dtype), empty(a.shape, a.dtype)


@enter("linalg")
def syevd(a):
    return eigen(a)[::-1]


@enter("linalg")
def pinv(a, cutoff):
    return empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@enter("linalg")
def solve(a, b):
    if b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]):  # vectors
        return empty((*broadcast([a.shape[:-2], b.shape[:-1]]), b.shape[-1]), b.dtype)
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), b.dtype)


@enter("linalg")
def qr(a, complete=False):
    *batch, m, n = a.shape
    k = m if complete else min(m, n)
    return empty((*batch, m, k), a.dtype), empty((*batch, k, n), a.dtype)


@enter("linalg")
def lq(a):
    *batch, m, n = a.shape
    return empty((*batch, min(m, n), n), a.dtype), empty((*batch, m, min(m, n)), a.dtype)


@enter("linalg")
def svd(a):
    *batch, m, n = a.shape
    k = min(m, n)
    return empty((*batch, m, k), a.dtype), empty((*batch, k), a.dtype), empty((*batch, k, n), a.dtype)
