"""How samples are drawn: what the samplers of `nd.random`, `np.random` and `sym.random` have in common."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from core import dispatch
from core.base import MXNetError
from core.context import Context, cpu
from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray, array
from core.ops.registry import TABLE, F
from core.ops.values import Attrs, Value


def sample(
    name: str, parameters: Attrs, shape: Any = None, dtype: Any = None, ctx: Context | None = None, out: Any = None,
    kwargs: Attrs | None = None,
) -> Any:  # fmt: skip
    """Draws of `_random_NAME`, or of `_sample_NAME` where the parameters are arrays; `kwargs`: what else a user gave."""
    kwargs = named(kwargs or {})
    arrays = [isinstance(v, NDArray) for v in parameters.values()]
    shape = () if shape in (None, "_Null") else shape
    if any(arrays):
        if not all(arrays):
            raise ValueError(f"{name}: parameters are all numbers or all arrays, given {parameters!r}")
        op = TABLE[f"_sample_{name}"]
        given = dict(shape=shape, **kwargs) | ({} if dtype in (None, "None") else {"dtype": dtype})
        return dispatch.launch(op, list(parameters.values()), op.parse(given), NDArray, out)
    numbers_only(name, parameters)
    op = TABLE[f"_random_{name}"]
    if out is not None:
        shape, dtype = out.shape, dtype or dtype_name(out.dtype)
    return dispatch.create(op, op.parse(dict(**parameters, shape=shape, dtype=dtype, **kwargs)), ctx, NDArray, out)


def named(kwargs: Attrs) -> Attrs:
    """Further keywords, which the operator refuses; `name`, which arrays do not have, is none."""
    return {word: value for word, value in kwargs.items() if word != "name"}


def numbers_only(name: str, parameters: Attrs) -> None:
    """ValueError for a parameter that is no number."""
    for parameter, value in parameters.items():
        if not isinstance(value, numbers.Number):
            raise ValueError(f"random.{name}: {parameter} is a number or an array, given {value!r}")


def check_trials(n: Any) -> None:
    """MXNetError for numbers of trials that are none."""
    if not np.all((n >= 0) & (n <= 1 << 53) & (np.floor(n) == n)):
        raise MXNetError(f"binomial: n has to be a whole number from 0 to 2**53, given {n}")


def successes(n: Value, p: Value, most: int) -> Value:
    """How many of n trials, at most `most`, of probability p succeed; all arrays are float64 and of one shape.

    By halves (Devroye, 1986, X.4): of n uniform numbers the middle one, y, is drawn. Where it is below p, it and those
    below it are successes, and those above it are uniform beyond y; otherwise those below it are left, uniform up to y.
    """
    count, one = F.zeros_like(n), F.ones_like(n)
    while most > _FEW:
        many = n > _FEW
        middle = F.where(many, F.floor(n / 2) + 1, one)
        low, high = (sample("gamma", {"alpha": a, "beta": one}) for a in (middle, F.where(many, n + 1 - middle, one)))
        y = low / (low + high)
        below = y < p
        count = F.where(many * below, count + middle, count)
        left, chance = F.where(below, n - middle, middle - 1), F.where(below, (p - y) / (1 - y), p / y)
        n, p = F.where(many, left, n), F.where(many, chance, p)
        most //= 2
    for k in range(most):
        count = count + (_uniform(1, n.shape, n.context) < p) * (n > k)
    return count


_FEW = 16  # trials that are made one by one


def log_uniform(range_max: int, shape: Any, ctx: Context | None = None) -> NDArray:
    """Classes below range_max, int64, with P(k) = log((k + 2) / (k + 1)) / log(range_max + 1)."""
    drawn = _uniform(math.log(range_max + 1), shape, ctx)
    classes: NDArray = (drawn.exp() - 1).astype("int64") % range_max
    return classes


def unique_zipfian(range_max: int, shape: tuple[int, int]) -> list[NDArray]:
    """Classes of `log_uniform` of which each row has none twice, and how many were drawn for each row; both int64.

    shape: (rows, classes of a row). By MXNet's name `nd._internal._sample_unique_zipfian`.
    """
    rows, count = shape
    if not 0 < count <= range_max:
        raise MXNetError(f"_sample_unique_zipfian: {count} of {range_max} classes cannot differ")
    found = [_distinct(range_max, count) for _ in range(rows)]
    return [array([classes for classes, _ in found], dtype="int64"), array([n for _, n in found], dtype="int64")]


def _distinct(range_max: int, count: int) -> tuple[np.ndarray, int]:
    """The first `count` different classes of a sequence of draws, and the number of draws up to the last of them."""
    drawn = np.zeros(0, np.int64)
    while True:
        drawn = np.append(drawn, log_uniform(range_max, (2 * count,), cpu()).asnumpy())
        classes, places = np.unique(drawn, return_index=True)
        if len(classes) >= count:
            first = np.sort(places)[:count]
            return drawn[first], int(first[-1]) + 1


def _uniform(high: float, shape: Any, ctx: Context | None) -> Any:
    return sample("uniform", {"low": 0, "high": high}, shape, "float64", ctx)
