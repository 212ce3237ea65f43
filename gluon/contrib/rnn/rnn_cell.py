"""Variational dropout, the LSTM with projection, and unrolling by a loop operator."""

from __future__ import annotations

from core.ops.registry import TABLE
from gluon.rnn.modifier_cells import ModifierCell
from gluon.rnn.rnn_cell import (
    BidirectionalCell,
    HybridRecurrentCell,
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
)

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """Dropout of inputs, states and outputs with one mask for all steps (Gal and Ghahramani, 2016).

    drop_inputs, drop_states, drop_outputs: shares of elements that are 0 in training. `reset` draws new masks; `unroll` does it by
    itself. In prediction nothing is dropped.

    >>> from gluon.contrib.rnn import VariationalDropoutCell
    >>> cell = VariationalDropoutCell(rnn.GRUCell(4), drop_inputs=0.2)
    >>> cell.initialize()
    >>> cell.unroll(3, nd.ones((1, 3, 2)), merge_outputs=True)[0].shape
    (1, 3, 4)
    """

    _traceable = False  # the first step makes the masks of the others

    def __init__(self, base_cell, drop_inputs=0.0, drop_states=0.0, drop_outputs=0.0):
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise AssertionError("a BidirectionalCell has no steps whose states could be dropped: wrap its two cells")
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._masks = {}

    def _alias(self):
        return "vardrop"

    def reset(self):
        super().reset()
        self._masks = {}

    def hybrid_forward(self, F, inputs, states):
        if self.drop_states:
            first, *others = states
            states = [first * self._mask(F, "states", first, self.drop_states), *others]
        if self.drop_inputs:
            inputs = inputs * self._mask(F, "inputs", inputs, self.drop_inputs)
        output, states = self.base_cell(inputs, states)
        if self.drop_outputs:
            output = output * self._mask(F, "outputs", output, self.drop_outputs)
        return output, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        # Without dropout of states the masks of all steps are put on the whole sequence at once.
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, True)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        outputs, states = self.base_cell.unroll(length, inputs, states, layout, True, valid_length)
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        merge = True if merge_outputs is None else merge_outputs
        outputs, _, _, _ = _format_sequence(length, outputs, layout, merge)
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge)
        return outputs, states

    def _mask(self, F, what, like, rate):
        if what not in self._masks:
            self._masks[what] = F.Dropout(F.ones_like(like), p=rate)
        return self._masks[what]

    def __repr__(self):
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


class LSTMPCell(HybridRecurrentCell):
    """LSTM whose output and hidden state are projected to `projection_size` by h2r_weight (Sak et al., 2014).

    The cell state keeps hidden_size, so large cells come with small recurrent products. States are the projected output and the cell.

    >>> from gluon.contrib.rnn import LSTMPCell
    >>> cell = LSTMPCell(hidden_size=5, projection_size=2)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((1, 3)), cell.begin_state(batch_size=1))
    >>> output.shape, states[1].shape
    ((1, 2), (1, 5))
    """

    # Bounds of the absolute values of cell and output, for classes that have them.
    _cell_clip = _projection_clip = None

    def __init__(
        self,
        hidden_size,
        projection_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        h2r_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._projection_size = projection_size
        rows = 4 * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _alias(self):
        return "lstmp"

    def state_info(self, batch_size=0):
        sizes = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, h2r_weight, i2h_bias, h2h_bias):
        rows = 4 * self._hidden_size
        name = f"t{self._counter}_"
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=name + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=name + "h2h")
        in_gate, forget_gate, candidate, out_gate = F.SliceChannel(i2h + h2h, num_outputs=4)
        kept, added = F.sigmoid(forget_gate) * states[1], F.sigmoid(in_gate) * F.tanh(candidate)
        cell = F.elemwise_add(kept, added, name=name + "state")
        if self._cell_clip is not None:
            cell = F.clip(cell, -self._cell_clip, self._cell_clip)
        hidden = F.sigmoid(out_gate) * F.tanh(cell)
        size = self._projection_size
        output = F.FullyConnected(hidden, h2r_weight, num_hidden=size, no_bias=True, name=name + "out")
        if self._projection_clip is not None:
            output = F.clip(output, -self._projection_clip, self._projection_clip)
        return output, [output, cell]

    def __repr__(self):
        rows, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {rows} -> {self._projection_size})"


def dynamic_unroll(cell, inputs, begin_state, drop_inputs=0, drop_outputs=0, layout="TNC", valid_length=None):
    """Unrolls a cell over all steps of `inputs` by `contrib.foreach`: (outputs, states of the last valid step)."""
    inputs, axis, F, _ = _format_sequence(0, inputs, layout, True)
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    if axis != 0:
        inputs = F.swapaxes(inputs, 0, axis)
    states = list(begin_state)
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, inputs, states)
    else:

        def step(x, states):
            *before, number = states
            output, after = cell(x, before)
            going_on = F.broadcast_greater(valid_length, number)
            after = [TABLE["where"](going_on, new, old) for new, old in zip(after, before)]
            return output, [*after, number + 1]

        outputs, (*states, _) = F.contrib.foreach(step, inputs, [*states, F.zeros((1,))])
    if axis != 0:
        outputs = F.swapaxes(outputs, 0, axis)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    if valid_length is not None:
        outputs = F.SequenceMask(outputs, valid_length, use_sequence_length=True, axis=axis)
    return outputs, states
