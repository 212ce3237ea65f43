"""Pooling, for one to three spatial axes.

Shapes throughout: x (N, C, *spatial), y and dy (N, C, *out) with out = (size + lo + hi - kernel) // stride + 1;
`kernel` and `stride` are tuples with one entry per spatial axis, `pad` holds one pair (lo, hi) each. MXNet's "full"
convention is a larger hi. Operands may have any strides; channels-last operands give channels-last results.

Floor: the bytes of x and y (for the maximum also of the positions) once each: windows that overlap meet in the cache.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty, windows
from core.kernels.contracts.types import Ints, Pads
from core.kernels.dispatch import kernel


@kernel
def max_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, positions: bool = True) -> tuple[Tensor, Tensor | None]:
    """Maximum of each window, and (with `positions`) flat positions of the (first) maxima in the spatial extent of x.

    Positions are int64; on a GPU, where they come at no cost and always, int32 if they fit.
    A window that lies in the padding alone gives the lowest value of the dtype and position -1.
    """
    shape = (*x.shape[:2], *windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad))
    return empty(shape, x.dtype, x), empty(shape, torch.int64, x) if positions else None


@kernel
def max_pool_grad(dy: Tensor, argmax: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads) -> Tensor:
    """Gradient of `max_pool`: each dy (N, C, *out) is added at its position in a zero array of shape `x_shape`."""
    return empty(x_shape, dy.dtype, dy)


@kernel
def max_pool_gather(ddx: Tensor, argmax: Tensor) -> Tensor:
    """The adjoint of `max_pool_grad`: the values of ddx (N, C, *spatial) at `argmax` (N, C, *out); 0 at position -1."""
    return empty(argmax.shape, ddx.dtype, ddx)


@kernel
def avg_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    """Mean of each window, as MXNet counts it.

    With `count_include_pad` the divisor is the window clipped to the extent padded by lo on both sides,
    else the window clipped to x. A window that holds nothing gives 0. Integers truncate.
    """
    return empty((*x.shape[:2], *windows(x.shape[2:], kernel, stride, (1,) * len(kernel), pad)), x.dtype, x)


@kernel
def avg_pool_grad(dy: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    """Gradient of `avg_pool`: dy (N, C, *out) spread over its windows in an array of shape `x_shape`."""
    return empty(x_shape, dy.dtype, dy)
