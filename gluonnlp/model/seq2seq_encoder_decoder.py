"""What encoders and decoders of sequences have in common, for translation and the like.

Outputs are (batch, length, units); valid_length is (batch,) or None.
"""

from __future__ import annotations

from core import nd, sym
from gluon import Block

__all__ = ["Seq2SeqDecoder", "Seq2SeqEncoder", "Seq2SeqOneStepDecoder"]


class Seq2SeqEncoder(Block):
    """Called with inputs (batch, length, units), valid_length and states; gives outputs and a list of additional ones.

    The encoders of this package are called with inputs, states and valid_length.
    """

    def __call__(self, inputs, valid_length=None, states=None):
        return super().__call__(inputs, valid_length, states)


class Seq2SeqDecoder(Block):
    """Called with inputs (batch, length, units), states and valid_length.

    Gives outputs, new states, additional ones.
    """

    def init_state_from_encoder(self, encoder_outputs, encoder_valid_length=None):
        """The first states of the decoder."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its first states are")


class Seq2SeqOneStepDecoder(Seq2SeqDecoder):
    """Called with step_input (batch, units) and states.

    Gives step_output (batch, units), new states, additional outputs.
    """


def _nested_sequence_last(data, valid_length):
    """Of a list of steps, arrays (batch, ...) or lists of them, the last one within the valid length of each sample."""
    if isinstance(data[0], list | tuple):
        return [_nested_sequence_last([step[i] for step in data], valid_length) for i in range(len(data[0]))]
    F = sym if isinstance(data[0], sym.Symbol) else nd
    return F.SequenceLast(F.stack(*data, axis=0), valid_length, use_sequence_length=True)
