"""Quantization to 8-bit integers, and layers that compute on them; inference only.

Quantized values come with the range that they represent, as two arrays of one element. int8 values are symmetric about
0, uint8 values start at 0. Accumulated products are int32 values, scaled so that 2^31 - 1 is the end of their range.
"""

import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.kernels import formula as f
from core.kernels.formula import Expr, Formula
from core.ops.attributes import Bool, Choice, DType, Float, Int, OptBool, OptFloat, OptInt, OptStr, Positive, Shape
from core.ops.facts import MOVING
from core.ops.matrix import fully_connected_shapes
from core.ops.nn import convolution_shapes, window
from core.ops.pointwise import pointwise
from core.ops.registry import F, Operator, composite, infer, operator, takes
from core.ops.shape import normal_axis
from core.ops.storage_types import rows_if_asked
from core.ops.values import Attrs, Input, Tensor, Value

# What oneDNN, whose results are the reference, takes as the largest code when it scales by a known range.
WIDE = {"int8": 127.5, "uint8": 255.5}
EXACT = {"int8": 127.0, "uint8": 255.0}
LIMITS = {"int8": (-128.0, 127.0), "uint8": (0.0, 255.0)}
Out = Annotated[str, Choice("int8", "uint8")]
AutoOut = Annotated[str, Choice("int8", "uint8", "auto")]
TOP = float(2**31 - 1)
VALUES_AND_RANGE = ("output", "min_output", "max_output")
INPUTS = {"weight": "int8", "bias": "int8"} | dict.fromkeys(  # ends of ranges and statistics are numbers
    "min_data max_data min_weight max_weight min_bias max_bias lhs_min lhs_max rhs_min rhs_max gamma beta "
    "moving_mean moving_var".split(),
    "float32",
)
NUMBERS = dict.fromkeys(  # of fused layers, which take weights in numbers beside quantized values too
    "data weight bias gamma beta moving_mean moving_var addend data_min data_max addend_min addend_max".split(),
    "float32",
)


def _nearest(x: Expr, high: Expr, low: Expr, nan: Expr) -> Expr:
    return f.where(f.isnan(x), nan, f.minimum(f.maximum(f.rint(x), low), high))


def nearest(data: Expr, *, high: Expr, low: Expr, nan: Expr) -> Expr:
    """The nearest whole numbers from low to high, halves to even."""
    return _nearest(data, high, low, nan)


def nearest_scaled(data: Expr, scale: Expr, *, high: Expr, low: Expr, nan: Expr) -> Expr:
    """Those of data * scale."""
    return _nearest(data * scale, high, low, nan)


def nearest_summed(data: Expr, scale: Expr, addend: Expr, meaning: Expr, *, high: Expr, low: Expr, nan: Expr) -> Expr:
    """Those of data * scale + addend * meaning, multiplied and added with one rounding, as by one instruction."""
    exact = f.cast(addend, "float64") * f.cast(meaning, "float64")
    return _nearest(f.cast(f.cast(data * scale, "float64") + exact, "float32"), high, low, nan)


FORMULAS = {
    len(formula.inputs): formula for formula in [Formula.of(rule) for rule in (nearest, nearest_scaled, nearest_summed)]
}


@operator("_quantized", memory="new")
def _quantized_tensor(
    data: Tensor, scale: Tensor | None = None, addend: Tensor | None = None, meaning: Tensor | None = None, *,
    low: Float, high: Float, nan: Float, out_type: Out,
) -> Tensor:  # fmt: skip
    """The whole numbers nearest to data * scale + addend * meaning, halves to even, from low to high.

    `nan` is the code of what is not a number.
    """
    operands = [x for x in (data, scale, addend, meaning) if x is not None]
    kind = kernels.torch_dtype(out_type)
    return kernels.pointwise.pointwise(FORMULAS[len(operands)], operands, (high, low, nan), kind)


@pointwise("_whole", dtype="first", differentiable=False)
def _whole(data: Expr) -> Expr:
    """The nearest whole numbers; halves go to the even neighbour."""
    return f.rint(data)


