"""Recurrent cells: one step in time from symbols, and their unrolling."""

from __future__ import annotations

from core import initializer
from core import ndarray as nd
from core import symbol as sym


class RNNParams:
    """The weights of cells by name, made when they are first asked for."""

    def __init__(self, prefix=""):
        self._prefix, self._params = prefix, {}

    def get(self, name, **kwargs):
        """The variable `prefix + name`."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = sym.var(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """Base of cells: `output, states = cell(input, states)` is one step, `unroll` many.

    prefix: before the names of weights and outputs. params: an `RNNParams` to share weights with another cell.
    """

    _gate_names = ()

    def __init__(self, prefix="", params=None):
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self._cells = []
        self.reset()

    def reset(self):
        """Begins a new sequence: the names count steps from 0."""
        self._init_counter = self._counter = -1
        for cell in self._cells:
            cell.reset()

    def __call__(self, inputs, states):
        """One step: (output, states after it)."""
        raise NotImplementedError(f"{type(self).__name__} does not define a step")

    @property
    def params(self):
        """The weights; whoever asks may share them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self):
        """A dictionary for each state: its shape, with 0 for the batch, and its layout."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    @property
    def state_shape(self):
        """The shapes of the states."""
        return [info["shape"] for info in self.state_info]

    def begin_state(self, func=sym.zeros, **kwargs):
        """First states, made by `func`: `sym.zeros`, `sym.var`, ..."""
        self._refuse_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **kwargs, **(info or {})))
        return states

    def _refuse_modified(self):
        if self._modified:
            raise AssertionError("another cell (such as ZoneoutCell) modifies this one: call that one instead")

    def unpack_weights(self, args):
        """Arrays by name, with the weights of each gate on their own."""
        args = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                whole, size = args.pop(f"{self._prefix}{group}_{kind}"), self._num_hidden
                for i, gate in enumerate(self._gate_names):
                    args[f"{self._prefix}{group}{gate}_{kind}"] = whole[i * size : (i + 1) * size].copy()
        return args

    def pack_weights(self, args):
        """The reverse of `unpack_weights`."""
        args = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                parts = [args.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names]
                args[f"{self._prefix}{group}_{kind}"] = nd.concatenate(parts)
        return args

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, last states) of `length` steps.

        inputs: a symbol of shape `layout`, or a list with one of each step. merge_outputs: True gives one symbol, False
        a list, None whatever is at hand.
        """
        self.reset()
        inputs, _ = _normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in inputs[:length]:
            output, states = self(step, states)
            outputs.append(output)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs, activation, **kwargs):
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


class _Dense:
    """Cells whose gates see inputs and states through dense layers."""

    def __init__(self, num_hidden, prefix, params, **of_bias):
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW, self._iB = self._params.get("i2h_weight"), self._params.get("i2h_bias", **of_bias)
        self._hW, self._hB = self._params.get("h2h_weight"), self._params.get("h2h_bias")

    @property
    def state_info(self):
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(self._states)]

    def _projections(self, inputs, state, name):
        size = self._num_hidden * len(self._gate_names)
        return (
            sym.FullyConnected(data, weight, bias, num_hidden=size, name=f"{name}{group}")
            for data, weight, bias, group in (
                (inputs, self._iW, self._iB, "i2h"),
                (state, self._hW, self._hB, "h2h"),
            )
        )

    _axis = 1


