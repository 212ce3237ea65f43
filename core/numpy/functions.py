"""Functions of the `np` namespace that take numbers as well as arrays, or have NumPy's own signatures."""

from __future__ import annotations

import numbers

import numpy as onp

from core import dispatch, writes
from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray, binary
from core.numpy.array_api import *  # noqa: F403 - this module is the namespace
from core.numpy.array_api import ALIASES
from core.numpy.fallback import *  # noqa: F403
from core.numpy.fallback import on_the_host as _on_the_host
from core.numpy.manipulation import *  # noqa: F403
from core.numpy.multiarray import _as_array, _into, _make, array, empty, ndarray
from core.numpy.products import *  # noqa: F403
from core.numpy.statistics import *  # noqa: F403
from core.ops.attributes import shape_of
from core.ops.registry import TABLE, F
from core.util import check_ufunc_arguments, default_float, is_np_default_dtype, require

# Memory always lies in C order, which "A" and "K" come to as well.
ORDERS = "C", "A", "K"

# ---------------------------------------------------------------------------------------------- creation


def zeros(shape, dtype=None, order="C", ctx=None, device=None):
    """An array of zeros; dtype: float32 unless given, float64 under `npx.set_np(dtype=True)`."""
    require("np.zeros", "order", order, "C")
    return _make("_zeros", ctx or device, shape=shape_of(shape), dtype=dtype or default_float())


def ones(shape, dtype=None, order="C", ctx=None, device=None):
    """An array of ones; dtype: float32 unless given, float64 under `npx.set_np(dtype=True)`."""
    require("np.ones", "order", order, "C")
    return _make("_ones", ctx or device, shape=shape_of(shape), dtype=dtype or default_float())


def full(shape, fill_value, dtype=None, order="C", ctx=None, device=None, out=None):
    """One value everywhere; its kind gives the type unless `dtype` is given."""
    require("np.full", "order", order, "C")
    if isinstance(fill_value, NDArray):
        filled = F._broadcast_from(_as_array(fill_value), shape=shape_of(shape))
        return _into(out, filled if dtype is None else filled.astype(dtype))
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, (bool, onp.bool_)) else default_float()
    return _into(out, _make("_full", ctx or device, shape=shape_of(shape), value=fill_value, dtype=dtype))


def zeros_like(a, dtype=None, order="C", ctx=None, out=None, device=None):
    """Zeros of the shape of a, and of its dtype and on its context unless given."""
    return full_like(a, 0, dtype, order, ctx, out, device)


def ones_like(a, dtype=None, order="C", ctx=None, out=None, device=None):
    """Ones of the shape of a, and of its dtype and on its context unless given."""
    return full_like(a, 1, dtype, order, ctx, out, device)


def full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None, device=None):
    """One value in the shape of a, and in its dtype and on its context unless given."""
    require("np.full_like", "order", order, *ORDERS)
    filled = F.full_like(a, fill_value=fill_value, **({} if dtype is None else {"dtype": dtype}))
    return _into(out, filled if (ctx or device) is None else filled.as_in_context(ctx or device))


def empty_like(prototype, dtype=None, order="C", subok=False, shape=None, device=None):
    """An array whose values are not set, of the shape and dtype and on the context of another unless given."""
    require("np.empty_like", "order", order, *ORDERS)
    require("np.empty_like", "subok", subok, False)
    return empty(prototype.shape if shape is None else shape, dtype or prototype.dtype, ctx=device or prototype._ctx)


