"""Recurrent layers of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import converts

# operator -> (places of MXNet's gates in ONNX's order, number of states)
_GATES = {"LSTM": ((0, 2, 3, 1), 2), "GRU": ((1, 0, 2), 1), "RNN": ((0,), 1)}


def _recurrent(kind: str):
    gates, states = _GATES[kind]

    def convert(net, attrs, x, w, r, b=None, lengths=None, *first):
        mode = _mode(net, kind, attrs)
        w, r = net.number(w, "W"), net.number(r, "R")
        directions, rows, _ = w.shape
        size = rows // len(gates)
        if directions != (2 if attrs.get("direction") == "bidirectional" else 1) or attrs.get("direction") == "reverse":
            raise net.refuse(f"direction {attrs.get('direction')!r} with weights of {directions} directions")
        if lengths is not None:
            raise net.refuse("sequence lengths are not converted")
        b = np.zeros((directions, 2 * rows), w.dtype) if b is None else net.number(b, "B")
        parts = [_ours(m[d], gates) for d in range(directions) for m in (w, r)]
        parts += [_ours(half, gates) for d in range(directions) for half in np.split(b[d], 2)]
        parameters = net.parameter(np.concatenate([p.reshape(-1) for p in parts]), f"{net.name}_parameters")
        begin = [
            net.symbol(s) if s is not None else sym.zeros((directions, 0, size), dtype=w.dtype)
            for s in (*first[:states], *[None] * states)[:states]
        ]
        made = sym.RNN(
            net.symbol(x), parameters, *begin, state_size=size, num_layers=1, mode=mode, bidirectional=directions == 2,
            state_outputs=True,
        )  # fmt: skip
        outputs = sym.Reshape(made[0], shape=(0, 0, directions, -1))
        return [sym.transpose(outputs, axes=(0, 2, 1, 3)), *[made[1 + i] for i in range(states)]]

    return convert


def _mode(net, kind: str, attrs: dict) -> str:
    for key in ("clip", "input_forget", "layout"):
        if attrs.get(key):
            raise net.refuse(f"{key} is not converted")
    given = [a.lower() for a in attrs.get("activations", [])]
    if kind == "RNN":
        if len(set(given)) > 1 or (given and given[0] not in ("tanh", "relu")):
            raise net.refuse(f"activations {given} are not converted")
        return f"rnn_{given[0] if given else 'tanh'}"
    usual = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"]}[kind]
    if given and given[: len(usual)] != usual:
        raise net.refuse(f"activations {given} are not converted")
    if kind == "GRU" and not attrs.get("linear_before_reset"):
        raise net.refuse("a GRU that resets before the product is not converted")
    return kind.lower()


def _ours(block: np.ndarray, gates) -> np.ndarray:
    parts = np.split(block, len(gates))
    return np.concatenate([parts[g] for g in gates])


for _kind in _GATES:
    converts(_kind)(_recurrent(_kind))
