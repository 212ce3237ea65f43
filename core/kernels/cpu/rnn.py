"""Recurrent networks of several layers and directions, forward and backward (CPU wing).

One GEMM projects the input of all steps; a step is one `addmm_` of the hidden state and a few pointwise passes in
place. Backward computes all factors that do not depend on the recurrence in whole-sequence passes, so that a step is
again one `addmm` and a few products; the weight gradients are one GEMM over all steps. Gate equations: Hochreiter and
Schmidhuber, 1997 (order i, f, g, o); Cho et al., 2014, with the reset gate applied after the recurrent product
(order r, z, n), as in cuDNN and MXNet.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from core.kernels.cpu.random import dropout as _dropout
from core.kernels.rnn_parameters import unpack


def rnn(x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training):
    """Runs a recurrent network.

    x (T, N, I); params flat: for each layer and direction the i2h (G H, I) and h2h (G H, H) weights, then in the same
    order all i2h and h2h biases; h0 and, for "lstm", c0 (layers * directions, N, H). `dropout` acts on the input of
    every layer but the first while `training`, with masks from `key`. Returns y (T, N, directions * H), hn, cn (None
    but for "lstm") and `reserve`, the tensors that `rnn_grad` needs (empty unless `training`).
    """
    directions = 2 if bidirectional else 1
    steps, batch = x.shape[:2]
    y = x.new_empty((steps, batch, directions * hidden))
    hn, cn = torch.empty_like(h0), torch.empty_like(c0) if mode == "lstm" else None
    if x.is_meta:
        return y, hn, cn, ()
    weights = unpack(params, mode, x.shape[2], hidden, layers, bidirectional)
    forward, keep = _CELLS[mode].forward, []
    for layer in range(layers):
        if layer:
            x = y if not (training and dropout > 0) else _dropout(y, dropout, key + layer)
            y = x.new_empty((steps, batch, directions * hidden))
        for direction in range(directions):
            i = layer * directions + direction
            out = y[..., direction * hidden : (direction + 1) * hidden]
            c = c0[i] if mode == "lstm" else None
            saved, last = forward(x, weights[i], h0[i], c, out, _order(steps, direction))
            hn[i] = out[_order(steps, direction)[-1]] if steps else h0[i]
            if mode == "lstm":
                cn[i] = last
            keep += saved
        keep += (x, y)
    return y, hn, cn, tuple(keep) if training else ()


def rnn_grad(dy, dhn, dcn, x, params, h0, c0, y, reserve, mode, hidden, layers, bidirectional, dropout, key, training):
    """Gradients of `rnn`: (dx, dparams, dh0, dc0); dc0 is None but for "lstm". dy, dhn and dcn may be None."""
    directions = 2 if bidirectional else 1
    steps, batch = x.shape[:2]
    dparams, dh0 = torch.empty_like(params), torch.empty_like(h0)
    dc0 = torch.empty_like(c0) if mode == "lstm" else None
    if x.is_meta:
        return torch.empty_like(x), dparams, dh0, dc0
    weights = unpack(params, mode, x.shape[2], hidden, layers, bidirectional)
    gradients = unpack(dparams, mode, x.shape[2], hidden, layers, bidirectional)
    cell, keep = _CELLS[mode], list(reserve)
    if dy is None:
        dy = torch.zeros((steps, batch, directions * hidden), dtype=x.dtype, device=x.device)
    for layer in reversed(range(layers)):
        y, x = keep.pop(), keep.pop()
        dx = torch.empty_like(x)
        for direction in reversed(range(directions)):
            i = layer * directions + direction
            saved, keep[-cell.kept :] = keep[-cell.kept :], []
            own = slice(direction * hidden, (direction + 1) * hidden)
            dh = torch.zeros_like(h0[i]) if dhn is None else dhn[i].clone()
            dc = None
            if mode == "lstm":
                dc = torch.zeros_like(c0[i]) if dcn is None else dcn[i].clone()
            order, previous = _order(steps, direction), _previous(y[..., own], h0[i], direction)
            c = c0[i] if mode == "lstm" else None
            di, dh_gates, dh = cell.backward(dy[..., own], dh, dc, saved, previous, weights[i], c, order)
            _weight_gradients(gradients[i], di, dh_gates, x, previous)
            rows = dx.view(steps * batch, -1)
            flat = di.view(steps * batch, -1)
            if direction == directions - 1:
                torch.mm(flat, weights[i].i2h, out=rows)
            else:
                rows.addmm_(flat, weights[i].i2h)
            dh0[i] = dh
            if mode == "lstm":
                dc0[i] = dc
        if layer:
            dy = dx if not (training and dropout > 0) else _dropout(dx, dropout, key + layer)
    return dx, dparams, dh0, dc0


def _order(steps, direction):
    return range(steps - 1, -1, -1) if direction else range(steps)


def _previous(y, first, direction):
    """The state before every step, (T, N, H), from the states after it."""
    first = first.unsqueeze(0)
    return torch.cat((y[1:], first) if direction else (first, y[:-1]))[: y.shape[0]]


def _project(x, weight, bias):
    steps, batch = x.shape[:2]
    return torch.addmm(bias, x.reshape(steps * batch, -1), weight.t()).view(steps, batch, -1)


def _weight_gradients(gradient, di, dh_gates, x, previous):
    """Fills the views of one layer and direction; `dh_gates` is `di` where both projections share a gradient."""
    rows = di.shape[0] * di.shape[1]
    inputs = di.view(rows, -1).t()
    torch.mm(inputs, x.reshape(rows, -1), out=gradient.i2h)
    torch.sum(inputs, 1, out=gradient.i2h_bias)
    states = dh_gates.view(rows, -1).t()
    torch.mm(states, previous.reshape(rows, -1), out=gradient.h2h)
    if dh_gates is di:
        gradient.h2h_bias.copy_(gradient.i2h_bias)
    else:
        torch.sum(states, 1, out=gradient.h2h_bias)


def _plain_forward(activate_):
    def forward(x, w, h, c, out, order):
        gates = _project(x, w.i2h, w.i2h_bias + w.h2h_bias)
        recurrent = w.h2h.t()
        for t in order:
            h = activate_(gates[t].addmm_(h, recurrent))
        out.copy_(gates)
        return (gates,), None

    return forward


def _plain_backward(slope):
    def backward(dy, dh, dc, saved, previous, w, c0, order):
        gates = slope(saved[0])
        for t in reversed(order):
            d = gates[t].mul_(dh.add_(dy[t]))
            torch.mm(d, w.h2h, out=dh)
        return gates, gates, dh

    return backward


def _lstm_forward(x, w, h, c, out, order):
    n = h.shape[1]
    gates = _project(x, w.i2h, w.i2h_bias + w.h2h_bias)
    cells = x.new_empty((*x.shape[:2], n))
    squashed = torch.empty_like(cells)
    recurrent = w.h2h.t()
    for t in order:
        step = gates[t].addmm_(h, recurrent)
        sigmoid, g, o = step[:, : 2 * n].sigmoid_(), step[:, 2 * n : 3 * n].tanh_(), step[:, 3 * n :].sigmoid_()
        c = torch.mul(sigmoid[:, n:], c, out=cells[t]).addcmul_(sigmoid[:, :n], g)
        h = torch.mul(torch.tanh(c, out=squashed[t]), o, out=out[t])
    return (gates, cells, squashed), c


def _lstm_backward(dy, dh, dc, saved, previous, w, c0, order):
    gates, cells, squashed = saved
    batch, n = cells.shape[1:]
    i, f, g, o = (gates[..., k * n : (k + 1) * n] for k in range(4))
    before = _previous(cells, c0, order.step < 0)
    # Slopes of the gates with respect to dc (i, f, g), of o with respect to dh, and of the cell with respect to dh.
    slopes = torch.empty_like(gates)
    i_slope, f_slope, g_slope, o_slope = (slopes[..., k * n : (k + 1) * n] for k in range(4))
    sigmoid_slope, tanh_slope = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
    sigmoid_slope.grad_input(g, i, grad_input=i_slope)
    sigmoid_slope.grad_input(before, f, grad_input=f_slope)
    tanh_slope.grad_input(i, g, grad_input=g_slope)
    sigmoid_slope.grad_input(squashed, o, grad_input=o_slope)
    cell_slope = tanh_slope(o, squashed)
    dy = dy.contiguous()
    for t in reversed(order):
        dh.add_(dy[t])
        dc.addcmul_(dh, cell_slope[t])
        step = slopes[t]
        step.view(batch, 4, n)[:, :3].mul_(dc.unsqueeze(1))
        step[:, 3 * n :].mul_(dh)
        dc.mul_(f[t])
        torch.mm(step, w.h2h, out=dh)
    return slopes, slopes, dh


def _gru_forward(x, w, h, c, out, order):
    n = h.shape[1]
    gates = _project(x, w.i2h, w.i2h_bias)
    recurrent = torch.empty_like(gates)
    matrix = w.h2h.t()
    for t in order:
        step, state = gates[t], torch.addmm(w.h2h_bias, h, matrix, out=recurrent[t])
        rz = step[:, : 2 * n].add_(state[:, : 2 * n]).sigmoid_()
        candidate = step[:, 2 * n :].addcmul_(rz[:, :n], state[:, 2 * n :]).tanh_()
        h = torch.lerp(candidate, h, rz[:, n:], out=out[t])
    return (gates, recurrent), None


def _gru_backward(dy, dh, dc, saved, previous, w, c0, order):
    gates, recurrent = saved
    n = dh.shape[1]
    r, z, candidate = (gates[..., k * n : (k + 1) * n] for k in range(3))
    # Slopes of the candidate and of z with respect to dh, and of r with respect to the former.
    di = torch.empty_like(gates)
    r_slope, z_slope, n_slope = (di[..., k * n : (k + 1) * n] for k in range(3))
    torch.ops.aten.sigmoid_backward.grad_input(recurrent[..., 2 * n :], r, grad_input=r_slope)
    torch.ops.aten.sigmoid_backward.grad_input(previous - candidate, z, grad_input=z_slope)
    torch.ops.aten.tanh_backward.grad_input(1 - z, candidate, grad_input=n_slope)
    dstate = torch.empty_like(gates)
    for t in reversed(order):
        dh.add_(dy[t])
        di[t].view(-1, 3, n)[:, 1:].mul_(dh.unsqueeze(1))
        r_slope[t].mul_(n_slope[t])
        dstate[t, :, : 2 * n].copy_(di[t, :, : 2 * n])
        torch.mul(n_slope[t], r[t], out=dstate[t, :, 2 * n :])
        dh.mul_(z[t]).addmm_(dstate[t], w.h2h)
    return di, dstate, dh


class _Cell(NamedTuple):
    forward: object
    backward: object
    kept: int


_CELLS = {
    "rnn_relu": _Cell(_plain_forward(torch.relu_), _plain_backward(lambda y: (y > 0).to(y.dtype)), 1),
    "rnn_tanh": _Cell(_plain_forward(torch.tanh_), _plain_backward(lambda y: 1 - y * y), 1),
    "lstm": _Cell(_lstm_forward, _lstm_backward, 3),
    "gru": _Cell(_gru_forward, _gru_backward, 2),
}
