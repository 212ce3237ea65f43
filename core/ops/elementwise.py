"""Pointwise operators: unary functions, binary functions with and without broadcasting, and with a scalar."""

import math
import operator as comparison
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from core import kernels, storage
from core.base import MXNetError
from core.dtypes import as_integer, dtype_name
from core.kernels import formula as f
from core.kernels.formula import Expr, Formula, fabs, where
from core.ops.attributes import Bool, Choice, DType, Float, Scalar
from core.ops.facts import Quantized
from core.ops.pointwise import make_pointwise, pointwise
from core.ops.registry import TABLE, F, Operator, composite, gradient, infer, operator, register, specialize
from core.ops.relations import CHOSEN, FIRST, NONE, SAME
from core.ops.rows import by_rows
from core.ops.storage_types import DENSE, FIRST_CSR, KEEPS_ZERO, KeepsZero, Kept, Storage, Told
from core.ops.values import Attrs, Dtype, Gradients, Input, Namespace, Special, Tensor, Value

_BOOL = kernels.torch_dtype("bool")
SQRT_HALF = math.sqrt(0.5)
SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# ----------------------------------------------------------------------------------------------
# Unary


def _unary(
    name: str, function: Callable[..., Any], derivative: Callable[..., Any] | None = None,
    aliases: tuple[str, ...] = (), differentiable: bool = True, curved: bool = False, doc: str = "", **facts: Any,
) -> Operator:  # fmt: skip
    """Enters a one-operand formula; `derivative` in terms of (x, y).

    curved: of integers its results are no integers.
    """

    def entry(data: Expr) -> Expr:
        return function(data)

    entry.__doc__ = doc or f"{name} of each element."

    def variant(dtype: Dtype) -> Callable[..., Any] | None:
        if dtype is _BOOL:
            raise MXNetError(f"{name}: arrays of bool are not accepted; convert with astype")
        if not curved or dtype.is_floating_point:
            return None
        return lambda data: kernels.cast(op.forward(kernels.cast(data, "float64")), storage.NAMES[dtype])  # as C does

    op = pointwise(
        name, aliases=aliases, derivative=derivative, differentiable=differentiable, variant=variant, **facts
    )(entry)
    return op


def _gamma(x: Expr) -> Expr:
    """By reflection below zero, where log |gamma| has lost the sign; NaN at the poles there, factorials are whole."""
    reflected = math.pi / (f.sin(math.pi * x) * f.exp(f.lgamma(1.0 - x)))
    whole = f.eq(x, f.floor(x))
    above = f.exp(f.lgamma(x))
    above = where(whole, f.floor(above + 0.5), above)
    return where(x > 0, above, where(f.logical_and(x < 0, whole), math.nan, reflected))


def _digamma(x: Expr) -> Expr:
    """The slope of log |gamma|; infinite at its poles, zero and below, as in MXNet."""
    pole = f.logical_and(x <= 0, f.eq(x, f.floor(x)))
    return where(pole, math.inf, f.digamma(x))


def _rint(x: Expr) -> Expr:
    """To the nearest integer; halves go down, as in MXNet."""
    return where(x - f.floor(x) <= f.ceil(x) - x, f.floor(x), f.ceil(x))


