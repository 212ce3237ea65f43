"""Recurrent cells that MXNet 1.x kept under `gluon.contrib.rnn`."""

from core.documentation.classes import complete as _complete
from gluon.contrib.rnn import conv_rnn_cell, rnn_cell
from gluon.contrib.rnn.conv_rnn_cell import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
from gluon.contrib.rnn.rnn_cell import LSTMPCell, VariationalDropoutCell

_complete(globals())