def arange(start, stop=None, step=1, dtype=None, ctx=None, device=None):
    """start, start + step, ... below stop (none where the step leads away from it); float32 unless given."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ZeroDivisionError("np.arange: step is 0, and leads nowhere")
    if (last - first) * (step or 1) <= 0:
        return zeros((0,), dtype, ctx=ctx, device=device)
    if dtype is None and is_np_default_dtype():
        dtype = onp.arange(start, stop, step or 1).dtype
    return _make("_arange", ctx or device, start=start, stop=stop, step=step or 1, dtype=dtype or default_float())


def eye(N, M=None, k=0, dtype=None, ctx=None, device=None, order="C"):
    """Ones on diagonal k of an N x M matrix."""
    require("np.eye", "order", order, "C")
    if M == 0:  # the operator takes 0 for N
        return zeros((N, 0), dtype, ctx=ctx, device=device)
    return _make("_eye", ctx or device, N=N, M=M or 0, k=k, dtype=dtype or default_float())


def identity(n, dtype=None, ctx=None, device=None):
    """The identity matrix."""
    return eye(n, dtype=dtype, ctx=ctx or device)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None, device=None):
    """`num` numbers evenly spaced from start to stop, and with retstep the step."""
    require("np.linspace", "axis", axis, 0, -1)
    values = _make(
        "_linspace", ctx or device, start=start, stop=stop, num=num, endpoint=endpoint, dtype=dtype or default_float()
    )
    if not retstep:
        return values
    steps = num - 1 if endpoint else num
    return values, (stop - start) / steps if steps else onp.nan


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None, device=None):
    """`num` numbers base^start to base^stop whose logarithms are evenly spaced; float32 unless given."""
    require("np.logspace", "axis", axis, 0, -1)
    exponents = onp.linspace(start, stop, num, endpoint)
    return array(onp.power(base, exponents), dtype=dtype or default_float(), ctx=ctx or device)


def asarray(obj, dtype=None, order="C", ctx=None, device=None, copy=None):
    """The array itself where it has the type and place; otherwise, or with `copy`, `array`.

    ValueError where copy is False and a copy is needed.
    """
    require("np.asarray", "order", order, *ORDERS, None)
    same = isinstance(obj, ndarray) and (dtype is None or dtype_name(dtype) == dtype_name(obj.dtype))
    if same and not copy and (ctx or device or obj.context) == obj.context:
        return obj
    if copy is False:
        raise ValueError("asarray: a copy is needed, which copy=False forbids")
    return array(obj, dtype, ctx=ctx or device)


# ---------------------------------------------------------------------------------------------- pointwise


def _binary_function(name: str, reverse: str | None):
    array_op, scalar_op = f"_npi_{name}", f"_npi_{name}_scalar"

    def function(x1, x2, out=None, **kwargs):
        check_ufunc_arguments(name, kwargs)
        if not isinstance(x1, NDArray) and not isinstance(x2, NDArray):
            return getattr(onp, name)(x1, x2)
        result = binary(x1, x2, TABLE[array_op], TABLE[scalar_op], TABLE[reverse or scalar_op])
        return result if out is None else writes.assign(TABLE[array_op], out, result)

    function.__name__ = name
    function.__doc__ = f"NumPy's `{name}` of two arrays, or of an array and a number."
    return function


# Functions whose operands may change places, and others -> the operator of a number and an array.
_SYMMETRIC = (
    "add multiply logaddexp maximum minimum fmax fmin hypot lcm gcd bitwise_and bitwise_or bitwise_xor equal not_equal "
    "logical_and logical_or logical_xor"
).split()
_ORDERED = {
    "subtract": "_npi_rsubtract_scalar", "true_divide": "_npi_rtrue_divide_scalar",
    "floor_divide": "_npi_rfloor_divide_scalar", "mod": "_npi_rmod_scalar", "fmod": "_npi_rfmod_scalar",
    "power": "_npi_rpower_scalar", "arctan2": "_npi_rarctan2_scalar", "copysign": "_npi_rcopysign_scalar",
    "ldexp": "_npi_rldexp_scalar", "greater": "_npi_less_scalar", "greater_equal": "_npi_less_equal_scalar",
    "less": "_npi_greater_scalar", "less_equal": "_npi_greater_equal_scalar",
}  # fmt: skip
BINARY = {name: _binary_function(name, _ORDERED.get(name)) for name in (*_SYMMETRIC, *_ORDERED)}
globals().update({**BINARY, "divide": BINARY["true_divide"], "remainder": BINARY["mod"]})

# name -> operator of the table that computes it
UNARY = {
    "abs": "abs", "absolute": "abs", "fabs": "abs", "negative": "negative", "reciprocal": "reciprocal",
    "square": "square", "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "arcsin",
    "arccos": "arccos", "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "arcsinh",
    "arccosh": "arccosh", "arctanh": "arctanh", "degrees": "degrees", "radians": "radians",
    "sign": "sign", "rint": "rint", "ceil": "ceil", "floor": "floor", "trunc": "trunc",
    "fix": "fix", "logical_not": "_npi_logical_not", "isnan": "_npi_isnan", "isinf": "_npi_isinf",
    "isfinite": "_npi_isfinite", "isposinf": "_npi_isposinf", "isneginf": "_npi_isneginf",
    "bitwise_not": "_npi_bitwise_not", "invert": "_npi_bitwise_not",
}  # fmt: skip


def _unary_function(name: str, op_name: str):
    def function(x, out=None, **kwargs):
        check_ufunc_arguments(name, kwargs)
        if not isinstance(x, NDArray):
            if isinstance(x, numbers.Number):
                return getattr(onp, name)(x)
            raise TypeError(f"np.{name} takes an array or a number, given {type(x).__name__}")
        return dispatch.launch(TABLE[op_name], [x], {}, ndarray, out)

    function.__name__ = name
    function.__doc__, function.computes = f"NumPy's `{name}` of each element.", op_name
    return function


globals().update({_name: _unary_function(_name, _op) for _name, _op in UNARY.items()})


def rad2deg(x, out=None, **kwargs):
    """NumPy's `rad2deg` of each element; of integers as fractions, which those of `degrees` are not."""
    return _unary_function("rad2deg", "degrees")(_fractions(x), out, **kwargs)


