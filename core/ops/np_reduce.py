"""Reductions of the `np` namespace: results may have no axes, means of integers are float32."""

import math
from collections.abc import Callable
from typing import Any

from core import kernels
from core.base import MXNetError
from core.dtypes import FLOATS
from core.ops.attributes import Axis, Bool, Int, OptDType, OptInt
from core.ops.np_elementwise import promoted
from core.ops.reduce import kept_shape
from core.ops.registry import F, Operator, gradient, operator
from core.ops.shape import normal_axes, normal_axis
from core.ops.values import Gradients, Namespace, Tensor, Value
from core.util import default_float

K = kernels.reduce


def _axes(axis: tuple[int, ...] | None, ndim: int, name: str) -> tuple[int, ...]:
    if not ndim and axis is not None and all(a in (0, -1) for a in axis):  # a number is a row of one, too
        return ()
    axes = normal_axes(axis, ndim, name)
    if len(set(axes)) != len(axes):
        raise MXNetError(f"{name}: an axis is repeated in {axis}")
    return tuple(sorted(axes))


def _spread(value: Value, shape: tuple[int, ...], attrs: Namespace) -> Value:
    """A result (or its gradient) with the reduced axes put back."""
    return F._reshape_to(value, shape=kept_shape(shape, _axes(attrs.axis, len(shape), "reduction")))


