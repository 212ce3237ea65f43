"""The recurrent layers of a bidirectional language model (Peters et al., 2018)."""

from __future__ import annotations

from gluon import HybridBlock, rnn

from ..base import InvalidArgument
from .lstmpcellwithclip import LSTMPCellWithClip

__all__ = ["BiLMEncoder"]

CELLS = {
    "rnn_relu": lambda *args, **kwargs: rnn.RNNCell(*args, activation="relu", **kwargs),
    "rnn_tanh": lambda *args, **kwargs: rnn.RNNCell(*args, activation="tanh", **kwargs),
    "lstm": rnn.LSTMCell,
    "gru": rnn.GRUCell,
    "lstmpc": LSTMPCellWithClip,
}


class BiLMEncoder(HybridBlock):
    """Layers that read forwards, and as many that read backwards, each layer the outputs of the one below it.

    Called with inputs (length, batch, input_size), states as `begin_state` gives them, or None, and mask
    (batch, length) of 1 for what counts, or None; gives (num_layers, length, batch, 2 * width) and new states.
    mode: "rnn_relu", "rnn_tanh", "lstm", "gru" or "lstmpc", which takes proj_size, cell_clip and proj_clip.
    dropout: rate between layers.  skip_connection: layers but the first add their inputs to their outputs.

    >>> encoder = gluonnlp.model.BiLMEncoder("lstm", num_layers=2, input_size=4, hidden_size=4)
    >>> encoder.initialize()
    >>> outputs, states = encoder(nd.ones((3, 1, 4)), None, None)
    >>> outputs.shape  # of each layer, both directions side by side
    (2, 3, 1, 8)
    """

    def __init__(
        self,
        mode,
        num_layers,
        input_size,
        hidden_size,
        dropout=0.0,
        skip_connection=True,
        proj_size=None,
        cell_clip=None,
        proj_clip=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if mode not in CELLS:
            raise ValueError(f"mode is one of {', '.join(CELLS)}, got {mode!r}")
        projection = {"proj_size": proj_size, "cell_clip": cell_clip, "proj_clip": proj_clip}
        given = [name for name, value in projection.items() if value is not None]
        if mode != "lstmpc" and given:
            raise InvalidArgument(f"{', '.join(given)} belong to mode 'lstmpc', got mode {mode!r}")
        self._num_layers = num_layers

        def layers():
            stack = rnn.HybridSequentialRNNCell()
            with stack.name_scope():
                for i in range(num_layers):
                    width = (proj_size or hidden_size) if i else input_size
                    layer = rnn.HybridSequentialRNNCell()
                    with layer.name_scope():
                        if mode == "lstmpc":
                            cell = LSTMPCellWithClip(
                                hidden_size,
                                proj_size,
                                input_size=width,
                                cell_clip=cell_clip,
                                projection_clip=proj_clip,
                            )
                        else:
                            cell = CELLS[mode](hidden_size, input_size=width)
                        layer.add(rnn.ResidualCell(cell) if i and skip_connection else cell)
                        if dropout and i < num_layers - 1:
                            layer.add(rnn.DropoutCell(dropout))
                    stack.add(layer)
            return stack

        with self.name_scope():
            self.forward_layers = layers()
            self.backward_layers = layers()

    def begin_state(self, func=None, **kwargs):
        """Initial states: two lists, for both directions, of those of each layer."""
        options = kwargs if func is None else {"func": func, **kwargs}
        return tuple(
            [layers[0].begin_state(**options) for _ in range(self._num_layers)]
            for layers in (self.forward_layers, self.backward_layers)
        )

    def __call__(self, inputs, states=None, mask=None):
        return super().__call__(inputs, states, mask)

    def hybrid_forward(self, F, inputs, states=None, mask=None):
        if states is None:
            states = self.begin_state(batch_size=inputs.shape[1], func=F.zeros)
        lengths = [] if mask is None else [F.sum(mask, axis=1)]

        def turned(x):
            return F.SequenceReverse(x, *lengths, use_sequence_length=bool(lengths), axis=0)

        outputs, new_states = [], []
        for layers, before, backwards in (
            (self.forward_layers, states[0], False),
            (self.backward_layers, states[1], True),
        ):
            x, read, after = inputs, [], []
            for i in range(self._num_layers):
                x, state = F.contrib.foreach(layers[i], turned(x) if backwards else x, before[i])
                x = turned(x) if backwards else x
                read.append(x)
                after.append(state)
            outputs.append(F.stack(*read, axis=0))
            new_states.append(after)
        return F.concat(*outputs, dim=-1), new_states
