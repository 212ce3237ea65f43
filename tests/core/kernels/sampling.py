"""Samplers with known moments, for the tests of both backends."""

import torch


def samplers(room, n, device):
    """By name: a function of dtype and key, mean, variance, and fourth central moment over the squared variance."""

    def of(name, *parameters):
        return lambda dtype, key: getattr(room, name)((n,), *parameters, dtype, device, key)

    return {
        "uniform": (of("uniform", -1.0, 3.0), 1.0, 16 / 12, 1.8),
        "normal": (of("normal", 2.0, 3.0), 2.0, 9.0, 3.0),
        "randint": (of("randint", -3, 5), 0.5, 63 / 12, 1.8),
        "bernoulli": (of("bernoulli", 0.3), 0.3, 0.21, 1 / 0.21 - 3),
        "exponential": (of("exponential", 2.0), 2.0, 4.0, 9.0),
        "gamma": (of("gamma", 3.0, 0.5), 1.5, 0.75, 3 + 6 / 3),
        "gamma_small": (of("gamma", 0.4, 2.0), 0.8, 1.6, 3 + 6 / 0.4),
        "poisson": (of("poisson", 4.0), 4.0, 4.0, 3.25),
        "poisson_large": (of("poisson", 90.0), 90.0, 90.0, 3.02),
        "negative_binomial": (of("negative_binomial", 5, 0.4), 7.5, 18.75, 4.3),
        "generalized": (of("generalized_negative_binomial", 2.0, 0.3), 2.0, 3.2, 3 + 6 * 0.3 + 1 / 3.2),
    }


def check_moments(sampler, n, dtype, key):
    """Mean and variance within 5 standard errors, and a little more where float16 rounds."""
    sample, mean, variance, kurtosis = sampler
    x, half = sample(dtype, key), dtype is torch.float16
    assert x.dtype is dtype and x.shape == (n,) and x.isfinite().all()
    x = x.cpu().double()
    assert abs(x.mean() - mean) < 5 * (variance / n) ** 0.5 + 1e-3 * half
    assert abs(x.var() - variance) < 5 * variance * ((kurtosis - 1) / n) ** 0.5 + 1e-2 * half


def check_keys(sampler, n):
    """The key decides: the same numbers for one, uncorrelated ones for its neighbour."""
    a, b, c = (sampler[0](torch.float32, key) for key in (7, 7, 8))
    assert (a == b).all() and (a != c).any()
    a, c = a.cpu().double(), c.cpu().double()
    assert abs(((a - a.mean()) * (c - c.mean())).mean()) < 5 * (a.var() * c.var() / n) ** 0.5
