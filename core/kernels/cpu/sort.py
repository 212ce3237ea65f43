"""Sorting, top-k and unique on the CPU, through NumPy where that is ahead of ATen."""

from __future__ import annotations

import functools
import threading

import numpy as np
import torch

from core.kernels.cpu._numpy import NUMPY, is_ahead

aten = torch.ops.aten

# Below this share of a row, selecting beats sorting the row.
_SELECT_SHARE = 8
_STRIDE = 16
_KEY_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
_PARALLEL = 1 << 20  # elements whose sorting pays for threads of its own, beside those of ATen that wait for work
_SHORT = 256
_SMALL = 1 << 12  # elements below which NumPy has sorted before ATen has begun
_SMALL_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32)


def sort(x, axis, descending):
    if is_ahead(x) and (x.dtype in _KEY_BITS or x.dtype in _SMALL_INTEGERS):
        keys = _keys(x, axis, descending).contiguous()
        _sort(keys.numpy(), axis)
        indices = _positions(keys.flip(axis) if descending else keys, descending)
        return x.gather(axis, indices), indices
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def sort_values(x, axis, descending):
    if not is_ahead(x) or x.dtype is torch.bfloat16:
        return sort(x, axis, descending)[0]
    values = x.clone(memory_format=torch.contiguous_format)
    _sort(values.numpy(), axis)
    return values.flip(axis) if descending else values


def topk(x, k, axis, largest):
    if x.numel() < _SMALL and x.dtype is not torch.bfloat16:
        indices = topk_indices(x, k, axis, largest)
        return x.gather(axis, indices), indices
    if k * _SELECT_SHARE <= x.shape[axis] and k and k < x.shape[axis]:
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
    if x.numel() >= _SMALL or x.dtype is torch.bfloat16:  # NumPy would give memory of its own to what is shared
        indices = topk(x, k, axis, largest)[1]
        return (indices if dtype is torch.int64 else indices.type(dtype)).contiguous()
    rows, kind = x.numpy(), NUMPY.get(dtype)
    backwards, last, first, countdown = _parts(rows.shape[axis], k, axis, kind)
    if largest:  # from the end: of equal elements, the one that comes first is still to win
        positions = countdown.take(rows[backwards].argsort(axis, "stable")[last])
    else:
        positions = rows.argsort(axis, "stable")[first].astype(kind or np.int64, "C")
    return torch.from_numpy(positions) if kind is not None else torch.from_numpy(positions).type(dtype)


def unique(x, axis=None):
    if axis is None:
        values, inverse, counts = aten._unique2(x, True, True, True)
        inverse = inverse.reshape(-1)
    else:
        values, inverse, counts = aten.unique_dim(x, axis, True, True, True)
    first = torch.full(counts.shape, inverse.numel(), dtype=torch.int64, device=x.device)
    first.scatter_reduce_(0, inverse, torch.arange(inverse.numel(), device=x.device), "amin")
    return values, first, inverse, counts


def _sort(rows, axis):
    """Sorts in place; of many elements each of ATen's threads sorts its share of the rows,
    as NumPy lets go of Python's lock.
    """
    across = max((a for a in range(rows.ndim) if a != axis), key=rows.shape.__getitem__, default=axis)
    count = 1 if across == axis or rows.size < _PARALLEL else min(torch.get_num_threads(), rows.shape[across])
    first, *others = np.array_split(rows, count, across)
    threads = [threading.Thread(target=part.sort, args=(axis,)) for part in others]
    for thread in threads:
        thread.start()
    first.sort(axis)
    for thread in threads:
        thread.join()


@functools.lru_cache(64)
def _parts(n, k, axis, kind):
    """Along an axis of length `n`: all elements backwards, the last `k` backwards, the first `k`; and n - 1, ..., 0."""
    lead = (slice(None),) * axis
    slices = (*lead, slice(None, None, -1)), (*lead, slice(None, -k - 1, -1)), (*lead, slice(k))
    return *slices, np.arange(n - 1, -1, -1, dtype=kind or np.int64)


def _select(x, k, axis, largest):
    """The `k` largest (or smallest) of `x` along `axis` in order, and their indices; of equal ones any.

    Long rows are thinned out first: of `_STRIDE` elements each, a row's length / `_STRIDE` apart, the extremes are
    compared by vectors, and the `k` that are ahead name the elements among which to choose.
    """
    n = x.shape[axis]
    if axis != x.dim() - 1 or n % _STRIDE or n < 16 * _STRIDE * k or not x.is_contiguous():
        return torch.topk(x, k, axis, largest, True)
    width = n // _STRIDE
    parted = x.view(*x.shape[:-1], _STRIDE, width)
    columns = _ahead(parted.amax(-2) if largest else parted.amin(-2), k, largest)
    candidates = parted.gather(-1, columns.unsqueeze(-2).expand(*x.shape[:-1], _STRIDE, k)).flatten(-2)
    chosen = _ahead(candidates, k, largest)
    values, order = candidates.gather(-1, chosen).sort(-1, largest)
    chosen = chosen.gather(-1, order)
    rows = chosen.div(k, rounding_mode="floor")
    return values, columns.gather(-1, chosen - rows * k).add_(rows, alpha=width)


def _ahead(x, k, largest):
    """The positions of the `k` largest (or smallest) of `x` along the last axis, in any order; of equal ones any."""
    n = x.shape[-1]
    if x.dtype in NUMPY and n <= _SHORT and is_ahead(x, 0):
        rows = x.numpy().reshape(-1, n)  # whose values are sorted by vectors
        last = np.sort(rows)[:, [-k if largest else k - 1]]
        positions = np.flatnonzero(rows >= last if largest else rows <= last)
        if positions.size == len(rows) * k:
            row, position = np.divmod(positions.reshape(-1, k), n)
            if (row == np.arange(len(rows))[:, None]).all():  # no ties, and nothing that is no number
                return torch.from_numpy(position).view(*x.shape[:-1], k)
    return x.topk(k, -1, largest, False).indices


def _topk_of_keys(x, k, axis, largest):
    indices = _positions(torch.topk(_keys(x, axis, largest), k, axis, largest, True).values, largest)
    return x.gather(axis, indices), indices


def _keys(x, axis, descending):
    """One int64 holds the value (order-preserving, upper half) and the index, so no two keys tie, and of equal values
    the first comes first in the given direction.
    """
    n = x.shape[axis]
    position = torch.arange(n, device=x.device)
    position = (0x7FFFFFFF - position if descending else position).reshape((n,) + (1,) * (x.dim() - 1 - axis))
    return torch.add(position, _ordered(x), alpha=1 << 32)


def _positions(keys, descending):
    """The indices that keys hold."""
    indices = keys.bitwise_and(0xFFFFFFFF)
    return 0x7FFFFFFF - indices if descending else indices


def _ordered(x):
    """Integers that compare as the elements of `x` do: -0 equal to 0, NaN above all."""
    if x.dtype in _SMALL_INTEGERS:
        return x
    integer = _KEY_BITS[x.dtype]
    kind = torch.iinfo(integer)
    bits = (x + 0.0).view(integer)
    bits.bitwise_xor_((bits >> kind.bits - 1).bitwise_and_(kind.max))  # of negative ones all but the sign
    return bits.masked_fill_(x != x, kind.max)
