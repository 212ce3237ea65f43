"""Beginnings of an English Wikipedia dump, cleaned or not (Mahoney, http://mattmahoney.net/dc/textdata.html)."""

from __future__ import annotations

from ..dataset import CorpusDataset
from ..hosted import Hosted

__all__ = ["Text8", "Fil9", "Enwik8"]


class _LargeTextCompressionBenchmark(Hosted, CorpusDataset):
    def __init__(self, segment, root, max_sentence_length=None):
        super().__init__(self._find(segment, root))
        if max_sentence_length:
            n = max_sentence_length
            self._data = [line[i : i + n] for line in self._data for i in range(0, len(line), n)]


class Text8(_LargeTextCompressionBenchmark):
    """100 million characters of cleaned text, cut into sentences of at most `max_sentence_length` words.

    >>> issubclass(gluonnlp.data.Text8, gluonnlp.data.CorpusDataset)
    True
    """

    folder = "text8"

    def __init__(self, root=None, segment="train", max_sentence_length=10000):
        self._check("segment", segment, ("train",))
        super().__init__(segment, root, max_sentence_length)


class Fil9(_LargeTextCompressionBenchmark):
    """700 million characters of cleaned text, in one sentence unless `max_sentence_length` is given.

    >>> issubclass(gluonnlp.data.Fil9, gluonnlp.data.CorpusDataset)
    True
    """

    folder = "fil9"

    def __init__(self, root=None, segment="train", max_sentence_length=None):
        self._check("segment", segment, ("train",))
        super().__init__(segment, root, max_sentence_length)


class Enwik8(_LargeTextCompressionBenchmark):
    """The first 100 million bytes of the dump, split 90/5/5.

    segment: 'train', 'val' or 'test' with the code of each byte as a token, or 'trainraw', 'valraw',
    'testraw' with the text.

    >>> issubclass(gluonnlp.data.Enwik8, gluonnlp.data.CorpusDataset)
    True
    """

    folder = "enwik8"

    def __init__(self, root=None, segment="train"):
        self._check("segment", segment, ("train", "val", "test", "trainraw", "valraw", "testraw"))
        super().__init__(segment, root)
