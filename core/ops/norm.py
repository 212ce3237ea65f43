"""Normalisation layers."""

import math
from collections.abc import Sequence
from typing import Any

from core import kernels
from core.base import MXNetError
from core.kernels import formula as fx
from core.kernels.formula import Expr, rsqrt
from core.kernels.row_program import COLUMN, ROW, WHOLE
from core.ops.attributes import Bool, Float, Int, OptFloat
from core.ops.facts import MOVING, Quantized, not_half
from core.ops.pointwise import pointwise
from core.ops.registry import F, Operator, composite, decompose, gradient, infer, operator, specialize
from core.ops.relations import FIRST
from core.ops.rows import by_rows, last_axis, row_mean
from core.ops.shape import expect_shape, normal_axis
from core.ops.storage_types import DenseOnly
from core.ops.values import Attrs, Gradients, Namespace, Node, Special, Tensor, Value

K = kernels.norm


def _channel_shapes(op: Operator, *names: str) -> None:
    """Backward inference: parameters with one element per channel."""

    @infer(op)
    def _op_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
        channels = (shapes["data"][attrs.get("axis", 1)],)
        for name in names:
            shapes[name] = channels


# ---------------------------------------------------------------------------------------------- batch


@operator(
    "BatchNorm", aliases=("batch_norm", "BatchNorm_v1"), outputs=3, train=True,
    mutates=("gamma", "moving_mean", "moving_var"), auxiliary=("moving_mean", "moving_var"),
    visible=lambda attrs: 3 if attrs["output_mean_var"] else 1, memory="new", shape=FIRST,
    names=("output", "mean", "var"), initial=MOVING,
    input_dtypes=dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), not_half),
    words={"x": "data", "running_mean": "moving_mean", "running_var": "moving_var"}, layer="normalization",
    quantized=Quantized(part="normalization"),
    storage=DenseOnly(lambda attrs: attrs["fix_gamma"], "BatchNorm with fix_gamma=True writes its gamma"),
)  # fmt: skip
def batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, *, eps: Float = 1e-3,
    momentum: Float = 0.9, fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False,
    axis: Int = 1, cudnn_off: Bool = False, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None,
    training: bool,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """Batch normalisation (Ioffe and Szegedy, 2015); outputs: result, mean, 1 / sqrt(variance + eps).

    In training the statistics of the batch are used, and the backward pass moves the running ones by 1 - momentum;
    fix_gamma sets gamma to 1. axis: that of the channels; gamma, beta and the running statistics are (channels,).
    """
    axis = normal_axis(axis, data.dim(), "BatchNorm")
    _prepare(data, gamma, beta, moving_mean, moving_var, axis, fix_gamma)
    if training and not use_global_stats:
        return K.batch_norm(data, gamma, beta, axis, eps)
    y = K.batch_norm_inference(data, gamma, beta, moving_mean, moving_var, axis, eps)
    mean = kernels.shape.clone(moving_mean)
    return y, mean, F._rstd.forward(moving_var, eps=eps) if output_mean_var else mean


def _prepare(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int, fix_gamma: bool
) -> None:
    """Looks at the shapes, for kernels read memory at what they are given, and sets a fixed gamma."""
    channels = (data.shape[axis],)
    if not channels == gamma.shape == beta.shape == moving_mean.shape == moving_var.shape:
        for name, parameter in (("gamma", gamma), ("beta", beta), ("mean", moving_mean), ("variance", moving_var)):
            expect_shape("BatchNorm", f"a {name}", parameter, channels)
    if fix_gamma:
        # `data` counts its changes by itself: the tape may hold gamma, of a layer that is called twice.
        kernels.shape.fill_(gamma.data, 1)


@specialize(batch_norm)
def _batch_norm_special(attrs: Namespace) -> Special:
    axis, eps, fix_gamma = attrs.axis, attrs.eps, attrs.fix_gamma

    def run(data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor) -> Tensor:
        at = normal_axis(axis, data.dim(), "BatchNorm")
        _prepare(data, gamma, beta, moving_mean, moving_var, at, fix_gamma)
        return K.batch_norm_inference(data, gamma, beta, moving_mean, moving_var, at, eps)

    return None if attrs.output_mean_var else run


