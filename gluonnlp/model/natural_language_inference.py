"""Whether a sentence follows from another: decomposable attention (Parikh et al., 2016) and ESIM (Chen et al., 2017).

Both are called with two sentences, words (batch, length1) and (batch, length2), and give scores of classes.
"""

from __future__ import annotations

from gluon import HybridBlock, nn, rnn

__all__ = ["DecomposableAttentionModel", "ESIMModel"]


class DecomposableAttentionModel(HybridBlock):
    """Attend, compare, aggregate; scores (batch, 3).

    intra_attention: words also bring what they read in their own sentence.

    >>> net = gluonnlp.model.DecomposableAttentionModel(vocab_size=10, word_embed_size=4, hidden_size=5, intra_attention=True)
    >>> net.initialize()
    >>> net(nd.array([[1, 2, 3, 4]]), nd.array([[5, 6, 7]])).shape
    (1, 3)
    """

    def __init__(
        self, vocab_size, word_embed_size, hidden_size, dropout=0.0, intra_attention=False, num_classes=3, **kwargs
    ):
        super().__init__(**kwargs)
        width = 2 * hidden_size if intra_attention else hidden_size
        with self.name_scope():
            self.word_emb = nn.Embedding(vocab_size, word_embed_size)
            self.lin_proj = nn.Dense(hidden_size, in_units=word_embed_size, use_bias=False, flatten=False)
            self.intra_attention = None
            if intra_attention:
                self.intra_attention = _IntraSentenceAttention(hidden_size, hidden_size, dropout)
            self.model = _DecomposableAttention(width, hidden_size, num_classes, dropout)

    def hybrid_forward(self, F, sentence1, sentence2):
        first, second = (self.lin_proj(self.word_emb(sentence)) for sentence in (sentence1, sentence2))
        if self.intra_attention is not None:
            first, second = (F.concat(x, self.intra_attention(x), dim=-1) for x in (first, second))
        return self.model(first, second)


class ESIMModel(HybridBlock):
    """Bidirectional LSTMs below and above the alignment of two sentences; scores (batch, num_classes).

    >>> net = gluonnlp.model.ESIMModel(vocab_size=10, num_classes=3, word_embed_size=4, hidden_size=5, dense_size=6)
    >>> net.initialize()
    >>> premise, hypothesis = nd.array([[1, 2, 3, 4]]), nd.array([[5, 6, 7]])
    >>> shares = net(premise, hypothesis).softmax()  # of entailment, neutrality and contradiction
    >>> shares.shape, round(float(shares.sum().asscalar()), 3)
    ((1, 3), 1.0)
    """

    def __init__(self, vocab_size, num_classes, word_embed_size, hidden_size, dense_size, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        both = {"bidirectional": True, "layout": "NTC"}
        with self.name_scope():
            self.word_emb = nn.Embedding(vocab_size, word_embed_size)
            self.embedding_dropout = nn.Dropout(dropout, axes=(1,))
            self.lstm_encoder1 = rnn.LSTM(hidden_size, input_size=word_embed_size, **both)
            self.ff_proj = nn.Dense(hidden_size, in_units=8 * hidden_size, flatten=False, activation="relu")
            self.lstm_encoder2 = rnn.LSTM(hidden_size, input_size=hidden_size, **both)
            self.classifier = nn.HybridSequential()
            for layer in (
                nn.Dense(dense_size, in_units=8 * hidden_size, activation="relu"),
                nn.Dense(num_classes, in_units=dense_size),
            ):
                if dropout:
                    self.classifier.add(nn.Dropout(dropout))
                self.classifier.add(layer)

    def hybrid_forward(self, F, sentence1, sentence2):
        embedded = (self.embedding_dropout(self.word_emb(sentence)) for sentence in (sentence1, sentence2))
        encoded = [self.lstm_encoder1(x) for x in embedded]
        pooled = []
        for x, read in zip(encoded, _align(F, *encoded), strict=True):
            composed = self.lstm_encoder2(self.ff_proj(F.concat(x, read, x * read, x - read, dim=-1)))
            pooled += [F.mean(composed, axis=1), F.max(composed, axis=1)]
        return self.classifier(F.concat(*pooled, dim=-1))


class _DecomposableAttention(HybridBlock):
    def __init__(self, in_units, hidden_size, num_classes, dropout, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.f = _dense(in_units, hidden_size, dropout)
            self.g = _dense(2 * hidden_size, hidden_size, dropout)
            self.h = _dense(2 * hidden_size, hidden_size, dropout)
            self.h.add(nn.Dense(num_classes, in_units=hidden_size, flatten=False))

    def hybrid_forward(self, F, first, second):
        sentences = self.f(first), self.f(second)
        compared = []
        for x, read in zip(sentences, _align(F, *sentences), strict=True):
            compared.append(F.sum(self.g(F.concat(x, read, dim=2)), axis=1))
        return self.h(F.concat(*compared, dim=1))


class _IntraSentenceAttention(HybridBlock):
    """What each word reads in its own sentence."""

    def __init__(self, in_units, hidden_size, dropout, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.intra_attn_emb = _dense(in_units, hidden_size, dropout)

    def hybrid_forward(self, F, x):
        inner = self.intra_attn_emb(x)
        return F.batch_dot(F.softmax(F.batch_dot(inner, inner, transpose_b=True)), inner)


def _dense(in_units, hidden_size, dropout):
    """Two layers with ReLU, each behind dropout."""
    layers = nn.HybridSequential()
    for width in (in_units, hidden_size):
        layers.add(nn.Dropout(dropout))
        layers.add(nn.Dense(hidden_size, in_units=width, activation="relu", flatten=False))
    return layers


def _align(F, first, second):
    """What each word of either sentence reads in the other one."""
    scores = F.batch_dot(first, second, transpose_b=True)
    return (
        F.batch_dot(F.softmax(scores), second),
        F.batch_dot(F.softmax(F.transpose(scores, axes=(0, 2, 1))), first),
    )
