"""Regions of feature maps, sampling of images at fractional positions, and changes of their size."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Bool, Choice, Int, OptBool, OptFloat, Positive, Shape, Share
from core.ops.registry import F, composite, decompose, gradient, gradients_through, infer, operator
from core.ops.shape import expect_shape
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value

K = kernels.vision


# ---------------------------------------------------------------------------------------------- regions


@operator("ROIPooling", aliases=("_npx_roi_pooling",), outputs=2, visible=1)
def roi_pooling(data: Tensor, rois: Tensor, *, pooled_size: Shape, spatial_scale: Share) -> tuple[Tensor, ...]:
    """Maxima over pooled_size cells of each region: (regions, C, *pooled_size) (Girshick, 2015).

    data (N, C, H, W); rois (regions, 5): image, left, top, right, bottom in pixels, times spatial_scale in data. Those
    of an image that is not there, such as -1, give zeros.
    """
    _check_regions("ROIPooling", data, rois, (5,), pooled_size)
    return K.roi_pool(data, rois, pooled_size, spatial_scale)


@gradient(roi_pooling)
def _roi_pooling_gradient(dy: Value, out1: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._roi_pooling_grad(dy, out1, shape=data_shape), None]


@operator("_roi_pooling_grad")
def _roi_pooling_grad(dy: Tensor, positions: Tensor, *, shape: Shape) -> Tensor:
    """The output gradient added up at the positions of the maxima."""
    return K.roi_pool_grad(dy, positions, shape)


@gradient(_roi_pooling_grad)
def _roi_pooling_grad_gradient(dy1: Value, positions: Value) -> Gradients:
    return [F._roi_pooling_gather(dy1, positions), None]


@operator("_roi_pooling_gather")
def _roi_pooling_gather(data: Tensor, positions: Tensor) -> Tensor:
    """The elements that region pooling chose."""
    return K.roi_pool_gather(data, positions)


@gradient(_roi_pooling_gather)
def _roi_pooling_gather_gradient(dy: Value, positions: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._roi_pooling_grad(dy, positions, shape=data_shape), None]


@operator("_contrib_ROIAlign")
def roi_align(
    data: Tensor, rois: Tensor, *, pooled_size: Shape, spatial_scale: Share, sample_ratio: Int = -1,
    position_sensitive: Bool = False, aligned: Bool = False,
) -> Tensor:  # fmt: skip
    """Means of bilinear samples over pooled_size cells of each region (He et al., 2017).

    data (N, C, H, W); rois (regions, 5): image, left, top, right, bottom; image -1 gives zeros. sample_ratio: samples
    a cell on each axis, from 1 on; otherwise as many as the cell is long. aligned: pixels have their centres at 0.5.
    position_sensitive: each cell reads its own share of the channels.
    """
    _check_regions("ROIAlign", data, rois, (4, 5), pooled_size)
    if position_sensitive and data.shape[1] % math.prod(pooled_size):
        raise MXNetError(f"ROIAlign: {data.shape[1]} channels cannot be shared among {math.prod(pooled_size)} cells")
    return K.roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, aligned, position_sensitive)


@gradient(roi_align)
def _roi_align_gradient(dy: Value, rois: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._roi_align_grad(dy, rois, shape=data_shape, **vars(attrs)), None]


@operator("_roi_align_grad")
def _roi_align_grad(
    dy: Tensor, rois: Tensor, *, shape: Shape, pooled_size: Shape, spatial_scale: Share, sample_ratio: Int,
    position_sensitive: Bool, aligned: Bool,
) -> Tensor:  # fmt: skip
    """The output gradient spread over the samples of its cells."""
    return K.roi_align_grad(dy, rois, pooled_size, spatial_scale, sample_ratio, aligned, position_sensitive, shape)


@gradient(_roi_align_grad)
def _roi_align_grad_gradient(dy1: Value, rois: Value, attrs: Namespace) -> Gradients:
    return [F._contrib_ROIAlign(dy1, rois, **_without_shape(attrs)), None]


def _without_shape(attrs: Namespace) -> Attrs:
    return {name: value for name, value in vars(attrs).items() if name != "shape"}


@operator("_contrib_RROIAlign")
def rotated_roi_align(
    data: Tensor, rois: Tensor, *, pooled_size: Shape, spatial_scale: Share, sampling_ratio: Int = -1
) -> Tensor:
    """ROIAlign of rotated regions: rois (regions, 6) of image, centre x and y, width, height,
    degrees (Ma et al., 2018).
    """
    _check_regions("RROIAlign", data, rois, (6,), pooled_size)
    return K.rotated_roi_align(data, rois, pooled_size, spatial_scale, sampling_ratio)


@gradient(rotated_roi_align)
def _rotated_roi_align_gradient(dy: Value, rois: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._rotated_roi_align_grad(dy, rois, shape=data_shape, **vars(attrs)), None]


@operator("_rotated_roi_align_grad")
def _rotated_roi_align_grad(
    dy: Tensor, rois: Tensor, *, shape: Shape, pooled_size: Shape, spatial_scale: Share, sampling_ratio: Int
) -> Tensor:
    """The output gradient spread over the samples of its cells."""
    return K.rotated_roi_align_grad(dy, rois, pooled_size, spatial_scale, sampling_ratio, shape)


@gradient(_rotated_roi_align_grad)
def _rotated_roi_align_grad_gradient(dy1: Value, rois: Value, attrs: Namespace) -> Gradients:
    return [F._contrib_RROIAlign(dy1, rois, **_without_shape(attrs)), None]


def _check_regions(name: str, data: Tensor, rois: Tensor, widths: tuple[int, ...], pooled: tuple[int, ...]) -> None:
    if data.dim() != 4 or min(data.shape[2:]) < 1:
        raise MXNetError(f"{name} takes data (batch, channels, height, width), given the shape {tuple(data.shape)}")
    if rois.dim() != 2 or rois.shape[1] not in widths:
        accepted = " or ".join(map(str, widths))
        raise MXNetError(f"{name} takes rois (regions, {accepted}), given the shape {tuple(rois.shape)}")
    if len(pooled) != 2 or min(pooled) < 1:
        raise MXNetError(f"{name}: pooled_size={pooled} does not fit; accepted are two lengths from 1 on")


# ---------------------------------------------------------------------------------------------- sampling


@operator("BilinearSampler")
def bilinear_sampler(data: Tensor, grid: Tensor, *, cudnn_off: OptBool = None) -> Tensor:
    """data (N, C, H, W) at the positions of grid (N, 2, H', W'), zeros outside (Jaderberg et al., 2015).

    grid holds x and y; -1 and 1 are the centres of the outermost pixels.
    """
    if data.dim() != 4 or grid.dim() != 4 or grid.shape[1] != 2 or grid.shape[0] != data.shape[0]:
        raise MXNetError(
            f"BilinearSampler takes data (N, C, H, W) and grid (N, 2, H', W'), given the shapes {tuple(data.shape)} "
            f"and {tuple(grid.shape)}"
        )
    return K.bilinear_sample(data, grid)


@gradient(bilinear_sampler)
def _bilinear_sampler_gradient(dy: Value, data: Value, grid: Value) -> Gradients | Value:
    return F._bilinear_sampler_grad(dy, data, grid)


@operator("_bilinear_sampler_grad", outputs=2)
def _bilinear_sampler_grad(dy: Tensor, data: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the bilinear sampler with respect to data and grid."""
    return K.bilinear_sample_grad(dy, data, grid)


