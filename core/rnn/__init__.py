"""Recurrent cells over symbols, unrolled in time; and batches of sentences of about one length.

New programs: `gluon.rnn`.
"""

import sys

from core.rnn.cells import (
    BaseRNNCell,
    BidirectionalCell,
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
)
from core.rnn.checkpoint import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from core.rnn.convolution import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from core.rnn.fused import FusedRNNCell
from core.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from core.rnn.sentences import BucketSentenceIter, encode_sentences

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "BucketSentenceIter", "ConvGRUCell", "ConvLSTMCell",
    "ConvRNNCell", "DropoutCell", "FusedRNNCell", "GRUCell", "LSTMCell", "ModifierCell", "RNNCell", "RNNParams",
    "ResidualCell", "SequentialRNNCell", "ZoneoutCell", "do_rnn_checkpoint", "encode_sentences", "load_rnn_checkpoint",
    "rnn_unroll", "save_rnn_checkpoint",
]  # fmt: skip

io = rnn = rnn_cell = sys.modules[__name__]  # in MXNet modules of the package hold what it offers