UNARY = {
    # name: (formula, derivative in terms of x and y where that is cheaper, further names)
    "abs": (fabs, None, ("_np_abs", "_npi_absolute")),
    "negative": (f.neg, None, ("_np_negative", "_npi_negative")),
    "reciprocal": (lambda x: 1.0 / x, lambda x, y: -1.0 * y * y, ()),
    "square": (lambda x: x * x, None, ()),
    "sqrt": (f.sqrt, lambda x, y: 0.5 / y, ()),
    "rsqrt": (f.rsqrt, None, ()),
    "cbrt": (f.cbrt, lambda x, y: 1.0 / (3.0 * y * y), ()),
    "rcbrt": (lambda x: 1.0 / f.cbrt(x), lambda x, y: -1.0 * y / (3.0 * x), ()),
    "exp": (f.exp, lambda x, y: y, ()),
    "expm1": (f.expm1, None, ()),
    "log": (f.log, None, ()),
    "log2": (f.log2, None, ()),
    "log10": (f.log10, None, ()),
    "log1p": (f.log1p, None, ()),
    "sin": (f.sin, None, ()),
    "cos": (f.cos, None, ()),
    "tan": (f.tan, lambda x, y: y * y + 1.0, ()),
    "arcsin": (f.asin, None, ()),
    "arccos": (f.acos, None, ()),
    "arctan": (f.atan, None, ()),
    "sinh": (f.sinh, None, ()),
    "cosh": (f.cosh, None, ()),
    "tanh": (f.tanh, lambda x, y: 1.0 - y * y, ()),
    "arcsinh": (f.asinh, None, ()),
    "arccosh": (f.acosh, None, ()),
    "arctanh": (f.atanh, None, ()),
    "degrees": (lambda x: x * (180.0 / math.pi), None, ()),
    "radians": (lambda x: x * (math.pi / 180.0), None, ()),
    "sigmoid": (f.sigmoid, lambda x, y: y * (1.0 - y), ()),
    "log_sigmoid": (lambda x: f.minimum(x, 0.0) - f.log1p(f.exp(-fabs(x))), lambda x, y: 1.0 - f.exp(y), ()),
    "softsign": (lambda x: x / (1.0 + fabs(x)), lambda x, y: 1.0 / ((1.0 + fabs(x)) * (1.0 + fabs(x))), ()),
    "relu": (lambda x: f.maximum(x, 0), lambda x, y: where(y > 0, 1, 0), ()),
    "mish": (lambda x: x * f.tanh(f.maximum(x, 0.0) + f.log1p(f.exp(-fabs(x)))), None, ()),
    "erf": (f.erf, None, ()),
    "erfinv": (f.erfinv, None, ()),
    "gammaln": (f.lgamma, lambda x, y: _digamma(x), ()),
    "gamma": (_gamma, lambda x, y: y * _digamma(x), ()),
    "digamma": (_digamma, None, ("_npx_digamma",)),
}
SPARSE = frozenset(  # of sparse arrays they act on the stored values, for they leave zeros alone
    "abs sign negative square sqrt cbrt sin tan arcsin arctan sinh tanh arcsinh arctanh expm1 log1p relu rint ceil floor "
    "trunc fix round degrees radians".split()
)
STEEP = {"sqrt", "cbrt"}  # of these, infinitely at zero
WHOLE = {"abs", "negative", "reciprocal", "square", "relu"}  # stay in the integers
FLAT = {  # no gradient: piecewise constant, or a truth value
    "sign": f.sign,
    "round": f.round_away,
    "rint": _rint,
    "ceil": f.ceil,
    "floor": f.floor,
    "trunc": f.trunc,
    "fix": f.trunc,
    "logical_not": f.logical_not,
}
for _name, (_function, _derivative, _aliases) in UNARY.items():
    _kept = KeepsZero(steep=True) if _name in STEEP else KEEPS_ZERO
    _facts: Attrs = {"storage": _kept if _name in SPARSE else DENSE}
    _facts |= {"quantized": Quantized(part="rectifier")} if _name == "relu" else {}
    _unary(_name, _function, _derivative, _aliases, curved=_name not in WHOLE, **_facts)
for _name, _function in FLAT.items():
    _storage = KEEPS_ZERO if _name in SPARSE else DENSE
    _formula = (lambda x: f.eq(x, 0)) if _name == "logical_not" else lambda x, _function=_function: _function(x)
    _unary(_name, _formula, storage=_storage)


@pointwise("_copy", aliases=("identity",), shape=FIRST, storage=KEEPS_ZERO, identity=True)
def _copy(data: Expr) -> Expr:
    """The data, as new memory."""
    return data


@pointwise(
    "BlockGrad", aliases=("stop_gradient",), differentiable=False, shape=FIRST, storage=KEEPS_ZERO, identity=True
)
def block_grad(data: Expr) -> Expr:
    """The data; no gradient passes."""
    return data


