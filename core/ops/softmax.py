"""Softmax and its kin: logarithms, masks, temperatures, cross entropies."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.dtypes import accumulates_safely, dtype_name
from core.kernels import formula as fx
from core.kernels.formula import Expr
from core.ops.attributes import Bool, Choice, Int, OptDType, OptFloat
from core.ops.facts import Quantized
from core.ops.registry import F, Operator, composite, decompose, gradient, operator, specialize
from core.ops.relations import FIRST
from core.ops.rows import by_rows, last_axis, row_fmax, row_sum
from core.ops.shape import expect_shape, normal_axis
from core.ops.values import Attrs, Gradients, Input, Namespace, Node, Tensor, Value


@operator("_softmax", memory="new")
def _softmax(data: Tensor, *, axis: Int) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    return kernels.softmax.softmax(data, _axis_of(axis, data.dim()))


@operator("_onednn_softmax", memory="new")
def _onednn_softmax(data: Tensor, *, axis: Int = -1) -> Tensor:
    """The softmax of networks on quantized values: rounded as MXNet's, where oneDNN computed it, to the last bit."""
    return kernels.softmax.onednn_softmax(data, _axis_of(axis, data.dim()))


@gradient(_softmax)
@gradient(_onednn_softmax)
def _softmax_gradient(dy: Value, out: Value, attrs: Namespace) -> Gradients:
    return [F._softmax_grad.typed(dy, out, axis=attrs.axis)]


@operator("_softmax_grad", memory="new", input_dtypes={"length": "int32"})
def _softmax_grad(dy: Tensor, out: Tensor, length: Tensor | None = None, *, axis: Int) -> Tensor:
    """(dy - sum(dy * out)) * out; the sum is over `length` positions."""
    return kernels.softmax.softmax_grad(dy, out, _axis_of(axis, out.dim()), length)


@decompose(_softmax_grad)
def _softmax_grad_decompose(dy: Value, out: Value, length: Value | None = None, *, axis: int) -> Value:
    return F.broadcast_sub(dy, F.sum(dy * out, axis=axis, keepdims=True)) * out


@operator("_log_softmax", memory="new")
def _log_softmax(data: Tensor, *, axis: Int) -> Tensor:
    """x - log(sum(exp(x))) along an axis."""
    return kernels.softmax.log_softmax(data, _axis_of(axis, data.dim()))


@gradient(_log_softmax)
def _log_softmax_gradient(dy: Value, out: Value, attrs: Namespace) -> Gradients:
    return [F._log_softmax_grad.typed(dy, out, axis=attrs.axis)]


@operator("_log_softmax_grad", memory="new")
def _log_softmax_grad(dy: Tensor, out: Tensor, *, axis: Int) -> Tensor:
    """dy - exp(out) * sum(dy)."""
    return kernels.softmax.log_softmax_grad(dy, out, _axis_of(axis, out.dim()))


@decompose(_log_softmax_grad)
def _log_softmax_grad_decompose(dy: Value, out: Value, *, axis: int) -> Value:
    return F.broadcast_sub(dy, F.broadcast_mul(F.exp(out), F.sum(dy, axis=axis, keepdims=True)))


@operator("_masked_softmax", memory="new", input_dtypes={"length": "int32"})
def _masked_softmax(data: Tensor, length: Tensor, *, axis: Int) -> Tensor:
    """The softmax of the first `length` positions; 0 elsewhere."""
    axis = normal_axis(axis, data.dim(), "softmax with lengths")
    expect_shape("softmax", "an array of lengths", length, (*data.shape[:axis], *data.shape[axis + 1 :]))
    return kernels.softmax.masked_softmax(data, length, axis)


@gradient(_masked_softmax)
def _masked_softmax_gradient(dy: Value, out: Value, length: Value, attrs: Namespace) -> Gradients:
    return [F._softmax_grad.typed(dy, out, length, axis=attrs.axis), None]


@functools.lru_cache(4096)
def _axis_of(axis: int, ndim: int) -> int:
    """The axis counted from the front; a single number without axes is a row of one, as in MXNet."""
    return normal_axis(axis, max(ndim, 1), "softmax")


def _prepared(data: Value, temperature: float | None, axis: int, dtype: str | None = None) -> Value:
    """The data of a softmax; in the type that was asked for if that is wider and sums are to be
    safe (as in MXNet, else after).
    """
    _axis_of(axis, data.ndim)
    if dtype is not None and accumulates_safely() and _WIDTH.get(dtype, 0) > _WIDTH.get(dtype_name(data.dtype), 0):
        data = F.Cast(data, dtype=dtype)
    return data if temperature in (None, 1.0) else data / temperature


def _typed(result: Value, dtype: str | None) -> Value:
    """The result in the type that was asked for."""
    return result if dtype in (None, dtype_name(result.dtype)) else F.Cast(result, dtype=dtype)


_WIDTH = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}  # bytes


