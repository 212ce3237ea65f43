"""Layers."""

import importlib

from core.base import UnknownName
from core.documentation.classes import complete as _complete
from gluon.block import Block, HybridBlock, SymbolBlock
from gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, SiLU, Swish
from gluon.nn.basic_layers import Dense, Dropout, Embedding, Flatten, HybridLambda, Identity, Lambda
from gluon.nn.containers import Concatenate, HybridConcatenate, HybridSequential, Sequential
from gluon.nn.conv_layers import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    ReflectionPad2D,
)
from gluon.nn.norm_layers import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm
from gluon.nn.pool_layers import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)

# Layers that MXNet 2 moved here: name -> module, imported on first use, because they build on this one.
_MOVED = {
    "DeformableConvolution": "gluon.contrib.cnn",
    "ModulatedDeformableConvolution": "gluon.contrib.cnn",
    "PixelShuffle1D": "gluon.contrib.nn",
    "PixelShuffle2D": "gluon.contrib.nn",
    "PixelShuffle3D": "gluon.contrib.nn",
    "SyncBatchNorm": "gluon.contrib.nn",
}
# What programs for PyTorch ask for under names that are not alike.
_IN_PYTORCH = {
    "BCEWithLogitsLoss": "gluon.loss.SigmoidBinaryCrossEntropyLoss()",
    "CrossEntropyLoss": "gluon.loss.SoftmaxCrossEntropyLoss()",
    "Linear": "nn.Dense(units, flatten=False)",
    "LSTM": "gluon.rnn.LSTM",
    "GRU": "gluon.rnn.GRU",
    "MSELoss": "gluon.loss.L2Loss()",
    "Module": "nn.HybridBlock",
    "ReLU": "nn.Activation('relu')",
    "Sigmoid": "nn.Activation('sigmoid')",
    "Tanh": "nn.Activation('tanh')",
}


def __getattr__(name: str):
    if name in _IN_PYTORCH:
        raise AttributeError(f"gluon.nn has no layer {name!r}: what PyTorch calls so is {_IN_PYTORCH[name]} here")
    if name not in _MOVED:
        raise UnknownName("gluon.nn", name, lambda: {*globals(), *_MOVED}, "layer")
    return getattr(importlib.import_module(_MOVED[name]), name)


_complete(globals())