def _reduced(kernel: Callable[..., Any], a: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Tensor:
    """The reduction in the wider one of the types of `a` and of the result, as `dtype` (None: that of `a`)."""
    kind = kernels.dtype_name(a)
    if dtype is None or dtype == kind:
        return kernel(a, axes, keepdims)
    if kind in FLOATS and promoted("reduction", kind, dtype) == kind:
        return kernels.cast(kernel(a, axes, keepdims), dtype)
    return kernel(kernels.cast(a, dtype), axes, keepdims)


def _enter(name: str) -> Operator:
    kernel = getattr(K, name)

    def reduction(a: Tensor, *, axis: Axis = None, dtype: OptDType = None, keepdims: Bool = False) -> Tensor:
        if kernels.dtype_name(a) == "bool":
            a = kernels.cast(a, "int64")
        return _reduced(kernel, a, _axes(axis, a.dim(), name), keepdims, dtype)

    reduction.__doc__ = f"The {name} over the given axes (all by default)."
    return operator(f"_np_{name}", aliases=(f"_npi_{name}",), memory="new")(reduction)


sum_, prod = _enter("sum"), _enter("prod")


@gradient(sum_)
def _sum_gradient(dy: Value, a_shape: tuple[int, ...], a_dtype: str, attrs: Namespace) -> Gradients:
    return [F._broadcast_from(_spread(dy, a_shape, attrs), shape=a_shape).astype(a_dtype, copy=False)]


@gradient(prod)
def _prod_gradient(
    dy: Value, a: Value, out: Value, a_shape: tuple[int, ...], a_dtype: str, attrs: Namespace
) -> Gradients:
    dy, out = (_spread(F.Cast(x, dtype=a_dtype), a_shape, attrs) for x in (dy, out))
    return [F.broadcast_div(F.broadcast_mul(dy, out), a)]


@operator("_npi_mean", memory="new")
def mean(a: Tensor, *, axis: Axis = None, dtype: OptDType = None, keepdims: Bool = False) -> Tensor:
    """The mean over the given axes; of integers as float32."""
    axes = _axes(axis, a.dim(), "mean")
    if kernels.dtype_name(a) in FLOATS:
        return _reduced(K.mean, a, axes, keepdims, dtype)
    a = kernels.cast(a, dtype or default_float())
    if dtype is None or dtype in FLOATS:
        return K.mean(a, axes, keepdims)
    total = K.sum(a, axes, keepdims)  # wraps in the narrow type, as MXNet's and NumPy's do
    count = math.prod(a.shape[i] for i in axes)
    return kernels.cast(F._div_scalar.forward(kernels.cast(total, "float64"), scalar=count or 1), dtype)


@gradient(mean)
def _mean_gradient(dy: Value, a_shape: tuple[int, ...], attrs: Namespace, a_dtype: str) -> Gradients:
    count = 1
    for axis in _axes(attrs.axis, len(a_shape), "mean"):
        count *= a_shape[axis]
    dy = dy.astype(a_dtype, copy=False) * (1.0 / max(count, 1))
    return [F._broadcast_from(_spread(dy, a_shape, attrs), shape=a_shape)]


def _enter_extremum(name: str) -> Operator:
    kernel = getattr(K, name)

    def reduction(a: Tensor, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
        return kernel(a, _axes(axis, a.dim(), name), keepdims)

    reduction.__doc__ = f"The {name}imum over the given axes (all by default)."
    op = operator(f"_np_{name}", aliases=(f"_npi_{name}", f"_np_a{name}"), memory="new")(reduction)

    @gradient(op)
    def _op_gradient(
        dy: Value, a: Value, out: Value, a_shape: tuple[int, ...], attrs: Namespace, a_dtype: str
    ) -> Gradients:
        hit = F.broadcast_equal(a, _spread(out, a_shape, attrs))
        return [F.broadcast_mul(hit, _spread(dy, a_shape, attrs))]

    return op


max_, min_ = _enter_extremum("max"), _enter_extremum("min")


def _variance(a: Tensor, axis: tuple[int, ...] | None, dtype: Any, ddof: int, keepdims: bool) -> tuple[Tensor, str]:
    """In float32 (float64 for float64) and back to the type of the array; MXNet gives it no gradient."""
    kind = dtype or kernels.dtype_name(a)
    if kind == "bool":
        raise MXNetError("var: arrays of bool are not accepted; convert with astype")
    axes = _axes(axis, a.dim(), "var")
    wide = kernels.cast(a, "float64" if kind == "float64" else "float32")
    count = 1
    for x in axes:
        count *= a.shape[x]
    mean, variance = K.moments(wide, axes, keepdims)
    if kind not in FLOATS:  # MXNet measures whole numbers from the whole part of their mean
        rest = F.elemwise_sub.forward(mean, F.trunc.forward(mean))
        variance = F.elemwise_add.forward(variance, F.square.forward(rest))
    scale = count / (count - ddof) if count > ddof else float("nan")
    return (variance if ddof == 0 else F._mul_scalar.forward(variance, scalar=scale)), kind


@operator("_npi_var", memory="new")
def var(a: Tensor, *, axis: Axis = None, dtype: OptDType = None, ddof: Int = 0, keepdims: Bool = False) -> Tensor:
    """The variance over the given axes, over count - ddof."""
    variance, kind = _variance(a, axis, dtype, ddof, keepdims)
    return kernels.cast(variance, kind)


@operator("_npi_std", memory="new")
def std(a: Tensor, *, axis: Axis = None, dtype: OptDType = None, ddof: Int = 0, keepdims: Bool = False) -> Tensor:
    """The standard deviation over the given axes."""
    variance, kind = _variance(a, axis, dtype, ddof, keepdims)
    return kernels.cast(F.sqrt.forward(variance), kind)


def _enter_place(name: str) -> Operator:
    kernel = getattr(K, name)

    def places(data: Tensor, *, axis: OptInt = None, keepdims: Bool = False) -> Tensor:
        if kernels.dtype_name(data) == "bool":
            raise MXNetError(f"{name}: arrays of bool are not accepted; convert with astype")
        if axis is None:
            place = kernel(kernels.shape.reshape(data, (data.numel(),)), 0, False)
            return place.reshape((1,) * data.dim()) if keepdims else place
        if data.dim() == 0 and axis in (0, -1):
            return kernel(kernels.shape.reshape(data, (1,)), 0, False)
        return kernel(data, normal_axis(axis, data.dim(), name), keepdims)

    places.__doc__ = f"The index of the {name[3:]}imum, as int64."
    return operator(f"_npi_{name}", memory="new")(places)


argmax, argmin = _enter_place("argmax"), _enter_place("argmin")


def _enter_truth(name: str) -> Operator:
    kernel = getattr(K, name)

    def truth(data: Tensor, *, axis: Axis = None, keepdims: Bool = False) -> Tensor:
        return kernel(data, _axes(axis, data.dim(), name), keepdims)

    truth.__doc__ = f"Whether {name} elements are not zero."
    return operator(f"_npi_{name}", memory="new")(truth)


all_, any_ = _enter_truth("all"), _enter_truth("any")
