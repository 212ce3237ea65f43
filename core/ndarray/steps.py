"""Steps of optimizers that MXNet 2 added, on arrays: AdaBelief and LANS. Means and variances are changed in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from core.ndarray.ndarray import NDArray
from core.ops.registry import F

Arrays = Sequence[NDArray]
Updated = Any  # the array that was written to, or a list of those
Out = NDArray | Arrays | None
Scale = NDArray | float


def adabelief(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float,
    eta: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    wd: float,
    clip_gradient: float | None,
    rescale_grad: float,
) -> NDArray:
    """The weight after a step of AdaBelief (Zhuang et al., 2020), eta lr mean / (sqrt(var) + epsilon) long.

    The variance is that around the mean, plus epsilon in every step. The decay is part of the gradient.
    """
    grad = _clipped(grad * rescale_grad + wd * weight, clip_gradient)
    mean[:] = beta1 * mean + (1.0 - beta1) * grad
    var[:] = beta2 * var + (1.0 - beta2) * (grad - mean) ** 2 + epsilon
    return weight - eta * lr * mean / (var.sqrt() + epsilon)


def lans(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    t: float,
    lr: float,
    wd: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    lower_bound: float | None,
    upper_bound: float | None,
    clip_gradient: float | None,
    rescale_grad: float,
) -> NDArray:
    """The weight after step t of LANS (Zheng et al., 2020): LAMB with normalised gradients and Nesterov's momentum."""
    grad = grad * rescale_grad
    norm = grad.norm()
    grad = _clipped(grad / F.where(norm > 0, norm, norm.ones_like()), clip_gradient)  # zeros have no direction
    mean[:] = beta1 * mean + (1.0 - beta1) * grad
    var[:] = beta2 * var + (1.0 - beta2) * grad**2
    length = weight.norm()
    if _is_on(lower_bound) or _is_on(upper_bound):
        length = length.clip(
            lower_bound if _is_on(lower_bound) else 0.0, upper_bound if _is_on(upper_bound) else math.inf
        )
    root = (var / (1.0 - beta2**t)).sqrt() + epsilon
    directions = mean / (1.0 - beta1**t) / root + wd * weight, grad / root + wd * weight
    for direction, share in zip(directions, (beta1, 1.0 - beta1), strict=True):
        # A weight of zeros, or one that does not move, has no ratio: its direction stays as it is.
        ratio = length / direction.norm()
        ratio = F.where((ratio > 0) * (ratio < math.inf), ratio, ratio.ones_like())
        weight = weight - lr * share * ratio * direction
    return weight


def adabelief_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: Scale, lr: float, eta: float,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0.0,
    clip_gradient: float | None = -1.0, out: Out = None, name: str | None = None,
) -> Updated:  # fmt: skip
    """One step of AdaBelief; `rescale_grad` is a number or an array of one, and no step is made where it is 0 or not finite."""
    given = lr, eta, beta1, beta2, epsilon, wd, clip_gradient
    return _written(out, _believed(weight, grad, mean, var, None, rescale_grad, *given))


def mp_adabelief_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: Scale, lr: float,
    eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0.0,
    clip_gradient: float | None = -1.0, out: Out = None, name: str | None = None,
) -> Updated:  # fmt: skip
    """`adabelief_update` for a half-precision weight with a float32 master weight."""
    given = lr, eta, beta1, beta2, epsilon, wd, clip_gradient
    return _written(out, _believed(weight, grad, mean, var, weight32, rescale_grad, *given))


def multi_adabelief_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, rescale_grad: Scale, lrs: Sequence[float],
    wds: Sequence[float], etas: Sequence[float], out: Out = None, name: str | None = None, size: int = 0,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, clip_gradient: float | None = -1.0,
) -> Updated:  # fmt: skip
    """`adabelief_update` of several weights; the kinds of arrays come as lists, as do rates and decays."""
    masters = [None] * len(weights)
    return multi_mp_adabelief_update(
        weights, grads, mean, var, masters, rescale_grad, lrs, wds, etas, out, name, size, beta1, beta2, epsilon,
        clip_gradient
    )  # fmt: skip


