"""`sym.random`: samplers. Parameters are numbers or symbols; symbols give `shape` samples for each element."""

from __future__ import annotations

import math

from core.ndarray.contrib import zipfian_counts
from core.ndarray.draws import numbers_only
from core.ops.registry import TABLE
from core.symbol.compose import Namespace as _Namespace
from core.symbol.compose import wrapper
from core.symbol.symbol import Symbol

_OTHERS = _Namespace("random", ("_random_", "_sample_"), Symbol)


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Numbers between low and high (exclusive).

    >>> sym.random.uniform(2, 3, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Numbers of a normal distribution with mean loc and standard deviation scale.

    >>> sym.random.normal(0, 1, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, **kwargs) -> Symbol:
    """Numbers of a normal distribution, shape given one by one.

    >>> sym.random.randn(2, 3).eval()[0].shape
    (2, 3)
    """
    return normal(loc, scale, shape, dtype, **kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Numbers of a gamma distribution with shape alpha and scale beta.

    >>> sym.random.gamma(2, 3, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Numbers of an exponential distribution with mean scale.

    >>> sym.random.exponential(2, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Numbers of a Poisson distribution with rate lam.

    >>> sym.random.poisson(4, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("poisson", {"lam": lam}, shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """Failures before the k-th success of probability p.

    >>> sym.random.negative_binomial(3, 0.5, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, **kwargs) -> Symbol:
    """A negative binomial distribution by its mean mu and dispersion alpha.

    >>> sym.random.generalized_negative_binomial(2, 0.3, shape=(2, 3)).eval()[0].shape
    (2, 3)
    """
    return _sample("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs) -> Symbol:
    """Indices drawn with the probabilities in the last axis of data; with get_prob their logarithms too.

    >>> sym.random.multinomial(sym.var("x"), shape=2).eval(x=nd.array([[0, 1, 0]]))[0]
    [[1 1]]
    <NDArray 1x2 @cpu(0)>
    """
    given = {} if shape is None else {"shape": shape}
    return wrapper(TABLE["_sample_multinomial"], "_sample_multinomial", Symbol)(
        data, get_prob=get_prob, dtype=dtype, **given, **kwargs
    )


def shuffle(data, **kwargs) -> Symbol:
    """The data with its rows in random order.

    >>> sorted(sym.random.shuffle(sym.var("x")).eval(x=nd.array([3, 1, 2]))[0].asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return wrapper(TABLE["_shuffle"], "_shuffle", Symbol)(data, **kwargs)


def rand_zipfian(true_classes, num_sampled: int, range_max: int):
    """Classes drawn with P(k) = log((k + 2) / (k + 1)) / log(range_max + 1),
    and the counts expected of true and drawn ones.

    Three symbols, as of `nd.contrib.rand_zipfian`.

    >>> drawn, wanted, among = sym.random.rand_zipfian(sym.var("words"), num_sampled=4, range_max=100)
    >>> wanted.list_arguments(), drawn.infer_shape()[1]
    (['words'], [(4,)])
    """
    drawn = uniform(0, math.log(range_max + 1), shape=(num_sampled,), dtype="float64").exp() - 1
    drawn = drawn.astype("int64") % range_max
    return drawn, *(zipfian_counts(classes, num_sampled, range_max) for classes in (true_classes, drawn))


def __getattr__(name: str):
    return getattr(_OTHERS, name)


def __dir__():
    return sorted({*globals(), *dir(_OTHERS)})


def _sample(name: str, parameters: dict, shape, dtype, kwargs: dict) -> Symbol:
    symbols = [isinstance(value, Symbol) for value in parameters.values()]
    given = {key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None}
    if not any(symbols):
        numbers_only(name, parameters)
        return wrapper(TABLE[f"_random_{name}"], f"_random_{name}", Symbol)(**parameters, **given, **kwargs)
    if not all(symbols):
        raise ValueError(f"{name}: parameters are all numbers or all symbols, given {parameters!r}")
    return wrapper(TABLE[f"_sample_{name}"], f"_sample_{name}", Symbol)(*parameters.values(), **given, **kwargs)
