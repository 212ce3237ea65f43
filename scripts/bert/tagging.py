"""Tags of words by a BERT: the pieces of words, the tags that their first pieces get,
and how chunks of tags are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gluon.data import DataLoader
from gluonnlp.data import SortedBucketSampler, batchify
from scripts.common import parallel

OUTSIDE = "O"


class Sentence(NamedTuple):
    """tokens: numbers of the pieces between [CLS] and [SEP].

    firsts: the place of the first piece of each word that fits.
    """

    tokens: list[int]
    firsts: list[int]


def sentence(words: Sequence[str], tokenizer, longest: int) -> Sentence:
    """The pieces of `words`, at most `longest` of them with [CLS] and [SEP].

    A word without pieces is an unknown one.
    """
    vocab = tokenizer.vocab
    pieces, firsts = [vocab.cls_token], []
    for word in words:
        own = tokenizer(word) or [vocab.unknown_token]
        if len(pieces) + len(own) >= longest:
            break
        firsts.append(len(pieces))
        pieces += own
    return Sentence(vocab[[*pieces, vocab.sep_token]], firsts)


def placed(sentence: Sentence, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of tags at the first pieces of their words, 0 elsewhere, and a mask of where they are; float32."""
    tags, mask = np.zeros((2, len(sentence.tokens)), "float32")
    tags[sentence.firsts] = numbers[: len(sentence.firsts)]
    mask[sentence.firsts] = 1
    return tags, mask


def batches(samples: list[tuple], pad: int, batch_size: int, *, shuffle: bool) -> DataLoader:
    """Batches of samples `(tokens, tags, mask, *numbers)`: tokens, lengths, tags, mask,
    and a row of each further number.
    """
    sampler = SortedBucketSampler([len(s[0]) for s in samples], batch_size, mult=20, shuffle=shuffle)
    together = batchify.Tuple(
        batchify.Pad(pad_val=pad, dtype="int32", round_to=8),
        batchify.Stack("float32"),
        *(batchify.Pad(pad_val=0, dtype="float32", round_to=8) for _ in range(2)),
        *(batchify.Stack("float32") for _ in samples[0][3:]),
    )
    return DataLoader(
        [(tokens, len(tokens), *rest) for tokens, *rest in samples],
        batch_sampler=parallel.shared(sampler) if shuffle else sampler, batchify_fn=together,
    )  # fmt: skip


def named(scores, mask, names: Sequence[str]) -> list[list[str]]:
    """The names of the best tags (batch, length, tags) of each sentence, where the mask is."""
    best, mask = scores.asnumpy().argmax(axis=-1), mask.asnumpy() > 0
    return [[names[i] for i in row[: len(where)][where]] for row, where in zip(best, mask, strict=True)]


def chunks(tags: Iterable[str]) -> set[tuple[str, int, int]]:
    """(kind, first word, behind the last word) of each chunk.

    Tags are those of the CoNLL shared tasks, B-KIND, I-KIND and O, or with E-KIND and S-KIND; as there an I-KIND that
    follows another kind begins a chunk. A tag without such a prefix is a chunk of one word.
    """
    found, kind, begin, ended = set(), None, 0, False
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, dash, now = tag.partition("-")
        if not dash:
            prefix, now = "S", tag
        if kind is not None and (ended or prefix in "BS" or now != kind):
            found.add((kind, begin, place))
            kind = None
        if tag != OUTSIDE and kind is None:
            kind, begin = now, place
        ended = prefix in "ES"
    return found


def quality(found: list[list[str]], wanted: list[list[str]]) -> dict[str, float]:
    """The share of tags that are right, and F1 of chunks, from 0 to 1; words that were cut off have the tag O."""
    found = [[*tags, *[OUTSIDE] * (len(w) - len(tags))] for tags, w in zip(found, wanted, strict=True)]
    right = sum(a == b for f, w in zip(found, wanted, strict=True) for a, b in zip(f, w, strict=True))
    pairs = [(chunks(f), chunks(w)) for f, w in zip(found, wanted, strict=True)]
    hits, given, true = (
        sum(len(x) for x in sets) for sets in ([f & w for f, w in pairs], [f for f, _ in pairs], [w for _, w in pairs])
    )
    f1 = 2 * hits / (given + true) if given + true else 1.0
    return {"tag_accuracy": right / max(1, sum(map(len, wanted))), "f1": f1}
