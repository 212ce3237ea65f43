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

    >>> batchify = gluonnlp.data.batchify.EmbeddingCenterContextBatchify(batch_size=2, window_size=1, reduce_window_size_randomly=False, shuffle=False)
    >>> centres, (weights, rows, words) = next(iter(batchify([[10, 11, 12]])))
    >>> centres, words  # pairs of a word and a neighbour
    (array([10, 11]), array([11, 10]))
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
        ends = np.cumsum([len(sentence) for sentence in sentences])
        tokens = list(itertools.chain.from_iterable(sentences))
        words = np.array(tokens, dtype=object if isinstance(tokens[0], str) else None)
        reach = np.full(len(words), s._window_size)
        seed = random.getrandbits(32)
        if s._reduce_window_size_randomly:
            reach = np.random.default_rng(seed).integers(1, s._window_size, len(words), endpoint=True)
        pairs = _pairs(ends, reach, s._window_size)
        for centres, rows, contexts in _batches(pairs, s._batch_size, by_centre=s._cbow):
            weights = 1 / np.bincount(rows)[rows] if s._cbow else np.ones(len(rows))
            matrix = weights.astype(s._weight_dtype), rows.astype(s._index_dtype), words[contexts]
            yield words[centres], matrix


def _pairs(ends, reach, longest, block=50_000):
    """Centres and context words, as positions in the corpus, in two arrays for each block of centres.

    The first word of a sentence has its context at the end of the sentence before, and none of its
    own: so word vectors have been trained, and so the batches stay what they were.
    """
    offsets = np.array([*range(-longest, 0), *range(1, longest + 1)])
    for begin in range(0, ends[-1], block):
        centres = np.arange(begin, min(begin + block, ends[-1]))
        sentence = np.searchsorted(ends, centres)
        first, last = np.concatenate([[0], ends])[sentence], ends[sentence]
        context = centres[:, None] + offsets
        inside = (context >= first[:, None]) & (context < last[:, None]) & (abs(offsets) <= reach[centres, None])
        row, column = np.nonzero(inside)
        yield centres[row], context[row, column]


def _batches(pairs, size, by_centre):
    """(centres, row of each context word, context words) for `size` centres, or pairs unless `by_centre`, at a time."""
    centres = contexts = np.empty(0, int)
    for more_centres, more_contexts in pairs:
        centres, contexts = np.concatenate([centres, more_centres]), np.concatenate([contexts, more_contexts])
        # Where each centre begins; the last one is complete, as blocks end between centres.
        starts = np.flatnonzero(np.diff(centres, prepend=-1)) if by_centre else np.arange(len(centres))
        starts = np.append(starts, len(centres))
        whole = (len(starts) - 1) // size * size
        for i in range(0, whole, size):
            cut = slice(starts[i], starts[i + size])
            rows = np.repeat(np.arange(size), np.diff(starts[i : i + size + 1]))
            yield centres[starts[i : i + size]], rows, contexts[cut]
        centres, contexts = centres[starts[whole] :], contexts[starts[whole] :]
