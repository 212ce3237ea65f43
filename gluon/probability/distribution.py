"""What all distributions have in common."""

from __future__ import annotations

import copy
import math
from numbers import Number
from types import ModuleType

import numpy as onp

from core import ndarray as nd
from core import numpy as np
from core import numpy_extension as npx
from core import symbol as sym
from gluon.block.operators import numpy_operators

EPS = float(onp.finfo("float32").eps)


class _KnowsItsNamespace(type):
    """Distributions of the first releases of MXNet 2 take the namespace F of `hybrid_forward` behind their parameters.
    It follows from the parameters here.
    """

    def __call__(cls, *args, F=None, **kwargs):
        return super().__call__(
            *(a for a in args if a is not numpy_operators and not isinstance(a, ModuleType)), **kwargs
        )


class Distribution(metaclass=_KnowsItsNamespace):
    """A probability distribution over arrays; its parameters are `np` arrays (or numbers) that are broadcast together.

    A sample has the shape `batch_shape + event_shape`: `event_dim` axes belong to one event. Subclasses name their
    parameters in `parameters`, with the number of their own event axes, and define `log_prob` and `_draw`.

    validate_args: whether parameters and values are checked, ValueError otherwise. `has_grad`: whether samples are
    differentiable in the parameters.
    """

    parameters: dict[str, int] = {}
    has_grad = False
    has_enumerate_support = False
    support = None
    arg_constraints: dict = {}
    event_dim = 0
    _validate_args = False

    def __init__(self, event_dim=None, validate_args=None, **parameters):
        if event_dim is not None:
            self.event_dim = event_dim
        if validate_args is not None:
            self._validate_args = validate_args
        for name, value in parameters.items():
            setattr(self, name, np.array(float(value)) if isinstance(value, Number) else value)
            if self._validate_args and name in self.arg_constraints:
                self.arg_constraints[name].check(getattr(self, name))

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless said otherwise."""
        if value not in (True, False):
            raise ValueError(f"validate_args is True or False, given {value!r}")
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters together, without the axes of an event."""
        shapes = [
            getattr(self, name).shape[: getattr(self, name).ndim - axes]
            for name, axes in self.parameters.items()
            if name in self.__dict__
        ]
        return tuple(onp.broadcast_shapes(*shapes))

    def sample(self, size=None):
        """A sample; `size` is its shape without the axes of an event, by default that of the parameters."""
        return self._draw(self.batch_shape if size is None else _tuple(size))

    def sample_n(self, size=None):
        """Independent samples: `size` comes in front of the shape of the parameters."""
        return self._draw((*(() if size is None else _tuple(size)), *self.batch_shape))

    def _draw(self, shape: tuple[int, ...]):
        raise NotImplementedError(f"{type(self).__name__} cannot be sampled")

    def broadcast_to(self, batch_shape):
        """The same distribution with its parameters repeated to `batch_shape`."""
        twin = copy.copy(self)
        for name, axes in self.parameters.items():
            if name in self.__dict__:
                value = getattr(self, name)
                setattr(twin, name, np.broadcast_to(value, (*batch_shape, *value.shape[value.ndim - axes :])))
        return twin

    def log_prob(self, value):
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def pdf(self, value):
        """The density (or probability) at `value`."""
        return np.exp(self.log_prob(value))

    def cdf(self, value):
        """The probability of at most `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value):
        """The quantile of the probability `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def enumerate_support(self):
        """All values of a discrete distribution, along a new first axis."""
        raise NotImplementedError(f"{type(self).__name__} has no finite support")

    @property
    def mean(self):
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def variance(self):
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self):
        return np.sqrt(self.variance)

    def entropy(self):
        """The entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self):
        """e to the entropy."""
        return np.exp(self.entropy())

    def _checked(self, value):
        """`value`, which must lie in the support where arguments are validated."""
        return self.support.check(value) if self._validate_args and self.support is not None else value

    def __repr__(self):
        sizes = ", ".join(f"{n}: size {getattr(self, n).shape}" for n in self.parameters if n in self.__dict__)
        return f"{type(self).__name__}({sizes}, event_dim: {self.event_dim})"


class ExponentialFamily(Distribution):
    """Distributions of the exponential family."""


class WithLogit(Distribution):
    """Distributions given by probabilities `prob` or by `logit`, exactly one of them; the other follows when asked for.

    `binary`: logits are log(p / (1 - p)), otherwise log(p) up to a constant along the last axis.
    """

    binary = True

    def __init__(self, prob, logit, event_dim=None, validate_args=None, **parameters):
        if (prob is None) == (logit is None):
            raise ValueError(f"exactly one of prob and logit is to be given, given prob={prob}, logit={logit}")
        given = {"prob": prob} if logit is None else {"logit": logit}
        super().__init__(event_dim, validate_args, **given, **parameters)

    def __getattr__(self, name):
        if name == "prob" and "logit" in self.__dict__:
            return logit2prob(self.logit, self.binary)
        if name == "logit" and "prob" in self.__dict__:
            return prob2logit(self.prob, self.binary)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def getF(*params):
    """The namespace that computes with `params`: `sym` for symbols, `nd` for arrays and numbers.

    TypeError for arrays and symbols together.
    """
    symbols = [isinstance(p, sym.Symbol) for p in params if isinstance(p, (nd.NDArray, sym.Symbol))]
    if len(set(symbols)) > 1:
        raise TypeError(f"arrays and symbols do not mix, given {', '.join(type(p).__name__ for p in params)}")
    return sym if any(symbols) else nd


def prob2logit(prob, binary: bool = True):
    """log(p / (1 - p)), or (not `binary`) log(p), of probabilities kept away from 0 and 1."""
    prob = np.clip(prob, EPS, 1 - EPS)
    return np.log(prob) - np.log1p(-prob) if binary else np.log(prob)


def logit2prob(logit, binary: bool = True):
    """The probabilities of logits; if not `binary`, over the last axis."""
    return npx.sigmoid(logit) if binary else npx.softmax(logit, axis=-1)


def sum_right_most(x, ndim: int):
    """`x` summed over its last `ndim` axes."""
    return x.sum(tuple(range(-ndim, 0))) if ndim else x


def where(condition, x, y):
    """`np.where` with the gradient of what was taken: beside a number MXNet's passes it to the other positions."""
    array = y if isinstance(x, Number) else x
    x, y = (np.full_like(array, part) if isinstance(part, Number) else part for part in (x, y))
    return np.where(condition, x, y)


def softplus(x):
    """log(1 + exp(x)), without overflow."""
    return npx.activation(x, "softrelu")


def gammaln(x):
    """The logarithm of the gamma function, of an array or a number."""
    return npx.gammaln(x if not isinstance(x, Number) else np.array(float(x)))


def digamma(x):
    """The derivative of `gammaln`."""
    return npx.digamma(x)


def betaln(a, b):
    """The logarithm of the beta function."""
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def _tuple(size) -> tuple[int, ...]:
    return (int(size),) if isinstance(size, Number) else tuple(size)


HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329
