"""Recurrent networks on the CPU.

LSTMs in float32 are oneDNN's own layers. Elsewhere one GEMM projects the input of all steps; a step is one product with
the hidden state and a few pointwise passes. Large products are oneDNN's, for the steps with the matrix packed once a
sequence. Backward computes all factors that do not depend on the recurrence in whole-sequence passes, so that a step is
again one matrix product and a few products of elements; the weight gradients are one GEMM over all steps.
"""

from __future__ import annotations

import torch

from core.kernels.cpu._onednn import onednn as _onednn
from core.kernels.cpu._onednn import packs as _packs
from core.kernels.cpu.matmul import linear as _product
from core.kernels.cpu.random import dropout as _dropout
from core.kernels.rnn_layers import Backend, Cell, previous, run, run_grad, through_time
from core.kernels.rnn_parameters import Weights

_sigmoid_slope, _tanh_slope = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
# Elements of a matrix from which oneDNN is worth its overhead (with 20 rows: even at 1 << 17,
# a third faster at 1 << 20).
_PACKED = 1 << 18


def rnn(x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training):
    return run(
        _backend(mode, x, training), x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training
    )


def rnn_grad(dy, dhn, dcn, x, params, h0, c0, y, reserve, mode, hidden, layers, bidirectional, dropout, key, training):
    attrs = (mode, hidden, layers, bidirectional, dropout, key, training)
    return run_grad(_backend(mode, x, training), dy, dhn, dcn, x, params, h0, c0, y, reserve, *attrs)


def _backend(mode, x, training):
    """What computes a network: oneDNN's own layer is the fastest for sequences of an LSTM in float32."""
    if mode == "lstm" and x.dtype is torch.float32 and x.shape[0] > 1 and _packs(x):
        return _TRAINED if training else _PREDICTING
    return _BACKEND


def _project(x, weight, bias):
    return _product(x.flatten(0, 1), weight, bias).view(*x.shape[:2], weight.shape[0])


def _weight_gradients(di, dh_gates, x, before):
    """Those of one layer and direction; `dh_gates` is `di` where both projections share a gradient."""
    inputs, states = di.flatten(0, 1).t(), dh_gates.flatten(0, 1).t()
    i2h_bias = inputs.sum(1)
    return Weights(
        _product(inputs, x.flatten(0, 1).t()),
        _product(states, before.flatten(0, 1).t()),
        i2h_bias,
        i2h_bias if dh_gates is di else states.sum(1),
    )


def _input_gradient(di, weight, total):
    dx = _product(di.flatten(0, 1), weight.t()).view(*di.shape[:2], weight.shape[1])
    return dx if total is None else dx.add_(total)


def _stepper(weight, batch):
    """The product of every step as a function (x, addend) -> addend + x weight^T, which may overwrite `addend`."""
    if weight.dtype is torch.float32 and weight.numel() >= _PACKED and _packs(weight):
        linear, packed = _onednn._linear_pointwise, _onednn._reorder_linear_weight(weight, batch)
        return lambda x, addend: linear.binary(x, addend, packed, None, "add")
    matrix = weight.t()
    return lambda x, addend: addend.addmm_(x, matrix)


def _relu(x, out):
    return torch.clamp_min(x, 0, out=out)


def _plain_forward(activate):
    def forward(x, w, h, c, out, order):
        gates = _project(x, w.i2h, w.i2h_bias + w.h2h_bias)
        product = _stepper(w.h2h, x.shape[1])
        for t in order:
            h = activate(product(h, gates[t]), out=gates[t])
        out.copy_(gates)
        return (gates,), None

    return forward


def _plain_backward(slope):
    def backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
        gates, product = slope(saved[0]), _stepper(w.h2h.t(), dh.shape[0])
        dh.add_(last_dy)
        for t in reversed(order):
            dh = product(gates[t].mul_(dh), dys[t])
        return gates, gates, dh, None

    return backward


def _lstm_forward(x, w, h, c, out, order):
    n = h.shape[1]
    gates = _project(x, w.i2h, w.i2h_bias + w.h2h_bias)
    i, f, g, o = (gates[..., k * n : (k + 1) * n] for k in range(4))
    cells = x.new_empty((*x.shape[:2], n))
    squashed = torch.empty_like(cells)
    product = _stepper(w.h2h, x.shape[1])
    for t in order:
        step = product(h, gates[t])
        torch.sigmoid(step[:, : 2 * n], out=gates[t, :, : 2 * n])
        torch.tanh(step[:, 2 * n : 3 * n], out=g[t])
        torch.sigmoid(step[:, 3 * n :], out=o[t])
        c = torch.mul(f[t], c, out=cells[t]).addcmul_(i[t], g[t])
        h = torch.mul(torch.tanh(c, out=squashed[t]), o[t], out=out[t])
    return (gates, cells, squashed), c