@decompose(_bilinear_sampler_grad)
def _bilinear_sampler_grad_decompose(dy: Value, data: Value, grid: Value) -> Sequence[Value]:
    return gradients_through(_sampled, [data, grid], [dy], [True, True])


def _sampled(data: Value, grid: Value) -> Value:
    """The sampler as an expression over other operators, which second derivatives differentiate: products with hats."""
    batch, channels, height, width = data.shape
    positions = math.prod(grid.shape[2:])
    hats = []
    for axis, extent in enumerate((width, height)):
        at = F._reshape_to(F.slice_axis(grid, axis=1, begin=axis, end=axis + 1), shape=(batch, positions, 1))
        pixels = F.Cast(F._arange_like(data, length=extent), dtype=dtype_name(data.dtype))
        away = F.broadcast_sub((at + 1) * (0.5 * (extent - 1)), F._reshape_to(pixels, shape=(1, 1, extent)))
        hats.append(F.relu(1 - F.abs(away)))
    seen = F.batch_dot(F._reshape_to(data, shape=(batch, channels * height, width)), hats[0], transpose_b=True)
    seen = F._reshape_to(seen, shape=(batch, channels, height, positions))
    rows = F._reshape_to(F.swapaxes(hats[1], dim1=1, dim2=2), shape=(batch, 1, height, positions))
    return F._reshape_to(F.sum(F.broadcast_mul(seen, rows), axis=2), shape=(batch, channels, *grid.shape[2:]))


