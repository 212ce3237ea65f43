"""Distributions of transformed samples."""

from __future__ import annotations

import copy

from core import numpy as np
from core import numpy_extension as npx
from gluon.probability.constraint import Interval, OpenInterval, Real, Simplex
from gluon.probability.distribution import EPS, Distribution, WithLogit, gammaln, softplus, sum_right_most
from gluon.probability.transformation import ExpTransform, SigmoidTransform, Transformation


class TransformedDistribution(Distribution):
    """The distribution of t(x) for x from `base_dist`; `transforms` is a map or a list of maps, applied in order."""

    def __init__(self, base_dist, transforms, validate_args=None):
        self._base_dist = base_dist
        self._transforms = [transforms] if isinstance(transforms, Transformation) else list(transforms)
        super().__init__(max([base_dist.event_dim, *(t.event_dim for t in self._transforms)]), validate_args)

    @property
    def batch_shape(self):
        shape = self._base_dist.batch_shape
        return shape[: len(shape) - (self.event_dim - self._base_dist.event_dim)]

    def broadcast_to(self, batch_shape):
        twin = copy.copy(self)
        twin._base_dist = self._base_dist.broadcast_to(batch_shape)
        return twin

    def sample(self, size=None):
        return self._forward(self._base_dist.sample(size))

    def sample_n(self, size=None):
        return self._forward(self._base_dist.sample_n(size))

    def _forward(self, x):
        for t in self._transforms:
            x = t(x)
        return x

    def log_prob(self, value):
        """log p(x) - log |dy / dx| at the x that leads to `value`."""
        logarithm, y = 0.0, value
        for t in reversed(self._transforms):
            x = t.inv(y)
            logarithm = logarithm - sum_right_most(t.log_det_jacobian(x, y), self.event_dim - t.event_dim)
            y = x
        base = self._base_dist
        return logarithm + sum_right_most(base.log_prob(y), self.event_dim - base.event_dim)

    def _flipped(self, probability):
        """The probability, or what is left of 1 where the maps fall."""
        sign = 1
        for t in self._transforms:
            sign = sign * t.sign
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self._transforms):
            value = t.inv(value)
        return self._flipped(self._base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self._base_dist.icdf(self._flipped(value)))


class _LogitRelaxedBernoulli(WithLogit):
    """A logistic number around the logit, over the temperature `T`."""

    parameters = {"prob": 0, "logit": 0}
    has_grad = True
    support = Real()
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, T, prob=None, logit=None, validate_args=None):
        self.T = T
        super().__init__(prob, logit, None, validate_args)

    def _draw(self, shape):
        u = np.random.uniform(EPS, 1 - EPS, shape)
        return (self.logit + np.log(u) - np.log1p(-u)) / self.T

    def log_prob(self, value):
        difference = self.logit - self.T * value
        return np.log(self.T) + difference - 2 * softplus(difference)


class _LogRelaxedOneHotCategorical(WithLogit):
    """The logarithm of a softmax of Gumbel numbers around the logits, over the temperature `T`."""

    parameters = {"prob": 1, "logit": 1}
    event_dim = 1
    binary = False
    has_grad = True
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, T, num_events, prob=None, logit=None, validate_args=None):
        if num_events < 1:
            raise ValueError(f"num_events is at least 1, given {num_events}")
        self.T, self.num_events = T, int(num_events)
        super().__init__(prob, logit, None, validate_args)

    def _draw(self, shape):
        noise = -np.log(-np.log(np.random.uniform(EPS, 1 - EPS, (*shape, self.num_events))))
        return npx.log_softmax((self.logit + noise) / self.T, axis=-1)

    def log_prob(self, value):
        k = self.num_events
        scale = gammaln(k) + (k - 1) * np.log(self.T)
        return npx.log_softmax(self.logit - value * self.T, axis=-1).sum(-1) + scale


class _Relaxed(TransformedDistribution):
    """What both relaxed distributions show of the one that they transform."""

    has_grad = True
    T = property(lambda self: self._base_dist.T)
    prob = property(lambda self: self._base_dist.prob)
    logit = property(lambda self: self._base_dist.logit)


class RelaxedBernoulli(_Relaxed):
    """A differentiable relative of the Bernoulli distribution on (0, 1) at temperature `T` (Maddison et al., 2017)."""

    support = OpenInterval(0, 1)
    arg_constraints = _LogitRelaxedBernoulli.arg_constraints

    def __init__(self, T, prob=None, logit=None, validate_args=None):
        super().__init__(_LogitRelaxedBernoulli(T, prob, logit, validate_args), SigmoidTransform())


class RelaxedOneHotCategorical(_Relaxed):
    """A differentiable relative of the one-hot distribution at the temperature `T` (Jang et al., 2017)."""

    support = Simplex()
    arg_constraints = _LogRelaxedOneHotCategorical.arg_constraints

    def __init__(self, T, num_events, prob=None, logit=None, validate_args=None):
        super().__init__(_LogRelaxedOneHotCategorical(T, num_events, prob, logit, validate_args), ExpTransform())
