"""BERT (Devlin et al., 2019) and its relatives RoBERTa (Liu et al., 2019) and DistilBERT (Sanh et al., 2019)."""

from __future__ import annotations

import inspect
import warnings
from functools import partial

from core.initializer import Normal
from gluon import HybridBlock, nn

from ..base import InvalidArgument
from ..vocab import BERTVocab, Vocab
from .attention_cell import add_projections, check_heads, fused_attention
from .block import GELU, stacked
from .seq2seq_encoder_decoder import Seq2SeqEncoder
from .transformer import AttentionLayer

__all__ = [
    "BERTClassifier",
    "BERTEncoder",
    "BERTEncoderCell",
    "BERTModel",
    "DistilBERTModel",
    "DotProductSelfAttentionCell",
    "RoBERTaClassifier",
    "RoBERTaModel",
]


class BERTModel(HybridBlock):
    """An encoder with embeddings below it, and up to three heads.

    Called with inputs and token_types (batch, length), valid_length (batch,) or None, and
    masked_positions (batch, positions) where there is a decoder.  embed_dropout: of the embeddings, each before they are
    added.  Gives, as far as they are switched on:
    sequence outputs (batch, length, units); attention weights of each layer where the encoder gives them;
    pooled (batch, units), the first position's; next-sentence scores (batch, 2); and scores of words at
    the masked positions (batch, positions, vocab_size), of all positions where there are none.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> net = gluonnlp.model.BERTModel(encoder, vocab_size=10, token_type_vocab_size=2, units=4, embed_size=4, use_decoder=False)
    >>> net.initialize()
    >>> words, pooled, scores = net(nd.zeros((1, 3)), nd.zeros((1, 3)), nd.array([3]))
    >>> words.shape, pooled.shape, scores.shape
    ((1, 3, 4), (1, 4), (1, 2))
    """

    def __init__(
        self,
        encoder,
        vocab_size=None,
        token_type_vocab_size=None,
        units=None,
        embed_size=None,
        embed_initializer=None,
        word_embed=None,
        token_type_embed=None,
        use_pooler=True,
        use_decoder=True,
        use_classifier=True,
        use_token_type_embed=True,
        embed_dropout=0.0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if use_classifier and not use_pooler:
            raise InvalidArgument("use_classifier needs use_pooler: the classifier reads what is pooled")
        with self.name_scope():
            self.encoder = encoder
            embedding = {"width": embed_size, "initializer": embed_initializer, "dropout": embed_dropout}
            self.word_embed = word_embed or _embedding(vocab_size, prefix="word_embed_", **embedding)
            self.token_type_embed = None
            if use_token_type_embed:
                self.token_type_embed = token_type_embed or _embedding(
                    token_type_vocab_size, prefix="token_type_embed_", **embedding
                )
            self.pooler = None
            if use_pooler:
                self.pooler = nn.Dense(units, activation="tanh", in_units=units, flatten=False, prefix="pooler_")
            self.classifier = nn.Dense(2, in_units=units, flatten=False, prefix="cls_") if use_classifier else None
            self.decoder = None
            if use_decoder:
                self.decoder = nn.HybridSequential()
                self.decoder.add(nn.Dense(units, in_units=units, flatten=False))
                self.decoder.add(GELU())
                self.decoder.add(nn.LayerNorm(in_channels=units, epsilon=encoder._layer_norm_eps))
                words = self.word_embed[0]
                self.decoder.add(nn.Dense(vocab_size, in_units=units, flatten=False, params=words.params))

    def __call__(self, inputs, token_types=None, valid_length=None, masked_positions=None):
        return super().__call__(inputs, token_types, valid_length, masked_positions)

    def hybrid_forward(self, F, inputs, token_types=None, valid_length=None, masked_positions=None):
        embedded = self.word_embed(inputs)
        if self.token_type_embed is not None:
            embedded = embedded + self.token_type_embed(token_types)
        sequence, attention = self.encoder(F.transpose(embedded, axes=(1, 0, 2)), None, valid_length)
        if isinstance(sequence, list):
            sequence = [F.transpose(layer, axes=(1, 0, 2)) for layer in sequence]
        else:
            sequence = F.transpose(sequence, axes=(1, 0, 2))
        outputs = [sequence]
        if attention:
            outputs.append(attention)
        last = sequence[-1] if isinstance(sequence, list) else sequence
        if self.pooler is not None:
            pooled = self.pooler(F.reshape(F.slice_axis(last, axis=1, begin=0, end=1), shape=(0, -1)))
            outputs.append(pooled)
            if self.classifier is not None:
                outputs.append(self.classifier(pooled))
        if self.decoder is not None:
            outputs.append(self.decoder(last if masked_positions is None else _at(F, last, masked_positions)))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class RoBERTaModel(BERTModel):
    """BERT without token types and pooler: called with inputs, valid_length and masked_positions.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> net = gluonnlp.model.RoBERTaModel(encoder, vocab_size=10, units=4, embed_size=4, use_decoder=False)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.array([3])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        encoder,
        vocab_size=None,
        units=None,
        embed_size=None,
        embed_initializer=None,
        word_embed=None,
        use_decoder=True,
        embed_dropout=0.0,
        prefix=None,
        params=None,
    ):
        super().__init__(
            encoder,
            vocab_size=vocab_size,
            units=units,
            embed_size=embed_size,
            embed_initializer=embed_initializer,
            word_embed=word_embed,
            use_decoder=use_decoder,
            use_pooler=False,
            use_classifier=False,
            use_token_type_embed=False,
            embed_dropout=embed_dropout,
            prefix=prefix,
            params=params,
        )

    def __call__(self, inputs, valid_length=None, masked_positions=None):
        return super().__call__(inputs, None, valid_length, masked_positions)


class DistilBERTModel(RoBERTaModel):
    """A small encoder taught by BERT: called with inputs and valid_length.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> net = gluonnlp.model.DistilBERTModel(encoder, vocab_size=10, units=4, embed_size=4)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.array([3])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        encoder,
        vocab_size=None,
        units=None,
        embed_size=None,
        embed_initializer=None,
        word_embed=None,
        embed_dropout=0.0,
        prefix=None,
        params=None,
    ):
        embedding = embed_size, embed_initializer, word_embed
        super().__init__(encoder, vocab_size, units, *embedding, False, embed_dropout, prefix, params)