@composite("GridGenerator", real=True)
def grid_generator(
    data: Value, *, transform_type: Annotated[str, Choice("affine", "warp")], target_shape: Shape = (0, 0)
) -> Value:
    """Positions to sample (N, 2, H, W): x and y from -1 to 1.

    affine: data (N, 6), the rows of a 2 x 3 matrix that maps the positions of an image of target_shape. warp: data
    (N, 2, H, W) of shifts in pixels.
    """
    if transform_type == "affine":
        if len(target_shape) != 2 or min(target_shape) < 1:
            raise MXNetError(f"GridGenerator: target_shape={target_shape} does not fit; (height, width) is accepted")
        height, width = target_shape
        x, y = _centres(data, height, width)
        if data.shape[1:] != (6,):
            raise MXNetError(f"GridGenerator(affine) takes data (N, 6), given the shape {data.shape}")
        positions = F.stack(x, y, F.ones_like(x), axis=0)
        matrix = F.Reshape(data, shape=(-1, 3))
        return F.Reshape(F.dot(matrix, positions), shape=(-1, 2, height, width))
    if data.ndim != 4 or data.shape[1] != 2:
        raise MXNetError(f"GridGenerator(warp) takes data (N, 2, H, W), given the shape {data.shape}")
    height, width = data.shape[2:]
    grid = F.Reshape(F.stack(*_centres(data, height, width), axis=0), shape=(1, 2, height, width))
    halves = F.stack(*(F.ones_like(grid) * (2.0 / max(n - 1, 1)) for n in (width, height)), axis=0)
    halves = F.Reshape(F.slice_axis(F.Reshape(halves, shape=(2, -1)), axis=1, begin=0, end=1), shape=(1, 2, 1, 1))
    return F.broadcast_add(F.broadcast_mul(data, halves), grid)


def _centres(data: Value, height: int, width: int) -> tuple[Value, ...]:
    """x and y of the pixels of an image, row by row, from -1 to 1."""
    position = F._arange_like(data, length=height * width)
    row = F.floor(position / float(width))
    column = position - row * float(width)
    kind = dtype_name(data.dtype)
    return tuple(F.Cast(p * (2.0 / max(n - 1, 1)) - 1.0, dtype=kind) for p, n in ((column, width), (row, height)))


@composite("SpatialTransformer")
def spatial_transformer(
    data: Value, loc: Value, *, target_shape: Shape = (0, 0), transform_type: Annotated[str, Choice("affine")],
    sampler_type: Annotated[str, Choice("bilinear")], cudnn_off: OptBool = None,
) -> Value:  # fmt: skip
    """data (N, C, H, W) under the affine maps loc (N, 6), in size target_shape (Jaderberg et al., 2015)."""
    size = tuple(t or n for t, n in zip(target_shape, data.shape[2:], strict=True))
    return F.BilinearSampler(data, F.GridGenerator(loc, transform_type="affine", target_shape=size))


