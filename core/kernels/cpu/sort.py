"""Sorting, top-k and unique (CPU wing). Ties keep the lower index first, in both directions."""

from __future__ import annotations

import numpy as np
import torch

from core.kernels.cpu._numpy import NUMPY, is_ahead

aten = torch.ops.aten

# Below this share of a row, selecting beats sorting the row.
_SELECT_SHARE = 8
_STRIDE = 16
_KEY_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
_SMALL_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32)


def sort(x, axis, descending):
    """Sorted `x` along `axis` and the int64 indices that sort it (stable; NaN counts as largest)."""
    if is_ahead(x) and (x.dtype in _KEY_BITS or x.dtype in _SMALL_INTEGERS):
        keys = torch.from_numpy(np.sort(_keys(x, axis, descending).numpy(), axis))
        indices = _places(keys.flip(axis) if descending else keys, descending)
        return x.gather(axis, indices), indices
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def sort_values(x, axis, descending):
    """Sorted `x` along `axis`; of equal elements, -0 and 0 among them, any may come first."""
    if not is_ahead(x) or x.dtype is torch.bfloat16:
        return sort(x, axis, descending)[0]
    values = torch.from_numpy(np.sort(x.contiguous().numpy(), axis))
    return values.flip(axis) if descending else values


def topk(x, k, axis, largest):
    """The `k` largest (or smallest) of `x` along `axis` in order, and their int64 indices; both may be views."""
    if _is_small(x):
        indices = topk_indices(x, k, axis, largest)
        return x.gather(axis, indices), indices
    if k * _SELECT_SHARE <= x.shape[axis] and k and k < x.shape[axis]:
        if x.is_meta:
            return torch.topk(x, k, axis, largest, True)
        values, indices = _select(x, k + 1, axis, largest)  # one more shows whether there was a choice
        first, second, indices = values.narrow(axis, 0, k), values.narrow(axis, 1, k), indices.narrow(axis, 0, k)
        ordered = first > second if largest else first < second  # false for NaN too
        if bool(ordered.all()):
            return first, indices
        if bool(ordered.select(axis, k - 1).all()):
            # The right elements, and of equal ones in any order.
            indices = indices.sort(axis).values
            values, order = sort(x.gather(axis, indices), axis, largest)
            return values, indices.gather(axis, order)
        if x.dtype in _KEY_BITS or x.dtype in _SMALL_INTEGERS:
            return _topk_of_keys(x, k, axis, largest)
    values, indices = sort(x, axis, largest)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def topk_indices(x, k, axis, largest, dtype=torch.int64):
    """The indices alone that `topk` gives, in `dtype`."""
    if not _is_small(x):
        indices = topk(x, k, axis, largest)[1]
        return indices if dtype is torch.int64 else indices.type(dtype)
    lead = (slice(None),) * axis
    rows, first = x.numpy(), (*lead, slice(k))
    if largest:  # from the end: of equal elements, the one that comes first is still to win
        back = (*lead, slice(None, None, -1))
        places = (x.shape[axis] - 1) - rows[back].argsort(axis, "stable")[back][first]
    else:
        places = rows.argsort(axis, "stable")[first]
    if dtype in NUMPY:
        return torch.from_numpy(places.astype(NUMPY[dtype]))
    return torch.from_numpy(places).type(dtype)


def unique(x, axis=None):
    """Sorted distinct elements (`axis` None: of the flattened array) or slices along `axis`.

    Returns (values, index of the first occurrence, inverse, counts), the last three int64; sizes depend on the data.
    """
    if axis is None:
        values, inverse, counts = aten._unique2(x, True, True, True)
        inverse = inverse.reshape(-1)
    else:
        values, inverse, counts = aten.unique_dim(x, axis, True, True, True)
    first = torch.full(counts.shape, inverse.numel(), dtype=torch.int64, device=x.device)
    first.scatter_reduce_(0, inverse, torch.arange(inverse.numel(), device=x.device), "amin")
    return values, first, inverse, counts


def _is_small(x):
    """Whether NumPy has sorted `x` before ATen has begun."""
    return x.numel() < 1 << 12 and not x.is_meta and x.dtype is not torch.bfloat16


def _select(x, k, axis, largest):
    """The `k` largest (or smallest) of `x` along `axis` in order, and their indices; of equal ones any.

    Long rows are thinned out first: of `_STRIDE` elements each, a row's length / `_STRIDE` apart, the extremes are compared
    by vectors, and the `k` that are ahead name the elements among which to choose.
    """
    n = x.shape[axis]
    if axis != x.dim() - 1 or n % _STRIDE or n < 16 * _STRIDE * k or not x.is_contiguous():
        return torch.topk(x, k, axis, largest, True)
    parted = x.view(*x.shape[:-1], _STRIDE, n // _STRIDE)
    extremes = parted.amax(-2) if largest else parted.amin(-2)
    columns = extremes.topk(k, -1, largest, False).indices.unsqueeze(-2).expand(*x.shape[:-1], _STRIDE, k)
    places = columns + torch.arange(0, n, n // _STRIDE, device=x.device).unsqueeze(-1)
    values, chosen = parted.gather(-1, columns).flatten(-2).topk(k, -1, largest, True)
    return values, places.flatten(-2).gather(-1, chosen)


def _topk_of_keys(x, k, axis, largest):
    indices = _places(torch.topk(_keys(x, axis, largest), k, axis, largest, True).values, largest)
    return x.gather(axis, indices), indices


def _keys(x, axis, descending):
    """One int64 holds the value (order-preserving, upper half) and the index, so no two keys tie, and of equal values the first
    comes first in the given direction."""
    n = x.shape[axis]
    place = torch.arange(n, device=x.device)
    place = (0x7FFFFFFF - place if descending else place).reshape((n,) + (1,) * (x.dim() - 1 - axis))
    return _ordered(x).to(torch.int64).mul_(1 << 32).add_(place)


def _places(keys, descending):
    """The indices that keys hold."""
    indices = keys.bitwise_and(0xFFFFFFFF)
    return 0x7FFFFFFF - indices if descending else indices


def _ordered(x):
    """Integers that compare as the elements of `x` do: -0 equal to 0, NaN above all."""
    if x.dtype in _SMALL_INTEGERS:
        return x
    integer = _KEY_BITS[x.dtype]
    top = torch.iinfo(integer).max
    bits = (x + 0.0).view(integer)
    bits = torch.where(bits < 0, bits ^ top, bits)
    return torch.where(x == x, bits, top)
