"""Recurrent layers that run a whole sequence in one operator."""

from __future__ import annotations

from core import ndarray as nd
from core.base import MXNetError
from core.ops.registry import get
from gluon.block import HybridBlock
from gluon.rnn import rnn_cell
from gluon.rnn.sequence import zeros
from gluon.utils import split_rnn_params

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
# What a layer and direction has of its own, in the order of its initializers.
_PARAMETERS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")


class _RNNLayer(HybridBlock):
    """All recurrent layers.

    `layer(inputs)` gives outputs, `layer(inputs, states)` gives (outputs, states): inputs (length, batch, input_size)
    and outputs (length, batch, hidden_size * directions) in layout "TNC", batch first in "NTC"; states, one or a list,
    are (num_layers * directions, batch, hidden_size). dropout: rate between layers. Parameters of layer i:
    li_i2h_weight (gates hidden, input), li_h2h_weight (gates hidden, hidden), li_i2h_bias, li_h2h_bias (gates hidden,),
    with a projection li_h2r_weight (projection, hidden); the backward direction has them with r in place of l. In files
    they have the names that stacked cells would have.
    """

    def __init__(
        self,
        hidden_size,
        num_layers,
        layout,
        dropout,
        bidirectional,
        input_size,
        initializers,
        mode,
        dtype,
        projection_size=None,
        h2r_weight_initializer=None,
        state_clip_min=None,
        state_clip_max=None,
        state_clip_nan=False,
        use_sequence_length=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise AssertionError(f"layout is 'TNC' or 'NTC', got {layout!r}")
        self._hidden_size = hidden_size
        self._projection_size = projection_size or None
        self._num_layers = num_layers
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._initializers = dict(zip((f"{name}_initializer" for name in _PARAMETERS), initializers, strict=True))
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self.skip_states = None
        self._gates = GATES[mode]
        self._attributes = {
            "state_size": hidden_size,
            "num_layers": num_layers,
            "bidirectional": bidirectional,
            "p": dropout,
            "state_outputs": True,
            "mode": mode,
            "use_sequence_length": use_sequence_length,
        }
        if projection_size:
            self._attributes["projection_size"] = projection_size
        if state_clip_min is not None or state_clip_max is not None:
            self._attributes.update(
                lstm_state_clip_min=state_clip_min,
                lstm_state_clip_max=state_clip_max,
                lstm_state_clip_nan=state_clip_nan,
            )
        rows, recurrent, width = self._gates * hidden_size, self._projection_size or hidden_size, input_size
        for layer in range(num_layers):
            for direction in "lr"[: self._dir]:
                prefix = f"{direction}{layer}_"
                shapes = (rows, width), (rows, recurrent), (rows,), (rows,)
                for name, shape, init in zip(_PARAMETERS, shapes, initializers):
                    self._add(prefix + name, shape, init)
                if projection_size:
                    self._add(prefix + "h2r_weight", (projection_size, hidden_size), h2r_weight_initializer)
            width = recurrent * self._dir
        # The order of the operator's flat parameter: all weights, then all biases.
        self._order = [
            f"{direction}{layer}_{group}_{kind}"
            for kind in ("weight", "bias")
            for layer in range(num_layers)
            for direction in "lr"[: self._dir]
            for group in ("i2h", "h2h", "h2r")
            if group != "h2r" or (projection_size and kind == "weight")
        ]

    def _add(self, name, shape, init):
        parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=self._dtype)
        setattr(self, name, parameter)

    def _collect_params_with_prefix(self, prefix=""):
        prefix = prefix + "." if prefix else ""
        found = {}
        for name, parameter in self._reg_params.items():
            place, rest = name.split("_", 1)
            cell = f"{place[0]}_cell." if self._dir == 2 else ""
            found[f"{prefix}_unfused.{place[1:]}.{cell}{rest}"] = parameter
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def _split_rnn_vectors(self, arrays, prefix=""):
        flat = arrays.get(prefix + "rnn_param")
        if flat is None:
            return arrays
        rows, recurrent = self._gates * self._hidden_size, self._projection_size or self._hidden_size
        # The vector holds what every layer and direction has of its own, and the weights of inputs: of those of the
        # first layer, whose width is left to find out, and of what the layers above take from those below.
        own = rows * (recurrent + 2) + (self._projection_size or 0) * self._hidden_size
        between = recurrent * self._dir * rows * self._dir * (self._num_layers - 1)
        width = (flat.size - between - own * self._dir * self._num_layers) // (rows * self._dir)
        parts = split_rnn_params(
            flat, self._mode, self._num_layers, width, self._hidden_size, self._dir == 2, self._projection_size
        )
        names = {parameter: name for name, parameter in self._collect_params_with_prefix(prefix[:-1]).items()}
        rest = {name: array for name, array in arrays.items() if name != prefix + "rnn_param"}
        return rest | {names[self._reg_params[name]]: part for name, part in parts.items()}

    def state_info(self, batch_size=0):
        """Shape, layout and dtype of every state array."""
        layers = self._num_layers * self._dir
        sizes = [self._projection_size or self._hidden_size]
        if self._mode == "lstm":
            sizes.append(self._hidden_size)
        return [{"shape": (layers, batch_size, s), "__layout__": "LNC", "dtype": self._dtype} for s in sizes]

    def begin_state(self, batch_size=0, func=None, **kwargs):
        """Initial states, made by `func(shape=..., **kwargs)`; by default zeros."""
        if func is None:
            return [zeros(**{**info, **kwargs}) for info in self.state_info(batch_size)]
        return [
            func(name=f"{self.prefix}h0_{i}", **{**info, **kwargs})
            for i, info in enumerate(self.state_info(batch_size))
        ]

    def infer_shape(self, inputs, *_):
        for direction in "lr"[: self._dir]:
            getattr(self, f"{direction}0_i2h_weight").shape = (self._gates * self._hidden_size, inputs.shape[2])

    def cast(self, dtype):
        super().cast(dtype)
        self._dtype = dtype

    def __call__(self, inputs, states=None, sequence_length=None):
        return super().__call__(*self._completed(inputs, states, sequence_length))

    def plan_of(self, inputs, states=None, sequence_length=None):
        """As that of any block, with first states of zeros where none are given."""
        return super().plan_of(*self._completed(inputs, states, sequence_length))

    def _completed(self, inputs, states, sequence_length) -> tuple:
        """What a call passes on: first states are zeros where none are given, and none come back then."""
        self.skip_states = self._variant = states is None
        if states is None:
            if isinstance(inputs, nd.NDArray):
                if len(inputs.shape) != 3:
                    raise ValueError(f"inputs of layout {self._layout} have 3 axes, given shape {inputs.shape}")
                shapes = [info["shape"] for info in self.state_info(inputs.shape[self._layout.find("N")])]
                made = {shape: zeros(shape, inputs.context, inputs.dtype) for shape in dict.fromkeys(shapes)}
                states = [made[shape] for shape in shapes]  # one array where they are alike, for it is only read
            else:
                from core import symbol

                states = self.begin_state(0, func=symbol.zeros)
        elif not isinstance(states, (list, tuple)):
            states = [states]
        return (inputs, states, sequence_length) if self._use_sequence_length else (inputs, states)

    def hybrid_forward(self, F, inputs, states, sequence_length=None, **parameters):
        if isinstance(inputs, nd.NDArray):
            features = parameters["l0_i2h_weight"].shape[1]
            if features and inputs.shape[2] != features:
                raise MXNetError(f"inputs of {features} features are expected, given shape {inputs.shape}")
            wanted = [info["shape"] for info in self.state_info(inputs.shape[self._layout.find("N")])]
            if [state.shape for state in states] != wanted:
                raise ValueError(f"states of shapes {wanted} are expected, got {[s.shape for s in states]}")
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, 0, 1)
        joined = get("_rnn_param_concat")  # of arrays of np too
        flat = joined(*[F.reshape(parameters[name], shape=(-1,)) for name in self._order], dim=0)
        lengths = [sequence_length] if self._use_sequence_length else []
        outputs, *states = F.RNN(inputs, flat, *states, *lengths, **self._attributes)
        if self._layout == "NTC":
            outputs = F.swapaxes(outputs, 0, 1)
        return outputs if self.skip_states else (outputs, states)

    def _unfuse(self):
        """The same network, with the same parameters, as a stack of cells."""
        if self._projection_size or "lstm_state_clip_min" in self._attributes:
            raise AssertionError("layers with a projection or with clipped states have no stack of cells")
        make = {
            "rnn_relu": lambda **kw: rnn_cell.RNNCell(self._hidden_size, activation="relu", **kw),
            "rnn_tanh": lambda **kw: rnn_cell.RNNCell(self._hidden_size, activation="tanh", **kw),
            "lstm": lambda **kw: rnn_cell.LSTMCell(self._hidden_size, **kw),
            "gru": lambda **kw: rnn_cell.GRUCell(self._hidden_size, **kw),
        }[self._mode]
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            width = self._input_size
            for layer in range(self._num_layers):
                options = {"input_size": width, **self._initializers}
                left = make(prefix=f"l{layer}_", **options)
                if self._dir == 2:
                    left = rnn_cell.BidirectionalCell(left, make(prefix=f"r{layer}_", **options))
                stack.add(left)
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                width = self._hidden_size * self._dir
        return stack

    def __repr__(self):
        rows, inputs = self.l0_i2h_weight.shape
        parts = [f"{inputs or None} -> {rows // self._gates}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"


class RNN(_RNNLayer):
    """Elman's network with `activation` relu or tanh (Elman, 1990).

    hidden_size: number of units. num_layers: layers on top of each other. layout: "TNC" (steps, batch, features) or "NTC".
    dropout: rate between layers, in training. bidirectional: whether a second direction runs backwards, and outputs are twice as
    long. input_size is found out in the first call where it is 0.

    >>> layer = rnn.RNN(hidden_size=5, num_layers=2)
    >>> layer.initialize()
    >>> output, states = layer(nd.ones((7, 2, 3)), layer.begin_state(batch_size=2))
    >>> output.shape, states[0].shape
    ((7, 2, 5), (2, 2, 5))
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        activation="relu",
        layout="TNC",
        dropout=0,
        bidirectional=False,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        dtype="float32",
        **kwargs,
    ):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        mode = "rnn_" + activation
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, mode, dtype, **kwargs
        )


class LSTM(_RNNLayer):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); states are hidden state and cell.

    projection_size: size that hidden states are projected to (Sak et al., 2014). state_clip_min, state_clip_max: bounds
    of the cell; state_clip_nan: whether nan is clipped too.

    hidden_size: number of units. num_layers: layers on top of each other. layout: "TNC" (steps, batch, features) or "NTC".
    dropout: rate between layers, in training. bidirectional: whether a second direction runs backwards, and outputs are twice as
    long.

    >>> layer = rnn.LSTM(hidden_size=5, bidirectional=True)
    >>> layer.initialize()
    >>> output, (hidden, cell) = layer(nd.ones((7, 2, 3)), layer.begin_state(batch_size=2))
    >>> output.shape, cell.shape
    ((7, 2, 10), (2, 2, 5))
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        layout="TNC",
        dropout=0,
        bidirectional=False,
        input_size=0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        projection_size=None,
        h2r_weight_initializer=None,
        state_clip_min=None,
        state_clip_max=None,
        state_clip_nan=False,
        dtype="float32",
        **kwargs,
    ):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            "lstm",
            dtype,
            projection_size,
            h2r_weight_initializer,
            state_clip_min,
            state_clip_max,
            state_clip_nan,
            **kwargs,
        )


class GRU(_RNNLayer):
    """Gated recurrent units (Cho et al., 2014), with the reset gate applied after the recurrent product.

    hidden_size: number of units. num_layers: layers on top of each other. layout: "TNC" (steps, batch, features) or "NTC".
    dropout: rate between layers, in training. bidirectional: whether a second direction runs backwards, and outputs are twice as
    long.

    >>> layer = rnn.GRU(hidden_size=5, layout="NTC")
    >>> layer.initialize()
    >>> layer(nd.ones((2, 7, 3))).shape
    (2, 7, 5)
    """

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        layout="TNC",
        dropout=0,
        bidirectional=False,
        input_size=0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        dtype="float32",
        **kwargs,
    ):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        mode = "gru"
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, mode, dtype, **kwargs
        )