def _fresh(op: Operator) -> None:
    """An identity formula must not hand out its operand's memory."""
    op.forward, op.on_cpu = kernels.shape.clone, None


@operator("_bridge", identity=True)
def _bridge(data: Tensor) -> Tensor:
    """The data itself, under another place on the tape."""
    return kernels.shape.alias(data)


@gradient(_bridge)
def _bridge_gradient(dy: Value) -> Gradients:
    return [dy]


_fresh(_copy)
_fresh(block_grad)


@pointwise("gelu")
def gelu(data: Expr) -> Expr:
    """Gaussian error linear unit, x * Phi(x) (Hendrycks and Gimpel, 2016)."""
    return 0.5 * data * (1.0 + f.erf(data * SQRT_HALF))


@pointwise("gelu_tanh")
def gelu_tanh(data: Expr) -> Expr:
    """The tanh approximation of the Gaussian error linear unit."""
    return 0.5 * data * (1.0 + f.tanh(SQRT_2_OVER_PI * (data + 0.044715 * data * data * data)))


@pointwise("silu")
def silu(data: Expr) -> Expr:
    """x * sigmoid(x), also called swish."""
    return data * f.sigmoid(data)


@pointwise("_hard_swish")
def hard_swish(data: Expr) -> Expr:
    """x times x + 3, clipped to [0, 6], over 6 (Howard et al., 2019)."""
    return data * (f.minimum(f.maximum(data + 3.0, 0.0), 6.0) / 6.0)


@pointwise("_scaled")
def scaled(data: Expr, scale: Expr, shift: Expr) -> Expr:
    """data * scale + shift: normalisation whose statistics are known."""
    return data * scale + shift


@pointwise("_hard_gate")
def hard_gate(data: Expr) -> Expr:
    """x + 3, clipped to [0, 6], over 6: what `_hard_swish` multiplies by."""
    return f.minimum(f.maximum(data + 3.0, 0.0), 6.0) / 6.0


@pointwise("_relu6")
def relu6(data: Expr) -> Expr:
    """The data limited to [0, 6]."""
    return f.minimum(f.maximum(data, 0.0), 6.0)


@pointwise("softrelu", derivative=lambda data, y: f.sigmoid(data))
def softrelu(data: Expr) -> Expr:
    """log(1 + exp(x)), without overflow."""
    return f.maximum(data, 0.0) + f.log1p(f.exp(-fabs(data)))


@pointwise("_leaky_relu", derivative=lambda data, y, slope: where(data > 0, 1, slope))
def leaky_relu(data: Expr, *, slope: Float = 0.25) -> Expr:
    """x for x > 0, else slope * x."""
    return where(data > 0, data, data * slope)


@pointwise("_prelu")
def prelu(data: Expr, slopes: Expr) -> Expr:
    """x for x > 0, else its slope times x."""
    return where(data > 0, data, slopes * data)


# The derivative is MXNet's, which outside of training takes the output itself for the slope.
@pointwise("_mean_rrelu", derivative=lambda data, y, slope: where(data > 0, 1, y))
def mean_rrelu(data: Expr, *, slope: Float) -> Expr:
    """x for x > 0, else slope * x."""
    return where(data > 0, data, data * slope)


@pointwise("_elu", derivative=lambda data, y, slope: where(data > 0, 1, y + slope))
def elu(data: Expr, *, slope: Float = 0.25) -> Expr:
    """x for x > 0, else slope * (exp(x) - 1)."""
    return where(data > 0, data, slope * f.expm1(data))


# The derivative is MXNet's, scale (alpha + y); the function's own would be scale alpha + y.
@pointwise("_selu", derivative=lambda data, y: where(data > 0, SELU_SCALE, SELU_SCALE * (y + SELU_ALPHA)))
def selu(data: Expr) -> Expr:
    """Self-normalising exponential linear unit (Klambauer et al., 2017)."""
    return SELU_SCALE * where(data > 0, data, SELU_ALPHA * f.expm1(data))