@gradient(batch_norm)
def _batch_norm_gradient(
    dy: Value, data: Value, gamma: Value, moving_mean: Value, moving_var: Value, out1: Value, out2: Value,
    attrs: Namespace, needs: Sequence[bool],
) -> Gradients:  # fmt: skip
    fused = {"axis": attrs.axis, "eps": attrs.eps}
    if attrs.fix_gamma:  # a constant, for second derivatives too
        gamma = F.ones_like(gamma)
    if attrs.training and not attrs.use_global_stats:
        F._batch_norm_update.typed(moving_mean, moving_var, out1, out2, momentum=attrs.momentum, eps=attrs.eps)
        if not any(needs):  # the statistics alone are to move
            return ()
        grads = F._batch_norm_grad.typed(dy, data, gamma, out1, out2, **fused)
    else:
        grads = F._batch_norm_inference_grad.typed(dy, data, gamma, moving_mean, moving_var, **fused)
    dx, dgamma, dbeta = grads
    if attrs.fix_gamma:
        dgamma = F.zeros_like(dgamma)
    return [dx, dgamma, dbeta, None, None]


_channel_shapes(batch_norm, "gamma", "beta", "moving_mean", "moving_var")


@operator("_batch_norm_update", mutates=("moving_mean", "moving_var"), initial=MOVING)
def _batch_norm_update(
    moving_mean: Tensor, moving_var: Tensor, mean: Tensor, rstd: Tensor, *, momentum: Float, eps: Float
) -> Tensor:
    """moving = moving * momentum + batch * (1 - momentum), in place."""
    K.move_statistics(moving_mean, moving_var, mean, rstd, momentum, eps)
    return moving_mean


@pointwise("_rstd", dtype="first", differentiable=False)
def _rstd(var: Expr, *, eps: Float) -> Expr:
    """1 / sqrt(variance + eps)."""
    return rsqrt(var + eps)


@operator("_batch_norm_grad", outputs=3, memory="new")
def _batch_norm_grad(
    dy: Tensor, data: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, *, axis: Int, eps: Float
) -> Tensor | tuple[Tensor, ...]:
    """Gradients of batch normalisation in data, gamma and beta."""
    return K.batch_norm_grad(dy, data, gamma, mean, rstd, axis % data.dim())


@decompose(_batch_norm_grad)
def _batch_norm_grad_decompose(
    dy: Value, data: Value, gamma: Value, mean: Value, rstd: Value, *, axis: int, eps: float
) -> tuple[Value, Value, Value]:
    axis %= data.ndim
    axes = tuple(a for a in range(data.ndim) if a != axis)
    return _normalised_grad(dy, data, gamma, axes, (axis,), eps)


@operator("_batch_norm_inference_grad", outputs=3, memory="new")
def _batch_norm_inference_grad(
    dy: Tensor, data: Tensor, gamma: Tensor, mean: Tensor, var: Tensor, *, axis: Int, eps: Float
) -> tuple[Tensor, ...]:
    """Gradients of normalisation with given statistics in data, gamma and beta."""
    return K.batch_norm_inference_grad(dy, data, gamma, mean, var, axis % data.dim(), eps)


@decompose(_batch_norm_inference_grad)
def _batch_norm_inference_grad_decompose(
    dy: Value, data: Value, gamma: Value, mean: Value, var: Value, *, axis: int, eps: float
) -> tuple[Value, Value, Value]:
    axis %= data.ndim
    axes = tuple(a for a in range(data.ndim) if a != axis)
    shape = tuple(n if a == axis else 1 for a, n in enumerate(data.shape))
    mean, scale = F._reshape_to(mean, shape=shape), F.rsqrt(F._reshape_to(var, shape=shape) + eps)
    centred = F.broadcast_mul(F.broadcast_sub(data, mean), scale)
    dx = F.broadcast_mul(dy, F.broadcast_mul(F._reshape_to(gamma, shape=shape), scale))
    return dx, F.sum(dy * centred, axis=axes), F.sum(dy, axis=axes)


def _normalised_grad(
    dy: Value, data: Value, gamma: Value, axes: tuple[int, ...], kept: tuple[int, ...], eps: float
) -> tuple[Value, Value, Value]:
    """Gradients of (x - mean) rstd gamma + beta with statistics over `axes` and gamma along `kept`."""
    shape = tuple(n if a in kept else 1 for a, n in enumerate(data.shape))
    rest = tuple(a for a in range(data.ndim) if a not in kept)
    centre = F.mean(data, axis=axes, keepdims=True)
    centred = F.broadcast_sub(data, centre)
    scale = F.rsqrt(F.mean(F.square(centred), axis=axes, keepdims=True) + eps)
    unit = F.broadcast_mul(centred, scale)
    weighted = F.broadcast_mul(dy, F._reshape_to(gamma, shape=shape))
    inner = F.broadcast_sub(weighted, F.mean(weighted, axis=axes, keepdims=True))
    inner = F.broadcast_sub(inner, F.broadcast_mul(unit, F.mean(weighted * unit, axis=axes, keepdims=True)))
    return F.broadcast_mul(inner, scale), F.sum(dy * unit, axis=rest), F.sum(dy, axis=rest)


