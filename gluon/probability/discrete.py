"""Discrete distributions of one number."""

from __future__ import annotations

from core import numpy as np
from core import numpy_extension as npx
from gluon.probability.constraint import Boolean, IntegerInterval, Interval, NonNegativeInteger, Positive, Real, Simplex
from gluon.probability.distribution import EPS, ExponentialFamily, WithLogit, gammaln, softplus

_PROBABILITY = {"prob": Interval(0, 1), "logit": Real()}


class Bernoulli(WithLogit, ExponentialFamily):
    """1 with probability `prob`, else 0."""

    parameters = {"prob": 0, "logit": 0}
    support = Boolean()
    arg_constraints = _PROBABILITY

    def __init__(self, prob=None, logit=None, validate_args=None):
        super().__init__(prob, logit, None, validate_args)

    def _draw(self, shape):
        return (np.random.uniform(0.0, 1.0, shape) < self.prob).astype("float32")

    def log_prob(self, value):
        return self._checked(value) * self.logit - softplus(self.logit)

    @property
    def mean(self):
        return self.prob

    @property
    def variance(self):
        return self.prob * (1 - self.prob)

    def entropy(self):
        return softplus(self.logit) - self.logit * self.prob


class Binomial(WithLogit):
    """The number of successes in `n` trials of probability `prob`."""

    parameters = {"prob": 0, "logit": 0}
    arg_constraints = _PROBABILITY

    def __init__(self, n=1, prob=None, logit=None, validate_args=None):
        if n < 0 or n % 1:
            raise ValueError(f"n is a whole number of trials, given {n}")
        self.n = int(n)
        super().__init__(prob, logit, None, validate_args)

    @property
    def support(self):
        return IntegerInterval(0, self.n)

    def _draw(self, shape):
        trials = np.random.uniform(0.0, 1.0, (self.n, *shape)) < self.prob
        return trials.astype("float32").sum(0)

    def log_prob(self, value):
        ways = gammaln(self.n + 1) - gammaln(1 + self._checked(value)) - gammaln(self.n - value + 1)
        return ways + value * self.logit - self.n * softplus(self.logit)

    @property
    def mean(self):
        return self.n * self.prob

    @property
    def variance(self):
        return self.n * self.prob * (1 - self.prob)


class Geometric(WithLogit):
    """The number of failures before the first success of probability `prob`."""

    parameters = {"prob": 0, "logit": 0}
    support = NonNegativeInteger()
    arg_constraints = _PROBABILITY

    def __init__(self, prob=None, logit=None, validate_args=None):
        super().__init__(prob, logit, None, validate_args)

    def _draw(self, shape):
        return np.floor(np.log(np.random.uniform(EPS, 1.0, shape)) / np.log1p(-self.prob))

    def log_prob(self, value):
        return self._checked(value) * np.log1p(-self.prob) + np.log(self.prob)

    @property
    def mean(self):
        return 1 / self.prob - 1

    @property
    def variance(self):
        return (1 / self.prob - 1) / self.prob

    def entropy(self):
        return (softplus(self.logit) - self.logit * self.prob) / self.prob


class NegativeBinomial(WithLogit):
    """The number of successes of probability `prob` before the `n`-th failure.

    As in MXNet that is what samples, mean and variance follow, while `log_prob` takes `prob` for that of a failure.
    """

    parameters = {"n": 0, "prob": 0, "logit": 0}
    support = NonNegativeInteger()
    arg_constraints = {"n": Positive(), **_PROBABILITY}

    def __init__(self, n, prob=None, logit=None, validate_args=None):
        super().__init__(prob, logit, None, validate_args, n=n)

    def _draw(self, shape):
        rate = np.exp(self.logit) * np.random.gamma(self.n, 1.0, shape)
        return np.random.poisson(rate, shape)

    def log_prob(self, value):
        ways = gammaln(self._checked(value) + self.n) - gammaln(1 + value) - gammaln(self.n)
        return ways - self.n * softplus(-self.logit) - value * softplus(self.logit)

    @property
    def mean(self):
        return self.n * np.exp(self.logit)

    @property
    def variance(self):
        return self.mean * (1 + np.exp(self.logit))


class Poisson(ExponentialFamily):
    """The number of events at the rate `rate`."""

    parameters = {"rate": 0}
    support = NonNegativeInteger()
    arg_constraints = {"rate": Positive()}

    def __init__(self, rate=1.0, validate_args=None):
        super().__init__(None, validate_args, rate=rate)

    def _draw(self, shape):
        return np.random.poisson(self.rate, shape).astype("float32")

    def log_prob(self, value):
        return self._checked(value) * np.log(self.rate) - gammaln(value + 1) - self.rate

    @property
    def mean(self):
        return self.rate

    @property
    def variance(self):
        return self.rate


class Categorical(WithLogit):
    """The number of one of `num_events` classes; `prob` or `logit` has the classes along its last axis."""

    parameters = {"prob": 1, "logit": 1}
    has_enumerate_support = True
    binary = False
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, num_events, prob=None, logit=None, validate_args=None):
        if num_events < 1:
            raise ValueError(f"num_events is at least 1, given {num_events}")
        self.num_events = int(num_events)
        super().__init__(prob, logit, None, validate_args)

    @property
    def support(self):
        return IntegerInterval(0, self.num_events - 1)

    def _draw(self, shape):
        noise = np.random.uniform(EPS, 1 - EPS, (*shape, self.num_events))
        return np.argmax(self.logit - np.log(-np.log(noise)), axis=-1)

    def log_prob(self, value):
        """Shape of `value` and of the batch, broadcast together."""
        logs = npx.log_softmax(self.logit, axis=-1) if "logit" in self.__dict__ else self.logit
        shape = (logs[..., 0] + 0 * value).shape
        places = np.broadcast_to(self._checked(value), shape)
        return npx.pick(np.broadcast_to(logs, (*shape, self.num_events)), places).reshape(shape)

    def enumerate_support(self):
        values = np.arange(self.num_events).reshape((-1, *(1,) * len(self.batch_shape)))
        return np.broadcast_to(values, (self.num_events, *self.batch_shape))

    def entropy(self):
        return -(self.prob * npx.log_softmax(self.logit, axis=-1)).sum(-1)
