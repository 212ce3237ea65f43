"""Rearranging memory: views, copies, joins. Nothing is computed, so both backends share these functions.

Copies on the Triton way are made by `copies`; on the CPU torch is called at once, for these are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from core import storage, symbolic
from core.extents import bounds_of, is_symbolic, length_of
from core.kernels.contracts import copies, fills, index
from core.kernels.contracts.rules import joined
from core.kernels.dispatch import runs_triton, state
from core.kernels.layout import memory_format

Tensor = torch.Tensor


def cast(x: Tensor, dtype: str) -> Tensor:
    """The elements converted to the type called `dtype`, always new memory."""
    kind = storage.TORCH[dtype]
    return x.to(kind, copy=True) if x.is_meta or (x.is_cpu and state.forced is None) else copies.cast(x, kind)


def clone(x: Tensor) -> Tensor:
    """The elements in new memory that lies as that of `x`, if that is dense: then the driver copies the bytes."""
    if (x.is_cpu and state.forced is None) or x.is_meta or storage.is_dense(x):
        return x.clone()
    return copies.write_(torch.empty_like(x), x)


def _alike(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors lie in their memory without gaps, in one order, as one type."""
    return x.dtype is y.dtype and x.shape == y.shape and x.stride() == y.stride() and storage.is_dense(x)


def alias(x: Tensor) -> Tensor:
    """The same memory in the same shape; a reshape to it takes three times as long."""
    return x.view_as(x)


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A view in another shape; a copy where the strides do not allow one."""
    if state.plain or (x.is_cpu and state.forced is None) or x.is_meta:
        return x.reshape(*shape) if shape else x.reshape(())  # numbers are read in half a microsecond less than a tuple
    try:
        return x.view(shape)
    except RuntimeError:
        return copies.contiguous(x).view(shape)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """A view with a new axis of length 1 before `axis`."""
    return x.unsqueeze(axis)


def permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    """The axes in another order, in new row-major memory."""
    if len(axes) == 2 and not axes[1] and axes[0] == 1:
        return _row_major(x.mT)  # half the time
    return _row_major(x.permute(*axes) if axes else x)


def expand(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Axes of length 1 repeated to `shape`, row by row; where nothing is repeated, x itself."""
    x = symbolic.opened(x) if not state.plain and x.is_meta else x
    return _row_major(x.expand(*shape) if shape else x)


def take_part(x: Tensor, key: tuple) -> Tensor:
    """Basic indexing: a view where the part is contiguous, else a copy. Steps may be negative."""
    plain, flips = _without_negative_steps(key, x.shape)
    part = (symbolic.opened(x) if not state.plain and x.is_meta else x)[plain]
    if flips:
        part = flip(part, flips)
    return part if part.is_contiguous() else _row_major(part)


def _row_major(x: Tensor) -> Tensor:
    return x.contiguous() if state.plain or (x.is_cpu and state.forced is None) else copies.contiguous(x)


def copy_part(x: Tensor, axis: int, first: int, length: int) -> Tensor:
    """`length` positions of an axis from `first` on, in new memory."""
    part = (symbolic.opened(x) if not state.plain and x.is_meta else x).narrow(axis, first, length)
    if state.plain or part.is_meta or (part.is_cpu and state.forced is None):
        return part.clone(memory_format=torch.contiguous_format)
    return copies.write_(part.new_empty(part.shape), part)


def put_part(value: Tensor, key: tuple, shape: Sequence[int]) -> Tensor:
    """Zeros of `shape` with `value` at the basic index `key`: the adjoint of `take_part`."""
    plain, flips = _without_negative_steps(key, shape)
    if value.is_meta:
        return symbolic.empty(shape, value.dtype)
    out = zeros_of((shape, value.dtype, value.device))
    _put(out, plain, flip(value, flips) if flips else value)
    return out


def _put(out: Tensor, key: tuple, value: Tensor) -> None:
    if out.is_cpu and state.forced is None:
        out[key] = value
    else:
        copies.write_(out[key], value)


def set_part(x: Tensor, value: Tensor, key: tuple) -> Tensor:
    """A copy of `x` with `value` at the basic index `key`."""
    plain, flips = _without_negative_steps(key, x.shape)
    out = copies.write_(x.new_empty(x.shape), x)
    _put(out, plain, flip(value, flips) if flips else value)
    return out


