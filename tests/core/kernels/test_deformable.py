"""Columns of deformable convolutions (CPU backend): without shifts those of a convolution; gradients as differences."""

import torch

from core.kernels.cpu import deformable, vision

WINDOW = (3, 2), (1, 2), (1, 2), (1, 0)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def operands(groups, masked):
    offset = numbers(2, groups * 12, 5, 2, seed=1) * 1.5
    return numbers(2, 4, 5, 6), offset, numbers(2, groups * 6, 5, 2, seed=2).abs() if masked else None


def test_without_shifts_they_are_the_windows_of_a_convolution():
    data, offset, _ = operands(1, False)
    offset = torch.zeros_like(offset)
    want = vision.columns(data, *WINDOW).reshape(2, 4, 6, 10)
    for mask in (None, torch.ones_like(offset[:, ::2])):
        torch.testing.assert_close(deformable.columns(data, offset, mask, *WINDOW, 1), want)


def test_gradients_are_the_differences():
    for groups, masked in ((1, False), (2, True)):
        inputs = [t for t in operands(groups, masked) if t is not None]
        rest = () if masked else (None,)
        head = numbers(*deformable.columns(*inputs, *rest, *WINDOW, groups).shape, seed=3)
        found = deformable.columns_grad(head, *inputs, *rest, *WINDOW, groups)

        def objective(*moved, groups=groups, rest=rest, head=head):
            return (deformable.columns(*moved, *rest, *WINDOW, groups) * head).sum()

        for k, x in enumerate(inputs):
            step = numbers(*x.shape, seed=4) * 1e-7
            ahead, behind = ([*inputs[:k], x + s, *inputs[k + 1 :]] for s in (step, -step))
            slope = (objective(*ahead) - objective(*behind)) / 2
            torch.testing.assert_close((found[k] * step).sum(), slope, rtol=1e-5, atol=1e-12)