# ---------------------------------------------------------------------------------------------- layer


@operator(
    "LayerNorm", aliases=("layer_norm",), outputs=3, visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    memory="new", shape=FIRST, names=("output", "mean", "std"),
)  # fmt: skip
def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, *, axis: Int = -1, eps: Float = 1e-5, output_mean_var: Bool = False
) -> Tensor | tuple[Tensor, ...]:
    """Layer normalisation along one axis (Ba et al., 2016); outputs: result, mean, standard deviation.

    gamma and beta have one element for each position of the axis.
    """
    y, mean, rstd = K.layer_norm(data, gamma, beta, normal_axis(axis, data.dim(), "LayerNorm"), eps)
    return y, mean, F.reciprocal.forward(rstd) if output_mean_var else rstd


@specialize(layer_norm)
def _layer_norm_special(attrs: Namespace) -> Special:
    axis, eps = attrs.axis, attrs.eps
    if attrs.output_mean_var:
        return None
    return lambda data, gamma, beta: K.layer_norm(data, gamma, beta, normal_axis(axis, data.dim(), "LayerNorm"), eps)[0]


@gradient(layer_norm)
def _layer_norm_gradient(
    dy: Value, data: Value, gamma: Value, out1: Value, out2: Value, attrs: Namespace
) -> Gradients | Value:
    rstd = F.reciprocal(out2) if attrs.output_mean_var else out2
    return F._layer_norm_grad.typed(dy, data, gamma, out1, rstd, axis=attrs.axis, eps=attrs.eps)


_channel_shapes(layer_norm, "gamma", "beta")


@operator("_layer_norm_grad", outputs=3, memory="new")
def _layer_norm_grad(
    dy: Tensor, data: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, *, axis: Int, eps: Float
) -> Tensor | tuple[Tensor, ...]:
    """Gradients of layer normalisation in data, gamma and beta."""
    return K.layer_norm_grad(dy, data, gamma, mean, rstd, axis % data.dim())


@decompose(_layer_norm_grad)
def _layer_norm_grad_decompose(
    dy: Value, data: Value, gamma: Value, mean: Value, rstd: Value, *, axis: int, eps: float
) -> tuple[Value, Value, Value]:
    axis %= data.ndim
    return _normalised_grad(dy, data, gamma, (axis,), (axis,), eps)


# ---------------------------------------------------------------------------------------------- group, instance


@operator("_group_norm", outputs=3, visible=1, memory="new")
def _group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, *, num_groups: Int, eps: Float
) -> Tensor | tuple[Tensor, ...]:
    """Group normalisation with gamma and beta of one element per channel."""
    if num_groups < 1:
        raise MXNetError(f"group normalisation: {num_groups} groups do not fit; one or more are accepted")
    return K.group_norm(data, gamma, beta, num_groups, eps)


@gradient(_group_norm)
def _group_norm_gradient(
    dy: Value, data: Value, gamma: Value, out1: Value, out2: Value, attrs: Namespace
) -> Gradients | Value:
    return F._group_norm_grad.typed(dy, data, gamma, out1, out2, num_groups=attrs.num_groups, eps=attrs.eps)


@operator("_group_norm_grad", outputs=3, memory="new")
def _group_norm_grad(
    dy: Tensor, data: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, *, num_groups: Int, eps: Float
) -> Tensor | tuple[Tensor, ...]:
    """Gradients of group normalisation in data, gamma and beta."""
    return K.group_norm_grad(dy, data, gamma, mean, rstd, num_groups)


