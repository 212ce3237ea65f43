"""Functions of `sym` that are more than one operator: arrays of constants, and operations of symbols and numbers."""

from __future__ import annotations

from core.ops.registry import TABLE
from core.symbol.compose import front
from core.symbol.symbol import Symbol


def zeros(shape, dtype=None, **kwargs) -> Symbol:
    """An array of zeros."""
    return _internal("_zeros", shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape, dtype=None, **kwargs) -> Symbol:
    """An array of ones."""
    return _internal("_ones", shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape, val, dtype=None, **kwargs) -> Symbol:
    """An array filled with `val`."""
    return _internal("_full", shape=shape, value=float(val), dtype=dtype or "float32", **kwargs)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=False, name=None, dtype=None) -> Symbol:
    """Numbers from start (0 where only one bound is given) to stop (exclusive) by step, each `repeat` times."""
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return _internal("_arange", **given, name=name, dtype=dtype or "float32")


def maximum(left, right):
    """The larger of each two elements, of symbols and numbers."""
    return _either("_maximum", "_maximum_scalar", "_maximum_scalar", max, left, right)


def minimum(left, right):
    """The smaller of each two elements, of symbols and numbers."""
    return _either("_minimum", "_minimum_scalar", "_minimum_scalar", min, left, right)


def hypot(left, right):
    """sqrt(left^2 + right^2), of symbols and numbers."""
    return _either("_hypot", "_hypot_scalar", "_hypot_scalar", lambda a, b: (a * a + b * b) ** 0.5, left, right)


def power(base, exp):
    """base to the power exp, of symbols and numbers."""
    return _either("_power", "_power_scalar", "_rpower_scalar", lambda a, b: a**b, base, exp)


pow = power


def _internal(operator: str, /, *args, **kwargs) -> Symbol:
    hint = operator.replace("_scalar", "scalar")  # as MXNet counts them
    return front(TABLE[operator], hint, Symbol)(*args, **kwargs)


def _either(both: str, right_number: str, left_number: str, numbers, left, right):
    if isinstance(left, Symbol):
        if isinstance(right, Symbol):
            return _internal(both, left, right)
        return _internal(right_number, left, scalar=right)
    if isinstance(right, Symbol):
        return _internal(left_number, right, scalar=left)
    return numbers(left, right)