@pointwise("hard_sigmoid", derivative=lambda data, y, alpha: where(y > 0, where(y < 1, alpha, 0), 0), real=True)
def hard_sigmoid(data: Expr, *, alpha: Float = 0.2, beta: Float = 0.5) -> Expr:
    """alpha * x + beta, clipped to [0, 1]."""
    return f.minimum(f.maximum(alpha * data + beta, 0), 1)


@pointwise("_clip", derivative=lambda data, y, a_min, a_max: where(data > a_max, 0, where(data < a_min, 0, 1)))
def _clip(data: Expr, *, a_min: Float, a_max: Float) -> Expr:
    """The data limited to [a_min, a_max], a_min <= a_max; the gradient passes at both bounds, and at NaN."""
    return f.minimum(f.maximum(data, a_min), a_max)


@pointwise("_clip_crossed", differentiable=False)
def _clip_crossed(data: Expr, *, a_min: Float, a_max: Float) -> Expr:
    """What MXNet makes of bounds that cross: a_max above a_max, a_min elsewhere."""
    return where(data > a_max, a_max, where(data < a_min, a_min, data))


@composite(
    "clip",
    shape=FIRST,
    storage=KeepsZero(lambda attrs: attrs["a_min"] <= 0 <= attrs["a_max"]),
    unnamed=True,
    quantized=Quantized(part="limit", when=lambda attrs: attrs["a_min"] == 0 < attrs["a_max"]),
)
def clip(data: Value, *, a_min: Float, a_max: Float) -> Value:
    """The data limited to [a_min, a_max]; the gradient passes at both bounds."""
    return (F._clip_crossed if a_min > a_max else F._clip)(data, a_min=a_min, a_max=a_max)


@specialize(clip, inputs=1)
def _clip_special(attrs: Namespace) -> Special:
    return TABLE["_clip_crossed" if attrs.a_min > attrs.a_max else "_clip"], vars(attrs)


TINY = 1e-38  # too little to change a sum, enough to divide by


@pointwise(
    "smooth_l1",
    derivative=lambda data, y, scalar: where(
        fabs(data) > 1.0 / (scalar * scalar + TINY), f.sign(data), scalar * scalar * data
    ),
)
def smooth_l1(data: Expr, *, scalar: Float = 1.0) -> Expr:
    """0.5 (scalar x)^2 where |x| < 1 / scalar^2, else |x| - 0.5 / scalar^2 (Girshick, 2015); 0 for a scalar of 0."""
    square = scalar * scalar
    reach = 1.0 / (square + TINY)
    return where(fabs(data) < reach, 0.5 * square * data * data, fabs(data) - 0.5 * reach)


@composite(
    "Activation", aliases=("_npx_activation",), real=True, shape=FIRST, unnamed=True, layer="activation",
    label=lambda attrs: f"Activation\n{attrs['act_type']}",
    quantized=Quantized(part="rectifier", when=lambda attrs: attrs["act_type"] == "relu"),
)  # fmt: skip
def activation(
    data: Value,
    *,
    act_type: Annotated[str, Choice("relu", "sigmoid", "log_sigmoid", "mish", "softrelu", "softsign", "tanh")],
) -> Value:
    """An activation function by name."""
    return getattr(F, act_type)(data)


@specialize(activation, inputs=1)
def _activation_special(attrs: Namespace) -> Special:
    return TABLE[attrs.act_type], {}


