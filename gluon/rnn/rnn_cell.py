"""Recurrent cells: one step of a recurrent network, and their unrolling over a sequence."""

from __future__ import annotations

from gluon.block import Block, HybridBlock
from gluon.block.block import indent
from gluon.nn.activations import LeakyReLU
from gluon.rnn.sequence import begin_state_for as _get_begin_state
from gluon.rnn.sequence import format_sequence as _format_sequence
from gluon.rnn.sequence import mask_steps as _mask_sequence_variable_length
from gluon.rnn.sequence import reverse_steps as _reverse_sequences
from gluon.rnn.sequence import zeros


class RecurrentCell(Block):
    """Base of the cells: `output, states = cell(input, states)` is one step; states are lists of arrays.

    `begin_state(batch_size)` makes the first states, `unroll(length, inputs)` runs a sequence, `state_info` says the shapes of
    states. Subclasses define `forward(inputs, states)`, or `hybrid_forward` as `HybridRecurrentCell` wants it.

    >>> cell = rnn.LSTMCell(4)
    >>> isinstance(cell, rnn.RecurrentCell), cell.state_info(batch_size=2)[0]["shape"]
    (True, (2, 4))
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self):
        """Forgets what the cell and its children remember of the sequence so far."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            cell.reset()

    def state_info(self, batch_size=0):
        """Shape and layout of every state array."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    def begin_state(self, batch_size=0, func=None, **kwargs):
        """Initial states, made by `func(shape=..., **kwargs)`; by default zeros."""
        self._check_unmodified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            if func is None:
                states.append(zeros(**{**info, **kwargs}))
            else:
                name = f"{self._prefix}begin_state_{self._init_counter}"
                states.append(func(name=name, **{**info, **kwargs}))
        return states

    def infer_shape(self, i, x, is_bidirect=False):
        """Does nothing: MXNet 2 has it called before `initialize()`, but here the first step finds the shapes."""

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """Runs `length` steps: (outputs, states of the last step).

        inputs: an array with a time axis as `layout` says, or a list of arrays (batch, ...). merge_outputs: whether
        outputs become one array (True) or a list (False); None leaves what is cheaper. valid_length: (batch,); outputs
        from there on are 0, and states are those of the last valid step.
        """
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, False)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size)
        outputs, history = [], []
        for step in range(length):
            output, states = self(inputs[step], states)
            outputs.append(output)
            if valid_length is not None:
                history.append(states)
        if valid_length is not None:
            states = [
                F.SequenceLast(F.stack(*steps, axis=0), valid_length, use_sequence_length=True, axis=0)
                for steps in zip(*history)
            ]
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, True)
        outputs, _, _, _ = _format_sequence(length, outputs, layout, merge_outputs)
        return outputs, states

    def forward(self, inputs, states):
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)

    def _get_activation(self, F, inputs, activation, **kwargs):
        """An activation given by name, as a LeakyReLU layer, or as a function."""
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs)

    def _check_unmodified(self):
        if self._modified:
            raise AssertionError(
                f"cell {self.name!r} is wrapped by a modifier cell (such as ZoneoutCell): call the modifier cell "
                "instead"
            )


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A recurrent cell in terms of `hybrid_forward(F, inputs, states, **parameters)`.

    It returns (output, states) for one step, and can be compiled by `hybridize`. `begin_state` and `unroll` are those of
    `RecurrentCell`.

    >>> class Sum(rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         return inputs + states[0], [inputs + states[0]]
    >>> cell = Sum()
    >>> cell.unroll(3, nd.array([[[1], [2], [3]]]), cell.begin_state(batch_size=1), merge_outputs=True)[0].reshape(-1)
    [1. 3. 6.]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def infer_shape(self, *args):
        """Of inputs and states as in MXNet 1.x; called as `infer_shape(i, x, is_bidirect)` it does nothing."""
        if not (args and isinstance(args[0], int)):
            HybridBlock.infer_shape(self, *args)

    def _finish_shapes(self, args):
        if type(self).infer_shape is not HybridRecurrentCell.infer_shape:  # else operators find them out
            super()._finish_shapes(args)

    @property
    def _traceable(self):
        return all(child._traceable for child in self._children.values())


class _GatedCell(HybridRecurrentCell):
    """Cells of gates.

    Parameters: i2h_weight (gates hidden, input), h2h_weight (gates hidden, hidden) and the biases i2h_bias and h2h_bias
    (gates hidden,). input_size: found out in the first call where it is 0. Called with inputs (batch, input) and a list
    of states (batch, hidden), a cell gives the output (batch, hidden) and the new states.
    """

    _gates = 1
    _states = 1

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer,
        h2h_weight_initializer,
        i2h_bias_initializer,
        h2h_bias_initializer,
        input_size,
        prefix,
        params,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        rows = self._gates * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, hidden_size), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self._states)]

    def _projections(self, F, inputs, hidden, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        """What all gates take from the input and from the hidden state, before they are split."""
        rows = self._gates * self._hidden_size
        name = f"t{self._counter}_"
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=name + "i2h")
        h2h = F.FullyConnected(hidden, h2h_weight, h2h_bias, num_hidden=rows, name=name + "h2h")
        return i2h, h2h

    def __repr__(self):
        rows, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {rows})"


class RNNCell(_GatedCell):
    """Elman's cell: output = state = activation(W x + b + U state + c) (Elman, 1990).

    A cell is one step; `unroll` runs it over a sequence. `rnn.RNN` runs all steps in one operator and is faster.

    >>> cell = rnn.RNNCell(hidden_size=5)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 5)
    """

    def __init__(
        self,
        hidden_size,
        activation="tanh",
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation

    def _alias(self):
        return "rnn"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._projections(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"t{self._counter}_out")
        return output, [output]

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, {self._activation})"


class _SquashingCell(_GatedCell):
    """Cells whose gates are squashed by one function and what they let through by another.

    activation, recurrent_activation: names of the functions of candidates and of gates.
    """

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
        activation="tanh",
        recurrent_activation="sigmoid",
    ):
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation
        self._recurrent_activation = recurrent_activation


class LSTMCell(_SquashingCell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); states are hidden state and cell.

    The gates lie in the order input, forget, candidate, output.

    A cell is one step; `unroll` runs it over a sequence. `rnn.LSTM` runs all steps in one operator and is faster.

    >>> cell = rnn.LSTMCell(hidden_size=5)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(7, nd.ones((2, 7, 3)), layout="NTC")
    >>> len(outputs), outputs[0].shape, len(states)
    (7, (2, 5), 2)
    """

    _gates = 4
    _states = 2

    def _alias(self):
        return "lstm"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._projections(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        gates = F.SliceChannel(i2h + h2h, num_outputs=4)
        gate, activation = self._recurrent_activation, self._activation
        in_gate = self._get_activation(F, gates[0], gate)
        forget_gate = self._get_activation(F, gates[1], gate)
        candidate = self._get_activation(F, gates[2], activation)
        out_gate = self._get_activation(F, gates[3], gate)
        cell = F.elemwise_add(forget_gate * states[1], in_gate * candidate, name=f"t{self._counter}_state")
        squashed = self._get_activation(F, cell, activation)
        hidden = F.elemwise_mul(out_gate, squashed, name=f"t{self._counter}_out")
        return hidden, [hidden, cell]


class GRUCell(_SquashingCell):
    """Gated recurrent unit (Cho et al., 2014), with the reset gate applied after the recurrent product.

    The gates lie in the order reset, update, candidate.

    A cell is one step; `unroll` runs it over a sequence. `rnn.GRU` runs all steps in one operator and is faster.

    >>> cell = rnn.GRUCell(hidden_size=5)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(7, nd.ones((2, 7, 3)), layout="NTC", merge_outputs=True)
    >>> outputs.shape
    (2, 7, 5)
    """

    _gates = 3

    def _alias(self):
        return "gru"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._projections(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h_reset, i2h_update, i2h_new = F.SliceChannel(i2h, num_outputs=3)
        h2h_reset, h2h_update, h2h_new = F.SliceChannel(h2h, num_outputs=3)
        reset = self._get_activation(F, i2h_reset + h2h_reset, self._recurrent_activation)
        update = self._get_activation(F, i2h_update + h2h_update, self._recurrent_activation)
        candidate = self._get_activation(F, i2h_new + reset * h2h_new, self._activation)
        output = F.elemwise_add((1 - update) * candidate, update * states[0], name=f"t{self._counter}_out")
        return output, [output]


class _Cells:
    """What cells that are made of cells share: their states are those of all, one after the other."""

    def state_info(self, batch_size=0):
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs):
        self._check_unmodified()
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]


