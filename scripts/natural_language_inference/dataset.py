"""Pairs of sentences, and whether the second follows from the first, out of files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import gluonnlp as nlp
from gluon.data import DataLoader
from gluonnlp.data import batchify
from scripts.common import parallel

LABELS = ("neutral", "contradiction", "entailment")


class Pair(NamedTuple):
    """The words of two sentences in lower case, and the number of the label."""

    premise: list[str]
    hypothesis: list[str]
    label: int


def read(path: Path, limit: int | None) -> list[Pair]:
    """The first `limit` pairs that have a label, of a file of SNLI, or of lines of two sentences and a label.

    Columns are set apart by tabs. A file of SNLI begins with their names; its sentences are those of the parse trees.
    SystemExit names a line without three columns.
    """
    with open(path, encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        first = next(rows, [])
        if "gold_label" in first:
            places = [first.index(f"sentence{i}_binary_parse") for i in (1, 2)] + [first.index("gold_label")]
            texts = ([row[i] for i in places] for row in rows)
        else:
            texts = _of_three(path, [first, *rows])
        found = [
            Pair(_words(one), _words(other), LABELS.index(label)) for one, other, label in texts if label in LABELS
        ]
    return found[:limit]


def vocabulary(pairs: list[Pair]) -> nlp.Vocab:
    """The words of the pairs."""
    return nlp.Vocab(nlp.data.count_tokens([word for p in pairs for words in p[:2] for word in words]))


def batches(pairs: list[Pair], vocab: nlp.Vocab, batch_size: int, *, shuffle: bool) -> DataLoader:
    """Batches of premises (batch, length), hypotheses (batch, length) and labels (batch,), of similar lengths."""
    samples = [(vocab[pair.premise], vocab[pair.hypothesis], pair.label) for pair in pairs]
    lengths = [max(len(premise), len(hypothesis)) for premise, hypothesis, _ in samples]
    sampler = nlp.data.SortedBucketSampler(lengths, batch_size, shuffle=shuffle)
    pad = batchify.Pad(pad_val=vocab[vocab.padding_token], dtype="int32")
    together = batchify.Tuple(pad, pad, batchify.Stack("float32"))
    return DataLoader(samples, batch_sampler=parallel.shared(sampler) if shuffle else sampler, batchify_fn=together)


def _of_three(path: Path, rows: list[list[str]]):
    for number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise SystemExit(f"{path}:{number} has {len(row)} columns set apart by tabs, not two sentences and a label")
        yield row


def _words(text: str) -> list[str]:
    """What is set apart by blanks, without the brackets of a tree."""
    return [word.lower() for word in text.split() if word not in "()"]
