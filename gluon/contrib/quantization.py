"""Hybrid blocks on codes of eight bits, with ranges found on data."""

from core import symbol
from core.base import MXNetError
from core.contrib.quantization import WITH_RANGES, Quantizer, Range, ranged
from core.symbol.graph import order
from gluon.symbol_block import SymbolBlock


def quantize_net(
    network, quantized_dtype="auto", quantize_mode="full", exclude_layers=None, exclude_layers_match=None,
    exclude_operators=None, calib_data=None, data_shapes=None, calib_mode="naive", num_calib_examples=None, ctx=None,
    logger=None,
):  # fmt: skip
    """A SymbolBlock that computes what the hybrid block `network` does, its convolutions on codes of eight bits.

    calib_data: batches, of the input or (input, label...); the ranges of codes are those of the values in them
    (calib_mode "naive"). num_calib_examples: after so many samples it is enough. exclude_layers: names of layers that stay on
    numbers; exclude_layers_match: parts of such names; exclude_operators: names of operators. quantized_dtype is "auto":
    uint8 behind rectifiers, int8 elsewhere.
    """
    if calib_mode != "naive" or calib_data is None:
        raise MXNetError(f"quantize_net calibrates with calib_data and calib_mode 'naive'; given is {calib_mode!r}")
    if quantized_dtype != "auto":
        raise MXNetError(f"quantize_net takes the quantized_dtype 'auto', given {quantized_dtype!r}")
    data = symbol.var("data")
    outputs = network(data)
    outputs = symbol.Group(outputs) if isinstance(outputs, (list, tuple)) else outputs
    excluded = {*(exclude_layers or ()), *(exclude_operators or ())}
    for part in exclude_layers_match or ():
        excluded |= {node.name for node in order(outputs._entries) if part in node.name}
    quantizer = Quantizer(outputs, frozenset(excluded))
    codes = quantizer.result()
    nodes = [node for node in order(codes._entries) if id(node) in quantizer.stands_for]
    values = SymbolBlock(
        symbol.Symbol([quantizer.stands_for[id(node)] for node in nodes]), data, network.collect_params()
    )
    ranges = _ranges(values, calib_data, num_calib_examples, ctx)
    by_node = {id(node): limits for node, limits in zip(nodes, ranges, strict=True)}
    kinds = {name: [by_node[id(n)] for n in nodes if n.op.name == name] for name in WITH_RANGES}
    return SymbolBlock(ranged(codes, *kinds.values()), data, network.collect_params())


def _ranges(block, batches, enough: int | None, ctx) -> list[Range]:
    """The least and the largest of each output of a block over batches."""
    ranges, seen = None, 0
    for batch in batches:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        x = x if ctx is None else x.as_in_context(ctx[0] if isinstance(ctx, (list, tuple)) else ctx)
        found = block(x)
        found = [(v.min().asscalar(), v.max().asscalar()) for v in (found if isinstance(found, list) else [found])]
        ranges = [(float(min(a[0], b[0])), float(max(a[1], b[1]))) for a, b in zip(ranges or found, found, strict=True)]
        seen += len(x)
        if enough is not None and seen >= enough:
            break
    if ranges is None:
        raise MXNetError("calib_data is empty: at least one batch is needed to find ranges")
    return ranges