@composite("Correlation")
def correlation(
    data1: Value, data2: Value, *, kernel_size: Int = 1, max_displacement: Int = 1, stride1: Int = 1, stride2: Int = 1,
    pad_size: Int = 0, is_multiply: Bool = True,
) -> Value:  # fmt: skip
    """Correlation of patches of two maps (N, C, H, W): a channel for each displacement (Fischer et al., 2015).

    The mean over channels and a kernel_size square of the products (is_multiply) or absolute differences of data1 and
    data2 displaced by up to max_displacement in steps of stride2, at every stride1-th position.
    """
    if kernel_size % 2 == 0:
        raise MXNetError(f"Correlation: kernel_size={kernel_size} does not fit; an odd number is accepted")
    expect_shape("Correlation", "data2", data2, tuple(data1.shape))
    if min(stride1, stride2) < 1 or pad_size < 0:
        raise MXNetError(
            f"Correlation: strides are from 1 on and pad_size from 0, given {stride1}, {stride2}, {pad_size}"
        )
    if min(_patches(data1.shape, kernel_size, max_displacement, stride1, pad_size)) < 1:
        raise MXNetError(f"Correlation: data {data1.shape} with pad_size={pad_size} has no place for displacements")
    return F._correlation(
        data1, data2, size=kernel_size, reach=max_displacement, stride=stride1, step=stride2, pad=pad_size,
        multiply=is_multiply,
    )  # fmt: skip


