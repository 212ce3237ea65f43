"""Parallel corpora for machine translation."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from itertools import combinations

from core.files.archives import open_packed
from gluon.data import ArrayDataset

from ..published import File, dataset_file, fetch
from ..vocab import Vocab
from .dataset import TextLineDataset
from .hosted import Hosted
from .registry import register

__all__ = ["IWSLT2015", "WMT2014", "WMT2014BPE", "WMT2016", "WMT2016BPE", "Multi30k"]


def _get_pair_key(src_lang, tgt_lang):
    """The two languages of a corpus in one word, the same in both directions: 'en_vi'."""
    return "_".join(sorted([src_lang, tgt_lang]))


class _TranslationDataset(Hosted, ArrayDataset):
    """Pairs of a source and a target sentence; pairs with an empty sentence are left out.

    namespace: the folder below `gluon/dataset` where the archive is published.  segment: a segment, or a list of
    segments to join.  src_lang, tgt_lang: the two languages in either order.  root: where the files are or are put.

    Corpora of programs set, before they call this, `_supported_segments`, a list; `_archive_file`, {pair: (archive,
    SHA-1)}, pairs as of `_get_pair_key`; and `_data_file`, {pair: {'train_en': (file, SHA-1), 'vocab_en': ...}}. Those
    of this package have the same in the table of published files.
    """

    _supported_segments: Sequence[str]
    _languages: tuple[str, ...] = ()
    _archive_file: dict[str, tuple[str, str]] | None = None
    _data_file: dict[str, dict[str, tuple[str, str]]]

    def __init__(self, namespace, segment, src_lang, tgt_lang, root):
        for language in (src_lang, tgt_lang) if self._languages else ():
            self._check("language", language, self._languages)
        pairs = self._archive_file or {_get_pair_key(*two) for two in combinations(self._languages, 2)}
        self._check("language pair", _get_pair_key(src_lang, tgt_lang), list(pairs))
        self._namespace, self._segment = f"gluon/dataset/{namespace}", segment
        self._src_lang, self._tgt_lang, self._pair_key = src_lang, tgt_lang, _get_pair_key(src_lang, tgt_lang)
        self._root = self._folder_of(root) if self._archive_file is None else os.path.expanduser(root)
        rows = []
        for one in [segment] if isinstance(segment, str) else segment:
            self._check("segment", one, self._supported_segments)
            rows += zip(*(self._sentences(one, language) for language in (src_lang, tgt_lang)), strict=True)
        rows = [(source, target) for source, target in rows if source and target]
        super().__init__([source for source, _ in rows], [target for _, target in rows])

    def _sentences(self, segment, language):
        return TextLineDataset(self._path(self._part(segment, language)))

    def _part(self, segment, language):
        return f"{segment}_{language}"

    def _path(self, part):
        if self._archive_file is None:
            file = dataset_file(type(self).__name__, part)
        else:
            archive, archive_sha1 = self._archive_file[self._pair_key]
            file = File(*self._data_file[self._pair_key][part], f"{self._namespace}/{archive}", archive_sha1)
        return fetch(file, self._root)

    @property
    def src_vocab(self):
        """The vocabulary of the source language."""
        return self._vocab(self._src_lang)

    @property
    def tgt_vocab(self):
        """The vocabulary of the target language."""
        return self._vocab(self._tgt_lang)

    def _vocab(self, language):
        with open(self._path(f"vocab_{language}"), encoding="utf8") as file:
            return Vocab.from_json(file.read())


@register(segment=["train", "val", "test"])
class IWSLT2015(_TranslationDataset):
    """TED talks in English and Vietnamese (Cettolo et al., 2015), tokenized, with vocabularies.

    >>> gluonnlp.data.list_datasets("IWSLT2015")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "iwslt2015"
    _languages, _supported_segments = ("en", "vi"), ("train", "val", "test")

    def __init__(self, segment="train", src_lang="en", tgt_lang="vi", root=None):
        super().__init__(self.folder, segment, src_lang, tgt_lang, root)


class _NewsDataset(_TranslationDataset):
    """root: the folder that has, or gets, a folder `de_en` with the files."""

    _languages = ("de", "en")

    @classmethod
    def _folder_of(cls, root):
        return os.path.join(super()._folder_of(root), "de_en")


_NEWS_2014 = ("train", *(f"newstest{year}" for year in range(2009, 2015)))
_NEWS_2016 = ("train", *(f"newstest{year}" for year in range(2012, 2017)))


class _WMT2014(_NewsDataset):
    folder = "wmt2014"
    _supported_segments = _NEWS_2014

    def __init__(self, segment="train", src_lang="en", tgt_lang="de", full=False, root=None):
        # newstest2014 exists once in full, and once for each direction.
        self._newstest2014 = "_full" if full else "_reverse" if src_lang == "de" else ""
        super().__init__(self.folder, segment, src_lang, tgt_lang, root)

    def _part(self, segment, language):
        return super()._part(segment, language) + (self._newstest2014 if segment == "newstest2014" else "")


@register(segment=list(_NEWS_2014))
class WMT2014(_WMT2014):
    """The news translation task of 2014, English and German (Bojar et al., 2014).

    full: all of newstest2014 instead of the part that was translated from the source language.

    >>> gluonnlp.data.list_datasets("WMT2014")["segment"][:3]
    ['train', 'newstest2009', 'newstest2010']
    """


@register(segment=list(_NEWS_2014))
class WMT2014BPE(_WMT2014):
    """WMT2014 tokenized and cut into 32,000 subwords, with their vocabulary.

    >>> gluonnlp.data.list_datasets("WMT2014BPE")["segment"][:3]
    ['train', 'newstest2009', 'newstest2010']
    """


@register(segment=list(_NEWS_2016))
class WMT2016(_NewsDataset):
    """The news translation task of 2016, English and German (Bojar et al., 2016).

    >>> gluonnlp.data.list_datasets("WMT2016")["segment"][:3]
    ['train', 'newstest2012', 'newstest2013']
    """

    folder = "wmt2016"
    _supported_segments = _NEWS_2016

    def __init__(self, segment="train", src_lang="en", tgt_lang="de", root=None):
        super().__init__(self.folder, segment, src_lang, tgt_lang, root)


@register(segment=list(_NEWS_2016))
class WMT2016BPE(WMT2016):
    """WMT2016 tokenized and cut into 32,000 subwords, with their vocabulary.

    >>> gluonnlp.data.list_datasets("WMT2016BPE")["segment"][:3]
    ['train', 'newstest2012', 'newstest2013']
    """


class Multi30k(_TranslationDataset):
    """Captions of pictures in English, German, French and Czech (Elliott et al., 2016), raw text.

    Reads `train.en.gz`, `val.de.gz`, `test_2016_flickr.fr.gz`, ... from `root`; they are not hosted.

    >>> issubclass(gluonnlp.data.Multi30k, gluon.data.Dataset)
    True
    """

    folder = "multi30k"
    _languages = ("en", "de", "fr", "cs")
    _supported_segments = ("train", "val", "test_2016_flickr", "test_2017_flickr")

    def __init__(self, segment="train", src_lang="en", tgt_lang="de", root=None):
        super().__init__(self.folder, segment, src_lang, tgt_lang, root)

    def _sentences(self, segment, language):
        path = os.path.join(self._root, f"{segment}.{language}.gz")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path} does not exist; Multi30k must be put there by hand.")
        with io.TextIOWrapper(open_packed(path), encoding="utf8") as lines:
            return [line.strip() for line in lines]
