"""Differentiable maps with the logarithm of their Jacobian's determinant, and the maps onto constrained sets."""

from __future__ import annotations

from numbers import Number

from core import numpy as np
from core import numpy_extension as npx
from gluon.block import HybridBlock
from gluon.probability import constraint as sets
from gluon.probability.distribution import EPS, softplus, sum_right_most


class Transformation:
    """A map y = t(x) with its inverse x = t.inv(y).

    `event_dim` axes are transformed together, `sign` is that of the slope.
    """

    bijective = False
    event_dim = 0
    sign = 1

    def __init__(self):
        super().__init__()

    def __call__(self, x):
        return self._forward_compute(x)

    @property
    def inv(self):
        """The inverse map."""
        return _Inverse(self)

    def _forward_compute(self, x):
        raise NotImplementedError(f"{type(self).__name__} defines no _forward_compute")

    def _inverse_compute(self, y):
        raise NotImplementedError(f"{type(self).__name__} defines no _inverse_compute")

    def log_det_jacobian(self, x, y):
        """log |dy / dx|."""
        raise NotImplementedError(f"{type(self).__name__} defines no log_det_jacobian")


class _Inverse(Transformation):
    """The inverse of a map."""

    def __init__(self, forward):
        super().__init__()
        self._forward = forward
        self.event_dim, self.bijective = forward.event_dim, forward.bijective

    @property
    def inv(self):
        return self._forward

    @property
    def sign(self):
        return self._forward.sign

    def __call__(self, x):
        return self._forward._inverse_compute(x)

    def _inverse_compute(self, y):
        return self._forward(y)

    def log_det_jacobian(self, x, y):
        return -self._forward.log_det_jacobian(y, x)


class TransformBlock(Transformation, HybridBlock):
    """A map with parameters, as in normalizing flows."""

    def __init__(self, *args, **kwargs):
        HybridBlock.__init__(self, *args, **kwargs)


class ComposeTransform(Transformation):
    """One map after the other."""

    def __init__(self, parts):
        super().__init__()
        self._parts = list(parts)
        self.event_dim = max((p.event_dim for p in self._parts), default=0)
        self.bijective = all(p.bijective for p in self._parts)

    @property
    def sign(self):
        sign = 1
        for part in self._parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        return ComposeTransform([part.inv for part in reversed(self._parts)])

    def _forward_compute(self, x):
        for part in self._parts:
            x = part(x)
        return x

    def _inverse_compute(self, y):
        return self.inv(y)

    def log_det_jacobian(self, x, y):
        if not self._parts:
            return np.zeros_like(x)
        total = 0
        for part in self._parts:
            after = y if part is self._parts[-1] else part(x)
            total = total + sum_right_most(part.log_det_jacobian(x, after), self.event_dim - part.event_dim)
            x = after
        return total


class ExpTransform(Transformation):
    """y = exp(x)."""

    bijective = True

    def _forward_compute(self, x):
        return np.exp(x)

    def _inverse_compute(self, y):
        return np.log(y)

    def log_det_jacobian(self, x, y):
        return x


class AffineTransform(Transformation):
    """y = loc + scale * x."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0):
        super().__init__()
        self._loc, self._scale, self.event_dim = loc, scale, event_dim

    @property
    def sign(self):
        return np.sign(self._scale)

    def _forward_compute(self, x):
        return self._loc + self._scale * x

    def _inverse_compute(self, y):
        return (y - self._loc) / self._scale

    def log_det_jacobian(self, x, y):
        return sum_right_most(np.ones_like(x) * np.log(np.abs(self._scale)), self.event_dim)


class PowerTransform(Transformation):
    """y = x ** exponent, of positive numbers."""

    bijective = True

    def __init__(self, exponent):
        super().__init__()
        self._exponent = exponent

    def _forward_compute(self, x):
        return np.power(x, self._exponent)

    def _inverse_compute(self, y):
        return np.power(y, 1 / self._exponent)

    def log_det_jacobian(self, x, y):
        return np.log(np.abs(self._exponent * y / x))


class SigmoidTransform(Transformation):
    """y = 1 / (1 + exp(-x)), kept away from 0 and 1."""

    bijective = True

    def _forward_compute(self, x):
        return np.clip(npx.sigmoid(x), EPS, 1 - EPS)

    def _inverse_compute(self, y):
        y = np.clip(y, EPS, 1 - EPS)
        return np.log(y) - np.log1p(-y)

    def log_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftmaxTransform(Transformation):
    """y = softmax(x) along the last axis; the inverse gives one of the x that lead to y."""

    event_dim = 1

    def _forward_compute(self, x):
        return npx.softmax(x, axis=-1)

    def _inverse_compute(self, y):
        return np.log(y)


class AbsTransform(Transformation):
    """y = |x|; the inverse gives the positive one."""

    def _forward_compute(self, x):
        return np.abs(x)

    def _inverse_compute(self, y):
        return y


class domain_map:
    """Maps from all numbers onto the sets of constraints.

    `register(Constraint)` decorates a function that makes one.
    """

    def __init__(self):
        self._storage: dict = {}

    def register(self, constraint, factory=None):
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, sets.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, sets.Constraint):
            raise TypeError(f"a Constraint or a class of them is expected, given {constraint!r}")
        self._storage[kind] = factory
        return factory

    def __call__(self, constraint):
        factory = self._storage.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"there is no map onto {constraint!r}")
        return factory(constraint)


biject_to, transform_to = domain_map(), domain_map()


def _onto(*kinds):
    """Enters a map in both tables."""

    def enter(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return enter


@_onto(sets.Positive, sets.NonNegative)
def _(constraint):
    return ExpTransform()


@_onto(sets.GreaterThan, sets.GreaterThanEq)
def _(constraint):
    return ComposeTransform([ExpTransform(), AffineTransform(constraint._lower_bound, 1)])


@_onto(sets.LessThan, sets.LessThanEq)
def _(constraint):
    return ComposeTransform([ExpTransform(), AffineTransform(constraint._upper_bound, -1)])


@_onto(sets.Interval, sets.OpenInterval, sets.HalfOpenInterval, sets.UnitInterval)
def _(constraint):
    low, high = constraint._lower_bound, constraint._upper_bound
    if all(isinstance(bound, Number) for bound in (low, high)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])