class BERTEncoder(HybridBlock, Seq2SeqEncoder):
    """Sequences (length, batch, units) with learned positions, read by `num_layers` cells.

    Called with inputs, None (for states) and valid_length (batch,) or None.  Gives outputs, or a list of those of all
    layers (output_all_encodings), 0 behind the valid lengths, and a list of lists of attention weights
    (batch, heads, length, length), empty without output_attention.  use_residual: whether attention and position-wise
    networks add what they read to what they give.

    >>> net = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> net.initialize()
    >>> output, states = net(nd.ones((3, 1, 4)), None, nd.array([3]))
    >>> output.shape
    (3, 1, 4)
    """

    def __init__(
        self,
        *,
        num_layers=2,
        units=512,
        hidden_size=2048,
        max_length=50,
        num_heads=4,
        dropout=0.0,
        output_attention=False,
        output_all_encodings=False,
        activation="gelu",
        layer_norm_eps=1e-12,
        weight_initializer=None,
        bias_initializer="zeros",
        use_residual=True,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._units = units
        self._max_length = max_length
        self._layer_norm_eps = layer_norm_eps
        self._output_attention = output_attention
        self._output_all_encodings = output_all_encodings
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=layer_norm_eps)
            self.position_weight = self.params.get(
                "position_weight", shape=(max_length, units), init=weight_initializer or Normal(0.02)
            )
            cell = partial(
                BERTEncoderCell,
                units=units,
                hidden_size=hidden_size,
                num_heads=num_heads,
                dropout=dropout,
                output_attention=output_attention,
                activation=activation,
                layer_norm_eps=layer_norm_eps,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                use_residual=use_residual,
            )
            self.transformer_cells = stacked(num_layers, cell)

    def __call__(self, inputs, states=None, valid_length=None):
        if states is not None:
            raise ValueError("the encoder keeps no states and takes None for them: masks come from valid_length")
        return super().__call__(inputs, valid_length)

    def hybrid_forward(self, F, inputs, valid_length=None, position_weight=None):
        steps = F.contrib.arange_like(inputs, axis=0)
        positions = F.Embedding(steps, position_weight, input_dim=self._max_length, output_dim=self._units)
        x = F.broadcast_add(inputs, F.expand_dims(positions, axis=1))
        x = self.layer_norm(self.dropout_layer(x))
        if self._output_attention and valid_length is not None:
            # Cells are told for each query how many keys count.
            lengths = F.broadcast_add(F.expand_dims(valid_length, axis=1), F.expand_dims(F.zeros_like(steps), axis=0))
            lengths = F.cast(lengths, dtype="int32")
        encodings, attention = [], []
        for cell in self.transformer_cells:
            if self._output_attention:
                x, weights = cell(x, None if valid_length is None else lengths)
            else:
                x, _ = cell(x, None, valid_length)
            encodings.append(x)
            if self._output_attention:
                attention.append([weights])
        if not self._output_all_encodings:
            encodings = [x]
        if valid_length is not None:
            encodings = [F.SequenceMask(e, sequence_length=valid_length, use_sequence_length=True) for e in encodings]
        return encodings if self._output_all_encodings else encodings[0], attention


