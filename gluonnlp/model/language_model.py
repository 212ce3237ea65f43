"""Language models: word numbers (length, batch) and states to scores (length, batch, words) and new states."""

from __future__ import annotations

import functools

from core.initializer import Uniform
from gluon import nn

from . import train

__all__ = ["AWDRNN", "BigRNN", "StandardRNN"]


class AWDRNN(train.AWDRNN):
    """Recurrent layers with dropout of their recurrent weights (Merity, Keskar and Socher, 2017).

    Rates: weight_drop of hidden-to-hidden weights, drop_e of words in the embedding, drop_i of what goes in,
    drop_h between layers, dropout of what comes out.  States are a list of those of each layer.

    >>> net = gluonnlp.model.AWDRNN("lstm", 10, 4, 5, 1)
    >>> net.initialize()
    >>> output, states = net(nd.zeros((3, 2)), net.begin_state(batch_size=2))
    >>> output.shape
    (3, 2, 10)
    """

    def hybrid_forward(self, F, inputs, begin_state=None):
        return self.run(F, inputs, begin_state)[:2]


class StandardRNN(train.StandardRNN):
    """Recurrent layers with dropout between them (Zaremba, Sutskever and Vinyals, 2014).

    mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".  tie_weights: the decoder's weight is the embedding's, for
    which hidden_size is embed_size.

    >>> net = gluonnlp.model.StandardRNN("lstm", 10, 4, 5, 1)
    >>> net.initialize()
    >>> output, states = net(nd.zeros((3, 2)), net.begin_state(batch_size=2))
    >>> output.shape
    (3, 2, 10)
    """

    def hybrid_forward(self, F, inputs, begin_state=None):
        return self.run(F, inputs, begin_state)[:2]


class BigRNN(train.language_model.ProjectedRNN):
    """LSTM layers with projected states, for large vocabularies (Jozefowicz et al., 2016).

    embed_dropout, encode_dropout: rates behind the embedding and behind each layer.

    >>> net = gluonnlp.model.BigRNN(10, 4, 5, 1, 4, 3)
    >>> len(net.collect_params())
    8
    """

    def __init__(
        self,
        vocab_size,
        embed_size,
        hidden_size,
        num_layers,
        projection_size,
        embed_dropout=0.0,
        encode_dropout=0.0,
        **kwargs,
    ):
        embedding = functools.partial(nn.Embedding, vocab_size, embed_size, weight_initializer=Uniform(0.1))
        dropouts = embed_dropout, encode_dropout
        super().__init__(embedding, embed_size, hidden_size, num_layers, projection_size, dropouts, **kwargs)
        with self.name_scope():
            self.decoder = nn.Dense(vocab_size, flatten=False, in_units=projection_size, prefix="decoder0_")

    def forward(self, inputs, begin_state):
        encoded, states = self.encode(inputs, begin_state)
        return self.decoder(encoded), states


_AWD = {
    "mode": "lstm",
    "num_layers": 3,
    "tie_weights": True,
    "dropout": 0.4,
    "drop_h": 0.2,
    "drop_i": 0.65,
    "drop_e": 0.1,
}
_STANDARD = {"mode": "lstm", "num_layers": 2, "tie_weights": True}
_BIG = {"num_layers": 1, "embed_dropout": 0.1, "encode_dropout": 0.1}

awd_lstm_lm_hparams = {
    "awd_lstm_lm_1150": {**_AWD, "embed_size": 400, "hidden_size": 1150, "weight_drop": 0.5},
    "awd_lstm_lm_600": {**_AWD, "embed_size": 200, "hidden_size": 600, "weight_drop": 0.2},
}
standard_lstm_lm_hparams = {
    "standard_lstm_lm_200": {**_STANDARD, "embed_size": 200, "hidden_size": 200, "dropout": 0.2},
    "standard_lstm_lm_650": {**_STANDARD, "embed_size": 650, "hidden_size": 650, "dropout": 0.5},
    "standard_lstm_lm_1500": {**_STANDARD, "embed_size": 1500, "hidden_size": 1500, "dropout": 0.65},
}
big_rnn_lm_hparams = {
    "big_rnn_lm_2048_512": {**_BIG, "embed_size": 512, "hidden_size": 2048, "projection_size": 512},
}

# The networks that have names: class and settings.
CONFIGURATIONS = {
    **{name: (AWDRNN, settings) for name, settings in awd_lstm_lm_hparams.items()},
    **{name: (StandardRNN, settings) for name, settings in standard_lstm_lm_hparams.items()},
    **{name: (BigRNN, settings) for name, settings in big_rnn_lm_hparams.items()},
}
VOCABULARIES = {"vocab": ""}
FREE = {"dropout", "weight_drop", "drop_h", "drop_i", "drop_e", "embed_dropout", "encode_dropout"}


def build(name, vocab, settings):
    """The network called `name` for the words of `vocab`."""
    return CONFIGURATIONS[name][0](vocab_size=len(vocab), **settings)