@composite("_contrib_quantize", outputs=3)
def quantize(data: Value, min_range: Value, max_range: Value, *, out_type: Out = "uint8") -> Sequence[Value]:
    """Quantized values of data in the range of two one-element arrays, and the range that they stand for."""
    reach = _reach(min_range, max_range)
    integers = _quantized(data, out_type, _spread(EXACT[out_type] / reach, data))
    return [integers, *_range(out_type, reach, min_range, max_range)]


@composite("_contrib_quantize_v2", outputs=3, calibrated="values")
def quantize_v2(
    data: Value, *, out_type: AutoOut = "int8", min_calib_range: OptFloat = None, max_calib_range: OptFloat = None
) -> Sequence[Value]:
    """Quantized values of data in the calibrated range, or in the range of its values, and that range."""
    low, high = _calibrated(data, min_calib_range, max_calib_range)
    if out_type == "auto":
        out_type = "uint8" if min_calib_range is not None and min_calib_range >= 0 else "int8"
    reach = _reach(low, high)
    integers = _quantized(data, out_type, _spread(WIDE[out_type] / reach, data))
    return [integers, *_range(out_type, reach, low, high)]


@composite("_contrib_quantize_asym", outputs=3, names=("output", "scale", "shift"))
def quantize_asym(
    data: Value, *, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None
) -> Sequence[Value]:
    """uint8 values data * scale + shift of the calibrated range, or of that of the values; and scale and shift.

    Integers of eight bits stay what they are, int8 ones above 128.
    """
    kind = dtype_name(data.dtype)
    one = F._arange_like(F.Cast(data, dtype="float32"), length=1) + 1.0
    if kind in ("uint8", "int8"):
        shift = one * (0.0 if kind == "uint8" else 128.0)
        return [F.Cast(F.broadcast_add(_real(data), _spread(shift, data)), dtype="uint8"), one, shift]
    low, high = _calibrated(data, min_calib_range, max_calib_range)
    scale = EXACT["uint8"] / (high - low)
    shift = EXACT["uint8"] - high * scale
    integers = F.floor(F.broadcast_add(F.broadcast_mul(data, _spread(scale, data)), _spread(shift + 0.5, data)))
    return [F.Cast(F.clip(integers, a_min=0.0, a_max=EXACT["uint8"]), dtype="uint8"), scale, shift]


@composite("_contrib_dequantize")
def dequantize(
    data: Value, min_range: Value, max_range: Value, *, out_type: Annotated[str, Choice("float32")] = "float32"
) -> Value:
    """The numbers that quantized values of the range stand for."""
    return _meaning(data, _reach(min_range, max_range))


@composite("_contrib_requantize", outputs=3)
def requantize(
    data: Value, min_range: Value, max_range: Value, *, out_type: AutoOut = "int8", min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None,
) -> Sequence[Value]:  # fmt: skip
    """int32 values of a range as integers of eight bits of the calibrated range, or of the range of their values."""
    real = F.Cast(data, dtype="float32")
    real = F.broadcast_mul(real, _spread(_reach(min_range, max_range) / TOP, real))
    low, high = _calibrated(real, min_calib_range, max_calib_range)
    if out_type == "auto":
        out_type = "uint8" if min_calib_range is not None and min_calib_range >= 0 else "int8"
    reach = _reach(low, high)
    # In this order, so that halves of the range stay halves.
    integers = _quantized(F.broadcast_div(real * EXACT[out_type], _spread(reach, real)), out_type)
    zero = F.zeros_like(reach)
    return [integers, zero if out_type == "uint8" else F.negative(reach), reach]