class BERTEncoderCell(AttentionLayer):
    """Self-attention and a position-wise network, each with residual and layer normalization.

    Called with inputs (length, batch, units) and valid_len (batch, length), how many keys count for each query, or
    None; gives outputs and attention weights (batch, heads, length, length).  Without output_attention, and where
    key_length (batch,), how many keys count for every query, may stand in place of valid_len, the attention is
    the fused operator's, and None is given for the weights.

    >>> net = gluonnlp.model.BERTEncoderCell(units=4, hidden_size=8, num_heads=2)
    >>> net.initialize()
    >>> output, states = net(nd.ones((1, 3, 4)))
    >>> output.shape
    (1, 3, 4)
    """

    def __init__(
        self,
        units=128,
        hidden_size=512,
        num_heads=4,
        dropout=0.0,
        output_attention=False,
        attention_use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
        activation="gelu",
        layer_norm_eps=1e-5,
        use_residual=True,
    ):
        super().__init__(prefix=prefix, params=params)
        self._output_attention = output_attention
        options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.attention_cell = DotProductSelfAttentionCell(units, num_heads, dropout, attention_use_bias, **options)
            network = {"hidden_size": hidden_size, "dropout": dropout, "activation": activation}
            self._add_network(units, {"in_units": units}, use_residual, layer_norm_eps, network, options)

    def __call__(self, inputs, valid_len=None, key_length=None):
        return super().__call__(inputs, valid_len, key_length)

    def hybrid_forward(self, F, inputs, valid_len=None, key_length=None):
        if self._output_attention or valid_len is not None:
            read, weights = self.attention_cell(inputs, valid_len)
        else:
            read, weights = self.attention_cell.attend(F, inputs, key_length), None
        return self._network(read, inputs), weights


