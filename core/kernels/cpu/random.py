"""Random samplers on the CPU: ATen's generator (a Mersenne twister) is seeded afresh from every key."""

from __future__ import annotations

import math

import torch

from core.kernels.precision import wide_type

aten = torch.ops.aten
_generator = torch.Generator()


def uniform(shape, low, high, dtype, device, key):
    x = _draw(shape, dtype, device, key, lambda x, g: x.uniform_(generator=g))
    return _affine_(x, low, high - low).to(dtype)


def normal(shape, loc, scale, dtype, device, key):
    return _affine_(_draw(shape, dtype, device, key, lambda x, g: x.normal_(generator=g)), loc, scale).to(dtype)


def randint(shape, low, high, dtype, device, key):
    x = torch.empty(shape, dtype=torch.int64, device=device)
    return x.random_(low, high, generator=_seeded(key)).to(dtype)


def bernoulli(shape, p, dtype, device, key):
    if isinstance(p, torch.Tensor):
        u = uniform(shape, 0.0, 1.0, wide_type(p.dtype), device, key)
        return (u < p).to(dtype)
    return _coins(shape, p, torch.int32, dtype, device, key)


def exponential(shape, scale, dtype, device, key):
    return _affine_(_draw(shape, dtype, device, key, lambda x, g: x.exponential_(generator=g)), 0.0, scale).to(dtype)


def gamma(shape, alpha, beta, dtype, device, key):
    alpha = _spread(alpha, shape, dtype, device)
    return _affine_(_sampled(aten._standard_gamma, alpha, key), 0.0, beta).to(dtype)


def poisson(shape, lam, dtype, device, key):
    return _sampled(aten.poisson, _spread(lam, shape, dtype, device), key).to(dtype)


def negative_binomial(shape, k, p, dtype, device, key):
    rate = gamma(shape, k, (1 - p) / p, wide_type(dtype), device, key)
    return _sampled(aten.poisson, rate, _second(key)).to(dtype)


def generalized_negative_binomial(shape, mu, alpha, dtype, device, key):
    mu, alpha = _spread(mu, shape, dtype, device), _spread(alpha, shape, dtype, device)
    mixed = gamma(shape, alpha.reciprocal(), mu * alpha, mu.dtype, device, key)
    rate = torch.where(alpha == 0, mu, mixed)
    return _sampled(aten.poisson, rate, _second(key)).to(dtype)


def multinomial(probs, n, key):
    if n == 0 or probs.numel() == 0:
        return torch.empty(probs.shape[:-1] + (n,), dtype=torch.int64, device=probs.device)
    rows = probs.reshape(-1, probs.shape[-1]).to(wide_type(probs.dtype))
    drawn = torch.multinomial(rows, n, replacement=True, generator=_seeded(key))
    return drawn.reshape(probs.shape[:-1] + (n,))


def permutation(n, device, key):
    return torch.randperm(n, generator=_seeded(key), device=device)


def dropout(x, p, key, axes=(), salt=0):
    if p >= 1:
        return torch.zeros_like(x)
    shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    mask = _coins(shape, 1.0 - p, torch.int16, x.dtype, x.device, key ^ salt).mul_(1.0 / (1.0 - p))
    return mask.mul_(x) if mask.shape == x.shape else x * mask


def _seeded(key):
    _generator.manual_seed(_mixed(key))
    return _generator


def _mixed(key):
    """SplitMix64 (Steele, Lea and Flood, 2014): neighbouring keys give unrelated seeds."""
    mask = (1 << 64) - 1
    z = (key + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) >> 1


def _second(key):
    """A key for the second stage of a sampler, unrelated to those that callers number 0, 1, 2, ..."""
    return _mixed(key ^ (1 << 62))


def _coins(shape, p, word, dtype, device, key):
    """1 with probability `p`, else 0, decided by the bits of one integer of type `word` each (p to that precision).

    A fifteenth of the time of ATen's bernoulli_ (measured with int16): four decisions from one draw of 64 bits.
    """
    limits, count = torch.iinfo(word), math.prod(shape)
    threshold = limits.min + round(p * (1 << limits.bits))
    if threshold > limits.max:
        return torch.ones(shape, dtype=dtype, device=device)
    words = torch.empty(-(-count * limits.bits // 64), dtype=torch.int64, device=device)
    words.random_(-(1 << 63), None, generator=_seeded(key))
    # Written as numbers at once: ATen takes five times as long to choose between two by a truth value.
    return torch.lt(words.view(word)[:count].view(shape), threshold, out=torch.empty(shape, dtype=dtype, device=device))


def _draw(shape, dtype, device, key, fill):
    x = torch.empty(shape, dtype=wide_type(dtype), device=device)
    return fill(x, _seeded(key))


def _sampled(sampler, parameter, key):
    return sampler(parameter, _seeded(key))


def _spread(value, shape, dtype, device):
    if isinstance(value, torch.Tensor):
        return value.to(wide_type(dtype)).expand(shape).contiguous()
    return torch.full(shape, value, dtype=wide_type(dtype), device=device)


def _affine_(x, shift, scale):
    if isinstance(scale, torch.Tensor) or scale != 1:
        x.mul_(scale)
    if isinstance(shift, torch.Tensor) or shift != 0:
        x.add_(shift)
    return x
