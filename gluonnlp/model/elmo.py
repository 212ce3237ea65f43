"""ELMo: words by their characters, read by a bidirectional language model (Peters et al., 2018)."""

from __future__ import annotations

from gluon import HybridBlock, nn

from ..initializer import HighwayBias
from ..vocab import ELMoCharVocab
from .bilm_encoder import BiLMEncoder
from .convolutional_encoder import ConvolutionalEncoder

__all__ = ["ELMoBiLM", "ELMoCharacterEncoder"]


class ELMoBiLM(HybridBlock):
    """Called with characters (batch, length, max_chars_per_token), states as `begin_state` gives them, or None, and
    mask (batch, length) of 1 for what counts, or None.

    Gives a list of num_layers + 1 arrays (batch, length, 2 * output_size), of which the first one holds the words by
    themselves, twice; and new states.  filters: pairs of width and number of the convolutions over characters.
    rnn_type, input_size and what follows: as BiLMEncoder has them.

    >>> net = gluonnlp.model.ELMoBiLM("lstmpc", output_size=4, filters=[[1, 3], [2, 3]], char_embed_size=2, char_vocab_size=262, num_highway=1, conv_layer_activation="relu", max_chars_per_token=50, input_size=4, hidden_size=5, proj_size=4, num_layers=2, cell_clip=3, proj_clip=3)
    >>> net.initialize()
    >>> characters = nd.array([gluonnlp.vocab.ELMoCharVocab()[["Hello", "world"]]])
    >>> layers, states = net(characters, net.begin_state(mx.nd.zeros, batch_size=1), nd.ones((1, 2)))
    >>> characters.shape, [layer.shape for layer in layers]
    ((1, 2, 50), [(1, 2, 8), (1, 2, 8), (1, 2, 8)])
    """

    def __init__(
        self,
        rnn_type,
        output_size,
        filters,
        char_embed_size,
        char_vocab_size,
        num_highway,
        conv_layer_activation,
        max_chars_per_token,
        input_size,
        hidden_size,
        proj_size,
        num_layers,
        cell_clip,
        proj_clip,
        skip_connection=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._num_layers = num_layers
        with self.name_scope():
            self._elmo_char_encoder = ELMoCharacterEncoder(
                output_size,
                filters,
                char_embed_size,
                num_highway,
                conv_layer_activation,
                max_chars_per_token,
                char_vocab_size,
            )
            self._elmo_lstm = BiLMEncoder(
                rnn_type,
                num_layers,
                input_size,
                hidden_size,
                skip_connection=skip_connection,
                proj_size=proj_size,
                cell_clip=cell_clip,
                proj_clip=proj_clip,
            )

    def begin_state(self, func=None, **kwargs):
        """Initial states: two lists, for both directions, of those of each layer."""
        return self._elmo_lstm.begin_state(func, **kwargs)

    def __call__(self, inputs, states=None, mask=None):
        return super().__call__(inputs, states, mask)

    def hybrid_forward(self, F, inputs, states=None, mask=None):
        words = self._elmo_char_encoder(inputs)
        layers, states = self._elmo_lstm(F.transpose(words, axes=(1, 0, 2)), states, mask)
        layers = F.transpose(layers, axes=(0, 2, 1, 3))
        alone = F.concat(words, words, dim=-1)
        if mask is not None:
            alone = F.broadcast_mul(alone, F.expand_dims(mask, axis=-1))
        # The squeezed slices, rather than a split: one layer would come without a list.
        read = [F.squeeze(F.slice_axis(layers, axis=0, begin=i, end=i + 1), axis=0) for i in range(self._num_layers)]
        return [alone, *read], states


class ELMoCharacterEncoder(HybridBlock):
    """Characters (batch, length, max_chars_per_token) to words (batch, length, output_size), one by one.

    filters: pairs of width and number of the convolutions, whose maxima go through num_highway highway layers.

    >>> encoder = gluonnlp.model.ELMoCharacterEncoder(output_size=4, filters=[[1, 3], [2, 3]], char_embed_size=2, num_highway=1, conv_layer_activation="relu", max_chars_per_token=6, char_vocab_size=262)
    >>> encoder.initialize()
    >>> words = encoder(nd.array([[[1, 2, 3, 0, 0, 0], [4, 5, 0, 0, 0, 0]]]))  # two words of a sentence
    >>> words.shape
    (1, 2, 4)
    """

    def __init__(
        self,
        output_size,
        filters,
        char_embed_size,
        num_highway,
        conv_layer_activation,
        max_chars_per_token,
        char_vocab_size,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._max_chars_per_token = max_chars_per_token
        widths, numbers = zip(*filters, strict=True)
        with self.name_scope():
            self._char_embedding = nn.Embedding(char_vocab_size, char_embed_size)
            self._convolutions = ConvolutionalEncoder(
                embed_size=char_embed_size,
                num_filters=numbers,
                ngram_filter_sizes=widths,
                conv_layer_activation=conv_layer_activation,
                num_highway=num_highway,
                highway_bias=HighwayBias(nonlinear_transform_bias=0.0, transform_gate_bias=1.0),
                output_size=output_size,
            )

    def hybrid_forward(self, F, inputs):
        characters = self._char_embedding(F.reshape(inputs, shape=(-1, self._max_chars_per_token)))
        words = self._convolutions(F.transpose(characters, axes=(1, 0, 2)))
        return F.reshape_like(words, inputs, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)


_ELMO = {
    "rnn_type": "lstmpc",
    "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    "char_embed_size": 16,
    "num_highway": 1,
    "conv_layer_activation": "relu",
    "max_chars_per_token": 50,
    "num_layers": 2,
    "cell_clip": 3,
    "proj_clip": 3,
    "skip_connection": True,
}


def _sizes(hidden_size, width, num_highway=1):
    return {
        **_ELMO,
        "hidden_size": hidden_size,
        "output_size": width,
        "input_size": width,
        "proj_size": width,
        "num_highway": num_highway,
    }


# The networks that have names: class and settings.
CONFIGURATIONS = {
    "elmo_2x1024_128_2048cnn_1xhighway": (ELMoBiLM, _sizes(1024, 128)),
    "elmo_2x2048_256_2048cnn_1xhighway": (ELMoBiLM, _sizes(2048, 256)),
    "elmo_2x4096_512_2048cnn_2xhighway": (ELMoBiLM, _sizes(4096, 512, num_highway=2)),
}
VOCABULARIES = {"vocab": None}
FREE = set()


def own_vocabulary():
    """Characters are bytes, for all texts."""
    return ELMoCharVocab()


def build(name, vocab, settings):
    """The network called `name` for the characters of `vocab`."""
    return CONFIGURATIONS[name][0](**{"char_vocab_size": len(vocab), **settings})
