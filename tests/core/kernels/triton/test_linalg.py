"""Triton's factorisations and systems of small matrices against LAPACK, by the CPU's functions and NumPy."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import linalg as cpu
from core.kernels.triton import linalg

pytestmark = pytest.mark.usefixtures("on_device")

KINDS = {torch.float32: 2e-4, torch.float64: 1e-11}
SHAPES = [(1, 1), (3, 3), (2, 3, 5, 5), (64, 64), (0, 3, 3)]
INF, NAN = float("inf"), float("nan")


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    torch.manual_seed(0)
    return request.param


def draw(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, device="cpu")


def dominant(*shape, dtype):
    """Matrices far from singular, rows in an order that asks for pivots."""
    a = draw(*shape, dtype=dtype)
    return (a + shape[-1] * torch.eye(shape[-1], dtype=dtype, device="cpu")).flip(-1)


def definite(*shape, dtype):
    a = draw(*shape, dtype=dtype)
    return a @ a.mT + torch.eye(shape[-1], dtype=dtype, device="cpu")


def near(mine, true, kind):
    mine = mine.cpu()
    assert mine.shape == true.shape and mine.dtype is true.dtype
    scale = (true.abs().max() if true.numel() else 0) or 1
    torch.testing.assert_close(mine / scale, true / scale, rtol=0, atol=KINDS[kind])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_cholesky(shape, lower, kind, device):
    a = definite(*shape, dtype=kind)
    near(linalg.cholesky(a.to(device), lower), cpu.cholesky(a, lower), kind)
    other = torch.where(torch.ones(shape[-2:], device="cpu").tril() > 0, a, NAN)  # the other triangle is not read
    given = other if lower else other.mT
    near(linalg.cholesky(given.to(device), lower), cpu.cholesky(given, lower), kind)


@pytest.mark.parametrize("rightside", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [True, False])
def test_triangular_solve(lower, transpose, rightside, kind, device):
    for lead, n, sides in [((), 1, 1), ((2, 3), 5, 3), ((2,), 64, 35), ((0,), 3, 2)]:
        a = draw(*lead, n, n, dtype=kind) / n + torch.eye(n, dtype=kind, device="cpu")
        b = draw(*lead, *((sides, n) if rightside else (n, sides)), dtype=kind)
        how = lower, transpose, rightside
        near(linalg.triangular_solve(a.to(device), b.to(device), *how), cpu.triangular_solve(a, b, *how), kind)
    a, b = draw(3, 1, 4, 4, dtype=kind) + 4 * torch.eye(4, dtype=kind, device="cpu"), draw(2, 4, 4, dtype=kind).mT
    near(linalg.triangular_solve(a.to(device), b.to(device), *how), cpu.triangular_solve(a, b, *how), kind)


@pytest.mark.parametrize("lower", [True, False])
def test_triangular_systems_with_zeros_on_the_diagonal(lower, kind, device):
    a = torch.tensor([[2.0, 5, 1], [3, 0, 4], [1, 2, 5]], dtype=kind, device="cpu")
    b = torch.tensor([[1.0, 0], [2, 0], [3, 0]], dtype=kind, device="cpu")
    mine = linalg.triangular_solve(a.to(device), b.to(device), lower, False, False).cpu()
    true = cpu.triangular_solve(a, b, lower, False, False)
    assert not true.isfinite().all()
    torch.testing.assert_close(mine, true, equal_nan=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_inverses_and_determinants(shape, kind, device):
    a = dominant(*shape, dtype=kind)
    near(linalg.inverse(a.to(device)), cpu.inverse(a), kind)
    sign, size = linalg.slogdet(a.to(device))
    true = cpu.slogdet(a)
    assert torch.equal(sign.cpu(), true[0])
    near(size, true[1], kind)
    a /= shape[-1]
    near(linalg.det(a.to(device)), cpu.det(a), kind)


def test_systems(kind, device):
    a = dominant(2, 1, 7, 7, dtype=kind)
    cases = [
        (a, draw(3, 7, 40, dtype=kind)), (a[0, 0], draw(7, dtype=kind)), (a[:, 0], draw(2, 7, dtype=kind)),
        (a[:, 0], draw(7, dtype=kind)), (a[0, 0].mT, draw(3, 7, dtype=kind).mT), (a, draw(2, 1, 7, 0, dtype=kind)),
    ]  # fmt: skip
    for a, b in cases:
        near(linalg.solve(a.to(device), b.to(device)), cpu.solve(a, b), kind)


def test_elimination_is_as_stable_as_lapacks(device):
    """Tiny pivots on the diagonal, which only the choice of others survives, and a condition number of 10^7."""
    a = draw(30, 30)
    a[range(30), range(30)] = 1e-18
    b = draw(30, 2)
    for matrix, limit in ((a, 1e-12), (torch.tensor(np.vander(np.linspace(0.1, 2, 8)), device="cpu"), 1e-13)):
        b = draw(matrix.shape[0], 2)
        x = linalg.solve(matrix.to(device), b.to(device)).cpu()
        assert (matrix @ x - b).abs().max() < limit * matrix.abs().max() * x.abs().max()


@pytest.mark.parametrize(
    "name, matrices",
    [
        ("cholesky", [[[1.0, 2], [2, 1]], [[0.0, 0], [0, 0]], [[NAN, 0], [0, 1]], [[1.0, NAN], [NAN, 1]]]),
        ("inverse", [[[1.0, 2], [2, 4]], [[0.0, 0], [0, 0]], [[0.0, 1], [0, 1]]]),
        ("solve", [[[1.0, 2], [2, 4]], [[0.0, 0], [0, 0]]]),
    ],
)
def test_errors_are_the_cpus(name, matrices, kind, device):
    for rows in matrices:
        one = torch.tensor(rows, dtype=kind, device="cpu")
        for a in (one, torch.stack([torch.eye(2, dtype=kind, device="cpu"), one, one])):
            rest = {"cholesky": (True,), "solve": (a,)}.get(name, ())
            with pytest.raises(RuntimeError) as true:
                getattr(cpu, name)(a, *rest)
            moved = [t.to(device) if isinstance(t, torch.Tensor) else t for t in (a, *rest)]
            with pytest.raises(RuntimeError) as mine:
                getattr(linalg, name)(*moved)
            assert str(mine.value) == str(true.value)


def test_singular_matrices_have_determinants(kind, device):
    a = torch.tensor([[[1.0, 2], [2, 4]], [[0, 0], [0, 0]], [[NAN, 1], [1, 1]], [[0, 2], [3, 0]]], device="cpu").to(
        kind
    )
    torch.testing.assert_close(linalg.det(a.to(device)).cpu(), cpu.det(a), equal_nan=True)
    for mine, true in zip(linalg.slogdet(a.to(device)), cpu.slogdet(a), strict=True):
        torch.testing.assert_close(mine.cpu(), true, equal_nan=True)


def test_not_a_number_stays(kind, device):
    a = dominant(2, 5, 5, dtype=kind)
    a[1, 2, 3] = NAN
    for mine, true in [
        (linalg.inverse(a.to(device)), cpu.inverse(a)),
        (linalg.solve(a.to(device), a.to(device)), cpu.solve(a, a)),
        *zip(linalg.qr(a.to(device)), cpu.qr(a), strict=True),
    ]:
        assert torch.equal(mine.cpu().isnan().any(-1).any(-1), true.isnan().any(-1).any(-1))
        near(mine[0], true[0], kind)


RECTANGLES = [(1, 1), (1, 4), (4, 1), (2, 3, 3), (2, 5, 3), (3, 2, 4, 7), (0, 3, 2), (64, 9), (5, 64), (64, 64)]


@pytest.mark.parametrize("shape", RECTANGLES)
def test_qr(shape, kind, device):
    a = draw(*shape, dtype=kind)
    for complete in (False, True):
        for mine, true in zip(linalg.qr(a.to(device), complete), cpu.qr(a, complete), strict=True):
            near(mine, true, kind)
    for mine, true in zip(linalg.lq(a.mT.to(device)), cpu.lq(a.mT), strict=True):
        near(mine, true, kind)


def test_qr_of_columns_that_vanish_or_are_huge(kind, device):
    a = draw(4, 4, dtype=kind)
    a[:, 1], a[1:, 0] = 0, 0
    for scale in (1.0, 1e30, 1e-30):  # whose squares are not float32's
        for mine, true in zip(linalg.qr(a.to(device) * scale), cpu.qr(a * scale), strict=True):
            near(mine, true, kind)


def symmetric(*shape, dtype):
    a = draw(*shape, dtype=dtype)
    return a + a.mT


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 1, 5, 5), (2, 2, 2), (18, 18), (0, 3, 3)])
def test_eigenproblems(shape, kind, device):
    a = symmetric(*shape, dtype=kind)
    values, vectors = (t.cpu() for t in linalg.eigh(a.tril().to(device)))
    near(values, cpu.eigh(a)[0], kind)
    n = shape[-1]
    near(vectors * values[..., None, :], a @ vectors, kind)
    near(vectors.mT.contiguous() @ vectors, torch.eye(n, dtype=kind, device="cpu").expand(*shape), kind)
    rows, same = (t.cpu() for t in linalg.syevd(a.to(device)))
    assert torch.equal(same, values) and torch.equal(rows, vectors.mT)


def test_eigenvalues_that_coincide_or_are_there_already(kind, device):
    ones = torch.ones(6, 6, dtype=kind, device="cpu")
    for a in (ones, 0 * ones, torch.diag(torch.tensor([3.0, -1, 2, 2, 0, 5], dtype=kind, device="cpu")), ones * 1e30):
        values, vectors = (t.cpu() for t in linalg.eigh(a.to(device)))
        near(values, cpu.eigh(a)[0], kind)
        near(vectors * values, a @ vectors, kind)


@pytest.mark.parametrize("wrong", [NAN, INF])
def test_eigenvalues_of_what_is_not_finite(wrong, kind, device):
    a = symmetric(2, 4, 4, dtype=kind)
    a[1, 2, 1] = wrong
    values, vectors = (t.cpu() for t in linalg.eigh(a.to(device)))
    near(values[0], cpu.eigh(a[0])[0], kind)
    assert values[1].isnan().all() and vectors[1].isnan().all()


def test_eigenvectors_have_the_cpus_signs(kind, device):
    """Which are such that the largest component of each is positive."""
    a = symmetric(3, 5, 5, dtype=kind)
    true = cpu.eigh(a)[1]
    assert (true.amax(-2) == true.abs().amax(-2)).all()
    torch.testing.assert_close(linalg.eigh(a.to(device))[1].cpu(), true, rtol=0, atol=50 * KINDS[kind])
    rows = cpu.syevd(a)[0]
    torch.testing.assert_close(linalg.syevd(a.to(device))[0].cpu(), rows, rtol=0, atol=50 * KINDS[kind])


def test_what_is_larger_goes_through_the_cpu(device):
    a = dominant(65, 65, dtype=torch.float64)
    near(linalg.inverse(a.to(device)), cpu.inverse(a), torch.float64)
    near(linalg.qr(a.to(device))[0], cpu.qr(a)[0], torch.float64)
    near(linalg.det(a[:0, :0].to(device)), cpu.det(a[:0, :0]), torch.float64)


@pytest.mark.parametrize(
    "name, given",
    [
        ("cholesky", ((2, 3), True)), ("inverse", ((2, 3),)), ("solve", ((3, 3), (2, 2))), ("det", ((2, 3),)),
        ("triangular_solve", ((3, 3), (4, 2), True, False, False)),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_the_cpus_errors(name, given, device):
    given = [torch.ones(x, device="cpu") if isinstance(x, tuple) else x for x in given]
    with pytest.raises(RuntimeError) as true:
        getattr(cpu, name)(*given)
    with pytest.raises(RuntimeError) as mine:
        getattr(linalg, name)(*(x.to(device) if isinstance(x, torch.Tensor) else x for x in given))
    assert str(mine.value) == str(true.value)


EYE, WIDE = torch.eye(5).expand(2, 5, 5), torch.ones(2, 5, 7)
SAMPLES = [
    lambda: linalg.cholesky(EYE, False),
    lambda: linalg.triangular_solve(EYE, WIDE, True, False, False),
    lambda: linalg.triangular_solve(EYE[0], WIDE.mT, True, True, True),
    lambda: linalg.inverse(EYE),
    lambda: linalg.solve(EYE, WIDE),
    lambda: linalg.solve(EYE[:, :1, :1], WIDE[:, :1, :1]),
    lambda: linalg.det(EYE),
    lambda: linalg.slogdet(EYE),
    lambda: linalg.qr(WIDE, True),
    lambda: linalg.qr(WIDE[:, :1, :1]),
    lambda: linalg.lq(WIDE),
    lambda: linalg.eigh(EYE),
    lambda: linalg.syevd(EYE[:, :1, :1]),
]
