"""Sentences with their dependency trees: out of files, as numbers, in batches of similar lengths."""

from __future__ import annotations

import collections
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gluonnlp as nlp
from core.files.archives import open_packed
from gluonnlp.data.parser import KMeans

# The columns of a file with so many of them: word, tag, head, relation.
COLUMNS = {10: (1, 3, 6, 7), 8: (1, 3, 5, 6)}


class Sentence(NamedTuple):
    """Words, their tags, the number of each one's head, from 1 on, 0 for the root, and their relations to it."""

    words: list[str]
    tags: list[str]
    heads: list[int]
    relations: list[str]


def read(path: Path) -> list[Sentence]:
    """The sentences of a file in CoNLL-X or CoNLL-U, plain or `.gz`; words that stand for several ones are left out.

    SystemExit names a line that has neither 8 nor 10 columns.
    """
    sentences, rows = [], []
    with io.TextIOWrapper(open_packed(path), encoding="utf-8") as lines:
        for number, line in enumerate([*lines, "\n"], 1):
            cells = line.rstrip("\n").split("\t")
            if cells[0].isdigit():
                if len(cells) not in COLUMNS:
                    raise SystemExit(f"{path}:{number} has {len(cells)} columns set apart by tabs, not 8 or 10")
                word, tag, head, relation = (cells[i] for i in COLUMNS[len(cells)])
                rows.append((word, tag, int(head), relation))
            elif not line.strip() and rows:
                sentences.append(Sentence(*map(list, zip(*rows, strict=True))))
                rows = []
    return sentences


class ParserVocabulary:
    """Numbers of words in lower case, of tags and of relations, and the vectors that a BiaffineParser begins with."""

    PAD, ROOT, UNK = 0, 1, 2

    def __init__(self, words: nlp.Vocab, tags: list[str], relations: list[str]):
        self.words, self.tags, self.relations = words, tags, relations
        self._tags, self._relations = ({name: i for i, name in enumerate(names)} for names in (tags, relations))

    @classmethod
    def of(cls, sentences: list[Sentence], min_occur_count: int) -> ParserVocabulary:
        """That of sentences to learn from: of the words which are there more than `min_occur_count` times."""
        words = nlp.Vocab(
            nlp.data.count_tokens([word.lower() for s in sentences for word in s.words]),
            min_freq=min_occur_count + 1,
            bos_token=None,
            eos_token=None,
            reserved_tokens=["<root>"],
            token_to_idx={"<pad>": cls.PAD, "<root>": cls.ROOT, "<unk>": cls.UNK},
        )
        tags = sorted({tag for s in sentences for tag in s.tags})
        relations = sorted({relation for s in sentences for relation in s.relations} - {"root"})
        return cls(words, ["<pad>", "<root>", "<unk>", *tags], ["<pad>", "root", *relations])

    def numbers(self, sentence: Sentence) -> np.ndarray:
        """(words + 1, 4), int32: word, tag, head and relation, of the root first;
        unknown relations are that of padding.
        """
        words = self.words[[word.lower() for word in sentence.words]]
        tags = [self._tags.get(tag, self.UNK) for tag in sentence.tags]
        relations = [self._relations.get(relation, self.PAD) for relation in sentence.relations]
        rows = zip(words, tags, sentence.heads, relations, strict=True)
        return np.array([(self.ROOT, self.ROOT, 0, self.ROOT), *rows], "int32")

    @property
    def words_in_train(self) -> int:
        return len(self.words)

    @property
    def rel_size(self) -> int:
        return len(self.relations)

    def has_pret_embs(self) -> bool:
        return False

    def get_word_embs(self, word_dims: int) -> np.ndarray:
        return np.zeros((len(self.words), word_dims), "float32")

    def get_tag_embs(self, tag_dims: int) -> np.ndarray:
        return np.random.standard_normal((len(self.tags), tag_dims)).astype("float32")


class Batches:
    """Batches of about `tokens` tokens, padding among them, in `buckets` of lengths that need little of it.

    Gives the places of the samples, and their numbers (length, samples, 4). Raises ValueError where there is no sample.
    """

    def __init__(self, samples: list[np.ndarray], buckets: int, tokens: int, *, shuffle: bool):
        lengths = np.array([len(sample) for sample in samples])
        counts = collections.Counter(lengths.tolist())
        clusters = np.searchsorted(KMeans(min(buckets, len(counts)), counts).splits, lengths)
        self._samples, self._shuffle = samples, shuffle
        self._buckets = [np.flatnonzero(clusters == cluster) for cluster in np.unique(clusters)]
        self._parts = [min(max(lengths[b].max() * len(b) // tokens, 1), len(b)) for b in self._buckets]

    def __len__(self) -> int:
        return sum(self._parts)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        batches = []
        for bucket, parts in zip(self._buckets, self._parts, strict=True):
            batches += np.array_split(np.random.permutation(bucket) if self._shuffle else bucket, parts)
        order = np.random.permutation(len(batches)) if self._shuffle else range(len(batches))
        for chosen in (batches[i] for i in order):
            padded = np.zeros((max(len(self._samples[i]) for i in chosen), len(chosen), 4), "int32")
            for column, i in enumerate(chosen):
                padded[: len(self._samples[i]), column] = self._samples[i]
            yield chosen, padded
