"""Cells around other cells, whose parameters they use."""

from __future__ import annotations

from gluon.rnn.rnn_cell import BidirectionalCell, HybridRecurrentCell
from gluon.rnn.sequence import format_sequence, mask_steps


class ModifierCell(HybridRecurrentCell):
    """Base of the cells that change what `base_cell` does; the base cell cannot be called by itself afterwards.

    `base_cell` is the cell whose parameters and states it uses. `DropoutCell` apart, what regularises recurrent networks is made of
    it: `ZoneoutCell`, `ResidualCell`, `contrib.rnn.VariationalDropoutCell`.

    >>> isinstance(rnn.ResidualCell(rnn.GRUCell(3)), rnn.ModifierCell)
    True
    """

    def __init__(self, base_cell):
        if base_cell._modified:
            raise AssertionError(f"cell {base_cell.name!r} is wrapped by a modifier cell already")
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self):
        return self.base_cell.params

    def state_info(self, batch_size=0):
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func=None, **kwargs):
        self._check_unmodified()
        with _unwrapped(self.base_cell):
            return self.base_cell.begin_state(func=func, **kwargs)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps elements of the last output and of the states with some probability (Krueger et al., 2017).

    zoneout_outputs, zoneout_states: probabilities that an element stays what it was in the step before, in training alone. In
    prediction the base cell's output and states pass. MXNetError for a bidirectional base cell: each of its cells takes its own.

    >>> cell = rnn.ZoneoutCell(rnn.RNNCell(3), zoneout_states=0.1)
    >>> cell.initialize()
    >>> cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))[0].shape
    (2, 3)
    """

    _traceable = False  # a step keeps its output for the next one

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        if isinstance(base_cell, BidirectionalCell):
            raise AssertionError("a BidirectionalCell has no steps to zone out: wrap the two cells in it")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output = None

    def _alias(self):
        return "zoneout"

    def reset(self):
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F, inputs, states):
        output, new_states = self.base_cell(inputs, states)
        if self.zoneout_outputs != 0.0:
            before = F.zeros_like(output) if self._prev_output is None else self._prev_output
            output = self._mix(F, self.zoneout_outputs, output, before)
        if self.zoneout_states != 0.0:
            new_states = [self._mix(F, self.zoneout_states, new, old) for new, old in zip(new_states, states)]
        self._prev_output = output
        return output, new_states

    @staticmethod
    def _mix(F, rate, new, old):
        return F.where(F.Dropout(F.ones_like(new), p=rate), new, old)

    def __repr__(self):
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"


class ResidualCell(ModifierCell):
    """Adds the input to the output (Wu et al., 2016).

    Input and output of the base cell have one size. Deep stacks of recurrent layers learn better with such short cuts; states are
    those of the base cell, which is `base_cell`.

    >>> cell = rnn.ResidualCell(rnn.GRUCell(3))
    >>> cell.initialize()
    >>> cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))[0].shape
    (2, 3)
    """

    def hybrid_forward(self, F, inputs, states):
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        self.reset()
        with _unwrapped(self.base_cell):
            outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        if merge_outputs is None:
            merge_outputs = not isinstance(outputs, (list, tuple))
        inputs, axis, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if valid_length is not None:
            inputs = mask_steps(F, inputs, length, valid_length, axis, merge_outputs)
        if merge_outputs:
            return F.elemwise_add(outputs, inputs), states
        return [F.elemwise_add(output, x) for output, x in zip(outputs, inputs)], states


class _unwrapped:
    """Inside, a wrapped cell may be used by itself."""

    def __init__(self, cell):
        self._cell = cell

    def __enter__(self):
        self._cell._modified = False

    def __exit__(self, *_):
        self._cell._modified = True
