"""Matrix products of the Triton backend against float64 NumPy."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

from core.base import MXNetError
from core.kernels.triton import matmul as family
from core.kernels.triton import tiles
from core.kernels.triton.targets import TARGETS
from tests.core.kernels.naive import relative_error
from tests.support.side_by_side import run_side_by_side

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
ACTIVATIONS = {
    None: lambda y: y,
    "relu": lambda y: np.maximum(y, 0),
    "gelu": lambda y: 0.5 * y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))),
    "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
    "tanh": np.tanh,
    "silu": lambda y: y / (1 + np.exp(-y)),
    "hard_swish": lambda y: y * np.clip(y + 3, 0, 6) / 6,
    "hard_gate": lambda y: np.clip(y + 3, 0, 6) / 6,
    "relu6": lambda y: np.clip(y, 0, 6),
}
# M, N, K: the first three have aligned rows and go through TMA descriptors in 16 and 32 bits, the others do not.
SHAPES = [(16, 24, 32), (72, 136, 40), (8, 8, 1024), (5, 7, 3), (1, 1, 1), (67, 1, 131), (1, 13, 300), (3, 2, 520)]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("transpose_a, transpose_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_matmul(shape, transpose_a, transpose_b, dtype, device):
    m, n, k = shape
    a = tensor((k, m) if transpose_a else (m, k), dtype, device)
    b = tensor((n, k) if transpose_b else (k, n), dtype, device)
    got = family.matmul(a, b, transpose_a, transpose_b)
    assert got.dtype == dtype and got.is_contiguous()
    want = exact(a.mT if transpose_a else a) @ exact(b.mT if transpose_b else b)
    assert relative_error(exact(got), want) < LIMITS[dtype]


@pytest.mark.parametrize(
    "a_shape, b_shape",
    [
        ((3, 5, 7), (3, 7, 4)),
        ((2, 3, 5, 7), (2, 3, 7, 4)),
        ((3, 5, 7), (7, 4)),
        ((5, 7), (3, 7, 4)),
        ((2, 8, 16), (16, 8)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_batches(a_shape, b_shape, dtype, device):
    a, b = tensor(a_shape, dtype, device), tensor(b_shape, dtype, device)
    assert relative_error(exact(family.matmul(a, b)), exact(a) @ exact(b)) < LIMITS[dtype]
    swapped = family.matmul(b.mT, a.mT)
    assert relative_error(exact(swapped), exact(b.mT) @ exact(a.mT)) < LIMITS[dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_odd_operands_are_copied_when_that_pays(dtype, device, monkeypatch):
    monkeypatch.setattr(family, "_WORTH_COPIES", 0)
    x, w, b, r = (tensor(shape, dtype, device) for shape in ((17, 19), (21, 19), (21,), (17, 21)))
    got = family.linear(x, w, b, "relu", r)
    assert got.is_contiguous()
    want = np.maximum(exact(x) @ exact(w).T + exact(b) + exact(r), 0)
    assert relative_error(exact(got), want) < LIMITS[dtype]
    batch = tensor((3, 18, 17), dtype, device)
    got = family.matmul(batch, x)
    assert relative_error(exact(got), exact(batch) @ exact(x)) < LIMITS[dtype]
    monkeypatch.setattr(family, "_padded", None)  # a row would be copied sixteenfold
    got = family.matmul(x[:1], w, transpose_b=True)
    assert relative_error(exact(got), exact(x[:1]) @ exact(w).T) < LIMITS[dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_odd_extents_in_aligned_rows_are_not_copied(dtype, device, monkeypatch):
    """Descriptors end where a matrix does, whatever comes behind it in a row."""
    monkeypatch.setattr(family, "_WORTH_COPIES", 0)
    monkeypatch.setattr(family, "_padded", None)
    x, w = (tensor((n, 40), dtype, device)[:, :35] for n in (17, 24))
    out = torch.full((17, 24), torch.nan, dtype=torch.float32, device=device)
    assert family._linear(x, w, None, None, None, torch.float32, out) is not None
    assert relative_error(exact(out), exact(x) @ exact(w).T) < LIMITS[dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("transpose_a, transpose_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "a_batch, b_batch, m, n, k", [(3, 3, 72, 136, 40), (3, 1, 17, 24, 35), (1, 3, 65, 8, 8), (2, 2, 8, 16, 520)]
)
def test_batches_go_through_descriptors(a_batch, b_batch, m, n, k, transpose_a, transpose_b, dtype, device, by):
    """In rows that begin at multiples of 16 bytes, whatever their lengths; nothing is written behind a matrix."""
    by("descriptors")
    a, b = (
        tensor((batch, rows, -(-columns // 8) * 8), dtype, device)[:, :, :columns]
        for batch, rows, columns in ((a_batch, *((k, m) if transpose_a else (m, k))),
                                     (b_batch, *((n, k) if transpose_b else (k, n))))
    )  # fmt: skip
    batches = max(a_batch, b_batch)
    got = family.matmul(*(t.expand(batches, -1, -1) for t in (a, b)), transpose_a, transpose_b)
    want = exact(a.mT if transpose_a else a) @ exact(b.mT if transpose_b else b)
    assert got.is_contiguous() and relative_error(exact(got), want) < LIMITS[dtype]


@pytest.mark.parametrize(
    "between",
    [
        lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),  # rows of one matrix among those of the others
        lambda t: t.flatten().as_strided((3, 16, 32), (80, 40, 1)),  # matrices that overlap
        lambda t: torch.cat([t, t]).flatten().as_strided((3, 16, 32), (648, 40, 1)),
        lambda t: torch.nn.functional.pad(t, (0, 1))[:, :, :32],  # rows that begin anywhere
    ],
    ids=["interleaved", "overlapping", "no whole number of lines", "unaligned"],
)
def test_which_batches_go_by_pointers(between, device, by):
    t = between(tensor((3, 16, 32), torch.float16, device))
    w = tensor((3, 32, 8), torch.float16, device)
    by("pointers")
    assert relative_error(exact(family.matmul(t, w)), exact(t) @ exact(w)) < 1e-2
    assert relative_error(exact(family.matmul(w, t, True, True)), exact(t @ w).transpose(0, 2, 1)) < 1e-2


@pytest.fixture
def by(monkeypatch):
    """Demands that products take one way."""

    def demand(way):
        monkeypatch.setattr(family, {"descriptors": "_launch_pointers", "pointers": "_launch_tma"}[way], None)

    return demand


def test_one_matrix_for_a_batch_is_read_as_one(device):
    a, b = tensor((5, 8), torch.float32, device).expand(3, 5, 8), tensor((8, 7), torch.float32, device).expand(3, 8, 7)
    got = family.matmul(a, b)
    assert got.shape == (3, 5, 7) and relative_error(exact(got), exact(a) @ exact(b)) < 1e-5


# M, N, K. In tiles of 16 x 16, on five processors: seven tiles, three (of which each is begun by two programs), twelve
# (five of them made whole), and 27; with odd rows, and a last block of K that is not full.
SHARED = [(101, 16, 248), (48, 16, 264), (179, 16, 256), (48, 136, 248)]


@pytest.fixture(params=[("cuda:90", 16), ("cuda:90", 128), ("cuda:80", 16)], ids=str)
def balanced(request, monkeypatch):
    """Products are shared out among five processors, with descriptors or without; counts them."""
    name, columns = request.param
    five = dataclasses.replace(TARGETS[name], processors=5)
    config = family._tiles(16, columns, 16, 4, 2, BALANCED=True)
    monkeypatch.setattr(family, "target_of", lambda device: five)
    for size, table in itertools.product((2, 4), (family.TMA_CONFIGS, family.POINTER_CONFIGS, family.ODD_CONFIGS)):
        monkeypatch.setitem(table, size, [config])
    found, shares_of = [], family.shares_of
    monkeypatch.setattr(family, "shares_of", lambda *sizes: found.append(shares_of(*sizes)) or found[-1])
    return found


@pytest.mark.parametrize(
    "dtype, transpose_a, transpose_b",
    [(torch.float32, False, True), (torch.float16, True, False), (torch.bfloat16, False, False)],
)
@pytest.mark.parametrize("m, n, k", SHARED)
def test_tiles_are_shared_out(m, n, k, transpose_a, transpose_b, dtype, device, balanced):
    a, b = (
        tensor((rows, -(-columns // 8) * 8), dtype, device)[:, :columns]
        for rows, columns in ((k, m) if transpose_a else (m, k), (n, k) if transpose_b else (k, n))
    )
    got, again = (family.matmul(a, b, transpose_a, transpose_b) for _ in range(2))
    assert balanced[0] is not None
    want = exact(a.mT if transpose_a else a) @ exact(b.mT if transpose_b else b)
    assert relative_error(exact(got), want) < LIMITS[dtype] and torch.equal(got, again)


@pytest.mark.parametrize("bias, residual", [(True, False), (True, True)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_shared_tiles_are_ended_once(bias, residual, dtype, device, balanced):
    x, w, b, r = (tensor(shape, dtype, device) for shape in ((101, 248), (16, 248), (16,), (101, 16)))
    got = family.linear(x, w, b if bias else None, "gelu", r if residual else None)
    y = exact(x) @ exact(w).T + exact(b) * bias + exact(r) * residual
    assert balanced == [(0, 23)] and relative_error(exact(got), ACTIVATIONS["gelu"](y)) < LIMITS[dtype]


@pytest.mark.parametrize("a_batch, b_batch", [(3, 3), (3, 1), (1, 3)])
def test_batches_are_shared_out(a_batch, b_batch, device, balanced):
    a, b = tensor((a_batch, 50, 248), torch.float16, device), tensor((b_batch, 248, 16), torch.float16, device)
    got = family.matmul(*(t.expand(3, -1, -1) for t in (a, b)))
    assert balanced == [(1, 23)] and relative_error(exact(got), exact(a) @ exact(b)) < 1e-2


@pytest.mark.interpreter
@pytest.mark.parametrize("m, n, k", SHARED[:3])
def test_programs_that_share_a_tile_wait(m, n, k, balanced, monkeypatch):
    """Each in a thread; what is read before another one wrote it is NaN here."""
    a, b = tensor((m, k), torch.float32, "cpu"), tensor((k, n), torch.float32, "cpu")
    expected = family.matmul(a, b)
    run_side_by_side(monkeypatch, family._gemm_balanced, family._gemm_balanced_pointers)
    assert torch.equal(family.matmul(a, b), expected)


def test_strides(device):
    a, b = tensor((9, 20), torch.float32, device)[1::2, 3::3], tensor((12, 14), torch.float32, device)[::2, 1:9:2]
    b = b[: a.shape[1]]
    assert relative_error(exact(family.matmul(a, b)), exact(a) @ exact(b)) < 1e-5
    same = tensor((1, 6), torch.float32, device).expand(5, 6)
    assert relative_error(exact(family.matmul(same, b)), exact(same) @ exact(b)) < 1e-5


@pytest.mark.parametrize("m, n, k", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_empty(m, n, k, device):
    got = family.matmul(torch.ones(m, k, device=device), torch.ones(k, n, device=device))
    assert torch.equal(got, torch.zeros(m, n, device=device))
    assert family.matmul(torch.ones(0, m, k, device=device), torch.ones(0, k, n, device=device)).shape == (0, m, n)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=str)
def test_integers(dtype, device):
    a, b = (
        torch.arange(35, dtype=dtype, device=device).view(5, 7),
        torch.arange(21, dtype=dtype, device=device).view(7, 3),
    )
    want = (a.cpu().numpy() @ b.cpu().numpy()).astype(str(dtype).removeprefix("torch."))
    np.testing.assert_array_equal(family.matmul(a, b).cpu().numpy(), want)


@pytest.mark.parametrize(
    "activation, dtype", [*((name, torch.float32) for name in ACTIVATIONS), *(("gelu", dtype) for dtype in LIMITS)]
)
@pytest.mark.parametrize("bias, residual", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("n, k", [(7, 13), (24, 16), (160, 16), (8, 1024)])
def test_linear(n, k, bias, residual, activation, dtype, device):
    x, w, b, r = (tensor(shape, dtype, device) for shape in ((2, 3, k), (n, k), (n,), (2, 3, n)))
    got = family.linear(x, w, b if bias else None, activation, r if residual else None)
    y = exact(x) @ exact(w).T + exact(b) * bias + exact(r) * residual
    assert got.dtype == dtype and got.shape == (2, 3, n)
    assert relative_error(exact(got), ACTIVATIONS[activation](y)) < LIMITS[dtype]


def test_errors(device):
    one = torch.ones(1, 2, device=device)
    with pytest.raises(MXNetError, match=r"'swish'.*relu"):
        family.linear(one, one, activation="swish")
    with pytest.raises(MXNetError, match="dtypes"):
        family.matmul(one, one.half(), transpose_b=True)
    with pytest.raises(MXNetError, match="inner extents"):
        family.matmul(one, one)


def test_long_sums_are_split():
    assert tiles.split_along(4096, 64, 4, 132) == (8, 512)
    assert tiles.split_along(4096, 64, 200, 132) == (1, 4096)
    assert tiles.split_along(0, 64, 1, 132) == (1, 64)


def tensor(shape, dtype, device):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype)


def exact(t):
    return t.double().cpu().numpy()


def _samples():
    for dtype in (torch.float32, torch.float16):
        for m, n, k in ((16, 16, 32), (5, 7, 3), (8, 8, 1024)):
            x, w, b, r = (torch.ones(shape, dtype=dtype) for shape in ((m, k), (n, k), (n,), (m, n)))
            yield lambda x=x, w=w, b=b, r=r: family.linear(x, w, b, "gelu", r)
            yield lambda x=x, w=w: family.matmul(x, w, transpose_b=True)
    batch = torch.ones(2, 3, 4, 5)
    yield lambda: family.matmul(batch, batch, transpose_a=True)


SAMPLES = list(_samples())