def _patches(shape: tuple[int, ...], size: int, reach: int, stride: int, pad: int) -> list[int]:
    """How many patches there are down and across."""
    return [-(-(n + 2 * pad - 2 * (reach + size // 2)) // stride) for n in shape[2:]]


@operator("_correlation")
def _correlation(
    data1: Tensor, data2: Tensor, *, size: Int, reach: Int, stride: Int, step: Int, pad: Int, multiply: Bool
) -> Tensor:
    """Correlation of patches of `size` that begin every `stride` positions, displaced by up to `reach` positions."""
    return kernels.correlation.correlate(data1, data2, size, reach, stride, step, pad, multiply)


@gradient(_correlation)
def _correlation_gradient(dy: Value, data1: Value, data2: Value, attrs: Namespace) -> Gradients | Value:
    return F._correlation_grad(dy, data1, data2, **vars(attrs))


@operator("_correlation_grad", outputs=2)
def _correlation_grad(
    dy: Tensor, data1: Tensor, data2: Tensor, *, size: Int, reach: Int, stride: Int, step: Int, pad: Int,
    multiply: Bool,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """Gradients of the correlation with respect to both maps."""
    return kernels.correlation.correlate_grad(dy, data1, data2, size, reach, stride, step, pad, multiply)


@decompose(_correlation_grad)
def _correlation_grad_decompose(dy: Value, data1: Value, data2: Value, **how: Any) -> Sequence[Value]:
    return gradients_through(lambda a, b: _correlated(a, b, **how), [data1, data2], [dy], [True, True])


def _correlated(
    data1: Value, data2: Value, size: int, reach: int, stride: int, step: int, pad: int, multiply: bool
) -> Value:
    """The correlation as an expression over other operators, which second derivatives differentiate."""
    widths = (0, 0, 0, 0, *[pad] * 4)
    first, second = (F._pad(d, mode="constant", pad_width=widths) if pad else d for d in (data1, data2))
    spans = [(n - 1) * stride + size for n in _patches(data1.shape, size, reach, stride, pad)]
    here = _window(first, reach, reach, spans)
    steps = [s * step for s in range(-(reach // step), reach // step + 1)]
    channels = []
    for down in steps:
        for right in steps:
            there = _window(second, reach + down, reach + right, spans)
            both = here * there if multiply else F.where(here >= there, here - there, there - here)
            channels.append(F.sum(both, axis=1, keepdims=True))
    y = F.Concat(*channels, dim=1) if len(channels) > 1 else channels[0]
    if size > 1 or stride > 1:
        y = F.Pooling(y, kernel=(size,) * 2, stride=(stride,) * 2, pool_type="sum")
    return y / float(size**2 * data1.shape[1])


def _window(data: Value, top: int, left: int, spans: Sequence[int]) -> Value:
    part = F.slice_axis(data, axis=2, begin=top, end=top + spans[0])
    return F.slice_axis(part, axis=3, begin=left, end=left + spans[1])


# ---------------------------------------------------------------------------------------------- sizes


@composite("_contrib_BilinearResize2D", when={"like": ("mode", "like")})
def bilinear_resize(
    data: Value,
    like: Value | None = None,
    *,
    height: Positive = 1,
    width: Positive = 1,
    scale_height: OptFloat = None,
    scale_width: OptFloat = None,
    mode: Annotated[
        str, Choice("size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    ] = "size",
    align_corners: Bool = True,
) -> Value:
    """data (N, C, H, W) in another size by bilinear interpolation.

    mode: "size" (height and width, or scale_height and scale_width times the size), "odd_scale" (what goes beyond an
    even length is not scaled), "like" (that of `like`), or the nearest even or odd size from below or above.
    align_corners: the centres of the outermost pixels stay where they are.
    """
    size = data.shape[2:]
    if mode == "like":
        if like is None:
            raise MXNetError("BilinearResize2D: mode='like' needs the input like, whose size is taken")
        target = like.shape[2:]
    elif mode.startswith("to_"):
        _, parity, direction = mode.split("_")
        step = 1 if direction == "up" else -1
        target = tuple(n if n % 2 == (parity == "odd") else n + step for n in size)
    elif scale_height is not None and scale_width is not None:
        odd = [n % 2 if mode == "odd_scale" else 0 for n in size]
        scales = (scale_height, scale_width)
        target = tuple(math.trunc((n - o) * s) + o for n, o, s in zip(size, odd, scales, strict=True))
    else:
        target = (height, width)
    for axis, n in zip((2, 3), target, strict=True):
        if n == 1 and not align_corners:  # MXNet takes the first of a length for a single one
            data = F.slice_axis(data, axis=axis, begin=0, end=1)
    return F._resize_bilinear(data, size=target, align_corners=align_corners)


@operator("_resize_bilinear")
def _resize_bilinear(data: Tensor, *, size: Shape, align_corners: Bool) -> Tensor:
    """Bilinear interpolation of (N, C, H, W) to `size`."""
    if data.dim() != 4 or min(size) < 1:
        raise MXNetError(
            f"BilinearResize2D takes (N, C, H, W) and a size from 1 on, given the shape {tuple(data.shape)}, size "
            f"{size}"
        )
    return K.resize_bilinear(data, size, align_corners)


@gradient(_resize_bilinear)
def _resize_bilinear_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._resize_bilinear_grad(dy, shape=data_shape, align_corners=attrs.align_corners)]


@operator("_resize_bilinear_grad")
def _resize_bilinear_grad(dy: Tensor, *, shape: Shape, align_corners: Bool) -> Tensor:
    """The adjoint of the interpolation."""
    return K.resize_bilinear_grad(dy, shape, align_corners)


@gradient(_resize_bilinear_grad)
def _resize_bilinear_grad_gradient(dy1: Value, dy_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F._resize_bilinear(dy1, size=dy_shape[2:], align_corners=attrs.align_corners)]


@operator("_contrib_AdaptiveAvgPooling2D", unnamed=True)
def adaptive_avg_pooling(data: Tensor, *, output_size: Shape = ()) -> Tensor:
    """Means of output_size (height, width; one number for both; default 1) cells of (N, C, H, W)."""
    size = tuple(output_size) or (1,)
    if data.dim() != 4 or len(size) > 2 or min(size) < 1:
        raise MXNetError(
            f"AdaptiveAvgPooling2D takes (N, C, H, W) and one or two lengths, given {tuple(data.shape)}, {output_size}"
        )
    return K.adaptive_avg_pool(data, (size[0], size[-1]))


@gradient(adaptive_avg_pooling)
def _adaptive_avg_pooling_gradient(dy: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._adaptive_avg_pooling_grad(dy, shape=data_shape)]


@operator("_adaptive_avg_pooling_grad")
def _adaptive_avg_pooling_grad(dy: Tensor, *, shape: Shape) -> Tensor:
    """Each output gradient shared among the elements of its cell."""
    return K.adaptive_avg_pool_grad(dy, shape)


@gradient(_adaptive_avg_pooling_grad)
def _adaptive_avg_pooling_grad_gradient(dy1: Value, dy_shape: tuple[int, ...]) -> Gradients:
    return [F._contrib_AdaptiveAvgPooling2D(dy1, output_size=dy_shape[2:])]


@composite(
    "UpSampling", real=True, appends=lambda attrs: ("weight",) if attrs["sample_type"] == "bilinear" else (),
    initial={"weight": '["bilinear", {}]'},
)  # fmt: skip
def up_sampling(
    *data: Value, scale: Positive, num_filter: Int = 0, sample_type: Annotated[str, Choice("nearest", "bilinear")],
    multi_input_mode: Annotated[str, Choice("concat", "sum")] = "concat", num_args: Int = 1, workspace: Int = 512,
) -> Value:  # fmt: skip
    """(N, C, H, W) with every pixel repeated (nearest), or with a learned transposed convolution (bilinear).

    nearest takes several arrays, brings all of them to the size of the first one's result, and joins them along the
    channels or adds them. bilinear takes data and a weight (num_filter, 1, k, k), k = 2 scale - scale % 2.
    """
    if sample_type == "bilinear":
        if len(data) != 2:
            raise MXNetError(f"UpSampling(bilinear) takes data and weight, given {len(data)} arrays")
        kernel, pad = 2 * scale - scale % 2, scale // 2  # the ceiling of (scale - 1) / 2
        return F.Deconvolution(
            *data, kernel=(kernel,) * 2, stride=(scale,) * 2, pad=(pad,) * 2, num_filter=num_filter,
            num_group=num_filter, no_bias=True,
        )  # fmt: skip
    target = tuple(n * scale for n in data[0].shape[2:])
    grown = []
    for x in data:
        times = target[0] // x.shape[2]
        if tuple(n * times for n in x.shape[2:]) != target:
            raise MXNetError(f"UpSampling: data {x.shape} cannot be repeated to the size {target}")
        grown.append(F.repeat(F.repeat(x, repeats=times, axis=2), repeats=times, axis=3))
    if len(grown) == 1:
        return grown[0]
    return F.add_n(*grown) if multi_input_mode == "sum" else F.Concat(*grown, dim=1)


@infer(up_sampling)
def _up_sampling_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    if attrs["sample_type"] == "bilinear" and "arg1" in shapes:
        size = 2 * attrs["scale"] - attrs["scale"] % 2
        shapes["arg1"] = (attrs["num_filter"], 1, size, size)


@composite("Crop", real=True)
def crop(
    *data: Value, num_args: Int = 1, offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: Bool = False
) -> Any:
    """The window of (N, C, H, W) at `offset` (or in the middle) of size h_w, or of the size of a second array."""
    if len(data) not in (1, 2):
        raise MXNetError(f"Crop takes one or two arrays, given {len(data)}")
    size = data[0].shape[2:]
    target = data[1].shape[2:] if len(data) == 2 else h_w
    if center_crop:
        offset = tuple((n - t) // 2 for n, t in zip(size, target, strict=True))
    if any(t < 1 or o < 0 or o + t > n for n, t, o in zip(size, target, offset, strict=True)):
        raise MXNetError(f"Crop: a window of {target} at {offset} is not inside data of {size}")
    y, x = offset
    return _window(data[0], y, x, target)
