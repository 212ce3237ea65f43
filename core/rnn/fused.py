"""`FusedRNNCell`: whole sequences, layers and directions in one operator."""

from __future__ import annotations

import math

from core import initializer
from core import ndarray as nd
from core import symbol as sym
from core.kernels.rnn_parameters import GATE_NAMES, gates, inputs_of
from core.rnn.cells import (
    BaseRNNCell,
    BidirectionalCell,
    GRUCell,
    LSTMCell,
    RNNCell,
    SequentialRNNCell,
    _normalize_sequence,
)
from core.rnn.modifiers import DropoutCell


class FusedRNNCell(BaseRNNCell):
    """Several layers over a sequence.

    mode: rnn_relu, rnn_tanh, lstm or gru. dropout: between layers. get_next_state: whether `unroll` gives the last
    states.
    """

    def __init__(self, num_hidden, num_layers=1, mode="lstm", bidirectional=False, dropout=0.0, get_next_state=False,
                 forget_bias=1.0, prefix=None, params=None):  # fmt: skip
        if mode not in GATE_NAMES:
            raise ValueError(f"mode is one of {', '.join(GATE_NAMES)}, got {mode!r}")
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=init)

    @property
    def state_info(self):
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self):
        return GATE_NAMES[self._mode]

    def _parts(self, num_input):
        """(name, shape) of every gate's weight and bias, in the order of the flat vector."""
        network = self._num_hidden, self._num_layers, self._bidirectional
        return [(self._prefix + name, shape) for name, shape in gates(self._mode, num_input, *network)]

    def unpack_weights(self, args):
        args = dict(args)
        whole = args.pop(self._parameter.name)
        num_input = inputs_of(whole.size, self._mode, self._num_hidden, self._num_layers, self._bidirectional)
        begin = 0
        for name, shape in self._parts(num_input):
            size = math.prod(shape)
            args[name] = whole[begin : begin + size].reshape(shape).copy()
            begin += size
        if begin != whole.size:
            raise AssertionError(f"{self._parameter.name!r} has {whole.size} elements, {begin} belong to the cell")
        return args

    def pack_weights(self, args):
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        parts = [args.pop(name).reshape((-1,)) for name, _ in self._parts(first.shape[1])]
        args[self._parameter.name] = nd.concatenate(parts)
        return args

    def __call__(self, inputs, states):
        raise NotImplementedError("a FusedRNNCell has no single steps: use unroll, or unfuse() it")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        self.reset()
        inputs, axis = _normalize_sequence(length, inputs, layout, True)
        if axis == 1:
            inputs = sym.swapaxes(inputs, dim1=0, dim2=1)
        states = list(self.begin_state() if begin_state is None else begin_state)
        kept = dict(zip(("state", "state_cell"), states))
        out = sym.RNN(
            inputs, self._parameter, **kept, state_size=self._num_hidden, num_layers=self._num_layers,
            bidirectional=self._bidirectional, p=self._dropout, state_outputs=self._get_next_state, mode=self._mode,
            name=f"{self._prefix}rnn",
        )  # fmt: skip
        outputs, after = (out[0], [out[i] for i in range(1, 1 + len(states))]) if self._get_next_state else (out, [])
        if axis == 1:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self):
        """The same network from single cells, which take the weights that `unpack_weights` gives."""
        make = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, activation="relu", prefix=prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, activation="tanh", prefix=prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix=prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix=prefix),
        }[self._mode]
        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            cells = [make(f"{self._prefix}{direction}{i}_") for direction in self._directions]
            if self._bidirectional:
                stack.add(BidirectionalCell(*cells, output_prefix=f"{self._prefix}bi_l{i}_"))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and i + 1 < self._num_layers:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack
