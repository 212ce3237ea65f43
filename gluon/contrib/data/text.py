"""WikiText for language models: rows of word numbers, and of the words that follow them (Merity et al., 2017)."""

from __future__ import annotations

import os

import numpy as np

from core import ndarray as nd
from core.base import MXNetError, data_dir
from core.contrib.text.utils import count_tokens_from_str
from core.contrib.text.vocab import Vocabulary
from core.files.archives import Archive
from gluon.data.dataset import _DownloadedDataset
from gluon.store import check_sha1, download, repo_file_url, write_checked

__all__ = ["WikiText2", "WikiText103"]

EOS_TOKEN = "<eos>"


class _WikiText(_DownloadedDataset):
    """Samples (seq_len,), (seq_len,) of int32 numbers; every line that is not empty ends with `<eos>`.

    root: the folder of the files, which are downloaded where they are missing. segment: "train", "validation" or
    "test". vocab: a `Vocabulary`, by default one of all words of the segment. Words at the end that fill no row are
    left out.
    """

    _folder = ""
    _archive = ("", "")
    _files: dict[str, tuple[str, str]] = {}

    def __init__(self, root=None, segment="train", vocab=None, seq_len=35):
        if segment not in self._files:
            raise MXNetError(f"segment is one of {', '.join(self._files)}, given {segment!r}")
        self._segment, self._vocab, self._seq_len, self._counter = segment, vocab, seq_len, None
        super().__init__(os.path.join(data_dir(), "datasets", self._folder) if root is None else root, None)

    @property
    def vocabulary(self) -> Vocabulary:
        """Numbers of the words."""
        return self._vocab

    @property
    def frequencies(self):
        """How often each word occurs in the segment, a Counter."""
        return self._counter

    def _get_data(self) -> None:
        with open(self._fetched(), encoding="utf8") as file:
            content = file.read()
        self._counter = count_tokens_from_str(content)
        if not self._vocab:
            self._vocab = Vocabulary(counter=self._counter, reserved_tokens=[EOS_TOKEN])
        lines = [line.split() for line in content.splitlines()]
        words = [word for line in lines if line for word in (*line, EOS_TOKEN)]
        numbers = np.array(self._vocab.to_indices(words), np.int32)
        end = (len(numbers) - 1) // self._seq_len * self._seq_len
        shape = (-1, self._seq_len)
        self._data = nd.array(numbers[:end].reshape(shape), dtype="int32")
        self._label = nd.array(numbers[1 : end + 1].reshape(shape), dtype="int32")

    def _fetched(self) -> str:
        """The path of the segment's file, unpacked from the archive where it is missing or damaged."""
        name, sha1 = self._files[self._segment]
        path = os.path.join(self._root, name)
        if not (os.path.exists(path) and check_sha1(path, sha1)):
            archive, archive_sha1 = self._archive
            url = repo_file_url(f"gluon/dataset/{self._folder}", archive)
            packed = Archive(download(url, path=self._root, sha1_hash=archive_sha1))
            with packed.open(next(m for m in packed.names() if os.path.basename(m) == name)) as member:
                write_checked(member, path, sha1)
        return path


class WikiText2(_WikiText):
    """2 million words."""

    _folder = "wikitext-2"
    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }


class WikiText103(_WikiText):
    """103 million words."""

    _folder = "wikitext-103"
    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }
