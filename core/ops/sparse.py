"""Operators whose meaning is in how their operands are stored; on dense values they are these expressions."""

from typing import Annotated, Any

from core import kernels
from core.dtypes import dtype_name
from core.kernels.formula import Expr
from core.ops.attributes import Bool, Choice, DType, Float, Positive
from core.ops.pointwise import pointwise
from core.ops.registry import F, composite, gradient, infer, operator
from core.ops.relations import FIRST, SAME
from core.ops.storage_types import FIRST_KEPT, KEEPS_ZERO, Told
from core.ops.values import Attrs, Gradients, Tensor, Value


@operator(
    "cast_storage", memory="new", shape=FIRST, storage=Told(lambda stypes, attrs: attrs["stype"], makes=True),
    unnamed=True,
)  # fmt: skip
def cast_storage(data: Tensor, *, stype: Annotated[str, Choice("default", "csr", "row_sparse")]) -> Tensor:
    """The same values, stored in another way."""
    return kernels.shape.clone(data)


@gradient(cast_storage)
def _cast_storage_gradient(dy: Value) -> Gradients:
    return [dy]


@operator("_csr_dot", memory="new")
def csr_dot(values: Tensor, columns: Tensor, starts: Tensor, rhs: Tensor) -> Tensor:
    """The product of the CSR matrix of these parts with rhs (N, D)."""
    return kernels.index.csr_dot(values, columns, starts, rhs)


@composite("_sparse_retain", shape=FIRST, storage=FIRST_KEPT)
def retain(data: Value, indices: Value) -> Value:
    """The rows that are named; the others are zero."""
    rows = data.shape[0]
    kept = F.Reshape(F.sum(F.one_hot(indices, depth=rows), axis=0), shape=(-1, *(1,) * (len(data.shape) - 1)))
    kept = F.Cast(F._greater_scalar(kept, scalar=0.0), dtype=dtype_name(data.dtype))
    return F.broadcast_mul(data, kept)


@pointwise("_scatter_plus_scalar", dtype="first", storage=KEEPS_ZERO)
def scatter_plus_scalar(data: Expr, *, scalar: Float) -> Expr:
    """A number added to what is stored."""
    return data + scalar


@pointwise("_scatter_minus_scalar", dtype="first", storage=KEEPS_ZERO)
def scatter_minus_scalar(data: Expr, *, scalar: Float) -> Expr:
    """A number taken from what is stored."""
    return data - scalar


@composite("_scatter_elemwise_div", shape=SAME, storage=FIRST_KEPT)
def scatter_elemwise_div(lhs: Value, rhs: Value) -> Value:
    """The quotient where lhs is stored."""
    stored = F._not_equal_scalar(lhs, scalar=0.0)
    return F.where(stored, lhs / F.where(stored, rhs, F.ones_like(rhs)), F.zeros_like(lhs))


@composite(
    "_contrib_SparseEmbedding", row_gradient=lambda stypes, attrs: True,
    input_dtypes={"weight": lambda attrs, first: attrs["dtype"]},
)  # fmt: skip
def sparse_embedding(
    data: Value, weight: Value, *, input_dim: Positive, output_dim: Positive, dtype: DType = "float32",
    sparse_grad: Bool = True, deterministic: Bool = False,
) -> Value:  # fmt: skip
    """Embedding whose weight has a row-sparse gradient."""
    return F.Embedding(data, weight, input_dim=input_dim, output_dim=output_dim, dtype=dtype, sparse_grad=True)


@infer(sparse_embedding)
def _sparse_embedding_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    shapes["weight"] = (attrs["input_dim"], attrs["output_dim"])
