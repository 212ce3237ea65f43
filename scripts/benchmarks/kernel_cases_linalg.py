"""Cases of the factorisations and systems of small matrices, in float32, beside PyTorch's (cuSOLVER, MAGMA or its own)."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from core import kernels
from scripts.benchmarks.kernel_case import Case, Lab

SIZES = (8, 32, 64)
BATCH = 4096


def linear_algebra(lab: Lab) -> Iterator[Case]:
    """Batches of square matrices; those of symmetric kinds are positive definite."""
    family = kernels.linalg
    for size in SIZES:
        n, batch = lab.extent(size, size // 8 + 2), lab.extent(BATCH, 3)

        def general(n=n, batch=batch):
            return (lab.draw(batch, n, n, dtype=torch.float32) + n * torch.eye(n, device=lab.device),)

        def definite(general=general):
            (a,) = general()
            return (a @ a.mT,)

        def system(general=general):
            (a,) = general()
            return a, lab.draw(*a.shape, dtype=torch.float32)

        for name, make, ours, theirs in [
            ("Cholesky", definite, lambda a: family.cholesky(a, True), torch.linalg.cholesky),
            ("triangular system", system, lambda a, b: family.triangular_solve(a, b, True, False, False),
             lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)),
            ("inverse", general, family.inverse, torch.linalg.inv),
            ("system", system, family.solve, torch.linalg.solve),
            ("logarithm of the determinant", general, family.slogdet, lambda a: tuple(torch.linalg.slogdet(a))),
            ("QR", general, family.qr, lambda a: tuple(torch.linalg.qr(a))),
            ("eigenvalues", definite, lambda a: family.eigh(a)[0], lambda a: torch.linalg.eigh(a)[0]),
        ]:  # fmt: skip
            yield Case("linear algebra", f"{name}, {batch} of {n} x {n}", make, ours, theirs)
