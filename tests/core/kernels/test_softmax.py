"""Softmax, log-softmax and cross-entropy of the CPU backend against float64 formulas and their finite differences."""

import time

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import softmax as family

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
CASES = [((7,), 0), ((5, 7), 1), ((5, 7), 0), ((3, 5, 2), 1), ((3, 1), 1), ((2, 0), 1), ((0, 3), 1)]


def draw(shape, dtype=torch.float64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def close(ours, truth, dtype):
    assert ours.shape == truth.shape and ours.dtype == dtype
    assert (ours.double() - truth).norm() <= TOLERANCE[dtype] * max(truth.norm(), 1e-3)


def log_softmax64(x, axis):
    x = x.double()
    return x - x.exp().sum(axis, keepdim=True).log()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", CASES)
def test_softmax_and_gradients(shape, axis, dtype):
    x, dy = draw(shape, dtype), draw(shape, dtype, 1)
    log_y = log_softmax64(x, axis)
    y = log_y.exp()
    close(family.softmax(x, axis), y, dtype)
    close(family.log_softmax(x, axis), log_y, dtype)
    wide = dy.double()
    close(family.softmax_grad(dy, y.to(dtype), axis), y * (wide - (wide * y).sum(axis, keepdim=True)), dtype)
    close(family.log_softmax_grad(dy, log_y.to(dtype), axis), wide - y * wide.sum(axis, keepdim=True), dtype)


def test_large_values():
    x = torch.tensor([[1e4, 1e4 - 1, -1e4], [-float("inf"), 0.0, -float("inf")]])
    assert torch.isfinite(family.softmax(x, 1)).all()
    assert family.softmax(x, 1)[1].tolist() == [0, 1, 0]
    assert abs(family.log_softmax(x, 1)[0, 0].item() + np.log1p(np.exp(-1))) < 1e-3


def test_sums_of_float16_are_rounded_at_every_step(monkeypatch):
    """As MXNet 1.9.1 does, bit for bit, unless it is told to accumulate safely."""
    x = draw((4, 300), torch.float16)
    below = (x.numpy() - x.numpy().max(1, keepdims=True)).astype("float32")
    total = np.zeros(4, "float16")
    for column in np.exp(below).T:
        total = (total.astype("float32") + column).astype("float16")
    total = total.astype("float32")[:, None]
    np.testing.assert_array_max_ulp(family.softmax(x, 1).numpy(), (np.exp(below) / total).astype("float16"))
    np.testing.assert_array_max_ulp(family.log_softmax(x, 1).numpy(), (below - np.log(total)).astype("float16"))
    ones = torch.zeros((1, 5000), dtype=torch.float16)
    assert family.softmax(ones, 1)[0, 0].item() == 1 / 2048
    monkeypatch.setenv("MXNET_SAFE_ACCUMULATION", "1")
    assert abs(family.softmax(ones, 1)[0, 0].item() - 1 / 5000) < 1e-7


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_masked_softmax(axis):
    x = draw((4, 5, 3), torch.float32)
    rest = [n for a, n in enumerate(x.shape) if a != axis]
    length = torch.from_numpy(np.random.default_rng(2).integers(0, x.shape[axis] + 1, rest)).int()
    length.view(-1)[0] = 0
    y = family.masked_softmax(x, length, axis)
    rows, lengths = y.movedim(axis, -1).reshape(-1, x.shape[axis]), length.reshape(-1)
    for row, source, n in zip(rows, x.movedim(axis, -1).reshape(-1, x.shape[axis]), lengths.tolist()):
        assert row[n:].tolist() == [0] * (len(row) - n)
        close(row[:n], log_softmax64(source[:n], 0).exp(), torch.float32)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", [((5, 7), 1), ((5, 7), 0), ((3, 5, 2), 1), ((7,), 0), ((0, 3), 1)])
def test_cross_entropy(shape, axis, dtype):
    logits = draw(shape, dtype)
    rest = [n for a, n in enumerate(shape) if a != axis]
    label = torch.from_numpy(np.random.default_rng(3).integers(0, shape[axis], rest))
    dloss = draw(rest, dtype, 4)
    truth = -log_softmax64(logits, axis).gather(axis, label.unsqueeze(axis)).squeeze(axis)
    close(family.cross_entropy(logits, label.float(), axis), truth, dtype)
    onehot = torch.zeros(shape, dtype=torch.float64).scatter_(axis, label.unsqueeze(axis), 1.0)
    grad = (log_softmax64(logits, axis).exp() - onehot) * dloss.double().unsqueeze(axis)
    close(family.cross_entropy_grad(dloss, logits, label.int(), axis), grad, dtype)


def test_labels_are_clipped():
    logits = draw((2, 3))
    inside, outside = torch.tensor([0, 2]), torch.tensor([-4.0, 9.0])
    assert torch.equal(family.cross_entropy(logits, inside, 1), family.cross_entropy(logits, outside, 1))


def test_shapes_are_inferred_on_meta():
    x, label = torch.empty(4, 3, device="meta"), torch.empty(4, device="meta")
    assert kernels.softmax.masked_softmax(x, label.int(), 1).shape == (4, 3)
    assert kernels.softmax.cross_entropy(x, label, 1).shape == (4,)
    assert kernels.softmax.cross_entropy_grad(label, x, label, 1).shape == (4, 3)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_long_rows_of_halves_add_in_float32(name):
    """Up to 8192 elements as MXNet, which rounds the sum at every step; a sum of ones ends at 2048 then."""
    function, exact = getattr(family, name), getattr(torch, name)
    numbers = torch.randn((2, 200_000), generator=torch.Generator().manual_seed(0)).half()
    started = time.process_time()
    found = function(numbers, 1)
    assert time.process_time() - started < 0.2  # 0.9 s a row, step by step
    torch.testing.assert_close(found.float(), exact(numbers.double(), 1).float(), rtol=2e-3, atol=1e-6)
    for length, sum_of_ones in ((8192, 2048), (16384, 16384)):
        assert family.softmax(torch.zeros((1, length)).half(), 1)[0, 0].item() == 1 / sum_of_ones
    uneven = torch.linspace(-8, 0, 2048).half().view(1, -1)
    total, shifted = torch.zeros(()), (uneven - uneven.max()).float()
    for part in shifted.exp()[0]:
        total = (total + part).half().float()
    wanted = shifted.exp() / total if name == "softmax" else shifted - total.log()
    assert (function(uneven, 1) == wanted.half()).all()
