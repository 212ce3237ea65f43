"""Output layers: a loss is implied, and the backward pass starts from it whatever gradient
comes in (`Operator.starts`).
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Bool, Choice, Float, Share
from core.ops.registry import F, gradient, infer, operator
from core.ops.relations import FIRST
from core.ops.storage_types import KEEPS_ZERO
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value

COPY = kernels.shape.clone
_Normal = Annotated[str, Choice("null", "batch", "valid")]


def _classes(shapes: Any, attrs: Attrs) -> Any:
    data = shapes["data"]
    return data[1] if attrs["multi_output"] else data[-1] if attrs["preserve_shape"] else math.prod(data[1:])


@operator("SoftmaxOutput", aliases=("Softmax",), memory="new", indexes={"label": _classes})
def softmax_output(
    data: Tensor, label: Tensor, *, grad_scale: Float = 1.0, ignore_label: Float = -1.0, multi_output: Bool = False,
    use_ignore: Bool = False, preserve_shape: Bool = False, normalization: _Normal = "null", out_grad: Bool = False,
    smooth_alpha: Share = 0.0,
) -> Tensor:  # fmt: skip
    """The softmax; its gradient is that of the cross entropy with the label.

    out_grad multiplies the gradient by the softmax, as MXNet 1.9 and 2.0 do (they promise the incoming gradient).
    """
    if multi_output or preserve_shape:
        return kernels.softmax.softmax(data, 1 if multi_output else data.dim() - 1)
    flat = kernels.shape.reshape(data, (data.shape[0], -1))
    return kernels.shape.reshape(kernels.softmax.softmax(flat, 1), tuple(data.shape))


@gradient(softmax_output)
def _softmax_output_gradient(label: Value, out: Value, attrs: Namespace) -> Gradients:
    shape = out.shape
    if attrs.multi_output:
        axis, probability = 1, out
    elif attrs.preserve_shape:
        axis, probability = out.ndim - 1, out
    else:
        axis, probability = 1, F._reshape_to(out, shape=(shape[0], out.size // max(shape[0], 1)))
    if label.shape in (shape, probability.shape):  # a distribution as label
        grad = (out - F._reshape_to(label, shape=shape)) * attrs.grad_scale
        return [grad * out if attrs.out_grad else grad, None]
    rest = probability.shape[:axis] + probability.shape[axis + 1 :]
    labels = F.trunc(F._reshape_to(label, shape=(label.size,)))  # of which all count, even if each instance reads one
    index = F._reshape_to(F.slice_axis(labels, axis=0, begin=0, end=math.prod(rest)), shape=rest)
    classes = probability.shape[axis]
    known = F.Cast(F.broadcast_equal(index, F.clip(index, a_min=0, a_max=classes - 1)), dtype=probability.dtype)
    hot = F._pick_grad(known, index, shape=probability.shape, axis=axis)
    if attrs.smooth_alpha and not attrs.multi_output:  # MXNet does not smooth labels of several positions
        alpha, others = attrs.smooth_alpha, max(classes - 1, 1)
        hot = hot * (1.0 - alpha - alpha / others) + alpha / others
    grad = probability - hot
    if attrs.use_ignore:
        kept = F.Cast(F._not_equal_scalar(index, scalar=attrs.ignore_label), dtype=grad.dtype)
        grad = F.broadcast_mul(grad, F.expand_dims(kept, axis=axis))
    if attrs.normalization == "batch":
        grad = grad * (1.0 / (shape[0] if attrs.multi_output else label.size))
    elif attrs.normalization == "valid":  # whether or not labels are ignored
        valid = F.sum(F.Cast(F._not_equal_scalar(labels, scalar=attrs.ignore_label), dtype=grad.dtype))
        grad = F.broadcast_div(grad, F._reshape_to(F._maximum_scalar(valid, scalar=1.0), shape=(1,) * grad.ndim))
    if attrs.multi_output and attrs.normalization != "valid":
        grad = grad * (1.0 / max(probability.size // (shape[0] * classes), 1))
    grad = F._reshape_to(grad * attrs.grad_scale, shape=shape)
    return [grad * out if attrs.out_grad else grad, None]  # by its output, not by the gradient that comes in


@infer(softmax_output)
def _softmax_output_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    data = tuple(shapes["data"])
    if attrs["multi_output"]:  # the positions in a row; their own shape is taken as well
        batch, positions = data[:1], data[2:]
        _fit_label(shapes, (*batch, math.prod(positions)), (*batch, *positions), (*batch, 1, *positions), data)
    else:  # classes, or a distribution; one class of all an instance's numbers where they form no rows
        _fit_label(shapes, data[:-1], *(() if attrs["preserve_shape"] else (data[:1],)), data)


def _fit_label(shapes: Attrs, *accepted: tuple[int, ...]) -> None:
    """The first of the shapes for a label of which nothing is known; MXNetError for one that has none of them."""
    label, data = shapes["label"], shapes["data"]
    if label is None:
        shapes["label"] = accepted[0]
    elif 0 not in label and 0 not in data and tuple(label) not in accepted:
        raise MXNetError(
            f"a label of shape {tuple(label)} does not fit data of shape {tuple(data)}; accepted: {accepted}"
        )


def _regression_label(shapes: Attrs, attrs: Attrs) -> None:
    """A label fits that has the batch size and as many numbers as the data, whatever the other axes."""
    data, label = shapes["data"], shapes["label"]
    if label is not None and label[:1] == data[:1] and math.prod(label) == math.prod(data) != 0:
        return
    _fit_label(shapes, tuple(data[:1] if len(data) == 2 and data[1] == 1 else data))


def _enter_regression(name: str, transform: Callable[..., Any], difference: Callable[..., Any]) -> Any:
    def output(data: Tensor, label: Tensor, *, grad_scale: Float = 1.0) -> Tensor:
        return transform(data)

    output.__doc__ = f"{name}: its gradient is that of the regression loss, over the number of outputs of an instance."
    op = operator(name, memory="new", real=True)(output)

    @gradient(op)
    def _op_gradient(label: Value, out: Value, attrs: Namespace) -> Gradients:
        if label.size != out.size:
            raise MXNetError(f"{name}: a label of shape {label.shape} does not fit an output of shape {out.shape}")
        each = max(out.size // max(out.shape[0], 1), 1)
        grad = difference(out, F._reshape_to(label, shape=out.shape))
        return [grad * (attrs.grad_scale / each), None]

    infer(op)(_regression_label)


_enter_regression("LinearRegressionOutput", COPY, lambda out, label: out - label)
_enter_regression(
    "MAERegressionOutput", COPY, lambda out, label: (out > label) * 2.0 - 1.0
)  # -1 where they are equal, too


@operator("LogisticRegressionOutput", memory="new", real=True)
def logistic_regression_output(data: Tensor, label: Tensor, *, grad_scale: Float = 1.0) -> Tensor:
    """The sigmoid; its gradient is that of the binary cross entropy, over the number of outputs of an instance."""
    return F.sigmoid.forward(data)


@gradient(logistic_regression_output)
def _logistic_regression_output_gradient(label: Value, out: Value, attrs: Namespace) -> Gradients:
    each = max(out.size // max(out.shape[0], 1), 1)
    return [(out - F._reshape_to(label, shape=out.shape)) * (attrs.grad_scale / each), None]


infer(logistic_regression_output)(_regression_label)


@operator("SVMOutput", memory="new", real=True)
def svm_output(
    data: Tensor, label: Tensor, *, margin: Float = 1.0, regularization_coefficient: Float = 1.0,
    use_linear: Bool = False,
) -> Tensor:  # fmt: skip
    """The data; its gradient is that of the (squared) hinge loss, one class against all."""
    return COPY(data)


@gradient(svm_output)
def _svm_output_gradient(data: Value, label: Value, attrs: Namespace) -> Gradients:
    hot = F._pick_grad(F.ones_like(F.pick(data, label, axis=1)), label, shape=data.shape, axis=1)
    side = hot * 2.0 - 1.0
    short = F._rminus_scalar(data * side, scalar=attrs.margin)
    inside = F._greater_scalar(short, scalar=0.0)
    slope = inside if attrs.use_linear else inside * short * 2.0
    return [side * slope * -attrs.regularization_coefficient, None]


@infer(svm_output)
def _svm_output_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    _fit_label(shapes, tuple(shapes["data"][:1]))


@operator("MakeLoss", memory="new", real=True)
def make_loss_v1(
    data: Tensor, *, grad_scale: Float = 1.0, valid_thresh: Float = 0.0, normalization: _Normal = "null"
) -> Tensor:
    """The data as a loss: its gradient is grad_scale, over the batch or the positions above valid_thresh."""
    return COPY(data)


@gradient(make_loss_v1)
def _make_loss_v1_gradient(data: Value, attrs: Namespace) -> Gradients:
    grad = F.ones_like(data) * attrs.grad_scale
    if attrs.normalization == "batch":
        return [grad * (data.shape[-1] / max(data.size, 1))]  # all axes but the last are the batch
    if attrs.normalization == "valid":
        valid = F._maximum_scalar(F.sum(F._greater_scalar(data, scalar=attrs.valid_thresh)), scalar=1.0)
        return [F.broadcast_div(grad, F._reshape_to(valid, shape=(1,) * data.ndim))]
    return [grad]


@operator("make_loss", memory="new", shape=FIRST, storage=KEEPS_ZERO, unnamed=True, names=("loss",))
def make_loss(data: Tensor) -> Tensor:
    """The data as a loss: the gradient is 1 whatever comes in."""
    return COPY(data)


@gradient(make_loss)
def _make_loss_gradient(out: Value) -> Gradients:
    return [F.ones_like(out)]


@operator("IdentityAttachKLSparseReg", mutates=("moving_avg",), memory="new")
def identity_kl(
    data: Tensor, moving_avg: Tensor, *, sparseness_target: Float = 0.1, penalty: Float = 0.001, momentum: Share = 0.9
) -> Tensor:
    """The data (N, C); the gradient adds the pull of a sparse activation (Kullback-Leibler penalty).

    The backward pass moves moving_avg (C,), the mean activations, by 1 - momentum first, and pulls by it.
    """
    return COPY(data)


@gradient(identity_kl)
def _identity_kl_gradient(dy: Value, data: Value, moving_avg: Value, attrs: Namespace) -> Gradients:
    batch = F.mean(data, axis=0)
    mean = moving_avg * attrs.momentum + batch * (1.0 - attrs.momentum)
    F._write_state(moving_avg, mean)
    mean, target = F.expand_dims(mean, axis=0), attrs.sparseness_target
    pull = F._rdiv_scalar(mean, scalar=-target) + F._rdiv_scalar(
        F._rminus_scalar(mean, scalar=1.0), scalar=1.0 - target
    )
    return [F.broadcast_add(dy, pull * attrs.penalty), None]


@operator("_write_state", mutates=("state",))
def _write_state(state: Tensor, value: Tensor) -> Tensor:
    """The value, written over the state of an operator."""
    kernels.shape.copy_(state, value)
    return state
