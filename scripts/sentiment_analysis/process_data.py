"""The seven data sets of Kim (2014) as word numbers, in the parts that are trained, chosen and tested on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gluonnlp as nlp
from gluon.data import DataLoader
from gluonnlp.data import batchify
from scripts.common import parallel

# Every text gets this many padding tokens at both ends: one less than the widest filter, so that each word is
# seen by every position of every filter (Kim, 2014, in his program).
MARGIN = 4

# name: data set, folder, the parts it comes in
DATA_SETS = {
    "TREC": (nlp.data.TREC, "trec", ("train", "test")),
    "SST-1": (nlp.data.SST_1, "sst", ("train", "dev")),
    "SST-2": (nlp.data.SST_2, "sst", ("train", "dev", "test")),
    "MR": (nlp.data.MR, "mr", ()),
    "Subj": (nlp.data.SUBJ, "subj", ()),
    "CR": (nlp.data.CR, "cr", ()),
    "MPQA": (nlp.data.MPQA, "mpqa", ()),
}
FOLDS = 10


class Parts(NamedTuple):
    """Samples `(words, label)` to train on, to choose the epoch by (may be none), and to test."""

    train: list
    dev: list
    test: list


def fetch(name: str, root: Path | None) -> None:
    """Sees to it that the files of the data set are below `root`, or where they are downloaded to."""
    data_set, folder, segments = DATA_SETS[name]
    for segment in segments or (None,):
        data_set(*([segment] if segment else []), **_where(root, folder))


def _where(root: Path | None, folder: str) -> dict[str, str]:
    return {} if root is None else {"root": str(root / folder)}


def repeats(
    name: str, root: Path | None, *, dev_share: float, count: int | None, seed: int, lower: bool
) -> Iterator[Parts]:
    """The parts of each repetition of an experiment.

    Data with a test part are trained on `count` times (5 when None), seed by seed. Data without are split into ten
    folds by a permutation that `seed` decides, and `count` of the folds (all when None) are tested on in turn. Where
    there is no dev part, `dev_share` of the training samples, taken at random, are one.

    SST-1: its test part is not in circulation with the others, so the 1,101 dev sentences are tested on.
    """
    data_set, folder, segments = DATA_SETS[name]
    if segments:
        segment = {s: _words(data_set(s, **_where(root, folder)), lower) for s in segments}
        for repeat in range(count or 5):
            test = segment["test" if "test" in segment else "dev"]
            if len(segment) == 3:
                yield Parts(segment["train"], segment["dev"], test)
            else:
                yield Parts(*_hold_out(segment["train"], dev_share, seed + repeat), test)
        return
    samples = _words(data_set(**_where(root, folder)), lower)
    order = np.random.RandomState(seed).permutation(len(samples))
    for fold in range(min(count or FOLDS, FOLDS)):
        test = [samples[i] for i in order[fold::FOLDS]]
        rest = [samples[i] for part in range(FOLDS) if part != fold for i in order[part::FOLDS]]
        yield Parts(*_hold_out(rest, dev_share, seed + fold), test)


def vocabulary(samples: list, min_freq: int) -> nlp.Vocab:
    """The words that occur `min_freq` times in `samples`, by falling frequency; all others are one unknown word."""
    counter = nlp.data.count_tokens([word for words, _ in samples for word in words])
    return nlp.Vocab(counter, min_freq=min_freq, bos_token=None, eos_token=None)


def batches(samples: list, vocab: nlp.Vocab, batch_size: int, *, shuffle: bool) -> DataLoader:
    """Batches of word numbers (length, batch) and labels (batch,); texts of similar length share a batch."""
    pad = vocab[vocab.padding_token]
    margin = [pad] * MARGIN
    numbered = [(margin + vocab[words] + margin, label) for words, label in samples]
    lengths = [len(words) for words, _ in numbered]
    sampler = nlp.data.SortedBucketSampler(lengths, batch_size, mult=20, shuffle=shuffle)
    together = batchify.Tuple(batchify.Pad(pad_val=pad, dtype="int32"), batchify.Stack("float32"))

    def time_major(chosen):
        words, labels = together(chosen)
        return words.T, labels

    return DataLoader(numbered, batch_sampler=parallel.shared(sampler) if shuffle else sampler, batchify_fn=time_major)


def _words(samples, lower: bool) -> list:
    return [((text.lower() if lower else text).split(), label) for text, label in samples]


def _hold_out(samples: list, share: float, seed: int) -> tuple[list, list]:
    order = np.random.RandomState(seed).permutation(len(samples))
    held = int(share * len(samples))
    return [samples[i] for i in sorted(order[held:])], [samples[i] for i in sorted(order[:held])]
