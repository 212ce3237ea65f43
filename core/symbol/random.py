"""`sym.random`: samplers. Parameters are numbers or symbols; symbols give `shape` samples for each element."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

from core import late_names
from core.ndarray import random as _arrays
from core.ndarray.contrib import zipfian_counts
from core.ndarray.draws import numbers_only
from core.ops.registry import TABLE
from core.symbol.compose import Namespace as _Namespace
from core.symbol.compose import documented_wrapper, wrapper
from core.symbol.symbol import Symbol

_OTHERS = _Namespace("random", ("_random_", "_sample_"), Symbol)


def _of_symbols(sampler: Callable) -> Callable:
    """The sampler of `nd.random` over symbols: without `ctx` and `out`, which say where arrays are."""
    signature = inspect.signature(sampler)
    own = [p for name, p in signature.parameters.items() if name not in ("ctx", "out")]
    signature = signature.replace(parameters=own)

    def function(*args, **kwargs) -> Symbol:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        *parameters, shape, dtype, others = given.arguments.items()
        return _sample(sampler.__name__, dict(parameters), {**dict((shape, dtype)), **others[1]})

    function.__name__, function.__doc__, function.__signature__ = sampler.__name__, sampler.__doc__, signature
    return function


def _sample(name: str, parameters: dict, others: dict) -> Symbol:
    if name == "exponential":
        parameters = {"lam": 1.0 / parameters["scale"]}
    symbols = [isinstance(value, Symbol) for value in parameters.values()]
    given = {key: value for key, value in others.items() if value is not None}
    if not any(symbols):
        numbers_only(name, parameters)
        return wrapper(TABLE[f"_random_{name}"], f"_random_{name}", Symbol)(**parameters, **given)
    if not all(symbols):
        raise ValueError(f"{name}: parameters are all numbers or all symbols, given {parameters!r}")
    return wrapper(TABLE[f"_sample_{name}"], f"_sample_{name}", Symbol)(*parameters.values(), **given)


uniform, normal = _of_symbols(_arrays.uniform), _of_symbols(_arrays.normal)
gamma, exponential, poisson = map(_of_symbols, (_arrays.gamma, _arrays.exponential, _arrays.poisson))
negative_binomial = _of_symbols(_arrays.negative_binomial)
generalized_negative_binomial = _of_symbols(_arrays.generalized_negative_binomial)
shuffle = documented_wrapper(TABLE["_shuffle"], "_shuffle", Symbol)


def randn(*shape, loc=0, scale=1, dtype=None, **kwargs) -> Symbol:
    """Numbers of a normal distribution, shape given one by one; without one it follows from where they go.

    >>> sym.random.randn(2, 3).eval()[0].shape
    (2, 3)
    """
    kwargs.pop("data", None)  # MXNet drops it too
    return normal(loc, scale, shape, dtype, **kwargs)


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


def categorical(data, shape=None, get_prob=True, dtype="int32", **kwargs) -> Symbol:
    """MXNet 2's name of `multinomial`.

    >>> sym.random.categorical(sym.var("x"), shape=2, get_prob=False).eval(x=nd.array([[0, 1, 0]]))[0]
    [[1 1]]
    <NDArray 1x2 @cpu(0)>
    """
    return multinomial(data, shape, get_prob, dtype, **kwargs)


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
    return sorted({*late_names.defined(globals()), *dir(_OTHERS), "shuffle"})
