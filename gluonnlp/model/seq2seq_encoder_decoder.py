"""What encoders and decoders of sequences have in common, for translation and the like.

Outputs are (batch, length, units); valid_length is (batch,) or None.
"""

from __future__ import annotations

from core import nd, sym
from gluon import Block, rnn

from .attention_cell import make_attention_cell

__all__ = ["Seq2SeqDecoder", "Seq2SeqEncoder", "Seq2SeqOneStepDecoder"]

CELLS = {
    "lstm": rnn.LSTMCell,
    "gru": rnn.GRUCell,
    "relu_rnn": lambda *args, **kwargs: rnn.RNNCell(*args, activation="relu", **kwargs),
    "tanh_rnn": lambda *args, **kwargs: rnn.RNNCell(*args, activation="tanh", **kwargs),
}


class Seq2SeqEncoder(Block):
    """Called with inputs (batch, length, units), valid_length and states; gives outputs and a list of additional ones.

    The encoders of this package are called with inputs, states and valid_length.

    >>> issubclass(gluonnlp.model.TransformerEncoder, gluonnlp.model.Seq2SeqEncoder)
    True
    """

    def __call__(self, inputs, valid_length=None, states=None):
        return super().__call__(inputs, valid_length, states)


class Seq2SeqDecoder(Block):
    """Called with inputs (batch, length, units), states and valid_length.

    Gives outputs, new states, additional ones.

    >>> issubclass(gluonnlp.model.TransformerDecoder, gluonnlp.model.Seq2SeqDecoder)
    True
    """

    def init_state_from_encoder(self, encoder_outputs, encoder_valid_length=None):
        """The first states of the decoder."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its first states are")


class Seq2SeqOneStepDecoder(Seq2SeqDecoder):
    """Called with step_input (batch, units) and states.

    Gives step_output (batch, units), new states, additional outputs.

    >>> issubclass(gluonnlp.model.TransformerOneStepDecoder, gluonnlp.model.Seq2SeqOneStepDecoder)
    True
    """


def _nested_sequence_last(data, valid_length):
    """Of a list of steps, arrays (batch, ...) or lists of them, the last one within the valid length of each sample."""
    if isinstance(data[0], list | tuple):
        return [_nested_sequence_last([step[i] for step in data], valid_length) for i in range(len(data[0]))]
    F = sym if isinstance(data[0], sym.Symbol) else nd
    return F.SequenceLast(F.stack(*data, axis=0), valid_length, use_sequence_length=True)


def cell_class(cell_type):
    """What makes a cell of the kind "lstm", "gru", "relu_rnn" or "tanh_rnn"; a class is given back as it is."""
    if not isinstance(cell_type, str):
        return cell_type
    if cell_type not in CELLS:
        raise ValueError(f"cell_type is one of {', '.join(CELLS)}, or a class, got {cell_type!r}")
    return CELLS[cell_type]


# Programs of GluonNLP take them under these names.
_get_attention_cell, _get_cell_type = make_attention_cell, cell_class