class _CellStack(_Cells):
    """What the sequential cells share: each cell's output is the next one's input."""

    def add(self, cell):
        """Appends a cell."""
        self.register_child(cell)

    def __call__(self, inputs, states):
        self._counter += 1
        following = []
        for cell, own in self._with_states(states):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError("a BidirectionalCell needs the whole sequence: use unroll")
            inputs, own = cell(inputs, own)
            following.extend(own)
        return inputs, following

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        self.reset()
        inputs, _, F, batch_size = _format_sequence(length, inputs, layout, None)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size)
        following, last = [], len(self) - 1
        for i, (cell, own) in enumerate(self._with_states(states)):
            merge = merge_outputs if i == last else None
            inputs, own = cell.unroll(length, inputs, own, layout, merge, valid_length)
            following.extend(own)
        return inputs, following

    def _with_states(self, states):
        """Every cell with its part of the states."""
        start = 0
        for cell in self._children.values():
            stop = start + len(cell.state_info())
            yield cell, states[start:stop]
            start = stop

    def __getitem__(self, i):
        return self._children[str(i)]

    def __len__(self):
        return len(self._children)

    def __repr__(self):
        lines = "\n".join(f"({name}): {indent(repr(cell))}" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"


class SequentialRNNCell(_CellStack, RecurrentCell):
    """Cells on top of each other.

    `add` appends cells; the output of one is the input of the next, and the states of all are one list. It is itself a cell: it can
    be unrolled, wrapped and stacked. A `DropoutCell` in between drops outputs in training.

    >>> cell = rnn.SequentialRNNCell()
    >>> cell.add(rnn.LSTMCell(4))
    >>> cell.add(rnn.GRUCell(5))
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 5), 3)
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """Hybrid cells on top of each other.

    As `SequentialRNNCell`, of cells that are hybrid blocks; it can be compiled by `hybridize`. `add` appends cells, the states of
    all are one list.

    >>> cell = rnn.HybridSequentialRNNCell()
    >>> cell.add(rnn.GRUCell(5))
    >>> cell.initialize()
    >>> cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))[0].shape
    (2, 5)
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F, inputs, states):
        return self(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Dropout between cells; it has no state.

    rate: the share of elements that are 0 in training; axes: those along which one draw is shared. In prediction the input is the
    output. It stands between cells in a `SequentialRNNCell`.

    >>> cell = rnn.DropoutCell(0.5)
    >>> output, states = cell(nd.ones((1, 3)), [])
    >>> output
    [[1. 1. 1.]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix, params)
        if not isinstance(rate, (int, float)):
            raise AssertionError(f"rate is a number, got {rate!r}")
        self._rate = rate
        self._axes = axes

    def _alias(self):
        return "dropout"

    def state_info(self, batch_size=0):
        return []

    def hybrid_forward(self, F, inputs, states):
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        self.reset()
        inputs, _, F, _ = _format_sequence(length, inputs, layout, merge_outputs)
        if not isinstance(inputs, (list, tuple)):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs, None)

    def __repr__(self):
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"


