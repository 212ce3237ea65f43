"""Sentence pairs as subword numbers, in batches of similar lengths."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import gluonnlp as nlp
from core.files.atomic import write_bytes
from gluon.data import DataLoader
from gluonnlp.data import batchify


class Subwords:
    """Byte-pair pieces that two languages share (Sennrich, Haddow and Birch, 2016), learned from `texts`.

    `vocab` has <unk>, <pad>, <bos>, <eos> and the pieces; the sentencepiece model is written to `path`.
    """

    def __init__(self, texts: list[str], size: int, path: Path):
        import sentencepiece

        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type="bpe",
            vocab_size=size,
            character_coverage=1.0,
            num_threads=1,
            minloglevel=2,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, model.getvalue())
        self.tokenize = nlp.data.SentencepieceTokenizer(str(path))
        self._detokenize = nlp.data.SentencepieceDetokenizer(str(path))
        counter = nlp.data.count_tokens([piece for text in texts for piece in self.tokenize(text)])
        self.vocab = self.source_vocab = nlp.Vocab(counter)

    def numbers(self, text: str, *, bos: bool) -> list[int]:
        """The pieces of a text, <eos> behind them, <bos> before them when asked for."""
        begin = [self.vocab.bos_token] if bos else []
        return self.vocab[[*begin, *self.tokenize(text), self.vocab.eos_token]]

    def text(self, numbers: Iterable[int]) -> str:
        """The text of pieces; what marks beginning, end and padding is left out."""
        marks = {self.vocab[mark] for mark in (self.vocab.bos_token, self.vocab.eos_token, self.vocab.padding_token)}
        kept = [int(number) for number in numbers if number >= 0 and int(number) not in marks]
        return self._detokenize(self.vocab.to_tokens(kept))


class Words:
    """The words, or pieces of words, of a published data set, whose sentences are cut already, in its vocabularies."""

    def __init__(self, source: nlp.Vocab, target: nlp.Vocab):
        self.source_vocab, self.vocab = source, target

    def numbers(self, text: str, *, bos: bool) -> list[int]:
        """The words of a source, or with `bos` of a target, <eos> behind them, <bos> before those of a target."""
        vocab = self.vocab if bos else self.source_vocab
        return vocab[[*([vocab.bos_token] if bos else []), *text.split(), vocab.eos_token]]

    def text(self, numbers: Iterable[int]) -> str:
        """The text of words of the target language; pieces are put together, and marks left out."""
        vocab = self.vocab
        marks = {vocab[mark] for mark in (vocab.bos_token, vocab.eos_token, vocab.padding_token)}
        return whole(" ".join(vocab.to_tokens([int(n) for n in numbers if n >= 0 and int(n) not in marks])))


def whole(text: str) -> str:
    """A sentence with the pieces of its words put together."""
    return text.replace("@@ ", "").removesuffix("@@")


def pairs(data, subwords: Subwords | Words, longest: int) -> list[tuple[list[int], list[int]]]:
    """Source (with <eos>) and target (between <bos> and <eos>) numbers of each pair, cut to `longest`."""
    return [
        (subwords.numbers(source, bos=False)[:longest], subwords.numbers(target, bos=True)[:longest])
        for source, target in data
    ]


def batches(samples: list, vocab, sampler: Iterable[list[int]], source=None) -> DataLoader:
    """Batches (source, source lengths, target, target lengths) of the samples that the sampler puts together."""
    return DataLoader(samples, batch_sampler=sampler, batchify_fn=together(vocab, source))


def sampler(
    samples: list, tokens: int, *, shuffle: bool, step: int = 2, enough: int = 50
) -> nlp.data.FixedBucketSampler:
    """Batches with about `tokens` pieces of either language, out of buckets for each pair of lengths, rounded up to
    `step`, that `enough` samples have; the other samples go to twenty buckets of growing width with both languages
    equally long.

    Translations are about as long as their sources, but only about: with equal lengths alone, a tenth would be padding.
    """
    lengths = np.array([(len(source), len(target)) for source, target in samples])
    found, counts = np.unique(-(-lengths // step) * step, axis=0, return_counts=True)
    keys = [tuple(key) for key in found[counts >= enough].tolist()]
    longest, shortest = tuple(lengths.max(axis=0).tolist()), tuple(lengths.min(axis=0).tolist())
    keys += nlp.data.ExpWidthBucket()(longest, shortest, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of buckets that stay empty
        return nlp.data.FixedBucketSampler(
            lengths, tokens, None, bucket_keys=keys, use_average_length=True, shuffle=shuffle
        )


def together(vocab, source=None):
    """The batchify function of pairs; `source`: the vocabulary of the first language, where that is another one."""
    vocabs = (source or vocab, vocab)
    pads = [batchify.Pad(pad_val=v[v.padding_token], ret_length=True, dtype="int32") for v in vocabs]
    both = batchify.Tuple(*pads)

    def apply(chosen):
        (source, source_lengths), (target, target_lengths) = both(chosen)
        return source, source_lengths.astype("float32"), target, target_lengths.astype("float32")

    return apply


def padding_share(samples: list, sampler: Iterable[list[int]]) -> float:
    """The part of all numbers in the batches of a sampler that is padding."""
    lengths = np.array([(len(source), len(target)) for source, target in samples])
    padded = sum(len(ids) * lengths[ids].max(axis=0).sum() for ids in sampler)
    return 1 - lengths.sum() / float(padded)
