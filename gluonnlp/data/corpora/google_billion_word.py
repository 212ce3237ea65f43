"""Google's One Billion Word benchmark (Chelba et al., 2013)."""

from __future__ import annotations

import os
import shutil

from core.files.archives import Archive
from gluon.store import locked

from ..._constants import EOS_TOKEN
from ...vocab import Vocab
from ..dataset import CorpusDataset
from ..hosted import Hosted
from ..stream import SimpleDatasetStream

__all__ = ["GBWStream"]

_RELEASE = "1-billion-word-language-modeling-benchmark-r13output"
_FILES = {
    "train": ("training-monolingual.tokenized.shuffled", "news.en-00*-of-00100", "random"),
    "test": ("heldout-monolingual.tokenized.shuffled", "news.en.heldout-00000-of-00050", "sequential"),
}


class GBWStream(Hosted, SimpleDatasetStream):
    """A stream of CorpusDatasets, one for each of the 99 files of 'train' (in random order) or the one of 'test'.

    segment: 'train' or 'test'.  skip_empty, bos, eos: as in CorpusDataset.
    root: where the archive or the folder with its content lies or is put.
    """

    folder = "gbw"

    def __init__(self, segment="train", skip_empty=True, bos=None, eos=EOS_TOKEN, root=None):
        self._check("segment", segment, _FILES)
        self._at = root
        subfolder, pattern, order = _FILES[segment]
        release = os.path.join(self._folder_of(root), _RELEASE)
        folder = os.path.join(release, subfolder)
        if not os.path.isdir(folder):
            archive = self._find("archive", root)
            with locked(release):
                if not os.path.isdir(folder):  # another process may have unpacked it while this one waited
                    _unpack(archive, release)
        super().__init__(CorpusDataset, os.path.join(folder, pattern), order, skip_empty=skip_empty, bos=bos, eos=eos)

    @property
    def vocab(self):
        """The vocabulary of 793,471 words."""
        with open(self._find("vocab", self._at), encoding="utf8") as file:
            return Vocab.from_json(file.read())


def _unpack(archive, release):
    """Puts what an archive holds below `release`; each folder appears there when it is complete."""
    part = release + ".part"
    shutil.rmtree(part, ignore_errors=True)  # what a process that was killed has left
    Archive(archive).extract(part)
    os.makedirs(release, exist_ok=True)
    for name in os.listdir(os.path.join(part, _RELEASE)):
        if not os.path.exists(os.path.join(release, name)):
            os.rename(os.path.join(part, _RELEASE, name), os.path.join(release, name))
    shutil.rmtree(part)