class DotProductSelfAttentionCell(HybridBlock):
    """Scaled self-attention of several heads (Vaswani et al., 2017).

    Called with qkv (length, batch, units) and valid_len (batch, length), how many keys count for each
    query, or None; gives the same shape, and weights (batch, heads, length, length).

    >>> cell = gluonnlp.model.DotProductSelfAttentionCell(units=4, num_heads=2)
    >>> cell.initialize()
    >>> words = nd.random.normal(shape=(3, 1, 4))  # three words of one sentence
    >>> read, weights = cell(words, nd.array([[2, 2, 2]], dtype="int32"))  # of which two count
    >>> read.shape, weights.shape, float(weights[0, 0, :, 2].sum().asscalar())
    ((3, 1, 4), (1, 2, 3, 3), 0.0)
    """

    def __init__(
        self,
        units,
        num_heads,
        dropout=0.0,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        check_heads(units, num_heads)
        self._num_heads = num_heads
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
            widths = dict.fromkeys(("query", "key", "value"), units)
            add_projections(self, widths, in_units=units, use_bias=use_bias, **options)
        projections = self.proj_query, self.proj_key, self.proj_value
        for kind in ("bias", "weight"):  # in GluonNLP's order, which files of trainers' states have
            found = [getattr(projection, kind) for projection in projections]
            self.params.update({parameter.name: parameter for parameter in found if parameter is not None})

    def __call__(self, qkv, valid_len=None):
        return super().__call__(qkv, valid_len)

    def hybrid_forward(self, F, qkv, valid_len=None):
        query = F.contrib.div_sqrt_dim(self._heads(F, self.proj_query(qkv)))
        key, value = self._heads(F, self.proj_key(qkv)), self._heads(F, self.proj_value(qkv))
        scores = F.batch_dot(query, key, transpose_b=True)
        if valid_len is None:
            weights = F.softmax(scores, axis=-1)
        else:
            lengths = F.broadcast_axis(F.expand_dims(valid_len, axis=1), axis=1, size=self._num_heads)
            lengths = F.reshape(lengths, shape=(-1, 0), reverse=True)
            weights = F.softmax(scores, lengths, axis=-1, use_length=True)
        weights = self.dropout_layer(weights)
        read = F.reshape(F.batch_dot(weights, value), shape=(-1, self._num_heads, 0, 0), reverse=True)
        read = F.reshape(F.transpose(read, axes=(2, 0, 1, 3)), shape=(0, 0, -1))
        return read, F.reshape(weights, shape=(-1, self._num_heads, 0, 0), reverse=True)

    def attend(self, F, qkv, length=None):
        """What a call gives first, by the operator that keeps no weights; length: (batch,), how many keys count."""
        parts = [
            F.transpose(F.reshape(projection(qkv), shape=(0, 0, self._num_heads, -1)), axes=(1, 2, 0, 3))
            for projection in (self.proj_query, self.proj_key, self.proj_value)
        ]
        read = fused_attention(F, *parts, length, dropout=self.dropout_layer._rate)
        return F.reshape(F.transpose(read, axes=(2, 0, 1, 3)), shape=(0, 0, -1))

    def _heads(self, F, x):
        """(length, batch, heads * width) as (batch * heads, length, width)."""
        x = F.transpose(F.reshape(x, shape=(0, 0, self._num_heads, -1)), axes=(1, 2, 0, 3))
        return F.reshape(x, shape=(-1, 0, 0), reverse=True)


class BERTClassifier(HybridBlock):
    """Scores (batch, num_classes) of texts or pairs, from a BERT with a pooler and no other head.

    Called with inputs, token_types and valid_length.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> bert = gluonnlp.model.BERTModel(encoder, vocab_size=10, token_type_vocab_size=2, units=4, embed_size=4, use_decoder=False, use_classifier=False)
    >>> net = gluonnlp.model.BERTClassifier(bert, num_classes=3)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.zeros((1, 3)), nd.array([3])).shape
    (1, 3)
    """

    def __init__(self, bert, num_classes=2, dropout=0.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.bert = bert
        with self.name_scope():
            self.classifier = nn.HybridSequential()
            # Names of published parameters count the layers that are there.
            if dropout:
                self.classifier.add(nn.Dropout(dropout))
            self.classifier.add(nn.Dense(num_classes))

    def __call__(self, inputs, token_types=None, valid_length=None):
        return super().__call__(inputs, token_types, valid_length)

    def hybrid_forward(self, F, inputs, token_types=None, valid_length=None):
        return self.classifier(self.bert(inputs, token_types, valid_length)[1])


class RoBERTaClassifier(HybridBlock):
    """Scores (batch, num_classes) from a RoBERTa without decoder: called with inputs and valid_length.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> bert = gluonnlp.model.RoBERTaModel(encoder, vocab_size=10, units=4, embed_size=4, use_decoder=False)
    >>> net = gluonnlp.model.RoBERTaClassifier(bert, num_classes=3)
    >>> len(net.collect_params()) > 10
    True
    """

    def __init__(self, roberta, num_classes=2, dropout=0.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.roberta = roberta
        units = roberta.encoder._units
        with self.name_scope():
            self.classifier = nn.HybridSequential()
            for layer in (nn.Dense(units, activation="tanh"), nn.Dense(num_classes)):
                if dropout:
                    self.classifier.add(nn.Dropout(dropout))
                self.classifier.add(layer)

    def __call__(self, inputs, valid_length=None):
        return super().__call__(inputs, valid_length)

    def hybrid_forward(self, F, inputs, valid_length=None):
        first = F.slice_axis(self.roberta(inputs, valid_length), axis=1, begin=0, end=1)
        return self.classifier(F.reshape(first, shape=(0, -1)))


def _embedding(size, width, initializer, dropout, prefix):
    embedding = nn.HybridSequential(prefix=prefix)
    with embedding.name_scope():
        embedding.add(nn.Embedding(size, width, weight_initializer=initializer))
        if dropout:
            embedding.add(nn.Dropout(dropout))
    return embedding


def _at(F, sequence, positions):
    """What (batch, length, units) holds at positions (batch, places)."""
    positions = F.cast(positions, dtype="float32")
    rows = F.expand_dims(F.contrib.arange_like(positions, axis=0), axis=1)
    rows = F.broadcast_add(rows, F.zeros_like(positions))
    places = F.stack(F.reshape(rows, shape=(-1,)), F.reshape(positions, shape=(-1,)), axis=0)
    return F.reshape_like(F.gather_nd(sequence, places), positions, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)


_BASE = {
    "num_layers": 12,
    "units": 768,
    "hidden_size": 3072,
    "max_length": 512,
    "num_heads": 12,
    "dropout": 0.1,
    "embed_size": 768,
}
_LARGE = {**_BASE, "num_layers": 24, "units": 1024, "hidden_size": 4096, "num_heads": 16, "embed_size": 1024}
_TYPES = {"token_type_vocab_size": 2}
_ROBERTA = {"layer_norm_eps": 1e-5}

# The networks that have names: class and settings of encoder and network.
CONFIGURATIONS = {
    "bert_12_768_12": (BERTModel, {**_BASE, **_TYPES}),
    "bert_24_1024_16": (BERTModel, {**_LARGE, **_TYPES}),
    "ernie_12_768_12": (
        BERTModel,
        {**_BASE, **_TYPES, "max_length": 513, "activation": "relu", "layer_norm_eps": 1e-5},
    ),
    "roberta_12_768_12": (RoBERTaModel, {**_BASE, **_ROBERTA}),
    "roberta_24_1024_16": (RoBERTaModel, {**_LARGE, **_ROBERTA}),
    "distilbert_6_768_12": (DistilBERTModel, {**_BASE, **_ROBERTA, "num_layers": 6}),
}

bert_hparams = {name: settings for name, (_, settings) in CONFIGURATIONS.items()}
VOCABULARIES = {"vocab": ""}
VOCABULARY_CLASSES = {
    name: Vocab if class_ is RoBERTaModel else BERTVocab for name, (class_, _) in CONFIGURATIONS.items()
}
FREE = {"dropout", "word_embed", "use_residual"}
DATASETS = {"distilbert_6_768_12": "distilbert_book_corpus_wiki_en_uncased"}
PRETRAINED = True

_OF_ENCODER = {
    "num_layers",
    "hidden_size",
    "max_length",
    "num_heads",
    "dropout",
    "output_attention",
    "output_all_encodings",
    "activation",
    "layer_norm_eps",
    "use_residual",
}


def build(name, vocab, settings):
    """The network called `name` for the words of `vocab`.

    As in GluonNLP, programs call all networks of this module alike: settings that this one does not have are left out,
    with a warning unless they switch off what it lacks.
    """
    class_ = CONFIGURATIONS[name][0]
    encoder = BERTEncoder(units=settings["units"], **{k: v for k, v in settings.items() if k in _OF_ENCODER})
    rest = {k: v for k, v in settings.items() if k not in _OF_ENCODER}
    known = inspect.signature(class_).parameters
    foreign = [k for k, v in rest.items() if k not in known and v not in (False, None)]
    if foreign:
        warnings.warn(f"{name} has no {', '.join(foreign)}, which is passed over", stacklevel=4)
    return class_(encoder, vocab_size=len(vocab), **{k: v for k, v in rest.items() if k in known})


def get_bert_model(model_name=None, dataset_name=None, vocab=None, pretrained=True, ctx=None, root=None, **kwargs):
    """`gluonnlp.model.get_model` for the networks of this module, with published weights unless said otherwise."""
    from .registry import get_model  # which knows this module

    return get_model(model_name, dataset_name, pretrained, ctx, root, vocab=vocab, **kwargs)


get_roberta_model = get_bert_model
