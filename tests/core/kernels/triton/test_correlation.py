"""Triton's correlation against the CPU backend, which tests/core/ops holds to MXNet's answers and to differences."""

import pytest
import torch

from core.kernels.cpu import correlation as reference
from core.kernels.triton import correlation


@pytest.mark.parametrize("multiply", [True, False])
@pytest.mark.parametrize("how", [(1, 1, 1, 1, 1), (3, 2, 2, 2, 3), (1, 2, 2, 1, 0)])
def test_correlation_and_its_gradients(how, multiply, device):
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        first, second = torch.randn(2, 2, 3, 5, 7, dtype=dtype)
        want = reference.correlate(first, second, *how, multiply)
        got = correlation.correlate(first.to(device), second.to(device), *how, multiply)
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
        dy = torch.randn(want.shape, dtype=dtype)
        want = reference.correlate_grad(dy, first, second, *how, multiply)
        got = correlation.correlate_grad(*(t.to(device) for t in (dy, first, second)), *how, multiply)
        for mine, true in zip(got, want, strict=True):
            torch.testing.assert_close(mine.cpu(), true, rtol=tolerance, atol=tolerance)


MAPS, HEAD = torch.randn(2, 1, 1, 3, 3), torch.randn(1, 9, 3, 3)
SAMPLES = [
    lambda: correlation.correlate(*MAPS.unbind(0), 1, 1, 1, 1, 1, True),
    lambda: correlation.correlate_grad(HEAD, *MAPS.unbind(0), 1, 1, 1, 1, 1, False),
]
