"""Normalisations on the CPU."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from core.kernels.cpu._direct import direct
from core.kernels.cpu._half import HALF
from core.kernels.layout import laid_out_as
from core.kernels.precision import wide_type

aten = torch.ops.aten
_batch_norm_backward = direct(aten.native_batch_norm_backward.default)
_layer_norm_backward = direct(aten.native_layer_norm_backward.default)
_group_norm_backward = direct(aten.native_group_norm_backward.default)


def batch_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    stat = wide_type(x.dtype)
    if x.numel() == 0:
        channels = x.shape[axis]
        mean = torch.zeros(channels, dtype=stat, device=x.device)
        return torch.empty_like(x), mean, torch.full_like(mean, _rsqrt(eps))
    rows = _channels_second(x, axis)
    gamma, beta = _affine(x, gamma, beta, x.shape[axis])
    y, mean, rstd = torch.native_batch_norm(rows, gamma, beta, None, None, True, 0.0, eps)
    return _restore(y, x, axis), mean, rstd


def batch_norm_inference(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> Tensor:
    if x.numel() == 0:
        return torch.empty_like(x)
    size = x.shape[axis]
    gamma, beta = _affine(x, gamma, beta, size)
    mean, var = _affine(x, mean, var, size)
    if axis == 1 and x.is_contiguous():
        return torch.native_batch_norm(x, gamma, beta, mean, var, False, 0.0, eps)[0]
    y = torch.native_batch_norm(_channels_second(x, axis), gamma, beta, mean, var, False, 0.0, eps)[0]
    return _restore(y, x, axis)


def batch_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    return _batch_norm_grad(dy, x, gamma, None, None, mean, rstd, True, axis, 0.0)


def batch_norm_inference_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, var: Tensor, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    return _batch_norm_grad(dy, x, gamma, _cast(mean, x), _cast(var, x), None, None, False, axis, eps)


def move_statistics(
    moving_mean: Tensor, moving_var: Tensor, mean: Tensor, rstd: Tensor, momentum: float, eps: float
) -> None:
    _move(moving_mean, mean, momentum)
    _move(moving_var, rstd.pow(-2).sub_(_number(eps, rstd.dtype)), momentum)


def layer_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    size = x.shape[axis]
    if x.numel() == 0:
        stat = wide_type(x.dtype)
        mean = torch.zeros([1 if a == axis else n for a, n in enumerate(x.shape)], dtype=stat, device=x.device)
        return torch.empty_like(x), mean, torch.full_like(mean, _rsqrt(eps))
    gamma, beta = _affine(x, gamma, beta, size)
    if axis == x.ndim - 1:
        return torch.native_layer_norm(x, [size], gamma, beta, eps)
    y, mean, rstd = torch.native_layer_norm(_to_last(x, axis), [size], gamma, beta, eps)
    return _from_last(y, axis), _from_last(mean, axis), _from_last(rstd, axis)


def layer_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor]:
    size = x.shape[axis]
    if x.numel() == 0:
        return _no_grads(x, gamma, size)
    scale, shift = _affine_for_grad(x, gamma, size)
    # ATen adds up the parameters' gradients in the dtype of x: a bfloat16 sum over 8,192 rows was off by 87 %.
    stat = wide_type(x.dtype)
    dx, dgamma, dbeta = _layer_norm_backward(
        _to_last(dy.to(stat), axis).contiguous(),  # ATen reads the rows as if they were contiguous
        _to_last(x.to(stat), axis).contiguous(),
        [size],
        _to_last(mean, axis).contiguous(),
        _to_last(rstd, axis).contiguous(),
        scale,
        shift,
        [True] * 3,
    )
    if size == 1:
        # One element is its own mean. ATen's cancelling terms, each of the size of rstd, would leave rounding errors.
        dx, dgamma = torch.zeros_like(dx), torch.zeros_like(dgamma)
    return _from_last(dx.to(x.dtype), axis), _like_gamma(dgamma, gamma), _like_gamma(dbeta, gamma)


def group_norm(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    n, c = x.shape[:2]
    if x.numel() == 0:
        mean = torch.zeros((n, num_groups), dtype=wide_type(x.dtype), device=x.device)
        return torch.empty_like(x), mean, torch.full_like(mean, _rsqrt(eps))
    gamma, beta = _affine(x, gamma, beta, c)
    y, mean, rstd = torch.native_group_norm(_dense(x), gamma, beta, n, c, math.prod(x.shape[2:]), num_groups, eps)
    stat = wide_type(x.dtype)  # what ATen gives but on `meta`
    return y, mean.to(stat), rstd.to(stat)


def group_norm_grad(
    dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor, num_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    n, c = x.shape[:2]
    if x.numel() == 0:
        return _no_grads(x, gamma, c)
    scale, _ = _affine_for_grad(x, gamma, c)
    x = _dense(x)
    dx, dgamma, dbeta = _group_norm_backward(
        laid_out_as(x, dy), x, mean, rstd, scale, n, c, math.prod(x.shape[2:]), num_groups, [True] * 3
    )
    return dx, _like_gamma(dgamma, gamma), _like_gamma(dbeta, gamma)


def _batch_norm_grad(dy, x, gamma, running_mean, running_var, mean, rstd, training, axis, eps):
    if x.numel() == 0:
        return _no_grads(x, gamma, x.shape[axis])
    rows = _channels_second(x, axis)
    dx, dgamma, dbeta = _batch_norm_backward(
        laid_out_as(rows, _channels_second(dy, axis)),
        rows,
        _affine_for_grad(x, gamma, x.shape[axis])[0],
        running_mean,
        running_var,
        mean,
        rstd,
        training,
        eps,
        [True] * 3,
    )
    return _restore(dx, x, axis), _like_gamma(dgamma, gamma), _like_gamma(dbeta, gamma)


def _move(moving: Tensor, batch: Tensor, momentum: float) -> None:
    if moving.dtype in HALF:  # rounded once
        moving.copy_(moving.float().mul_(momentum).add_(batch, alpha=1.0 - momentum))
    else:
        moving.mul_(_number(momentum, moving.dtype)).add_(batch, alpha=1.0 - momentum)  # lerp makes NaN of infinities


@functools.lru_cache(64)
def _number(value: float, dtype: torch.dtype) -> Tensor:
    """A number as a tensor: ATen takes as long to make one of a Python number as to compute with it."""
    return torch.tensor(value, dtype=dtype)


def _rsqrt(eps: float) -> float:
    return 1 / math.sqrt(eps) if eps > 0 else math.inf


def _cast(t: Tensor | None, x: Tensor) -> Tensor | None:
    """`t` in the dtype of the statistics of `x`, which ATen's mixed-precision kernels accept, and without steps, which
    its backward kernels overlook."""
    if t is None:
        return None
    kind = wide_type(x.dtype)
    t = t if t.dtype is kind else t.to(kind)
    return t if t.is_contiguous() else t.contiguous()


def _affine(x: Tensor, gamma: Tensor | None, beta: Tensor | None, size: int) -> tuple[Tensor | None, Tensor | None]:
    """Scale and shift as ATen wants them. For half inputs both must be there: they are what makes it keep the
    statistics in float32."""
    kind = x.dtype
    if kind in HALF:
        gamma = torch.ones(size, dtype=torch.float32, device=x.device) if gamma is None else gamma
        beta = torch.zeros(size, dtype=torch.float32, device=x.device) if beta is None else beta
    elif gamma is not None and beta is not None and gamma.dtype is beta.dtype is kind:
        if gamma.is_contiguous() and beta.is_contiguous():
            return gamma, beta
    return _cast(gamma, x), _cast(beta, x)


def _affine_for_grad(x: Tensor, gamma: Tensor | None, size: int) -> tuple[Tensor, Tensor]:
    """The gradients of scale and shift are made only if ATen is shown both; the shift's values are not read."""
    scale = torch.ones(size, dtype=wide_type(x.dtype), device=x.device) if gamma is None else _cast(gamma, x)
    return scale, scale


