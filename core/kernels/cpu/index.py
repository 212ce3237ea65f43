"""Kernels that move elements by integer indices, on the CPU: all are deterministic."""

from __future__ import annotations

import math

import torch

from core.kernels.cpu._direct import direct
from core.kernels.cpu._half import accumulator
from core.kernels.shape import beside_each_other

aten = torch.ops.aten
_embedding_backward = direct(aten.embedding_dense_backward.default)


def clipped(indices, n):
    return indices.long().clamp_(0, n - 1) if indices.dtype is not torch.int64 else indices.clamp(0, n - 1)


def wrapped(indices, n):
    return indices.to(torch.int64).remainder(n)


def take(x, indices, axis):
    if indices.dim() == 1:
        return x.index_select(axis, indices if indices.dtype is torch.int64 else indices.long())
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    return x.index_select(axis, _long(indices).reshape(-1)).reshape(shape)


def take_grad(dy, indices, axis, x_shape):
    outer, rows, inner = math.prod(x_shape[:axis]), x_shape[axis], math.prod(x_shape[axis + 1 :])
    indices = _shaped(_long(indices), (indices.numel(),))
    if outer == 1:
        return _shaped(embedding_grad(_shaped(dy, (indices.numel(), inner)), indices, (rows, inner)), x_shape)
    dx = torch.zeros((outer, rows, inner), dtype=accumulator(dy.dtype), device=dy.device)
    dx.index_add_(1, indices, dy.reshape(outer, indices.numel(), inner).to(dx.dtype))
    return dx.to(dy.dtype).reshape(x_shape)


def embedding(indices, weight):
    return torch.embedding(weight, indices if indices.dtype is torch.int64 else indices.long())


def embedding_grad(dy, indices, weight_shape):
    kind = accumulator(dy.dtype)
    rows = dy if dy.dtype is kind else dy.to(kind)
    dw = _embedding_backward(rows, _long(indices), weight_shape[0], -1, False)
    return dw if dy.dtype is kind else dw.to(dy.dtype)


def csr_dot(values, columns, starts, x):
    kind, count = accumulator(x.dtype), starts.shape[0] - 1
    if not columns.numel() or not x.numel():
        return torch.zeros((count, *x.shape[1:]), dtype=x.dtype, device=x.device)
    y = aten._embedding_bag_forward_only.default(
        x.to(kind), columns.contiguous(), starts.contiguous(), False, 0, False, values.to(kind).contiguous(),
        include_last_offset=True,
    )[0]  # fmt: skip
    return y.to(x.dtype)


def pick(x, indices, axis, keepdims):
    y = x.gather(axis, _long(indices).unsqueeze(axis))
    return y if keepdims else y.squeeze_(axis)


def pick_grad(dy, indices, axis, x_shape):
    positions = _long(indices).unsqueeze(axis)
    dy = dy.unsqueeze(axis) if dy.shape == indices.shape else dy.reshape(positions.shape)
    return torch.zeros(x_shape, dtype=dy.dtype, device=dy.device).scatter_(axis, positions, dy)


def gather_nd(x, indices):
    return aten.index(x, list(_long(indices).unbind(0)))


def scatter_nd(data, indices, shape):
    positions, rows, inner = _rows(indices, shape)
    y = torch.zeros((rows, inner), dtype=data.dtype, device=data.device)
    # Along one axis ATen writes in the order of the indices.
    positions = positions.unsqueeze(1).expand(-1, inner)
    return y.scatter_(0, positions, data.reshape(positions.shape)).reshape(shape)


def scatter_nd_add(data, indices, shape):
    positions, rows, inner = _rows(indices, shape)
    data = data.reshape(positions.numel(), inner)
    if data.is_floating_point():
        return embedding_grad(data, positions, (rows, inner)).reshape(shape)
    return (
        torch.zeros((rows, inner), dtype=data.dtype, device=data.device).index_add_(0, positions, data).reshape(shape)
    )


def gather_along(x, indices, axis):
    return torch.take_along_dim(x, _long(indices), axis)


def scatter_along_add(dy, indices, axis, x_shape):
    wide = dy.shape[:axis] + (x_shape[axis],) + dy.shape[axis + 1 :]
    dx = torch.zeros(wide, dtype=accumulator(dy.dtype), device=dy.device)
    dx.scatter_add_(axis, wrapped(indices, x_shape[axis]).expand(dy.shape), dy.to(dx.dtype))
    broadcast = [i for i, (n, m) in enumerate(zip(wide, x_shape, strict=True)) if n != m]
    return (dx.sum(broadcast, keepdim=True) if broadcast else dx).to(dy.dtype)


def one_hot(indices, depth, on_value, off_value, dtype):
    # ATen compares float32 with a result of float32 in one pass, several times as fast as other types.
    exact = torch.float32 if depth < 1 << 24 and indices.dtype is not torch.float64 else torch.int64
    indices = (indices.trunc() if indices.is_floating_point() else indices).to(exact).unsqueeze(-1)
    positions = torch.arange(depth, dtype=exact, device=indices.device)
    if on_value == 1 and off_value == 0:
        return torch.eq(indices, positions, out=torch.empty(0, dtype=dtype, device=indices.device))
    return torch.where(indices == positions, on_value, off_value).to(dtype)


def index_get(x, index_tuple):
    return aten.index(x, [_index(i) for i in index_tuple])


def index_put(x, index_tuple, value, accumulate):
    return aten.index_put(x, [_index(i) for i in index_tuple], value.to(x.dtype), accumulate)


def sequence_reverse(x, lengths):
    if lengths is None:
        return x.flip(0)
    time = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    lengths = _long(lengths).unsqueeze(0)
    source = torch.where(time < lengths, lengths - 1 - time, time)
    return x.gather(0, source.reshape(source.shape + (1,) * (x.dim() - 2)).expand(x.shape))


def nonzero(x):
    return torch.nonzero(x)


def _rows(indices, shape):
    """The indexed axes flattened: numbers of the indexed rows, how many rows there are, and their size."""
    indices = _long(indices)
    depth = indices.shape[0]
    positions = torch.zeros(indices.shape[1:], dtype=torch.int64, device=indices.device)
    for axis, (index, size) in enumerate(zip(indices.unbind(0), shape)):
        index = torch.where(index < 0, index + size, index)
        if index.numel() and (index.amin() < 0 or index.amax() >= size):
            raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")
        positions = positions * size + index
    return positions.reshape(-1), math.prod(shape[:depth]), math.prod(shape[depth:])


def _long(indices):
    return indices if indices.dtype is torch.int64 else indices.long()


def _shaped(x, shape):
    """`x` in a shape; itself where it has that one, for a gradient that is a view of another
    tensor is copied on its way.
    """
    return x if x.shape == shape else x.reshape(shape)


def _index(index):
    return index if index is None or index.dtype is torch.bool else _long(index)


def check(indices, n):
    if indices.numel() and bool(((indices >= n) | (indices < 0)).any()):
        raise IndexError(f"an index is out of range for an axis of length {n}")


def wrapped_negative(indices, n):
    indices = indices.to(torch.int64)
    return torch.where(indices < 0, indices + n, indices)


def index_put_(base, view, index_tuple, value, accumulate):
    positions = [_index(i) for i in index_tuple]
    if accumulate:
        aten.index_put_(view, positions, value.reshape(aten.index(view, positions).shape).to(view.dtype), True)
    else:
        view[beside_each_other([slice(None) if i is None else i for i in positions], view)] = value
    return base
