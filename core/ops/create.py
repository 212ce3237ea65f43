"""Arrays from nothing: constants and ranges."""

from core import kernels
from core.context import Context
from core.dtypes import as_integer, dtype_name
from core.ops.attributes import Bool, DType, Float, Int, OptFloat, Scalar, Shape
from core.ops.registry import operator
from core.ops.values import Tensor


@operator("_zeros", fills=0)
def zeros(*, shape: Shape = (), dtype: DType = "float32", ctx: Context | None = None) -> Tensor:
    """Zeros."""
    return kernels.shape.zeros(shape, dtype, ctx)


@operator("_ones", fills=1)
def ones(*, shape: Shape = (), dtype: DType = "float32", ctx: Context | None = None) -> Tensor:
    """Ones."""
    return kernels.shape.full(shape, 1, dtype, ctx)


@operator("_full", fills="value")
def full(*, shape: Shape = (), value: Scalar = 0, dtype: DType = "float32", ctx: Context | None = None) -> Tensor:
    """One value everywhere."""
    kind = dtype_name(dtype)
    return kernels.shape.full(shape, as_integer(value, kind) if "int" in kind else value, kind, ctx)


@operator("_arange")
def arange(
    *, start: Float = 0.0, stop: OptFloat = None, step: Float = 1.0, repeat: Int = 1, infer_range: Bool = False,
    dtype: DType = "float32", ctx: Context | None = None,
) -> Tensor:  # fmt: skip
    """start, start + step, ... below stop, each one `repeat` times."""
    if stop is None:
        start, stop = 0.0, start
    values = kernels.shape.arange(start, stop, step, dtype, ctx)
    if repeat == 1:
        return values
    return kernels.shape.reshape(kernels.shape.expand(values.reshape(-1, 1), (values.shape[0], repeat)), (-1,))


@operator("_eye")
def eye(*, N: Int, M: Int = 0, k: Int = 0, dtype: DType = "float32", ctx: Context | None = None) -> Tensor:
    """Ones on diagonal k of an N x M matrix (M = 0: square)."""
    return kernels.shape.eye(N, M or N, k, dtype, ctx)


@operator("_linspace", aliases=("linspace",))
def linspace(
    *, start: Float, stop: Float, num: Int = 50, endpoint: Bool = True, dtype: DType = "float32",
    ctx: Context | None = None,
) -> Tensor:  # fmt: skip
    """`num` numbers evenly spaced from start to stop."""
    return kernels.shape.linspace(start, stop, num, endpoint, dtype, ctx)