@composite(
    "LeakyReLU", aliases=("leaky_relu",), train=True, outputs=lambda attrs: 2 if attrs["act_type"] == "rrelu" else 1,
    real=True, shape=FIRST, names=("output", "mask"), when={"gamma": ("act_type", "prelu")},
    initial={"gamma": '["Constant", {"value": 0.25}]'}, layer="activation",
    label=lambda attrs: f"LeakyReLU\n{attrs['act_type']}",
)  # fmt: skip
def leaky(
    data: Value, gamma: Input = None, *,
    act_type: Annotated[str, Choice("leaky", "prelu", "elu", "selu", "gelu", "rrelu")] = "leaky", slope: Float = 0.25,
    lower_bound: Float = 0.125, upper_bound: Float = 0.334, training: bool,
) -> Value | Sequence[Value]:  # fmt: skip
    """Relatives of relu by name; `gamma` holds the slopes of "prelu": one, one for each channel (axis 1),
    or one for each position along the first axes.

    "rrelu" draws the slope of each element uniformly within the bounds in training, and takes their mean otherwise;
    it gives the slopes, too, as a second array (zeros where none were drawn).
    """
    if act_type == "leaky":
        return F._leaky_relu(data, slope=slope)
    if act_type == "elu":
        return F._elu(data, slope=slope)
    if act_type == "selu":
        return F._selu(data)
    if act_type == "gelu":
        return F.gelu(data)
    if act_type == "rrelu":
        if not training:
            return [F._mean_rrelu(data, slope=(lower_bound + upper_bound) / 2), F.zeros_like(data)]
        slopes = F._random_uniform_like(data, low=lower_bound, high=upper_bound)
        return [F._prelu(data, slopes), slopes]
    slopes = gamma
    if len(gamma.shape) < len(data.shape):
        lead = (1, -1) if len(gamma.shape) == 1 else gamma.shape
        slopes = F.Reshape(gamma, shape=(*lead, *(1,) * (len(data.shape) - len(lead))))
    return F._prelu(data, slopes)


@specialize(leaky, inputs=1)
def _leaky_special(attrs: Namespace) -> Special:
    kind = attrs.act_type
    if kind in ("leaky", "elu"):
        return TABLE["_leaky_relu" if kind == "leaky" else "_elu"], {"slope": attrs.slope}
    return (TABLE[kind], {}) if kind == "gelu" else None


@infer(leaky)
def _leaky_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    if attrs["act_type"] == "prelu" and shapes["gamma"] is None:
        shapes["gamma"] = (shapes["data"][1] if len(shapes["data"]) > 1 else 1,)


# ----------------------------------------------------------------------------------------------
# Conversion


@operator("Cast", aliases=("cast",), memory="new", shape=FIRST, unnamed=True, identity=True)
def cast(data: Tensor, *, dtype: DType) -> Tensor:
    """The data converted to another element type."""
    return kernels.shape.cast(data, dtype)


@gradient(cast)
def _cast_gradient(dy: Value, data_dtype: str) -> Gradients:
    return [dy.astype(data_dtype)]


by_rows(cast, lambda node: 0)(lambda node, x: (f.cast(x, node.outputs[0].dtype),))


# ----------------------------------------------------------------------------------------------
# Binary


BINARY = {
    # name: (formula, names of the broadcasting form, names of the form for equal shapes, of the scalar form,
    # of its reverse)
    "add": (f.add, ("broadcast_add", "broadcast_plus"), ("elemwise_add", "_plus", "_Plus", "_add"), "_plus_scalar",
            None),
    "sub": (f.sub, ("broadcast_sub", "broadcast_minus"), ("elemwise_sub", "_minus", "_Minus", "_sub"), "_minus_scalar",
            "_rminus_scalar"),
    "mul": (f.mul, ("broadcast_mul",), ("elemwise_mul", "_mul", "_Mul"), "_mul_scalar", None),
    "div": (f.div, ("broadcast_div",), ("elemwise_div", "_div", "_Div"), "_div_scalar", "_rdiv_scalar"),
    "mod": (f.mod, ("broadcast_mod",), ("_mod", "_Mod"), "_mod_scalar", "_rmod_scalar"),
    "power": (f.power, ("broadcast_power",), ("_power", "_Power"), "_power_scalar", "_rpower_scalar"),
    "maximum": (f.maximum, ("broadcast_maximum",), ("_maximum", "_Maximum"), "_maximum_scalar", None),
    "minimum": (f.minimum, ("broadcast_minimum",), ("_minimum", "_Minimum"), "_minimum_scalar", None),
    "hypot": (f.hypot, ("broadcast_hypot",), ("_hypot", "_Hypot"), "_hypot_scalar", None),
}  # fmt: skip
COMPARISONS = {
    "equal": (f.eq, "_equal"),
    "not_equal": (f.ne, "_not_equal"),
    "greater": (f.gt, "_greater"),
    "greater_equal": (f.ge, "_greater_equal"),
    "lesser": (f.lt, "_lesser"),
    "lesser_equal": (f.le, "_lesser_equal"),
    "logical_and": (lambda a, b: f.logical_and(f.ne(a, 0), f.ne(b, 0)), "_logical_and"),
    "logical_or": (lambda a, b: f.logical_or(f.ne(a, 0), f.ne(b, 0)), "_logical_or"),
    "logical_xor": (lambda a, b: f.logical_xor(f.ne(a, 0), f.ne(b, 0)), "_logical_xor"),
}


