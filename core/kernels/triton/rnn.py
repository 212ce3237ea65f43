"""Recurrent networks in Triton.

The input of all steps is projected by one matrix product, and the weight gradients are products over all steps at the
end. The steps of an LSTM between are one launch where its hidden state is small enough (`_lstm`). Otherwise a step is
the product with the hidden state, to which the projected input is added, and one kernel for the gates; backward
likewise. For half types everything that a step hands to the next but the operands of products (the
hidden state forward, the gradients of the gates backward) stays in float32. The recurrent weights are read once a step;
the L2 cache holds them up to about 50 MB on Hopper.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.base import MXNetError
from core.kernels.precision import wide_type
from core.kernels.rnn_layers import Backend, Cell, previous, run, run_grad, through_time
from core.kernels.rnn_parameters import Weights
from core.kernels.triton import _lstm, reduce
from core.kernels.triton._counting import WIDE
from core.kernels.triton._filled import zeros_like
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import cast, contiguous, write_
from core.kernels.triton.functions import sigmoid, tanh
from core.kernels.triton.matmul import _linear, linear, matmul
from core.kernels.triton.random import dropout as _dropout

_BLOCK = 512


def rnn(x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training):
    return run(_BACKEND, x, params, h0, c0, mode, hidden, layers, bidirectional, dropout, key, training)


def rnn_grad(dy, dhn, dcn, x, params, h0, c0, y, reserve, mode, hidden, layers, bidirectional, dropout, key, training):
    attrs = (mode, hidden, layers, bidirectional, dropout, key, training)
    return run_grad(_BACKEND, dy, dhn, dcn, x, params, h0, c0, y, reserve, *attrs)


# ------------------------------------------------------------ launching


def _weight_gradients(di, dh_gates, x, before):
    """Those of one layer and direction; `dh_gates` is `di` where both projections share a gradient."""
    inputs, states = di.flatten(0, 1), dh_gates.flatten(0, 1)
    i2h_bias = reduce.sum(inputs, (0,), False)
    return Weights(
        matmul(inputs, x.flatten(0, 1), transpose_a=True),
        matmul(states, before.flatten(0, 1), transpose_a=True),
        i2h_bias,
        i2h_bias if dh_gates is di else reduce.sum(states, (0,), False),
    )


def _input_gradient(di, weight, total):
    return linear(di, weight.t(), residual=total)


def _plain_forward(activation):
    def forward(x, w, h, c, out, order):
        inputs = _linear(x, w.i2h, w.i2h_bias, None, None, wide_type(x.dtype))
        outputs = torch.empty(inputs.shape, dtype=x.dtype, device=x.device)
        for t in order:
            h = linear(h, w.h2h, w.h2h_bias, activation, inputs[t])
            out[t] = h
            outputs[t] = h
        return (outputs,), None

    return forward


def _plain_backward(kernel):
    def backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
        outputs, d = saved[0], torch.empty_like(saved[0])
        dh = _sum(dh, last_dy)
        for t in reversed(order):
            kernel[_grid(dh)](dh, outputs[t], d[t], dh.numel(), BLOCK=_BLOCK)
            dh = _linear(d[t], w.h2h.t(), None, None, dys[t], dh.dtype)
        return d, d, dh, None

    return backward


def _lstm_forward(x, w, h, c, out, order):
    inputs = _linear(x, w.i2h, w.i2h_bias, None, None, wide_type(x.dtype))
    cells = torch.empty((*x.shape[:2], h.shape[1]), dtype=inputs.dtype, device=x.device)
    shared = _lstm.tiling_of(x, h)
    if shared is not None:
        _lstm.forward(inputs, w.h2h, w.h2h_bias, h, c, out, cells, order, shared)
        return (inputs, cells), cells[order[-1]]
    gates, h2h = torch.empty_like(inputs), _rows_aligned(w.h2h)
    h, states = _rows_aligned(h), _rows_aligned(out, False)
    for t in order:
        _linear(h, h2h, w.h2h_bias, None, inputs[t], gates.dtype, gates[t])
        h, c_new = states[t], cells[t]
        _lstm_step[_grid(c)](gates[t], c, c_new, h, c.numel(), c.shape[1], h.stride(0), BLOCK=_BLOCK)
        c = c_new
    if states is not out:
        write_(out, states)
    return (gates, cells), c


def _lstm_backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
    gates, cells = saved
    cells_before, dc = previous(cells, in_type(c0, cells.dtype), order), in_type(dc, cells.dtype)
    kind, dh, shared = dh.dtype, _sum(dh, last_dy), _lstm.tiling_of(before, dh)
    if shared is not None:
        d = _lstm.gate_gradients(*cells.shape, kind, cells.device)
        _lstm.backward(gates, w.h2h, cells, cells_before, dys, dh, dc, d, order, shared)
        return d, d, dh, dc
    d = torch.empty(gates.shape, dtype=kind, device=gates.device)
    for t in reversed(order):
        _lstm_step_back[_grid(dh)](
            dh, dc, gates[t], cells[t], cells_before[t], d[t], dh.numel(), dh.shape[1], BLOCK=_BLOCK
        )
        dh = _linear(d[t], w.h2h.t(), None, None, dys[t], dh.dtype)
    return d, d, dh, dc


def _gru_forward(x, w, h, c, out, order):
    gates = _linear(x, w.i2h, w.i2h_bias, None, None, wide_type(x.dtype))
    recurrent = torch.empty((*x.shape[:2], h.shape[1]), dtype=gates.dtype, device=x.device)
    wide = cast(h, gates.dtype)  # the hidden state, in place; products read it in `out`
    for t in order:
        state = _linear(h, w.h2h, w.h2h_bias, None, None, gates.dtype)
        h = out[t]
        _gru_step[_grid(wide)](
            gates[t], state, wide, recurrent[t], h, wide.numel(), wide.shape[1], h.stride(0), BLOCK=_BLOCK
        )
    return (gates, recurrent), None


def _gru_backward(dys, last_dy, dh, dc, saved, before, w, c0, order):
    gates, recurrent = saved
    d = torch.empty(gates.shape, dtype=dh.dtype, device=dh.device)
    d_state, dh = torch.empty_like(d), _sum(dh, last_dy)
    for t in reversed(order):
        kept = torch.empty_like(dh)
        _gru_step_back[_grid(dh)](
            dh, gates[t], recurrent[t], before[t], dys[t], d[t], d_state[t], kept, dh.numel(), dh.shape[1],
            BLOCK=_BLOCK,
        )  # fmt: skip
        dh = _linear(d_state[t], w.h2h.t(), None, None, kept, dh.dtype)
    return d, d_state, dh, None


def _rows_aligned(t, filled=True):
    """`t` with rows that begin at multiples of 16 bytes, which products read fastest: itself, or else new memory."""
    if all(stride * t.element_size() % 16 == 0 for stride in t.stride()[:-1]):
        return t
    wide = torch.empty((*t.shape[:-1], triton.cdiv(t.shape[-1], 8) * 8), dtype=t.dtype, device=t.device)
    aligned = wide[..., : t.shape[-1]]
    return write_(aligned, t) if filled else aligned


def _sum(a, b):
    """a + b, in float32 for half types; both (N, H), `a` contiguous."""
    y, b = torch.empty(a.shape, dtype=wide_type(a.dtype), device=a.device), contiguous(b)
    _add[_grid(a)](a, b, y, a.numel(), BLOCK=_BLOCK)
    return y


def _grid(x):
    if x.numel() >= WIDE:
        raise MXNetError(f"rnn: a state of {tuple(x.shape)} was given; it may have up to {WIDE} elements")
    return (triton.cdiv(x.numel(), _BLOCK),)


# ------------------------------------------------------------ kernels


@jit
def _load(ptr, at, inside):
    """Elements in float32, or float64."""
    return tl.load(ptr + at, inside, 0).to(tl.float64 if ptr.dtype.element_ty == tl.float64 else tl.float32)


@jit
def _span(total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    return at, at < total


@jit
def _add(a_ptr, b_ptr, y_ptr, total, BLOCK: tl.constexpr):
    at, inside = _span(total, BLOCK)
    tl.store(y_ptr + at, _load(a_ptr, at, inside) + _load(b_ptr, at, inside), inside)


@jit
def _relu_step_back(dh_ptr, y_ptr, d_ptr, total, BLOCK: tl.constexpr):
    at, inside = _span(total, BLOCK)
    tl.store(d_ptr + at, tl.where(_load(y_ptr, at, inside) > 0, _load(dh_ptr, at, inside), 0.0), inside)


@jit
def _tanh_step_back(dh_ptr, y_ptr, d_ptr, total, BLOCK: tl.constexpr):
    at, inside = _span(total, BLOCK)
    y = _load(y_ptr, at, inside)
    tl.store(d_ptr + at, _load(dh_ptr, at, inside) * (1 - y * y), inside)


@jit
def _lstm_step(gates_ptr, c_ptr, c_new_ptr, h_ptr, total, hidden, h_stride, BLOCK: tl.constexpr):
    """Activates the gates in place and writes the new cell and hidden states."""
    at, inside = _span(total, BLOCK)
    row, column = (at // hidden).to(tl.int64), at % hidden
    gate = row * (4 * hidden) + column
    i = sigmoid(_load(gates_ptr, gate, inside))
    f = sigmoid(_load(gates_ptr, gate + hidden, inside))
    g = tanh(_load(gates_ptr, gate + 2 * hidden, inside))
    o = sigmoid(_load(gates_ptr, gate + 3 * hidden, inside))
    c = f * _load(c_ptr, at, inside) + i * g
    tl.store(gates_ptr + gate, i, inside)
    tl.store(gates_ptr + gate + hidden, f, inside)
    tl.store(gates_ptr + gate + 2 * hidden, g, inside)
    tl.store(gates_ptr + gate + 3 * hidden, o, inside)
    tl.store(c_new_ptr + at, c, inside)
    tl.store(h_ptr + row * h_stride + column, o * tanh(c), inside)


@jit
def _lstm_step_back(dh_ptr, dc_ptr, gates_ptr, c_ptr, c_before_ptr, d_ptr, total, hidden, BLOCK: tl.constexpr):
    """Gradients of the four projections, and of the cell state in place."""
    at, inside = _span(total, BLOCK)
    gate = (at // hidden).to(tl.int64) * (4 * hidden) + at % hidden
    i, f = _load(gates_ptr, gate, inside), _load(gates_ptr, gate + hidden, inside)
    g, o = _load(gates_ptr, gate + 2 * hidden, inside), _load(gates_ptr, gate + 3 * hidden, inside)
    dh, squashed = _load(dh_ptr, at, inside), tanh(_load(c_ptr, at, inside))
    dc = _load(dc_ptr, at, inside) + dh * o * (1 - squashed * squashed)
    tl.store(d_ptr + gate, dc * g * i * (1 - i), inside)
    tl.store(d_ptr + gate + hidden, dc * _load(c_before_ptr, at, inside) * f * (1 - f), inside)
    tl.store(d_ptr + gate + 2 * hidden, dc * i * (1 - g * g), inside)
    tl.store(d_ptr + gate + 3 * hidden, dh * squashed * o * (1 - o), inside)
    tl.store(dc_ptr + at, dc * f, inside)


@jit
def _gru_step(gates_ptr, state_ptr, wide_ptr, recurrent_ptr, h_ptr, total, hidden, h_stride, BLOCK: tl.constexpr):
    """Activates gates and moves the wide hidden state on in place, keeps the recurrent part of the candidate."""
    at, inside = _span(total, BLOCK)
    row, column = (at // hidden).to(tl.int64), at % hidden
    gate = row * (3 * hidden) + column
    r = sigmoid(_load(gates_ptr, gate, inside) + _load(state_ptr, gate, inside))
    z = sigmoid(_load(gates_ptr, gate + hidden, inside) + _load(state_ptr, gate + hidden, inside))
    recurrent = _load(state_ptr, gate + 2 * hidden, inside)
    n = tanh(_load(gates_ptr, gate + 2 * hidden, inside) + r * recurrent)
    h = _load(wide_ptr, at, inside)
    h = n + z * (h - n)
    tl.store(gates_ptr + gate, r, inside)
    tl.store(gates_ptr + gate + hidden, z, inside)
    tl.store(gates_ptr + gate + 2 * hidden, n, inside)
    tl.store(recurrent_ptr + at, recurrent, inside)
    tl.store(wide_ptr + at, h, inside)
    tl.store(h_ptr + row * h_stride + column, h, inside)


@jit
def _gru_step_back(
    dh_ptr, gates_ptr, recurrent_ptr, h_ptr, head_ptr, d_ptr, d_state_ptr, kept_ptr, total, hidden,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of the projections of input and state, and what of dh goes on to the step before without them."""
    at, inside = _span(total, BLOCK)
    gate = (at // hidden).to(tl.int64) * (3 * hidden) + at % hidden
    r, z = _load(gates_ptr, gate, inside), _load(gates_ptr, gate + hidden, inside)
    n, dh = _load(gates_ptr, gate + 2 * hidden, inside), _load(dh_ptr, at, inside)
    dn = dh * (1 - z) * (1 - n * n)
    dz = dh * (_load(h_ptr, at, inside) - n) * z * (1 - z)
    dr = dn * _load(recurrent_ptr, at, inside) * r * (1 - r)
    tl.store(d_ptr + gate, dr, inside)
    tl.store(d_ptr + gate + hidden, dz, inside)
    tl.store(d_ptr + gate + 2 * hidden, dn, inside)
    tl.store(d_state_ptr + gate, dr, inside)
    tl.store(d_state_ptr + gate + hidden, dz, inside)
    tl.store(d_state_ptr + gate + 2 * hidden, dn * r, inside)
    tl.store(kept_ptr + at, dh * z + _load(head_ptr, at, inside), inside)


def _through_time(backward):
    return through_time(backward, _weight_gradients, _input_gradient, zeros_like)


_CELLS = {
    "rnn_relu": Cell(_plain_forward("relu"), _through_time(_plain_backward(_relu_step_back)), 1),
    "rnn_tanh": Cell(_plain_forward("tanh"), _through_time(_plain_backward(_tanh_step_back)), 1),
    "lstm": Cell(_lstm_forward, _through_time(_lstm_backward), 2),
    "gru": Cell(_gru_forward, _through_time(_gru_backward), 2),
}
_BACKEND = Backend(_CELLS, _dropout, zeros_like, write_)


# What steps hand to each other in float32, whatever the type of the network.
_WIDE = {
    "c_ptr",
    "c_new_ptr",
    "c_before_ptr",
    "dc_ptr",
    "dh_ptr",
    "gates_ptr",
    "state_ptr",
    "wide_ptr",
    "recurrent_ptr",
    "kept_ptr",
}


def _case(kernel, kind):
    types = dict.fromkeys(("total", "hidden", "h_stride"), "i32")
    signature = {
        name: types.get(name, "*fp32" if name in _WIDE else f"*{kind}") for name in kernel.arg_names if name != "BLOCK"
    }
    return AotCase(kernel, signature, {"BLOCK": _BLOCK})


AOT = [
    _case(kernel, kind)
    for kernel in (_lstm_step, _lstm_step_back, _gru_step, _gru_step_back)
    for kind in ("fp32", "fp16")
]
