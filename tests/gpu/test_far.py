"""Arrays of more than 2^31 elements on a GPU: what lies at their end is read and written there."""

import pytest
import torch

from core import kernels
from core.kernels.formula import Formula

pytestmark = pytest.mark.gpu
N = 2**31 + 4099


@pytest.fixture
def far():
    """Zeros with a 1 at the end."""
    if torch.cuda.mem_get_info()[0] < 16 << 30:
        pytest.skip("needs 16 GiB of free GPU memory")
    x = torch.zeros(N, dtype=torch.int8, device="cuda")
    x[-1] = 1
    yield x
    del x
    torch.cuda.empty_cache()


def test_pointwise(far):
    y = kernels.pointwise.pointwise(Formula.of(lambda x: x * 3 + 1, name="far"), (far,), (), torch.int8)
    assert (int(y[-1]), int(y[-2]), int(y[2**31])) == (4, 1, 1)


def test_reductions(far):
    assert int(kernels.reduce.sum(far, (0,), False, torch.int64)) == 1
    assert int(kernels.reduce.argmax(far, 0, False)) == N - 1


def test_rows(far):
    rows = far[: 2**31 + 4096].view(-1, 4096)
    rows[-1, -1] = 1
    assert kernels.reduce.sum(rows, (1,), False, torch.int64)[-1] == 1
    half = torch.zeros(rows.shape, dtype=torch.float16, device="cuda")
    half[-1, 0] = 10
    y = kernels.softmax.softmax(half, 1)
    assert y[-1, 0] > 0.8 and abs(float(y[-2, 5]) - 1 / 4096) < 1e-6


def test_places(far):
    taken = kernels.index.embedding(torch.tensor([N // 8 - 1], device="cuda"), far[: N // 8 * 8].view(-1, 8))
    assert taken.shape == (1, 8) and int(taken.sum()) == 0