@composite(
    "_contrib_quantized_conv", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS, when={"bias": ("no_bias", False)}
)
def quantized_conv(
    data: Value, weight: Value, bias: Value | None = None, min_data: Value | None = None, max_data: Value | None = None,
    min_weight: Value | None = None, max_weight: Value | None = None, min_bias: Value | None = None,
    max_bias: Value | None = None, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (),
    num_filter: Int, num_group: Int = 1, workspace: Int = 1024, no_bias: Bool = False, cudnn_tune: OptStr = None,
    cudnn_off: Bool = False, layout: OptStr = None,
) -> Sequence[Value]:  # fmt: skip
    """Convolution of quantized values; int32 values and their range.

    Quantized values of the bias are added as they are, as in MXNet.
    """
    _need_ends("quantized_conv", max_weight if no_bias else max_bias, no_bias)
    y = F.Convolution(
        _real(data), _real(weight), None if bias is None else _real(bias), kernel=kernel, stride=stride, dilate=dilate,
        pad=pad, num_filter=num_filter, num_group=num_group, no_bias=no_bias, layout=layout,
    )  # fmt: skip
    scale = _reach(min_data, max_data) / EXACT["int8"] * _reach(min_weight, max_weight) / EXACT["int8"]
    return [F.Cast(y, dtype="int32"), *_ends(scale * TOP)]


@takes(quantized_conv)
def _quantized_conv_takes(attrs: Attrs) -> list[str]:
    return _without_bias(quantized_conv) if attrs["no_bias"] else quantized_conv.inputs


@infer(quantized_conv)
def _quantized_conv_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    convolution_shapes(shapes, attrs)
    _infer_ends(shapes)


@composite(
    "_contrib_quantized_fully_connected", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS,
    when={"bias": ("no_bias", False)},
)  # fmt: skip
def quantized_fully_connected(
    data: Value, weight: Value, bias: Value | None = None, min_data: Value | None = None, max_data: Value | None = None,
    min_weight: Value | None = None, max_weight: Value | None = None, min_bias: Value | None = None,
    max_bias: Value | None = None, *, num_hidden: Int, no_bias: Bool = False, flatten: Bool = True,
) -> Sequence[Value]:  # fmt: skip
    """data weight^T + bias of quantized values; int32 values and their range."""
    _need_ends("quantized_fully_connected", max_weight if no_bias else max_bias, no_bias)
    kind = _kind(data)
    reach, weight_reach = _reach(min_data, max_data), _reach(min_weight, max_weight)
    if bias is not None:
        one = reach / WIDE[kind] * weight_reach / WIDE["int8"]  # what one code of the result stands for
        bias = F.trunc(F.broadcast_mul(_real(bias), _reach(min_bias, max_bias) / WIDE["int8"] / one))
    y = F.FullyConnected(
        F.Cast(data, dtype="float64"), F.Cast(weight, dtype="float64"),
        None if bias is None else F.Cast(bias, dtype="float64"), num_hidden=num_hidden, no_bias=no_bias,
        flatten=flatten,
    )  # fmt: skip
    return [F.Cast(y, dtype="int32"), *_ends(reach / EXACT[kind] * weight_reach / EXACT["int8"] * TOP)]


@takes(quantized_fully_connected)
def _quantized_fully_connected_takes(attrs: Attrs) -> list[str]:
    return _without_bias(quantized_fully_connected) if attrs["no_bias"] else quantized_fully_connected.inputs


@infer(quantized_fully_connected)
def _quantized_fully_connected_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    fully_connected_shapes(shapes, attrs)
    _infer_ends(shapes)


@composite("_contrib_quantized_pooling", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS)
def quantized_pooling(
    data: Value, min_data: Value, max_data: Value, *, kernel: Shape = (),
    pool_type: Annotated[str, Choice("max", "avg", "sum", "lp")] = "max", global_pool: Bool = False,
    cudnn_off: Bool = False, pooling_convention: Annotated[str, Choice("valid", "full", "same")] = "valid",
    stride: Shape = (), pad: Shape = (), p_value: OptInt = None, count_include_pad: OptBool = None,
    layout: OptStr = None,
) -> Sequence[Value]:  # fmt: skip
    """The maximum or the rounded mean of windows of quantized values, in the same range."""
    if pool_type not in ("max", "avg"):
        raise MXNetError(f"quantized_pooling: pool_type {pool_type!r} does not fit; 'max' and 'avg' are accepted")
    y = F.Pooling(
        _real(data), kernel=kernel, pool_type=pool_type, global_pool=global_pool, pooling_convention=pooling_convention,
        stride=stride, pad=pad, count_include_pad=count_include_pad, layout=layout,
    )  # fmt: skip
    return [_quantized(y, _kind(data)), F._copy(min_data), F._copy(max_data)]