@composite(
    "softmax", shape=FIRST, when={"length": ("use_length", True)}, input_dtypes={"length": "int32"},
    quantized=Quantized("_onednn_softmax", gives="rounded"),
)  # fmt: skip
def softmax(
    data: Value, length: Input = None, *, axis: Int = -1, temperature: OptFloat = None, dtype: OptDType = None,
    use_length: Bool = False,
) -> Value:  # fmt: skip
    """exp(x / temperature), normalised along an axis; with use_length only the first `length` positions take part."""
    data = _prepared(data, temperature, axis, dtype)
    if use_length:
        if "int" not in dtype_name(length.dtype):
            raise MXNetError(f"softmax: lengths are integers, given {dtype_name(length.dtype)}; convert with astype")
        return _typed(F._masked_softmax(data, length, axis=axis), dtype)
    return _typed(F._softmax(data, axis=axis), dtype)


@composite("log_softmax", shape=FIRST)
def log_softmax(
    data: Value, *, axis: Int = -1, temperature: OptFloat = None, dtype: OptDType = None, use_length: Bool = False
) -> Value:
    """The logarithm of the softmax."""
    _without_length("log_softmax", use_length)
    return _typed(F._log_softmax(_prepared(data, temperature, axis, dtype), axis=axis), dtype)


def _without_length(name: str, use_length: bool) -> None:
    """MXNetError for the attribute that every softmax of MXNet has, where no input goes with it."""
    if use_length:
        raise MXNetError(f"{name}: use_length=True is for softmax, which takes lengths")


def _of_mask(data: Value, mask: Value, temperature: float | None, axis: int) -> tuple[Value, Value]:
    """Where the mask holds, in the shape of the data, and the data, very low where it does not."""
    keep = F._npi_not_equal_scalar(F._broadcast_from(mask, shape=data.shape), scalar=0)
    low = F.full_like(data, fill_value=-6e4 if dtype_name(data.dtype) == "float16" else -1e30)
    return keep, F._npi_where(keep, _prepared(data, temperature, axis), low)


@composite("masked_softmax", aliases=("_npx_masked_softmax",))
def masked_softmax(
    data: Value, mask: Value, *, axis: Int = -1, temperature: OptFloat = 1.0, normalize: Bool = True
) -> Value:
    """The softmax of the positions where the mask holds; 0 elsewhere, and where it holds nowhere along the axis."""
    keep, data = _of_mask(data, mask, temperature, axis)
    return F._npi_multiply(F._softmax(data, axis=axis), F.Cast(keep, dtype=data.dtype))


@composite("masked_log_softmax", aliases=("_npx_masked_log_softmax",))
def masked_log_softmax(
    data: Value, mask: Value, *, axis: Int = -1, temperature: OptFloat = 1.0, normalize: Bool = True
) -> Value:
    """The logarithm of `masked_softmax`."""
    keep, data = _of_mask(data, mask, temperature, axis)
    return F._npi_where(keep, F._log_softmax(data, axis=axis), F.full_like(data, fill_value=-math.inf))


def _plain(op: Operator) -> Callable[..., Any]:
    def rule(attrs: Namespace) -> tuple[Operator | Attrs, ...] | None:
        bare = not attrs.use_length and attrs.temperature is None and attrs.dtype is None
        return (op, {"axis": attrs.axis}) if bare else None

    return rule


specialize(softmax, inputs=1)(_plain(_softmax))
specialize(log_softmax, inputs=1)(_plain(_log_softmax))


@composite("softmin", shape=FIRST, unnamed=True)
def softmin(
    data: Value, *, axis: Int = -1, temperature: OptFloat = None, dtype: OptDType = None, use_length: Bool = False
) -> Value:
    """The softmax of the negated data."""
    _without_length("softmin", use_length)
    return _typed(F._softmax(_prepared(F.negative(data), temperature, axis, dtype), axis=axis), dtype)


@composite("SoftmaxActivation", shape=FIRST, unnamed=True)
def softmax_activation(data: Value, *, mode: Annotated[str, Choice("instance", "channel")] = "instance") -> Value:
    """The softmax along the last axis ("instance"), or over channels ("channel")."""
    return F._softmax(data, axis=1) if mode == "channel" else F._instance_softmax(data)


@operator("_instance_softmax", memory="new")
def _instance_softmax(data: Tensor) -> Tensor:
    """The softmax along the last axis.

    Its gradient is MXNet's: that of a softmax over axis 1, also where that is not the last.
    """
    return kernels.softmax.softmax(data, data.dim() - 1)


@gradient(_instance_softmax)
def _instance_softmax_gradient(dy: Value, out: Value) -> Gradients:
    return [F._softmax_grad(dy, out, axis=1)]


@operator("_cross_entropy", memory="new", indexes={"label": lambda shapes, attrs: shapes["data"][attrs["axis"]]})
def _cross_entropy(data: Tensor, label: Tensor, *, axis: Int = -1) -> Tensor:
    """-log softmax(data) at the label, one loss per row."""
    axis %= data.dim()
    expect_shape("cross entropy", "a label", label, (*data.shape[:axis], *data.shape[axis + 1 :]))
    return kernels.softmax.cross_entropy(data, label, axis)


@gradient(_cross_entropy)
def _cross_entropy_gradient(dy: Value, data: Value, label: Value, attrs: Namespace) -> Gradients:
    return [F._cross_entropy_grad(dy, data, label, axis=attrs.axis), None]


