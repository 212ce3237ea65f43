"""Layers of neural networks: convolution, pooling, embedding, dropout."""

import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.kernels.formula import Expr, cbrt, eq, sqrt, where
from core.ops.attributes import Any_, Bool, Choice, DType, Float, Int, OptBool, OptInt, OptStr, Positive, Shape, Share
from core.ops.facts import Quantized
from core.ops.pointwise import pointwise
from core.ops.registry import Bound, F, Operator, composite, gradient, infer, operator, specialize, tell
from core.ops.relations import CONVOLUTION, FIRST
from core.ops.shape import expect_shape
from core.ops.storage_types import DENSE_OF_STORED, rows_if_asked
from core.ops.values import Attrs, Gradients, Namespace, Special, Tensor, Value

# ---------------------------------------------------------------------------------------------- convolution


def _spread(values: tuple[int, ...], n: int, default: int) -> tuple[int, ...]:
    return values if values else (default,) * n


def _of_axes(name: str, values: tuple[int, ...], n: int, default: int) -> tuple[int, ...]:
    """A number for each axis of windows; MXNet reads as many as there are axes, and misses those that are not given."""
    spread = _spread(values, n, default)[:n]
    if len(spread) < n:
        raise MXNetError(f"Pooling: {name}={values} needs {n} numbers")
    return spread


@functools.lru_cache(4096)
def window(
    kernel: tuple[Any, ...], stride: tuple[Any, ...], dilate: tuple[Any, ...], pad: tuple[Any, ...], groups: int
) -> Attrs:
    """Stride, dilation and padding of a convolution as the kernels take them; remembered, and not to be changed."""
    n = len(kernel)
    for name, values in (("stride", stride), ("dilate", dilate), ("pad", pad)):
        if values and len(values) != n:
            raise MXNetError(f"{name}={values} needs {n} numbers, as kernel={kernel} has")
    if min((1, *kernel, *stride, *dilate, groups)) < 1 or min((0, *pad)) < 0:
        raise MXNetError(
            "kernel, stride, dilate and num_group are from 1 on and pad from 0, given "
            f"{kernel}, {stride}, {dilate}, {groups} and {pad}"
        )
    how = {"stride": _spread(stride, n, 1), "dilate": _spread(dilate, n, 1), "pad": _spread(pad, n, 0)}
    return {**how, "groups": groups}


@operator("_conv", memory="new", channelwise=True)
def _conv(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: Shape, dilate: Shape, pad: Shape, groups: Int
) -> Tensor:
    """Cross-correlation of (N, C, *space) with (O, C / groups, *kernel)."""
    return kernels.conv.conv(data, weight, bias, stride, dilate, pad, groups)


@operator("_conv_data_grad", memory="new")
def _conv_data_grad(
    dy: Tensor, weight: Tensor, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int
) -> Tensor:
    """The adjoint of `_conv` in the data, for data of `shape`."""
    return kernels.conv.conv_data_grad(dy, weight, shape, stride, dilate, pad, groups)


@operator("_conv_weight_grad", memory="new")
def _conv_weight_grad(
    dy: Tensor, data: Tensor, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int
) -> Tensor:
    """The adjoint of `_conv` in the weight, for a weight of `shape`."""
    return kernels.conv.conv_weight_grad(dy, data, shape, stride, dilate, pad, groups)


@operator("_conv_bias_grad", memory="new")
def _conv_bias_grad(dy: Tensor) -> Tensor:
    """The sum over all axes but axis 1."""
    return kernels.conv.conv_bias_grad(dy)


@gradient(_conv_bias_grad)
def _conv_bias_grad_gradient(dy: Value, dy_shape: tuple[int, ...]) -> Gradients:
    wide = F._reshape_to(dy, shape=(1, -1, *(1,) * (len(dy_shape) - 2)))
    return [F._broadcast_from(wide, shape=dy_shape)]


def _how(attrs: Namespace) -> Attrs:
    return {"stride": attrs.stride, "dilate": attrs.dilate, "pad": attrs.pad, "groups": attrs.groups}


@operator("_integer_conv", memory="new")
def _integer_conv(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: Shape, dilate: Shape, pad: Shape, groups: Int
) -> Tensor:
    """float32 sums of the products of quantized values, data uint8 or int8 and weight int8, and of the bias."""
    return kernels.conv.quantized_conv(data, weight, bias, stride, dilate, pad, groups)