@decompose(_group_norm_grad)
def _group_norm_grad_decompose(
    dy: Value, data: Value, gamma: Value, mean: Value, rstd: Value, *, num_groups: int, eps: float
) -> tuple[Value, Value, Value]:
    n, c, *space = data.shape
    grouped = (n, num_groups, c // num_groups, math.prod(space))
    dy, x = F._reshape_to(dy, shape=grouped), F._reshape_to(data, shape=grouped)
    dx, dgamma, dbeta = _normalised_grad(dy, x, gamma, (2, 3), (1, 2), eps)
    wanted = zip((dx, dgamma, dbeta), (data.shape, gamma.shape, gamma.shape), strict=True)
    dx, dgamma, dbeta = (F._reshape_to(gradient, shape=shape) for gradient, shape in wanted)
    return dx, dgamma, dbeta


@composite(
    "GroupNorm", aliases=("group_norm",), outputs=3, visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    names=("output", "mean", "std"),
)  # fmt: skip
def group_norm(
    data: Value, gamma: Value, beta: Value, *, num_groups: Int = 1, eps: Float = 1e-5, output_mean_var: Bool = False
) -> Value | Sequence[Value]:
    """Group normalisation (Wu and He, 2018); gamma and beta have one element per group, or, as in MXNet 2, per channel.

    With output_mean_var also the means and standard deviations (N, num_groups).
    """
    n, c = data.shape[:2]
    if c % num_groups:
        raise MXNetError(f"GroupNorm: {c} channels do not divide into {num_groups} groups")

    def per_channel(v: Value) -> Value:
        if v.shape == (c,):
            return v
        return F._reshape_to(
            F._broadcast_from(F._reshape_to(v, shape=(num_groups, 1)), shape=(num_groups, c // num_groups)), shape=(c,)
        )

    y = F._group_norm(data, per_channel(gamma), per_channel(beta), num_groups=num_groups, eps=eps)
    if not output_mean_var:
        return y
    groups = F._reshape_to(data, shape=(n, num_groups, math.prod(data.shape[1:]) // num_groups))
    mean, var = F.moments(groups, axes=(2,))
    return [y, F.BlockGrad(mean), F.BlockGrad(F.sqrt(var + eps))]  # MXNet differentiates the result alone


@infer(group_norm)
def _group_norm_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    for name in ("gamma", "beta"):
        shapes[name] = shapes.get(name) or (attrs["num_groups"],)


@composite("InstanceNorm", aliases=("instance_norm",))
def instance_norm(data: Value, gamma: Value, beta: Value, *, eps: Float = 1e-3) -> Value:
    """Normalisation of each channel of each instance over space (Ulyanov et al., 2016)."""
    return F._group_norm(data, gamma, beta, num_groups=max(data.shape[1], 1), eps=eps)


_channel_shapes(instance_norm, "gamma", "beta")


@composite("LRN", real=True)
def lrn(data: Value, *, alpha: Float = 1e-4, beta: Float = 0.75, knorm: Float = 2.0, nsize: Int) -> Value:
    """Local response normalisation across channels (Krizhevsky et al., 2012).

    The window is of nsize channels, one less where that is even; its sum is divided by nsize (as oneDNN does in MXNet).
    """
    half = (nsize - 1) // 2
    padded = F._pad(
        F.expand_dims(F.square(data), axis=1),
        mode="constant",
        pad_width=(0, 0, 0, 0, half, half, *(0,) * (2 * (data.ndim - 2))),
    )
    flat = F._reshape_to(padded, shape=(data.shape[0], 1, data.shape[1] + 2 * half, math.prod(data.shape[2:])))
    none = ((0, 0), (0, 0))
    window = 2 * half + 1
    mean = F._avg_pool(flat, kernel=(window, 1), stride=(1, 1), pad=none, count_include_pad=True)
    return data * (F._reshape_to(mean, shape=data.shape) * (alpha * window / nsize) + knorm) ** -beta


# ---------------------------------------------------------------------------------------------- by rows


@by_rows(
    F.LayerNorm, lambda node: None if node.attrs["output_mean_var"] else last_axis(node), outputs=(WHOLE, ROW, ROW)
)
def _layer_norm_rows(node: Node, x: Expr, gamma: Expr, beta: Expr) -> tuple[Expr, Expr, Expr]:
    mean = row_mean(x)
    d = x - mean
    rstd = 1.0 / fx.sqrt(row_mean(d * d) + node.attrs["eps"])
    return d * rstd * gamma + beta, mean, rstd


@by_rows(F._layer_norm_grad, last_axis, outputs=(WHOLE, COLUMN, COLUMN))
def _layer_norm_grad_rows(
    node: Node, dy: Expr, x: Expr, gamma: Expr, mean: Expr, rstd: Expr
) -> tuple[Expr, Expr, Expr]:
    xhat, g = (x - mean) * rstd, dy * gamma
    return (g - (row_mean(g) + xhat * row_mean(g * xhat))) * rstd, dy * xhat, dy