@composite("_contrib_quantized_act", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS)
def quantized_act(
    data: Value, min_data: Value, max_data: Value, *,
    act_type: Annotated[str, Choice("relu", "sigmoid", "softrelu", "softsign", "tanh")],
) -> Sequence[Value]:  # fmt: skip
    """A rectifier on quantized values, in the same range."""
    if act_type != "relu":
        raise MXNetError(f"quantized_act: act_type {act_type!r} does not fit; 'relu' is accepted")
    return [F.relu(data), F._copy(min_data), F._copy(max_data)]


@composite("_contrib_quantized_flatten", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS)
def quantized_flatten(data: Value, min_data: Value, max_data: Value) -> Sequence[Value]:
    """All axes but the first one merged."""
    return [F.Flatten(data), F._copy(min_data), F._copy(max_data)]


for _op in (quantized_pooling, quantized_act, quantized_flatten):
    infer(_op)(lambda shapes, attrs: _infer_ends(shapes))


@composite("_contrib_quantized_concat", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS)
def quantized_concat(*data: Value, dim: Int = 1) -> Sequence[Value]:
    """Quantized values joined along an axis, those of the widest range, uint8 if all are.

    data: n arrays, then min and max of each.
    """
    n = len(data) // 3
    arrays, lows, highs = data[:n], data[n::2], data[n + 1 :: 2]
    kind = "uint8" if all(dtype_name(x.dtype) == "uint8" for x in arrays) else "int8"
    reaches = [_reach(low, high) for low, high in zip(lows, highs, strict=True)]
    widest = functools.reduce(F.broadcast_maximum, reaches)
    parts = []
    for x, reach in zip(arrays, reaches, strict=True):
        factor = reach / _wide(x) / widest * WIDE[kind]
        parts.append(_quantized(_real(x), kind, _spread(factor, x)))
    return [
        F.Concat(*parts, dim=dim),
        functools.reduce(F.broadcast_minimum, lows),
        functools.reduce(F.broadcast_maximum, highs),
    ]


@composite("_contrib_quantized_elemwise_add", outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS)
def quantized_elemwise_add(
    lhs: Value, rhs: Value, lhs_min: Value, lhs_max: Value, rhs_min: Value, rhs_max: Value, *,
    min_calib_range: OptFloat = None, max_calib_range: OptFloat = None,
) -> Sequence[Value]:  # fmt: skip
    """The sum of quantized values: int8 values of the calibrated range, or int32 values of the sum of both ranges."""
    left, right = _reach(lhs_min, lhs_max), _reach(rhs_min, rhs_max)
    total = F.broadcast_add(_meaning(lhs, left, "float64"), _meaning(rhs, right, "float64"))
    return _result(total, left + right, min_calib_range, max_calib_range)


@composite(
    "_contrib_quantized_elemwise_mul", outputs=lambda attrs: 1 if attrs["enable_float_output"] else 3,
    names=VALUES_AND_RANGE,
    input_dtypes=INPUTS,
)  # fmt: skip
def quantized_elemwise_mul(
    lhs: Value, rhs: Value, lhs_min: Value, lhs_max: Value, rhs_min: Value, rhs_max: Value, *,
    min_calib_range: OptFloat = None, max_calib_range: OptFloat = None, enable_float_output: Bool = False,
) -> Value | Sequence[Value]:  # fmt: skip
    """The product of quantized values: float32 numbers, int8 values of the calibrated range, or int32 values."""
    left, right = _reach(lhs_min, lhs_max), _reach(rhs_min, rhs_max)
    if enable_float_output or min_calib_range is not None:
        product = F.broadcast_mul(_meaning(lhs, left, "float64"), _meaning(rhs, right, "float64"))
        if enable_float_output:
            return F.Cast(product, dtype="float32")
        return _result(product, left, min_calib_range, max_calib_range)
    product = F.Cast(F.broadcast_mul(_real(lhs), _real(rhs)), dtype="int32")
    scale = left / EXACT[_kind(lhs)] * right / EXACT[_kind(rhs)]
    return [product, *_ends(scale * TOP)]


