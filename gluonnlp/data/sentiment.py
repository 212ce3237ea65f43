"""Data sets for sentence classification: sentiment, subjectivity, question types."""

from __future__ import annotations

import os
import re

from core.files.text import read_json, reading
from gluon.data import SimpleDataset

from .hosted import Hosted
from .registry import register

__all__ = ["IMDB", "MR", "TREC", "SUBJ", "SST_1", "SST_2", "CR", "MPQA"]

_TREE_TOKEN = re.compile(r"\(\d+|\)|[^\s()]+")


class SentimentDataset(Hosted, SimpleDataset):
    """Lists of a text and its label, an integer.

    root: where the published JSON file, or the text file of Kim (2014) with `label text` lines, lies;
    without either the JSON file is fetched.
    """

    # segment: the text file, and its encoding
    _text_files: dict[str, tuple[str, str]] = {}

    def __init__(self, segment, root=None):
        super().__init__(self._samples(segment, root))

    def _samples(self, segment, root):
        ours = [
            name for name in _names_in(self._folder_of(root)) if name.startswith(segment) and name.endswith(".json")
        ]
        if not ours:
            released = self._released_samples(segment, root)
            if released is not None:
                return released
        return read_json(self._find(segment, root))

    def _released_samples(self, segment, root):
        """Those of the text file, None where there is none."""
        text, encoding = self._text_files.get(segment, (None, None))
        paths = self._original(root, text) if text else None
        return _read_text(paths[0], encoding) if paths else None


class _WholeDataset(SentimentDataset):
    """A data set without fixed segments."""

    def __init__(self, root=None):
        super().__init__("all", root)


class _SegmentedDataset(SentimentDataset):
    _segments = ("train", "dev", "test")

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, self._segments)
        super().__init__(segment, root)


@register(segment=["train", "test", "unsup"])
class IMDB(_SegmentedDataset):
    """Film reviews of IMDB (Maas et al., 2011) with ratings from 1 to 10, or 0 in 'unsup'.

    25,000 train, 25,000 test, 50,000 unsup.

    >>> gluonnlp.data.list_datasets("IMDB")
    {'segment': ['train', 'test', 'unsup']}
    """

    folder = "imdb"
    _segments = ("train", "test", "unsup")


@register()
class MR(_WholeDataset):
    """Film reviews in a sentence (Pang and Lee, 2005): 1 positive, 0 negative; 10,662 samples.

    >>> gluonnlp.data.list_datasets("MR")
    {}
    """

    folder = "mr"
    _text_files = {"all": ("rt-polarity.all", "latin1")}


@register(segment=["train", "test"])
class TREC(_SegmentedDataset):
    """Questions in 6 classes (Li and Roth, 2002); 5,452 train, 500 test.

    >>> gluonnlp.data.list_datasets("TREC")
    {'segment': ['train', 'test']}
    """

    folder = "trec"
    _segments = ("train", "test")
    _text_files = {"train": ("TREC.train.all", "latin1"), "test": ("TREC.test.all", "latin1")}


@register()
class SUBJ(_WholeDataset):
    """Sentences of reviews and of plots (Pang and Lee, 2004): 0 subjective, 1 objective; 10,000 samples.

    >>> gluonnlp.data.list_datasets("SUBJ")
    {}
    """

    folder = "subj"
    _text_files = {"all": ("subj.all", "latin1")}


class _Treebank(_SegmentedDataset):
    """The published training segment has each phrase of the sentences once, in lower case, with its first label.

    It is read from the trees in `trees/train.txt` of `root` as well; from Kim's text file, which has the
    sentences only, where those are not there.
    """

    # label in the trees: label here; phrases with others are left out
    _labels: dict[int, int]

    def _released_samples(self, segment, root):
        trees = self._original(root, "trees/train.txt") if segment == "train" else None
        if not trees:
            return super()._released_samples(segment, root)
        return [[text, self._labels[label]] for text, label in _read_phrases(*trees) if label in self._labels]


@register(segment=["train", "dev", "test"])
class SST_1(_Treebank):
    """Stanford Sentiment Treebank (Socher et al., 2013) in 5 classes, from 0 very negative to 4 very positive.

    156,817 train (phrases), 1,101 dev, 2,210 test.

    >>> gluonnlp.data.list_datasets("SST_1")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "sst-1"
    _text_files = {s: (f"stsa.fine.{s}", "utf8") for s in ("train", "dev", "test")}
    _labels = {label: label for label in range(5)}


@register(segment=["train", "dev", "test"])
class SST_2(_Treebank):
    """Stanford Sentiment Treebank (Socher et al., 2013) without neutral samples: 1 positive, 0 negative.

    76,961 train (phrases), 872 dev, 1,821 test.

    >>> gluonnlp.data.list_datasets("SST_2")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "sst-2"
    _text_files = {s: (f"stsa.binary.{s}", "utf8") for s in ("train", "dev", "test")}
    _labels = {0: 0, 1: 0, 3: 1, 4: 1}


@register()
class CR(_WholeDataset):
    """Customer reviews (Hu and Liu, 2004): 1 positive, 0 negative; 3,775 samples.

    >>> gluonnlp.data.list_datasets("CR")
    {}
    """

    folder = "cr"
    _text_files = {"all": ("custrev.all", "utf8")}


@register()
class MPQA(_WholeDataset):
    """Opinion polarity of phrases (Wiebe, Wilson and Cardie, 2005): 1 positive, 0 negative; 10,606 samples.

    >>> gluonnlp.data.list_datasets("MPQA")
    {}
    """

    folder = "mpqa"
    _text_files = {"all": ("mpqa.all", "utf8")}


def _names_in(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def _read_text(path, encoding):
    with open(path, encoding=encoding) as lines, reading(path):
        pairs = [line.rstrip("\n").partition(" ") for line in lines]
        return [[text.strip(), int(label)] for label, _, text in pairs]


def _read_phrases(path):
    """The text in lower case and the label of each node in a file with a tree `(label child child)` a line, once."""
    labels: dict[str, int] = {}
    with open(path, encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            open_nodes: list[tuple[int, list[str]]] = []
            for token in _TREE_TOKEN.findall(line):
                if token[0] == "(":
                    open_nodes.append((int(token[1:]), []))
                elif not open_nodes:
                    raise ValueError(f"{path}, line {number}: {token!r} outside of a tree.")
                elif token != ")":
                    open_nodes[-1][1].append(token.lower())
                else:
                    label, words = open_nodes.pop()
                    labels.setdefault(" ".join(words), label)
                    if open_nodes:
                        open_nodes[-1][1].extend(words)
            if open_nodes:
                raise ValueError(f"{path}, line {number}: a tree without end.")
    return labels.items()
