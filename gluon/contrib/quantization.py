"""Hybrid blocks quantized to 8 bits, with ranges calibrated on data."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import chain

from core import symbol
from core.base import MXNetError
from core.context import Context
from core.contrib.bias_correction import BiasCollector
from core.contrib.quantization import calib_graph, collect, quantize_graph
from core.io import DataIter
from core.ndarray import NDArray
from core.symbol.graph import order
from gluon.block import SymbolBlock
from gluon.parameter import ParameterDict


def quantize_net_v2(
    network, quantized_dtype="auto", quantize_mode="full", quantize_granularity="tensor-wise", exclude_layers=None,
    exclude_layers_match=None, exclude_operators=None, calib_data=None, data_shapes=None, calib_mode="none",
    num_calib_examples=None, ctx=None, LayerOutputCollector=None, logger=None, correct_biases=False,
):  # fmt: skip
    """A SymbolBlock that computes what the hybrid block `network` does, its layers with weights on codes of eight bits.

    calib_data: a DataIter, or batches: the input, or (inputs..., labels...); the ranges of codes are found on it as
    calib_mode says, see `mx.contrib.quantization.quantize_graph`. data_shapes: (name, shape) of the inputs, where a
    network that was not called yet takes several. exclude_layers: names of layers that stay on numbers;
    exclude_layers_match: parts of such names; exclude_operators: names of operators. correct_biases: the block gets biases
    of its own that make up for rounded weights, by the means of the inputs of layers in calib_data, which MXNet does not
    do; networks with depthwise convolutions lose several times less so. ValueError for other arguments.
    """
    ctx = ctx[0] if isinstance(ctx, (list, tuple)) and len(ctx) == 1 else ctx
    batches = None if calib_data is None else _batches(calib_data, ctx)
    first = None if batches is None else next(batches, None)
    names = _input_names(network, data_shapes, first)
    inputs = [symbol.var(name) for name in names]
    outputs = network(*inputs)
    outputs = symbol.Group(outputs) if isinstance(outputs, (list, tuple)) else outputs
    excluded = list(exclude_layers or ())
    for part in exclude_layers_match or ():
        excluded += [node.name for node in order(outputs._entries) if part in node.name]
    codes, _, _, collector = quantize_graph(
        outputs, {}, {}, ctx, excluded, list(exclude_operators or ()), calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, LayerOutputCollector, logger,
    )  # fmt: skip
    if correct_biases and collector is None:
        raise ValueError("correct_biases takes a calib_mode: the means are found on calib_data, too")
    shared, own = network.collect_params(), {}
    if collector is not None:
        if calib_data is None:
            raise ValueError(f"calib_mode {calib_mode!r} takes calib_data, batches of the network's inputs")
        if first is None:
            raise ValueError("calib_data is empty: at least one batch is needed to find ranges")
        network(*first[: len(names)])  # parameters whose shapes were open have them now
        parameters = {p.name: p.data(ctx) for p in shared.values()}
        means = None
        if correct_biases:
            excluded += exclude_operators or ()
            by_channel = quantize_granularity == "channel-wise"
            means = BiasCollector(outputs, parameters, excluded, by_channel, collector)
        named = (dict(zip(names, arrays)) for arrays in chain([first], batches))
        collect(outputs, parameters, parameters, named, means or collector, ctx, num_calib_examples)
        own = means.corrected(parameters) if means else {}
        codes = calib_graph(codes, {}, {}, collector, calib_mode, quantized_dtype, logger)[0]
    return SymbolBlock(codes, inputs, _with_own(shared, own))


def _with_own(shared: ParameterDict, own: dict[str, NDArray]) -> ParameterDict:
    """Parameters of which some, by name, have values of their own."""
    parameters = shared.by_full_name()
    mixed = ParameterDict()
    mixed.update({name: parameter for name, parameter in parameters.items() if name not in own})
    for name, value in own.items():
        like = parameters[name]
        mixed.get(name, shape=like.shape, dtype=like.dtype, grad_req=like.grad_req)._load_init(value, like.list_ctx())
    return mixed


def quantize_net(
    network, quantized_dtype="auto", quantize_mode="full", exclude_layers=None, exclude_layers_match=None,
    exclude_operators=None, calib_data=None, data_shapes=None, calib_mode="none", num_calib_examples=None, ctx=None,
    logger=None,
):  # fmt: skip
    """`quantize_net_v2` with the arguments of MXNet 1.6."""
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match, exclude_operators,
        calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip


def _input_names(network, data_shapes, batch: list[NDArray] | None) -> list[str]:
    """data, or data0, data1, ... for as many inputs as `data_shapes` tells, or as the network takes of a batch."""
    count = len(data_shapes or ()) or _count_inputs(network, batch)
    return ["data"] if count <= 1 else [f"data{k}" for k in range(count)]


def _count_inputs(network, batch: list[NDArray] | None) -> int:
    """How many arrays of a batch are inputs: labels stand behind them.

    Those without a default value, and of the others, as in MXNet, as many as the network can be called with.
    """
    if not hasattr(network, "hybrid_forward"):
        return 1
    taken = list(inspect.signature(network.hybrid_forward).parameters.values())[1:]
    taken = [p for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in network._reg_params]
    needed = sum(p.default is p.empty for p in taken)
    for count in range(min(len(taken), len(batch or ())), needed, -1):
        try:
            network(*batch[:count])
        except (MXNetError, TypeError, ValueError):  # what stands there is a label
            continue
        return count
    return needed


def _batches(calib_data, ctx: Context | None) -> Iterator[list[NDArray]]:
    if isinstance(calib_data, DataIter):
        calib_data.reset()
    for batch in calib_data:
        if isinstance(calib_data, DataIter):
            batch = batch.data
        arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
        yield [array.as_in_context(ctx or array.context) for array in arrays]