def _lstm_backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
    gates, cells, squashed = saved
    batch, n = cells.shape[1:]
    i, f, g, o = (gates[..., k * n : (k + 1) * n] for k in range(4))
    cells_before = previous(cells, c0, order)
    # Slopes of the gates with respect to dc (i, f, g), of o with respect to dh, and of the cell with respect to dh.
    slopes = torch.empty_like(gates)
    i_slope, f_slope, g_slope, o_slope = (slopes[..., k * n : (k + 1) * n] for k in range(4))
    _sigmoid_slope.grad_input(g, i, grad_input=i_slope)
    _sigmoid_slope.grad_input(cells_before, f, grad_input=f_slope)
    _tanh_slope.grad_input(i, g, grad_input=g_slope)
    _sigmoid_slope.grad_input(squashed, o, grad_input=o_slope)
    cell_slope = _tanh_slope(o, squashed)
    product = _stepper(w.h2h.t(), batch)
    dh.add_(last_dy)
    for t in reversed(order):
        dc.addcmul_(dh, cell_slope[t])
        step = slopes[t]
        step.view(batch, 4, n)[:, :3].mul_(dc.unsqueeze(1))
        o_slope[t].mul_(dh)
        dc.mul_(f[t])
        dh = product(step, dys[t])
    return slopes, slopes, dh, dc


def _gru_forward(x, w, h, c, out, order):
    n = h.shape[1]
    gates = _project(x, w.i2h, w.i2h_bias)
    recurrent = w.h2h_bias.repeat(*gates.shape[:2], 1)
    product = _stepper(w.h2h, x.shape[1])
    for t in order:
        step, state = gates[t], product(h, recurrent[t])
        rz = step[:, : 2 * n].add_(state[:, : 2 * n]).sigmoid_()
        candidate = step[:, 2 * n :].addcmul_(rz[:, :n], state[:, 2 * n :]).tanh_()
        recurrent[t] = state
        h = torch.lerp(candidate, h, rz[:, n:], out=out[t])
    return (gates, recurrent), None


def _gru_backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
    gates, recurrent = saved
    n = dh.shape[1]
    r, z, candidate = (gates[..., k * n : (k + 1) * n] for k in range(3))
    # Slopes of the candidate and of z with respect to dh, and of r with respect to the former.
    di = torch.empty_like(gates)
    r_slope, z_slope, n_slope = (di[..., k * n : (k + 1) * n] for k in range(3))
    _sigmoid_slope.grad_input(recurrent[..., 2 * n :], r, grad_input=r_slope)
    _sigmoid_slope.grad_input(before - candidate, z, grad_input=z_slope)
    _tanh_slope.grad_input(1 - z, candidate, grad_input=n_slope)
    dstate = torch.empty_like(gates)
    product = _stepper(w.h2h.t(), dh.shape[0])
    dh.add_(last_dy)
    for t in reversed(order):
        di[t].view(-1, 3, n)[:, 1:].mul_(dh.unsqueeze(1))
        r_slope[t].mul_(n_slope[t])
        dstate[t, :, : 2 * n].copy_(di[t, :, : 2 * n])
        torch.mul(n_slope[t], r[t], out=dstate[t, :, 2 * n :])
        dh = product(dstate[t], dys[t].addcmul_(dh, z[t]))
    return di, dstate, dh, None


def _through_time(backward):
    return through_time(backward, _weight_gradients, _input_gradient, torch.zeros_like)


_CELLS = {
    "rnn_relu": Cell(_plain_forward(_relu), _through_time(_plain_backward(lambda y: (y > 0).to(y.dtype))), 1),
    "rnn_tanh": Cell(_plain_forward(torch.tanh), _through_time(_plain_backward(lambda y: 1 - y * y)), 1),
    "lstm": Cell(_lstm_forward, _through_time(_lstm_backward), 3),
    "gru": Cell(_gru_forward, _through_time(_gru_backward), 2),
}
_BACKEND = Backend(_CELLS, _dropout, torch.zeros_like, torch.Tensor.copy_)


def _layer(x, w, h, c, order):
    """oneDNN's LSTM of one direction: y, the last h and c, and what its gradient reads."""
    how = (order.step < 0, [], _LSTM, h.shape[1], 1, True, False, False, True)
    return torch.ops.aten.mkldnn_rnn_layer.default(x.contiguous(), *w, h, c, *how)


def _layer_forward(keep):
    def forward(x, w, h, c, out, order):
        y, _, last, workspace = _layer(x, w, h, c, order)
        out.copy_(y)
        return (last, workspace if keep else workspace.new_empty(0)), last

    return forward


def _layer_gradients(dy, dhn, dcn, x, y, saved, w, h0, c0, order, total):
    last, workspace = saved
    if not workspace.numel():
        workspace = _layer(x, w, h0, c0, order)[3]
    dx, *found, dh0, dc0 = torch.ops.aten.mkldnn_rnn_layer_backward.default(
        x.contiguous(), *w, h0, c0, y.contiguous(), y[order[-1]], last, dy.contiguous(), dhn, dcn, order.step < 0,
        _LSTM, h0.shape[1], 1, True, True, False, [], False, workspace,
    )  # fmt: skip
    return dx if total is None else dx.add_(total), Weights(*found), dh0, dc0


_LSTM = 2  # as ATen numbers the modes
# In prediction nothing is kept: what gradients read is as large as 15 outputs, and few ask for gradients then.
_PREDICTING, _TRAINED = (
    Backend({"lstm": Cell(_layer_forward(keep), _layer_gradients, 2)}, _dropout, torch.zeros_like, torch.Tensor.copy_)
    for keep in (False, True)
)
