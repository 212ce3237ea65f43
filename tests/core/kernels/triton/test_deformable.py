"""Triton columns of deformable convolutions against the CPU backend, whose gradients are the differences."""

import pytest
import torch

from core import kernels
from core.kernels.cpu import deformable as reference
from core.kernels.triton import deformable

WINDOW = (3, 2), (1, 2), (1, 2), (1, 0)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def operands(batch, groups, masked):
    offset = numbers(batch, groups * 12, 5, 2, seed=1) * 1.5
    return numbers(batch, 4, 5, 6), offset, numbers(batch, groups * 6, 5, 2, seed=2).abs() if masked else None


@pytest.mark.parametrize(("batch", "groups", "masked"), [(2, 1, False), (1, 2, True), (0, 1, True)])
def test_columns_and_their_gradients(batch, groups, masked, device):
    data, offset, mask = operands(batch, groups, masked)
    moved = [None if t is None else t.to(device) for t in (data, offset, mask)]
    want = reference.columns(data, offset, mask, *WINDOW, groups)
    close([deformable.columns(*moved, *WINDOW, groups)], [want])
    head = numbers(*want.shape, seed=3)
    want = reference.columns_grad(head, data, offset, mask, *WINDOW, groups)
    for deterministic in (False, True):
        before = kernels.set_deterministic(deterministic)
        try:
            close(deformable.columns_grad(head.to(device), *moved, *WINDOW, groups), want)
        finally:
            kernels.set_deterministic(before)


def test_double_precision(device):
    data, offset, mask = (t.double() for t in operands(1, 1, True))
    moved = [t.to(device) for t in (data, offset, mask)]
    want = reference.columns(data, offset, mask, *WINDOW, 1)
    close([deformable.columns(*moved, *WINDOW, 1)], [want], 1e-12)


def close(got, want, tolerance=1e-5):
    for mine, true in zip(got, want, strict=True):
        torch.testing.assert_close(mine.cpu(), true, rtol=tolerance, atol=tolerance)


DATA, OFFSET, MASK = operands(1, 1, True)
SAMPLES = [
    lambda: deformable.columns(DATA, OFFSET, None, *WINDOW, 1),
    lambda: deformable.columns_grad(DATA.new_zeros(1, 4, 6, 10), DATA, OFFSET, MASK, *WINDOW, 1),
]
