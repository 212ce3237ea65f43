"""Recurrent layers and cells."""

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
