"""Deformable convolutions: convolutions that read the data at shifted positions between its elements."""

from collections.abc import Sequence
from typing import Any

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Bool, Int, OptStr, Positive, Shape
from core.ops.nn import convolution_shapes
from core.ops.registry import F, composite, decompose, gradient, gradients_through, infer, operator
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value
from core.util import require

K = kernels.deformable


@composite(
    "_contrib_DeformableConvolution", when={"bias": ("no_bias", False)}, aliases=("_npx_deformable_convolution",)
)
def deformable_convolution(
    data: Value, offset: Value, weight: Value, bias: Value | None = None, *, kernel: Shape, stride: Shape = (),
    dilate: Shape = (), pad: Shape = (), num_filter: Positive, num_group: Int = 1, num_deformable_group: Int = 1,
    workspace: Int = 1024, no_bias: Bool = False, layout: OptStr = None,
) -> Value:  # fmt: skip
    """Convolution of (N, C, H, W) at positions shifted by `offset` (N, 2 groups positions, H', W') (Dai et al., 2017).

    For each deformable group and position of the kernel the offset holds the shift down and the shift to the right.
    Positions outside of the data count as 0; beyond the centres of the last row and column the data goes on unchanged.
    """
    window = _window(kernel, stride, dilate, pad, layout)
    columns = F._deformable_columns(data, offset, None, **window, groups=num_deformable_group)
    return _product(columns, weight, None if no_bias else bias, num_filter, num_group, offset)


@composite(
    "_contrib_ModulatedDeformableConvolution",
    when={"bias": ("no_bias", False)},
    aliases=("_npx_modulated_deformable_convolution",),
)
def modulated_deformable_convolution(
    data: Value, offset: Value, mask: Value, weight: Value, bias: Value | None = None, *, kernel: Shape,
    stride: Shape = (), dilate: Shape = (), pad: Shape = (), num_filter: Positive, num_group: Int = 1,
    num_deformable_group: Int = 1, workspace: Int = 1024, no_bias: Bool = False, im2col_step: Int = 64,
    layout: OptStr = None,
) -> Value:  # fmt: skip
    """Deformable convolution whose positions are weighted by `mask` (N, groups positions, H', W') (Zhu et al., 2019).

    The data is surrounded by zeros, into which it fades within one row or column.
    """
    window = _window(kernel, stride, dilate, pad, layout)
    columns = F._deformable_columns(data, offset, mask, **window, groups=num_deformable_group)
    return _product(columns, weight, None if no_bias else bias, num_filter, num_group, offset)


for _op in (deformable_convolution, modulated_deformable_convolution):
    infer(_op)(convolution_shapes)


def _window(
    kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...], pad: tuple[int, ...], layout: Any
) -> Attrs:
    require("deformable convolution", "layout", layout, None, "NCHW")
    if len(kernel) != 2:
        raise MXNetError(f"deformable convolutions have two spatial dimensions, got kernel={kernel}")
    return {"kernel": kernel, "stride": stride or (1, 1), "dilate": dilate or (1, 1), "pad": pad or (0, 0)}


# ---------------------------------------------------------------------------------------------- columns


@operator("_deformable_columns", memory="new")
def _deformable_columns(
    data: Tensor, offset: Tensor, mask: Tensor | None = None, *, kernel: Shape, stride: Shape, dilate: Shape,
    pad: Shape, groups: Int,
) -> Tensor:  # fmt: skip
    """What the kernel sees: (N, C, positions of the kernel, positions of the output)."""
    if min(data.shape[2:]) < 1 or data.shape[1] % groups:
        raise MXNetError(
            f"deformable convolution: data of shape {tuple(data.shape)} does not fit {groups} groups of offsets"
        )
    return K.columns(data, offset, mask, kernel, stride, dilate, pad, groups)


@gradient(_deformable_columns)
def _deformable_columns_gradient(dy: Value, data: Value, offset: Value, mask: Value, attrs: Namespace) -> Gradients:
    ddata, doffset, dmask = F._deformable_columns_grad(dy, data, offset, mask, **vars(attrs))
    return [ddata, doffset, None if mask is None else dmask]


