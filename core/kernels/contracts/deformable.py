"""What the windows of deformable convolutions see (Dai et al., 2017; Zhu et al., 2019), and the gradients of it.

Every position of a window reads four neighbours with bilinear weights. Half types are computed in float32. Floor: the
bytes of the columns once each, which are as many as kernel positions times the output.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel


@kernel
def columns(
    x: Tensor, offset: Tensor, mask: Tensor | None, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    """x (N, C, H, W) at shifted positions: (N, C, positions of the kernel, windows).

    offset (N, groups positions 2, H', W'): shifts down and to the right for each of `groups` parts of the channels.
    Outside of x there are zeros, and the last row and column go on up to its edge; with a mask
    (N, groups positions, H', W'), by which the values are multiplied, x fades into zeros around it instead.
    """
    return empty((*x.shape[:2], kernel[0] * kernel[1], offset.shape[2] * offset.shape[3]), x.dtype)


@kernel
def columns_grad(
    dy: Tensor, x: Tensor, offset: Tensor, mask: Tensor | None, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints,
    groups: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of `columns` with respect to x, offset and mask (of no elements without one)."""
    fading = empty((0,) if mask is None else mask.shape, x.dtype)
    return empty(x.shape, x.dtype), empty(offset.shape, offset.dtype), fading
