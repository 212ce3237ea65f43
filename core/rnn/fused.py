"""`FusedRNNCell`: whole sequences, layers and directions in one operator."""

from __future__ import annotations

from core import initializer
from core import ndarray as nd
from core import symbol as sym
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

_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


class FusedRNNCell(BaseRNNCell):
    """Several layers over a sequence.

    mode: rnn_relu, rnn_tanh, lstm or gru. dropout: between layers. get_next_state: whether `unroll` gives the last
    states.
    """

    def __init__(self, num_hidden, num_layers=1, mode="lstm", bidirectional=False, dropout=0.0, get_next_state=False,
                 forget_bias=1.0, prefix=None, params=None):  # fmt: skip
        if mode not in _GATES:
            raise ValueError(f"mode is one of {', '.join(_GATES)}, got {mode!r}")
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
        return _GATES[self._mode]

    def _parts(self, num_input):
        """(name, shape) of every gate's weight and bias, in the order of the flat vector."""
        h, d = self._num_hidden, len(self._directions)
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                for direction in self._directions:
                    for group, width in (("i2h", d * h if layer else num_input), ("h2h", h)):
                        for gate in self._gate_names:
                            name = f"{self._prefix}{direction}{layer}_{group}{gate}_{kind}"
                            yield name, (h, width) if kind == "weight" else (h,)

    def unpack_weights(self, args):
        args = dict(args)
        whole = args.pop(self._parameter.name)
        h, d = self._num_hidden, len(self._directions)
        num_input = whole.size // d // h // len(self._gate_names) - (self._num_layers - 1) * (h + d * h + 2) - h - 2
        begin = 0
        for name, shape in self._parts(num_input):
            size = shape[0] * (shape[1] if len(shape) > 1 else 1)
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
