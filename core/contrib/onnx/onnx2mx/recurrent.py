"""Recurrent layers of ONNX as symbols: MXNet's fused operator where it computes the same, else a loop over steps."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import converts
from core.symbol import Symbol

# operator -> (places of MXNet's gates in ONNX's order, number of states, usual activations)
_GATES = {
    "LSTM": ((0, 2, 3, 1), 2, ("sigmoid", "tanh", "tanh")),
    "GRU": ((1, 0, 2), 1, ("sigmoid", "tanh")),
    "RNN": ((0,), 1, ("tanh",)),
}


def _recurrent(kind: str):
    gates, count, usual = _GATES[kind]

    def convert(net, attrs, x, w, r, b=None, lengths=None, *first):
        w, r = net.number(w, "W"), net.number(r, "R")
        directions, rows, _ = w.shape
        way = attrs.get("direction", "forward")
        if directions != (2 if way == "bidirectional" else 1):
            raise net.refuse(f"direction {way!r} with weights of {directions} directions")
        b = np.zeros((directions, 2 * rows), w.dtype) if b is None else net.number(b, "B")
        first, peepholes = (*first, None, None)[:2], (*first, None, None, None)[2]
        by_batch = attrs.get("layout", 0)
        x = net.symbol(x)
        if by_batch:
            x = sym.SwapAxis(x, dim1=0, dim2=1)
        states = [None if s is None else net.symbol(s) for s in first[:count]]
        if by_batch:
            states = [None if s is None else sym.SwapAxis(s, dim1=0, dim2=1) for s in states]
        given = [a.lower() for a in attrs.get("activations", ())] or [*usual] * directions
        mode = _mode(kind, attrs, given, directions)
        if mode is not None and lengths is None and peepholes is None and way != "reverse":
            y, last = _fused(net, mode, gates, x, w, r, b, states, directions)
        else:
            lengths = None if lengths is None else net.symbol(lengths)
            per, parts = len(usual), []
            for d in range(directions):
                begin = [None if s is None else _row(s, d) for s in states]
                peephole = None if peepholes is None else net.symbol(net.number(peepholes, "P")[d])
                cell = _cell(net, kind, attrs, given[d * per : (d + 1) * per], rows // len(gates), r[d], b[d], peephole)
                reverse = way == "reverse" or d == 1
                parts.append(_stepwise(net, cell, x, w[d], b[d][:rows], begin, lengths, reverse, rows // len(gates)))
            y = sym.stack(*(p[0] for p in parts), axis=1)
            last = [sym.stack(*(p[1][i] for p in parts), axis=0) for i in range(count)]
        if by_batch:
            y, last = sym.transpose(y, axes=(2, 0, 1, 3)), [sym.SwapAxis(s, dim1=0, dim2=1) for s in last]
        return [y, *last]

    return convert


for _kind in _GATES:
    converts(_kind)(_recurrent(_kind))


def _mode(kind: str, attrs: dict, given: list, directions: int) -> str | None:
    """The mode of MXNet's operator that computes the same, None where there is none."""
    usual = _GATES[kind][2]
    if attrs.get("clip") or attrs.get("input_forget") or (kind == "GRU" and not attrs.get("linear_before_reset")):
        return None
    if kind == "RNN":
        return f"rnn_{given[0]}" if len(set(given)) == 1 and given[0] in ("tanh", "relu") else None
    return kind.lower() if given == [*usual] * directions else None


def _fused(net, mode: str, gates, x: Symbol, w, r, b, states: list, directions: int) -> tuple[Symbol, list]:
    """(outputs (steps, directions, batch, size), last states) by MXNet's RNN."""
    parts = [_ours(m[d], gates) for d in range(directions) for m in (w, r)]
    parts += [_ours(half, gates) for d in range(directions) for half in np.split(b[d], 2)]
    parameters = net.parameter(np.concatenate([p.reshape(-1) for p in parts]), f"{net.name}_parameters")
    size = w.shape[1] // len(gates)
    begin = [sym.zeros((directions, 0, size), dtype=w.dtype) if s is None else s for s in states]
    options = {"state_size": size, "num_layers": 1, "mode": mode, "bidirectional": directions == 2}
    made = sym.RNN(x, parameters, *begin, state_outputs=True, **options)
    outputs = sym.Reshape(made[0], shape=(0, 0, directions, -1))
    return sym.transpose(outputs, axes=(0, 2, 1, 3)), [made[1 + i] for i in range(len(states))]


