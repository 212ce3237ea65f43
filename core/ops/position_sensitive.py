"""Position-sensitive pooling of regions: every cell of a region reads channels of its own.

A cell's value is a weighted mean over rows times columns of the data, and the weights of rows and columns are
independent of each other. So the cells of one position are one matrix product of weights (regions, positions) and data
(positions, channels), and gradients follow.
"""

from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Bool, Int, Share
from core.ops.registry import F, composite
from core.ops.values import Input, Value


@composite("_contrib_PSROIPooling")
def ps_roi_pooling(
    data: Value, rois: Value, *, spatial_scale: Share, output_dim: Int, pooled_size: Int, group_size: Int = 0
) -> Value:
    """Means over the cells of each region: (regions, output_dim, pooled_size, pooled_size) (Dai et al., 2016).

    data (N, output_dim * group_size ** 2, H, W); rois (regions, 5): image, left, top, right, bottom in pixels, which
    are rounded, times spatial_scale in data. group_size: pooled_size unless given. Empty cells give 0.
    """
    group = group_size or pooled_size
    image, begins, lengths = _regions("PSROIPooling", data, rois, spatial_scale, output_dim, group)
    weights = []
    for axis in (0, 1):
        begin, length, extent = begins[axis], lengths[axis], data.shape[2 + axis]
        cell, position = _counting(image, pooled_size, axis, 6), _counting(image, extent, 5, 6)
        step = length / pooled_size
        first = F.floor(F.broadcast_add(F.broadcast_mul(step, cell), begin))
        end = F.ceil(F.broadcast_add(F.broadcast_mul(step, cell + 1), begin))
        inside = F.broadcast_greater_equal(position, first) * F.broadcast_lesser(position, end)
        weights.append(_mean(inside, F.sum(inside, axis=5, keepdims=True)))
    return _pool(data, image, weights, 1, output_dim, pooled_size, group)


@composite("_contrib_DeformablePSROIPooling")
def deformable_ps_roi_pooling(
    data: Value, rois: Value, trans: Input = None, *, spatial_scale: Share, output_dim: Int, group_size: Int,
    pooled_size: Int, part_size: Int = 0, sample_per_part: Int = 1, trans_std: Share = 0.0, no_trans: Bool = False,
) -> Value:  # fmt: skip
    """Means of bilinear samples in cells that `trans` moves:
    (regions, output_dim, pooled_size, pooled_size) (Dai et al., 2017).

    As `PSROIPooling`, with sample_per_part samples a cell on each axis; trans (regions, 2 * classes, part_size,
    part_size): shifts to the right and down, in trans_std of the region, for output_dim / classes channels each.
    part_size: pooled_size unless given. Samples further than half an element outside do not count.
    """
    image, begins, lengths = _regions("DeformablePSROIPooling", data, rois, spatial_scale, output_dim, group_size)
    if trans is None and not no_trans:
        raise MXNetError("DeformablePSROIPooling: the input trans is missing; without one, no_trans=True is needed")
    classes = 1 if no_trans else trans.shape[1] // 2
    if output_dim % classes:
        raise MXNetError(f"DeformablePSROIPooling: {output_dim} channels cannot be shared among {classes} classes")
    if not no_trans:
        part = part_size or pooled_size
        shifts = F.Reshape(F.Cast(trans, dtype=dtype_name(image.dtype)), shape=(-1, classes, 2, part, part))
        shifts = F.transpose(shifts, axes=(3, 4, 1, 0, 2))
        for axis in (0, 1):
            shifts = F.take(shifts, _shares(image, pooled_size, part), axis=axis)
        shifts = F.expand_dims(shifts, axis=5)  # (row, column, class, region, right or down, 1)
    weights = []
    for axis in (0, 1):
        length, extent = lengths[axis], data.shape[2 + axis]
        at = F.broadcast_mul(length, _counting(image, pooled_size, axis, 6) / pooled_size)
        at = F.broadcast_add(at, begins[axis] - 0.5)
        if not no_trans:
            shift = F.slice_axis(shifts, axis=4, begin=1 - axis, end=2 - axis)
            at = F.broadcast_add(at, F.broadcast_mul(shift * trans_std, length))
        steps = _counting(image, sample_per_part, 4, 6) / (pooled_size * sample_per_part)
        at = F.broadcast_add(at, F.broadcast_mul(length, steps))
        counts = F._greater_equal_scalar(at, scalar=-0.5) * F._lesser_equal_scalar(at, scalar=extent - 0.5)
        away = F.broadcast_sub(_counting(image, extent, 5, 6), F.clip(at, a_min=0.0, a_max=extent - 1.0))
        hats = F.broadcast_mul(F.relu(1 - F.abs(away)), counts)
        weights.append(_mean(F.sum(hats, axis=4, keepdims=True), F.sum(counts, axis=4, keepdims=True)))
    return _pool(data, image, weights, classes, output_dim, pooled_size, group_size)


