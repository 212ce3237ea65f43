"""Language models that also give the activations that AR and TAR penalise.

Called with word numbers (length, batch) and states; give scores (length, batch, words), new states, and two
lists: outputs of the recurrent layers before and after dropout.
"""

from __future__ import annotations

from core import nd
from core.initializer import Uniform
from gluon import Block, nn, rnn

from ..weight_drop import apply_weight_drop

__all__ = ["AWDRNN", "StandardRNN"]

LAYERS = {
    "rnn_relu": lambda *args, **kwargs: rnn.RNN(*args, activation="relu", **kwargs),
    "rnn_tanh": lambda *args, **kwargs: rnn.RNN(*args, activation="tanh", **kwargs),
    "lstm": rnn.LSTM,
    "gru": rnn.GRU,
}


class _RNNLanguageModel(Block):
    """Embedding, recurrent layers, and a decoder that may share the embedding's weight."""

    def __init__(self, mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs):
        super().__init__(**kwargs)
        if mode not in LAYERS:
            raise ValueError(f"mode is one of {', '.join(LAYERS)}, got {mode!r}")
        self._mode = mode
        self._vocab_size = vocab_size
        self._embed_size = embed_size
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._dropout = dropout
        self._tie_weights = tie_weights
        with self.name_scope():
            self.embedding = self._embedding()
            self.encoder = self._encoder()
            self.decoder = nn.HybridSequential()
            with self.decoder.name_scope():
                shared = self.embedding[0].params if tie_weights else None
                self.decoder.add(nn.Dense(vocab_size, flatten=False, params=shared))

    def begin_state(self, *args, **kwargs):
        """Initial states, as those of the recurrent layers."""
        return self.encoder.begin_state(*args, **kwargs)


class StandardRNN(_RNNLanguageModel):
    """Recurrent layers with dropout between them (Zaremba, Sutskever and Vinyals, 2014).

    mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".  tie_weights: the decoder's weight is the embedding's, for
    which hidden_size is embed_size.
    """

    def __init__(self, mode, vocab_size, embed_size, hidden_size, num_layers, dropout=0.5, tie_weights=False, **kwargs):
        if tie_weights and embed_size != hidden_size:
            raise AssertionError(
                f"tied weights need embed_size and hidden_size to be equal, got {embed_size} and {hidden_size}"
            )
        super().__init__(mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs)

    def _embedding(self):
        embedding = nn.HybridSequential()
        with embedding.name_scope():
            embedding.add(nn.Embedding(self._vocab_size, self._embed_size, weight_initializer=Uniform(0.1)))
            if self._dropout:
                embedding.add(nn.Dropout(self._dropout))
        return embedding

    def _encoder(self):
        return LAYERS[self._mode](
            self._hidden_size, self._num_layers, dropout=self._dropout, input_size=self._embed_size
        )

    def forward(self, inputs, begin_state=None):
        if begin_state is None:
            begin_state = self.begin_state(batch_size=inputs.shape[1], ctx=inputs.context)
        encoded, state = self.encoder(self.embedding(inputs), begin_state)
        dropped = _drop_steps_alike(encoded, self._dropout)
        return self.decoder(dropped), state, [encoded], []


class AWDRNN(_RNNLanguageModel):
    """Recurrent layers with dropout of their recurrent weights (Merity, Keskar and Socher, 2017).

    Rates: weight_drop of hidden-to-hidden weights, drop_e of words in the embedding, drop_i of what goes in,
    drop_h between layers, dropout of what comes out.  States are a list of those of each layer.
    """

    def __init__(
        self,
        mode,
        vocab_size,
        embed_size=400,
        hidden_size=1150,
        num_layers=3,
        tie_weights=True,
        dropout=0.4,
        weight_drop=0.5,
        drop_h=0.2,
        drop_i=0.65,
        drop_e=0.1,
        **kwargs,
    ):
        self._weight_drop = weight_drop
        self._drop_h = drop_h
        self._drop_i = drop_i
        self._drop_e = drop_e
        super().__init__(mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs)

    def _embedding(self):
        embedding = nn.HybridSequential()
        with embedding.name_scope():
            words = nn.Embedding(self._vocab_size, self._embed_size, weight_initializer=Uniform(0.1))
            apply_weight_drop(words, "weight", self._drop_e, axes=(1,))
            embedding.add(words)
            if self._drop_i:
                embedding.add(nn.Dropout(self._drop_i, axes=(0,)))
        return embedding

    def _encoder(self):
        encoder = nn.Sequential()
        with encoder.name_scope():
            width = self._embed_size
            for i in range(self._num_layers):
                last = i == self._num_layers - 1
                units = self._embed_size if last and self._tie_weights else self._hidden_size
                layer = LAYERS[self._mode](units, 1, input_size=width)
                apply_weight_drop(layer, ".*h2h_weight", self._weight_drop)
                encoder.add(layer)
                width = units
        return encoder

    def begin_state(self, *args, **kwargs):
        """A list of the initial states of each layer."""
        return [layer.begin_state(*args, **kwargs) for layer in self.encoder]

    def forward(self, inputs, begin_state=None):
        if begin_state is None:
            begin_state = self.begin_state(batch_size=inputs.shape[1], ctx=inputs.context)
        encoded = self.embedding(inputs)
        states, raw, dropped = [], [], []
        for i, (layer, state) in enumerate(zip(self.encoder, begin_state, strict=True)):
            encoded, state = layer(encoded, state)
            states.append(state)
            raw.append(encoded)
            encoded = _drop_steps_alike(encoded, self._dropout if i == self._num_layers - 1 else self._drop_h)
            dropped.append(encoded)
        return self.decoder(encoded), states, raw, dropped


def _drop_steps_alike(x, rate):
    """Dropout with one mask for all steps of a sequence."""
    return nd.Dropout(x, p=rate, axes=(0,)) if rate else x
