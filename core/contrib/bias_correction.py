"""Biases that make up for rounded weights.

An output's mean moves by the error of the weights times the mean of the input. Of depthwise convolutions, whose few weights
are mostly of one sign, that is most of what quantization loses (Nagel et al., 2019, "Data-Free Quantization Through Weight
Equalization and Bias Correction", section 4.2; here with measured means).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.contrib.quantizer import layers
from core.graph.ir import Node
from core.ndarray import NDArray
from core.ops.quantized import folded, rounded_by_output, rounded_in_one_range
from core.ops.registry import F
from core.symbol.symbol import Symbol


class BiasCollector:
    """A collector that finds out how far the means of the outputs of quantized layers move.

    symbol: the network in numbers, with its parameters by name. excluded, by_channel: as of `quantize_symbol`. others: a
    collector that is shown the outputs as well.
    """

    def __init__(self, symbol: Symbol, parameters: Mapping[str, NDArray], excluded: Sequence[str], by_channel: bool,
                 others: Any):  # fmt: skip
        self.others, self.moved = others, {}
        self.layers: dict[str, list[tuple[Node, str, NDArray]]] = {}  # by the name of their input
        for chain in layers(symbol, excluded):
            bias = _bias(chain)
            if bias is not None:
                error = _error(chain, parameters, by_channel)
                self.layers.setdefault(chain[0].inputs[0].name, []).append((chain[0], bias, error))

    def collect(self, name: str, array: NDArray) -> None:
        self.others.collect(name, array)
        for layer, bias, error in self.layers.get(name, ()):
            mean = array.mean(axis=0, keepdims=True)
            moved = layer.op(mean, error, **{**layer.attrs, "no_bias": True})
            axis = 1 if layer.op.quantized.gives == "quantized" else moved.ndim - 1  # that of the outputs
            total, count = self.moved.get(bias, (0.0, 0))
            self.moved[bias] = total + len(array) * moved.mean(axis=axis, exclude=True), count + len(array)

    def corrected(self, parameters: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """The biases, by name, with which the means are where they were."""
        return {name: parameters[name] - total / count for name, (total, count) in self.moved.items()}


def _bias(chain: list[Node]) -> str | None:
    """The name of the parameter that is added to each output of a layer; None where there is none."""
    norm = next((part for part in chain if part.op.quantized.part == "normalization"), None)
    given = chain[0].given[2:] if norm is None else norm.given[2:3]
    return given[0].name if given else None


def _error(chain: list[Node], parameters: Mapping[str, NDArray], by_channel: bool) -> NDArray:
    """What the rounded weights of a layer have more than those in numbers."""
    layer = chain[0]
    weight = parameters[layer.given[1].name]
    for part in chain:
        if part.op.quantized.part == "normalization":
            statistics = [parameters[v.name] for v in part.given[1:]]
            weight, _ = folded(weight, None, *statistics, part.attrs["eps"], part.attrs["fix_gamma"])
    convolution = layer.op.quantized.gives == "quantized"
    integers, _, scales = (rounded_by_output if convolution or by_channel else rounded_in_one_range)(weight, None, None)
    scales = F.Reshape(scales, shape=(-1,) + (1,) * (weight.ndim - 1))
    return F.broadcast_div(F.Cast(integers, dtype="float32"), scales) - weight
