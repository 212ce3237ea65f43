"""Kullback-Leibler divergences, by formula for pairs of distributions or from samples."""

from __future__ import annotations

import inspect
import math

from core import numpy as np
from core import numpy_extension as npx
from gluon.probability.continuous import (
    Beta,
    Cauchy,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    Uniform,
)
from gluon.probability.discrete import Bernoulli, Binomial, Categorical, Geometric, Poisson
from gluon.probability.distribution import EULER, HALF_LOG_2_PI, betaln, digamma, gammaln, where
from gluon.probability.multivariate import Dirichlet, MultivariateNormal, OneHotCategorical

_TABLE: dict = {}


def kl_divergence(p, q):
    """KL(p || q) in nats, by the formula for their classes; NotImplementedError where there is none."""
    for one in type(p).__mro__:
        for other in type(q).__mro__:
            if (one, other) in _TABLE:
                return _TABLE[one, other](p, q)
    raise NotImplementedError(
        f"there is no formula for the divergence of {type(p).__name__} from {type(q).__name__}; see register_kl and "
        "empirical_kl"
    )


def register_kl(typeP, typeQ):
    """Decorates a function (p, q) that computes KL(p || q) for distributions of these classes."""

    def enter(function):
        if len(inspect.signature(function).parameters) != 2:
            raise TypeError(f"a divergence is a function of two distributions, given {function}")
        if (typeP, typeQ) in _TABLE:
            raise ValueError(f"there is a divergence of {typeP.__name__} from {typeQ.__name__} already")
        _TABLE[typeP, typeQ] = function
        return function

    return enter


def empirical_kl(p, q, n_samples=1):
    """An estimate of KL(p || q) from `n_samples` samples of p."""
    samples = p.sample_n(n_samples)
    return (p.log_prob(samples) - q.log_prob(samples)).mean(0)


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - np.log(ratio))


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    return p.prob * (np.log(p.prob) - np.log(q.prob)) + (1 - p.prob) * (np.log1p(-p.prob) - np.log1p(-q.prob))


@register_kl(Binomial, Binomial)
def _(p, q):
    if p.n != q.n:
        return np.full(np.broadcast_to(p.prob, (p.prob + q.prob).shape).shape, math.inf if p.n > q.n else math.nan)
    return p.n * kl_divergence(Bernoulli(p.prob), Bernoulli(q.prob))


@register_kl(Categorical, Categorical)
def _(p, q):
    logs = npx.log_softmax(p.logit, axis=-1) - npx.log_softmax(q.logit, axis=-1)
    return (p.prob * logs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p, q):
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _(p, q):
    inside = (q.low <= p.low) * (p.high <= q.high)
    return where(inside, np.log((q.high - q.low) / (p.high - p.low)), math.inf)


@register_kl(Cauchy, Cauchy)
def _(p, q):
    return np.log(((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale))


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, distance = p.scale / q.scale, np.abs(p.loc - q.loc) / q.scale
    return -np.log(ratio) + distance + ratio * np.exp(-np.abs(p.loc - q.loc) / p.scale) - 1


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (np.log(p.rate) - np.log(q.rate)) - p.rate + q.rate


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - np.log1p(-q.prob) / p.prob - q.logit


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = p.scale / q.scale
    return ratio - 1 - np.log(ratio)


@register_kl(Pareto, Pareto)
def _(p, q):
    ratio = q.alpha / p.alpha
    value = q.alpha * (np.log(p.scale) - np.log(q.scale)) - np.log(ratio) + ratio - 1
    return where(p.scale >= q.scale, value, math.nan)


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return ratio * EULER - np.log(ratio) + shift + np.exp(-shift + gammaln(1 + ratio)) - (1 + EULER)


@register_kl(Gamma, Gamma)
def _(p, q):
    a, b = p.shape, q.shape
    return (
        b * np.log(q.scale / p.scale) + gammaln(b) - gammaln(a) + (a - b) * digamma(a) + a * (p.scale / q.scale - 1)
    )  # fmt: skip


@register_kl(Beta, Beta)
def _(p, q):
    total = p.alpha + p.beta
    return (
        betaln(q.alpha, q.beta) - betaln(p.alpha, p.beta) + (p.alpha - q.alpha) * digamma(p.alpha)
        + (p.beta - q.beta) * digamma(p.beta) + (q.alpha + q.beta - total) * digamma(total)
    )  # fmt: skip


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    a, b = p.alpha, q.alpha
    total = a.sum(-1)
    norm = gammaln(total) - gammaln(b.sum(-1)) - (gammaln(a) - gammaln(b)).sum(-1)
    return norm + ((a - b) * (digamma(a) - np.expand_dims(digamma(total), -1))).sum(-1)


@register_kl(HalfNormal, HalfNormal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - np.log(ratio))


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p, q):
    difference = q.loc - p.loc
    distance = (difference * np.einsum("...jk,...k->...j", q.precision, difference)).sum(-1)
    trace = (q.precision * np.swapaxes(p.cov, -1, -2)).sum((-1, -2))
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.loc.shape[-1])


@register_kl(Uniform, Normal)
def _(p, q):
    mean, width = (p.low + p.high) / 2, p.high - p.low
    return HALF_LOG_2_PI + np.log(q.scale) - np.log(width) + (width**2 / 12 + (mean - q.loc) ** 2) / (2 * q.scale**2)


@register_kl(Uniform, Gumbel)
def _(p, q):
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    width = high - low
    return np.log(q.scale / (p.high - p.low)) + 0.5 * (high + low) - (np.exp(-high) - np.exp(-low)) / width


@register_kl(Exponential, Gumbel)
def _(p, q):
    ratio, shift = q.scale / p.scale, q.loc / q.scale
    return np.log(ratio) - 1 - shift + 1 / ratio + np.exp(shift) * ratio / (ratio + 1)


@register_kl(Exponential, Normal)
def _(p, q):
    spread = (2 * p.scale**2 - 2 * p.scale * q.loc + q.loc**2) / (2 * q.scale**2)
    return HALF_LOG_2_PI + np.log(q.scale) - np.log(p.scale) - 1 + spread


@register_kl(Exponential, Gamma)
def _(p, q):
    ratio = p.scale / q.scale
    return -q.shape * np.log(ratio) + ratio + gammaln(q.shape) + q.shape * EULER - (1 + EULER)
