"""Kernels that move elements by integer indices, in Triton.

Almost every function is a copy of rows: `x` is seen as (outer, rows, inner), and runs of `inner` contiguous elements
move together. Sums go through floating-point atomics (into float32 for half types), unless `kernels.deterministic()`:
then the indices are sorted, stably, and one program adds each run of equal indices in the order in which they were
given. Of several writes to one position the last one stays, always: an integer atomic finds it first.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from core.kernels.dispatch import deterministic
from core.kernels.triton._counting import blocks_of
from core.kernels.triton._filled import full, zeros, zeros_like
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.rows import TILE, as_bytes, compact, gather_rows, grid, tile, tile_of
from core.kernels.triton.sort import sort
from core.kernels.triton.tiles import accumulator, in_triton


def clipped(indices, n):
    return _normalised(indices, n, _CLIP)


def wrapped(indices, n):
    return _normalised(indices, n, _WRAP)


def wrapped_negative(indices, n):
    return _normalised(indices, n, _FROM_END)


def check(indices, n):
    if indices.numel() and compact(_normalised(indices, n, _OUTSIDE)).numel():
        raise IndexError(f"an index is out of range for an axis of length {n}")


def take(x, indices, axis):
    outer, rows, inner = _split(x.shape, axis)
    y = torch.empty(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], dtype=x.dtype, device=x.device)
    gather_rows(contiguous(x), contiguous(indices), y, outer, rows, inner)
    return y


def take_grad(dy, indices, axis, x_shape):
    return _add_rows(dy, contiguous(indices), *_split(x_shape, axis)).view(x_shape)


def embedding(indices, weight):
    return take(weight, indices, 0)


def embedding_grad(dy, indices, weight_shape):
    return take_grad(dy, indices, 0, weight_shape)


def csr_dot(values, columns, starts, x):
    rows, inner = starts.shape[0] - 1, x.shape[1]
    y = torch.empty((rows, inner), dtype=x.dtype, device=x.device)
    if y.numel():
        width = min(triton.next_power_of_2(inner), 128)
        programs = (rows * triton.cdiv(inner, width),)
        _csr_dot[programs](
            contiguous(values), contiguous(columns), contiguous(starts), contiguous(x), y, inner, ACC=in_triton(accumulator(x.dtype)),
            ENTRIES=max(1, 1024 // width), INNER=width,
        )  # fmt: skip
    return y


def pick(x, indices, axis, keepdims):
    y = gather_along(x, indices.unsqueeze(axis), axis)
    return y if keepdims else y.squeeze(axis)


def pick_grad(dy, indices, axis, x_shape):
    dx = torch.empty(x_shape, dtype=dy.dtype, device=dy.device)
    if dx.numel():
        _, rows, inner = _split(x_shape, axis)
        _pick_grad[(triton.cdiv(dx.numel(), TILE),)](
            contiguous(dy), contiguous(indices), dx, dx.numel(), rows, inner, TILE=TILE
        )
    return dx


def gather_nd(x, indices):
    depth = indices.shape[0]
    y = torch.empty(indices.shape[1:] + x.shape[depth:], dtype=x.dtype, device=x.device)
    positions = _positions(indices.unbind(0), x.shape)
    gather_rows(contiguous(x), positions, y, 1, math.prod(x.shape[:depth]), math.prod(x.shape[depth:]))
    return y


def scatter_nd(data, indices, shape):
    y = zeros(shape, data.dtype, data.device)
    return _write_rows(y, contiguous(data), _positions(indices.unbind(0), shape), math.prod(shape[indices.shape[0] :]))


def scatter_nd_add(data, indices, shape):
    depth = indices.shape[0]
    positions = _positions(indices.unbind(0), shape)
    return _add_rows(data, positions, 1, math.prod(shape[:depth]), math.prod(shape[depth:])).view(shape)


def gather_along(x, indices, axis):
    shape = _broadcast(x.shape, indices.shape, axis)
    x = contiguous(x.expand(shape[:axis] + x.shape[axis : axis + 1] + shape[axis + 1 :]))
    y = torch.empty(shape[:axis] + indices.shape[axis : axis + 1] + shape[axis + 1 :], dtype=x.dtype, device=x.device)
    if y.numel():
        _, rows, inner = _split(x.shape, axis)
        _gather_along[(triton.cdiv(y.numel(), TILE),)](
            as_bytes(x),
            contiguous(indices.expand(y.shape)),
            as_bytes(y),
            y.numel(),
            y.shape[axis],
            rows,
            inner,
            TILE=TILE,
        )
    return y


def scatter_along_add(dy, indices, axis, x_shape):
    wide = dy.shape[:axis] + (x_shape[axis],) + dy.shape[axis + 1 :]
    positions = _positions_along(indices.expand(dy.shape), *_split(wide, axis))
    if wide != tuple(x_shape):
        positions = _fold(positions, wide, x_shape)
    return _add_rows(dy, positions, 1, math.prod(x_shape), 1).view(x_shape)


def one_hot(indices, depth, on_value, off_value, dtype):
    y = torch.empty((*indices.shape, depth), dtype=dtype, device=indices.device)
    if y.numel():
        _one_hot[(triton.cdiv(y.numel(), TILE),)](
            contiguous(indices), as_bytes(y), y.numel(), depth, float(on_value), float(off_value), TILE=TILE
        )
    return y


def index_get(x, index_tuple):
    indices, axes, shape, order = _advanced(x, index_tuple)
    rows = contiguous(x.permute(order))
    y = torch.empty(shape + rows.shape[len(axes) :], dtype=x.dtype, device=x.device)
    positions = _positions(indices, rows.shape)
    gather_rows(rows, positions, y, 1, math.prod(rows.shape[: len(axes)]), math.prod(rows.shape[len(axes) :]))
    return contiguous(_index_axes_to(y, len(shape), _first_axis(axes)))


def index_put(x, index_tuple, value, accumulate):
    y = write_(torch.empty(x.shape, dtype=x.dtype, device=x.device), x)
    return index_put_(y, y, index_tuple, value, accumulate)


def index_put_(base, view, index_tuple, value, accumulate):
    indices, axes, shape, order = _advanced(view, index_tuple)
    turned = view.permute(order)
    y = contiguous(turned)
    rest, first = y.shape[len(axes) :], _first_axis(axes)
    value = _fitted(in_type(value, y.dtype), (*rest[:first], *shape, *rest[first:]), accumulate)
    value = contiguous(_index_axes_from(value, len(shape), first))
    positions = _positions(indices, y.shape)
    if accumulate:
        _add_rows(value, positions, 1, math.prod(y.shape[: len(axes)]), math.prod(rest), into=y)
    else:
        _write_rows(y, value, positions, math.prod(rest))
    if y is not turned:
        write_(turned, y)
    return base


def sequence_reverse(x, lengths):
    x = contiguous(x)
    y = torch.empty_like(x)
    if y.numel():
        steps = x.shape[0]
        batch = 1 if lengths is None else x.shape[1]
        inner = x.numel() // (steps * batch)
        block = tile(inner)
        _reverse[grid(steps * batch, inner, block)](
            as_bytes(x), x if lengths is None else contiguous(lengths), as_bytes(y), steps, batch, inner,
            GIVEN=lengths is not None, **block,
        )  # fmt: skip
    return y


def nonzero(x):
    where = compact(x)
    coordinates = torch.empty((where.numel(), x.dim()), dtype=torch.int64, device=x.device)
    stride = 1
    for axis in reversed(range(x.dim())):
        if where.numel():
            _unravel[(triton.cdiv(where.numel(), TILE),)](
                where, coordinates, where.numel(), stride, max(x.shape[axis], 1), axis, x.dim(), TILE=TILE
            )
        stride *= x.shape[axis]
    return coordinates


# ------------------------------------------------------------ launching


def _fitted(value, shape, loosely):
    """`value` in the shape of what is read; `loosely`: where it has as many elements, whatever its own."""
    if loosely and value.numel() == math.prod(shape):
        return value.reshape(shape)
    while value.dim() > len(shape) and value.shape[0] == 1:
        value = value[0]
    return value.expand(shape)


_CLIP, _WRAP, _FROM_END, _OUTSIDE = 0, 1, 2, 3


def _normalised(indices, n, mode):
    y = torch.empty(indices.shape, dtype=torch.int64, device=indices.device)
    if y.numel():
        _normalise[(triton.cdiv(y.numel(), TILE),)](
            as_bytes(contiguous(indices)), y, y.numel(), n, MODE=mode, TILE=TILE
        )
    return y


def _split(shape, axis):
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _write_rows(y, data, positions, inner):
    """Writes rows of `data` into contiguous `y`, of several for one position the last."""
    count = positions.numel()
    if count and inner:
        block, winners = tile(inner), full((y.numel() // inner,), -1, torch.int64, y.device)
        _last[(triton.cdiv(count, TILE),)](positions, winners, count, TILE=TILE)
        launch = _write[grid(count, inner, block)]
        launch(as_bytes(data), positions, winners, as_bytes(y), count, inner, **block)
    return y


def _add_rows(dy, positions, outer, rows, inner, into=None):
    """Sums of the rows of dy (outer, count, inner) by position, added to `into` or to zeros: (outer, rows, inner)."""
    dtype = _ACCUMULATORS.get(dy.dtype, dy.dtype)
    shape = (outer, rows, inner)
    if into is None:
        y = zeros(shape, dtype, dy.device)
    else:
        y = in_type(into.view(shape), dtype)
    count = positions.numel()
    if dy.numel():
        dy, positions = contiguous(dy), positions.view(-1)
        block = tile(inner)
        if deterministic():
            runs, order = sort(positions, 0, False)
            launch = _add_runs[grid(outer * count, inner, {**block, "ROWS": 1})]
            launch(dy, runs, order, y, count, rows, inner, INNER=block["INNER"])
        else:
            _add[grid(outer * count, inner, block)](dy, positions, y, outer * count, count, rows, inner, **block)
    return in_type(y if into is None or dtype is into.dtype else write_(into.view(shape), y), dy.dtype)


_ACCUMULATORS = {torch.float16: torch.float32, torch.bfloat16: torch.float32} | dict.fromkeys(
    (torch.bool, torch.uint8, torch.int8, torch.int16), torch.int32
)


def _positions(indices, shape):
    """Row numbers in row-major order from one index tensor for each of the first axes of `shape`."""
    indices = [contiguous(index) for index in indices]
    if indices[0].numel() and 0 in shape[: len(indices)]:
        raise IndexError("an index is out of range for an axis of length 0")
    positions = torch.empty(indices[0].shape, dtype=torch.int64, device=indices[0].device)
    if positions.numel():
        for axis, (index, size) in enumerate(zip(indices, shape)):
            _append_axis[(triton.cdiv(positions.numel(), TILE),)](
                positions, index, positions.numel(), size, FIRST=axis == 0, TILE=TILE
            )
    return positions


def _positions_along(indices, outer, rows, inner):
    """Element numbers in (outer, rows, inner) for indices (outer, count, inner) of the middle axis."""
    indices = contiguous(indices)
    positions = torch.empty(indices.shape, dtype=torch.int64, device=indices.device)
    if positions.numel():
        count = positions.numel() // (outer * inner)
        _along[(triton.cdiv(positions.numel(), TILE),)](
            indices, positions, positions.numel(), count, rows, inner, TILE=TILE
        )
    return positions


def _fold(positions, wide, x_shape):
    """Element numbers in `wide` as numbers in `x_shape`, whose broadcast axes have size 1."""
    folded = zeros_like(positions)
    stride, wide_stride = 1, 1
    for size, wide_size in zip(reversed(x_shape), reversed(wide)):
        if size == wide_size and positions.numel():
            _append_digit[(triton.cdiv(positions.numel(), TILE),)](
                folded, positions, positions.numel(), wide_stride, size, stride, TILE=TILE
            )
        stride, wide_stride = stride * size, wide_stride * wide_size
    return folded


def _broadcast(a, b, axis):
    return tuple(1 if i == axis else max(n, m) if n and m else 0 for i, (n, m) in enumerate(zip(a, b, strict=True)))


def _advanced(x, index_tuple):
    """Index tensors broadcast together, their axes, their shape, and an order of axes with the indexed ones first."""
    indices, axes, axis = [], [], 0
    for index in index_tuple:
        if index is None:
            axis += 1
            continue
        parts = nonzero(index).unbind(1) if index.dtype is torch.bool else [index]
        indices += parts
        axes += range(axis, axis + len(parts))
        axis += len(parts)
    shape = torch.broadcast_shapes(*(index.shape for index in indices))
    order = [*axes, *(i for i in range(x.dim()) if i not in axes)]
    return [index.expand(shape) for index in indices], axes, tuple(shape), order


def _first_axis(axes):
    """Where the axes of the indices stand in the result: in place of adjacent axes, else in front (NumPy's rule)."""
    return axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def _index_axes_to(y, count, first):
    return y.permute([*range(count, count + first), *range(count), *range(count + first, y.dim())])


def _index_axes_from(y, count, first):
    return y.permute([*range(first, first + count), *range(first), *range(first + count, y.dim())])


# ------------------------------------------------------------ kernels


@jit
def _normalise(indices_ptr, y_ptr, count, n, MODE: tl.constexpr, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    index = tl.load(indices_ptr + at, at < count, 0).to(tl.int64)
    if MODE == 0:
        index = tl.minimum(tl.maximum(index, 0), n - 1)
    elif MODE == 1:
        index = index % n
        index = tl.where(index < 0, index + n, index)
    elif MODE == 2:
        index = tl.where(index < 0, index + n, index)
    else:
        index = ((index >= n) | (index < 0)).to(tl.int64)
    tl.store(y_ptr + at, index, at < count)


@jit
def _within(index, n):
    """Positions of an axis: negative indices count from its end, and one outside is the nearest, in memory of ours."""
    index = index.to(tl.int64)
    return tl.minimum(tl.maximum(tl.where(index < 0, index + n, index), 0), n - 1)


@jit
def _gather_along(x_ptr, indices_ptr, y_ptr, total, count, rows, inner, TILE: tl.constexpr):
    """y (outer, count, inner) from x (outer, rows, inner) by row numbers in the shape of y."""
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < total
    row = at // inner // count * rows + _within(tl.load(indices_ptr + at, inside, 0), rows)
    tl.store(y_ptr + at, tl.load(x_ptr + row * inner + at % inner, inside, 0), inside)


@jit
def _pick_grad(dy_ptr, indices_ptr, dx_ptr, count, rows, inner, TILE: tl.constexpr):
    """dx (outer, rows, inner): dy (outer, inner) in the rows that the indices (outer, inner) name, zeros elsewhere."""
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    place = at // inner // rows * inner + at % inner
    chosen = inside & (tl.load(indices_ptr + place, inside, 0) == at // inner % rows)
    tl.store(dx_ptr + at, tl.load(dy_ptr + place, chosen, 0), inside)


@jit
def _last(positions_ptr, winners_ptr, count, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    tl.atomic_max(winners_ptr + tl.load(positions_ptr + at, inside, 0), at, inside)


@jit
def _write(
    data_ptr, positions_ptr, winners_ptr, y_ptr, count, inner,
    ROWS: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    row, column, inside = tile_of(count, inner, ROWS, INNER)
    position = tl.load(positions_ptr + row, row < count, 0).to(tl.int64)
    inside &= (tl.load(winners_ptr + position, row < count, -1) == row)[:, None]
    tl.store(
        y_ptr + position[:, None] * inner + column, tl.load(data_ptr + row[:, None] * inner + column, inside), inside
    )


@jit
def _add(dy_ptr, positions_ptr, y_ptr, total, count, rows, inner, ROWS: tl.constexpr, INNER: tl.constexpr):
    row, column, inside = tile_of(total, inner, ROWS, INNER)
    target = (row // count) * rows + tl.load(positions_ptr + row % count, row < total, 0).to(tl.int64)
    dy = tl.load(dy_ptr + row[:, None] * inner + column, inside, 0).to(y_ptr.dtype.element_ty)
    tl.atomic_add(y_ptr + target[:, None] * inner + column, dy, inside)


@jit
def _add_runs(dy_ptr, runs_ptr, order_ptr, y_ptr, count, rows, inner, INNER: tl.constexpr):
    across = blocks_of(inner, INNER)
    row = (tl.program_id(0) // across).to(tl.int64)
    outer, at = row // count, row % count
    column = tl.program_id(0) % across * INNER + tl.arange(0, INNER)
    inside = column < inner
    position = tl.load(runs_ptr + at).to(tl.int64)
    first = position != tl.load(runs_ptr + at - 1, at > 0, -1).to(tl.int64)
    begins, end = column < tl.where(first, inner, 0), tl.where(first, count, 0)
    y = y_ptr + (outer * rows + position) * inner + column
    total = tl.load(y, begins, 0)
    # The condition stands in the loop itself: as a value that it carries it is too much for Triton 3.6 and 3.7.
    while tl.load(runs_ptr + at, at < end, -1).to(tl.int64) == position:
        row = outer * count + tl.load(order_ptr + at)
        total += tl.load(dy_ptr + row * inner + column, inside, 0).to(total.dtype)
        at += 1
    tl.store(y, total, begins)


@jit
def _csr_dot(
    values_ptr, columns_ptr, starts_ptr, x_ptr, y_ptr, inner,
    ACC: tl.constexpr, ENTRIES: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    across = blocks_of(inner, INNER)
    row = (tl.program_id(0) // across).to(tl.int64)
    at = tl.program_id(0) % across * INNER + tl.arange(0, INNER)[None, :]
    end = tl.load(starts_ptr + row + 1)
    total = tl.zeros((ENTRIES, INNER), ACC)
    for start in range(tl.load(starts_ptr + row), end, ENTRIES):
        entry = start + tl.arange(0, ENTRIES)
        value = tl.load(values_ptr + entry, entry < end, 0).to(ACC)
        source = tl.load(columns_ptr + entry, entry < end, 0).to(tl.int64)
        inside = (entry < end)[:, None] & (at < inner)
        total += value[:, None] * tl.load(x_ptr + source[:, None] * inner + at, inside, 0).to(ACC)
    y = tl.sum(total, 0, keep_dims=True)
    tl.store(y_ptr + row * inner + at, y.to(y_ptr.dtype.element_ty), at < inner)


@jit
def _append_axis(positions_ptr, index_ptr, count, size, FIRST: tl.constexpr, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    index = _within(tl.load(index_ptr + at, inside, 0), size)
    if not FIRST:
        index += tl.load(positions_ptr + at, inside, 0) * size
    tl.store(positions_ptr + at, index, inside)


@jit
def _append_digit(folded_ptr, positions_ptr, count, wide_stride, size, stride, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    digit = tl.load(positions_ptr + at, inside, 0) // wide_stride % size
    tl.store(folded_ptr + at, tl.load(folded_ptr + at, inside, 0) + digit * stride, inside)


@jit
def _along(indices_ptr, positions_ptr, total, count, rows, inner, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < total
    index = _within(tl.load(indices_ptr + at, inside, 0), rows)
    tl.store(positions_ptr + at, (at // inner // count * rows + index) * inner + at % inner, inside)


@jit
def _one_hot(indices_ptr, y_ptr, total, depth, on_value, off_value, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < total
    hot = tl.load(indices_ptr + at // depth, inside, 0).to(tl.int64) == at % depth
    tl.store(y_ptr + at, tl.where(hot, on_value, off_value).to(y_ptr.dtype.element_ty), inside)


@jit
def _reverse(
    x_ptr, lengths_ptr, y_ptr, steps, batch, inner,
    GIVEN: tl.constexpr, ROWS: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    row, column, inside = tile_of(steps * batch, inner, ROWS, INNER)
    time, sequence = row // batch, row % batch
    length = steps + time * 0
    if GIVEN:
        length = tl.load(lengths_ptr + sequence, row < steps * batch, 0).to(tl.int64)
    source = tl.where(time < length, length - 1 - time, time) * batch + sequence
    moved = tl.load(x_ptr + source[:, None] * inner + column, inside, 0)
    tl.store(y_ptr + row[:, None] * inner + column, moved, inside)


@jit
def _unravel(where_ptr, coordinates_ptr, count, stride, size, axis, axes, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    tl.store(coordinates_ptr + at * axes + axis, tl.load(where_ptr + at, inside, 0) // stride % size, inside)


_SIZES = dict.fromkeys(("count", "rows", "inner"), "i32")
AOT = [
    AotCase(
        _add,
        {"dy_ptr": "*bf16", "positions_ptr": "*i64", "y_ptr": "*fp32", "total": "i32", **_SIZES},
        {"ROWS": 1, "INNER": 1024},
    ),
    AotCase(
        _add_runs,
        {"dy_ptr": "*fp32", "runs_ptr": "*i64", "order_ptr": "*i64", "y_ptr": "*fp32", **_SIZES},
        {"INNER": 1024},
    ),
    AotCase(
        _csr_dot,
        {"values_ptr": "*fp32", "columns_ptr": "*i64", "starts_ptr": "*i64", "x_ptr": "*fp32", "y_ptr": "*fp32"}
        | {"inner": "i32"},
        {"ACC": tl.float32, "ENTRIES": 8, "INNER": 128},
    ),
    AotCase(
        _gather_along,
        {"x_ptr": "*fp32", "indices_ptr": "*i64", "y_ptr": "*fp32", "total": "i32", **_SIZES},
        {"TILE": TILE},
    ),
    AotCase(
        _pick_grad,
        {"dy_ptr": "*bf16", "indices_ptr": "*i64", "dx_ptr": "*bf16", **_SIZES},
        {"TILE": TILE},
    ),
    AotCase(
        _append_axis,
        {"positions_ptr": "*i64", "index_ptr": "*i64", "count": "i32", "size": "i32"},
        {"FIRST": False, "TILE": TILE},
    ),
    AotCase(
        _along,
        {"indices_ptr": "*i64", "positions_ptr": "*i64", "total": "i32", **_SIZES},
        {"TILE": TILE},
    ),
    AotCase(
        _write,
        {
            "data_ptr": "*bf16",
            "positions_ptr": "*i64",
            "winners_ptr": "*i64",
            "y_ptr": "*bf16",
            "count": "i32",
            "inner": "i32",
        },
        {"ROWS": 1, "INNER": 1024},
    ),
]
