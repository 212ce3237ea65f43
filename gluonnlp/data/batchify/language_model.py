"""Corpora to batches for language models, for truncated backpropagation through time (BPTT)."""

from __future__ import annotations

import itertools

import numpy as np

from core import nd
from gluon.data import RandomSampler, SequentialSampler, SimpleDataset

from ..stream import DataStream
from ..utils import _slice_pad_length, slice_sequence

__all__ = ["CorpusBatchify", "CorpusBPTTBatchify", "StreamBPTTBatchify"]


class CorpusBatchify:
    """A list of tokens to a data set of steps: NDArrays of shape (batch_size,), each column one part of the corpus.

    Tokens that do not fill the last step are dropped.

    >>> from gluonnlp.data import batchify
    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens(["a", "b"]))
    >>> data = gluon.data.SimpleDataset(["a", "b", "a", "b"])
    >>> batchify.CorpusBatchify(vocab, batch_size=2)(data)[0]
    [4. 4.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, vocab, batch_size):
        self._vocab = vocab
        self._batch_size = batch_size

    def __call__(self, data):
        length = len(data) // self._batch_size
        ids = self._vocab[data[: length * self._batch_size]]
        return SimpleDataset(_columns(ids, self._batch_size))


class CorpusBPTTBatchify:
    """A list of tokens to pairs (data, target) of shape (seq_len, batch_size), the target one step ahead.

    last_batch: 'keep' fills the last pair up with the padding token, 'discard' drops what is left over.

    >>> from gluonnlp.data import batchify
    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens(["a", "b"]))
    >>> data = gluon.data.SimpleDataset(["a", "b"] * 6)
    >>> words, targets = batchify.CorpusBPTTBatchify(vocab, seq_len=2, batch_size=2, last_batch="discard")(data)[0]
    >>> words.shape
    (2, 2)
    """

    def __init__(self, vocab, seq_len, batch_size, last_batch="keep"):
        _check_last_batch(last_batch)
        if last_batch == "keep" and not vocab.padding_token:
            raise ValueError("last_batch='keep' needs a vocabulary with a padding token.")
        self._vocab = vocab
        self._seq_len = seq_len
        self._batch_size = batch_size
        self._last_batch = last_batch

    def __call__(self, corpus):
        if self._last_batch == "keep":
            ids = self._vocab[list(corpus)]
            length = -(-len(ids) // self._batch_size)
            length += _slice_pad_length(length, self._seq_len + 1, 1)
            ids += [self._vocab[self._vocab.padding_token]] * (length * self._batch_size - len(ids))
        else:
            length = len(corpus) // self._batch_size
            ids = self._vocab[corpus[: length * self._batch_size]]
        pieces = slice_sequence(_columns(ids, self._batch_size), self._seq_len + 1, overlap=1)
        return SimpleDataset([(piece[:-1], piece[1:]) for piece in pieces])


class StreamBPTTBatchify:
    """A stream of data sets of token lists to a stream of pairs (data, target) of shape (seq_len, batch_size).

    Each column reads whole documents, one after the other, in the order that `sampler` ('random' or
    'sequential') gives within a data set; what is shorter is padded.
    last_batch: 'keep' also gives the last pair, in which no column may have a token left to predict.

    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens("a b c".split()))
    >>> stream = gluonnlp.data.SimpleDataStream([gluon.data.SimpleDataset([["a", "b", "c"], ["a", "c"]])])
    >>> batchify = gluonnlp.data.batchify.StreamBPTTBatchify(vocab, seq_len=2, batch_size=2, sampler="sequential")
    >>> data, target = next(iter(batchify(stream)))
    >>> data, target
    (
    [[4. 4.]
     [5. 1.]]
    <NDArray 2x2 @cpu(0)>,
    [[5. 6.]
     [6. 1.]]
    <NDArray 2x2 @cpu(0)>)
    """

    def __init__(self, vocab, seq_len, batch_size, sampler="random", last_batch="keep"):
        _check_last_batch(last_batch)
        if not vocab.padding_token:
            raise ValueError("StreamBPTTBatchify needs a vocabulary with a padding token.")
        self._vocab = vocab
        self._seq_len = seq_len
        self._batch_size = batch_size
        self._sampler = sampler
        self._last_batch = last_batch

    def __call__(self, corpus):
        samplers = {"random": RandomSampler, "sequential": SequentialSampler}
        if self._sampler not in samplers:
            raise ValueError(f"sampler is 'random' or 'sequential', not {self._sampler!r}.")
        return _BPTTStream(
            corpus, self._vocab, self._seq_len, self._batch_size, samplers[self._sampler], self._last_batch
        )


class _BPTTStream(DataStream):
    def __init__(self, corpus, vocab, seq_len, batch_size, sampler, last_batch):
        self._corpus = corpus
        self._vocab = vocab
        self._seq_len = seq_len
        self._batch_size = batch_size
        self._sampler = sampler
        self._last_batch = last_batch

    def __iter__(self):
        documents = itertools.chain.from_iterable(
            (dataset[i] for i in self._sampler(len(dataset))) for dataset in self._corpus
        )
        # What each column has read and not yet given out; one token stays, to begin the next piece.
        unread = [[] for _ in range(self._batch_size)]
        padding = self._vocab[self._vocab.padding_token]
        more_documents = left_over = True
        while more_documents or left_over:
            data = np.full((self._batch_size, self._seq_len), padding, dtype="float32")
            target = data.copy()
            left_over = False
            for row in range(self._batch_size):
                filled = 0
                while filled < self._seq_len:
                    if len(unread[row]) <= 1:
                        document = next(documents, None)
                        if document is None:
                            more_documents = False
                            break
                        unread[row] += self._vocab[document]
                    n = min(len(unread[row]) - 1, self._seq_len - filled)
                    data[row, filled : filled + n] = unread[row][:n]
                    target[row, filled : filled + n] = unread[row][1 : n + 1]
                    unread[row] = unread[row][n:]
                    left_over = left_over or bool(unread[row])
                    filled += n
            if left_over or self._last_batch == "keep":
                yield nd.array(data.T), nd.array(target.T)


def _check_last_batch(last_batch):
    if last_batch not in ("keep", "discard"):
        raise ValueError(f"last_batch is 'keep' or 'discard', not {last_batch!r}.")


def _columns(ids, batch_size):
    """Indices as an NDArray (steps, batch_size); column i is the i-th part of the corpus."""
    return nd.array(np.array(ids, dtype="float32").reshape(batch_size, -1).T)
