"""Sorting, top-k and unique. Ties keep the lower index first, in both directions; NaN counts as largest.

Floor: one read of the row and one write of values and indices.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import depends_on_values, empty
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel


@kernel
def sort(x: Tensor, axis: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Sorted `x` along `axis` and the int64 indices that sort it (stable; NaN counts as largest)."""
    return empty(x.shape, x.dtype), empty(x.shape, torch.int64)


@kernel
def sort_values(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Sorted `x` along `axis`; on a CPU of equal elements, -0 and 0 among them, any may come first."""
    return empty(x.shape, x.dtype)


@kernel
def topk(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) of `x` along `axis` in order, and their int64 indices; both may be views."""
    shape = _chosen(x, k, axis)
    return empty(shape, x.dtype), empty(shape, torch.int64)


@kernel
def topk_indices(x: Tensor, k: int, axis: int, largest: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    """The indices alone that `topk` gives, in `dtype` and row-major memory."""
    return empty(_chosen(x, k, axis), dtype)


@kernel
def unique(x: Tensor, axis: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sorted distinct elements (`axis` None: of the flattened array) or slices along `axis`.

    Returns (values, index of the first occurrence, inverse, counts), the last three int64; sizes depend on the data.
    """
    raise depends_on_values("sort.unique")


def _chosen(x: Tensor, k: int, axis: int) -> Ints:
    return tuple(k if a == axis % x.dim() else n for a, n in enumerate(x.shape))
