"""Sets of values that parameters and samples lie in; `check` gives the value back or raises ValueError."""

from __future__ import annotations

from core import autograd
from core import numpy as np


class Constraint:
    """Base: accepts everything.

    Subclasses tell by `holds(value)`, an array of truth values, and describe themselves.
    """

    text = "any value"

    def holds(self, value):
        return None

    def check(self, value):
        """`value`, all of which must satisfy the constraint.

        Inside a trace, where there are no values, nothing is checked.
        """
        if autograd.state.tracer is None:
            holds = self.holds(value)
            if holds is not None and not bool(np.array(holds).all()):
                raise ValueError(f"the values are to be {self.text}, given {value}")
        return value

    def __repr__(self):
        return f"{type(self).__name__}({self.text})"


class Real(Constraint):
    """All numbers; NaN is none."""

    text = "numbers"

    def holds(self, value):
        return value == value


class Boolean(Constraint):
    """0 and 1."""

    text = "0 or 1"

    def holds(self, value):
        return (value == 0) + (value == 1) > 0


class _Bounded(Constraint):
    """Between bounds, each of which belongs to the set (`closed`) or not."""

    closed: tuple[bool, bool]
    whole: bool  # integers only

    def __init__(self, lower_bound=None, upper_bound=None):
        self._lower_bound, self._upper_bound = lower_bound, upper_bound

    @property
    def text(self):
        parts = []
        if self._lower_bound is not None:
            parts.append(f"{'at least' if self.closed[0] else 'above'} {self._lower_bound}")
        if self._upper_bound is not None:
            parts.append(f"{'at most' if self.closed[1] else 'below'} {self._upper_bound}")
        return ("whole numbers " if self.whole else "") + " and ".join(parts)

    def holds(self, value):
        tests = []
        if self._lower_bound is not None:
            tests.append(value >= self._lower_bound if self.closed[0] else value > self._lower_bound)
        if self._upper_bound is not None:
            tests.append(value <= self._upper_bound if self.closed[1] else value < self._upper_bound)
        if self.whole:
            tests.append(value % 1 == 0)
        result = tests[0]
        for test in tests[1:]:
            result = result * test
        return result


def _bounded(name, closed=(True, True), whole=False, base=_Bounded, **fixed):
    """A class of bounded sets; `fixed` bounds make a class without arguments."""

    def upper(self, upper_bound):
        base.__init__(self, upper_bound=upper_bound)

    def none(self):
        base.__init__(self, **fixed)

    methods = {"closed": closed, "whole": whole}
    if fixed:
        methods["__init__"] = none
    elif "Less" in name:
        methods["__init__"] = upper
    return type(name, (base,), methods)


Interval = _bounded("Interval")
OpenInterval = _bounded("OpenInterval", (False, False))
HalfOpenInterval = _bounded("HalfOpenInterval", (True, False))
IntegerInterval = _bounded("IntegerInterval", whole=True)
IntegerOpenInterval = _bounded("IntegerOpenInterval", (False, False), True)
IntegerHalfOpenInterval = _bounded("IntegerHalfOpenInterval", (True, False), True)
GreaterThan = _bounded("GreaterThan", (False, True))
GreaterThanEq = _bounded("GreaterThanEq")
LessThan = _bounded("LessThan", (True, False))
LessThanEq = _bounded("LessThanEq")
IntegerGreaterThan = _bounded("IntegerGreaterThan", (False, True), True)
IntegerGreaterThanEq = _bounded("IntegerGreaterThanEq", whole=True)
IntegerLessThan = _bounded("IntegerLessThan", (True, False), True)
IntegerLessThanEq = _bounded("IntegerLessThanEq", whole=True)
UnitInterval = _bounded("UnitInterval", base=Interval, lower_bound=0, upper_bound=1)
Positive = _bounded("Positive", (False, True), base=GreaterThan, lower_bound=0)
NonNegative = _bounded("NonNegative", base=GreaterThanEq, lower_bound=0)
PositiveInteger = _bounded("PositiveInteger", (False, True), True, IntegerGreaterThan, lower_bound=0)
NonNegativeInteger = _bounded("NonNegativeInteger", (True, True), True, IntegerGreaterThanEq, lower_bound=0)


class Simplex(Constraint):
    """Probabilities along the last axis."""

    text = "not negative, and 1 in sum along the last axis"

    def holds(self, value):
        return (value >= 0).all() * (np.abs(value.sum(-1) - 1) < 1e-5).all()


class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    text = "lower triangular matrices"

    def holds(self, value):
        return np.tril(value) == value


class LowerCholesky(Constraint):
    """Cholesky factors: lower triangular matrices with a positive diagonal."""

    text = "lower triangular matrices of a positive diagonal"

    def holds(self, value):
        return (np.tril(value) == value).all() * (np.diagonal(value, axis1=-2, axis2=-1) > 0).all()


class PositiveDefinite(Constraint):
    """Covariance matrices: symmetric, with positive eigenvalues."""

    text = "symmetric positive definite matrices"

    def holds(self, value):
        symmetric = (np.abs(value - np.swapaxes(value, -1, -2)) < 1e-5).all()
        return symmetric * (np.linalg.eigvalsh(value) > 0).all()


class _Joined(Constraint):
    """Constraints on parts of a value along an axis."""

    def __init__(self, constraint_seq, axis=0, lengths=None):
        if not all(isinstance(c, Constraint) for c in constraint_seq):
            raise ValueError(f"the parts are to be constraints, given {constraint_seq}")
        self._constraint_seq, self._axis, self._lengths = list(constraint_seq), axis, lengths
        self.text = ", ".join(c.text for c in self._constraint_seq)


class Cat(_Joined):
    """Parts of `lengths` (1 each by default) side by side."""

    def check(self, value):
        start = 0
        for part, length in zip(self._constraint_seq, self._lengths or [1] * len(self._constraint_seq), strict=True):
            part.check(np.take(value, np.arange(start, start + length), axis=self._axis))
            start += length
        return value


class Stack(_Joined):
    """Parts stacked along an axis of their own."""

    def check(self, value):
        for k, part in enumerate(self._constraint_seq):
            part.check(np.take(value, k, axis=self._axis))
        return value