# ----------------------------------------------------------------------------------------------
# Arrays of six axes: row and column of the cell, class, region, sample, position in the data.


def _regions(
    name: str, data: Value, rois: Value, scale: float, dim: int, group: int
) -> tuple[Value, list[Value], list[Value]]:
    """(image, (top, left), (height, width)) of the regions in elements of the data; float32 or float64."""
    if len(data.shape) != 4 or len(rois.shape) != 2 or rois.shape[1] != 5:
        raise MXNetError(f"{name} takes data (N, C, H, W) and rois (regions, 5), given {data.shape} and {rois.shape}")
    if data.shape[1] != dim * group * group:
        raise MXNetError(f"{name} needs {dim} x {group} x {group} channels, given {data.shape[1]}")
    kind = "float64" if dtype_name(data.dtype) == "float64" else "float32"
    rois = F.Reshape(F.BlockGrad(F.Cast(rois, dtype=kind)), shape=(1, 1, 1, -1, 1, 5))
    image, *corners = (F.slice_axis(rois, axis=5, begin=i, end=i + 1) for i in range(5))
    left, top, right, bottom = (F.round(corner) for corner in corners)
    begins = [top * scale, left * scale]
    ends = [(bottom + 1) * scale, (right + 1) * scale]
    return image, begins, [F._maximum_scalar(e - b, scalar=0.1) for b, e in zip(begins, ends)]


def _counting(like: Value, count: int, axis: int, dims: int) -> Value:
    """0, 1, ... count - 1 along one of `dims` axes."""
    shape = [1] * dims
    shape[axis] = count
    return F.Reshape(F.Cast(F._arange_like(like, length=count), dtype=dtype_name(like.dtype)), shape=tuple(shape))


def _shares(like: Value, cells: int, parts: int) -> Value:
    """Which of the parts each of the cells belongs to."""
    return F.floor(_counting(like, cells, 0, 1) * parts / cells)


def _mean(total: Value, count: Value) -> Value:
    return F.broadcast_div(total, F._maximum_scalar(count, scalar=1.0))


def _pool(data: Value, image: Value, weights: list[Value], classes: int, dim: int, pooled: int, group: int) -> Value:
    """The means with weights of rows and of columns, which have the last axis for the position."""
    batch, _, *size = data.shape
    regions, each, positions = image.shape[3], dim // classes, size[0] * size[1]
    own = F.broadcast_equal(image, _counting(image, batch, 4, 6))
    area = F.broadcast_mul(F.Reshape(weights[0], shape=(0, 0, 0, 0, -1, 1)), weights[1])  # rows x columns
    area = F.Reshape(area, shape=(0, 0, 0, 0, 1, positions))
    area = F.Reshape(F.broadcast_mul(own, area), shape=(-1, regions, batch * positions))
    parts = F.transpose(F.Reshape(data, shape=(batch, classes, each, group, group, positions)), axes=(3, 4, 1, 0, 5, 2))
    if group != pooled:
        for axis in (0, 1):
            parts = F.take(parts, _shares(image, pooled, group), axis=axis)
    parts = F.Reshape(parts, shape=(pooled * pooled * classes, batch * positions, each))
    cells = F.batch_dot(F.Cast(area, dtype=dtype_name(data.dtype)), parts)
    cells = F.transpose(F.Reshape(cells, shape=(pooled, pooled, classes, regions, each)), axes=(3, 2, 4, 0, 1))
    return F.Reshape(cells, shape=(regions, dim, pooled, pooled))