REVERSED = ("rminus", "rdiv", "rmod", "rpower")


def _enter_binary(
    names: tuple[str, ...], function: Callable[..., Any], differentiable: bool, same_shape: bool,
    storage: Storage = DENSE, **facts: Any,
) -> Operator:  # fmt: skip
    def entry(lhs: Expr, rhs: Expr) -> Expr:
        return function(lhs, rhs)

    entry.__doc__ = f"{names[0]} of two arrays" + (
        " of equal shape." if same_shape else ", broadcast against each other."
    )
    op = Operator(names[0], entry, aliases=names[1:], shape=SAME if same_shape else NONE, storage=storage, **facts)
    register(make_pointwise(op, Formula.of(entry, name=names[0].lstrip("_")), "same", differentiable, refused="bool"))
    if same_shape:
        compute = op.forward

        def forward(lhs: Tensor, rhs: Tensor) -> Tensor:
            if lhs.shape != rhs.shape:
                raise MXNetError(
                    f"{op.name}: operands of one shape are needed, given {tuple(lhs.shape)} and {tuple(rhs.shape)}"
                )
            return compute(lhs, rhs)

        op.forward, op.on_cpu = forward, None
    return op


def _enter_scalar(name: str, function: Callable[..., Any], differentiable: bool, storage: Storage = DENSE) -> Operator:
    def entry(data: Any, *, scalar: Scalar = 1.0, is_int: Bool = True) -> Any:
        return function(data, scalar)

    def body(data: Expr, *, scalar: Expr) -> Expr:
        return function(data, scalar)

    entry.__doc__ = (
        f"{name.strip('_').replace('_', ' ')}: each element with a number, which takes the array's type first."
    )
    op = Operator(name, entry, aliases=(_old_name(name),), storage=storage)
    formula = Formula.of(body, name=name.lstrip("_"))
    register(make_pointwise(op, formula, "same", differentiable))
    kernel, of_fractions, power = kernels.pointwise.pointwise, op.forward, "power" in name
    op.special = None  # which knows nothing of whole numbers

    def forward(data: Tensor, *, scalar: float, is_int: bool = True) -> Tensor:
        if data.is_floating_point():
            if power and kernels.dtype_name(data) == "float16":  # others compute in float32
                with np.errstate(over="ignore"):
                    scalar = float(np.float16(scalar))
            return of_fractions(data, scalar=scalar)
        kind = kernels.dtype_name(data)
        if kind == "bool":
            data, kind = kernels.cast(data, "int64"), "int64"
        if "int" in kind:
            whole = as_integer(scalar, kind)
            if name == "_power_scalar" and (scalar < 0 or whole < 0):  # fractions, which are cut afterwards
                real = kernels.cast(data, "float64")
                return kernels.cast(kernel(formula, (real,), (whole,), real.dtype), kind)
            scalar = whole
        return kernel(formula, (data,), (scalar,), data.dtype)

    op.forward, op.on_cpu = forward, None if op.on_cpu is None else _ScalarKernels(op.on_cpu, forward, power)
    return op


