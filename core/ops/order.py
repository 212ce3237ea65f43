"""Sorting."""

from collections.abc import Sequence
from typing import Annotated

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Bool, Choice, FewDTypes, Int, OptInt, Shape
from core.ops.registry import F, composite, gradient, operator, specialize
from core.ops.shape import in_shape, normal_axis
from core.ops.values import Gradients, Namespace, Special, Tensor, Value

K = kernels.sort
Index = Annotated[str, FewDTypes("float16", "float32", "float64", "int32", "int64", "uint8")]


def _flat(data: Tensor, axis: int | None, name: str) -> tuple[Tensor, int]:
    refused = ("bool",) if name == "topk" else ("float16", "bool")
    if kernels.dtype_name(data) in refused:
        raise MXNetError(f"{name}: arrays of {kernels.dtype_name(data)} cannot be sorted; convert with astype")
    if axis is None:
        return kernels.shape.reshape(data, (data.numel(),)), 0
    return data, normal_axis(axis, data.dim(), name)


@operator("sort", memory="new", unnamed=True, numbered=True)
def sort(data: Tensor, *, axis: OptInt = -1, is_ascend: Bool = True) -> Tensor:
    """The elements in order along an axis (None: of the flat data)."""
    return K.sort_values(*_flat(data, axis, "sort"), not is_ascend)


@gradient(sort)
def _sort_gradient(dy: Value, data: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    order = F.argsort(data, axis=attrs.axis, is_ascend=attrs.is_ascend, dtype="int64")
    flat = data_shape if attrs.axis is not None else (data.size,)
    grad = F._scatter_along(dy, order, shape=flat, axis=0 if attrs.axis is None else attrs.axis)
    return [in_shape(grad, data_shape)]


@operator("argsort", unnamed=True)
def argsort(data: Tensor, *, axis: OptInt = -1, is_ascend: Bool = True, dtype: Index = "float32") -> Tensor:
    """The indices that sort the data along an axis."""
    return kernels.cast(K.sort(*_flat(data, axis, "argsort"), not is_ascend)[1], dtype)


@operator(
    "topk", outputs=lambda attrs: 2 if attrs["ret_typ"] == "both" else 1, unnamed=True,
    numbered=lambda attrs: attrs["ret_typ"] == "value",
)  # fmt: skip
def topk(
    data: Tensor, *, axis: OptInt = -1, k: Int = 1,
    ret_typ: Annotated[str, Choice("value", "indices", "mask", "both")] = "indices", is_ascend: Bool = False,
    dtype: Index = "float32",
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """The k largest (smallest with is_ascend) elements along an axis: values, indices, both, or a mask; k=0: all."""
    flat, at = _flat(data, axis, "topk")
    n = flat.shape[at]
    if k > n:
        raise MXNetError(f"topk: k={k} is more than the {n} elements of axis {axis}")
    k = k if k > 0 else n
    if ret_typ == "indices":
        return K.topk_indices(flat, k, at, not is_ascend, kernels.torch_dtype(dtype))
    values, indices = K.topk(flat, k, at, not is_ascend)
    if ret_typ == "value":
        return values.contiguous()
    if ret_typ == "both":
        return values.contiguous(), kernels.cast(indices, dtype).contiguous()
    mask = kernels.index.scatter_along_add(kernels.shape.full_like(values, 1), indices, at, tuple(flat.shape))
    return kernels.shape.reshape(mask, tuple(data.shape))


@specialize(topk)
def _topk_special(attrs: Namespace) -> Special:
    k, axis, largest, kernel = attrs.k, attrs.axis, not attrs.is_ascend, K.topk_indices
    if attrs.ret_typ != "indices" or axis is None or k < 1:
        return None
    kind, bools = kernels.torch_dtype(attrs.dtype), kernels.torch_dtype("bool")
    known: dict[int, int] = {}  # the axis from the front, by the number of axes

    def run(data: Tensor) -> Tensor:
        shape = data.shape
        at = known.get(n := len(shape))
        if at is None:
            at = known[n] = normal_axis(axis, n, "topk")
        if k > shape[at] or data.dtype is bools:
            raise ValueError("the operator says what does not fit")
        return kernel(data, k, at, largest, kind)

    return run


@gradient(topk)
def _topk_gradient(dys: Sequence[Value], data: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    if attrs.ret_typ in ("indices", "mask"):
        return [F.zeros_like(data)]
    places = F.topk(data, axis=attrs.axis, k=attrs.k, ret_typ="indices", is_ascend=attrs.is_ascend, dtype="int64")
    flat = data_shape if attrs.axis is not None else (data.size,)
    grad = F._scatter_along(dys[0], places, shape=flat, axis=0 if attrs.axis is None else attrs.axis)
    return [in_shape(grad, data_shape)]


@operator("_scatter_along")
def _scatter_along(data: Tensor, indices: Tensor, *, shape: Shape, axis: Int) -> Tensor:
    """Zeros of `shape` with the data added at indices along an axis."""
    return kernels.index.scatter_along_add(data, indices, axis % len(shape), shape)


@gradient(_scatter_along)
def _scatter_along_gradient(dy: Value, indices: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    grad = F._gather_along(dy, indices, axis=attrs.axis)
    return [grad if grad.shape == data_shape else F.broadcast_to(grad, shape=data_shape), None]


@operator("_gather_along")
def _gather_along(data: Tensor, indices: Tensor, *, axis: Int) -> Tensor:
    """The elements at indices along an axis."""
    return kernels.index.gather_along(data, indices, axis % data.dim())


@gradient(_gather_along)
def _gather_along_gradient(dy: Value, indices: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._scatter_along(dy, indices, shape=data_shape, axis=attrs.axis), None]


@composite("_put_along")
def _put_along(data: Value, indices: Value, values: Value, *, axis: Int) -> Value:
    """The data with the values written at indices along an axis, as NumPy's put_along_axis.

    Places that meet are added up.
    """
    hit = F._scatter_along(F.ones_like(values), indices, shape=data.shape, axis=axis)
    return F._npi_where(
        F._npi_not_equal_scalar(hit, scalar=0), F._scatter_along(values, indices, shape=data.shape, axis=axis), data
    )
