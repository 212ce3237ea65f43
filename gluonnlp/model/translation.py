"""Neural machine translation: networks of encoder and decoder between two vocabularies, and search for translations."""

from __future__ import annotations

import warnings

from core import nd
from core.initializer import Uniform
from gluon import Block, nn

from ..base import InvalidArgument
from . import transformer
from .sequence_sampler import BeamSearchSampler, BeamSearchScorer
from .transformer import get_transformer_encoder_decoder, transformer_en_de_hparams

__all__ = ["BeamSearchTranslator", "NMTModel"]


class NMTModel(Block):
    """Embeddings of source and target words, encoder, decoder, and scores of target words.

    Called with src_seq (batch, src_length), tgt_seq (batch, tgt_length), and the valid lengths of both (batch,) or
    None; gives scores (batch, tgt_length, target words), and the lists of additional outputs of encoder and decoder.
    src_embed, tgt_embed: given, or made of width embed_size.  share_embed: one for both; tie_weights: its
    weight also scores the words.

    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens("ein Hund bellt".split()))
    >>> parts = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net = gluonnlp.model.NMTModel(vocab, vocab, *parts, embed_size=8, share_embed=True, tie_weights=True)
    >>> net.initialize()
    >>> source, target = nd.array([vocab[["ein", "Hund", "bellt"]]]), nd.array([vocab[["<bos>", "ein"]]])
    >>> scores, _ = net(source, target, nd.array([3]), nd.array([2]))
    >>> scores.shape, len(vocab)
    ((1, 2, 7), 7)
    """

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        encoder,
        decoder,
        one_step_ahead_decoder,
        embed_size=None,
        embed_dropout=0.0,
        embed_initializer=Uniform(0.1),  # noqa: B008 (an initializer has no state)
        src_embed=None,
        tgt_embed=None,
        share_embed=False,
        tie_weights=False,
        tgt_proj=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self.src_vocab = src_vocab
        self.tgt_vocab = tgt_vocab
        self.encoder = encoder
        self.decoder = decoder
        self.one_step_ahead_decoder = one_step_ahead_decoder
        if share_embed and tgt_embed is not None:
            warnings.warn("share_embed puts src_embed in the place of the given tgt_embed", stacklevel=2)

        def embedding(side, vocab):
            if embed_size is None:
                raise InvalidArgument(f"NMTModel needs embed_size, or {side}_embed")
            layers = nn.HybridSequential(prefix=side + "_embed_")
            with layers.name_scope():
                layers.add(nn.Embedding(len(vocab), embed_size, weight_initializer=embed_initializer))
                layers.add(nn.Dropout(embed_dropout or 0.0))
            return layers

        with self.name_scope():
            self.src_embed = src_embed or embedding("src", src_vocab)
            self.tgt_embed = self.src_embed if share_embed else tgt_embed or embedding("tgt", tgt_vocab)
            if tie_weights or tgt_proj is None:
                shared = self.tgt_embed[0].params if tie_weights else None
                tgt_proj = nn.Dense(len(tgt_vocab), flatten=False, params=shared, prefix="tgt_proj_")
            self.tgt_proj = tgt_proj

    def encode(self, inputs, states=None, valid_length=None):
        """What the encoder gives for words (batch, length): outputs and a list of additional ones."""
        return self.encoder(self.src_embed(inputs), states, valid_length)

    def decode_seq(self, inputs, states, valid_length=None):
        """Scores (batch, length, target words), new states and additional outputs for words (batch, length)."""
        outputs, states, additional = self.decoder(self.tgt_embed(inputs), states, valid_length)
        return self.tgt_proj(outputs), states, additional

    def decode_step(self, step_input, states):
        """Scores (batch, target words), new states and additional outputs for words (batch,)."""
        outputs, states, additional = self.one_step_ahead_decoder(self.tgt_embed(step_input), states)
        return self.tgt_proj(outputs), states, additional

    def __call__(self, src_seq, tgt_seq, src_valid_length=None, tgt_valid_length=None):
        return super().__call__(src_seq, tgt_seq, src_valid_length, tgt_valid_length)

    def forward(self, src_seq, tgt_seq, src_valid_length=None, tgt_valid_length=None):
        encoded, from_encoder = self.encode(src_seq, valid_length=src_valid_length)
        states = self.decoder.init_state_from_encoder(encoded, encoder_valid_length=src_valid_length)
        outputs, _, from_decoder = self.decode_seq(tgt_seq, states, tgt_valid_length)
        return outputs, [from_encoder, from_decoder]


class BeamSearchTranslator:
    """The best translations by an NMTModel that a beam search finds (Wu et al., 2016).

    scorer: by default BeamSearchScorer(), which favours long translations.  max_length: of a translation, in words.

    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens("ein Hund".split()))
    >>> parts = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net = gluonnlp.model.NMTModel(vocab, vocab, *parts, embed_size=8)
    >>> net.initialize()
    >>> translator = gluonnlp.model.BeamSearchTranslator(net, beam_size=2, max_length=4)
    >>> samples, scores, lengths = translator.translate(nd.array([vocab[["ein", "Hund"]]]), nd.array([2]))
    >>> samples.shape[:2], bool(scores[0, 0] >= scores[0, 1]), vocab.idx_to_token[int(samples[0, 0, 0].asscalar())]
    ((1, 2), True, '<bos>')
    """

    def __init__(self, model, beam_size=1, scorer=None, max_length=100):
        self._model = model
        vocab = model.tgt_vocab
        self._first = vocab[vocab.bos_token]
        self._sampler = BeamSearchSampler(
            beam_size=beam_size,
            decoder=self._log_probabilities,
            eos_id=vocab[vocab.eos_token],
            scorer=scorer or BeamSearchScorer(),
            max_length=max_length,
        )

    def translate(self, src_seq, src_valid_length):
        """For words (batch, length): samples (batch, beam_size, steps), scores, best first,
        and valid lengths (batch, beam_size).

        Samples are int32 and begin and end with the words that say so; -1 lies behind their end.
        """
        encoded, _ = self._model.encode(src_seq, valid_length=src_valid_length)
        states = self._model.decoder.init_state_from_encoder(encoded, src_valid_length)
        return self._sampler(nd.full((src_seq.shape[0],), self._first, ctx=src_seq.context), states)

    def _log_probabilities(self, step_input, states):
        outputs, states, _ = self._model.decode_step(step_input, states)
        return nd.log_softmax(outputs), states


# The networks that have names: class and settings.
CONFIGURATIONS = {"transformer_en_de_512": (NMTModel, transformer_en_de_hparams)}
ALSO_IN = (transformer,)  # where GluonNLP has them
VOCABULARIES = {"src_vocab": "_src", "tgt_vocab": "_tgt"}
FREE = {"num_units", "hidden_size", "dropout", "epsilon", "num_layers", "num_heads", "scaled"}


def build(name, src_vocab, tgt_vocab, settings):
    """The network called `name` between two vocabularies."""
    settings = dict(settings)
    settings.pop("epsilon")  # of the smoothed labels: a setting of training
    units = settings.pop("num_units")
    of_transformer = {k: settings.pop(k) for k in ("hidden_size", "dropout", "num_layers", "num_heads", "scaled")}
    lengths = {k: settings.pop(k, longest) for k, longest in (("max_src_length", 530), ("max_tgt_length", 549))}
    parts = get_transformer_encoder_decoder(units=units, **of_transformer, **lengths)
    return CONFIGURATIONS[name][0](src_vocab, tgt_vocab, *parts, prefix="transformer_", **settings)
