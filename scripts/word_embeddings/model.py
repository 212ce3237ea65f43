"""The network of skip-gram and CBOW, and what words are made of."""

from __future__ import annotations

import numpy as np

import core as mx
import gluonnlp as nlp
from gluon import HybridBlock, nn


class NegativeSampling(HybridBlock):
    """Scores (batch, words) of `words` (batch, words) beside inputs,
    a CSR array (batch, rows) that weighs rows of the table.
    """

    def __init__(self, rows: int, words: int, width: int, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(rows, width), grad_stype="row_sparse")
            self.outputs = nn.Embedding(words, width, sparse_grad=True, weight_initializer="zeros")

    def hybrid_forward(self, F, inputs, words, weight):
        vectors = F.sparse.dot(inputs, weight)
        return F.broadcast_mul(self.outputs(words), F.expand_dims(vectors, axis=1)).sum(axis=2)


class Subwords:
    """The rows that the vector of each word is the mean of: its own, then with `buckets` those of its n-grams."""

    def __init__(self, vocab: nlp.Vocab, ngrams: list[int], buckets: int):
        self._rows, self._count = [np.array([i]) for i in range(len(vocab))], len(vocab)
        if buckets:
            function = nlp.vocab.create_subword_function("NGramHashes", num_subwords=buckets, ngrams=ngrams)
            found = function(vocab.idx_to_token)
            self._rows = [np.array([i, *(len(vocab) + int(n) for n in own)]) for i, own in enumerate(found)]
            self._count += buckets
        self._lengths = np.array([len(rows) for rows in self._rows])

    def __len__(self) -> int:
        return self._count

    def inputs(self, words: np.ndarray, rows: np.ndarray, weights: np.ndarray, count: int):
        """The CSR array (count, len(self)) in which each of `words` counts `weights` in its one of `rows`."""
        lengths = self._lengths[words]
        columns = np.concatenate([self._rows[word] for word in words])
        values = np.repeat(np.asarray(weights) / lengths, lengths).astype("float32")
        return mx.nd.sparse.csr_matrix((values, (np.repeat(rows, lengths), columns)), shape=(count, self._count))

    def vectors(self, net: NegativeSampling) -> mx.nd.NDArray:
        """The vector of each word."""
        words = np.arange(len(self._rows))
        return mx.nd.sparse.dot(self.inputs(words, words, np.ones(len(words)), len(words)), net.weight.data())
