"""CPU samplers: moments within 5 standard errors, bounds, repeatability."""

import pytest
import torch

from core import kernels
from core.kernels.cpu import random
from tests.core.kernels import sampling

N = 40_000
KEY = 123
F = torch.float32

SAMPLERS = sampling.samplers(random, N, "cpu")


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_moments(name, dtype):
    sampling.check_moments(SAMPLERS[name], N, dtype, KEY)


@pytest.mark.parametrize("name", SAMPLERS)
def test_key_decides(name):
    sampling.check_keys(SAMPLERS[name], N)


def test_bounds_and_broadcast_parameters():
    low, high = torch.tensor([[0.0], [5.0]]), torch.tensor([1.0, 10.0, 7.0])
    x = random.uniform((2, 3), low, high, F, "cpu", KEY)
    assert ((x >= torch.minimum(low, high)) & (x <= torch.maximum(low, high))).all()
    scale = torch.tensor([[1.0], [100.0]])
    stds = random.normal((2, N), 0.0, scale, F, "cpu", KEY).std(1)
    assert abs(stds[0] - 1) < 0.02 and abs(stds[1] - 100) < 2
    p = torch.tensor([[0.0], [0.25], [1.0]])
    means = random.bernoulli((3, N), p, F, "cpu", KEY).mean(1)
    assert means[0] == 0 and means[2] == 1 and abs(means[1] - 0.25) < 5 * (0.1875 / N) ** 0.5
    x = random.randint((N,), -3, 5, torch.int8, "cpu", KEY)
    assert set(x.unique().tolist()) == set(range(-3, 5))
    alpha = torch.tensor([[0.0], [0.5]])
    x = random.generalized_negative_binomial((2, N), 2.0, alpha, F, "cpu", KEY)
    assert abs(x[0].var() - 2) < 0.1 and abs(x[1].var() - 4) < 0.25


def test_multinomial_follows_the_weights():
    probs = torch.tensor([[0.1, 0.0, 0.9], [3.0, 1.0, 0.0]])
    x = random.multinomial(probs, N, KEY)
    assert x.shape == (2, N) and x.dtype is torch.int64
    for row, p in zip(x, probs / probs.sum(1, keepdim=True), strict=True):
        share = torch.bincount(row, minlength=3) / N
        assert ((share - p).abs() <= 5 * (p * (1 - p) / N).sqrt()).all()
    assert random.multinomial(probs[0], 4, KEY).shape == (4,)


def test_permutation():
    x = random.permutation(1000, "cpu", KEY)
    assert (x.sort().values == torch.arange(1000)).all() and (x != torch.arange(1000)).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dropout_is_linear_and_repeatable(dtype):
    x = torch.randn(200, 100, dtype=dtype)
    y = random.dropout(x, 0.3, KEY)
    kept = y != 0
    assert y.dtype is dtype and abs(kept.double().mean() - 0.7) < 5 * (0.21 / x.numel()) ** 0.5
    torch.testing.assert_close(y[kept], (x / 0.7)[kept], rtol=1e-2 if dtype is torch.bfloat16 else 1e-6, atol=0)
    assert ((random.dropout(torch.ones_like(x), 0.3, KEY) != 0) == kept).all()
    assert ((random.dropout(x.t().contiguous().t(), 0.3, KEY) != 0) == kept).all()


def test_dropout_broadcasts_its_mask_along_axes():
    y = random.dropout(torch.ones(50, 40, 6), 0.5, KEY, (0, 2))
    assert (y == y[:1, :, :1]).all() and set(y.unique().tolist()) == {0.0, 2.0}
    assert not random.dropout(torch.ones(4), 1.0, KEY).any()


def test_shapes_on_meta():
    assert kernels.random.gamma((2, 3), 1.0, 1.0, F, torch.device("meta"), KEY).shape == (2, 3)
    assert kernels.random.negative_binomial((2, 3), 1, 0.5, F, torch.device("meta"), KEY).shape == (2, 3)
    assert kernels.random.multinomial(torch.empty(2, 3, device="meta"), 5, KEY).shape == (2, 5)
    assert kernels.random.randint((2,), 0, 3, torch.int32, torch.device("meta"), KEY).is_meta
    assert kernels.random.dropout(torch.empty(2, 3, device="meta"), 0.5, KEY).is_meta
    assert kernels.random.permutation(5, torch.device("meta"), KEY).shape == (5,)