class BidirectionalCell(_Cells, HybridRecurrentCell):
    """Two cells over the sequence in both directions; outputs are concatenated along the features.

    l_cell runs from the first step to the last, r_cell backwards. A single step makes no sense: it is used by `unroll` alone, with
    `valid_length` where sequences differ in length, and NotImplementedError comes of a call.

    >>> cell = rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, nd.ones((2, 3, 5)), layout="NTC", merge_outputs=True)
    >>> outputs.shape
    (2, 3, 8)
    """

    def __init__(self, l_cell, r_cell, output_prefix="bi_"):
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def hybrid_forward(self, F, inputs, states):
        raise NotImplementedError("a BidirectionalCell needs the whole sequence: use unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, False)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size)
        left, right = self._children.values()
        own = len(left.state_info(batch_size))
        turned = _reverse_sequences(inputs, length, valid_length)
        forward, left_states = left.unroll(length, inputs, states[:own], layout, merge_outputs, valid_length)
        backward, right_states = right.unroll(length, turned, states[own:], layout, False, valid_length)
        backward = _reverse_sequences(backward, length, valid_length)
        if merge_outputs is None:
            merge_outputs = not isinstance(forward, (list, tuple))
        if merge_outputs:
            outputs = F.concat(forward, F.stack(*backward, axis=axis), dim=2, name=f"{self._output_prefix}out")
        else:
            pairs = enumerate(zip(forward, backward))
            outputs = [F.concat(f, b, dim=1, name=f"{self._output_prefix}t{i}") for i, (f, b) in pairs]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge_outputs)
        return outputs, left_states + right_states

    def __repr__(self):
        left, right = self._children.values()
        return f"{type(self).__name__}(forward={indent(left)}, backward={indent(right)})"


def __getattr__(name):
    # Cells in files of their own that belong to this module for its users, in MXNet 2 also those of contrib.
    if name in ("ModifierCell", "ResidualCell", "ZoneoutCell"):
        from gluon.rnn import modifier_cells

        return getattr(modifier_cells, name)
    if name in ("LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"):
        from gluon.contrib.rnn import rnn_cell

        return getattr(rnn_cell, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