def multi_mp_adabelief_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Sequence[NDArray | None],
    rescale_grad: Scale, lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], out: Out = None,
    name: str | None = None, size: int = 0, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    clip_gradient: float | None = -1.0,
) -> Updated:  # fmt: skip
    """`multi_adabelief_update` of half-precision weights with float32 master weights."""
    _check_count("multi_adabelief_update", "size", size, weights)
    kinds = weights, grads, mean, var, weights32, lrs, wds, etas
    new = [
        _believed(w, g, m, v, master, rescale_grad, lr, eta, beta1, beta2, epsilon, wd, clip_gradient)
        for w, g, m, v, master, lr, wd, eta in zip(*kinds, strict=True)
    ]
    return _written(out, new)


def multi_lans_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, step_count: Sequence[float], lrs: Sequence[float],
    wds: Sequence[float], out: Out = None, num_tensors: int = 0, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-6, rescale_grad: float = 1.0, lower_bound: float | None = -1.0,
    upper_bound: float | None = -1.0, clip_gradient: float | None = -1.0, name: str | None = None,
) -> Updated:  # fmt: skip
    """One step of LANS for several weights; the kinds of arrays come as lists, as do rates, decays and numbers of steps."""
    masters = [None] * len(weights)
    return multi_mp_lans_update(
        weights, grads, mean, var, masters, step_count, lrs, wds, out, num_tensors, beta1, beta2, epsilon, rescale_grad,
        lower_bound, upper_bound, clip_gradient,
    )  # fmt: skip


def multi_mp_lans_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Sequence[NDArray | None],
    step_count: Sequence[float], lrs: Sequence[float], wds: Sequence[float], out: Out = None, num_tensors: int = 0,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6, rescale_grad: float = 1.0,
    lower_bound: float | None = -1.0, upper_bound: float | None = -1.0, clip_gradient: float | None = -1.0,
    name: str | None = None,
) -> Updated:  # fmt: skip
    """`multi_lans_update` of half-precision weights with float32 master weights."""
    _check_count("multi_lans_update", "num_tensors", num_tensors, weights)
    how = beta1, beta2, epsilon, lower_bound, upper_bound, clip_gradient, rescale_grad
    kinds = weights, grads, mean, var, weights32, step_count, lrs, wds
    new = [
        _mastered(lans, w, g, m, v, master, t, lr, wd, *how)
        for w, g, m, v, master, t, lr, wd in zip(*kinds, strict=True)
    ]
    return _written(out, new)


def _check_count(function: str, argument: str, told: int, weights: Arrays) -> None:
    """ValueError where the number of weights is told and is another one."""
    if told not in (0, len(weights)):
        raise ValueError(f"{function}: {argument}={told}, but {len(weights)} weights are given")


def _believed(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    master: NDArray | None,
    rescale_grad: Scale,
    *given: Any,
) -> NDArray:
    scale = rescale_grad.asscalar() if isinstance(rescale_grad, NDArray) else rescale_grad
    if not scale or not math.isfinite(scale):  # a loss scale that overflowed
        return weight.copy()
    return _mastered(adabelief, weight, grad, mean, var, master, *given, float(scale))


def _mastered(
    step: Callable[..., NDArray], weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, master: NDArray | None,
    *given: Any,
) -> NDArray:  # fmt: skip
    """The weight after a step, which its master copy makes where there is one."""
    if master is None:
        return step(weight, grad, mean, var, *given)
    master[:] = step(master, grad.astype(master.dtype), mean, var, *given)
    return master.astype(weight.dtype)


def _written(out: Out, new: NDArray | list[NDArray]) -> Updated:
    if out is None:
        return new
    targets, sources = (v if isinstance(v, (list, tuple)) else [v] for v in (out, new))
    for target, source in zip(targets, sources, strict=True):
        target[:] = source
    return out


def _clipped(grad: NDArray, bound: float | None) -> NDArray:
    return grad.clip(-bound, bound) if _is_on(bound) else grad


def _is_on(bound: float | None) -> TypeGuard[float]:
    return bound is not None and bound > 0