def write_at(x: Tensor, key: tuple, value) -> None:
    """Writes a tensor, or a number, to the part of `x` that a key names: ascending slices, None, Ellipsis, numbers,
    index tensors and masks.

    IndexError for indices outside; RuntimeError where the tensor does not fit.
    """
    if x.is_cpu and state.forced is None:
        x[beside_each_other(key, x)] = value
        return
    if not any([isinstance(k, Tensor) for k in key]):
        part = x[key]
        if isinstance(value, Tensor):
            copy_(part, value)
        else:
            fill_(part, value)
        return
    taken = sum([(k.dim() if k.dtype is torch.bool else 1) if isinstance(k, Tensor) else k is not None for k in key])
    basic: list = []
    places: list[Tensor | None] = []
    for k in key:
        if k is Ellipsis:
            whole = x.dim() - taken + 1  # the Ellipsis was counted, too
            basic += [slice(None)] * whole
            places += [None] * whole
        elif isinstance(k, Tensor) and k.dtype is torch.bool:
            basic += [slice(None)] * k.dim() or [None]
            places.append(k if k.dim() else k.reshape(1))
        elif isinstance(k, (Tensor, int)):
            n = x.shape[sum([b is not None for b in basic])]
            found = index.wrapped_negative(k if isinstance(k, Tensor) else index_tensor([k], x).reshape(()), n)
            index.check(found, n)
            basic.append(slice(None))
            places.append(found)
        else:
            basic.append(k)
            places.append(None)
    view = x[tuple(basic)]
    places += [None] * (view.dim() - sum([1 if p is None or p.dtype is not torch.bool else p.dim() for p in places]))
    given = value if isinstance(value, Tensor) else full_like(x.new_empty(1), value)
    index.index_put_(x, view, places, given, False)
    storage.count_change([x])


def beside_each_other(key: Sequence, x: Tensor) -> tuple:
    """The key with numbers and single positions as index arrays of one element, if there is an array of more axes: they
    may part the arrays, and ATen takes them out before it asks where those stand.
    """
    if not any([isinstance(k, Tensor) and k.dim() for k in key]):
        return tuple(key)
    return tuple(
        index_tensor([k], x)
        if type(k) is int
        else k.reshape(1)
        if isinstance(k, Tensor) and not k.dim() and k.dtype is not torch.bool
        else k
        for k in key
    )


def _without_negative_steps(key: tuple, shape: Sequence[int]) -> tuple[tuple, Sequence[int]]:
    """The key with ascending slices only, and the axes of the result that must be flipped after it."""
    if not any([type(k) is slice and k.step is not None and k.step < 0 for k in key]):
        return key, ()
    plain, flips, axis, out_axis = [], [], 0, 0
    skipped = len(shape) - sum(1 for k in key if k is not None and k is not Ellipsis)
    for item in key:
        if item is Ellipsis:
            axis, out_axis = axis + skipped, out_axis + skipped
        elif item is None:
            out_axis += 1
        elif isinstance(item, slice):
            if item.step is not None and item.step < 0:
                (start, _, step), count = bounds_of(item, shape[axis]), length_of(item, shape[axis])
                item = slice(start + (count - 1) * step, start + 1, -step) if count else slice(0, 0)
                flips.append(out_axis)
            axis, out_axis = axis + 1, out_axis + 1
        else:
            axis += 1
        plain.append(item)
    return tuple(plain), flips


def without_negative_steps(shape: Sequence[int], key: tuple, device) -> tuple:
    """A key that names the same positions in the same order with no negative step: itself, or one of index tensors.

    Views cannot be reversed, so such a key can be written to only as an advanced one.
    """
    if not any(isinstance(k, slice) and k.step is not None and k.step < 0 for k in key):
        return key
    if any(not isinstance(k, (slice, int)) for k in key):
        raise IndexError("negative steps can be written to only beside plain slices and integers")
    grid, free = [], sum(isinstance(k, slice) for k in key)
    for n, k in zip(shape, key, strict=False):
        if isinstance(k, slice):
            lengths = [1] * free
            lengths[sum(g.dim() > 0 for g in grid)] = -1
            grid.append(torch.tensor(range(*k.indices(n)), dtype=torch.int64, device=device).reshape(lengths))
        else:
            grid.append(torch.tensor(k, device=device))
    return tuple(grid)