@operator("_integer_linear", memory="new")
def _integer_linear(
    data: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None = None, *, rectify: Bool = False
) -> Tensor:
    """float32 sums of the products of integers along the last axis, times scale, + bias; rectify: 0 for negative ones."""
    return kernels.matmul.quantized_linear(data, weight, scale, bias, rectify)


@gradient(_conv)
def _conv_gradient(
    dy: Value, data: Value, weight: Value, data_shape: tuple[int, ...], weight_shape: tuple[int, ...],
    attrs: Namespace, needs: Sequence[bool],
) -> Gradients:  # fmt: skip
    how = _how(attrs)
    return [
        F._conv_data_grad.typed(dy, weight, shape=data_shape, **how) if needs[0] else None,
        F._conv_weight_grad.typed(dy, data, shape=weight_shape, **how) if needs[1] else None,
        F._conv_bias_grad(dy) if len(needs) > 2 and needs[2] else None,
    ]


# the three functions are one trilinear form, so each one's gradients are the other two


@gradient(_conv_data_grad)
def _conv_data_grad_gradient(
    dy1: Value, dy: Value, weight: Value, weight_shape: tuple[int, ...], attrs: Namespace, needs: Sequence[bool]
) -> Gradients:
    how = _how(attrs)
    return [
        F._conv.typed(dy1, weight, **how) if needs[0] else None,
        F._conv_weight_grad.typed(dy, dy1, shape=weight_shape, **how) if needs[1] else None,
    ]


@gradient(_conv_weight_grad)
def _conv_weight_grad_gradient(
    dy1: Value, dy: Value, data: Value, data_shape: tuple[int, ...], attrs: Namespace, needs: Sequence[bool]
) -> Gradients:
    how = _how(attrs)
    return [
        F._conv.typed(data, dy1, **how) if needs[0] else None,
        F._conv_data_grad.typed(dy, dy1, shape=data_shape, **how) if needs[1] else None,
    ]


def _channels_last(layout: str | None) -> bool:
    return layout in ("NWC", "NHWC", "NDHWC")


def _to_channels_first(x: Any) -> Any:
    n = len(x.shape)
    return F.transpose(x, axes=(0, n - 1, *range(1, n - 1)))


def _to_channels_last(x: Any) -> Any:
    n = len(x.shape)
    return F.transpose(x, axes=(0, *range(2, n), 1))


@composite(
    "Convolution", aliases=("convolution", "Convolution_v1"), shape=CONVOLUTION, when={"bias": ("no_bias", False)},
    layer="weights", quantized=Quantized("_sg_mkldnn_conv", takes=("normalization", "sum", "rectifier", "limit")),
)  # fmt: skip
def convolution(
    data: Value, weight: Value, bias: Value | None = None, *, kernel: Shape, stride: Shape = (), dilate: Shape = (),
    pad: Shape = (), num_filter: Positive, num_group: Int = 1, workspace: Int = 1024, no_bias: Bool = False,
    cudnn_tune: OptStr = None, cudnn_off: Bool = False, layout: OptStr = None,
) -> Value:  # fmt: skip
    """N-dimensional convolution; layouts NCW, NCHW, NCDHW and their channels-last forms.

    data (N, C, *space), weight (num_filter, C / num_group, *kernel), bias (num_filter,) unless no_bias; result
    (N, num_filter, *positions) with (space + 2 pad - dilate (kernel - 1) - 1) // stride + 1 positions along each axis.
    MXNetError for shapes that do not fit. workspace, cudnn_tune and cudnn_off change nothing.
    """
    how = window(kernel, stride, dilate, pad, num_group)
    if len(data.shape) != len(kernel) + 2:
        raise _wrong_rank("Convolution", data, kernel)
    if num_filter % num_group:
        raise MXNetError(f"Convolution: {num_filter} filters do not divide into {num_group} groups")
    space = weight.shape[1:-1] if _channels_last(layout) else weight.shape[2:]
    if weight.shape[0] != num_filter or tuple(space) != kernel:
        raise MXNetError(
            f"Convolution: a weight of {num_filter} filters with kernel {kernel} is needed, given shape "
            f"{tuple(weight.shape)}"
        )
    if _channels_last(layout):
        if data.context.device_type != "gpu":
            raise MXNetError(f"Convolution: layout {layout} is for GPUs only; on the CPU use the channels-first layout")
        y = F._conv(_to_channels_first(data), _to_channels_first(weight), bias, **how)
        return _to_channels_last(y)
    return F._conv(data, weight, bias, **how)


