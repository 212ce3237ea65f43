"""Recurrent networks step by step in NumPy float64, as the papers write them; the truth for both backends."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, gates, recurrent, h, c):
    """One step from the projections W x + b and R h + b, (N, gates, H), of input and state."""
    if mode == "rnn_relu":
        return np.maximum(gates[:, 0] + recurrent[:, 0], 0), None
    if mode == "rnn_tanh":
        return np.tanh(gates[:, 0] + recurrent[:, 0]), None
    if mode == "lstm":
        i, f, g, o = (gates + recurrent).transpose(1, 0, 2)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    r, z = (sigmoid(gates[:, k] + recurrent[:, k]) for k in (0, 1))
    n = np.tanh(gates[:, 2] + r * recurrent[:, 2])
    return (1 - z) * n + z * h, None


def run(x, params, h0, c0, mode, hidden, layers, bidirectional):
    """y, hn, cn of a network without dropout, parameters in MXNet's order."""
    count = {"lstm": 4, "gru": 3}.get(mode, 1)
    directions = 2 if bidirectional else 1
    matrices, at = [], 0
    for layer in range(layers):
        for _ in range(directions):
            for width in (x.shape[2] if layer == 0 else directions * hidden, hidden):
                matrices.append(params[at : at + count * hidden * width].reshape(count * hidden, width))
                at += count * hidden * width
    biases = params[at:].reshape(-1, count * hidden)
    hn, cn = h0.copy(), None if c0 is None else c0.copy()
    for layer in range(layers):
        y = np.zeros((*x.shape[:2], directions * hidden))
        for direction in range(directions):
            i = layer * directions + direction
            for t in range(len(x))[:: -1 if direction else 1]:
                gates = (x[t] @ matrices[2 * i].T + biases[2 * i]).reshape(-1, count, hidden)
                recurrent = (hn[i] @ matrices[2 * i + 1].T + biases[2 * i + 1]).reshape(-1, count, hidden)
                hn[i], c = step(mode, gates, recurrent, hn[i], None if cn is None else cn[i])
                if cn is not None:
                    cn[i] = c
                y[t, :, direction * hidden : (direction + 1) * hidden] = hn[i]
        x = y
    return y, hn, cn


def arrays(mode, steps, batch, inputs, hidden, layers, bidirectional, seed=0):
    """x, params, h0 and c0 (None but for "lstm")."""
    rs, count, directions = np.random.RandomState(seed), {"lstm": 4, "gru": 3}.get(mode, 1), 2 if bidirectional else 1
    size = sum(
        directions * count * hidden * ((directions * hidden if layer else inputs) + hidden + 2)
        for layer in range(layers)
    )
    state = (layers * directions, batch, hidden)
    c0 = rs.standard_normal(state) if mode == "lstm" else None
    return rs.standard_normal((steps, batch, inputs)), 0.5 * rs.standard_normal(size), rs.standard_normal(state), c0


def slope(function, point, direction):
    """Derivative of a scalar function along `direction`, by central differences."""
    h = 1e-5
    return (function(point + h * direction) - function(point - h * direction)) / (2 * h)
