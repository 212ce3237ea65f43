"""XLNet (Yang et al., 2019): a Transformer-XL that reads in both directions, and its heads."""

from __future__ import annotations

from core import nd
from gluon import Block, HybridBlock, loss, nn

from ..vocab import Vocab
from .attention_cell import check_heads
from .transformer_xl import CellsWithMemory, PositionalEmbedding, WithMemory

__all__ = ["XLNetClassifier", "XLNetForQA", "XLNetModel"]


class XLNetModel(WithMemory):
    """Words and token types (batch, length), memory as `begin_mems` gives it, or None, and mask (batch, length,
    mem_length + length) of 1 for what may be read, or None for all.

    Gives scores of words (batch, length, vocab_size), or without use_decoder hidden states (batch, length, units), and
    the new memory, None without one.  The memory's words have the token type 0.  clamp_len: distances beyond it count
    as equal.

    >>> net = gluonnlp.model.XLNetModel(vocab_size=10, num_layers=2, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> words, types = nd.array([[1, 2, 3]]), nd.zeros((1, 3))
    >>> scores, memory = net(words, types, net.begin_mems(1, 4, mx.cpu()))
    >>> scores.shape, [m.shape for m in memory]
    ((1, 3, 10), [(1, 4, 8), (1, 4, 8)])
    """

    def __init__(self, *args, prefix=None, params=None, **kwargs):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self._net = _XLNet(*args, **kwargs)

    def __call__(self, step_input, token_types, mems=None, mask=None):
        return super().__call__(step_input, token_types, mems, mask)

    def forward(self, step_input, token_types, mems=None, mask=None):
        past, places = self._places(step_input, mems)
        segments = None
        if token_types is not None:
            types = token_types
            if past:
                shape = (step_input.shape[0], past)
                types = nd.concat(nd.zeros(shape, dtype=types.dtype, ctx=types.context), types, dim=1)
            segments = nd.broadcast_not_equal(token_types.expand_dims(2), types.expand_dims(1)).astype("float32")
        outputs, hidden = self._net(step_input, segments, mask, places, mems)
        return outputs, self._remember(mems, hidden)


