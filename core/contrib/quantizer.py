"""The pass that quantizes the layers of a symbol to 8-bit integers, and the calibrated ranges of the quantized values.

A convolution is fused with the BatchNorm, the sum and the ReLU or ReLU6 behind it, a fully connected layer with its
ReLU; pooling, flattening and concatenation work on integers; everything else computes on float32. Softmax rounds as
oneDNN's does, which decides between boxes whose scores are almost equal after quantization.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.base import MXNetError
from core.graph.ir import Node, Value, Variable
from core.ops.registry import TABLE
from core.symbol.graph import applied, order, with_inputs
from core.symbol.symbol import Symbol

Range = tuple[float, float]


def quantize_symbol(
    symbol: Symbol, excluded: Iterable[str] = (), dtype: str = "auto", by_channel: bool = False
) -> Symbol:
    """The symbol with its convolutions and fully connected layers on quantized values, without ranges yet.

    excluded: names of nodes, or of operators, that stay on numbers. dtype: what numbers become, int8, uint8, or auto:
    uint8 where the range starts at 0. by_channel: whether the weights of fully connected layers have a range for each
    output, as those of convolutions do in any case.
    """
    return Quantizer(symbol, frozenset(excluded), dtype, by_channel).result()


def layers(symbol: Symbol, excluded: Iterable[str] = ()) -> list[list[Node]]:
    """The layers that `quantize_symbol` quantizes: each with the nodes that become one with it."""
    return list(Quantizer(symbol, frozenset(excluded), "auto", False).chains().values())


def calibrated(symbol: Symbol, ranges: Mapping[str, Range]) -> Symbol:
    """A copy of a symbol that `quantize_symbol` made, with ranges by the name of the output that is quantized.

    ValueError where numbers below 0 would become unsigned quantized values.
    """
    symbol = symbol.__copy__()
    for node in _nodes_with_ranges(symbol):
        if stands_for(node) in ranges:
            least = ranges[stands_for(node)][0]
            if node.op.calibrated == "values" and node.texts.get("out_type") == "uint8" and least < 0:
                raise ValueError(
                    f"{stands_for(node)} goes down to {least:.4g}, and uint8 holds no negative numbers: the "
                    "quantized_dtype 'auto' takes int8 for it"
                )
            _set_range(node, *ranges[stands_for(node)])
    return symbol


def ranged(symbol: Symbol, inputs: Sequence[Range | None], layers: Sequence[Range]) -> Symbol:
    """A copy of a symbol that `quantize_symbol` made, with the ranges of what is turned into quantized values
    and of what its layers give.

    Both lists follow the order of the nodes; None: the range of the values that come.
    """
    symbol = symbol.__copy__()
    for what, ranges in (("values", inputs), ("results", layers)):
        found = [node for node in _nodes_with_ranges(symbol) if node.op.calibrated == what]
        if len(found) != len(ranges):
            kind = found[0].op.name if found else f"with a range of {what}"
            raise MXNetError(f"the symbol has {len(found)} nodes {kind}, {len(ranges)} ranges are given")
        for node, limits in zip(found, ranges, strict=True):
            if limits is not None:
                _set_range(node, *limits)
    return symbol


def quantized_outputs(symbol: Symbol) -> list[str]:
    """The outputs of the original symbol whose ranges a symbol that `quantize_symbol` made takes."""
    return [stands_for(node) for node in _nodes_with_ranges(symbol)]


def stands_for(node: Node) -> str:
    """The output of the original symbol that the quantized values of a node with a range stand for."""
    if node.op.calibrated == "values":
        return node.name.removesuffix("_quantize")
    return f"{node.name.removeprefix('quantized_')}_output"


def _nodes_with_ranges(symbol: Symbol) -> list[Node]:
    return [node for node in order(symbol._entries) if node.op is not None and node.op.calibrated]


def _set_range(node: Node, low: float, high: float) -> None:
    node.texts |= {"min_calib_range": repr(low), "max_calib_range": repr(high)}
    node.attrs = {**node.attrs, "min_calib_range": low, "max_calib_range": high}


class Quantizer:
    """Goes over a symbol once, from its inputs on, and makes each value as numbers, quantized, or both on demand."""

    def __init__(self, symbol: Symbol, excluded: frozenset[str], dtype: str, by_channel: bool):
        self.outputs, self.excluded, self.dtype, self.by_channel = symbol._entries, excluded, dtype, by_channel
        self.nodes = order(self.outputs)
        self.readers: dict[Value, list[Node | None]] = {}
        for node in self.nodes:
            for v in node.given:
                self.readers.setdefault(v, []).append(node)
        for v in self.outputs:
            self.readers.setdefault(v, []).append(None)
        self.numbers: dict[Value, Value] = {}
        self.quantized: dict[Value, list[Value]] = {}  # quantized values, and the two ends of their range

    def result(self) -> Symbol:
        chains = self.chains()
        inside = {part for chain in chains.values() for part in chain}
        for node in self.nodes:
            if node in chains:
                chain = chains[node]
                make = self._convolution if chain[0].op.quantized.gives == "quantized" else self._fully_connected
                make(chain)
            elif node not in inside:
                self._other(node)
        return Symbol([self._as_numbers(v) for v in self.outputs])

    def chains(self) -> dict[Node, list[Node]]:
        """By its last node: a layer with weights, and what can be one node with it."""
        chains: dict[Node, list[Node]] = {}
        taken: set[Node] = set()
        for node in self.nodes:
            if node.op is None or not node.op.quantized.takes or self._is_excluded(node):
                continue
            chain = [node]
            for part in node.op.quantized.takes:
                after = self._only_reader(chain[-1])
                if after is not None and after not in taken and _is_part(after, part):
                    chain.append(after)
            taken |= set(chain)
            chains[chain[-1]] = chain
        return chains

    def _only_reader(self, node: Node) -> Node | None:
        readers = self.readers.get(node.outputs[0], [])
        return readers[0] if len(readers) == 1 else None

    def _is_excluded(self, node: Node) -> bool:
        return bool({node.op.name, node.name} & self.excluded)

    def _convolution(self, chain: list[Node]) -> None:
        conv, parts = chain[0], {part.op.quantized.part: part for part in chain}
        batch_norm, add = parts.get("normalization"), parts.get("sum")
        rectified = "rectifier" in parts or "limit" in parts
        data, *data_ends = self._as_quantized(conv.inputs[0])
        inputs = [data, *(self._as_numbers(v) for v in conv.given[1:])]
        if batch_norm is not None:
            inputs += [self._as_numbers(v) for v in batch_norm.given[1:]]
        if add is None:
            inputs += data_ends
        else:
            before = chain[chain.index(add) - 1]
            other = next(v for v in add.given if v is not before.outputs[0])
            addend, *ends = self._as_quantized(other)
            inputs += [addend, *data_ends, *ends]
        op = TABLE[conv.op.quantized.operator]
        texts = {key: text for part in chain for key, text in part.texts.items() if key in op.attrs}
        texts |= {"quantized": "True", "with_bn": str(batch_norm is not None), "with_sum": str(add is not None)}
        texts |= {"with_act": str(rectified and add is None), "with_postsum_act": str(rectified and add is not None)}
        made = applied(op, f"quantized_{chain[-1].name}", texts, inputs)
        self.quantized[chain[-1].outputs[0]] = made.outputs[:3]

    def _fully_connected(self, chain: list[Node]) -> None:
        layer = chain[0]
        data, *ends = self._as_quantized(layer.inputs[0])
        op = TABLE[layer.op.quantized.operator]
        texts = {key: text for key, text in layer.texts.items() if key in op.attrs}
        texts |= {"quantized": "True", "enable_float_output": "True", "with_eltwise": str(len(chain) > 1)}
        texts |= {"channel_wise_quantize": str(self.by_channel)}
        inputs = [data, *(self._as_numbers(v) for v in layer.given[1:]), *ends]
        made = applied(op, f"quantized_{chain[-1].name}", texts, inputs)
        self.numbers[chain[-1].outputs[0]] = made.outputs[0]

    def _other(self, node: Node | Variable) -> None:
        if node.op is None:
            self.numbers[node] = node
            return
        known = [self.quantized.get(v) for v in node.given]
        way = node.op.quantized
        possible = way.operator and not way.takes and way.when(node.attrs)
        if possible and way.gives == "quantized" and all(known) and not self._is_excluded(node):
            ends = [end for quantized in known for end in quantized[1:]]
            self._as_quantized_layer(node, way.operator, [quantized[0] for quantized in known] + ends)
        else:
            made = with_inputs(node, [v and self._as_numbers(v) for v in node.inputs])
            if way.gives == "rounded":
                made = self._rounded(made)
            self.numbers.update(zip(node.outputs, made.outputs))

    def _rounded(self, node: Node) -> Node:
        if not {key for key in node.texts if not key.startswith("__")} <= {"axis"}:
            return node
        return applied(TABLE[node.op.quantized.operator], node.name, node.texts, node.given)

    def _as_quantized_layer(self, node: Node, name: str, inputs: list[Value]) -> None:
        op = TABLE[name]
        texts = {key: text for key, text in node.texts.items() if key in op.attrs}
        self.quantized[node.outputs[0]] = applied(op, f"quantized_{node.name}", texts, inputs).outputs[:3]

    def _as_quantized(self, value: Value) -> list[Value]:
        if value not in self.quantized:
            texts, numbers = {"out_type": self.dtype}, self._as_numbers(value)
            made = applied(TABLE["_contrib_quantize_v2"], f"{value.name}_quantize", texts, [numbers])
            self.quantized[value] = made.outputs[:3]
        return self.quantized[value]

    def _as_numbers(self, value: Value) -> Value:
        if value not in self.numbers:
            made = applied(TABLE["_contrib_dequantize"], f"{value.name}_dequantize", {}, self.quantized[value])
            self.numbers[value] = made.outputs[0]
        return self.numbers[value]


def _is_part(node: Node, part: str) -> bool:
    return node.op.quantized.part == part and node.op.quantized.when(node.attrs)
