"""Recurrent layers and cells."""

import importlib

from core.documentation.classes import complete as _complete
from gluon.rnn.modifier_cells import ModifierCell, ResidualCell, ZoneoutCell
from gluon.rnn.rnn_cell import (
    BidirectionalCell,
    DropoutCell,
    GRUCell,
    HybridRecurrentCell,
    HybridSequentialRNNCell,
    LSTMCell,
    RecurrentCell,
    RNNCell,
    SequentialRNNCell,
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
)
from gluon.rnn.rnn_layer import GRU, LSTM, RNN

# Cells that MXNet 2 moved here: imported on first use, because they build on this module.
_MOVED = frozenset(
    "Conv1DRNNCell Conv2DRNNCell Conv3DRNNCell Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell Conv1DGRUCell "
    "Conv2DGRUCell "
    "Conv3DGRUCell LSTMPCell VariationalDropoutCell conv_rnn_cell".split()
)


def __getattr__(name: str):
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("gluon.contrib.rnn"), name)


_complete(globals())