@specialize(convolution)
def _convolution_special(attrs: Namespace) -> Special:
    if _channels_last(attrs.layout) or attrs.num_filter % attrs.num_group:
        return None
    kernel, filters, no_bias = attrs.kernel, attrs.num_filter, attrs.no_bias
    typed = window(kernel, attrs.stride, attrs.dilate, attrs.pad, attrs.num_group)
    how = tuple(typed.values())

    def run(data: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        shape = weight.shape
        if shape[0] != filters or shape[2:] != kernel or (bias is None) is not no_bias:
            raise ValueError("the operator says what does not fit")
        return kernels.conv.conv(data, weight, bias, *how)

    return Bound(run, _conv, typed)


@infer(convolution)
def convolution_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    """The shapes of a convolution's weight and bias."""
    data, layout = shapes["data"], attrs["layout"]
    if _channels_last(layout):
        shapes["weight"] = (attrs["num_filter"], *attrs["kernel"], data[-1] // attrs["num_group"])
    else:
        shapes["weight"] = (attrs["num_filter"], data[1] // attrs["num_group"], *attrs["kernel"])
    if not attrs["no_bias"]:
        shapes["bias"] = (attrs["num_filter"],)


@composite("Deconvolution", aliases=("deconvolution",), when={"bias": ("no_bias", False)})
def deconvolution(
    data: Value, weight: Value, bias: Value | None = None, *, kernel: Shape, stride: Shape = (), dilate: Shape = (),
    pad: Shape = (), adj: Shape = (), target_shape: Shape = (), num_filter: Positive, num_group: Int = 1,
    workspace: Int = 512, no_bias: Bool = True, cudnn_tune: OptStr = None, cudnn_off: Bool = False,
    layout: OptStr = None,
) -> Value:  # fmt: skip
    """Transposed convolution, the adjoint of a convolution in its data; channels-first layouts only.

    data (N, C, *space), weight (C, num_filter / num_group, *kernel), bias (num_filter,) unless no_bias; result
    (N, num_filter, *positions) with (space - 1) stride - 2 pad + dilate (kernel - 1) + 1 + adj positions along each axis,
    or `target_shape`. MXNetError for shapes that do not fit.
    """
    if _channels_last(layout):
        raise MXNetError("Deconvolution: only channels-first layouts are supported")
    how = window(kernel, stride, dilate, pad, num_group)
    n = len(kernel)
    if len(data.shape) != n + 2:
        raise _wrong_rank("Deconvolution", data, kernel)
    space = data.shape[2:]
    adj = _spread(adj, n, 0)
    if target_shape:
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, how["dilate"], strict=True)]
        total = [s * (m - 1) + e - t for s, m, e, t in zip(how["stride"], space, extents, target_shape, strict=True)]
        if any(t < 0 and -t >= s for t, s in zip(total, how["stride"], strict=True)):
            raise MXNetError(f"Deconvolution: target_shape {target_shape} is too large")
        adj = tuple(abs(t) % 2 for t in total)
        how = {**how, "pad": tuple((t + 1) // 2 for t in total)}
    shape = tuple(
        s * (m - 1) + (k - 1) * d + 1 - 2 * p + a
        for s, m, k, d, p, a in zip(how["stride"], space, kernel, how["dilate"], how["pad"], adj, strict=True)
    )
    if min((*shape, *space), default=1) < 1:
        raise MXNetError(f"Deconvolution: data of shape {tuple(data.shape)} has no result under pad={pad}")
    if num_filter % num_group:
        raise MXNetError(f"Deconvolution: {num_filter} filters do not divide into {num_group} groups")
    expect_shape("Deconvolution", "a weight", weight, (data.shape[1], num_filter // num_group, *kernel))
    y = F._conv_data_grad(data, weight, shape=(data.shape[0], num_filter, *shape), **how)
    if bias is None:
        return y
    return F.broadcast_add(y, F._reshape_to(bias, shape=(1, num_filter, *(1,) * n)))


@infer(deconvolution)
def _deconvolution_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    shapes["weight"] = (shapes["data"][1], attrs["num_filter"] // attrs["num_group"], *attrs["kernel"])
    if not attrs["no_bias"]:
        shapes["bias"] = (attrs["num_filter"],)


# ---------------------------------------------------------------------------------------------- pooling


@operator("_max_pool", outputs=2, visible=1, memory="new")
def _max_pool(data: Tensor, *, kernel: Shape, stride: Shape, pad: Any_) -> tuple[Tensor, Tensor | None]:
    """The maximum of each window, and its place."""
    _need_space(data, kernel)
    return kernels.pool.max_pool(data, kernel, stride, pad)


def _need_space(data: Tensor, kernel: tuple[int, ...]) -> None:
    if data.dim() != len(kernel) + 2:
        raise _wrong_rank("Pooling", data, kernel)


def _wrong_rank(name: str, data: Any, kernel: tuple[int, ...]) -> MXNetError:
    axes = len(kernel) + 2
    return MXNetError(f"{name}: kernel {kernel} is for data of {axes} axes, given shape {tuple(data.shape)}")


@specialize(_max_pool)
def _max_pool_special(attrs: Namespace) -> Special:
    kernel, stride, pad = attrs.kernel, attrs.stride, attrs.pad
    return lambda data: kernels.pool.max_pool(data, kernel, stride, pad, False)[0]


@gradient(_max_pool)
def _max_pool_gradient(dy: Value, out1: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._max_pool_grad.typed(dy, out1, shape=data_shape, **vars(attrs))]


@operator("_max_pool_grad", memory="new")
def _max_pool_grad(dy: Tensor, argmax: Tensor, *, shape: Shape, kernel: Shape, stride: Shape, pad: Any_) -> Tensor:
    """Each output gradient at the position of its window's maximum."""
    return kernels.pool.max_pool_grad(dy, argmax, shape, kernel, stride, pad)


@gradient(_max_pool_grad)
def _max_pool_grad_gradient(dy1: Value, argmax: Value, attrs: Namespace) -> Gradients:
    return [F._max_pool_gather.typed(dy1, argmax, kernel=attrs.kernel, stride=attrs.stride, pad=attrs.pad), None]


@operator("_max_pool_gather", memory="new")
def _max_pool_gather(data: Tensor, argmax: Tensor, *, kernel: Shape, stride: Shape, pad: Any_) -> Tensor:
    """The elements at the places of the maxima of these windows."""
    return kernels.pool.max_pool_gather(data, argmax)


@gradient(_max_pool_gather)
def _max_pool_gather_gradient(dy: Value, argmax: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._max_pool_grad.typed(dy, argmax, shape=data_shape, **vars(attrs)), None]


@operator("_avg_pool", memory="new")
def _avg_pool(data: Tensor, *, kernel: Shape, stride: Shape, pad: Any_, count_include_pad: Bool) -> Tensor:
    """The mean of each window."""
    _need_space(data, kernel)
    return kernels.pool.avg_pool(data, kernel, stride, pad, count_include_pad)


@gradient(_avg_pool)
def _avg_pool_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._avg_pool_grad.typed(dy, shape=data_shape, **vars(attrs))]


@operator("_avg_pool_grad", memory="new")
def _avg_pool_grad(
    dy: Tensor, *, shape: Shape, kernel: Shape, stride: Shape, pad: Any_, count_include_pad: Bool
) -> Tensor:
    """Each output gradient shared out over its window."""
    return kernels.pool.avg_pool_grad(dy, shape, kernel, stride, pad, count_include_pad)


@gradient(_avg_pool_grad)
def _avg_pool_grad_gradient(dy1: Value, attrs: Namespace) -> Gradients:
    return [
        F._avg_pool(
            dy1, kernel=attrs.kernel, stride=attrs.stride, pad=attrs.pad, count_include_pad=attrs.count_include_pad
        )
    ]


@functools.lru_cache(4096)
def _pads(
    shape: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...], convention: str
) -> tuple[tuple[int, ...], ...]:
    """(before, after) padding of each axis; "full" rounds the number of windows up, "same" gives ceil(n / stride)."""
    out = []
    for n, k, s, p in zip(shape, kernel, stride, pad, strict=True):
        if convention == "valid":
            if k > n + 2 * p:
                raise MXNetError(f"Pooling: kernel {kernel} is larger than the padded data {tuple(shape)} + 2 x {pad}")
            out.append((p, p))
            continue
        count = -(-(n + 2 * p - k) // s) + 1 if convention == "full" else -(-n // s)
        out.append((p, max(p, (count - 1) * s + k - n - p)))
    return tuple(out)


@composite(
    "Pooling", aliases=("pooling",), real=True, layer="pooling",
    quantized=Quantized("_contrib_quantized_pooling", when=lambda attrs: attrs["pool_type"] in ("max", "avg")),
)  # fmt: skip
def pooling(
    data: Value, *, kernel: Shape = (), pool_type: Annotated[str, Choice("max", "avg", "sum", "lp")] = "max",
    global_pool: Bool = False, cudnn_off: Bool = False,
    pooling_convention: Annotated[str, Choice("valid", "full", "same")] = "valid", stride: Shape = (), pad: Shape = (),
    p_value: OptInt = None, count_include_pad: OptBool = None, layout: OptStr = None,
) -> Value:  # fmt: skip
    """Maximum, mean, sum or l_p norm (p_value) of windows, or of all of space with global_pool.

    data (N, C, *space), or channels last by `layout`. pooling_convention: "valid" leaves out a last window that hangs
    over the border, "full" takes it, "same" gives space / stride positions, rounded up. count_include_pad: whether means
    count padding (None: they do).
    """
    if _channels_last(layout):
        first = F.Pooling(
            _to_channels_first(data), kernel=kernel, pool_type=pool_type, global_pool=global_pool, stride=stride,
            pad=pad, pooling_convention=pooling_convention, p_value=p_value, count_include_pad=count_include_pad,
        )  # fmt: skip
        return _to_channels_last(first)
    space = data.shape[2:]
    n = len(space)
    if global_pool:
        axes = tuple(range(2, n + 2))
        if pool_type == "lp":
            power, root = _power_and_root(p_value)
            return root(F.sum(power(data), axis=axes, keepdims=True))
        if pool_type == "max":
            return F._max_of_space(data)
        return getattr(F, {"avg": "mean", "sum": "sum"}[pool_type])(data, axis=axes, keepdims=True)
    if pool_type in ("max", "avg"):
        primitive, windows = _window_pool(
            tuple(space), kernel, pool_type, pooling_convention, stride, pad, count_include_pad
        )
        y = primitive(data, **windows)
        if pool_type == "max" and _leaves_data(tuple(space), **windows):
            y = F._clip(y, a_min=LOWEST[dtype_name(data.dtype)], a_max=math.inf)
        return y
    if len(kernel) != n:
        raise MXNetError(f"Pooling: kernel {kernel} needs {n} numbers for data of shape {data.shape}")
    stride, pad = _of_axes("stride", stride, n, 1), _of_axes("pad", pad, n, 0)
    pads = _pads(space, kernel, stride, pad, pooling_convention)
    padded = F._pad(data, mode="constant", pad_width=(0, 0, 0, 0, *(v for pair in pads for v in pair)))
    cells = math.prod(kernel)
    power, root = _power_and_root(p_value if pool_type == "lp" else 1)
    none = ((0, 0),) * n
    total = F._avg_pool(power(padded), kernel=kernel, stride=stride, pad=none, count_include_pad=True) * float(cells)
    return root(total)


@operator("_max_of_space")
def max_of_space(data: Tensor) -> Tensor:
    """Maxima over the axes from the third on, which stay. Of several largest elements the first one has the gradient, as in
    windows.
    """
    return kernels.reduce.max(data, tuple(range(2, data.dim())), True)


@gradient(max_of_space)
def _max_of_space_gradient(dy: Value, data: Value, data_shape: tuple[int, ...]) -> Gradients:
    lead = data_shape[:2]
    flat = F._reshape_to(data, shape=(*lead, math.prod(data_shape[2:])))
    first = F._pick_grad(F._reshape_to(dy, shape=lead), F._npi_argmax(flat, axis=2), shape=flat.shape, axis=2)
    return [F._reshape_to(first, shape=data_shape)]


# Maxima of windows that hold nothing but padding are the least finite number, as in MXNet, and have no gradient.
LOWEST = {
    "float16": -65504.0, "bfloat16": -3.3895313892515355e38, "float32": -3.4028234663852886e38,
    "float64": -1.7976931348623157e308,
}  # fmt: skip


def _leaves_data(
    space: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[tuple[int, ...], ...]
) -> bool:
    """Whether the last window of an axis begins behind the data. (The first one reaches it: pad is below kernel.)"""
    return any(
        (n + low + high - k) // s * s - low >= n
        for n, k, s, (low, high) in zip(space, kernel, stride, pad, strict=True)
    )


def _power_and_root(p: int | None) -> tuple[Any, Any]:
    """Functions of arrays: the p-th power, signs kept, and its inverse.

    MXNet's l_1 is the plain sum, its l_3 one of signed cubes.
    """
    if p not in _POWERS:
        raise MXNetError(f"Pooling: p_value={p} does not fit; 1, 2 and 3 are accepted")
    return _POWERS[p]


@pointwise("_square_root_flat", derivative=lambda x, y: where(eq(y, 0), 0, 0.5 / y))
def _square_root(x: Expr) -> Expr:
    """The square root, flat at 0: so are norms of windows of zeros in MXNet."""
    return sqrt(x)


@pointwise("_cube_root_flat", derivative=lambda x, y: where(eq(y, 0), 0, 1 / (3 * y * y)))
def _cube_root(x: Expr) -> Expr:
    """The cube root, flat at 0."""
    return cbrt(x)


_POWERS = {
    1: (lambda x: x, lambda x: x),
    2: (lambda x: F.square(x), _square_root),
    3: (lambda x: F.square(x) * x, _cube_root),
}


@specialize(pooling, inputs=1)
def _pooling_special(attrs: Namespace) -> Special:
    kernel, pool_type = attrs.kernel, attrs.pool_type
    if pool_type in ("sum", "lp") or attrs.global_pool or _channels_last(attrs.layout):
        return None
    if not kernel or attrs.pooling_convention != "valid":  # what the windows are depends on the data
        return None
    n = len(kernel)
    stride, pad = _of_axes("stride", attrs.stride, n, 1), _of_axes("pad", attrs.pad, n, 0)
    return _window_pool(kernel, kernel, pool_type, "valid", stride, pad, attrs.count_include_pad)


@functools.lru_cache(4096)
def _window_pool(
    space: tuple[int, ...], kernel: tuple[int, ...], pool_type: str, convention: str, stride: tuple[int, ...],
    pad: tuple[int, ...], include: bool | None,
) -> tuple[Operator, Attrs]:  # fmt: skip
    """The primitive that takes maxima or means over windows of a `space`, and its attributes."""
    n = len(space)
    if convention == "same" and n != 1:
        raise MXNetError(f"Pooling: the convention 'same' is for data of one axis of space, given space {space}")
    if len(kernel) != n:
        raise MXNetError(f"Pooling: kernel {kernel} needs {n} numbers for data of space {space}")
    stride, pad = _of_axes("stride", stride, n, 1), _of_axes("pad", pad, n, 0)
    if min((1, *kernel, *stride)) < 1:
        raise MXNetError(f"Pooling: kernel and stride are from 1 on, given {kernel} and {stride}")
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        raise MXNetError(f"Pooling: pad {pad} is not smaller than the kernel {kernel}")
    windows = {"kernel": kernel, "stride": stride, "pad": _pads(space, kernel, stride, pad, convention)}
    if pool_type == "max":
        return F._max_pool, windows
    return F._avg_pool, {**windows, "count_include_pad": include is None or include}


@composite("Pooling_v1", real=True)
def pooling_v1(
    data: Value, *, kernel: Shape = (), pool_type: Annotated[str, Choice("max", "avg", "sum")] = "max",
    global_pool: Bool = False, pooling_convention: Annotated[str, Choice("valid", "full")] = "valid",
    stride: Shape = (), pad: Shape = (),
) -> Value:  # fmt: skip
    """Pooling over zeros around the data for every type.

    Maxima are 0 or more there, means divide by the size of the kernel.
    """
    options = {"global_pool": global_pool, "pooling_convention": pooling_convention, "stride": stride}
    if pool_type == "max" and not global_pool:
        around = (v for p in _spread(pad, len(kernel), 0) for v in (p, p))
        padded = F._pad(data, mode="constant", pad_width=(0, 0, 0, 0, *around)) if any(pad) else data
        return F.Pooling(padded, kernel=kernel, pool_type="max", **options)
    if pool_type == "avg" and not global_pool:
        return F.Pooling(data, kernel=kernel, pool_type="sum", pad=pad, **options) / float(math.prod(kernel))
    return F.Pooling(data, kernel=kernel, pool_type=pool_type, pad=pad, **options)


# ---------------------------------------------------------------------------------------------- dropout, embedding


@operator("_dropout", rng=True, memory="new")
def _dropout(data: Tensor, *, p: Float, axes: Shape = (), key: int | None = None) -> Tensor:
    """The data times a random mask over 1 - p; the mask follows from the key."""
    return kernels.random.dropout(data, p, key, axes)


@operator("_dropout_again", memory="new")
def _dropout_again(data: Tensor, *, p: Float, axes: Shape = (), key: Any_ = None) -> Tensor:
    """The same mask as an earlier `_dropout`: its adjoint, as it is linear and symmetric."""
    return kernels.random.dropout(data, p, key, axes)


for _op in (_dropout, _dropout_again):

    @gradient(_op)
    def _op_gradient(dy: Value, attrs: Namespace) -> Gradients:
        return [F._dropout_again(dy, p=attrs.p, axes=attrs.axes, key=attrs.key)]


@composite("Dropout", train=True, aliases=("dropout",), real=True, shape=FIRST)
def dropout(
    data: Value, *, p: Share = 0.5, mode: Annotated[str, Choice("training", "always")] = "training", axes: Shape = (),
    cudnn_off: OptBool = False, training: bool,
) -> Value:  # fmt: skip
    """Each element is 0 with probability p, else divided by 1 - p (Srivastava et al., 2014); in prediction the data.

    mode: "always" drops in prediction too. axes: those along which one draw is shared. MXNetError for p outside [0, 1].
    """
    if not 0 <= p <= 1:
        raise MXNetError(f"Dropout: p={p} is no probability")
    if p == 0 or not (training or mode == "always"):
        return F._bridge(data)
    if p == 1:
        return data * math.nan  # 0 / 0, as in MXNet
    return F._dropout(data, p=p, axes=axes)


@operator(
    "Embedding", aliases=("embedding",), memory="new", storage=DENSE_OF_STORED, row_gradient=rows_if_asked,
    input_dtypes={"weight": lambda attrs, first: attrs["dtype"]},
    indexes={"data": lambda shapes, attrs: attrs["input_dim"]},
)  # fmt: skip
def embedding(
    data: Tensor, weight: Tensor, *, input_dim: Positive, output_dim: Positive, dtype: DType = "float32",
    sparse_grad: Bool = False,
) -> Tensor:  # fmt: skip
    """The rows of weight (input_dim, output_dim) that data names, any shape; indices are clipped to [0, input_dim).

    sparse_grad: the gradient of the weight is row_sparse.
    """
    if weight.shape != (input_dim, output_dim):
        expect_shape("Embedding", "a weight", weight, (input_dim, output_dim))
    return kernels.index.embedding(kernels.index.clipped(data, weight.shape[0]), weight)


@gradient(embedding)
def _embedding_gradient(
    dy: Value, data: Value, weight_shape: tuple[int, ...], attrs: Namespace, needs: Sequence[bool]
) -> Gradients:
    if attrs.sparse_grad:
        return [None, dy._lookup_gradient(data, weight_shape)]
    return [None, F._embedding_grad(dy, data, shape=weight_shape)]


@infer(embedding)
def _embedding_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    shapes["weight"] = (attrs["input_dim"], attrs["output_dim"])


@operator("_embedding_grad", memory="new")
def _embedding_grad(dy: Tensor, data: Tensor, *, shape: Shape) -> Tensor:
    """Output gradients added up in the rows that data names."""
    return kernels.index.embedding_grad(dy, kernels.index.clipped(data, shape[0]), shape)


@gradient(_embedding_grad)
def _embedding_grad_gradient(dy1: Value, data: Value, attrs: Namespace) -> Gradients:
    return [F.Embedding(data, dy1, input_dim=attrs.shape[0], output_dim=attrs.shape[1]), None]


# ---------------------------------------------------------------------------------------------- pictures


def _by(extents: Any) -> Any:
    return "x".join(map(str, extents))


@tell(convolution, "label")
def _convolution_label(attrs: Attrs) -> Any:
    return f"Convolution\n{_by(attrs['kernel'])}/{_by(attrs['stride'] or (1,))}, {attrs['num_filter']}"


@tell(pooling, "label")
def _pooling_label(attrs: Attrs) -> Any:
    return f"Pooling\n{attrs['pool_type']}, {_by(attrs['kernel'])}/{_by(attrs['stride'] or (1,))}"
