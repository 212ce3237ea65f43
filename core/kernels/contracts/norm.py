"""Batch, layer and group normalisation, forward and backward.

Statistics (`mean`, `rstd` = 1 / sqrt(variance + eps), biased variance) are float32, float64 for float64 inputs.
`gamma` (None: 1) and `beta` (None: 0) may have another dtype than `x`; their gradients have the dtype of `gamma`
(of the statistics if it is None). Channels-last inputs give channels-last results.

Floor: layer norm reads and writes each tensor once (2 bytes(x) forward, 3 backward). Batch and group norm need the
statistics of far elements before the first result: a second read of `x` forward (3 bytes(x), from the L2 cache
while x fits there) and of `dy` and `x` backward (5 bytes(x)).
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.dispatch import kernel
from core.kernels.precision import wide_type


@kernel
def batch_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) rstd gamma + beta with statistics over all axes but `axis`; returns (y, mean, rstd).

    Source: Ioffe and Szegedy, 2015. `gamma`, `beta`, `mean` and `rstd` have shape (x.shape[axis],). Without elements
    the statistics are 0 and 1 / sqrt(eps).
    """
    _channels(x, axis, gamma, beta)
    kind = wide_type(x.dtype)
    return empty(x.shape, x.dtype, x), empty((x.shape[axis],), kind), empty((x.shape[axis],), kind)


@kernel
def batch_norm_inference(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> Tensor:
    """(x - mean) / sqrt(var + eps) gamma + beta with given statistics of shape (x.shape[axis],)."""
    _channels(x, axis, gamma, beta, mean, var)
    return empty(x.shape, x.dtype, x)


@kernel
def batch_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `batch_norm`, from its input and the statistics that it returned."""
    return _grads(x, gamma, x.shape[axis])


@kernel
def batch_norm_inference_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `batch_norm_inference`; the statistics are constants."""
    return _grads(x, gamma, x.shape[axis])


@kernel
def move_statistics(
    moving_mean: Tensor, moving_var: Tensor, mean: Tensor, rstd: Tensor, momentum: float, eps: float
) -> None:
    """A step of running statistics, in place: moving = moving momentum + batch (1 - momentum), where the batch's
    variance is 1 / rstd^2 - eps. All have shape (C,).
    """
    return None


@kernel
def layer_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) rstd gamma + beta with statistics along `axis`; returns (y, mean, rstd).

    Source: Ba, Kiros and Hinton, 2016. `gamma` and `beta` have shape (x.shape[axis],), `mean` and `rstd` the shape of
    `x` with 1 for `axis`.
    """
    _channels(x, axis, gamma, beta)
    shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
    return empty(x.shape, x.dtype), empty(shape, wide_type(x.dtype)), empty(shape, wide_type(x.dtype))


@kernel
def layer_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `layer_norm`, from its input and the statistics that it returned."""
    dx, dgamma, dbeta = _grads(x, gamma, x.shape[axis])
    return empty(x.shape, x.dtype), dgamma, dbeta


@kernel
def group_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) rstd gamma + beta with statistics over each of `num_groups` groups of channels of each sample.

    Source: Wu and He, 2018. `x` (N, C, ...), `gamma` and `beta` (C,); returns (y, mean, rstd), the statistics (N, G).
    """
    _channels(x, 1, gamma, beta)
    fits(x.shape[1] % num_groups == 0, f"{num_groups} groups", x)
    shape = (x.shape[0], num_groups)
    return empty(x.shape, x.dtype, x), empty(shape, wide_type(x.dtype)), empty(shape, wide_type(x.dtype))


@kernel
def group_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, num_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `group_norm`, from its input and the statistics that it returned."""
    return _grads(x, gamma, x.shape[1])


def _channels(x: Tensor, axis: int, *parameters: Tensor | None) -> None:
    given = [p for p in parameters if p is not None]
    fits(all(tuple(p.shape) == (x.shape[axis],) for p in given), "a normalisation", x, *given)


def _grads(x: Tensor, gamma: Tensor | None, size: int) -> tuple[Tensor, Tensor, Tensor]:
    kind = wide_type(x.dtype) if gamma is None else gamma.dtype
    return empty(x.shape, x.dtype, x), empty((size,), kind), empty((size,), kind)
