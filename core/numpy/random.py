"""`np.random`: samplers with NumPy's names; parameters are numbers or arrays.

size: the shape of the result, by default what the parameters broadcast to, () for numbers. dtype: by default float32,
or float64 under `npx.set_np(dtype=True)`. out: an array that the result is written to. ValueError for a parameter
outside of its range; of an array that is found out when the result is read.
"""

from __future__ import annotations

import numbers
import warnings

import numpy as onp

from core import dispatch, writes
from core.base import BadValue, MXNetError
from core.dtypes import dtype_name
from core.ndarray.draws import check_trials, successes
from core.ndarray.ndarray import NDArray
from core.numpy.keywords import explain
from core.numpy.multiarray import _into, array, ndarray
from core.ops.attributes import shape_of
from core.ops.registry import TABLE, F
from core.util import default_float


def _size(size) -> tuple[int, ...]:
    return () if size is None or (isinstance(size, str) and size == "None") else shape_of(size, "size")


def _standard(name: str, size, dtype, ctx, device, **parameters) -> ndarray:
    """Samples of a distribution of the table with fixed parameters."""
    op = TABLE[f"_random_{name}"]
    shape = _size(size)
    drawn = dispatch.create(
        op, op.parse({**parameters, "shape": shape or (1,), "dtype": dtype or default_float()}), ctx or device, ndarray
    )
    return drawn if shape else F._reshape_to(drawn, shape=())


def _shape_of(size, *parameters):
    """The shape of the result: `size`, or what the parameters broadcast to."""
    shapes = [p.shape for p in parameters if isinstance(p, NDArray)]
    return _size(size) if size is not None else onp.broadcast_shapes(*shapes)


def _where(holds, parameter, words: str):
    """A parameter of which `holds` is true.

    ValueError with `words` otherwise (of an array, when its values are read).
    """
    if isinstance(parameter, NDArray):
        return parameter * F.Cast(F._npx_constraint_check(holds(parameter), msg=words), dtype=parameter.dtype)
    if not onp.all(holds(parameter)):
        raise ValueError(f"{words}, given {parameter}")
    return parameter


def _not_negative(name: str, parameter):
    return _where(lambda v: v >= 0, parameter, f"{name} has to be 0 or more")


def _positive(name: str, parameter):
    return _where(lambda v: v > 0, parameter, f"{name} has to be above 0")


def _number(parameter):
    """A parameter; an array of one element without axes, so that it fits every size."""
    return F._reshape_to(parameter, shape=()) if isinstance(parameter, NDArray) and parameter.size == 1 else parameter


def _typed(drawn, dtype):
    """The numbers in the type that was asked for, or the default one, whatever the type of arrays of parameters."""
    dtype = dtype or default_float()
    return drawn if dtype_name(drawn.dtype) == dtype_name(dtype) else F.Cast(drawn, dtype=dtype)


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers between low and high (exclusive)."""
    unit = _standard("uniform", _shape_of(size, low, high), dtype, ctx, device)
    plain = not isinstance(low, NDArray) and not isinstance(high, NDArray) and (low, high) == (0.0, 1.0)
    return _into(out, unit if plain else _typed(unit * (high - low) + low, dtype))


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers of a normal distribution with mean loc and standard deviation scale; differentiable in both."""
    scale = _not_negative("scale", scale)
    unit = _standard("normal", _shape_of(size, loc, scale), dtype, ctx, device)
    plain = not isinstance(loc, NDArray) and not isinstance(scale, NDArray) and (loc, scale) == (0.0, 1.0)
    return _into(out, unit if plain else _typed(unit * scale + loc, dtype))