def concat(tensors: Sequence[Tensor], axis: int, spare: int = 0) -> Tensor:
    """The tensors joined along an axis; with `spare` positions more behind them, which `grown` may take."""
    first = tensors[0]
    if not spare and (state.plain or (first.is_cpu and state.forced is None)):
        return torch.cat(tensors, axis)
    if first.is_meta:  # ATen needs Python, and its compiler, for tensors without memory
        return joined(tensors, axis)
    if not spare:
        return copies.joined(tensors, axis)
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in tensors) + spare
    whole = torch.empty(shape, dtype=first.dtype, device=first.device, memory_format=memory_format(first))
    start = whole.narrow(axis, 0, 0)
    return grown(start, tensors, axis)


def grown(x: Tensor, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """x, which `concat` made with spare positions behind it, and the tensors joined along the axis, in the memory of x."""
    if x.is_meta:
        return joined([x, *tensors], axis)
    shape, end = list(x.shape), x.shape[axis]
    shape[axis] += sum(t.shape[axis] for t in tensors)
    whole = x.as_strided(shape, x.stride())
    for t in tensors:
        copies.write_(whole.narrow(axis, end, t.shape[axis]), t)
        end += t.shape[axis]
    return whole


def stack(tensors: Sequence[Tensor], axis: int) -> Tensor:
    first = tensors[0]
    if state.plain or (first.is_cpu and state.forced is None):
        return torch.stack(tensors, axis)
    if first.is_meta:
        return joined([t.unsqueeze(axis) for t in tensors], axis)
    return copies.joined([t.unsqueeze(axis) for t in tensors], axis)


def split(x: Tensor, lengths: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    """Consecutive parts along an axis, each in new memory; `lengths` add up to its length."""
    if x.is_meta:
        shape, axis = x.shape, axis % x.dim()
        return tuple(symbolic.empty((*shape[:axis], n, *shape[axis + 1 :]), x.dtype) for n in lengths)
    return copies.divided(x, lengths, axis)


def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    if x.is_meta:
        return x.new_empty(x.shape)
    return x.flip(tuple(axes)) if x.is_cpu and state.forced is None else copies.flip(x, tuple(axes))


def roll(x: Tensor, shifts: Sequence[int], axes: Sequence[int]) -> Tensor:
    if x.is_meta:
        return x.new_empty(x.shape)
    if (x.is_cpu and state.forced is None) or not axes:
        return torch.roll(x, tuple(shifts), tuple(axes))
    for shift, axis in zip(shifts, axes, strict=True):
        x = copies.roll(x, shift, axis)
    return x


def tile(x: Tensor, reps: Sequence[int]) -> Tensor:
    if len(reps) < x.dim():
        reps = (*[1] * (x.dim() - len(reps)), *reps)
    if not state.plain and x.is_meta:
        return symbolic.empty((n * k for n, k in zip([*[1] * (len(reps) - x.dim()), *x.shape], reps)), x.dtype)
    if state.plain or (x.is_cpu and state.forced is None):
        return x.repeat(*reps) if reps else x.clone()
    lengths = [*[1] * (len(reps) - x.dim()), *x.shape]
    whole = x.reshape([part for n in lengths for part in (1, n)])
    return expand(whole, [part for n, k in zip(lengths, reps) for part in (k, n)]).reshape(
        [n * k for n, k in zip(lengths, reps)]
    )


def pad_constant(x: Tensor, widths: Sequence[tuple[int, int]], value: float) -> Tensor:
    """`x` with (before, after) positions of `value` added an axis."""
    shape = [n + lo + hi for n, (lo, hi) in zip(x.shape, widths, strict=True)]
    if x.is_meta:
        return symbolic.empty(shape, x.dtype)
    out = fills.fill_(x.new_empty(shape), value)
    _put(out, tuple(slice(lo, lo + n) for n, (lo, _) in zip(x.shape, widths, strict=True)), x)
    return out


def full_like(x: Tensor, value, dtype: str | None = None) -> Tensor:
    kind = x.dtype if dtype is None else storage.TORCH[dtype]
    if x.is_meta:
        return symbolic.empty(x.shape, kind)
    return fills.fill_(torch.empty(x.shape, dtype=kind, device=x.device), value)


def full(shape: Sequence[int], value: float, dtype, ctx) -> Tensor:
    """One number everywhere, in row-major memory."""
    if not runs_triton(storage.device(ctx)):
        return storage.full(shape, value, dtype, ctx)
    made = storage.empty(shape, dtype, ctx)
    return made if made.is_meta else fills.fill_(made, value)


def zeros(shape: Sequence[int], dtype, ctx) -> Tensor:
    """Zeros, in row-major memory."""
    return full(shape, 0, dtype, ctx) if runs_triton(storage.device(ctx)) else storage.zeros(shape, dtype, ctx)


def ones_of(description: tuple) -> Tensor:
    """Ones as described by `storage.like`, which are only read: on a GPU calls share few small ones."""
    shape, dtype, device = description
    if not runs_triton(device):
        return torch.ones(shape, dtype=dtype, device=device)
    kept = _ONES.get(description)
    if kept is None or kept[0]._version != kept[1]:  # somebody has written to them
        made = fills.fill_(torch.empty(shape, dtype=dtype, device=device), 1)
        if made.numel() > _SMALL:
            return made
        if len(_ONES) == _FEW:
            _ONES.clear()
        kept = _ONES[description] = made, made._version
    return kept[0]


_ONES: dict[tuple, tuple[Tensor, int]] = {}
_FEW, _SMALL = 64, 1 << 16


def zeros_of(description: tuple) -> Tensor:
    """Zeros as described by `storage.like`."""
    shape, dtype, device = description
    if not runs_triton(device):
        return storage.zeros_of(description)
    return fills.fill_(torch.empty(shape, dtype=dtype, device=device), 0)


def arange(start: float, stop: float, step: float, dtype: str, ctx) -> Tensor:
    """start, start + step, ... below `stop`; element k is start + k * step, each operation rounded to the dtype.

    Those of half types are rounded to float32 first. Integers start from and step by whole numbers.
    """
    kind, device = storage.TORCH[dtype], storage.device(ctx)
    if is_symbolic((start, stop, step)):
        return symbolic.empty((-((start - stop) // step),), kind)
    if all(map(math.isfinite, (start, stop, step))) and not kind.is_floating_point:
        start, stop, step = int(start), int(stop) if kind is torch.int64 else stop, int(step)
    if step == 0 or not all(map(math.isfinite, (start, stop, step))) or (stop - start) / step < 0:
        raise RuntimeError(f"steps of {step} do not lead from {start} to {stop}")
    within = torch.promote_types(kind, torch.float32) if kind.is_floating_point else torch.int64
    return fills.evenly(start, step, math.ceil((stop - start) / step), within, kind, device)


def index_tensor(values: Sequence[int], like: Tensor) -> Tensor:
    """An int64 tensor of `values` where `like` lives."""
    return torch.tensor(list(values), dtype=torch.int64, device=like.device)


def steps(length: int, like: Tensor) -> Tensor:
    """0, 1, ..., length - 1 as float32 where `like` lives."""
    if like.is_meta:
        return symbolic.empty((length,), torch.float32)
    return fills.evenly(0, 1, length, torch.float32, torch.float32, like.device)


def fill_(x: Tensor, value) -> None:
    """Sets every element, in place."""
    if x.is_cpu and state.forced is None:
        x.fill_(value)
    else:
        fills.fill_(x, value)
        storage.count_change([x])


def eye(n: int, m: int, k: int, dtype: str, ctx) -> Tensor:
    """Ones on diagonal k of an n x m matrix."""
    return fills.eye(n, m, k, storage.TORCH[dtype], storage.device(ctx))


def linspace(start: float, stop: float, num: int, endpoint: bool, dtype: str, ctx) -> Tensor:
    """`num` evenly spaced numbers start + k * step, computed in float64."""
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    return fills.evenly(start, step, num, torch.float64, storage.TORCH[dtype], storage.device(ctx))


def numbers(x: Tensor) -> list[float]:
    """The elements as Python numbers."""
    return x.reshape(-1).tolist()


def copy_(x: Tensor, source: Tensor) -> None:
    """Copies the elements of `source`, broadcast and converted, into `x`; where they lie alike, the driver copies."""
    if (x.is_cpu and state.forced is None) or source.device != x.device or _alike(x, source):
        x.copy_(source)
    else:
        copies.write_(x, source)
        storage.count_change([x])


def add_(x: Tensor, source: Tensor) -> None:
    """Adds the elements of `source` to those of `x`, in place."""
    if x.is_cpu and state.forced is None:
        x.add_(source)
    else:
        copies.add_(x, source)
        storage.count_change([x])


def triangle(x: Tensor, lower: bool, offset: int) -> Tensor:
    """The elements up to (from, if not lower) a diagonal of the last two axes; zeros elsewhere."""
    return x.new_empty(x.shape) if x.is_meta else fills.triangle(x, lower, offset)
