"""Correlation of patches of two maps (Fischer et al., 2015).

Floor: C size^2 products an element of the result.
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.dispatch import kernel


@kernel
def correlate(
    first: Tensor, second: Tensor, size: int, reach: int, stride: int, step: int, pad: int, multiply: bool
) -> Tensor:
    """Means of products, or of absolute differences, of patches: (N, displacements, rows, columns).

    first, second (N, C, H, W), surrounded by `pad` zeros. Patches of size x size begin every `stride` positions from
    `reach` on; those of `second` are displaced by up to `reach` positions down and to the right, in steps of `step`.
    """
    out = [-(-(n + 2 * pad - 2 * (reach + size // 2)) // stride) for n in first.shape[2:]]
    fits(all(n > 0 for n in out), "the patches of a correlation are larger than the maps", first, second)
    return empty((first.shape[0], (2 * (reach // step) + 1) ** 2, *out), first.dtype)


@kernel
def correlate_grad(
    dy: Tensor, first: Tensor, second: Tensor, size: int, reach: int, stride: int, step: int, pad: int, multiply: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of `correlate` with respect to both maps."""
    return empty(first.shape, dy.dtype), empty(second.shape, dy.dtype)
