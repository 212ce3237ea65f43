"""The Triton softmax kernels against the CPU backend in float64."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import softmax as truth
from core.kernels.triton import softmax as family

pytestmark = pytest.mark.usefixtures("on_device")

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
CASES = [((7,), 0), ((5, 13), 1), ((5, 7), 0), ((3, 5, 2), 1), ((2, 3, 2, 5), 1), ((3, 1), 1), ((1, 3000), 1)]
EMPTY = [((0, 3), 1), ((3, 0), 1), ((3, 0), 0)]


def draw(shape, dtype=torch.float32, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def lengths(shape, axis):
    rest = [n for a, n in enumerate(shape) if a != axis]
    length = torch.tensor(np.random.default_rng(5).integers(0, shape[axis] + 1, rest)).int()
    if length.numel() > 1:
        length.view(-1)[0] = 0
    return length


def close(ours, expected, dtype):
    assert ours.shape == expected.shape and ours.dtype == dtype
    assert (ours.double().cpu() - expected).norm() <= TOLERANCE[dtype] * max(expected.norm(), 1e-3)


def compare(x, axis, dtype):
    wide, dy = x.double().cpu(), draw(x.shape, dtype, 1)
    for name in ("softmax", "log_softmax"):
        y = getattr(truth, name)(wide, axis)
        close(getattr(family, name)(x, axis), y, dtype)
        grad = getattr(truth, name + "_grad")(dy.double().cpu(), y.to(dtype).double(), axis)
        close(getattr(family, name + "_grad")(dy, y.to(x.device, dtype), axis), grad, dtype)
    length = lengths(x.shape, axis)
    close(family.masked_softmax(x, length, axis), truth.masked_softmax(wide, length.cpu(), axis), dtype)
    if x.shape[axis]:
        label, dloss = length.float() - 1, draw(length.shape, dtype, 2)
        close(family.cross_entropy(x, label, axis), truth.cross_entropy(wide, label.cpu(), axis), dtype)
        grad = truth.cross_entropy_grad(dloss.double().cpu(), wide, label.cpu(), axis)
        close(family.cross_entropy_grad(dloss, x, label, axis), grad, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", CASES + EMPTY)
def test_against_float64(shape, axis, dtype):
    compare(draw(shape, dtype), axis, dtype)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_longer_than_a_tile(axis, monkeypatch):
    monkeypatch.setattr(family, "ROW", 8)
    monkeypatch.setattr(family, "STEP", 4)
    compare(draw((2, 13) if axis else (13, 2)) * 10, axis, torch.float32)
    monkeypatch.setattr(family, "WIDE", 4)
    compare(draw((2, 13) if axis else (13, 2)) * 10, axis, torch.float32)


def test_layouts():
    x = draw((2, 5, 3, 4))
    compare(x.permute(0, 3, 1, 2), 1, torch.float32)
    compare(x[:, ::2], 3, torch.float32)
    last = x.contiguous(memory_format=torch.channels_last)
    compare(last, 1, torch.float32)
    assert family.softmax(last, 1).is_contiguous(memory_format=torch.channels_last)


def test_extreme_values():
    inf = float("inf")
    x = torch.tensor([[1e4, 1e4 - 1, -1e4], [-inf, 0.0, -inf], [1.0, float("nan"), 2.0], [-inf] * 3])
    for name in ("softmax", "log_softmax"):
        assert torch.allclose(getattr(family, name)(x, 1).cpu(), getattr(truth, name)(x.cpu(), 1), equal_nan=True)


X, LABEL = torch.ones(3, 5), torch.ones(3)
SEEN = LABEL.int()
SAMPLES = [
    lambda: family.softmax(X, 1),
    lambda: family.log_softmax(X, 0),
    lambda: family.softmax_grad(X, X, 1),
    lambda: family.log_softmax_grad(X.mT, X.mT, 1),
    lambda: family.masked_softmax(X, SEEN, 1),
    lambda: family.cross_entropy(X, LABEL, 1),
    lambda: family.cross_entropy_grad(LABEL, X, LABEL, 1),
]
