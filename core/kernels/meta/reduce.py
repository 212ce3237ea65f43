"""Rules for the kernels of `reduce` on tensors without memory."""

from functools import partial

import torch

from core.base import MXNetError
from core.kernels.meta.base import empty, enter, fits, need_elements


@enter("reduce", "sum", "mean", "prod", "nansum", "nanprod", "logsumexp")
def reduction(x, axes, keepdims, dtype=None):
    return _reduced(x, axes, keepdims, dtype or x.dtype)


def extreme(name, x, axes, keepdims):
    fits(all(x.shape[a] for a in axes), f"{name} over nothing", x)
    return _reduced(x, axes, keepdims, x.dtype)


@enter("reduce", "all", "any")
def truth(x, axes, keepdims):
    return _reduced(x, axes, keepdims, torch.bool)


@enter("reduce")
def norm(x, ord, axes, keepdims):
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord={ord} was given; accepted are 1 and 2")
    return _reduced(x, axes, keepdims, x.dtype if x.is_floating_point() else torch.float32)


@enter("reduce")
def moments(x, axes, keepdims):
    return _reduced(x, axes, keepdims, x.dtype), _reduced(x, axes, keepdims, x.dtype)


@enter("reduce", "cumsum", "cumprod")
def running(x, axis, dtype=None):
    return empty(x.shape, dtype or x.dtype)


def _reduced(x, axes, keepdims, dtype):
    return empty([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes], dtype)


def place(name, x, axis, keepdims, dtype=torch.int64):
    need_elements(name, x, (axis,))
    return _reduced(x, (axis % x.dim(),), keepdims, dtype)


for _rule, _names in ((extreme, ("max", "min")), (place, ("argmax", "argmin"))):
    for _name in _names:
        enter("reduce", _name)(partial(_rule, _name))