class _PlainStep:
    _gate_names, _states = ("",), 1

    def __call__(self, inputs, states):
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._projections(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class _LSTMStep:
    _gate_names, _states, _activation = ("_i", "_f", "_c", "_o"), 2, "tanh"

    def __call__(self, inputs, states):
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._projections(inputs, states[0], name)
        parts = sym.SliceChannel(i2h + h2h, num_outputs=4, axis=self._axis, name=f"{name}slice")
        enter, forget, leave = (
            sym.Activation(parts[i], act_type="sigmoid", name=f"{name}{letter}")
            for i, letter in ((0, "i"), (1, "f"), (3, "o"))
        )
        new = self._get_activation(parts[2], self._activation, name=f"{name}c")
        cell = sym.elemwise_add(forget * states[1], enter * new, name=f"{name}state")
        output = sym.elemwise_mul(leave, self._get_activation(cell, self._activation), name=f"{name}out")
        return output, [output, cell]


class _GRUStep:
    _gate_names, _states, _activation = ("_r", "_z", "_o"), 1, "tanh"
    _separator = "_"

    def __call__(self, inputs, states):
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        gates = []
        for group, whole in zip(("i2h", "h2h"), self._projections(inputs, states[0], name + self._separator)):
            gates.append(sym.SliceChannel(whole, num_outputs=3, axis=self._axis, name=f"{name}_{group}_slice"))
        i2h, h2h = gates
        reset = sym.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = sym.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = self._get_activation(i2h[2] + reset * h2h[2], self._activation, name=f"{name}_h_act")
        output = sym.elemwise_add((1.0 - update) * new, update * states[0], name=f"{name}out")
        return output, [output]


class RNNCell(_Dense, _PlainStep, BaseRNNCell):
    """h' = activation(W x + b + U h + c) (Elman, 1990)."""

    __call__ = _PlainStep.__call__

    def __init__(self, num_hidden, activation="tanh", prefix="rnn_", params=None):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation


class LSTMCell(_Dense, _LSTMStep, BaseRNNCell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); states are output and cell.

    forget_bias: what the bias of the forget gate begins with.
    """

    __call__ = _LSTMStep.__call__

    def __init__(self, num_hidden, prefix="lstm_", params=None, forget_bias=1.0):
        super().__init__(num_hidden, prefix, params, init=initializer.LSTMBias(forget_bias=forget_bias))


class GRUCell(_Dense, _GRUStep, BaseRNNCell):
    """Gated recurrent unit (Cho et al., 2014), with the reset gate behind the matrix."""

    __call__ = _GRUStep.__call__

    def __init__(self, num_hidden, prefix="gru_", params=None):
        super().__init__(num_hidden, prefix, params)


class SequentialRNNCell(BaseRNNCell):
    """Cells one above the other. params: weights that all of them share."""

    def __init__(self, params=None):
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None

    def add(self, cell):
        """Puts a cell on top."""
        self._cells.append(cell)
        if self._override_cell_params:
            _share(self, cell)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self):
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs):
        self._refuse_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args):
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args):
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def __call__(self, inputs, states):
        self._counter += 1
        after = []
        for cell, own in self._with_states(states):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError("a BidirectionalCell has no single steps: unroll the stack")
            inputs, own = cell(inputs, own)
            after += own
        return inputs, after

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        self.reset()
        states, after = self.begin_state() if begin_state is None else begin_state, []
        for cell, own in self._with_states(states):
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, own = cell.unroll(length, inputs, own, layout, merge)
            after.extend(own)
        return inputs, after

    def _with_states(self, states):
        begin = 0
        for cell in self._cells:
            count = len(cell.state_info)
            yield cell, states[begin : begin + count]
            begin += count


class BidirectionalCell(BaseRNNCell):
    """Two cells, one of which reads backwards; their outputs side by side (Schuster and Paliwal, 1997)."""

    def __init__(self, l_cell, r_cell, params=None, output_prefix="bi_"):
        super().__init__("", params=params)
        self._output_prefix, self._cells = output_prefix, [l_cell, r_cell]
        for cell in self._cells:
            if params is not None:
                _share(self, cell)
            self.params._params.update(cell.params._params)

    state_info = SequentialRNNCell.state_info
    begin_state = SequentialRNNCell.begin_state
    unpack_weights = SequentialRNNCell.unpack_weights
    pack_weights = SequentialRNNCell.pack_weights
    _with_states = SequentialRNNCell._with_states

    def __call__(self, inputs, states):
        raise NotImplementedError("a BidirectionalCell has no single steps: use unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        self.reset()
        inputs, axis = _normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        (forward, own), (backward, others) = self._with_states(states)
        left, left_states = forward.unroll(length, inputs, own, layout, merge_outputs)
        right, right_states = backward.unroll(length, list(reversed(inputs)), others, layout, merge_outputs)
        if merge_outputs is None:
            merge_outputs = isinstance(left, sym.Symbol) and isinstance(right, sym.Symbol)
        left, _ = _normalize_sequence(length, left, layout, merge_outputs)
        right, _ = _normalize_sequence(length, right, layout, merge_outputs)
        if merge_outputs:
            outputs = sym.Concat(left, sym.reverse(right, axis=axis), dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                sym.Concat(a, b, dim=1, name=f"{self._output_prefix}t{i}")
                for i, (a, b) in enumerate(zip(left, reversed(right)))
            ]
        return outputs, [left_states, right_states]


def _share(parent, cell):
    """Lets a cell use the weights of the cell that holds it."""
    if not cell._own_params:
        raise AssertionError("give params to the cell that holds others, or to those, but not to both")
    cell.params._params.update(parent.params._params)


def _normalize_sequence(length, inputs, layout, merge, in_layout=None):
    """(inputs as one symbol or as a list of steps, axis of time)."""
    if inputs is None:
        raise AssertionError("unroll needs inputs: a symbol, or a list with one of each step")
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    if isinstance(inputs, sym.Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise AssertionError("a group of symbols is unrolled as list(group)")
            parts = sym.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=True)
            inputs = list(parts) if length != 1 else [parts]
    else:
        if length is not None and len(inputs) != length:
            raise AssertionError(f"{len(inputs)} inputs for {length} steps")
        if merge is True:
            inputs = sym.Concat(*[sym.expand_dims(step, axis=axis) for step in inputs], dim=axis)
            in_axis = axis
    if isinstance(inputs, sym.Symbol) and axis != in_axis:
        inputs = sym.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis
