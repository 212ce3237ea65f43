"""Data sets for sentence classification: sentiment, subjectivity, question types."""

from __future__ import annotations

import json
import os

from gluon.data import SimpleDataset

from .hosted import Hosted
from .registry import register

__all__ = ["IMDB", "MR", "TREC", "SUBJ", "SST_1", "SST_2", "CR", "MPQA"]


class SentimentDataset(Hosted, SimpleDataset):
    """Lists of a text and its label, an integer.

    root: where the published JSON file, or the text file of Kim (2014) with `label text` lines, lies;
    without either the JSON file is fetched.
    """

    # segment: the text file, and its encoding
    _text_files: dict[str, tuple[str, str]] = {}

    def __init__(self, segment, root=None):
        ours = [name for name in _names_in(self._root(root)) if name.startswith(segment) and name.endswith(".json")]
        text, encoding = self._text_files.get(segment, (None, None))
        released = self._original(root, text) if text and not ours else None
        samples = _read_text(released[0], encoding) if released else _read_json(self._find(segment, root))
        super().__init__(samples)


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
    """

    folder = "imdb"
    _segments = ("train", "test", "unsup")


@register()
class MR(_WholeDataset):
    """Film reviews in a sentence (Pang and Lee, 2005): 1 positive, 0 negative; 10,662 samples."""

    folder = "mr"
    _text_files = {"all": ("rt-polarity.all", "latin1")}


@register(segment=["train", "test"])
class TREC(_SegmentedDataset):
    """Questions in 6 classes (Li and Roth, 2002); 5,452 train, 500 test."""

    folder = "trec"
    _segments = ("train", "test")
    _text_files = {"train": ("TREC.train.all", "latin1"), "test": ("TREC.test.all", "latin1")}


@register()
class SUBJ(_WholeDataset):
    """Sentences of reviews and of plots (Pang and Lee, 2004): 0 subjective, 1 objective; 10,000 samples."""

    folder = "subj"
    _text_files = {"all": ("subj.all", "latin1")}


@register(segment=["train", "dev", "test"])
class SST_1(_SegmentedDataset):
    """Stanford Sentiment Treebank (Socher et al., 2013) in 5 classes, from 0 very negative to 4 very positive.

    The published training segment has phrases besides the sentences, the text file has sentences only.
    """

    folder = "sst-1"
    _text_files = {s: (f"stsa.fine.{s}", "utf8") for s in ("train", "dev", "test")}


@register(segment=["train", "dev", "test"])
class SST_2(_SegmentedDataset):
    """Stanford Sentiment Treebank (Socher et al., 2013) without neutral samples: 1 positive, 0 negative.

    The published training segment has phrases besides the sentences, the text file has sentences only.
    """

    folder = "sst-2"
    _text_files = {s: (f"stsa.binary.{s}", "utf8") for s in ("train", "dev", "test")}


@register()
class CR(_WholeDataset):
    """Customer reviews (Hu and Liu, 2004): 1 positive, 0 negative; 3,775 samples."""

    folder = "cr"
    _text_files = {"all": ("custrev.all", "utf8")}


@register()
class MPQA(_WholeDataset):
    """Opinion polarity of phrases (Wiebe, Wilson and Cardie, 2005): 1 positive, 0 negative; 10,606 samples."""

    folder = "mpqa"
    _text_files = {"all": ("mpqa.all", "utf8")}


def _names_in(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def _read_json(path):
    with open(path, encoding="utf8") as file:
        return json.load(file)


def _read_text(path, encoding):
    with open(path, encoding=encoding) as lines:
        pairs = [line.rstrip("\n").partition(" ") for line in lines]
    return [[text.strip(), int(label)] for label, _, text in pairs]