@operator("_cross_entropy_grad", memory="new")
def _cross_entropy_grad(dy: Tensor, data: Tensor, label: Tensor, *, axis: Int = -1) -> Tensor:
    """dy * (softmax(data) - one_hot(label))."""
    return kernels.softmax.cross_entropy_grad(dy, data, label, axis % data.dim())


@decompose(_cross_entropy_grad)
def _cross_entropy_grad_decompose(dy: Value, data: Value, label: Value, *, axis: int) -> Value:
    axis %= data.ndim
    loss_shape = data.shape[:axis] + data.shape[axis + 1 :]
    dy = F.expand_dims(F._reshape_to(dy, shape=loss_shape), axis=axis)
    hot = F._pick_grad(F.ones_like(F.pick(data, label, axis=axis)), label, shape=data.shape, axis=axis)
    return F.broadcast_mul(dy, F._softmax(data, axis=axis) - hot)


@operator(
    "_linear_cross_entropy", outputs=2, visible=1, memory="new",
    indexes={"label": lambda shapes, attrs: shapes["weight"][0]},
)  # fmt: skip
def _linear_cross_entropy(
    data: Tensor, weight: Tensor, label: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The cross entropy of data weight^T + bias with the label, one loss a row, and the log of each row's sum."""
    what = "linear cross entropy"
    expect_shape(what, "a weight", weight, (weight.shape[0], data.shape[1]))
    expect_shape(what, "a label", label, (data.shape[0],))
    if bias is not None:
        expect_shape(what, "a bias", bias, (weight.shape[0],))
    return kernels.linear_loss.linear_cross_entropy(data, weight, bias, label)


@gradient(_linear_cross_entropy)
def _linear_cross_entropy_gradient(
    dy: Value, data: Value, weight: Value, label: Value, bias: Value | None, out1: Value
) -> Gradients:
    found = F._linear_cross_entropy_grad(dy, data, weight, label, out1, bias, no_bias=bias is None)
    return [found[0], found[1], None, *found[2:]]


@operator("_linear_cross_entropy_grad", outputs=lambda attrs: 2 if attrs["no_bias"] else 3, memory="new")
def _linear_cross_entropy_grad(
    dy: Tensor, data: Tensor, weight: Tensor, label: Tensor, lse: Tensor, bias: Tensor | None = None, *, no_bias: Bool
) -> tuple[Tensor, ...]:
    """Gradients of the loss in data, weight and bias."""
    dx, dw, db = kernels.linear_loss.linear_cross_entropy_grad(dy, data, weight, bias, label, lse)
    return (dx, dw) if db is None else (dx, dw, db)


@decompose(_linear_cross_entropy_grad)
def _linear_cross_entropy_grad_decompose(
    dy: Value, data: Value, weight: Value, label: Value, lse: Value, bias: Value | None = None, *, no_bias: bool
) -> Sequence[Value]:
    logits = F._matmul(data, weight, transpose_b=True)
    if bias is not None:
        logits = F.broadcast_add(logits, F.expand_dims(bias, axis=0))
    d = F._cross_entropy_grad(dy, logits, label, axis=1)
    return [F._matmul(d, weight), F._matmul(d, data, transpose_a=True), *([] if no_bias else [F.sum(d, axis=0)])]


@composite("_contrib_linear_cross_entropy")
def linear_cross_entropy(data: Value, weight: Value, label: Value, bias: Value | None = None) -> Value:
    """The softmax cross entropy of data weight^T + bias with the label, without that product in memory."""
    rows = F._reshape_to(data, shape=(math.prod(data.shape[:-1]), data.shape[-1]))
    loss = F._linear_cross_entropy(rows, weight, F._reshape_to(label, shape=(rows.shape[0],)), bias)
    return F._reshape_to(loss, shape=data.shape[:-1])


@composite("softmax_cross_entropy")
def softmax_cross_entropy(data: Value, label: Value) -> Value:
    """The sum of the cross entropies of all rows, as an array of one."""
    return F._reshape_to(F.sum(F._cross_entropy(data, label, axis=-1)), shape=(1,))


# ---------------------------------------------------------------------------------------------- by rows


@by_rows(_softmax, last_axis)
def _softmax_rows(node: Node, x: Expr) -> tuple[Expr]:
    e = fx.exp(x - row_fmax(x))
    return (e / row_sum(e),)


@by_rows(_log_softmax, last_axis)
def _log_softmax_rows(node: Node, x: Expr) -> tuple[Expr]:
    d = x - row_fmax(x)
    return (d - fx.log(row_sum(fx.exp(d))),)


@by_rows(F._softmax_grad, lambda node: last_axis(node) if len(node.inputs) == 2 else None)
def _softmax_grad_rows(node: Node, dy: Expr, y: Expr) -> tuple[Expr]:
    return (y * (dy - row_sum(dy * y)),)


@by_rows(F._log_softmax_grad, last_axis)
def _log_softmax_grad_rows(node: Node, dy: Expr, y: Expr) -> tuple[Expr]:
    return (dy - fx.exp(y) * row_sum(dy),)
