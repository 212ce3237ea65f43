"""Intents and slots of what people ask of machines."""

from __future__ import annotations

import os

import numpy as np

from gluon.data import SimpleDataset

from ..vocab import Vocab
from .hosted import Hosted
from .registry import register
from .utils import count_tokens

__all__ = ["ATISDataset", "SNIPSDataset"]

_SEGMENTS = ["train", "dev", "test"]


class _IntentSlotDataset(Hosted, SimpleDataset):
    """Tuples of the words, their slot tags (a list of the same length) and the intents (int32 array of indices).

    segment: 'train', 'dev' or 'test'.  root: where the published files, or the folders train, valid,
    test with `seq.in`, `seq.out` and `label` (Goo et al., 2018), lie.
    """

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, _SEGMENTS)
        self._at = root
        released = self._released(segment)
        if released:
            words, tags, intents = released
        else:
            words, tags, intents = (_lines(self._find(f"{segment}_{p}", root)) for p in ("sentence", "tags", "intent"))
        index = self.intent_vocab
        super().__init__(
            [
                (w.split(), t.split(), np.array([index[i] for i in _intents(names)], "int32"))
                for w, t, names in zip(words, tags, intents, strict=True)
            ]
        )

    @property
    def intent_vocab(self):
        """The vocabulary of intents."""
        return self._vocab("intent", 2, _intents)

    @property
    def slot_vocab(self):
        """The vocabulary of slot tags."""
        return self._vocab("slot", 1, str.split)

    def _released(self, segment):
        folder = "valid" if segment == "dev" else segment
        if os.path.isfile(os.path.join(self._folder_of(self._at), f"{segment}_sentence.txt")):
            return None
        paths = self._original(self._at, *(f"{folder}/{name}" for name in ("seq.in", "seq.out", "label")))
        return [_lines(path) for path in paths] if paths else None

    def _vocab(self, kind, column, split):
        segments = [self._released(s) for s in _SEGMENTS]
        if not all(segments):
            with open(self._find(f"{kind}_vocab", self._at), encoding="utf8") as file:
                return Vocab.from_json(file.read())
        names = [name for parts in segments for line in parts[column] for name in split(line)]
        return Vocab(count_tokens(names), unknown_token=None, padding_token=None, bos_token=None, eos_token=None)


@register(segment=_SEGMENTS)
class ATISDataset(_IntentSlotDataset):
    """Questions about flights (Hemphill et al., 1990): 4,478 train, 500 dev, 893 test.

    >>> gluonnlp.data.list_datasets("ATISDataset")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "atis"


@register(segment=_SEGMENTS)
class SNIPSDataset(_IntentSlotDataset):
    """Requests to a voice assistant (Coucke et al., 2018): 13,084 train, 700 dev, 700 test.

    >>> gluonnlp.data.list_datasets("SNIPSDataset")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "snips"


def _lines(path):
    with open(path, encoding="utf8") as lines:
        return [line.strip() for line in lines]


def _intents(names):
    """An utterance may have several intents, joined by ';' (GluonNLP) or '#' (the released files)."""
    return names.replace("#", ";").split(";")
