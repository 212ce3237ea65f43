"""Tagged and parsed sentences: the CoNLL shared tasks and Universal Dependencies."""

from __future__ import annotations

import io

from core.files.archives import open_packed
from gluon.data import SimpleDataset

from ..published import dataset_parts
from .hosted import Hosted
from .registry import register

__all__ = ["CoNLL2000", "CoNLL2001", "CoNLL2002", "CoNLL2004", "UniversalDependencies21"]


class _CoNLLDataset(Hosted, SimpleDataset):
    """A sentence is a list with one list for each column of the file: words, tags, ...

    Several files, of the same sentences, add their columns to one sentence.
    """

    _encoding = "utf8"
    _comments = False

    def __init__(self, parts, root):
        files = [_sentences(self._find(part, root), self._encoding, self._comments) for part in parts]
        super().__init__([[column for of_file in sentence for column in of_file] for sentence in zip(*files)])


@register(segment=["train", "test"])
class CoNLL2000(_CoNLLDataset):
    """Chunking (Tjong Kim Sang and Buchholz, 2000): words, parts of speech, chunk tags.

    >>> gluonnlp.data.list_datasets("CoNLL2000")
    {'segment': ['train', 'test']}
    """

    folder = "conll2000"

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, ("train", "test"))
        super().__init__([segment], root)


@register(segment=["train", "testa", "testb"], part=[1, 2, 3])
class CoNLL2001(_CoNLLDataset):
    """Clauses (Tjong Kim Sang and Déjean, 2001): words, parts of speech, chunks, clause tags.

    part: 1 for the beginnings of clauses, 2 for their ends, 3 for whole clauses.

    >>> gluonnlp.data.list_datasets("CoNLL2001")
    {'segment': ['train', 'testa', 'testb'], 'part': [1, 2, 3]}
    """

    folder = "conll2001"

    def __init__(self, part, segment="train", root=None):
        self._check("part", part, (1, 2, 3))
        self._check("segment", segment, ("train", "testa", "testb"))
        super().__init__([f"{segment}_{part}"], root)


@register(segment=["train", "testa", "testb"], lang=["esp", "ned"])
class CoNLL2002(_CoNLLDataset):
    """Named entities (Tjong Kim Sang, 2002): words, in Dutch parts of speech, and tags.

    lang: 'esp' for Spanish, 'ned' for Dutch.

    >>> gluonnlp.data.list_datasets("CoNLL2002")
    {'segment': ['train', 'testa', 'testb'], 'lang': ['esp', 'ned']}
    """

    folder = "conll2002"
    _encoding = "latin1"

    def __init__(self, lang, segment="train", root=None):
        self._check("lang", lang, ("esp", "ned"))
        self._check("segment", segment, ("train", "testa", "testb"))
        super().__init__([f"{segment}_{lang}"], root)


@register(segment=["train", "dev", "test"])
class CoNLL2004(_CoNLLDataset):
    """Semantic roles (Carreras and Màrquez, 2004).

    Words; parts of speech, chunks and clauses; named entities; target verbs and the roles for each of them.

    >>> gluonnlp.data.list_datasets("CoNLL2004")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "conll2004"

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, ("train", "dev", "test"))
        super().__init__([f"{segment}_{kind}" for kind in ("word", "synt", "ne", "props")], root)


_TREEBANKS: dict[str, list[str]] = {}
for _part in dataset_parts("UniversalDependencies21"):
    _segment, _, _language = _part.partition("_")
    _TREEBANKS.setdefault(_language, []).append(_segment)


@register(segment=["train", "dev", "test"], lang=list(_TREEBANKS))
class UniversalDependencies21(_CoNLLDataset):
    """Treebanks of Universal Dependencies 2.1 (Nivre et al., 2017): the ten columns of the CoNLL-U format.

    lang: language and treebank, such as 'en' or 'en_lines'; some have no training or development segment.

    >>> gluonnlp.data.list_datasets("UniversalDependencies21")["segment"]
    ['train', 'dev', 'test']
    """

    folder = "ud2.1"
    _comments = True

    def __init__(self, lang="en", segment="train", root=None):
        self._check("lang", lang, list(_TREEBANKS))
        self._check("segment", segment, _TREEBANKS[lang])
        super().__init__([f"{segment}_{lang}"], root)


def _sentences(path, encoding, comments):
    """The sentences of a file, gzipped or not: for each a tuple of its columns."""
    sentences, rows = [], []
    with io.TextIOWrapper(open_packed(path), encoding=encoding) as lines:
        for line in lines:
            fields = line.split()
            if comments and not rows and line.startswith("#"):
                continue
            if fields:
                rows.append(fields)
            elif rows:
                sentences.append(tuple(map(list, zip(*rows))))
                rows = []
    if rows:
        sentences.append(tuple(map(list, zip(*rows))))
    return sentences