@composite(
    "_contrib_quantized_batch_norm", outputs=3, mutates=("moving_mean", "moving_var"), names=VALUES_AND_RANGE,
    input_dtypes=INPUTS, initial=MOVING,
)  # fmt: skip
def quantized_batch_norm(
    data: Value, gamma: Value, beta: Value, moving_mean: Value, moving_var: Value, min_data: Value, max_data: Value, *,
    eps: Float = 1e-3, momentum: Float = 0.9, fix_gamma: Bool = True, use_global_stats: Bool = False,
    output_mean_var: Bool = False, axis: Int = 1, cudnn_off: Bool = False, min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None,
) -> Sequence[Value]:  # fmt: skip
    """BatchNorm of quantized values with the running statistics, as int8 values of the calibrated range.

    As in MXNet gamma counts whatever fix_gamma says, values of uint8 become those of int8 first, and oneDNN divides by
    the root of 1 + eps once more.
    """
    if min_calib_range is None or max_calib_range is None:
        raise MXNetError("quantized_batch_norm: min_calib_range and max_calib_range are needed")
    reach, scale_out = _reach(min_data, max_data), _calibrated_scale(min_calib_range, max_calib_range)
    integers = _real(data)
    if _kind(data) == "uint8":
        integers = _real(_quantized(integers * (EXACT["int8"] / EXACT["uint8"]), "int8"))
    axis = normal_axis(axis, data.ndim, "quantized_batch_norm")
    along = tuple(-1 if k == axis else 1 for k in range(data.ndim))
    scale = gamma / F.sqrt(moving_var + eps)
    weight = F.broadcast_mul(scale, reach) * (scale_out / (WIDE["int8"] * math.sqrt(1.0 + eps)))
    bias = (beta - moving_mean * scale) * scale_out
    weight, bias = (F.Reshape(v, shape=along) for v in (weight, bias))
    y = F.broadcast_add(F.broadcast_mul(integers, weight), bias)
    return [_quantized(y, "int8", nan=0.0), *_given_ends(reach, min_calib_range, max_calib_range)]


@infer(quantized_batch_norm)
def _quantized_batch_norm_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    for name in ("gamma", "beta", "moving_mean", "moving_var"):
        shapes[name] = (shapes["data"][attrs["axis"]],)


@composite(
    "_contrib_quantized_embedding", row_gradient=rows_if_asked, outputs=3, names=VALUES_AND_RANGE, input_dtypes=INPUTS
)
def quantized_embedding(
    data: Value, weight: Value, min_weight: Value, max_weight: Value, *, input_dim: Positive, output_dim: Positive,
    dtype: DType = "float32", sparse_grad: Bool = False,
) -> Sequence[Value]:  # fmt: skip
    """The rows of quantized values that data names, in the same range."""
    rows = F.Embedding(data, _real(weight), input_dim=input_dim, output_dim=output_dim)
    return [F.Cast(rows, dtype=dtype_name(weight.dtype)), F._copy(min_weight), F._copy(max_weight)]