def lognormal(mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers whose logarithm is normal with this mean and standard deviation sigma."""
    return _into(out, F.exp(normal(mean, sigma, size, dtype, ctx, device)))


def randn(*size, **kwargs):
    """Numbers of the standard normal distribution, shape given one by one."""
    return normal(0.0, 1.0, size, **kwargs)


def rand(*size, **kwargs):
    """Numbers between 0 and 1, shape given one by one."""
    return uniform(0.0, 1.0, size, **kwargs)


def random(size=None, dtype=None, ctx=None, device=None):
    """Numbers between 0 and 1."""
    return uniform(0.0, 1.0, size, dtype, ctx, device)


def randint(low, high=None, size=None, dtype=None, ctx=None, device=None, out=None):
    """Integers from low to high (exclusive), or below low."""
    low, high = (0, low) if high is None else (low, high)
    op = TABLE["_random_randint"]
    shape = _size(size)
    given = {"low": low, "high": high, "shape": shape or (1,), "dtype": dtype or "int64"}
    drawn = dispatch.create(op, op.parse(given), ctx or device, ndarray)
    return _into(out, drawn if shape else F._reshape_to(drawn, shape=()))


def exponential(scale=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers of an exponential distribution with mean scale."""
    scale = _not_negative("scale", scale)
    unit = _standard("exponential", _shape_of(size, scale), dtype, ctx, device, lam=1.0)
    return _into(out, _typed(unit * scale, dtype))


def gamma(shape, scale=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers of a gamma distribution with mean shape * scale, differentiable in both."""
    shape, scale = _positive("shape", shape), _positive("scale", scale)
    if isinstance(shape, NDArray):
        op = TABLE["_sample_gamma"]
        full = F._broadcast_from(shape if size is None else _number(shape), shape=_shape_of(size, shape, scale))
        drawn = dispatch.launch(op, [full, F.ones_like(full)], op.parse({}), ndarray)
        drawn = F._gamma_of_shape(full, drawn)
    else:
        drawn = _standard("gamma", _shape_of(size, scale), dtype, ctx, device, alpha=shape, beta=1.0)
    return _into(out, _typed(drawn * scale, dtype))


def beta(a, b, size=None, dtype=None, ctx=None, device=None):
    """Numbers in [0, 1] of a beta distribution, with density proportional to x^(a - 1) (1 - x)^(b - 1)."""
    x, y = gamma(a, 1.0, size, dtype, ctx, device), gamma(b, 1.0, size, dtype, ctx, device)
    return x / (x + y)


def f(dfnum, dfden, size=None, ctx=None, device=None):
    """Numbers of Fisher's F distribution with dfnum and dfden degrees of freedom."""
    top, bottom = (chisquare(df, size, ctx=ctx, device=device) / _number(df) for df in (dfnum, dfden))
    return top / bottom


def chisquare(df, size=None, dtype=None, ctx=None, device=None):
    """Numbers of a chi-square distribution with df degrees of freedom."""
    return gamma(df / 2, 2.0, size, dtype, ctx, device)


def _open_unit(size, ctx, device, *parameters):
    """Numbers in (0, 1], whose logarithm is finite."""
    return 1.0 - uniform(0.0, 1.0, _shape_of(size, *parameters), None, ctx, device)


def gumbel(loc=0.0, scale=1.0, size=None, ctx=None, device=None, out=None):
    """Numbers of a Gumbel distribution with mode loc: loc - scale log(-log(u)), u uniform."""
    scale = _not_negative("scale", scale)
    waits = _standard("exponential", _shape_of(size, loc, scale), None, ctx, device, lam=1.0)
    return _into(out, _typed(F.negative(F.log(waits)) * scale + loc, None))


def logistic(loc=0.0, scale=1.0, size=None, ctx=None, device=None, out=None):
    """Numbers of a logistic distribution with mean loc: loc + scale log(u / (1 - u)), u uniform."""
    scale = _not_negative("scale", scale)
    u = _open_unit(size, ctx, device, loc, scale) * (1.0 - 1e-7)
    return _into(out, _typed(F.log(u / (1.0 - u)) * scale + loc, None))


def laplace(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, device=None, out=None):
    """Numbers of a Laplace distribution, with density exp(-|x - loc| / scale) / (2 scale)."""
    scale = _not_negative("scale", scale)
    shape = _shape_of(size, loc, scale)
    a, b = (_standard("exponential", shape, dtype, ctx, device, lam=1.0) for _ in range(2))
    return _into(out, _typed((a - b) * scale + loc, dtype))


def rayleigh(scale=1.0, size=None, ctx=None, device=None, out=None):
    """Numbers of a Rayleigh distribution with mode scale: the length of two normal numbers of that deviation."""
    scale = _not_negative("scale", scale)
    squares = _standard("exponential", _shape_of(size, scale), None, ctx, device, lam=0.5)
    return _into(out, _typed(F.sqrt(squares) * scale, None))


def weibull(a, size=None, ctx=None, device=None, out=None):
    """Numbers of a Weibull distribution with shape a and scale 1: (-log(u))^(1 / a), u uniform."""
    a = _positive("a", a)
    waits = _standard("exponential", _shape_of(size, a), None, ctx, device, lam=1.0)
    return _into(out, _typed(waits ** (1.0 / a), None))


def pareto(a, size=None, ctx=None, device=None, out=None):
    """Numbers of a Pareto distribution (of the second kind) with shape a."""
    a = _positive("a", a)
    waits = _standard("exponential", _shape_of(size, a), None, ctx, device, lam=1.0)
    return _into(out, _typed(F.expm1(waits * (1.0 / a)), None))


def power(a, size=None, ctx=None, device=None, out=None):
    """Numbers in [0, 1] with density a x^(a - 1)."""
    a = _positive("a", a)
    return _into(out, _typed(_open_unit(size, ctx, device, a) ** (1.0 / a), None))


def poisson(lam=1.0, size=None, dtype=None, ctx=None, device=None):
    """Numbers of a Poisson distribution; `lam` is a number or an array."""
    if isinstance(lam, NDArray):
        op = TABLE["_sample_poisson"]
        full = F._broadcast_from(lam, shape=_shape_of(size, lam))
        return dispatch.launch(op, [full], op.parse({} if dtype is None else {"dtype": dtype}), ndarray)
    return _standard("poisson", size, dtype, ctx, device, lam=lam)


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, device=None, out=None):
    """1 with a probability, or with the sigmoid of a logit, else 0."""
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: either prob or logit is given")
    if prob is not None:
        prob = _where(lambda v: v >= 0, prob, "prob has to be between 0 and 1")
        prob = _where(lambda v: v <= 1, prob, "prob has to be between 0 and 1")
    else:
        prob = F.sigmoid(logit) if isinstance(logit, NDArray) else 1.0 / (1.0 + onp.exp(-logit))
    draws = uniform(0.0, 1.0, _shape_of(size, prob), None, ctx, device)
    return _into(out, F.Cast(draws < prob, dtype=dtype or "float32"))


def binomial(n: int, p=0.5, size=None, dtype=None, ctx=None, device=None):
    """How many of n trials of probability p (a number or an array) succeed, as float32 unless given."""
    if not isinstance(n, numbers.Real):
        raise MXNetError(f"binomial: n is a number, given {type(n).__name__}")
    check_trials(n)
    p = _where(lambda v: (v >= 0) * (v <= 1), p, "p has to be between 0 and 1")
    shape = _shape_of(size, p)
    if isinstance(p, NDArray):
        p = F.Cast(F._broadcast_from(p, shape=shape or (1,)), dtype="float64")
    else:
        p = array(onp.full(shape or (1,), p), dtype="float64", ctx=ctx or device)
    drawn = successes(F.full_like(p, fill_value=int(n)).as_nd_ndarray(), p.as_nd_ndarray(), int(n)).as_np_ndarray()
    return F._reshape_to(F.Cast(drawn, dtype=dtype or "float32"), shape=shape)


def multinomial(n, pvals, size=None, ctx=None, device=None):
    """Counts of n draws from a categorical distribution, as int64: size + (classes,); MXNetError for a sum above 1."""
    values = pvals.asnumpy() if isinstance(pvals, NDArray) else onp.asarray(pvals, dtype="float32")
    total = values.sum(dtype="float64")
    if total > 1.0 + 1e-6:
        raise BadValue(f"multinomial: the probabilities sum to {total}, which is above 1")
    shape = (*_size(size), len(values))
    if 0 in shape:
        return array(onp.zeros(shape), dtype="int64", ctx=ctx or device)
    rows = array(
        onp.broadcast_to(values, (int(onp.prod(shape[:-1], dtype=int)), len(values))),
        dtype="float32",
        ctx=ctx or device,
    )
    draws = F._multinomial(rows, count=max(n, 1), dtype="int64").asnumpy().reshape(len(rows), -1)[:, :n]
    counts = onp.stack([onp.bincount(row, minlength=len(values)) for row in draws])
    return array(counts.reshape(shape), dtype="int64", ctx=ctx or device)


def choice(a, size=None, replace=True, p=None, ctx=None, device=None, out=None):
    """Elements of an array (or integers below a), drawn with or without putting back."""
    n = a if isinstance(a, numbers.Integral) else a.shape[0]
    shape = _size(size)
    count = int(onp.prod(shape, dtype=int))
    if not replace and count > n:
        raise ValueError(f"cannot draw {count} of {n} elements without putting back")
    if p is not None:
        weights = F.Cast(p if isinstance(p, NDArray) else array(p), dtype="float32")
        if replace:
            index = F._multinomial(weights, count=count, dtype="int64")
        else:  # the largest of log p + Gumbel noise (Efraimidis and Spirakis, 2006)
            index = F.argsort(F.negative(F.log(weights) + gumbel(size=n, ctx=weights._ctx)), dtype="int64")[:count]
    elif replace:
        index = randint(0, n, (count,), "int64", ctx, device)
    else:
        index = permutation(n, ctx=ctx or device)[:count].astype("int64")
    index = F._reshape_to(index, shape=shape)
    return _into(out, index if isinstance(a, numbers.Integral) else F.take(a, index, axis=0))


def permutation(x, ctx=None, device=None):
    """A random order of an array, or of 0 ... x - 1."""
    if isinstance(x, numbers.Integral):
        x = array(onp.arange(x, dtype=onp.float32), ctx=ctx or device)
    return dispatch.launch(TABLE["_shuffle"], [x], {}, ndarray)


def shuffle(x) -> None:
    """Puts the array in a random order along its first axis, in place."""
    writes.write(x, permutation(x))


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Numbers of normal distributions with covariance matrices: size + (mean.shape against cov.shape[:-1]).

    check_valid: "raise" (ValueError) or "warn" where a matrix is not symmetric with eigenvalues >= 0 up to `tol` (1e-8);
    None or "ignore": it is not looked at.
    """
    from core.numpy.linalg import cholesky

    _check_covariance(cov, check_valid, 1e-8 if tol is None else tol)
    batch = onp.broadcast_shapes(mean.shape, cov.shape[:-1])
    kind = dtype_name(mean.dtype)
    wide = "float32" if kind == "float16" else kind  # factors need 32 bits
    noise = normal(0.0, 1.0, (*_size(size), *batch, 1), dtype=wide, ctx=mean._ctx)
    spread = F._npi_matmul(cholesky(F.Cast(cov, dtype=wide)), noise)
    return F.Cast(F._reshape_to(spread, shape=(*_size(size), *batch)), dtype=kind) + mean


def _check_covariance(cov, check_valid: str | None, tol: float) -> None:
    if check_valid not in (None, "ignore", "warn", "raise"):
        raise ValueError(f"check_valid is 'raise', 'warn' or 'ignore', given {check_valid!r}")
    if check_valid in ("warn", "raise"):
        matrices = cov.asnumpy().astype("float64")
        turned = onp.swapaxes(matrices, -1, -2)
        if not onp.allclose(matrices, turned, tol, tol) or onp.linalg.eigvalsh(matrices).min() < -tol:
            message = "multivariate_normal: the covariance is not symmetric and positive semidefinite"
            if check_valid == "raise":
                raise ValueError(message)
            warnings.warn(message, RuntimeWarning)


def geometric(p, size=None, dtype=None, ctx=None, device=None):
    """How many trials of probability p it takes to succeed, as float32 unless given."""
    p = _where(lambda v: (v > 0) * (v <= 1), p, "p has to be above 0 and at most 1")
    log = F.log(1.0 - p) if isinstance(p, NDArray) else onp.log1p(-p)
    waits = _standard("exponential", _shape_of(size, p), None, ctx, device, lam=1.0) / -log
    return F.Cast(F.floor(waits) + 1.0, dtype=dtype or "float32")


def seed(seed, ctx="all", device=None) -> None:
    """Starts the random state anew, of all contexts or of one."""
    from core import random as state

    state.seed(seed, device or ctx)


explain(globals(), "random.")
