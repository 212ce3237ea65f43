"""Classification of texts by the mean of what their words are: fastText, and language models as encoders."""

from __future__ import annotations

from core.initializer import Xavier
from gluon import HybridBlock, nn

__all__ = ["FastTextClassificationModel", "SentimentNet"]


class FastTextClassificationModel(HybridBlock):
    """Scores of a linear layer on the mean vector of words (Joulin et al., 2017).

    Called with words (batch, length) and valid_length (batch,); gives (batch, num_classes), of two classes (batch, 1).

    >>> net = gluonnlp.model.FastTextClassificationModel(10, 4, 2)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.array([3])).shape
    (1, 1)
    """

    def __init__(self, vocab_size, embedding_dim, num_classes, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(vocab_size, embedding_dim, weight_initializer=Xavier())
            self.dense = nn.Dense(1 if num_classes == 2 else num_classes, in_units=embedding_dim)

    def hybrid_forward(self, F, doc, valid_length):
        return self.dense(_mean(F, self.embedding(F.swapaxes(doc, 0, 1)), valid_length))


class SentimentNet(HybridBlock):
    """The score (batch, 1) that a text is positive, by the `embedding` and `encoder` of a language model,
    which are set later.

    Called with words (length, batch) and valid_length (batch,).  use_mean_pool: the mean of all states, or the last
    one.

    >>> net = gluonnlp.model.SentimentNet(dropout=0)
    >>> net.embedding, net.encoder = nn.Embedding(10, 4), nn.Dense(4, flatten=False)  # or those of a language model
    >>> net.initialize()
    >>> words = nd.array([[4], [5], [1]])  # the last one only fills the batch
    >>> net(words, nd.array([2])).shape
    (1, 1)
    """

    def __init__(self, dropout, use_mean_pool=True, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._use_mean_pool = use_mean_pool
        with self.name_scope():
            self.embedding = None
            self.encoder = None
            self.output = nn.HybridSequential()
            with self.output.name_scope():
                self.output.add(nn.Dropout(dropout))
                self.output.add(nn.Dense(1, flatten=False))

    def hybrid_forward(self, F, data, valid_length):
        encoded = self.encoder(self.embedding(data))
        if self._use_mean_pool:
            return self.output(_mean(F, encoded, valid_length))
        return self.output(F.SequenceLast(encoded, sequence_length=valid_length, use_sequence_length=True))


def _mean(F, x, valid_length):
    """The mean (batch, units) of the valid steps of x (length, batch, units)."""
    ones = F.ones_like(F.slice_axis(x, axis=2, begin=0, end=1))
    total, count = (
        F.sum(F.SequenceMask(steps, sequence_length=valid_length, use_sequence_length=True), axis=0)
        for steps in (x, ones)
    )
    return F.broadcast_div(total, count)
