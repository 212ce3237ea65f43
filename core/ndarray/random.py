"""`nd.random`: samplers. Parameters are numbers or arrays; arrays give `shape` samples for each element."""

from __future__ import annotations

import numpy as np

from core import dispatch, late_names, random_keys, writes
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ndarray._namespace import listing
from core.ndarray.draws import check_trials, named, numbers_only, sample, successes
from core.ndarray.functions import array
from core.ndarray.ndarray import NDArray
from core.ops.attributes import shape_of
from core.ops.registry import TABLE, F


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers between low and high (exclusive).

    low, high: numbers, or arrays of one shape, which give `shape` samples for each element. shape: of the result; None: (1,). dtype:
    float32 unless given. The numbers follow from `mx.random.seed`.

    >>> x = nd.random.uniform(2, 3, shape=(100,))
    >>> 2 <= float(x.min().asscalar()) and float(x.max().asscalar()) < 3
    True
    """
    return sample("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of a normal distribution with mean loc and standard deviation scale.

    loc, scale: numbers, or arrays of one shape, which give `shape` samples for each element. shape: of the result; None: (1,). dtype:
    float32 unless given. The numbers follow from `mx.random.seed`.

    >>> nd.random.normal(nd.array([0, 100]), nd.array([1, 1]), shape=(3,)).shape
    (2, 3)
    """
    return sample("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, ctx=None, **kwargs):
    """Numbers of a normal distribution, shape given one by one.

    `nd.random.randn(2, 3)` has shape (2, 3). dtype: float32 unless given. The numbers follow from `mx.random.seed`.

    >>> nd.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(loc, scale, shape, dtype, ctx, **kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of a gamma distribution with shape alpha and scale beta.

    The mean is alpha beta. alpha, beta: positive numbers, or arrays of one shape, which give `shape` samples for each element.

    >>> nd.random.gamma(2, 3, shape=(2, 3)).shape
    (2, 3)
    """
    return sample("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of an exponential distribution with mean scale.

    The density is ``e^(-x / scale) / scale``. scale: a number, or an array, which gives `shape` samples for each element.

    >>> nd.random.exponential(2, shape=(2, 3)).shape
    (2, 3)
    """
    return sample("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of a Poisson distribution with rate lam.

    ``P(k) = lam^k e^-lam / k!``; whole numbers as float32. lam: a number, or an array, which gives `shape` samples for each element.

    >>> nd.random.poisson(4, shape=(2, 3)).shape
    (2, 3)
    """
    return sample("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Failures before k successes of probability p.

    The mean is k (1 - p) / p; whole numbers as float32. k, p: numbers, or arrays of one shape.

    >>> nd.random.negative_binomial(3, 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return sample("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of a negative binomial distribution with mean mu and dispersion alpha.

    The variance is mu + alpha mu^2; whole numbers as float32. mu, alpha: numbers, or arrays of one shape.

    >>> nd.random.generalized_negative_binomial(2, 0.3, shape=(2, 3)).shape
    (2, 3)
    """
    return sample("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs)


def binomial(n=1, p=0.5, shape=None, dtype=None, ctx=None, out=None):
    """How many of n trials of probability p succeed; `shape` numbers, for each element where n and p are arrays.

    n: whole, from 0 to 2**53. dtype: of the result, by default float32, which is exact up to 2**24.

    >>> nd.random.binomial(10, 1.0, shape=(2,))
    [10. 10.]
    <NDArray 2 @cpu(0)>
    """
    shape, given = () if shape in (None, "_Null") else shape_of(shape), [isinstance(v, NDArray) for v in (n, p)]
    if not any(given):
        numbers_only("binomial", {"n": n, "p": p})
        shape = (shape or (1,)) if out is None else out.shape
    elif not all(given):
        raise ValueError(f"binomial: parameters are all numbers or all arrays, given {n!r} and {p!r}")
    elif n.shape != p.shape:
        raise MXNetError(f"binomial: n and p have one shape, given {n.shape} and {p.shape}")
    else:
        ctx = n.context
    n, p = (v.asnumpy() if isinstance(v, NDArray) else np.asarray(v) for v in (n, p))
    check_trials(n)
    if not np.all((p >= 0) & (p <= 1)):
        raise MXNetError(f"binomial: p has to be between 0 and 1, given {p}")
    wide = (np.broadcast_to(v.reshape(v.shape + (1,) * len(shape)), v.shape + shape) for v in (n, p))
    drawn = successes(*(array(v, ctx, "float64") for v in wide), int(n.max(initial=0)))
    drawn = F.Cast(drawn, dtype=dtype or "float32")
    return drawn if out is None else writes.assign(TABLE["Cast"], out, drawn)


def categorical(data, shape=None, get_prob=False, out=None, dtype="int32", **kwargs):
    """MXNet 2's name of `multinomial`.

    >>> nd.random.categorical(nd.array([[0, 1, 0]]), shape=2)
    [[1 1]]
    <NDArray 1x2 @cpu(0)>
    """
    return multinomial(data, shape, get_prob, out, dtype, **kwargs)


def randint(low, high, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Integers from low to high (exclusive).

    All are equally likely. shape: of the result; None: (1,). dtype: int32 unless given, or int64.

    >>> sorted(set(nd.random.randint(0, 3, shape=(100,)).asnumpy().tolist()))
    [0, 1, 2]
    """
    op = TABLE["_random_randint"]
    if out is not None:
        shape, dtype = out.shape, dtype or dtype_name(out.dtype)
    given = dict(low=low, high=high, shape=() if shape is None else shape, dtype=dtype, **named(kwargs))
    return dispatch.create(op, op.parse(given), ctx, NDArray, out)


def bernoulli(prob=0.5, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """1 with probability prob, else 0.

    prob: from 0 to 1. shape: of the result; None: (1,). dtype: float32 unless given.

    >>> nd.random.bernoulli(1, shape=(2,))
    [1. 1.]
    <NDArray 2 @cpu(0)>
    """
    op = TABLE["_random_bernoulli"]
    given = dict(prob=prob, shape=() if shape is None else shape, dtype=dtype or "float32", **named(kwargs))
    return dispatch.create(op, op.parse(given), ctx, NDArray, out)


def multinomial(data, shape=None, get_prob=False, out=None, dtype="int32", **kwargs):
    """Draws from categorical distributions, the rows of data; with get_prob also their log probabilities.

    data: probabilities, whose last axis adds up to 1. shape: of the draws from each row. dtype: of the draws. Gradients pass
    through the log probabilities.

    >>> nd.random.multinomial(nd.array([[0, 1, 0], [0, 0, 1]]), shape=2)
    [[1 1]
     [2 2]]
    <NDArray 2x2 @cpu(0)>
    """
    if not isinstance(data, NDArray):
        raise MXNetError(f"multinomial: the probabilities are to be an array, given {type(data).__name__}")
    given = dict(shape=() if shape is None else shape, get_prob=get_prob, dtype=dtype, **named(kwargs))
    return F._sample_multinomial(data, out=out, **given)


def shuffle(data, **kwargs):
    """The data in a random order along its first axis.

    Slices stay whole; every order is equally likely. A copy is returned.

    >>> sorted(nd.random.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return dispatch.operator_function(TABLE["_shuffle"], NDArray)(data, **kwargs)


def seed(seed_state, ctx="all"):
    """Starts the random state anew (see `core.random.seed`).

    >>> nd.random.seed(7)
    """
    random_keys.seed(seed_state, ctx)


def __getattr__(name: str):
    op = TABLE.get(f"_random_{name}")
    if op is None:
        raise AttributeError(f"nd.random has no function {name!r}")
    return dispatch.operator_function(op, NDArray)


def __dir__():
    return sorted({*late_names.defined(globals()), *listing(("_random_",))()})
