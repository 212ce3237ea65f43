"""Triton samplers: moments within 5 standard errors, bounds, repeatability."""

import os

import pytest
import torch

from core.kernels.triton import random
from tests.core.kernels import sampling

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
N = 1500 if INTERPRETED else 1_000_000
KEY = (1 << 62) + 123
F = torch.float32
NAMES = list(sampling.samplers(random, N, "cpu"))


@pytest.mark.parametrize("name", NAMES)
def test_moments(name, device):
    sampling.check_moments(sampling.samplers(random, N, device)[name], N, F, KEY)


@pytest.mark.parametrize("name", ["uniform", "normal", "randint", "gamma"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16], ids=str)
def test_other_precisions(name, dtype, device):
    sampling.check_moments(sampling.samplers(random, N, device)[name], N, dtype, KEY)


@pytest.mark.parametrize("name", ["uniform", "normal", "randint", "bernoulli", "gamma", "poisson"])
def test_key_decides(name, device):
    sampling.check_keys(sampling.samplers(random, N, device)[name], N)


def test_integers_cover_their_range(device):
    x = random.randint((N,), -3, 5, torch.int8, device, KEY)
    assert set(x.tolist()) == set(range(-3, 5))
    assert random.randint((5,), 4, 5, torch.int64, device, KEY).tolist() == [4] * 5
    x = random.randint((N,), 0, 1 << 62, torch.int64, device, KEY).double() / 2.0**62
    assert abs(x.mean() - 0.5) < 5 * (1 / 12 / N) ** 0.5 and x.min() < 0.01 and x.max() > 0.99


def test_parameters_broadcast(device):
    low, high = torch.tensor([[0.0], [5.0]], device=device), torch.tensor([1.0, 10.0, 7.0], device=device)
    x = random.uniform((2, 3), low, high, F, device, KEY)
    assert ((x >= torch.minimum(low, high)) & (x <= torch.maximum(low, high))).all()
    scale = torch.tensor([[1.0], [100.0]], device=device)
    stds = random.normal((2, N), 0.0, scale, F, device, KEY).std(1)
    assert abs(stds[0] - 1) < 0.15 and abs(stds[1] - 100) < 15
    p = torch.tensor([[0.0], [0.25], [1.0]], device=device)
    means = random.bernoulli((3, N), p, F, device, KEY).mean(1)
    assert means[0] == 0 and means[2] == 1 and abs(means[1] - 0.25) < 5 * (0.1875 / N) ** 0.5
    alpha = torch.tensor([[0.0], [0.5]], device=device)
    x = random.generalized_negative_binomial((2, N), 2.0, alpha, F, device, KEY)
    assert abs(x[0].var() - 2) < 0.5 and abs(x[1].var() - 4) < 1.3
    assert not random.gamma((3,), 0.0, 1.0, F, device, KEY).any()


def test_multinomial_follows_the_weights(device):
    probs = torch.tensor([[0.1, 0.0, 0.9], [3.0, 1.0, 0.0]])
    x = random.multinomial(probs.to(device), N, KEY).cpu()
    assert x.shape == (2, N) and x.dtype is torch.int64
    for row, p in zip(x, probs / probs.sum(1, keepdim=True), strict=True):
        share = torch.bincount(row, minlength=3) / N
        assert ((share - p).abs() <= 5 * (p * (1 - p) / N).sqrt()).all()
    assert random.multinomial(probs[0].to(device), 4, KEY).shape == (4,)


def test_permutation(device):
    x = random.permutation(60, device, KEY)
    assert sorted(x.tolist()) == list(range(60)) and x.tolist() != list(range(60))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dropout_is_linear_and_repeatable(dtype, device):
    x = torch.randn(30, 40).to(device, dtype)
    y = random.dropout(x, 0.3, KEY)
    kept = y != 0
    assert y.dtype is dtype and abs(kept.double().mean() - 0.7) < 5 * (0.21 / x.numel()) ** 0.5
    torch.testing.assert_close(y[kept], (x / 0.7)[kept], rtol=1e-2 if dtype is torch.bfloat16 else 1e-6, atol=0)
    assert ((random.dropout(torch.ones_like(x), 0.3, KEY) != 0) == kept).all()
    assert ((random.dropout(x.t().contiguous().t(), 0.3, KEY) != 0) == kept).all()


def test_dropout_broadcasts_its_mask_along_axes(device):
    y = random.dropout(torch.ones(5, 40, 6, device=device), 0.5, KEY, (0, 2))
    assert (y == y[:1, :, :1]).all() and set(y.flatten().tolist()) == {0.0, 2.0}
    assert not random.dropout(torch.ones(4, device=device), 1.0, KEY).any()


def test_keys_may_lie_in_memory(device):
    key = torch.tensor([KEY], device=device)
    for draw in (
        lambda key: random.normal((7,), 0.0, 1.0, torch.float32, device, key),
        lambda key: random.gamma((7,), 0.5, 1.0, torch.float32, device, key),
        lambda key: random.randint((7,), -5, 9, torch.int32, device, key),
        lambda key: random.dropout(torch.ones(3, 40, device=device), 0.5, key, (0,)),
    ):
        assert torch.equal(draw(key), draw(KEY)) and not torch.equal(draw(key), draw(KEY + 1))


_P = torch.full((3, 2), 0.5)
SAMPLES = [
    lambda: random.uniform((5,), 0.0, 1.0, F, "cpu", 1),
    lambda: random.normal((3, 2), _P, _P, F, "cpu", 1),
    lambda: random.randint((5,), 0, 9, torch.int32, "cpu", 1),
    lambda: random.bernoulli((3, 2), _P, F, "cpu", 1),
    lambda: random.exponential((5,), 1.0, F, "cpu", 1),
    lambda: random.gamma((3, 2), _P, 1.0, F, "cpu", 1),
    lambda: random.poisson((3, 2), _P, F, "cpu", 1),
    lambda: random.negative_binomial((5,), 3, 0.5, F, "cpu", 1),
    lambda: random.generalized_negative_binomial((3, 2), _P, 0.5, F, "cpu", 1),
    lambda: random.multinomial(_P, 3, 1),
    lambda: random.permutation(5, "cpu", 1),
    lambda: random.dropout(_P, 0.5, 1),
    lambda: random.dropout(_P, 0.5, 1, (0,)),
]