class _ScalarKernels(dict[Dtype, Callable[..., Any]]):
    """The CPU's functions of (tensor, number) by dtype: the formula's own where numbers are taken as they are."""

    def __init__(self, own: dict[Dtype, Callable[..., Any]], forward: Callable[..., Any], power: bool) -> None:
        self._own, self._forward, self._power = own, forward, power

    def __missing__(self, dtype: Dtype) -> Callable[..., Any]:
        half = self._power and dtype is kernels.torch_dtype("float16")
        whole = not dtype.is_floating_point
        found = (lambda x, scalar: self._forward(x, scalar=scalar)) if half or whole else self._own[dtype]
        self[dtype] = found
        return found


def _old_name(name: str) -> str:
    """The name of a scalar operator in files of MXNet 0.x: `_RMinusScalar` for `_rminus_scalar`."""
    words = name.strip("_").split("_")
    first = "R" + words[0][1:].capitalize() if words[0] in REVERSED else words[0].capitalize()
    return "_" + "".join([first, *(w.capitalize() for w in words[1:])])


def _flat_on_integers(op: Operator) -> None:
    """The remainder of integers jumps and does nothing else: its gradient is zero."""
    rule = op.rule

    def guarded(
        dy: Value, values: dict[int, Value], shapes: Sequence[Any], attrs: Attrs, needs: Sequence[bool]
    ) -> list[Value | None]:
        if rule is None or "int" in dtype_name(dy.dtype):
            return [None] * len(needs)
        return rule(dy, values, shapes, attrs, needs)

    op.rule = guarded