@composite(
    "_sg_mkldnn_conv", mutates=("moving_mean", "moving_var"), outputs=lambda attrs: 3 if attrs["quantized"] else 1,
    when={"bias": ("no_bias", False)}, initial=MOVING, input_dtypes=NUMBERS, calibrated="results",
)  # fmt: skip
def fused_conv(
    data: Value, weight: Value, bias: Value | None = None, gamma: Value | None = None, beta: Value | None = None,
    moving_mean: Value | None = None, moving_var: Value | None = None, addend: Input = None,
    data_min: Value | None = None, data_max: Value | None = None, addend_min: Value | None = None,
    addend_max: Value | None = None, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (),
    num_filter: Int, num_group: Int = 1, no_bias: Bool = False, layout: OptStr = None, eps: Float = 1e-3,
    fix_gamma: Bool = True, with_bn: Bool = False, with_act: Bool = False, with_sum: Bool = False,
    with_postsum_act: Bool = False, quantized: Bool = False, min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None, a_max: OptFloat = None,
) -> Value | Sequence[Value]:  # fmt: skip
    """A convolution, BatchNorm, sum and rectifier as one, for inference: what MXNet's quantization makes of them.

    Weights and statistics are float32. Of integers and their range (`quantized`) it gives integers of the calibrated range,
    or of that of the values, uint8 behind a rectifier, and that range; otherwise numbers of numbers. a_max: where the
    rectifier ends.
    """
    if with_bn:
        weight, bias = folded(weight, bias, gamma, beta, moving_mean, moving_var, eps, fix_gamma)
    rectified = with_postsum_act or (with_act and not with_sum)
    if not quantized:
        y = F.Convolution(
            data, weight, bias, kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_filter=num_filter,
            num_group=num_group, layout=layout, no_bias=bias is None,
        )  # fmt: skip
        y = F.broadcast_add(_rectified(y, a_max) if with_act else y, addend) if with_sum else y
        return _rectified(y, a_max) if rectified else y

    data_scale = _scale(_wide(data), _reach(data_min, data_max))
    integers, bias, scales = rounded_by_output(weight, bias, data_scale)
    scales, data_scale = F.Reshape(scales, shape=(1, -1) + (1,) * len(kernel)), _spread(data_scale, data)
    y = F._integer_conv(data, integers, bias, **window(kernel, stride, dilate, pad, num_group))
    kind = "uint8" if rectified else "int8"
    if min_calib_range is None or max_calib_range is None:
        y = F.broadcast_div(y, scales * data_scale)
        if with_sum:
            y = F.broadcast_add(y, _meaning(addend, _reach(addend_min, addend_max)))
        return F._contrib_quantize_v2(_rectified(y, a_max) if rectified else y, out_type=kind)
    low, high = (F.zeros_like(data_min) + end for end in (min_calib_range, max_calib_range))
    reach = np.float32(max(abs(min_calib_range), abs(max_calib_range)))
    scale = float(np.float32(WIDE[kind]) / reach) if reach else TOP
    scales, most = F.broadcast_div(scale / data_scale, scales), LIMITS[kind][1]
    if a_max is not None:
        most = min(most, float(np.rint(np.float32(a_max) * np.float32(scale))))
    sums: tuple[Value, ...] = ()
    if with_sum:
        meaning = scale / _scale(_wide(addend), _reach(addend_min, addend_max))
        sums = addend, _spread(meaning, addend)
        most = min(most, LIMITS[_kind(addend)][1])  # written over the addend, in its type
    return [_quantized(y, kind, scales, *sums, most=most), low, high]


def folded(
    weight: Value, bias: Input, gamma: Input, beta: Input, moving_mean: Input, moving_var: Input, eps: float,
    fix_gamma: bool,
) -> tuple[Value, Value]:  # fmt: skip
    """Weights (outputs, ...) and the bias (outputs,) that do what a BatchNorm behind them does."""
    exact = F.Cast(F.ones_like(gamma) if fix_gamma else gamma, dtype="float64")
    factor = F.Cast(exact / F.sqrt(F.Cast(moving_var, dtype="float64") + eps), dtype=dtype_name(weight.dtype))
    bias = beta - factor * moving_mean if bias is None else beta + factor * (bias - moving_mean)
    return F.broadcast_mul(weight, F.Reshape(factor, shape=(-1,) + (1,) * (weight.ndim - 1))), bias


def _rectified(y: Value, a_max: float | None) -> Value:
    return F.relu(y) if a_max is None else F.clip(y, a_min=0.0, a_max=a_max)


@takes(fused_conv)
def _fused_conv_takes(attrs: Attrs) -> list[str]:
    names = {
        "bias": not attrs["no_bias"],
        **dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), attrs["with_bn"]),
        "addend": attrs["with_sum"],
        **dict.fromkeys(("data_min", "data_max"), attrs["quantized"]),
        **dict.fromkeys(("addend_min", "addend_max"), attrs["quantized"] and attrs["with_sum"]),
    }
    return [name for name in fused_conv.inputs if names.get(name, True)]


@infer(fused_conv)
def _fused_conv_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    channels = shapes["data"][1] // attrs["num_group"]
    shapes["weight"] = (attrs["num_filter"], channels, *attrs["kernel"])
    for name in ("bias", "gamma", "beta", "moving_mean", "moving_var"):
        shapes[name] = (attrs["num_filter"],)


