"""Matrix products."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from numpy import broadcast_shapes

from core import kernels
from core.base import MXNetError
from core.dtypes import FLOATS, dtype_name
from core.ops.attributes import Bool, OptStr, Positive
from core.ops.facts import Quantized
from core.ops.registry import F, composite, gradient, infer, operator, specialize
from core.ops.relations import FULLY_CONNECTED
from core.ops.shape import expect_shape, in_shape
from core.ops.storage_types import Told
from core.ops.values import Attrs, Gradients, Namespace, Special, Tensor, Value

K = kernels.matmul


def _need_floats(name: str, *tensors: Any) -> None:
    """MXNetError unless all operands are of one floating-point type."""
    kind = tensors[0].dtype
    if (
        kind is tensors[-1].dtype
        and kind.is_floating_point
        and (len(tensors) == 2 or len({t.dtype for t in tensors}) == 1)
    ):
        return
    kinds = [kernels.dtype_name(t) for t in tensors]
    if kinds[0] not in FLOATS or len(set(kinds)) > 1:
        raise MXNetError(f"{name}: floating-point operands of one type are needed, given {', '.join(kinds)}")


@operator(
    "FullyConnected", aliases=("fully_connected",), memory="new", shape=FULLY_CONNECTED,
    when={"bias": ("no_bias", False)}, words={"x": "data"}, layer="weights",
    label=lambda attrs: f"FullyConnected\n{attrs['num_hidden']}",
    quantized=Quantized("_sg_mkldnn_fully_connected", takes=("rectifier",), gives="numbers"),
)  # fmt: skip
def fully_connected(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, *, num_hidden: Positive, no_bias: Bool = False,
    flatten: Bool = True,
) -> Tensor:  # fmt: skip
    """data weight^T + bias; with flatten all axes but the first are one, else the last axis alone is multiplied.

    data (N, ...) or (..., K), weight (num_hidden, K), bias (num_hidden,) unless no_bias; result (N, num_hidden) or
    (..., num_hidden). MXNetError for shapes that do not fit.
    """
    kind = data.dtype
    if kind is not weight.dtype or not kind.is_floating_point:
        _need_floats("FullyConnected", data, weight)
    if weight.shape[0] != num_hidden:
        expect_shape("FullyConnected", "a weight", weight, (num_hidden, *weight.shape[1:]))
    if (bias is None) is not no_bias:
        fully_connected.check_inputs((data, weight, bias), {"no_bias": no_bias})
    if bias is not None and bias.shape != (num_hidden,):
        if bias.shape != (num_hidden, 1):  # as row-sparse ones are
            expect_shape("FullyConnected", "a bias", bias, (num_hidden,))
        bias = kernels.shape.reshape(bias, (num_hidden,))
    if flatten and data.dim() != 2:
        data = kernels.shape.reshape(data, (data.shape[0], math.prod(data.shape[1:])))
    return K.linear(data, weight, bias)


@gradient(fully_connected)
def _fully_connected_gradient(
    dy: Value, data: Value, weight: Value, data_shape: tuple[int, ...], bias_shape: tuple[int, ...], attrs: Namespace,
    needs: Sequence[bool],
) -> Gradients:  # fmt: skip
    rows = math.prod(dy.shape[:-1])
    flat_dy = dy if len(dy.shape) == 2 else F._reshape_to(dy, shape=(rows, dy.shape[-1]))
    grad = F._matmul(flat_dy, weight) if needs[0] else None
    weight_grad = None
    if needs[1]:
        flat = data if len(data_shape) == 2 else F._reshape_to(data, shape=(rows, weight.shape[1]))
        weight_grad = F._matmul(flat_dy, flat, transpose_a=True)
    bias_grad = F.sum(flat_dy, axis=0) if len(needs) > 2 and needs[2] and not attrs.no_bias else None
    if bias_grad is not None and len(bias_shape) > 1:
        bias_grad = F._reshape_to(bias_grad, shape=bias_shape)
    return [grad if grad is None else F._reshape_to(grad, shape=data_shape), weight_grad, bias_grad]


@infer(fully_connected)
def fully_connected_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    """The shapes of the weight and bias of a fully connected layer."""
    data = shapes["data"]
    width = math.prod(data[1:]) if attrs["flatten"] else data[-1]
    shapes["weight"] = (attrs["num_hidden"], width)
    if not attrs["no_bias"] and shapes.get("bias") != (attrs["num_hidden"], 1):  # which row-sparse ones have
        shapes["bias"] = (attrs["num_hidden"],)


@operator("_matmul", memory="new")
def matmul(a: Tensor, b: Tensor, *, transpose_a: Bool = False, transpose_b: Bool = False) -> Tensor:
    """Matrix product of the last two axes; leading axes are equal or missing on one side."""
    return K.matmul(a, b, transpose_a, transpose_b)


@gradient(matmul)
def _matmul_gradient(
    dy: Value, a: Value, b: Value, a_shape: tuple[int, ...], b_shape: tuple[int, ...], attrs: Namespace,
    needs: Sequence[bool],
) -> Gradients:  # fmt: skip
    ta, tb = attrs.transpose_a, attrs.transpose_b
    ga = gb = None
    if needs[0]:
        ga = F._matmul(b, dy, transpose_a=tb, transpose_b=True) if ta else F._matmul(dy, b, transpose_b=not tb)
        ga = _drop_batch(ga, a_shape)
    if needs[1]:
        gb = F._matmul(dy, a, transpose_a=True, transpose_b=ta) if tb else F._matmul(a, dy, transpose_a=not ta)
        gb = _drop_batch(gb, b_shape)
    return [ga, gb]


def _drop_batch(grad: Value, shape: tuple[int, ...]) -> Value:
    return grad if grad.shape == shape else F._sum_to(grad, shape=shape)


@operator("batch_dot", memory="new", real=True, words={"a": "lhs", "b": "rhs"})
def batch_dot(
    lhs: Tensor, rhs: Tensor, *, transpose_a: Bool = False, transpose_b: Bool = False, forward_stype: OptStr = None
) -> Tensor:
    """Products of matrices, one for each position of the leading axes, which must agree."""
    if not (lhs.dim() == rhs.dim() == 3 and lhs.shape[0] == rhs.shape[0]):  # told at once, unlike the rest
        if lhs.dim() < 3 or lhs.dim() != rhs.dim() or lhs.shape[:-2] != rhs.shape[:-2]:
            raise MXNetError(f"batch_dot: shapes {tuple(lhs.shape)} and {tuple(rhs.shape)} do not fit")
    return K.matmul(lhs, rhs, transpose_a, transpose_b)


batch_dot.rule, batch_dot.reads = matmul.rule, matmul.reads


@specialize(batch_dot)
def _batch_dot_special(attrs: Namespace) -> Special:
    ta, tb = attrs.transpose_a, attrs.transpose_b

    def run(lhs: Tensor, rhs: Tensor) -> Tensor:
        first, second = lhs.shape, rhs.shape
        if not len(first) == len(second) == 3 or first[0] != second[0]:
            return batch_dot.forward(lhs, rhs, transpose_a=ta, transpose_b=tb)
        return K.matmul(lhs, rhs, ta, tb)

    return run


def _dot_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    if attrs["forward_stype"]:
        return attrs["forward_stype"]
    if stypes[0] == "csr" and stypes[1] != "csr" and attrs["transpose_a"] and not attrs["transpose_b"]:
        return "row_sparse"
    return "csr" if list(stypes) == ["default", "csr"] and not attrs["transpose_a"] else "default"


@operator(
    "dot", memory="new", storage=Told(_dot_storage),
    row_gradient=lambda stypes, attrs: stypes[0] == "csr" and not attrs["transpose_a"],
)  # fmt: skip
def dot(
    lhs: Tensor, rhs: Tensor, *, transpose_a: Bool = False, transpose_b: Bool = False, forward_stype: OptStr = None
) -> Tensor:
    """The product over the last axis of lhs and the first of rhs."""
    if lhs.dtype is not rhs.dtype or not lhs.dtype.is_floating_point:
        _need_floats("dot", lhs, rhs)
    if lhs.dim() == rhs.dim() == 2:
        return K.matmul(lhs, rhs, transpose_a, transpose_b)
    a, b = _as_matrices(lhs, rhs, transpose_a, transpose_b, kernels.shape.reshape)
    result = K.matmul(a, b, transpose_a, transpose_b)
    return kernels.shape.reshape(result, _dot_shape(tuple(lhs.shape), tuple(rhs.shape), transpose_a, transpose_b))


@specialize(dot)
def _dot_special(attrs: Namespace) -> Special:
    ta, tb = attrs.transpose_a, attrs.transpose_b

    def run(lhs: Tensor, rhs: Tensor) -> Tensor:
        if lhs.dim() != 2 or rhs.dim() != 2 or not lhs.is_floating_point():  # kernels refuse two types themselves
            return dot.forward(lhs, rhs, transpose_a=ta, transpose_b=tb)
        return K.matmul(lhs, rhs, ta, tb)

    return run


def _as_matrices(
    lhs: Value | Tensor, rhs: Value | Tensor, ta: bool, tb: bool, reshape: Callable[..., Any]
) -> tuple[Any, Any]:
    """Both operands with all axes but the one that is summed over merged."""
    ls, rs = tuple(lhs.shape), tuple(rhs.shape)
    if not ls or not rs or (ls[0] if ta else ls[-1]) != (rs[-1] if tb else rs[0]):
        raise MXNetError(f"dot: shapes {ls} and {rs} do not fit")
    a = (ls[0], math.prod(ls[1:])) if ta else (math.prod(ls[:-1]), ls[-1])
    b = (math.prod(rs[:-1]), rs[-1]) if tb else (rs[0], math.prod(rs[1:]))
    return (lhs if ls == a else reshape(lhs, a)), (rhs if rs == b else reshape(rhs, b))


def _dot_shape(ls: tuple[int, ...], rs: tuple[int, ...], ta: bool, tb: bool) -> tuple[int, ...]:
    shape = (ls[1:] if ta else ls[:-1]) + (rs[:-1] if tb else rs[1:])
    return shape or (1,)


@gradient(dot)
def _dot_gradient(
    dy: Value, lhs: Value, rhs: Value, lhs_shape: tuple[int, ...], rhs_shape: tuple[int, ...], attrs: Namespace,
    needs: Sequence[bool],
) -> Gradients:  # fmt: skip
    ta, tb = attrs.transpose_a, attrs.transpose_b
    a, b = _as_matrices(lhs, rhs, ta, tb, in_shape)
    rows, columns = a.shape[1] if ta else a.shape[0], b.shape[0] if tb else b.shape[1]
    dy = in_shape(dy, (rows, columns))
    ga = gb = None
    if needs[0]:
        ga = F._matmul(b, dy, transpose_a=tb, transpose_b=True) if ta else F._matmul(dy, b, transpose_b=not tb)
        ga = in_shape(ga, lhs_shape)
    if needs[1]:
        gb = F._matmul(dy, a, transpose_a=True, transpose_b=ta) if tb else F._matmul(a, dy, transpose_a=not ta)
        gb = in_shape(gb, rhs_shape)
    return [ga, gb]


@composite("_npi_matmul")
def np_matmul(a: Value, b: Value) -> Value:
    """The matrix product of NumPy: leading axes are broadcast, vectors take part as rows and columns."""
    if a.ndim == 0 or b.ndim == 0:
        raise MXNetError("matmul: operands need at least one axis")
    for x in (a, b):
        on_gpu = getattr(getattr(x, "context", None), "device_type", "cpu") == "gpu"  # float16 only there, as MXNet
        if "float" not in dtype_name(x.dtype) or (dtype_name(x.dtype) == "float16" and not on_gpu):
            raise MXNetError(f"matmul: products need float32 or float64, given {dtype_name(x.dtype)}")
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = F.expand_dims(a, axis=0)
    if column:
        b = F.expand_dims(b, axis=1)
    if a.shape[-1] != b.shape[-2]:
        raise MXNetError(f"matmul: shapes {a.shape} and {b.shape} do not fit")
    if a.ndim > 2 and b.ndim > 2 and a.shape[:-2] != b.shape[:-2]:
        try:
            lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise MXNetError(f"matmul: the leading axes of {a.shape} and {b.shape} do not broadcast") from None
        a, b = (F._broadcast_from(x, shape=lead + x.shape[-2:]) for x in (a, b))
    y = F._matmul(a, b)
    if row or column:
        shape = y.shape[:-2] + (() if row else (y.shape[-2],)) + (() if column else (y.shape[-1],))
        y = F._reshape_to(y, shape=shape)
    return y
