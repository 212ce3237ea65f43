"""Samplers. Every draw takes one key of the random state of its context."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from core import kernels, storage
from core.base import MXNetError
from core.context import Context
from core.kernels import formula as f
from core.kernels.formula import Formula
from core.ops.attributes import Bool, DType, FewDTypes, Float, Int, Shape
from core.ops.registry import F, composite, gradient, operator
from core.ops.relations import DRAWN, FIRST
from core.ops.values import Attrs, Dtype, Gradients, Tensor, Value

K = kernels.random
Real = Annotated[str | None, FewDTypes("float16", "float32", "float64", "bfloat16")]
Whole = Annotated[str | None, FewDTypes("int32", "int64")]

POSITIVE = (lambda v: v > 0, "above 0")
NOT_NEGATIVE = (lambda v: v >= 0, "0 or more")
PROBABILITY = (lambda v: 0 < v <= 1, "above 0 and at most 1")
ANY = (lambda v: True, "")


def _kind(dtype: str | None, default: str = "float32") -> Dtype:
    return kernels.torch_dtype(default if dtype in (None, "None") else dtype)


def _enter(name: str, sampler: Callable[..., Any], parameters: list[tuple[Any, ...]]) -> None:
    """`_random_NAME(params, shape, dtype)`, `_sample_NAME(arrays, shape)` and `_random_NAME_like(data)`.

    Parameters: (name, default, (what holds of fixed values, in words)); the type of the default is theirs.
    """
    values = ", ".join(
        f"{p}: {'Int' if isinstance(default, int) else 'Float'} = {default}" for p, default, _ in parameters
    )
    names = [p for p, _, _ in parameters]
    given = ", ".join(names)
    arrays = ["mu", "sigma"] if name == "normal" else names  # MXNet's words for them

    def check(*fixed: float) -> None:
        for (parameter, _, (holds, words)), value in zip(parameters, fixed, strict=True):
            if not holds(value):
                raise MXNetError(f"random {name}: {parameter} has to be {words}, given {value}")
        if name == "uniform" and not fixed[0] <= fixed[1]:
            raise MXNetError(f"random uniform: low {fixed[0]} is not at most high {fixed[1]}")

    source = f'''
def draw(*, {values}, shape: Shape = (), ctx=None, dtype: Real = None, key=None):
    """Samples of the {name} distribution with fixed parameters."""
    check({given})
    return sampler(shape or (1,), {given}, _kind(dtype), storage.device(ctx), key)

def like(data, *, {values}, key=None):
    """Samples of the {name} distribution in the shape of the data."""
    check({given})
    return sampler(tuple(data.shape), {given}, data.dtype, data.device, key)

def sample({", ".join(arrays)}, *, shape: Shape = (), dtype: Real = None, key=None):
    """Samples of the {name} distribution, `shape` of them for each element of the parameter arrays."""
    first, arrays = {arrays[0]}, [{", ".join(arrays)}]
    full = tuple(first.shape) + shape
    wide = [kernels.shape.expand(a.reshape(tuple(a.shape) + (1,) * len(shape)), full) for a in arrays]
    return sampler(full, *wide, _kind(dtype, kernels.dtype_name(first) if first.is_floating_point() else "float32"), first.device, key)
'''
    scope: Attrs = {
        "Float": Float, "Int": Int, "Shape": Shape, "Real": Real, "sampler": sampler, "_kind": _kind, "storage": storage,
        "kernels": kernels, "check": check,
    }  # fmt: skip
    exec(source, scope)
    short = (name,) if name in ("uniform", "normal") else ()
    operator(f"_random_{name}", aliases=(f"random_{name}", *short), rng=True)(scope["draw"])
    operator(f"_random_{name}_like", rng=True, memory="new")(scope["like"])
    operator(f"_sample_{name}", aliases=(f"sample_{name}",), rng=True, memory="new", shape=DRAWN)(scope["sample"])


def _inverse(rate: Any) -> Any:
    return 1.0 / rate if isinstance(rate, float) else F.reciprocal.forward(rate)


_enter("uniform", K.uniform, [("low", 0.0, ANY), ("high", 1.0, ANY)])
_enter("normal", K.normal, [("loc", 0.0, ANY), ("scale", 1.0, POSITIVE)])
_enter("gamma", K.gamma, [("alpha", 1.0, POSITIVE), ("beta", 1.0, POSITIVE)])
_enter("exponential", lambda shape, lam, *rest: K.exponential(shape, _inverse(lam), *rest), [("lam", 1.0, POSITIVE)])
_enter("poisson", K.poisson, [("lam", 1.0, NOT_NEGATIVE)])
_enter("negative_binomial", K.negative_binomial, [("k", 1, NOT_NEGATIVE), ("p", 1.0, PROBABILITY)])
_enter(
    "generalized_negative_binomial",
    K.generalized_negative_binomial,
    [("mu", 1.0, NOT_NEGATIVE), ("alpha", 1.0, NOT_NEGATIVE)],
)


@operator("_random_randint", aliases=("random_randint",), rng=True, dtype="int32")
def randint(
    *, low: Int, high: Int, shape: Shape = (), ctx: Context | None = None, dtype: Whole = None, key: int | None = None
) -> Any:
    """Integers from low to high (exclusive)."""
    if low >= high:
        raise MXNetError(f"randint: low {low} is not below high {high}")
    return K.randint(shape or (1,), low, high, _kind(dtype, "int32"), storage.device(ctx), key)


@operator("_random_bernoulli", rng=True)
def bernoulli(
    *, prob: Float, shape: Shape = (), dtype: DType = "float32", ctx: Context | None = None, key: Any = None
) -> Tensor:
    """1 with probability prob, else 0."""
    return K.bernoulli(shape or (1,), prob, kernels.torch_dtype(dtype), storage.device(ctx), key)


_SLOPE = Formula.of(f.gamma_slope, name="gamma_slope")


@operator("_gamma_slope", memory="new")
def gamma_slope(alpha: Tensor, sample: Tensor) -> Tensor:
    """The derivative of standard gamma samples by their shapes alpha, their quantiles held."""
    return kernels.pointwise.pointwise(_SLOPE, (alpha, sample), (), sample.dtype)


@gradient(gamma_slope)
def _gamma_slope_gradient(dy: Value) -> Gradients:
    raise MXNetError("gamma samples are differentiable once: their derivative by the shape has no formula for its own")


@operator("_gamma_of_shape", memory="new")
def gamma_of_shape(alpha: Tensor, sample: Tensor) -> Tensor:
    """Standard gamma samples as functions of their shapes: implicit reparametrisation (Figurnov et al., 2018)."""
    return kernels.shape.clone(sample)


@gradient(gamma_of_shape)
def _gamma_of_shape_gradient(dy: Value, alpha: Value, out: Value) -> Gradients:
    return [dy * F._gamma_slope(alpha, out), None]


@operator("_multinomial", rng=True, memory="new")
def _multinomial(data: Tensor, *, count: Int, dtype: DType = "int32", key: int | None = None) -> Tensor:
    """`count` draws from each row of probabilities."""
    return kernels.cast(K.multinomial(data, count, key), dtype)


@composite(
    "_sample_multinomial", aliases=("sample_multinomial",), outputs=lambda attrs: 1 + bool(attrs["get_prob"]),
    unnamed=True,
)  # fmt: skip
def sample_multinomial(
    data: Value, *, shape: Shape = (), get_prob: Bool = False, dtype: DType = "int32"
) -> Value | Sequence[Value]:
    """Draws from categorical distributions; with get_prob also the log probabilities of what was drawn."""
    count = 1
    for n in shape:
        count *= n
    draws = F._multinomial(data, count=count, dtype=dtype)
    full = tuple(data.shape[:-1]) + tuple(shape)
    result = F._reshape_to(draws, shape=full or (1,))
    if not get_prob:
        return result
    log = F.log(F._gather_along(data, F.Cast(draws, dtype="int64"), axis=-1))
    return [result, F._reshape_to(log, shape=full or (1,))]


@operator("_shuffle", aliases=("shuffle",), rng=True, memory="new", shape=FIRST, unnamed=True)
def shuffle(data: Tensor, *, key: int | None = None) -> Tensor:
    """The data in a random order along its first axis."""
    return kernels.index.take(data, K.permutation(data.shape[0], data.device, key), 0)


# ---------------------------------------------------------------------------------------------- densities


def _of_each_row(name: str, parameter: Value, sample: Value, events: int = 0) -> Value:
    """A parameter beside samples, of whose shape its own is the first part; the last `events` axes are of one event."""
    rows = parameter.ndim - events
    if rows + events > sample.ndim or parameter.shape != sample.shape[:rows] + sample.shape[sample.ndim - events :]:
        raise MXNetError(
            f"random_pdf_{name}: parameters are of the first axes of the samples"
            f"{' and of their last' if events else ''}, given samples {sample.shape} and parameters {parameter.shape}"
        )
    for _ in range(sample.ndim - parameter.ndim):
        parameter = F.expand_dims(parameter, axis=rows)
    return parameter


def _enter_density(name: str, parameters: list[str], log_density: Callable[..., Any]) -> None:
    """`random_pdf_NAME(sample, parameters, is_log)`: rows of samples under the parameters of each row."""
    source = f'''
def density(sample, {", ".join(parameters)}, *, is_log: Bool = False):
    """The density (or its logarithm) of the {name} distribution at the samples of each row."""
    wide = [of_each_row("{name}", p, sample) for p in ({", ".join(parameters)},)]
    log = log_density(sample, *wide)
    return log if is_log else F.exp(log)
'''
    scope: Attrs = {"Bool": Bool, "F": F, "log_density": log_density, "of_each_row": _of_each_row}
    exec(source, scope)
    composite(f"_random_pdf_{name}", aliases=(f"random_pdf_{name}",))(scope["density"])


def _normal_log(x: Value, mu: Value, sigma: Value) -> Value:
    z = F.broadcast_div(F.broadcast_sub(x, mu), sigma)
    return F.broadcast_sub(F.square(z) * -0.5 - 0.5 * math.log(2.0 * math.pi), F.log(sigma))


def _gamma_log(x: Value, alpha: Value, beta: Value) -> Value:
    constant = alpha * F.log(beta) - F.gammaln(alpha)
    return F.broadcast_add(F.broadcast_mul(alpha - 1.0, F.log(x)) - F.broadcast_mul(x, beta), constant)


def _poisson_log(x: Value, lam: Value) -> Value:
    x = F.BlockGrad(x)  # counts have no derivative
    return F.broadcast_sub(F.broadcast_mul(x, F.log(lam)) - F.gammaln(x + 1.0), lam)


def _negative_binomial_log(x: Value, k: Value, p: Value) -> Value:
    x = F.BlockGrad(x)
    rows = F.gammaln(F.broadcast_add(x, k)) - F.gammaln(x + 1.0) + F.broadcast_mul(x, F.log(1.0 - p))
    return F.broadcast_add(rows, k * F.log(p) - F.gammaln(k))


_enter_density("uniform", ["low", "high"], lambda x, low, high: F.broadcast_sub(F.zeros_like(x), F.log(high - low)))
_enter_density("normal", ["mu", "sigma"], _normal_log)
_enter_density("gamma", ["alpha", "beta"], _gamma_log)
_enter_density("exponential", ["lam"], lambda x, lam: F.broadcast_sub(F.log(lam), F.broadcast_mul(x, lam)))
_enter_density("poisson", ["lam"], _poisson_log)
_enter_density("negative_binomial", ["k", "p"], _negative_binomial_log)
_enter_density(
    "generalized_negative_binomial", ["mu", "alpha"],
    lambda x, mu, alpha: _negative_binomial_log(x, 1.0 / alpha, 1.0 / (mu * alpha + 1.0)),
)  # fmt: skip


@composite("_random_pdf_dirichlet", aliases=("random_pdf_dirichlet",))
def dirichlet_density(sample: Value, alpha: Value, *, is_log: Bool = False) -> Value:
    """The density (or its logarithm) of the Dirichlet distribution at the samples of each row."""
    wide = _of_each_row("dirichlet", alpha, sample, events=1)
    constant = F.gammaln(F.sum(wide, axis=-1)) - F.sum(F.gammaln(wide), axis=-1)
    log = F.broadcast_add(F.sum(F.broadcast_mul(wide - 1.0, F.log(sample)), axis=-1), constant)
    return log if is_log else F.exp(log)