@composite("_sg_mkldnn_fully_connected", when={"bias": ("no_bias", False)}, input_dtypes=NUMBERS)
def fused_fully_connected(
    data: Value, weight: Value, bias: Input = None, data_min: Input = None, data_max: Value | None = None, *,
    num_hidden: Int, no_bias: Bool = False, flatten: Bool = True,
    act_type: Annotated[str, Choice("relu", "sigmoid", "softrelu", "softsign", "tanh")] = "relu",
    with_eltwise: Bool = False, quantized: Bool = False, enable_float_output: Bool = False,
    channel_wise_quantize: Bool = False,
) -> Value:  # fmt: skip
    """A fully connected layer and the activation behind it as one, for inference: numbers of numbers, or of integers.

    Weights are float32. Of integers and their range (`quantized`, with `enable_float_output`), the weights become int8
    quantized values of one range, or with `channel_wise_quantize` of a range for each output.
    """
    if quantized:
        if not enable_float_output:
            raise MXNetError(
                "_sg_mkldnn_fully_connected: of quantized values it gives numbers; enable_float_output=True says so"
            )
        data_scale = _scale(_wide(data), _reach(data_min, data_max))
        make = rounded_by_output if channel_wise_quantize else rounded_in_one_range
        integers, shift, scales = make(weight, bias, data_scale)
        meaning = 1.0 / F.broadcast_mul(scales, data_scale)
        shift = None if bias is None else F.broadcast_mul(shift, meaning)
        rectify = with_eltwise and act_type == "relu"
        data = F.Flatten(data) if flatten else data
        y = F._integer_linear(data, integers, meaning, shift, rectify=rectify)
        with_eltwise = with_eltwise and not rectify
    else:
        y = F.FullyConnected(data, weight, bias, no_bias=no_bias, num_hidden=num_hidden, flatten=flatten)
    return F.Activation(y, act_type=act_type) if with_eltwise else y


@takes(fused_fully_connected)
def _fused_fully_connected_takes(attrs: Attrs) -> list[str]:
    names = {"bias": not attrs["no_bias"], **dict.fromkeys(("data_min", "data_max"), attrs["quantized"])}
    return [name for name in fused_fully_connected.inputs if names.get(name, True)]


infer(fused_fully_connected)(fully_connected_shapes)


def rounded_by_output(weight: Value, bias: Input, data_scale: Value | None) -> tuple[Value, Any, Value]:
    """Quantized values of weights (outputs, ...) and of the bias that fits sums of their products, and the scales (outputs,)
    of the weights.
    """
    scales = _scale(WIDE["int8"], F.max(F.abs(weight), axis=tuple(range(1, weight.ndim))))
    if bias is not None:
        # Quantized values of the bias stay below half of the largest int32.
        scales = F.broadcast_minimum(scales, F.broadcast_div(TOP / 2 / F.abs(bias), data_scale))
        bias = F._whole(F.broadcast_mul(scales, data_scale) * bias)
    return _quantized(weight, "int8", F.Reshape(scales, shape=(-1,) + (1,) * (weight.ndim - 1))), bias, scales


def rounded_in_one_range(weight: Value, bias: Input, data_scale: Value | None) -> tuple[Value, Any, Value]:
    """As `rounded_by_output`, with weights of one range, and a bias that was put on int8 values before.

    Halves go away from 0.
    """
    reach = F.max(F.abs(weight))
    integers = _quantized(weight, "int8", _spread(EXACT["int8"] / reach, weight))
    scale = _scale(WIDE["int8"], reach)
    if bias is not None:
        reach = F.max(F.abs(bias))
        bias_scale = _scale(WIDE["int8"], reach)
        wanted = data_scale * scale / bias_scale
        factor = F.broadcast_minimum(wanted, TOP / 2 / reach / bias_scale)
        bias = F.round(F.broadcast_mul(_real(_quantized(bias, "int8", EXACT["int8"] / reach)), factor))
        integers = F.Cast(F.round(F.broadcast_mul(_real(integers), _spread(factor / wanted, integers))), dtype="int8")
        scale = scale * (factor / wanted)
    return integers, bias, scale


