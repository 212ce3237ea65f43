"""Question answering."""

from __future__ import annotations

import os

from core.files.text import read_json, reading
from gluon.data import ArrayDataset

from ..published import dataset_file
from .hosted import Hosted
from .registry import register

__all__ = ["SQuAD"]


@register(segment=["train", "dev"])
class SQuAD(Hosted, ArrayDataset):
    """Stanford Question Answering Dataset (Rajpurkar et al., 2016, 2018).

    Samples are tuples: number, question id, question, paragraph, list of answers, list of their
    positions in the paragraph (characters), and in version 2.0 whether the question has no answer.
    segment: 'train' or 'dev'.  version: '1.1' or '2.0'.

    Programs read `_root`, where the files are, `_segment`, `_version`, and the names of all files with their checksums:
    `_data_file[version][segment]` is ((archive, SHA-1), (file, SHA-1)).

    >>> gluonnlp.data.list_datasets("SQuAD")
    {'segment': ['train', 'dev']}
    """

    folder = "squad"

    def __init__(self, segment="train", version="1.1", root=None):
        self._check("version", version, ("1.1", "2.0"))
        self._check("segment", segment, ("train", "dev"))
        path = self._find(f"{segment}_{version}", root)
        self._root, self._segment, self._version = self._folder_of(root), segment, version
        self._data_file = {v: {s: self._names(f"{s}_{v}") for s in ("train", "dev")} for v in ("1.1", "2.0")}
        with reading(path):
            articles = read_json(path)["data"]
            questions = [(p, q) for article in articles for p in article["paragraphs"] for q in p["qas"]]
            records = [self._record(i, p["context"], q) for i, (p, q) in enumerate(questions)]
        super().__init__(records)

    @classmethod
    def _names(cls, part):
        file = dataset_file(cls.__name__, part)
        return (os.path.basename(file.archive), file.archive_sha1), (file.name, file.sha1)

    @staticmethod
    def _record(number, paragraph, question):
        answers = question["answers"]
        places = [a["answer_start"] for a in answers]
        record = (number, question["id"], question["question"], paragraph, [a["text"] for a in answers], places)
        impossible = question.get("is_impossible")
        return record if impossible is None else (*record, impossible)
