"""Google's neural machine translation (Wu et al., 2016): recurrent encoder and decoder with attention."""

from __future__ import annotations

from core import nd
from core.initializer import LSTMBias
from gluon import HybridBlock, nn, rnn

from ..base import InvalidArgument
from .attention_cell import make_attention_cell
from .seq2seq_encoder_decoder import (
    Seq2SeqDecoder,
    Seq2SeqEncoder,
    Seq2SeqOneStepDecoder,
    _nested_sequence_last,
    cell_class,
)

__all__ = ["GNMTDecoder", "GNMTEncoder", "GNMTOneStepDecoder", "get_gnmt_encoder_decoder"]


class GNMTEncoder(Seq2SeqEncoder):
    """`num_bi_layers` bidirectional layers, and one-way layers above them.

    Called with inputs (batch, length, units), states, a list of those of each layer, or None, and valid_length (batch,)
    or None; gives [outputs (batch, length, hidden_size), 0 behind the valid lengths, new states of each layer], and an
    empty list. Of bidirectional layers the states are those of the backward cell.  cell_type: "lstm", "gru",
    "relu_rnn", "tanh_rnn", or a class.  use_residual: one-way layers but the first add their inputs to their outputs.

    >>> encoder, decoder, one_step = gluonnlp.model.get_gnmt_encoder_decoder(hidden_size=8)
    >>> isinstance(encoder, gluonnlp.model.GNMTEncoder)
    True
    """

    def __init__(
        self,
        cell_type="lstm",
        num_layers=2,
        num_bi_layers=1,
        hidden_size=128,
        dropout=0.0,
        use_residual=True,
        prefix=None,
        params=None,
        **initializers,
    ):
        super().__init__(prefix=prefix, params=params)
        if num_bi_layers > num_layers:
            raise InvalidArgument(f"num_bi_layers is at most num_layers, {num_layers}, got {num_bi_layers}")
        self._num_bi_layers = num_bi_layers
        self._use_residual = use_residual
        cell = cell_class(cell_type)
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.rnn_cells = nn.HybridSequential()
            for i in range(num_layers):
                if i < num_bi_layers:
                    sides = [cell(hidden_size, prefix=f"rnn{i}_{side}_", **initializers) for side in "lr"]
                    self.rnn_cells.add(rnn.BidirectionalCell(*sides))
                else:
                    self.rnn_cells.add(cell(hidden_size, prefix=f"rnn{i}_", **initializers))

    def __call__(self, inputs, states=None, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def forward(self, inputs, states=None, valid_length=None):
        new_states, outputs = [], inputs
        for i, cell in enumerate(self.rnn_cells):
            outputs, after = cell.unroll(
                inputs.shape[1],
                inputs,
                begin_state=None if states is None else states[i],
                layout="NTC",
                merge_outputs=True,
                valid_length=valid_length,
            )
            new_states.append(after[len(after) // 2 :] if i < self._num_bi_layers else after)
            outputs = self.dropout_layer(outputs)
            if self._use_residual and i > self._num_bi_layers:
                outputs = outputs + inputs
            inputs = outputs
        if valid_length is not None:
            outputs = nd.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=1)
        return [outputs, new_states], []


class _Decoder(HybridBlock):
    """The layers of both decoders, and a step of them.

    The first layer reads the input and what attention read in the step before; its output is the query of this
    step, whose result all layers above read too.
    """

    def __init__(
        self,
        cell_type="lstm",
        attention_cell="scaled_luong",
        num_layers=2,
        hidden_size=128,
        dropout=0.0,
        use_residual=True,
        output_attention=False,
        prefix=None,
        params=None,
        **initializers,
    ):
        super().__init__(prefix=prefix, params=params)
        self._use_residual = use_residual
        self._output_attention = output_attention
        cell = cell_class(cell_type)
        with self.name_scope():
            self.attention_cell = make_attention_cell(attention_cell, hidden_size)
            self.dropout_layer = nn.Dropout(dropout)
            self.rnn_cells = nn.HybridSequential()
            for i in range(num_layers):
                self.rnn_cells.add(cell(hidden_size, prefix=f"rnn{i}_", **initializers))

    def init_state_from_encoder(self, encoder_outputs, encoder_valid_length=None):
        """[states of the layers, what attention read last: 0, memory, mask (batch, mem_length)],
        without mask for no lengths.
        """
        mem_value, rnn_states = encoder_outputs
        read = nd.zeros_like(nd.slice_axis(mem_value, axis=1, begin=0, end=1)).reshape((0, -1))
        states = [rnn_states, read, mem_value]
        if encoder_valid_length is not None:
            steps = nd.contrib.arange_like(mem_value, axis=1).astype(encoder_valid_length.dtype)
            states.append(nd.broadcast_lesser(steps.reshape((1, -1)), encoder_valid_length.reshape((-1, 1))))
        return states

    def _step(self, F, step_input, states):
        rnn_states, read, mem_value, *mask = states
        mask = F.expand_dims(mask[0], axis=1) if mask else None
        output, after = self.rnn_cells[0](F.concat(step_input, read, dim=-1), rnn_states[0])
        new_states = [after]
        read, weights = self.attention_cell(F.expand_dims(output, axis=1), mem_value, mem_value, mask)
        read = F.reshape(read, shape=(0, -1))
        for i in range(1, len(self.rnn_cells)):
            below = output
            output, after = self.rnn_cells[i](F.concat(below, read, dim=-1), rnn_states[i])
            output = self.dropout_layer(output)
            if self._use_residual:
                output = output + below
            new_states.append(after)
        return output, [new_states, read, *states[2:]], [weights] if self._output_attention else []


class GNMTDecoder(_Decoder, Seq2SeqDecoder):
    """Whole sequences (batch, length, units) decoded at once, as training does.

    Called with inputs, states as `init_state_from_encoder` gives them, and valid_length (batch,) or None; gives outputs
    (batch, length, hidden_size), 0 behind the valid lengths, states after the last valid step, and a list of attention
    weights (batch, length, mem_length), empty without output_attention.  attention_cell: a name as for
    TransformerEncoderCell, or a cell.

    >>> encoder, decoder, one_step = gluonnlp.model.get_gnmt_encoder_decoder(hidden_size=8)
    >>> isinstance(decoder, gluonnlp.model.GNMTDecoder)
    True
    """

    def __call__(self, inputs, states, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def forward(self, inputs, states, valid_length=None):
        fixed, outputs, passed, weights = states[2:], [], [], []
        for i in range(inputs.shape[1]):
            output, states, more = self._step(nd, inputs[:, i], states)
            outputs.append(output)
            passed.append(states[:2])
            weights += more
        outputs = nd.stack(*outputs, axis=1)
        if valid_length is not None:
            states = [*_nested_sequence_last(passed, valid_length), *fixed]
            outputs = nd.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=1)
        return outputs, states, [nd.concat(*weights, dim=-2)] if self._output_attention else []


class GNMTOneStepDecoder(_Decoder, Seq2SeqOneStepDecoder):
    """A GNMTDecoder for one step: step_input (batch, units) and states to output (batch, hidden_size),
    new states, weights.

    >>> encoder, decoder, one_step = gluonnlp.model.get_gnmt_encoder_decoder(hidden_size=8)
    >>> isinstance(one_step, gluonnlp.model.GNMTOneStepDecoder)
    True
    """

    def __call__(self, step_input, states):
        return super().__call__(step_input, states)

    def hybrid_forward(self, F, step_input, states):
        return self._step(F, step_input, states)


def get_gnmt_encoder_decoder(
    cell_type="lstm",
    attention_cell="scaled_luong",
    num_layers=2,
    num_bi_layers=1,
    hidden_size=128,
    dropout=0.0,
    use_residual=False,
    i2h_bias_initializer=LSTMBias(forget_bias=1.0),  # noqa: B008 (an initializer has no state)
    prefix="gnmt_",
    params=None,
    **initializers,
):
    """An encoder, a decoder, and a one-step decoder that has the decoder's parameters.

    >>> encoder, decoder, one_step = gluonnlp.model.get_gnmt_encoder_decoder(hidden_size=8)
    >>> type(encoder).__name__, type(decoder).__name__
    ('GNMTEncoder', 'GNMTDecoder')
    """
    settings = {
        "cell_type": cell_type,
        "num_layers": num_layers,
        "hidden_size": hidden_size,
        "dropout": dropout,
        "use_residual": use_residual,
        "i2h_bias_initializer": i2h_bias_initializer,
        **initializers,
    }
    encoder = GNMTEncoder(num_bi_layers=num_bi_layers, prefix=prefix + "enc_", params=params, **settings)
    settings |= {"attention_cell": attention_cell, "prefix": prefix + "dec_"}
    decoder = GNMTDecoder(params=params, **settings)
    return encoder, decoder, GNMTOneStepDecoder(params=decoder.collect_params(), **settings)