def _like_gamma(grad: Tensor, gamma: Tensor | None) -> Tensor:
    return grad if gamma is None or grad.dtype is gamma.dtype else grad.to(gamma.dtype)


def _no_grads(x: Tensor, gamma: Tensor | None, size: int) -> tuple[Tensor, Tensor, Tensor]:
    like = torch.zeros(size, dtype=wide_type(x.dtype), device=x.device) if gamma is None else gamma
    return torch.empty_like(x), torch.zeros_like(like), torch.zeros_like(like)


def _channels_second(x: Tensor, axis: int) -> Tensor:
    """`x` with the normalised axis second, where ATen has it, and dense: on other strides ATen is slow, and
    imprecise in bfloat16."""
    if axis == 1:
        return _dense(x)
    if axis == x.ndim - 1:
        return x.reshape(-1, x.shape[axis])
    return x.movedim(axis, 1).contiguous()


def _restore(y: Tensor, x: Tensor, axis: int) -> Tensor:
    """Undoes `_channels_second`."""
    if axis == 1:
        return y
    if axis == x.ndim - 1:
        return y.reshape(x.shape)
    return y.movedim(1, axis).contiguous()


def _to_last(x: Tensor, axis: int) -> Tensor:
    return x if axis == x.ndim - 1 else x.transpose(axis, -1)


def _from_last(x: Tensor, axis: int) -> Tensor:
    return x if axis == x.ndim - 1 else x.transpose(axis, -1).contiguous()


def _dense(x: Tensor) -> Tensor:
    """`x`, copied unless it is contiguous or channels-last."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim)
    if last and x.is_contiguous(memory_format=last):
        return x
    return x.contiguous()
