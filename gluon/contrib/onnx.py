"""ONNX files as blocks."""

from __future__ import annotations

from core import symbol
from core.contrib.onnx.onnx2mx import get_model_metadata, import_model
from gluon.block import SymbolBlock

__all__ = ["import_to_gluon"]


def import_to_gluon(model_file, ctx) -> SymbolBlock:
    """The network of an ONNX file as a block on `ctx` (a context or a list); errors as of `import_model`."""
    network, arguments, states = import_model(model_file)
    given = [name for name, *_ in get_model_metadata(model_file)["input_tensor_data"]]
    block = SymbolBlock(network, [symbol.var(name) for name in given])
    for name, value in {**arguments, **states}.items():
        parameter = block.params[name]
        parameter.shape, parameter.dtype = value.shape, value.dtype
        parameter.initialize("zeros", ctx=ctx)
        parameter.set_data(value)
    return block