def deg2rad(x, out=None, **kwargs):
    """NumPy's `deg2rad` of each element; of integers as fractions, which those of `radians` are not."""
    return _unary_function("deg2rad", "radians")(_fractions(x), out, **kwargs)


def _fractions(x):
    return x.astype(default_float()) if isinstance(x, NDArray) and "int" in dtype_name(x.dtype) else x


def positive(x, out=None, **kwargs):
    """The array itself, as new memory."""
    check_ufunc_arguments("positive", kwargs)
    return _into(out, F._copy(_as_array(x)))


def copy(a, out=None):
    """The array, as new memory."""
    return _into(out, F._copy(_as_array(a)))


def clip(a, a_min=None, a_max=None, out=None):
    """The array limited to [a_min, a_max]; None leaves a side open."""
    if a_min is None and a_max is None:
        raise ValueError("clip: at least one of a_min and a_max is needed")
    if not isinstance(a, NDArray):
        return onp.clip(a, a_min, a_max)
    bounds = {"a_min": -onp.inf if a_min is None else a_min, "a_max": onp.inf if a_max is None else a_max}
    if "int" in dtype_name(a.dtype):  # infinities have no place in an integer type
        info = onp.iinfo(a.dtype)
        bounds = {"a_min": info.min if a_min is None else a_min, "a_max": info.max if a_max is None else a_max}
    return dispatch.launch(TABLE["clip"], [a], TABLE["clip"].parse(bounds), ndarray, out)


def around(x, decimals=0, out=None):
    """Each element to the given number of decimals, halves to even."""
    scale = 10.0**decimals
    result = F._npi_around(x, scale=scale)
    return result if out is None else writes.assign(TABLE["_npi_around"], out, result)


round = round_ = around


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers; without `copy` in the array itself."""
    info = onp.finfo(x.dtype) if "float" in dtype_name(x.dtype) else None
    if info is None:
        return x.copy() if copy else x
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf
    result = F._npi_nan_to_num(x, nan=nan, posinf=high, neginf=low)
    if copy:
        return result
    writes.write(x, result)
    return x


def signbit(x, out=None):
    """Whether the sign is negative."""
    return _into(out, F._npi_signbit(x)) if isinstance(x, NDArray) else onp.signbit(x)


def float_power(x1, x2, out=None, **kwargs):
    """x1 to the power of x2, in float64."""
    check_ufunc_arguments("float_power", kwargs)
    x1, x2 = (v.astype("float64") if isinstance(v, NDArray) else v for v in (x1, x2))
    return BINARY["power"](x1, x2, out=out)


nanmean = _on_the_host(onp.nanmean, "nanmean")


def genfromtxt(*args, ctx=None, **kwargs):
    """An array from a text file, by NumPy's `genfromtxt`."""
    return array(onp.genfromtxt(*args, **kwargs), ctx=ctx)


def set_printoptions(precision=None, threshold=None, **kwargs) -> None:
    """How arrays are shown: NumPy's print options."""
    onp.set_printoptions(precision, threshold, **kwargs)


globals().update({_alias: globals()[_name] for _alias, _name in ALIASES.items()})
