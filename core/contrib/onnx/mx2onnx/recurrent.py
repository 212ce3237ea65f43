"""Recurrent layers: MXNet's operator for all layers as one node of ONNX for each layer."""

from __future__ import annotations

import math

import numpy as np

from core.contrib.onnx.mx2onnx.table import converts, ints

# mode: (ONNX's operator, order of the gates there, activation)
_MODES = {
    "lstm": ("LSTM", (0, 3, 1, 2), None),  # input, forget, cell, output -> input, output, forget, cell
    "gru": ("GRU", (1, 0, 2), None),  # reset, update, new -> update, reset, new
    "rnn_tanh": ("RNN", (0,), "Tanh"),
    "rnn_relu": ("RNN", (0,), "Relu"),
}


@converts("RNN")
def rnn(g, a, data, parameters, state, state_cell=None, sequence_length=None):
    kind, gates, function = _MODES[a.mode]
    if a.projection_size or a.lstm_state_clip_min is not None:
        raise g.refuse("projections and clipped states have no form in ONNX's LSTM")
    directions, size = 1 + a.bidirectional, a.state_size
    width, at = g.extent(data, 2), 0
    weights, biases = [], []
    for level in range(a.num_layers):
        inputs = width if level == 0 else size * directions
        for _ in range(directions):
            for columns in (inputs, size):
                weights.append(_gates(g, parameters, at, gates, (size, columns)))
                at += len(gates) * size * columns
    for _ in range(a.num_layers * directions * 2):
        biases.append(_gates(g, parameters, at, gates, (size,)))
        at += len(gates) * size
    lengths = None if sequence_length is None else g.cast(sequence_length, "int32")
    options = {"hidden_size": size, "direction": "bidirectional" if a.bidirectional else "forward"}
    if kind == "GRU":
        options["linear_before_reset"] = 1
    if function:
        options["activations"] = [function] * directions
    x, last, last_cell = data, [], []
    for level in range(a.num_layers):
        pairs = [2 * (level * directions + d) for d in range(directions)]
        w, r = (_joined(g, [weights[i + k] for i in pairs], 0) for k in (0, 1))
        b = _joined(g, [_joined(g, biases[i : i + 2], 1) for i in pairs], 0)
        states = [_level(g, s, level, directions) for s in ((state, state_cell) if kind == "LSTM" else (state,))]
        y, *ends = g.add(kind, x, w, r, b, lengths, *states, outputs=3 if kind == "LSTM" else 2, **options)
        # (L, directions, B, H) -> (L, B, directions * H)
        x = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), ints(0, 0, directions * size))
        last.append(ends[0])
        last_cell += ends[1:]
    results = [x]
    if a.state_outputs:
        results += [s[0] if len(s) == 1 else g.add("Concat", *s, axis=0) for s in (last, last_cell) if s]
    return results


def _gates(g, parameters, at: int, order, shape: tuple[int, ...]):
    """One part of the parameters, (1, gates * size, ...) with the gates in another order:
    a constant where they are one.
    """
    full, merged = (len(order), *shape), (1, len(order) * shape[0], *shape[1:])
    end = at + math.prod(full)
    if parameters in g.values:
        block = g.values[parameters][at:end].reshape(full)
        return np.ascontiguousarray(block[list(order)].reshape(merged))
    block = g.add("Slice", parameters, ints(at), ints(end))
    block = g.add("Gather", g.add("Reshape", block, ints(*full)), ints(*order), axis=0)
    return g.add("Reshape", block, ints(*merged))


def _joined(g, parts: list, axis: int):
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis)
    return parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=axis)


def _level(g, state, level: int, directions: int):
    """The first states of a level; None, that is zeros, for states that the network made itself."""
    if state is None or (state in g.values and not g.values[state].any()):
        return None
    state = g.whole(state)
    if g.shape(state)[0] == directions:
        return state
    begin, end = ints(level * directions), ints((level + 1) * directions)
    return g.add("Slice", state, begin, end, ints(0))
