"""A BERT or RoBERTa with a classifier, and how texts become its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import core as mx
import gluonnlp as nlp
from gluon.data import DataLoader
from gluonnlp.data import batchify
from scripts.bert.pretrained import Pretrained
from scripts.bert.tuned import Tuned
from scripts.common import parallel


class TextClassifier(Tuned):
    """The network, and how texts become its inputs.

    start: a BERTModel with a pooler and no other head, or a RoBERTaModel without. labels: their names in the order of
    the scores; empty for a regression, which has one score. max_len: pieces of a text.
    """

    def __init__(self, start: Pretrained, *, labels: list[str], max_len: int, dropout: float = 0.0):
        self.labels = labels
        self._has_segments = not isinstance(start.bert, nlp.model.RoBERTaModel)
        head = nlp.model.BERTClassifier if self._has_segments else nlp.model.RoBERTaClassifier
        net = head(start.bert, num_classes=len(labels) or 1, dropout=dropout)
        super().__init__(start, net, labels=labels, max_len=max_len, dropout=dropout)
        tokenizer = start.tokenizer()
        self._transforms = [
            nlp.data.BERTSentenceTransform(tokenizer, max_len, self.vocab, pad=False, pair=pair)
            for pair in (False, True)
        ]

    def inputs(self, texts: Iterable[Sequence[str]]) -> list[tuple]:
        """Of each text, or pair of texts: token indices, their number, segment indices."""
        return [self._transforms[len(text) == 2](text) for text in texts]

    def batches(self, samples: list[tuple], batch_size: int, *, shuffle: bool, round_to: int = 8) -> DataLoader:
        """Batches of samples `(*inputs, label)`, in which texts of similar length are together."""
        return padded_batches(samples, batch_size, shuffle, (self.vocab[self.vocab.padding_token], 0), round_to)

    def scores(self, batch, context: mx.Context):
        """The scores (batch, labels) of a batch's tokens, lengths and segments."""
        tokens, lengths, segments = (field.as_in_context(context) for field in batch)
        return self.net(tokens, segments, lengths) if self._has_segments else self.net(tokens, lengths)


def padded_batches(
    samples: list[tuple], batch_size: int, shuffle: bool, padding: tuple[int, int], round_to: int = 8
) -> DataLoader:
    """Batches of (tokens, their number, segments, label), in which texts of similar length are together.

    padding: what fills up tokens and segments, up to a multiple of `round_to`.
    """
    sampler = nlp.data.SortedBucketSampler([len(s[0]) for s in samples], batch_size, mult=20, shuffle=shuffle)
    tokens, segments = (batchify.Pad(pad_val=value, dtype="int32", round_to=round_to) for value in padding)
    together = batchify.Tuple(tokens, batchify.Stack("float32"), segments, batchify.Stack("float32"))
    return DataLoader(samples, batch_sampler=parallel.shared(sampler) if shuffle else sampler, batchify_fn=together)
