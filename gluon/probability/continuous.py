"""Continuous distributions of one number. Densities, moments and entropies are in any table of distributions."""

from __future__ import annotations

import math

from core import numpy as np
from core import numpy_extension as npx
from gluon.probability.constraint import NonNegative, Positive, Real, UnitInterval
from gluon.probability.distribution import (
    EPS,
    EULER,
    HALF_LOG_2_PI,
    Distribution,
    ExponentialFamily,
    betaln,
    digamma,
    gammaln,
    where,
)


class _LocationScale(Distribution):
    """loc + scale * z, where z has a standard distribution that subclasses define."""

    parameters = {"loc": 0, "scale": 0}
    has_grad = True
    support = Real()
    arg_constraints = {"loc": Real(), "scale": Positive()}

    def __init__(self, loc=0.0, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, loc=loc, scale=scale)

    def _draw(self, shape):
        return self.loc + self.scale * self._standard(np.random.uniform(EPS, 1 - EPS, shape))

    def _z(self, value):
        return (self._checked(value) - self.loc) / self.scale

    def icdf(self, value):
        return self.loc + self.scale * self._standard(value)

    @property
    def mean(self):
        return self.loc + 0 * self.scale


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    def _draw(self, shape):
        return self.loc + self.scale * np.random.normal(0.0, 1.0, shape)

    def _standard(self, p):
        return math.sqrt(2) * npx.erfinv(2 * p - 1)

    def log_prob(self, value):
        return -0.5 * self._z(value) ** 2 - np.log(self.scale) - HALF_LOG_2_PI

    def cdf(self, value):
        return 0.5 * (1 + npx.erf(self._z(value) / math.sqrt(2)))

    @property
    def variance(self):
        return self.scale**2 + 0 * self.loc

    def entropy(self):
        return 0.5 + HALF_LOG_2_PI + np.log(self.scale) + 0 * self.loc


class Laplace(_LocationScale):
    """The Laplace distribution, exp(-|z|) / 2 of scale `scale` around `loc`."""

    def _standard(self, p):
        t = p - 0.5
        return -np.sign(t) * np.log1p(-2 * np.abs(t))

    def log_prob(self, value):
        return -np.abs(self._z(value)) - np.log(2 * self.scale)

    def cdf(self, value):
        z = self._z(value)
        return 0.5 - 0.5 * np.sign(z) * np.expm1(-np.abs(z))

    @property
    def variance(self):
        return 2 * self.scale**2 + 0 * self.loc

    def entropy(self):
        return 1 + np.log(2 * self.scale) + 0 * self.loc


class Cauchy(_LocationScale):
    """The Cauchy distribution; it has neither mean nor variance."""

    def _standard(self, p):
        return np.tan(math.pi * (p - 0.5))

    def log_prob(self, value):
        return -math.log(math.pi) - np.log(self.scale) - np.log1p(self._z(value) ** 2)

    def cdf(self, value):
        return np.arctan(self._z(value)) / math.pi + 0.5

    @property
    def mean(self):
        return np.full(self.batch_shape, math.nan)

    @property
    def variance(self):
        return np.full(self.batch_shape, math.nan)

    def entropy(self):
        return math.log(4 * math.pi) + np.log(self.scale) + 0 * self.loc


class Gumbel(_LocationScale):
    """The Gumbel distribution of maxima."""

    def __init__(self, loc, scale=1, validate_args=None):
        super().__init__(loc, scale, validate_args)

    def _standard(self, p):
        return -np.log(-np.log(p))

    def log_prob(self, value):
        y = -self._z(value)
        return y - np.exp(y) - np.log(self.scale)

    def cdf(self, value):
        return np.exp(-np.exp(-self._z(value)))

    @property
    def mean(self):
        return self.loc + self.scale * EULER

    @property
    def variance(self):
        return math.pi**2 / 6 * self.scale**2 + 0 * self.loc

    def entropy(self):
        return np.log(self.scale) + 1 + EULER + 0 * self.loc


