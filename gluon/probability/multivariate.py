"""Distributions of several numbers at once."""

from __future__ import annotations

import copy

from core import numpy as np
from core import numpy_extension as npx
from gluon.probability.constraint import LowerCholesky, Positive, PositiveDefinite, Real, Simplex
from gluon.probability.discrete import Categorical
from gluon.probability.distribution import (
    HALF_LOG_2_PI,
    Distribution,
    ExponentialFamily,
    digamma,
    gammaln,
    sum_right_most,
)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution on probabilities along the last axis."""

    parameters = {"alpha": 1}
    event_dim = 1
    support = Simplex()
    arg_constraints = {"alpha": Positive()}

    def __init__(self, alpha, validate_args=None):
        super().__init__(None, validate_args, alpha=alpha)

    def _draw(self, shape):
        parts = np.random.gamma(self.alpha, 1.0, (*shape, self.alpha.shape[-1]))
        return parts / parts.sum(-1, keepdims=True)

    def log_prob(self, value):
        a = self.alpha
        return ((a - 1) * np.log(self._checked(value))).sum(-1) + gammaln(a.sum(-1)) - gammaln(a).sum(-1)

    @property
    def mean(self):
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    def variance(self):
        total = self.alpha.sum(-1, keepdims=True)
        return self.alpha * (total - self.alpha) / (total**2 * (total + 1))

    def entropy(self):
        a = self.alpha
        total = a.sum(-1)
        norm = gammaln(a).sum(-1) - gammaln(total)
        return norm + (total - a.shape[-1]) * digamma(total) - ((a - 1) * digamma(a)).sum(-1)


class _OverCategorical(Distribution):
    """Distributions that are made of draws from a categorical one."""

    event_dim = 1

    def __init__(self, num_events, prob=None, logit=None, validate_args=None):
        self._categorical = Categorical(num_events, prob, logit, validate_args)
        self.num_events = self._categorical.num_events
        super().__init__(None, validate_args)

    @property
    def prob(self):
        return self._categorical.prob

    @property
    def logit(self):
        return self._categorical.logit

    @property
    def batch_shape(self):
        return self._categorical.batch_shape

    def broadcast_to(self, batch_shape):
        twin = copy.copy(self)
        twin._categorical = self._categorical.broadcast_to(batch_shape)
        return twin


class OneHotCategorical(_OverCategorical):
    """A row with a 1 at the class that was drawn."""

    arg_constraints = Categorical.arg_constraints
    support = Simplex()

    def _draw(self, shape):
        return npx.one_hot(self._categorical._draw(shape), self.num_events)

    def log_prob(self, value):
        return (self._checked(value) * npx.log_softmax(self.logit, axis=-1)).sum(-1)

    def enumerate_support(self):
        return npx.one_hot(self._categorical.enumerate_support(), self.num_events)

    @property
    def mean(self):
        return self.prob

    @property
    def variance(self):
        return self.prob * (1 - self.prob)

    def entropy(self):
        return self._categorical.entropy()


class Multinomial(_OverCategorical):
    """How often each class came up in `total_count` draws."""

    arg_constraints = Categorical.arg_constraints

    def __init__(self, num_events, prob=None, logit=None, total_count=1, validate_args=None):
        super().__init__(num_events, prob, logit, validate_args)
        self.total_count = int(total_count)

    def _draw(self, shape):
        return npx.one_hot(self._categorical._draw((self.total_count, *shape)), self.num_events).sum(0)

    def log_prob(self, value):
        ways = gammaln(value.sum(-1) + 1) - gammaln(value + 1).sum(-1)
        return ways + (value * npx.log_softmax(self.logit, axis=-1)).sum(-1)

    @property
    def mean(self):
        return self.prob * self.total_count

    @property
    def variance(self):
        return self.total_count * self.prob * (1 - self.prob)


class MultivariateNormal(Distribution):
    """The normal distribution of mean `loc`, and of covariance `cov`,
    its inverse `precision` or its factor `scale_tril`.
    """

    parameters = {"loc": 1, "cov": 2, "precision": 2, "scale_tril": 2}
    event_dim = 1
    has_grad = True
    support = Real()
    arg_constraints = {
        "loc": Real(), "cov": PositiveDefinite(), "precision": PositiveDefinite(), "scale_tril": LowerCholesky(),
    }  # fmt: skip

    def __init__(self, loc, cov=None, precision=None, scale_tril=None, validate_args=None):
        given = {"cov": cov, "precision": precision, "scale_tril": scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError(
                f"exactly one of cov, precision and scale_tril is to be given, given {', '.join(given) or 'none'}"
            )
        super().__init__(None, validate_args, loc=loc, **given)

    def __getattr__(self, name):
        if name in ("cov", "precision", "scale_tril") and "loc" in self.__dict__:
            if name == "scale_tril":
                return np.linalg.cholesky(self.cov)
            if name == "cov":
                if "precision" in self.__dict__:
                    return np.linalg.inv(self.precision)
                return np.matmul(self.scale_tril, np.swapaxes(self.scale_tril, -1, -2))
            return np.linalg.inv(self.cov)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _draw(self, shape):
        noise = np.random.normal(0.0, 1.0, (*shape, self.loc.shape[-1]))
        return self.loc + np.einsum("...jk,...k->...j", self.scale_tril, noise)

    def log_prob(self, value):
        difference = self._checked(value) - self.loc
        distance = (difference * np.einsum("...jk,...k->...j", self.precision, difference)).sum(-1)
        return -0.5 * distance - self._half_log_det() - self.loc.shape[-1] * HALF_LOG_2_PI

    def _half_log_det(self):
        return np.log(np.diagonal(self.scale_tril, axis1=-2, axis2=-1)).sum(-1)

    @property
    def mean(self):
        return self.loc

    @property
    def variance(self):
        return (self.scale_tril**2).sum(-1) + 0 * self.loc

    def entropy(self):
        return self.loc.shape[-1] * (0.5 + HALF_LOG_2_PI) + self._half_log_det()


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch axes belong to one event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(reinterpreted_batch_ndims + base_distribution.event_dim, validate_args)

    @property
    def batch_shape(self):
        shape = self.base_dist.batch_shape
        return shape[: len(shape) - self.reinterpreted_batch_ndims]

    @property
    def has_enumerate_support(self):
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @property
    def support(self):
        return self.base_dist.support

    def broadcast_to(self, batch_shape):
        twin = copy.copy(self)
        shape = self.base_dist.batch_shape
        twin.base_dist = self.base_dist.broadcast_to(
            (*batch_shape, *shape[len(shape) - self.reinterpreted_batch_ndims :])
        )  # fmt: skip
        return twin

    def sample(self, size=None):
        return self.base_dist.sample(size)

    def sample_n(self, size=None):
        return self.base_dist.sample_n(size)

    def log_prob(self, value):
        return sum_right_most(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_right_most(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def variance(self):
        return self.base_dist.variance

    def enumerate_support(self):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("the values of several independent numbers together are not enumerated")
        return self.base_dist.enumerate_support()
