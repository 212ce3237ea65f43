"""Reductions and scans.

`axes` is a tuple of non-negative axes; the empty tuple reduces nothing. Results have the dtype of `x` unless `dtype`
says otherwise; float16 and bfloat16 accumulate in float32, integers in int64. Floor: one read of `x`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.base import MXNetError
from core.kernels.contracts.rules import empty, need_elements
from core.kernels.contracts.types import Ints
from core.kernels.dispatch import kernel


@kernel
def sum(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Sum over `axes`; integers keep their dtype (and wrap) unless `dtype` is given."""
    return _reduced(x, axes, keepdims, dtype or x.dtype)


@kernel
def mean(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Mean over `axes`; an integer mean is truncated towards zero. Over nothing: NaN, of integers 0."""
    return _reduced(x, axes, keepdims, dtype or x.dtype)


@kernel
def prod(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Product over `axes`."""
    return _reduced(x, axes, keepdims, dtype or x.dtype)


@kernel
def max(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Largest element over `axes`; NaN if there is one. Raises MXNetError where nothing is reduced over."""
    need_elements("max", x, axes)
    return _reduced(x, axes, keepdims, x.dtype)


@kernel
def min(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Smallest element over `axes`; NaN if there is one. Raises MXNetError where nothing is reduced over."""
    need_elements("min", x, axes)
    return _reduced(x, axes, keepdims, x.dtype)


@kernel
def nansum(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Sum over `axes` that counts NaN as 0."""
    return _reduced(x, axes, keepdims, dtype or x.dtype)


@kernel
def nanprod(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Product over `axes` that counts NaN as 1."""
    return _reduced(x, axes, keepdims, dtype or x.dtype)


@kernel
def all(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Whether every element over `axes` is non-zero (NaN is), as bool."""
    return _reduced(x, axes, keepdims, torch.bool)


@kernel
def any(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Whether some element over `axes` is non-zero (NaN is), as bool."""
    return _reduced(x, axes, keepdims, torch.bool)


@kernel
def norm(x: Tensor, ord: int, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Vector norm over `axes`: sum of absolute values (`ord` 1) or root of the sum of squares (`ord` 2).

    Integers give float32.
    """
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord={ord} was given; accepted are 1 and 2")
    return _reduced(x, axes, keepdims, x.dtype if x.is_floating_point() else torch.float32)


@kernel
def moments(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> tuple[Tensor, Tensor]:
    """Mean and biased variance over `axes`, of a floating-point `x`."""
    return _reduced(x, axes, keepdims, x.dtype), _reduced(x, axes, keepdims, x.dtype)


@kernel
def argmax(x: Tensor, axis: int, keepdims: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    """Index of the first largest element along `axis`, in `dtype`; of the first NaN where there is one."""
    need_elements("argmax", x, (axis,))
    return _reduced(x, (axis % x.dim(),), keepdims, dtype)


@kernel
def argmin(x: Tensor, axis: int, keepdims: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    """Index of the first smallest element along `axis`, in `dtype`; of the first NaN where there is one."""
    need_elements("argmin", x, (axis,))
    return _reduced(x, (axis % x.dim(),), keepdims, dtype)


@kernel
def cumsum(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    """Running sum along `axis`."""
    return empty(x.shape, dtype or x.dtype)


@kernel
def cumprod(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    """Running product along `axis`."""
    return empty(x.shape, dtype or x.dtype)


@kernel
def logsumexp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """log(sum(exp(x))) over `axes` of a floating-point `x`, the maximum subtracted; -inf over nothing."""
    return _reduced(x, axes, keepdims, x.dtype)


def _reduced(x: Tensor, axes: Ints, keepdims: bool, dtype: torch.dtype) -> Tensor:
    return empty([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes], dtype)