def _need_ends(name: str, last: Value | None, no_bias: bool) -> None:
    if last is None:
        wanted = 6 if no_bias else 9
        raise MXNetError(f"{name}: {wanted} arrays are needed with no_bias={no_bias}, ends of ranges included")


def _without_bias(op: Operator) -> list[str]:
    return [name for name in op.inputs if "bias" not in name]


def _infer_ends(shapes: Attrs) -> None:
    """Each end of a range is an array of one."""
    for name in ("data", "weight", "bias"):
        shapes[f"min_{name}"] = shapes[f"max_{name}"] = (1,)


def _real(x: Value) -> Value:
    return F.Cast(x, dtype="float32")


def _meaning(x: Value, reach: Value, dtype: str = "float32") -> Value:
    """The numbers that quantized values of a range stand for."""
    number = F.Cast(reach, dtype=dtype) / _wide(x)
    return F.broadcast_mul(F.Cast(x, dtype=dtype), _spread(number, x))


def _wide(integers: Value) -> float:
    """The largest code of their type."""
    return WIDE[_kind(integers)]


def _kind(integers: Value) -> str:
    """The type of quantized values; MXNetError for arrays that hold none."""
    kind = dtype_name(integers.dtype)
    if kind not in WIDE:
        raise MXNetError(f"quantized values are int8 or uint8, given {kind}")
    return kind


def _ends(reach: Value) -> list[Any]:
    return [F.negative(reach), reach]


def _given_ends(reach: Value, low: float, high: float) -> list[Any]:
    nothing = F.zeros_like(reach)
    return [nothing + low, nothing + high]


def _result(y: Value, reach: Value, low: float | None, high: float | None) -> list[Any]:
    """Numbers as int8 values of a calibrated range, or as int32 values of the range that reaches as far as `reach`."""
    if low is not None and high is not None:
        return [_quantized(y * _calibrated_scale(low, high), "int8", nan=0.0), *_given_ends(reach, low, high)]
    scaled = F.broadcast_div(y * TOP, _spread(F.Cast(reach, dtype=dtype_name(y.dtype)), y))
    return [F.Cast(F.clip(scaled, a_min=-TOP - 1.0, a_max=TOP), dtype="int32"), *_ends(reach)]


def _calibrated(data: Value, low: float | None, high: float | None) -> tuple[Value, Value]:
    """The range as one-element arrays."""
    if low is None or high is None:
        return F.min(data), F.max(data)
    one = F._arange_like(data, length=1)
    return one + low, one + high


def _reach(low: Value | None, high: Value | None) -> Value:
    return F.broadcast_maximum(F.abs(low), F.abs(high))


def _range(kind: str, reach: Value, low: Value, high: Value) -> tuple[Value, ...]:
    return (F.negative(reach), F._bridge(reach)) if kind == "int8" else (F._bridge(low), F._bridge(high))


def _calibrated_scale(low: float, high: float) -> float:
    """int8 values a number in a calibrated range; endless for a range of nothing, as in MXNet."""
    reach = max(abs(low), abs(high))
    return WIDE["int8"] / reach if reach else math.inf


def _scale(largest: float, reach: Value) -> Value:
    """Quantized values a number; 2^31 - 1 for a range of nothing, so that layers on them give their bias."""
    return F.where(reach == 0.0, F.zeros_like(reach) + TOP, largest / reach)


def _quantized(data: Value, kind: str, *rest: Value, most: float | None = None, nan: float | None = None) -> Value:
    """Quantized values nearest to data [* scale [+ addend * meaning]], up to `most`.

    What is not a number, as 0 in a range of nothing, is `nan`: by default 127 of int8 and 0 of uint8.
    """
    low, high = LIMITS[kind]
    nan = (high if kind == "int8" else low) if nan is None else nan
    return F._quantized(data, *rest, low=low, high=high if most is None else most, nan=nan, out_type=kind)


def _spread(number: Value, data: Value) -> Value:
    """A one-element array with as many axes as data."""
    return F.Reshape(number, shape=(1,) * data.ndim)
