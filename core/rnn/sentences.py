"""Sentences as numbers, and batches of sentences of about one length."""

from __future__ import annotations

import bisect
import logging
import random

import numpy as np

from core import ndarray as nd
from core.io import DataBatch, DataDesc, DataIter


def encode_sentences(sentences, vocab=None, invalid_label=-1, invalid_key="\n", start_label=0, unknown_token=None):
    """(sentences as lists of numbers, vocabulary).

    vocab: numbers by token; AssertionError for tokens it lacks, unless `unknown_token` is there to stand for them.
    Without one it is made, from `start_label` on; `invalid_key` has `invalid_label`, for positions without a token.
    """
    new = vocab is None
    vocab = {invalid_key: invalid_label} if new else vocab
    following = start_label
    coded = []
    for sentence in sentences:
        row = []
        for word in sentence:
            if word not in vocab:
                if not new and not unknown_token:
                    raise AssertionError(
                        f"the vocabulary lacks {word!r}; give an unknown_token to stand for such tokens"
                    )
                word = unknown_token or word
                if word not in vocab:
                    following += following == invalid_label
                    vocab[word] = following
                    following += 1
            row.append(vocab[word])
        coded.append(row)
    return coded, vocab


class BucketSentenceIter(DataIter):
    """Batches of sentences of one bucket; the labels are the sentences moved by one position.

    sentences: lists of numbers. buckets: their lengths; by default every length that fills a batch. A sentence goes to
    the first bucket that it fits and is filled up with `invalid_label`; longer ones are left out. layout: NT or TN. The
    order is drawn anew for each pass, from Python's and NumPy's generators.
    """

    def __init__(self, sentences, batch_size, buckets=None, invalid_label=-1, data_name="data",
                 label_name="softmax_label", dtype="float32", layout="NT"):  # fmt: skip
        super().__init__(batch_size)
        if layout.find("N") not in (0, 1):
            raise ValueError(f"the layout is NT (batch first) or TN (time first), got {layout!r}")
        if not buckets:
            buckets = [n for n, count in enumerate(np.bincount([len(s) for s in sentences])) if count >= batch_size]
        self.buckets = sorted(buckets)
        if not self.buckets:
            raise ValueError(f"no length fills a batch of {batch_size}: give buckets, or a smaller batch_size")
        rows, left_out = [[] for _ in self.buckets], 0
        for sentence in sentences:
            bucket = bisect.bisect_left(self.buckets, len(sentence))
            if bucket == len(self.buckets):
                left_out += 1
                continue
            row = np.full((self.buckets[bucket],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            rows[bucket].append(row)
        if left_out:
            logging.warning(
                "%d sentences are longer than the largest bucket, %d, and left out", left_out, self.buckets[-1]
            )
        self.data = [np.asarray(r, dtype=dtype).reshape(-1, n) for r, n in zip(rows, self.buckets)]
        self.invalid_label, self.data_name, self.label_name, self.dtype = invalid_label, data_name, label_name, dtype
        self.layout, self.major_axis = layout, layout.find("N")
        self.default_bucket_key = max(self.buckets)
        self.provide_data = self._described(data_name, self.default_bucket_key)
        self.provide_label = self._described(label_name, self.default_bucket_key)
        self.idx = [
            (i, begin)
            for i, bucket in enumerate(self.data)
            for begin in range(0, len(bucket) - batch_size + 1, batch_size)
        ]
        self.reset()

    def reset(self):
        """Begins the next pass, in a new order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for bucket in self.data:
            np.random.shuffle(bucket)
            label = np.full_like(bucket, self.invalid_label)
            label[:, :-1] = bucket[:, 1:]
            self.nddata.append(nd.array(bucket, dtype=self.dtype) if len(bucket) else None)
            self.ndlabel.append(nd.array(label, dtype=self.dtype) if len(bucket) else None)

    def next(self):
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, begin = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (arrays[i][begin : begin + self.batch_size] for arrays in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        key = self.buckets[i]
        return DataBatch(
            [data], [label], pad=0, bucket_key=key,
            provide_data=self._described(self.data_name, key), provide_label=self._described(self.label_name, key),
        )  # fmt: skip

    def _described(self, name, length):
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return [DataDesc(name, shape, self.dtype, layout=self.layout)]
