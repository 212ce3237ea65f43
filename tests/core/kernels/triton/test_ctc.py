"""Triton's connectionist temporal classification against the CPU backend, which sums all paths."""

import pytest
import torch

from core.kernels.cpu import ctc as reference
from core.kernels.triton import ctc

LABEL = torch.tensor([[1, 1, 2], [3, 2, 0], [2, 0, 0], [3, 3, 3]])
COUNTS, LENGTHS = torch.tensor([3, 2, 0, 3]), torch.tensor([6, 3, 5, 2])


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize(("blank", "dtype"), [(0, torch.float32), (4, torch.float64)])
def test_loss_and_gradient(lengths, blank, dtype, device):
    data, dy = torch.randn(6, 4, 5, dtype=dtype), torch.randn(4, dtype=dtype)
    if lengths is not None:
        data[3:, 1] = float("nan")  # behind the end
    tolerance = 1e-5 if dtype is torch.float32 else 1e-11
    given = data, LABEL, COUNTS.to(dtype), lengths, blank
    moved = [t.to(device) if isinstance(t, torch.Tensor) else t for t in given]
    for mine, true in (
        (ctc.loss(*moved), reference.loss(*given)),
        (ctc.loss_grad(dy.to(device), *moved), reference.loss_grad(dy, *given)),
    ):
        assert true.isfinite().all()
        torch.testing.assert_close(mine.cpu(), true, rtol=tolerance, atol=tolerance)


def test_one_step_and_no_sequences(device):
    data, one = torch.randn(1, 1, 2), torch.ones(1, 1)
    want = reference.loss_grad(one[0], data, one, one[0], None, 0)
    torch.testing.assert_close(ctc.loss_grad(*(t.to(device) for t in (one[0], data, one, one[0])), None, 0).cpu(), want)
    none = torch.zeros(3, 0, 2, device=device)
    assert ctc.loss_grad(none[0, :, 0], none, none[0, :, :1], none[0, :, 0], None, 0).shape == none.shape


DATA, ONES = torch.randn(2, 1, 3), torch.ones(1)
SAMPLES = [
    lambda: ctc.loss(DATA, ONES[None], ONES, None, 0),
    lambda: ctc.loss_grad(ONES, DATA, ONES[None], ONES, ONES, 0),
]