def exchanged(function: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """The function with its operands exchanged."""
    return lambda x, y: function(y, x)


def _one_sparse(stypes: Sequence[str], attrs: Attrs) -> str:
    """The storage type of the only factor that is sparse: the product is zero where that is."""
    sparse = {stype for stype in stypes if stype != "default"}
    return min(sparse) if len(sparse) == 1 else "default"


def _zero_compares(holds: Callable[[Any, Any], bool]) -> KeepsZero:
    """Zero is stored as zero where it compares so with the number."""
    return KeepsZero(lambda attrs: not holds(0, attrs["scalar"]))


_IN_LAYERS = {"add": {"quantized": Quantized(part="sum")}}
_STORAGE = {  # what becomes of sparse arrays: with broadcasting, of equal shapes, with a number
    "add": (DENSE, Kept("csr", "row_sparse"), KeepsZero(lambda attrs: attrs["scalar"] == 0)),
    "sub": (DENSE, Kept("csr", "row_sparse"), KeepsZero(lambda attrs: attrs["scalar"] == 0)),
    "mul": (FIRST_CSR, Told(_one_sparse), KEEPS_ZERO),
    "div": (FIRST_CSR, DENSE, KEEPS_ZERO),
    **dict.fromkeys(("maximum", "minimum", "hypot"), (DENSE, Kept("csr", "row_sparse"), DENSE)),
    **{
        _name: (DENSE, DENSE, _zero_compares(_holds))
        for _name, _holds in (
            ("equal", comparison.eq), ("not_equal", comparison.ne), ("greater", comparison.gt),
            ("greater_equal", comparison.ge), ("lesser", comparison.lt), ("lesser_equal", comparison.le),
        )
    },
}  # fmt: skip
for _name, (_combined, _broadcast, _elementwise, _scalar, _reverse) in BINARY.items():
    _storages = _STORAGE.get(_name, (DENSE,) * 3)
    _entered = [
        _enter_binary(_broadcast, _combined, True, False, _storages[0]),
        _enter_binary(_elementwise, _combined, True, True, _storages[1], **_IN_LAYERS.get(_name, {})),
        _enter_scalar(_scalar, _combined, True, _storages[2]),
    ]
    if _reverse:
        _entered.append(_enter_scalar(_reverse, exchanged(_combined), True))
    if _name == "mod":
        for _op in _entered:
            _flat_on_integers(_op)
for _name, (_compared, _alike) in COMPARISONS.items():
    _enter_binary((f"broadcast_{_name}",), _compared, False, False)
    _enter_binary((_alike, _alike.title()), _compared, False, True)
    _enter_scalar(f"_{_name}_scalar", _compared, False, _STORAGE.get(_name, (DENSE,) * 3)[2])


@operator("add_n", aliases=("ElementWiseSum", "_sum"), memory="new", shape=SAME, storage=Kept("row_sparse"))
def add_n(*args: Tensor) -> Tensor:
    """The sum of any number of arrays of one shape."""
    total = args[0]
    for term in args[1:]:
        total = TABLE["elemwise_add"].forward(total, term)
    return total if len(args) > 1 else kernels.shape.clone(total)


@gradient(add_n)
def _add_n_gradient(dy: Value, shapes: Sequence[tuple[int, ...]]) -> Gradients:
    return [dy] * len(shapes)


@pointwise("_is_true", dtype=lambda condition: (None, _truth_type(condition)))
def is_true(condition: Expr) -> Expr:
    """Whether an element is not zero: a mask that gradients read without asking again."""
    return f.ne(condition, 0)


def _truth_type(condition: str) -> str:
    if condition == "bool":
        raise MXNetError("where: a condition of bool is not accepted by nd; convert with astype")
    return "bool"


@composite("where", shape=CHOSEN)
def where_(condition: Value, x: Value, y: Value) -> Value:
    """Elements of x where condition is not zero, else of y; a condition of one axis chooses among rows."""
    if len(condition.shape) == 1 and len(x.shape) > 1:
        condition = F._reshape_to(condition, shape=(-1, *(1,) * (len(x.shape) - 1)))
    elif tuple(condition.shape) != tuple(x.shape):
        raise MXNetError(f"where: a condition of shape {condition.shape} does not fit x of shape {x.shape}")
    if tuple(x.shape) != tuple(y.shape):
        raise MXNetError(f"where: x and y of one shape are needed, given {x.shape} and {y.shape}")
    return F._npi_where(F._is_true(condition), x, y)


@specialize(where_)
def _where_special(attrs: Namespace) -> Special:
    def run(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        if not condition.shape == x.shape == y.shape or condition.dtype is _BOOL:
            raise ValueError("the operator says what does not fit")
        return np_where.forward(condition, x, y)

    return run


def _same_type(name: str, a: str, b: str) -> str:
    if a != b:
        raise MXNetError(f"{name}: operands of one dtype are needed, given {a} and {b}; convert with astype")
    return a


@pointwise("_npi_where", dtype=lambda c, x, y: (None, _same_type("where", x, y)))
def np_where(condition: Expr, x: Expr, y: Expr) -> Expr:
    """Elements of x where condition is not zero, else of y."""
    return where(f.ne(condition, 0), x, y)


def _enter_where_with_number(name: str, choose: Callable[..., Any]) -> Any:
    """Enters `np.where` of an array and a number.

    The gradient is MXNet 1.9's: that of the result where the condition holds for an array that is repeated to the shape of the
    result; for one of that shape 0 where the array was taken and that of the result where the number was.
    """

    @operator(name, memory="new")
    def op(condition: Tensor, x: Tensor, *, scalar: Scalar) -> Tensor:
        kind = kernels.dtype_name(x)
        number = kernels.shape.full_like(x, as_integer(scalar, kind) if "int" in kind else scalar)
        return np_where.forward(condition, *choose(x, number))

    op.doc = "Elements of the array x, or else a number, by condition."

    @gradient(op)
    def _op_gradient(dy: Value, condition: Value, x_shape: tuple[int, ...]) -> Gradients:
        none = F.zeros_like(dy)
        if tuple(x_shape) == dy.shape:
            return [None, F._npi_where(condition, *choose(none, dy))]
        return [None, F._sum_to(F._npi_where(condition, dy, none), shape=x_shape)]


_enter_where_with_number("_npi_where_rscalar", lambda x, number: (x, number))
_enter_where_with_number("_npi_where_lscalar", lambda x, number: (number, x))
