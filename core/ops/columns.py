"""What the windows of a convolution see, as columns, over one, two or three axes; and columns added up again."""

import math
from typing import Any

from core import kernels
from core.base import MXNetError
from core.kernels.contracts.rules import windows
from core.ops.attributes import Shape
from core.ops.registry import F, gradient, operator
from core.ops.values import Gradients, Namespace, Tensor, Value

K, S = kernels.vision, kernels.shape


@operator("im2col")
def im2col(data: Tensor, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()) -> Tensor:
    """What the windows of a convolution see: (N, C positions of the kernel, windows) of data (N, C, ...).

    data has one to three axes behind the channels, as many as the kernel.
    """
    options = _options("im2col", tuple(data.shape[2:]), kernel, stride, dilate, pad)
    if len(kernel) < 3:
        return K.columns(S.reshape(data, (*data.shape[:2], *_two(data.shape[2:], 1))), *_planar(options))
    (batch, channels, depth), area = data.shape[:3], math.prod(kernel[1:])
    seen = K.columns(S.reshape(data, (batch, channels * depth, *data.shape[3:])), *_behind(options))
    seen = S.reshape(seen, (batch, channels, depth, area * seen.shape[2]))
    seen = K.columns(seen, *_in_front(options))
    seen = S.reshape(seen, (batch, channels * kernel[0], *_outcomes(data.shape[2:], options)[:1], area, -1))
    return S.reshape(S.permute(seen, (0, 1, 3, 2, 4)), (batch, channels * math.prod(kernel), -1))


@gradient(im2col)
def _im2col_gradient(dy: Value, data_shape: tuple[int, ...], attrs: Namespace) -> Gradients:
    return [F.col2im(dy, output_size=data_shape[2:], **vars(attrs))]


@operator("col2im")
def col2im(
    data: Tensor, *, output_size: Shape, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()
) -> Tensor:
    """Columns (N, C positions of the kernel, windows) added up where `im2col` takes them from: (N, C, *output_size)."""
    options = _options("col2im", output_size, kernel, stride, dilate, pad)
    if data.dim() != 3 or data.shape[1] % math.prod(kernel):
        raise MXNetError(
            f"col2im takes columns (N, C times {math.prod(kernel)} positions of the kernel, windows), given "
            f"{tuple(data.shape)}"
        )
    if len(kernel) < 3:
        image = K.columns_grad(data, _two(output_size, 1), *_planar(options))
        return S.reshape(image, (*image.shape[:2], *output_size))
    batch, channels, area = data.shape[0], data.shape[1] // math.prod(kernel), math.prod(kernel[1:])
    front, *plane = _outcomes(output_size, options)
    seen = S.reshape(data, (batch, channels * kernel[0], area, front, math.prod(plane)))
    seen = S.reshape(S.permute(seen, (0, 1, 3, 2, 4)), (batch, channels * kernel[0], -1))
    seen = K.columns_grad(seen, (output_size[0], area * math.prod(plane)), *_in_front(options))
    seen = S.reshape(seen, (batch, channels * output_size[0] * area, math.prod(plane)))
    return S.reshape(K.columns_grad(seen, output_size[1:], *_behind(options)), (batch, channels, *output_size))


@gradient(col2im)
def _col2im_gradient(dy: Value, attrs: Namespace) -> Gradients:
    options = {name: value for name, value in vars(attrs).items() if name != "output_size"}
    return [F.im2col(dy, **options)]


def _options(
    name: str, size: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> tuple[Any, ...]:  # fmt: skip
    """Kernel, stride, dilation and padding for each axis; MXNetError where they do not fit the extents."""
    n = len(size)
    options = (tuple(kernel), stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n)
    if not 1 <= n <= 3 or any(len(option) != n for option in options):
        raise MXNetError(
            f"{name} takes one to three extents behind the channels and as many lengths of the kernel, strides, "
            f"dilations and paddings, given {tuple(size)}, {', '.join(map(str, options))}"
        )
    return options


def _outcomes(size: Any, options: tuple[Any, ...]) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    kernel, stride, dilate, pad = options
    return windows(size, kernel, stride, dilate, [(p, p) for p in pad])


def _two(values: Any, front: int) -> tuple[int, ...]:
    return (front, *values) if len(values) == 1 else tuple(values)


def _planar(options: tuple[Any, ...]) -> list[Any]:
    """The options over two axes, of which the first is of length 1 where there was one."""
    return [_two(option, front) for option, front in zip(options, (1, 1, 1, 0), strict=True)]


def _behind(options: tuple[Any, ...]) -> list[Any]:
    return [option[1:] for option in options]


def _in_front(options: tuple[Any, ...]) -> list[Any]:
    """The options of the first of three axes, beside an axis that stays as it is."""
    return [(option[0], still) for option, still in zip(options, (1, 1, 1, 0), strict=True)]
