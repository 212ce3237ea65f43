"""The walk over the layers and directions of a recurrent network, common to both backends.

The computing is in a `Backend`; here memory is only allocated, viewed and copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from core.kernels.rnn_parameters import Weights, unpack


class Cell(NamedTuple):
    """One kind of network in one direction; `saved` are the tensors, `kept` in number, that `gradients` needs.

    forward(x, weights, h0, c0, out, order) fills `out` (T, N, H), returns (saved, last c). gradients(dy, dhn, dcn, x,
    y, saved, weights, h0, c0, order, sum) returns (dx + sum, `Weights` of gradients, dh0, dc0); it may overwrite dhn
    and dcn, `sum` is None or a gradient of x that may be overwritten too.
    """

    forward: Callable
    gradients: Callable
    kept: int


class Backend(NamedTuple):
    """What a backend computes with; zeros_like: row-major zeros in the shape of a tensor; write(out, x): copies and
    converts the elements of `x`.
    """

    cells: dict[str, Cell]
    dropout: Callable
    zeros_like: Callable
    write: Callable


def through_time(
    backward: Callable, weight_gradients: Callable, input_gradient: Callable, zeros_like: Callable
) -> Callable:
    """The `gradients` of a cell that goes back step by step, and ends with products over all steps.

    backward(dys, last_dy, dhn, dcn, saved, previous, weights, c0, order) returns (d_i2h, d_h2h, dh0, dc0), the
    first two (T, N, G H) with respect to the two projections; `dys` is dy one step earlier in `order`, `last_dy`
    its last step. weight_gradients(d_i2h, d_h2h, x, previous) gives `Weights`, input_gradient(d_i2h, weights, sum) that
    of x.
    """

    def gradients(dy, dhn, dcn, x, y, saved, weights, h0, c0, order, total):
        before = previous(y, h0, order)
        dys = previous(dy, zeros_like(h0), order)
        d_i2h, d_h2h, dh0, dc0 = backward(dys, dy[order[-1]], dhn, dcn, saved, before, weights, c0, order)
        return input_gradient(d_i2h, weights.i2h, total), weight_gradients(d_i2h, d_h2h, x, before), dh0, dc0

    return gradients


def run(backend, x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training):
    """The function `rnn` of a backend."""
    weights = unpack(params, mode, x.shape[2], hidden, layers, bidirectional)
    directions, (steps, batch) = 2 if bidirectional else 1, x.shape[:2]
    y = x.new_empty((steps, batch, directions * hidden))
    hn, cn = h0.new_empty(h0.shape), c0.new_empty(c0.shape) if mode == "lstm" else None
    h0, c0 = h0.contiguous(), None if c0 is None else c0.contiguous()
    cell, keep = backend.cells[mode], []
    for layer in range(layers):
        if layer:
            x = backend.dropout(y, dropout, key, (), _salt(layer)) if training and dropout > 0 else y
            y = torch.empty_like(y)
        for direction in range(directions):
            i, order = layer * directions + direction, _order(steps, direction)
            out = y[..., direction * hidden : (direction + 1) * hidden]
            saved, last = cell.forward(x, weights[i], h0[i], c0[i] if mode == "lstm" else None, out, order)
            backend.write(hn[i], out[order[-1]] if order else h0[i])
            if mode == "lstm":
                backend.write(cn[i], last)
            keep += saved
        keep += (x, y)
    return y, hn, cn, tuple(keep)


def run_grad(
    backend, dy, dhn, dcn, x, params, h0, c0, y, reserve, mode, hidden, layers, bidirectional, dropout, key, training
):
    """The function `rnn_grad` of a backend."""
    flat = isinstance(params, torch.Tensor)
    dh0, dc0 = h0.new_empty(h0.shape), c0.new_empty(c0.shape) if mode == "lstm" else None
    weights = unpack(params, mode, x.shape[2], hidden, layers, bidirectional)
    h0, c0 = h0.contiguous(), None if c0 is None else c0.contiguous()
    cell, keep, directions, steps = backend.cells[mode], list(reserve), 2 if bidirectional else 1, x.shape[0]
    if steps == 0:
        none = backend.zeros_like(params) if flat else list(map(backend.zeros_like, params))
        return torch.empty_like(x), none, _copy(backend, dhn, h0), dc0 if dc0 is None else _copy(backend, dcn, c0)
    dparams = torch.empty_like(params) if flat else None
    gradients = unpack(dparams, mode, x.shape[2], hidden, layers, bidirectional) if flat else list(weights)
    dy = backend.zeros_like(y) if dy is None else dy
    for layer in reversed(range(layers)):
        y, x, dx = keep.pop(), keep.pop(), None
        for direction in reversed(range(directions)):
            i, order = layer * directions + direction, _order(steps, direction)
            saved = [keep.pop() for _ in range(cell.kept)][::-1]
            own, lstm = slice(direction * hidden, (direction + 1) * hidden), mode == "lstm"
            dx, found, dh, dc = cell.gradients(
                dy[..., own], _copy(backend, dhn if dhn is None else dhn[i], h0[i]),
                _copy(backend, dcn if dcn is None else dcn[i], c0[i]) if lstm else None, x, y[..., own], saved, weights[i],
                h0[i], c0[i] if lstm else None, order, dx,
            )  # fmt: skip
            del saved
            backend.write(dh0[i], dh)
            if lstm:
                backend.write(dc0[i], dc)
            if flat:
                for part, gradient in zip(gradients[i], found, strict=True):
                    backend.write(part, gradient)
            else:
                gradients[i] = found
            del found
        if layer:
            dy = backend.dropout(dx, dropout, key, (), _salt(layer)) if training and dropout > 0 else dx
    return dx, dparams if flat else _parts(gradients), dh0, dc0


def _parts(gradients: list[Weights]) -> list:
    """The parts of the flat vector, each in memory of its own: a bias of both projections has but one gradient."""
    matrices = [matrix.reshape(-1) for g in gradients for matrix in (g.i2h, g.h2h)]
    return matrices + [bias for g in gradients for bias in (g.i2h_bias, g.h2h_bias.clone())]


def previous(y, first, order):
    """What `y` (T, N, H) was one step earlier in `order`, and `first` at its beginning; contiguous."""
    first = first.unsqueeze(0)
    return torch.cat((y[1:], first) if order.step < 0 else (first, y[:-1]))


def _order(steps, direction):
    return range(steps - 1, -1, -1) if direction else range(steps)


def _salt(layer):
    """What takes a layer's key far from the keys of other calls, which callers may count up by one."""
    return layer << 48


def _copy(backend, gradient, like):
    return backend.zeros_like(like) if gradient is None else gradient.clone(memory_format=torch.contiguous_format)