class Uniform(Distribution):
    """The uniform distribution between `low` and `high`."""

    parameters = {"low": 0, "high": 0}
    has_grad = True
    arg_constraints = {"low": Real(), "high": Real()}

    def __init__(self, low=0.0, high=1.0, validate_args=None):
        super().__init__(None, validate_args, low=low, high=high)
        if self._validate_args:
            Positive().check(self.high - self.low)

    def _draw(self, shape):
        return self.icdf(np.random.uniform(0.0, 1.0, shape))

    def log_prob(self, value):
        inside = (value > self.low) * (value < self.high)
        return np.log(inside.astype("float32")) - np.log(self.high - self.low)

    def cdf(self, value):
        return np.clip((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value):
        return self.low + (self.high - self.low) * value

    @property
    def mean(self):
        return (self.low + self.high) / 2

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 12

    def entropy(self):
        return np.log(self.high - self.low)


class Exponential(ExponentialFamily):
    """The exponential distribution of mean `scale`, rate 1 / scale."""

    parameters = {"scale": 0}
    has_grad = True
    support = NonNegative()
    arg_constraints = {"scale": Positive()}

    def __init__(self, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, scale=scale)

    @property
    def rate(self):
        return 1 / self.scale

    def _draw(self, shape):
        return self.scale * np.random.exponential(1.0, shape)

    def log_prob(self, value):
        return -self._checked(value) / self.scale - np.log(self.scale)

    def cdf(self, value):
        return -np.expm1(-value / self.scale)

    def icdf(self, value):
        return -self.scale * np.log1p(-value)

    @property
    def mean(self):
        return self.scale

    @property
    def variance(self):
        return self.scale**2

    def entropy(self):
        return 1 + np.log(self.scale)


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `shape` and scale `scale`."""

    parameters = {"shape": 0, "scale": 0}
    support = NonNegative()
    arg_constraints = {"shape": Positive(), "scale": Positive()}

    def __init__(self, shape, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, shape=shape, scale=scale)

    def _draw(self, shape):
        return self.scale * np.random.gamma(self.shape, 1.0, shape)

    def log_prob(self, value):
        a = self.shape
        return (a - 1) * np.log(self._checked(value)) - value / self.scale - gammaln(a) - a * np.log(self.scale)

    @property
    def mean(self):
        return self.shape * self.scale

    @property
    def variance(self):
        return self.shape * self.scale**2

    def entropy(self):
        a = self.shape
        return a + np.log(self.scale) + gammaln(a) + (1 - a) * digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution of `df` degrees of freedom."""

    arg_constraints = {"df": Positive()}

    def __init__(self, df, validate_args=None):
        super().__init__(df / 2, 2.0, validate_args)

    @property
    def df(self):
        return self.shape * 2


class Beta(ExponentialFamily):
    """The beta distribution on (0, 1)."""

    parameters = {"alpha": 0, "beta": 0}
    support = UnitInterval()
    arg_constraints = {"alpha": Positive(), "beta": Positive()}

    def __init__(self, alpha, beta, validate_args=None):
        super().__init__(None, validate_args, alpha=alpha, beta=beta)

    def _draw(self, shape):
        a, b = np.random.gamma(self.alpha, 1.0, shape), np.random.gamma(self.beta, 1.0, shape)
        return a / (a + b)

    def log_prob(self, value):
        a, b = self.alpha, self.beta
        return (a - 1) * np.log(self._checked(value)) + (b - 1) * np.log1p(-value) - betaln(a, b)

    @property
    def mean(self):
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self):
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def entropy(self):
        a, b = self.alpha, self.beta
        return betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)