def _ours(block: np.ndarray, gates) -> np.ndarray:
    parts = np.split(block, len(gates))
    return np.concatenate([parts[g] for g in gates])


def _row(x: Symbol, d: int) -> Symbol:
    return sym.squeeze(sym.slice_axis(x, axis=0, begin=d, end=d + 1), axis=0)


def _stepwise(net, cell, x: Symbol, w, bias, begin: list, lengths, reverse: bool, size: int):
    """(outputs (steps, batch, size), last states) of one direction.

    cell(products of one step's input, states) gives the new states, of which the first is the output.
    """
    if reverse:
        x = _turned(x, lengths)
    rows = sym.FullyConnected(
        x, net.symbol(np.ascontiguousarray(w)), net.symbol(bias), num_hidden=w.shape[0], flatten=False
    )
    empty = sym.zeros_like(sym.slice_axis(_row(rows, 0), axis=1, begin=0, end=size))
    begin = [empty if s is None else s for s in begin]
    data = [rows]
    if lengths is not None:  # 1 for the steps of each sequence
        steps = sym.Reshape(sym.contrib.arange_like(rows, axis=0), shape=(-1, 1, 1))
        data.append(sym.broadcast_lesser(steps, sym.Reshape(sym.Cast(lengths, dtype="float32"), shape=(1, -1, 1))))

    def body(step, states):
        new = cell(step[0], states)
        if lengths is None:
            return new[0], new
        inside = step[1]
        kept = [sym.broadcast_mul(n, inside) + sym.broadcast_mul(s, 1 - inside) for n, s in zip(new, states)]
        return sym.broadcast_mul(new[0], inside), kept

    outputs, last = sym.contrib.foreach(body, data, begin, name=f"{net.name}_steps")
    return _turned(outputs, lengths) if reverse else outputs, last


def _turned(x: Symbol, lengths) -> Symbol:
    return sym.reverse(x, axis=0) if lengths is None else sym.SequenceReverse(x, lengths, use_sequence_length=True)


def _cell(net, kind: str, attrs: dict, given: list, size: int, r, b, peephole):
    """The function of one step; formulas of the ONNX standard, operators LSTM, GRU and RNN."""
    if any(a not in ("sigmoid", "tanh", "relu") for a in given) or attrs.get("input_forget"):
        raise net.refuse(f"activations {given} and input_forget are not converted")
    clip = attrs.get("clip")

    def activated(x, k):
        x = x if clip is None else sym.clip(x, a_min=-clip, a_max=clip)
        return sym.Activation(x, act_type=given[k])

    def product(h, first, gates):
        """h times the weights of some gates, and their biases."""
        rows = slice(first * size, (first + gates) * size)
        weight, bias = (net.symbol(np.ascontiguousarray(v)) for v in (r[rows], b[len(r) :][rows]))
        return sym.FullyConnected(h, weight, bias, num_hidden=gates * size)

    def part(x, k):
        return sym.slice_axis(x, axis=1, begin=k * size, end=(k + 1) * size)

    def peep(c, k):
        return sym.broadcast_mul(c, sym.slice_axis(peephole, axis=0, begin=k * size, end=(k + 1) * size))

    def lstm(x, states):
        h, c = states
        rows = x + product(h, 0, 4)
        i, o, f, g = (part(rows, k) for k in range(4))
        if peephole is not None:
            i, f = i + peep(c, 0), f + peep(c, 2)
        c = activated(f, 0) * c + activated(i, 0) * activated(g, 1)
        o = o if peephole is None else o + peep(c, 1)
        return [activated(o, 0) * sym.Activation(c, act_type=given[2]), c]

    def gru(x, states):
        (h,) = states
        rows = sym.slice_axis(x, axis=1, begin=0, end=2 * size) + product(h, 0, 2)
        z, reset = (activated(part(rows, k), 0) for k in range(2))
        new = reset * product(h, 2, 1) if attrs.get("linear_before_reset") else product(reset * h, 2, 1)
        return [(1 - z) * activated(part(x, 2) + new, 1) + z * h]

    def rnn(x, states):
        return [activated(x + product(states[0], 0, 1), 0)]

    return {"LSTM": lstm, "GRU": gru, "RNN": rnn}[kind]
