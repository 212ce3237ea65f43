"""`sym.npx`: neural network operators over the symbols of `sym.np`."""

from __future__ import annotations

from core.base import nearest
from core.ops.registry import TABLE
from core.symbol.compose import front
from core.symbol.numpy import _Symbol


def __getattr__(name: str):
    op = None if name.startswith("_") else TABLE.get(f"_npx_{name}") or TABLE.get(name) or TABLE.get(_NAMES.get(name))
    if op is None:
        raise AttributeError(f"sym.npx has no function {name!r}.{nearest(name, [*TABLE, *_NAMES])}")
    value = front(op, op.name, _Symbol)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*_NAMES, *(n for n in TABLE if not n.startswith("_"))})


# names in the style of npx -> operators of the table
_NAMES = {
    "activation": "Activation", "batch_norm": "BatchNorm", "convolution": "Convolution", "deconvolution": "Deconvolution",
    "dropout": "Dropout", "embedding": "Embedding", "fully_connected": "FullyConnected", "layer_norm": "LayerNorm",
    "group_norm": "GroupNorm", "instance_norm": "InstanceNorm", "leaky_relu": "LeakyReLU", "pooling": "Pooling",
    "rnn": "RNN", "roi_pooling": "ROIPooling", "sequence_mask": "SequenceMask", "arange_like": "_contrib_arange_like",
}  # fmt: skip