class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom."""

    parameters = {"df": 0, "loc": 0, "scale": 0}
    support = Real()
    arg_constraints = {"df": Positive(), "loc": Real(), "scale": Positive()}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, df=df, loc=loc, scale=scale)

    def _draw(self, shape):
        chi2 = 2 * np.random.gamma(self.df / 2, 1.0, shape)
        return self.loc + self.scale * np.random.normal(0.0, 1.0, shape) * np.sqrt(self.df / chi2)

    def log_prob(self, value):
        df, z = self.df, (self._checked(value) - self.loc) / self.scale
        norm = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * math.pi) - np.log(self.scale)
        return norm - (df + 1) / 2 * np.log1p(z**2 / df)

    @property
    def mean(self):
        return where(self.df > 1, self.loc + 0 * self.df, math.nan)

    @property
    def variance(self):
        finite = self.scale**2 * self.df / where(self.df > 2, self.df - 2, 1.0) + 0 * self.loc
        return where(self.df > 2, finite, where(self.df > 1, np.full_like(finite, math.inf), math.nan))

    def entropy(self):
        df = self.df
        half = (df + 1) / 2
        return (
            half * (digamma(half) - digamma(df / 2)) + 0.5 * np.log(df) + betaln(np.array(0.5), df / 2)
            + np.log(self.scale) + 0 * self.loc
        )  # fmt: skip


class FisherSnedecor(Distribution):
    """The F distribution of `df1` and `df2` degrees of freedom."""

    parameters = {"df1": 0, "df2": 0}
    support = Positive()
    arg_constraints = {"df1": Positive(), "df2": Positive()}

    def __init__(self, df1, df2, validate_args=None):
        super().__init__(None, validate_args, df1=df1, df2=df2)

    def _draw(self, shape):
        above, below = (np.random.gamma(df / 2, 1.0, shape) / df for df in (self.df1, self.df2))
        return above / below

    def log_prob(self, value):
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        return (
            a * np.log(ratio)
            + (a - 1) * np.log(self._checked(value))
            - (a + b) * np.log1p(ratio * value)
            - betaln(a, b)
        )

    @property
    def mean(self):
        b = self.df2 + 0 * self.df1
        return where(b > 2, b / where(b > 2, b - 2, 1.0), math.nan)

    @property
    def variance(self):
        a, b = self.df1, self.df2
        below = where(b > 4, a * (b - 2) ** 2 * (b - 4), 1.0)
        return where(b > 4, 2 * b**2 * (a + b - 2) / below, math.nan)


class _Half(Distribution):
    """The absolute value of a symmetric distribution around 0, which is `whole`."""

    parameters = {"scale": 0}
    has_grad = True
    support = NonNegative()
    arg_constraints = {"scale": Positive()}
    whole: type

    def __init__(self, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, scale=scale)

    @property
    def _base(self):
        return self.whole(0.0, self.scale)

    def _draw(self, shape):
        return np.abs(self._base._draw(shape))

    def log_prob(self, value):
        return where(self._checked(value) >= 0, self._base.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self._base.cdf(value) - 1

    def icdf(self, value):
        return self._base.icdf((value + 1) / 2)

    def entropy(self):
        return self._base.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number of mean 0."""

    whole = Normal

    @property
    def loc(self):
        return self._base.loc

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale**2 * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of a Cauchy number around 0."""

    whole = Cauchy

    @property
    def mean(self):
        return np.full(self.batch_shape, math.inf)

    @property
    def variance(self):
        return np.full(self.batch_shape, math.inf)


class Pareto(Distribution):
    """The Pareto distribution above `scale` with tail index `alpha`."""

    parameters = {"alpha": 0, "scale": 0}
    has_grad = True
    arg_constraints = {"alpha": Positive(), "scale": Positive()}

    def __init__(self, alpha, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, alpha=alpha, scale=scale)

    def _draw(self, shape):
        return self.scale * np.exp(np.random.exponential(1.0, shape) / self.alpha)

    def log_prob(self, value):
        return np.log(self.alpha) + self.alpha * np.log(self.scale) - (self.alpha + 1) * np.log(value)

    def cdf(self, value):
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value):
        return self.scale * (1 - value) ** (-1 / self.alpha)

    @property
    def mean(self):
        a = self.alpha + 0 * self.scale
        return where(a > 1, a * self.scale / where(a > 1, a - 1, 1.0), math.inf)

    @property
    def variance(self):
        a = self.alpha + 0 * self.scale
        return where(a > 2, a * self.scale**2 / where(a > 2, (a - 1) ** 2 * (a - 2), 1.0), math.inf)

    def entropy(self):
        return np.log(self.scale / self.alpha) + 1 + 1 / self.alpha


class Weibull(Distribution):
    """The Weibull distribution of shape `concentration`."""

    parameters = {"concentration": 0, "scale": 0}
    has_grad = True
    support = Positive()
    arg_constraints = {"concentration": Positive(), "scale": Positive()}

    def __init__(self, concentration, scale=1.0, validate_args=None):
        super().__init__(None, validate_args, concentration=concentration, scale=scale)

    def _draw(self, shape):
        return self.scale * np.random.exponential(1.0, shape) ** (1 / self.concentration)

    def log_prob(self, value):
        k, z = self.concentration, self._checked(value) / self.scale
        return np.log(k / self.scale) + (k - 1) * np.log(z) - z**k

    def cdf(self, value):
        return -np.expm1(-((value / self.scale) ** self.concentration))

    def icdf(self, value):
        return self.scale * (-np.log1p(-value)) ** (1 / self.concentration)

    @property
    def mean(self):
        return self.scale * np.exp(gammaln(1 + 1 / self.concentration))

    @property
    def variance(self):
        return self.scale**2 * np.exp(gammaln(1 + 2 / self.concentration)) - self.mean**2

    def entropy(self):
        return EULER * (1 - 1 / self.concentration) + np.log(self.scale / self.concentration) + 1
