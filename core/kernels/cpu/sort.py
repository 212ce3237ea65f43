"""Sorting, top-k and unique (CPU wing). Ties keep the lower index first, in both directions."""

from __future__ import annotations

import torch

aten = torch.ops.aten

# Below this share of a row, selecting beats sorting the row.
_SELECT_SHARE = 8
_KEY_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
_SMALL_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32)


def sort(x, axis, descending):
    """Sorted `x` along `axis` and the int64 indices that sort it (stable; NaN counts as largest)."""
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def topk(x, k, axis, largest):
    """The `k` largest (or smallest) of `x` along `axis` in order, and their int64 indices."""
    if k * _SELECT_SHARE <= x.shape[axis] and k:
        values, indices = torch.topk(x, k, axis, largest, True)
        if x.is_meta:
            return values, indices
        if _no_choice(x, values, axis):
            # The right elements, and of equal ones in any order.
            indices = indices.sort(axis).values
            values, order = sort(x.gather(axis, indices), axis, largest)
            return values, indices.gather(axis, order)
        if x.dtype in _KEY_BITS or x.dtype in _SMALL_INTEGERS:
            return _topk_of_keys(x, k, axis, largest)
    values, indices = sort(x, axis, largest)
    return values.narrow(axis, 0, k).contiguous(), indices.narrow(axis, 0, k).contiguous()


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


def _no_choice(x, values, axis):
    """Whether no element outside the selection equals the last one inside; not where that is NaN."""
    last = values.narrow(axis, values.shape[axis] - 1, 1)
    return bool(((x == last).sum(axis) == (values == last).sum(axis)).all()) and not bool((last != last).any())


def _topk_of_keys(x, k, axis, largest):
    """One int64 key holds the value (order-preserving, upper half) and the index, so no two keys tie."""
    n = x.shape[axis]
    place = torch.arange(n, device=x.device)
    place = (0x7FFFFFFF - place if largest else place).reshape((n,) + (1,) * (x.dim() - 1 - axis))
    keys = _ordered(x).to(torch.int64).mul_(1 << 32).add_(place)
    keys = torch.topk(keys, k, axis, largest, True).values
    indices = keys.bitwise_and_(0xFFFFFFFF)
    indices = 0x7FFFFFFF - indices if largest else indices
    return x.gather(axis, indices), indices


def _ordered(x):
    """Integers that compare as the elements of `x` do: -0 equal to 0, NaN above all."""
    if x.dtype in _SMALL_INTEGERS:
        return x
    integer = _KEY_BITS[x.dtype]
    top = torch.iinfo(integer).max
    bits = (x + 0.0).view(integer)
    bits = torch.where(bits < 0, bits ^ top, bits)
    return torch.where(x == x, bits, top)