class _XLNet(CellsWithMemory):
    def __init__(
        self,
        vocab_size,
        num_layers=2,
        units=128,
        hidden_size=2048,
        num_heads=4,
        activation="approx_gelu",
        scaled=True,
        dropout=0.0,
        attention_dropout=0.0,
        use_residual=True,
        clamp_len=None,
        use_decoder=True,
        tie_decoder_weight=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        check_heads(units, num_heads)
        self._clamp_len = clamp_len
        with self.name_scope():
            self.word_embed = nn.Embedding(vocab_size, units)
            self.mask_embed = self.params.get("mask_embed", shape=(1, 1, units))
            self.pos_embed = PositionalEmbedding(units)
            self._add_cells(
                num_layers,
                num_heads,
                {"dropout": attention_dropout, "scaled": scaled, "use_segments": True},
                units=units,
                hidden_size=hidden_size,
                activation=activation,
                dropout=dropout,
                use_residual=use_residual,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
            )
            self.decoder = None
            if use_decoder:
                shared = self.word_embed.params if tie_decoder_weight else None
                self.decoder = nn.Dense(vocab_size, in_units=units, flatten=False, params=shared)

    def hybrid_forward(self, F, step_input, segments, mask, places, mems=None, mask_embed=None):
        if self._clamp_len:
            places = F.clip(places, a_min=0, a_max=self._clamp_len)
        # The vector that pretraining puts in place of words is a parameter of all networks, and has the gradient 0.
        x = F.broadcast_add(self.word_embed(step_input), 0 * mask_embed)
        x, positions = self.dropout_layer(x), self.dropout_layer(self.pos_embed(places))
        x, hidden = self._read(x, positions, mems, mask, segments)
        return x if self.decoder is None else self.decoder(x), hidden


class XLNetClassifier(Block):
    """Scores (batch, num_classes) of texts, from an XLNet without decoder.

    Called with inputs, token_types and valid_length (batch,): texts stand at the left, their last word is [CLS].

    >>> body = gluonnlp.model.XLNetModel(vocab_size=10, num_layers=1, units=8, hidden_size=16, num_heads=2, use_decoder=False)
    >>> net = gluonnlp.model.XLNetClassifier(body, units=8, num_classes=3)
    >>> net.initialize()
    >>> net(nd.array([[1, 2, 3, 0]]), nd.zeros((1, 4)), nd.array([3])).shape
    (1, 3)
    """

    def __init__(self, xl, units=768, num_classes=2, dropout=0.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.xlnet = xl
        with self.name_scope():
            self.classifier = nn.HybridSequential()
            if dropout:
                self.classifier.add(nn.Dropout(dropout))
            self.classifier.add(nn.Dense(num_classes, flatten=False))
            self.pooler = nn.Dense(units, flatten=False, activation="tanh")

    def __call__(self, inputs, token_types, valid_length=None, mems=None):
        return super().__call__(inputs, token_types, valid_length, mems)

    def forward(self, inputs, token_types, valid_length=None, mems=None):
        outputs, _ = self.xlnet(inputs, token_types, mems, _mask(inputs, valid_length))
        # The pooler is passed twice: published classifiers were trained so.
        return self.classifier(self.pooler(self.pooler(_last(outputs, valid_length))))


class XLNetForQA(Block):
    """Where the answer to a question begins and ends, and whether there is one, from an XLNet without decoder.

    Called with inputs, token_types, valid_length (batch,), label, the true [beginnings, ends] (batch,), p_mask (batch,
    length) of 1 where no answer may be, or None, and is_impossible (batch,).  In training it gives the losses of positions
    and of answers that are not there, a list of two (batch,), and their sum.  With is_eval it gives the
    log-probabilities and positions of the start_top_n best beginnings (batch, start_top_n), those of the end_top_n best
    ends of each (batch, end_top_n * start_top_n), and the score that there is no answer (batch,).

    >>> body = gluonnlp.model.XLNetModel(vocab_size=10, num_layers=1, units=8, hidden_size=16, num_heads=2, use_decoder=False)
    >>> net = gluonnlp.model.XLNetForQA(body, start_top_n=2, end_top_n=2, is_eval=True, units=8)
    >>> net.initialize()
    >>> starts, places, ends, end_places, impossible = net(nd.array([[1, 2, 3]]), nd.zeros((1, 3)), nd.array([3]))
    >>> starts.shape, ends.shape, impossible.shape
    ((1, 2), (1, 4), (1,))
    """

    def __init__(
        self, xlnet_base, start_top_n=None, end_top_n=None, is_eval=False, units=768, prefix=None, params=None
    ):
        super().__init__(prefix=prefix, params=params)
        self.start_top_n = start_top_n
        self.end_top_n = end_top_n
        self.eval = is_eval
        with self.name_scope():
            self.xlnet = xlnet_base
            self.loss = loss.SoftmaxCELoss()
            self.start_logits = _StartLogits()
            self.end_logits = _EndLogits(units)
            self.answer_class = _AnswerClass(units)
            self.cls_loss = loss.SigmoidBinaryCrossEntropyLoss()

    def __call__(self, inputs, token_types, valid_length=None, label=None, p_mask=None, is_impossible=None, mems=None):
        return super().__call__(inputs, token_types, valid_length, label, p_mask, is_impossible, mems)

    def forward(self, inputs, token_types, valid_length=None, label=None, p_mask=None, is_impossible=None, mems=None):
        outputs, _ = self.xlnet(inputs, token_types, mems, _mask(inputs, valid_length))
        start = self.start_logits(outputs, p_mask)
        expected = nd.batch_dot(nd.softmax(start, axis=-1).expand_dims(1), outputs).reshape((0, -1))
        impossible = self.answer_class(expected, _last(outputs, valid_length))
        if self.eval:
            return (*self._best(outputs, start, p_mask), impossible)
        starts, ends = label
        before = _at(outputs, starts).expand_dims(1).broadcast_like(outputs)
        end = self.end_logits(outputs, before, p_mask)
        of_span = (self.loss(start, starts) + self.loss(end, ends)) / 2
        of_class = 0.5 * self.cls_loss(impossible, is_impossible)
        return [of_span, of_class], of_span + of_class

    def _best(self, outputs, start, p_mask):
        batch, length, units = outputs.shape
        n = self.start_top_n
        starts, places = nd.topk(nd.log_softmax(start, axis=-1), k=n, axis=-1, ret_typ="both")
        before = nd.stack(*[_at(outputs, places[:, i]) for i in range(n)], axis=1)
        before = before.expand_dims(1).broadcast_to((batch, length, n, units))
        after = outputs.expand_dims(2).broadcast_to((batch, length, n, units))
        end = self.end_logits(after, before, None if p_mask is None else p_mask.expand_dims(2).broadcast_axes(2, n))
        ends, end_places = nd.topk(nd.log_softmax(end, axis=1), k=self.end_top_n, axis=1, ret_typ="both")
        return starts, places, ends.reshape((0, -1)), end_places.reshape((0, -1))


class _StartLogits(HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = nn.Dense(1, flatten=False)

    def hybrid_forward(self, F, outputs, p_mask=None):
        return _hidden(F.squeeze(self.dense(outputs), axis=-1), p_mask)


class _EndLogits(HybridBlock):
    """Scores of ends for outputs (..., units), given what stands at the beginning, of the same shape."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense_0 = nn.Dense(units, activation="tanh", flatten=False)
            self.dense_1 = nn.Dense(1, flatten=False)
            self.layernorm = nn.LayerNorm(epsilon=1e-12, in_channels=units)

    def hybrid_forward(self, F, outputs, before, p_mask=None):
        x = self.layernorm(self.dense_0(F.concat(outputs, before, dim=-1)))
        return _hidden(F.squeeze(self.dense_1(x), axis=-1), p_mask)


class _AnswerClass(HybridBlock):
    """The score (batch,) that there is no answer, from the expected beginning and [CLS], both (batch, units)."""

    def __init__(self, units, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense_0 = nn.Dense(units, in_units=2 * units, activation="tanh", flatten=False)
            self.dense_1 = nn.Dense(1, in_units=units, use_bias=False, flatten=False)
            self._dropout = nn.Dropout(dropout)

    def hybrid_forward(self, F, expected, last):
        x = self._dropout(self.dense_0(F.concat(expected, last, dim=-1)))
        return F.squeeze(self.dense_1(x), axis=-1)


def _hidden(scores, p_mask):
    return scores if p_mask is None else scores * (1 - p_mask) - 1e30 * p_mask


def _mask(inputs, valid_length):
    """(batch, length, length): 1 for the keys before the valid length."""
    if valid_length is None:
        return None
    steps = nd.contrib.arange_like(inputs, axis=1).reshape((1, -1)).astype("float32")
    counts = nd.broadcast_lesser(steps, valid_length.astype("float32").reshape((-1, 1)))
    return counts.expand_dims(1).broadcast_axes(1, inputs.shape[1])


def _last(outputs, valid_length):
    """The state (batch, units) of the last word."""
    if valid_length is None:
        return outputs[:, -1]
    return _at(outputs, valid_length - 1)


def _at(outputs, places):
    """What (batch, length, units) holds at places (batch,)."""
    rows = nd.contrib.arange_like(outputs, axis=0)
    return nd.gather_nd(outputs, nd.stack(rows, places.astype(rows.dtype), axis=0))


# The networks that have names: class and settings.
CONFIGURATIONS = {
    "xlnet_cased_l12_h768_a12": (
        XLNetModel,
        {"hidden_size": 3072, "units": 768, "activation": "gelu", "num_heads": 12, "num_layers": 12},
    ),
    "xlnet_cased_l24_h1024_a16": (
        XLNetModel,
        {"hidden_size": 4096, "units": 1024, "activation": "approx_gelu", "num_heads": 16, "num_layers": 24},
    ),
}
VOCABULARIES = {"vocab": ""}
VOCABULARY_CLASSES = dict.fromkeys(CONFIGURATIONS, Vocab)
PRETRAINED = True
# The name of a data set's vocabulary has this in front.
VOCABULARY_PREFIX = "xlnet_"
# Arguments that are given back behind the vocabularies.
PASSED = ("tokenizer",)
FREE = set()


def build(name, vocab, settings):
    """The network called `name` for the words of `vocab`."""
    return CONFIGURATIONS[name][0](vocab_size=len(vocab), **settings)
