"""Factorisations and triangular systems on the CPU, through LAPACK. Matrices are the last two axes."""

from __future__ import annotations

import torch

Tensor = torch.Tensor


def cholesky(a: Tensor, lower: bool) -> Tensor:
    return torch.linalg.cholesky(a, upper=not lower)


def triangular_solve(a: Tensor, b: Tensor, lower: bool, transpose: bool, rightside: bool) -> Tensor:
    if transpose:
        a, lower = a.transpose(-2, -1), not lower
    return torch.linalg.solve_triangular(a, b, upper=not lower, left=not rightside)


def inverse(a: Tensor) -> Tensor:
    return torch.linalg.inv(a)


def pinv(a: Tensor, cutoff: Tensor) -> Tensor:
    return torch.linalg.pinv(a, atol=torch.zeros_like(cutoff), rtol=cutoff)


def solve(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.solve(a, b)


def det(a: Tensor) -> Tensor:
    return torch.linalg.det(a)


def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    sign, log = torch.linalg.slogdet(a)
    return sign, log


def qr(a: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    q, r = torch.linalg.qr(a, mode="complete" if complete else "reduced")
    return q, r


def lq(a: Tensor) -> tuple[Tensor, Tensor]:
    q, r = torch.linalg.qr(a.transpose(-2, -1))
    return q.transpose(-2, -1).contiguous(), r.transpose(-2, -1).contiguous()


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(a)
    if not vectors.numel():
        return values, vectors
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
    return values, vectors * torch.where(largest < 0, -1.0, 1.0).to(a.dtype)


def syevd(a: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = eigh(a)
    return vectors.transpose(-2, -1).contiguous(), values


def svd(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vt = torch.linalg.svd(a, full_matrices=False)
    return u, s, vt


def eig(a: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eig(a)
    if bool((values.imag.abs() > 1e-6 * (1 + values.real.abs())).any()):
        raise RuntimeError("the eigenvalues are complex; only real ones are supported")
    return values.real.contiguous(), vectors.real.contiguous()


def lstsq(a: Tensor, b: Tensor, rcond: float | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    result = torch.linalg.lstsq(a, b, rcond=rcond, driver="gelsd")
    return result.solution, result.residuals, result.rank, result.singular_values
