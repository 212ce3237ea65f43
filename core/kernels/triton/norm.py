"""Normalisations in Triton."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.kernels.formula import Formula
from core.kernels.triton import _layer_norm, _per_channel
from core.kernels.triton._filled import full, zeros
from core.kernels.triton._fold import fold
from core.kernels.triton._moments import moments_of
from core.kernels.triton._types import in_type
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.pointwise import pointwise
from core.kernels.triton.tiles import accumulator


def batch_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    if x.numel() == 0:
        return torch.empty_like(x), *_no_statistics(x, (x.shape[axis],), eps)
    view = _per_channel.channels(x, axis)
    others = tuple(a for a in range(x.ndim) if a != axis)
    mean, rstd = moments_of(fold(view.x, others), accumulator(x.dtype), eps)
    return _per_channel.apply(view, gamma, beta, mean, rstd), mean, rstd


def batch_norm_inference(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> Tensor:
    return _per_channel.apply(_per_channel.channels(x, axis), gamma, beta, mean, var, eps)


def batch_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    view = _per_channel.channels(x, axis)
    dy = _laid_out_as(view.x, dy)
    sums = _per_channel.gradient_sums(view, dy, mean, rstd)
    dx = _per_channel.apply_gradient(view, dy, gamma, mean, rstd, sums)
    return dx, *_parameters(sums, gamma)


def batch_norm_inference_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    view = _per_channel.channels(x, axis)
    dy = _laid_out_as(view.x, dy)
    sums = _per_channel.gradient_sums(view, dy, mean, var, eps)
    dx = _per_channel.apply_gradient(view, dy, gamma, mean, var, None, eps)
    return dx, *_parameters(sums, gamma)


def _laid_out_as(x: Tensor, dy: Tensor) -> Tensor:
    """`dy` in the strides of `x`."""
    return dy if dy.stride() == x.stride() else write_(torch.empty_like(x), dy)


def move_statistics(
    moving_mean: Tensor, moving_var: Tensor, mean: Tensor, rstd: Tensor, momentum: float, eps: float
) -> None:
    moving_mean.copy_(pointwise(_MOVING_MEAN, (moving_mean, mean), (momentum,), moving_mean.dtype))
    moving_var.copy_(pointwise(_MOVING_VAR, (moving_var, rstd), (momentum, eps), moving_var.dtype))


_MOVING_MEAN = Formula.of(
    lambda moving, mean, *, momentum: moving * momentum + mean * (1.0 - momentum), name="moving_mean"
)
_MOVING_VAR = Formula.of(
    lambda moving, rstd, *, momentum, eps: moving * momentum + (1.0 / (rstd * rstd) - eps) * (1.0 - momentum),
    name="moving_var",
)


def layer_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    if x.numel() == 0:
        return torch.empty_like(x), *_no_statistics(x, [1 if a == axis else n for a, n in enumerate(x.shape)], eps)
    last, matrix = _rows(x, axis)
    if _layer_norm.fits(matrix.shape[1]):
        results = _layer_norm.forward(matrix, gamma, beta, eps)
    else:
        results = group_norm(matrix, gamma, beta, 1, eps)
    y, mean, rstd = (t.view(*last.shape[:-1], -1) for t in results)
    return _from_last(y, axis), _from_last(mean, axis), _from_last(rstd, axis)


def layer_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    if x.numel() == 0:
        return torch.empty_like(x), *_parameters(_no_sums(x, x.shape[axis]), gamma)
    last, matrix = _rows(x, axis)
    dy, mean, rstd = _rows(dy, axis)[1], _rows(mean, axis)[1], _rows(rstd, axis)[1]
    if _layer_norm.gradient_fits(matrix.shape[1]):
        dx, sums = _layer_norm.backward(dy, matrix, gamma, mean, rstd)
        dgamma, dbeta = _parameters(sums, gamma)
    else:
        dx, dgamma, dbeta = group_norm_grad(dy, matrix, gamma, mean, rstd, 1)
    return _from_last(dx.view(last.shape), axis), dgamma, dbeta


def group_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    shape = (x.shape[0], num_groups)
    if x.numel() == 0:
        return torch.empty_like(x), *_no_statistics(x, shape, eps)
    view = _per_channel.channels(x, 1)._replace(groups=num_groups)
    grouped = view.x.unflatten(1, (num_groups, -1))
    mean, rstd = moments_of(fold(grouped, tuple(range(2, grouped.ndim))), accumulator(x.dtype), eps)
    return _per_channel.apply(view, gamma, beta, mean, rstd), mean.view(shape), rstd.view(shape)


def group_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, num_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    if x.numel() == 0:
        return torch.empty_like(x), *_parameters(_no_sums(x, x.shape[1]), gamma)
    view = _per_channel.channels(x, 1)._replace(groups=num_groups)
    dy = _laid_out_as(view.x, dy)
    sums = _per_channel.gradient_sums(view, dy, mean, rstd)
    dx = _per_channel.apply_gradient(view, dy, gamma, mean, rstd, _per_channel.group_terms(view, gamma, sums))
    return dx, *_parameters(_per_channel.over_samples(view, sums), gamma)


def _parameters(sums: Tensor, gamma: Tensor | None) -> tuple[Tensor, Tensor]:
    """dgamma and dbeta from the sums (2, C) of dy xhat and of dy."""
    dgamma, dbeta = sums.unbind(0)
    dtype = sums.dtype if gamma is None else gamma.dtype
    return in_type(dgamma, dtype), in_type(dbeta, dtype)


def _no_statistics(x: Tensor, shape, eps: float) -> tuple[Tensor, Tensor]:
    mean = zeros(shape, accumulator(x.dtype), x.device)
    return mean, full(shape, 1 / math.sqrt(eps) if eps > 0 else math.inf, mean.dtype, x.device)


def _no_sums(x: Tensor, channels: int) -> Tensor:
    return zeros((2, channels), accumulator(x.dtype), x.device)


def _rows(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """`x` with `axis` last, and that as a contiguous matrix."""
    last = contiguous(x.transpose(axis, -1))
    return last, last.view(-1, last.shape[-1])


def _from_last(x: Tensor, axis: int) -> Tensor:
    return contiguous(x.transpose(axis, -1))
