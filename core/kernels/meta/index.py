"""Rules for the kernels of `index` on tensors without memory."""

import operator
from functools import partial

import torch

from core.kernels.meta.base import broadcast, empty, enter, fits, like_first, of_given_shape, without

enter("index", "index_put")(like_first)


@enter("index")
def pick(x, indices, axis, keepdims):
    axis %= x.dim()
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    fits(len(rest) == indices.dim() and all(map(operator.le, indices.shape, rest)), "pick", x, indices)
    shape = list(indices.shape)
    if keepdims:
        shape.insert(axis, 1)
    return empty(shape, x.dtype)


enter("index", "take_grad", "pick_grad", "scatter_along_add")(partial(of_given_shape, 3))
enter("index", "scatter_nd", "scatter_nd_add")(partial(of_given_shape, 2))


@enter("index")
def take(x, indices, axis):
    return empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@enter("index")
def gather_nd(x, indices):
    return empty((*indices.shape[1:], *x.shape[indices.shape[0] :]), x.dtype)


@enter("index")
def gather_along(x, indices, axis):
    axis %= x.dim()
    shape = list(broadcast([without(x.shape, axis), without(indices.shape, axis)]))
    shape.insert(axis, indices.shape[axis])
    return empty(shape, x.dtype)


@enter("index")
def index_get(x, index_tuple):
    if any(i is not None and i.dtype is torch.bool for i in index_tuple):
        return torch.ops.aten.index(x, list(index_tuple))  # which refuses: the shape depends on values
    places = [axis for axis, i in enumerate(index_tuple) if i is not None]
    rest = [n for axis, n in enumerate(x.shape) if axis not in places]
    at = places[0] if places == [*range(places[0], places[-1] + 1)] else 0
    return empty((*rest[:at], *broadcast([index_tuple[a].shape for a in places]), *rest[at:]), x.dtype)


@enter("index")
def index_put_add(base, view, index, value):
    return base


@enter("index")
def embedding(indices, weight):
    return empty((*indices.shape, *weight.shape[1:]), weight.dtype)


@enter("index")
def embedding_grad(dy, indices, weight_shape):
    return empty(weight_shape, dy.dtype)


@enter("index", "clipped", "wrapped", "wrapped_negative")
def places(indices, n):
    return empty(indices.shape, torch.int64)


@enter("index")
def one_hot(indices, depth, on_value, off_value, dtype):
    return empty((*indices.shape, depth), dtype)


@enter("index")
def sequence_reverse(x, lengths):
    return empty(x.shape, x.dtype)
