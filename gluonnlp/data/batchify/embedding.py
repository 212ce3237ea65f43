"""Sentences to batches of centre and context words, for word2vec and fastText training."""

from __future__ import annotations

import itertools
import random

import numpy as np

from ..stream import DataStream

__all__ = ["EmbeddingCenterContextBatchify"]


class EmbeddingCenterContextBatchify:
    """Sentences (lists of tokens or indices) to a stream of (centres, contexts).

    centres: NumPy array (batch_size,); contexts: a sparse matrix as (weights, rows, words), NumPy
    arrays of the same length, where row i belongs to centre i.  Skip-gram has one context word a
    row, with weight 1; `cbow` all of the window, with weights that add up to 1.  A window reaches
    `window_size` words to both sides within the sentence, or with `reduce_window_size_randomly` a
    random number from 1 to that.  Batches that are not full are dropped.  Order (`shuffle`) and
    windows come from Python's global generator.
    """

    def __init__(
        self,
        batch_size,
        window_size=5,
        reduce_window_size_randomly=True,
        shuffle=True,
        cbow=False,
        weight_dtype="float32",
        index_dtype="int64",
    ):
        self._batch_size = batch_size
        self._window_size = window_size
        self._reduce_window_size_randomly = reduce_window_size_randomly
        self._shuffle = shuffle
        self._cbow = cbow
        self._weight_dtype = weight_dtype
        self._index_dtype = index_dtype

    def __call__(self, corpus):
        return _CenterContextStream(corpus, self)


class _CenterContextStream(DataStream):
    def __init__(self, sentences, settings):
        self._sentences = sentences
        self._settings = settings

    def __iter__(self):
        s = self._settings
        sentences = list(self._sentences)
        if s._shuffle:
            random.shuffle(sentences)
        lengths = np.array([len(x) for x in sentences])
        tokens = list(itertools.chain.from_iterable(sentences))
        words = np.array(tokens, dtype=object if isinstance(tokens[0], str) else None)
        seed = random.getrandbits(32)
        windows = _windows(lengths, s._window_size, seed if s._reduce_window_size_randomly else None)
        batches = _cbow(windows, s._batch_size) if s._cbow else _skip_gram(windows, s._batch_size)
        for centres, weights, rows, contexts in batches:
            matrix = np.array(weights, s._weight_dtype), np.array(rows, s._index_dtype), words[contexts]
            yield words[centres], matrix


def _windows(lengths, size, seed):
    """(centre, its context words), as positions in the corpus, for all centres that have a context.

    The first word of a sentence has its context at the end of the sentence before, and none of its
    own: so word vectors have been trained, and so the batches stay what they were.
    """
    ends = np.cumsum(lengths)
    for begin, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
        first = begin + 1 if begin else 0
        for centre in range(first, min(end + 1, ends[-1])):
            reach = size
            if seed is not None:
                # Each word has its own generator: the windows do not depend on the batch size.
                reach = random.Random(seed + centre).randint(1, size)
            context = [i for i in range(max(begin, centre - reach), min(end, centre + reach + 1)) if i != centre]
            if context:
                yield centre, context


def _cbow(windows, batch_size):
    while len(batch := list(itertools.islice(windows, batch_size))) == batch_size:
        rows = [row for row, (_, context) in enumerate(batch) for _ in context]
        weights = [1.0 / len(context) for _, context in batch for _ in context]
        yield [centre for centre, _ in batch], weights, rows, [word for _, context in batch for word in context]


def _skip_gram(windows, batch_size):
    pairs = ((centre, word) for centre, context in windows for word in context)
    while len(batch := list(itertools.islice(pairs, batch_size))) == batch_size:
        centres, contexts = zip(*batch, strict=True)
        yield list(centres), [1.0] * batch_size, range(batch_size), list(contexts)