@operator("_deformable_columns_grad", outputs=3, memory="new")
def _deformable_columns_grad(
    dy: Tensor, data: Tensor, offset: Tensor, mask: Tensor | None = None, *, kernel: Shape, stride: Shape,
    dilate: Shape, pad: Shape, groups: Int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gradients of the columns with respect to data, offset and mask."""
    return K.columns_grad(dy, data, offset, mask, kernel, stride, dilate, pad, groups)


@decompose(_deformable_columns_grad)
def _deformable_columns_grad_decompose(
    dy: Value, data: Value, offset: Value, mask: Value | None = None, *, kernel: tuple[int, ...],
    stride: tuple[int, ...], dilate: tuple[int, ...], pad: tuple[int, ...], groups: int,
) -> Sequence[Value]:  # fmt: skip
    operands = [x for x in (data, offset, mask) if x is not None]

    def columns(data: Value, offset: Value, mask: Value | None = None) -> Value:
        return _columns(data, offset, mask, (kernel, stride, dilate, pad), groups)

    return gradients_through(columns, operands, [dy], [True] * len(operands))


def _columns(data: Value, offset: Value, mask: Value | None, window: tuple[tuple[int, ...], ...], groups: int) -> Value:
    """The columns as an expression over other operators, which second derivatives differentiate."""
    batch, channels, *size = data.shape
    kernel, positions = window[0], offset.shape[2] * offset.shape[3]
    spots = kernel[0] * kernel[1]
    shifts = F._reshape_to(offset, shape=(batch * groups, spots, 2, positions))
    coordinates = [_coordinates(data, shifts, axis, window, offset.shape[2:]) for axis in (0, 1)]

    inside, fading = None, mask is not None
    corners = []  # for each axis the two neighbours and their weights
    for x, extent in zip(coordinates, size):
        begun = F._greater_scalar(x, scalar=-1.0) if fading else F._greater_equal_scalar(x, scalar=0.0)
        within = begun * F._lesser_scalar(x, scalar=extent)
        inside = within if inside is None else inside * within
        if not fading:
            # From the centre of the last element on its value holds.
            edge = F._greater_equal_scalar(F.BlockGrad(x), scalar=extent - 1)
            x = F.where(edge, F.zeros_like(x) + float(extent - 1), x)
        low = F.floor(F.BlockGrad(x))
        part = x - low
        corners.append([(low, 1 - part), (low + 1, part)])

    image = F._reshape_to(data, shape=(batch * groups, channels // groups, size[0] * size[1]))
    columns = None
    for row, row_weight in corners[0]:
        for column, column_weight in corners[1]:
            value = _picked(image, row, column, size)
            weight = row_weight * column_weight * inside
            for position, extent in ((row, size[0]), (column, size[1])):
                weight = weight * F._greater_equal_scalar(position, scalar=0.0)
                weight = weight * F._lesser_equal_scalar(position, scalar=extent - 1)
            weight = F._reshape_to(weight, shape=(batch * groups, 1, spots * positions))
            term = F.broadcast_mul(value, weight)
            columns = term if columns is None else columns + term
    if mask is not None:
        columns = F.broadcast_mul(columns, F._reshape_to(mask, shape=(batch * groups, 1, spots * positions)))
    return F._reshape_to(columns, shape=(batch, channels, spots, positions))


def _coordinates(
    data: Value, shifts: Value, axis: int, window: tuple[tuple[int, ...], ...], output: tuple[int, ...]
) -> Value:
    """Where on an axis of the data the kernel reads: (N groups, positions of the kernel, positions of the output)."""
    kernel, stride, dilate, pad = (values[axis] for values in window)
    rows, columns = window[0]
    like = F.slice_axis(shifts, axis=2, begin=axis, end=axis + 1)
    within, start = (
        F.Cast(F._arange_like(data, length=length), dtype=dtype_name(data.dtype))
        for length in (rows * columns, output[0] * output[1])
    )
    if axis == 0:
        within, start = F.floor(within / columns), F.floor(start / output[1])
    else:
        within, start = within - F.floor(within / columns) * columns, start - F.floor(start / output[1]) * output[1]
    fixed = F.broadcast_add(
        F.Reshape(within * dilate, shape=(1, -1, 1)), F.Reshape(start * stride - pad, shape=(1, 1, -1))
    )
    return F.broadcast_add(F._reshape_to(like, shape=(*like.shape[:2], like.shape[3])), fixed)


def _picked(image: Value, row: Value, column: Value, size: list[int]) -> Value:
    """Elements of each channel at (row, column), which are moved into the image where they lie outside."""
    row = F.clip(row, a_min=0.0, a_max=float(size[0] - 1))
    column = F.clip(column, a_min=0.0, a_max=float(size[1] - 1))
    index = F._reshape_to(
        F.BlockGrad(row * float(size[1]) + column), shape=(image.shape[0], 1, row.shape[1] * row.shape[2])
    )
    index = F.Cast(F.broadcast_axis(index, axis=1, size=image.shape[1]), dtype="int64")
    return F._gather_along(image, index, axis=2)


def _product(columns: Value, weight: Value, bias: Value | None, filters: int, groups: int, offset: Value) -> Value:
    """(N, filters, H', W') of the columns (N, C, spots, positions) and the weight (filters, C / groups, *kernel)."""
    batch, channels, spots, positions = columns.shape
    outputs = []
    for g in range(groups):
        part = channels // groups
        seen = F.slice_axis(columns, axis=1, begin=g * part, end=(g + 1) * part) if groups > 1 else columns
        seen = F.swapaxes(F._reshape_to(seen, shape=(batch, part * spots, positions)), dim1=1, dim2=2)
        rows = filters // groups
        own = F.slice_axis(weight, axis=0, begin=g * rows, end=(g + 1) * rows) if groups > 1 else weight
        own = F._reshape_to(own, shape=(rows, part * spots))
        outputs.append(F.FullyConnected(seen, own, num_hidden=rows, no_bias=True, flatten=False))
    y = outputs[0] if groups == 1 else F.Concat(*outputs, dim=2)
    if bias is not None:
        y = F.broadcast_add(y, F.Reshape(bias, shape=(1, 1, -1)))
    return F._reshape_to(F.swapaxes(y, dim1=1, dim2=2), shape=(batch, filters, *offset.shape[2:]))
