"""Counting, cutting and splitting of token sequences; published vocabularies."""

from __future__ import annotations

import collections
import functools
import os

import numpy as np

from gluon.data import SimpleDataset
from gluon.hub import SCHEME

from .. import _constants as C
from ..published import File, fetch, table

__all__ = [
    "Counter",
    "count_tokens",
    "concat_sequence",
    "slice_sequence",
    "train_valid_split",
    "line_splitter",
    "whitespace_splitter",
    "Splitter",
]

# Where vocabularies lie below the repository; GluonNLP's programs for XLNet import it to download theirs.
_url_format = "{repo_url}gluon/dataset/vocab/{file_name}.zip"


class Counter(collections.Counter):
    """Frequencies of tokens.

    >>> counter = gluonnlp.data.Counter(["a", "b", "a", "c"])
    >>> counter.discard(2, "<unk>")["<unk>"]
    2
    """

    def discard(self, min_freq, unknown_token):
        """A copy in which the tokens rarer than `min_freq` are counted as `unknown_token`."""
        kept = Counter({token: count for token, count in self.items() if count >= min_freq})
        kept[unknown_token] += sum(count for count in self.values() if count < min_freq)
        return kept


class DefaultLookupDict(dict):
    """A dictionary whose `d[key]` is `default` for absent keys; nothing is added by looking."""

    def __init__(self, default, d=()):
        super().__init__(d)
        self.default = default

    def __missing__(self, key):
        return self.default


def count_tokens(tokens, to_lower=False, counter=None):
    """The frequencies of `tokens`, lower-cased if wanted, added to `counter` if given.

    >>> gluonnlp.data.count_tokens(["a", "b", "a"])["a"]
    2
    """
    if to_lower:
        tokens = [t.lower() for t in tokens]
    counter = Counter() if counter is None else counter
    counter.update(tokens)
    return counter


def concat_sequence(sequences):
    """All tokens of a list of token lists in one list; empty tokens, 0 and None are left out.

    >>> gluonnlp.data.concat_sequence([[1, 2], [3]])
    [1, 2, 3]
    """
    return [token for sequence in sequences for token in sequence if token]


def slice_sequence(sequence, length, pad_last=False, pad_val=C.PAD_TOKEN, overlap=0):
    """Pieces of `length` items, each beginning `overlap` items before the end of the one before.

    An incomplete last piece is dropped, or with `pad_last` filled up with `pad_val` (lists only).
    ValueError unless length > overlap.

    >>> gluonnlp.data.slice_sequence([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4]]
    """
    if pad_last:
        sequence = sequence + [pad_val] * _slice_pad_length(len(sequence), length, overlap)
    step = _step(length, overlap)
    return [sequence[i : i + length] for i in range(0, len(sequence) - length + 1, step)]


def _slice_pad_length(num_items, length, overlap=0):
    """How many items `slice_sequence` has to add."""
    return -(num_items - length) % _step(length, overlap)


def _step(length, overlap):
    if length <= overlap:
        raise ValueError(f"Pieces of {length} items cannot overlap by {overlap}.")
    return length - overlap


def train_valid_split(dataset, valid_ratio=0.05, stratify=None):
    """A random split into training and validation data (two SimpleDatasets), by NumPy's global generator.

    `valid_ratio` of the samples, rounded up, are validation data; with `stratify`, a list with a
    class for each sample, that many of each class.

    >>> train, valid = gluonnlp.data.train_valid_split(gluon.data.SimpleDataset(list(range(10))), valid_ratio=0.2)
    >>> len(train), len(valid)
    (8, 2)
    """
    if not 0.0 <= valid_ratio <= 1.0:
        raise ValueError(f"valid_ratio is a share between 0 and 1, not {valid_ratio}.")
    if not stratify:
        valid, train = _random_split(dataset, np.arange(len(dataset)), valid_ratio)
    else:
        if not isinstance(stratify, list):
            raise TypeError(f"stratify is a list of classes, not a {type(stratify).__name__}.")
        if len(stratify) != len(dataset):
            raise ValueError(f"stratify has {len(stratify)} classes for {len(dataset)} samples.")
        classes, class_of = np.unique(stratify, return_inverse=True)
        valid, train = [], []
        for i in range(len(classes)):
            of_class = _random_split(dataset, np.nonzero(class_of == i)[0], valid_ratio)
            valid += of_class[0]
            train += of_class[1]
        np.random.shuffle(valid)
        np.random.shuffle(train)
    return SimpleDataset(train), SimpleDataset(valid)


def _random_split(dataset, indices, ratio):
    np.random.shuffle(indices)
    samples = [dataset[i] for i in indices]
    cut = int(np.ceil(len(samples) * ratio))
    return samples[:cut], samples[cut:]


def line_splitter(s):
    """The lines of a string, cut at every line boundary of Unicode.

    >>> gluonnlp.data.line_splitter("a b")
    ['a b']
    """
    return s.splitlines()


def whitespace_splitter(s):
    """The words of a string.

    >>> gluonnlp.data.whitespace_splitter("a  b")
    ['a', 'b']
    """
    return s.split()


class Splitter:
    """Cuts a string at `separator` (None: at white space).

    >>> gluonnlp.data.Splitter(",")("a,b")
    ['a', 'b']
    """

    def __init__(self, separator=None):
        self._separator = separator

    def __call__(self, s):
        return s.split(self._separator)


def short_hash(name):
    """The first 8 digits of the SHA-1 of the published vocabulary `name`; ValueError when there is none."""
    return _published_vocabulary(name)["sha1"][:8]


def _load_pretrained_vocab(name, root, cls=None):
    """The published vocabulary `name`, from `root` or downloaded to it; `cls` is Vocab unless given.

    A folder of transformers, or `hf://OWNER/NAME`: the vocabulary of its tokenizer.
    """
    from ..vocab import BERTVocab, Vocab
    from .pretrained_text import load_tokenizer

    if name.startswith(SCHEME) or os.path.isdir(name):
        return load_tokenizer(name)[1]
    path, special_tokens = _fetch_vocabulary(name, root)
    if path.endswith(".spiece"):
        return BERTVocab.from_sentencepiece(path, **special_tokens)
    with open(path, encoding="utf8") as file:
        return (cls or Vocab).from_json(file.read())


def _load_pretrained_sentencepiece_tokenizer(name, root, **kwargs):
    """The tokenizer of the published sentencepiece model `name`."""
    from .transforms import SentencepieceTokenizer

    path, _ = _fetch_vocabulary(name, root)
    if not path.endswith(".spiece"):
        raise ValueError(f"{name} is published as a word list, not as a sentencepiece model.")
    return SentencepieceTokenizer(path, **kwargs)


def _fetch_vocabulary(name, root):
    row = _published_vocabulary(name)
    stem = f"{name}-{short_hash(name)}"
    special_tokens = dict(pair.split("=") for pair in (row["special_tokens"] or "").split(",") if pair)
    # The archives have no published sum; the file within has.
    file = File(stem + row["extension"], row["sha1"], _url_format.format(repo_url="", file_name=stem), None)
    return fetch(file, os.path.expanduser(root)), special_tokens


def _published_vocabulary(name):
    known = _vocabularies()
    if name not in known:
        raise ValueError(f"There is no published vocabulary {name!r}. There are: {', '.join(known)}")
    return known[name]


@functools.cache
def _vocabularies():
    return {row["name"]: row for row in table("vocabularies")}
