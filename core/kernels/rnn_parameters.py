"""Layout of the flat parameter vector of a recurrent network, common to both backends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from core.base import MXNetError

GATE_NAMES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}
GATES = {mode: len(names) for mode, names in GATE_NAMES.items()}


class Weights(NamedTuple):
    """Views into the flat parameters for one layer and direction: (G H, I), (G H, H), (G H,), (G H,)."""

    i2h: torch.Tensor
    h2h: torch.Tensor
    i2h_bias: torch.Tensor
    h2h_bias: torch.Tensor


def sizes(inputs: int, mode: str, hidden: int, layers: int, bidirectional: bool) -> list[int]:
    """Lengths of the parts of the flat parameter vector.

    First the i2h and h2h weights of every layer and direction, then all their biases in the same order (MXNet, cuDNN).
    """
    if mode not in GATES:
        raise MXNetError(f"rnn: unknown mode {mode!r}; accepted are {', '.join(GATES)}")
    directions, rows = 2 if bidirectional else 1, GATES[mode] * hidden
    widths = [
        width
        for layer in range(layers)
        for _ in range(directions)
        for width in (directions * hidden if layer else inputs, hidden)
    ]
    return [rows * width for width in widths] + [rows] * len(widths)


def gates(
    mode: str, inputs: int, hidden: int, layers: int, bidirectional: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name (`l0_i2h_f_weight`) and shape of the weight and bias of every gate, in the order of the flat vector."""
    directions = "lr" if bidirectional else "l"
    for kind in ("weight", "bias"):
        for layer in range(layers):
            for direction in directions:
                for group, width in (("i2h", len(directions) * hidden if layer else inputs), ("h2h", hidden)):
                    for gate in GATE_NAMES[mode]:
                        shape = (hidden, width) if kind == "weight" else (hidden,)
                        yield f"{direction}{layer}_{group}{gate}_{kind}", shape


def inputs_of(size: int, mode: str, hidden: int, layers: int, bidirectional: bool) -> int:
    """How many inputs the network has whose flat vector has `size` elements."""
    directions = 2 if bidirectional else 1
    above = (layers - 1) * (hidden + directions * hidden + 2)
    return size // directions // hidden // GATES[mode] - above - hidden - 2


def unpack(
    params: torch.Tensor | Sequence[torch.Tensor], mode: str, inputs: int, hidden: int, layers: int, bidirectional: bool
) -> list[Weights]:
    """The flat parameter vector, or its parts, as a list of `Weights`, by layer and then direction."""
    wanted = sizes(inputs, mode, hidden, layers, bidirectional)
    given = [params.numel()] if isinstance(params, torch.Tensor) else [p.numel() for p in params]
    if sum(given) != sum(wanted):
        raise MXNetError(f"rnn: the parameters of this network are {sum(wanted)} numbers, given are {sum(given)}")
    parts = params.reshape(-1).split(wanted) if isinstance(params, torch.Tensor) else params
    half, rows = len(wanted) // 2, GATES[mode] * hidden
    matrices = [part.view(rows, -1) for part in parts[:half]]
    biases = parts[half:]
    return [Weights(*matrices[i : i + 2], *biases[i : i + 2]) for i in range(0, half, 2)]
