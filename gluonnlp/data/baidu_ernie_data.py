"""The Chinese data sets that Baidu published with ERNIE (Sun et al., 2019)."""

from __future__ import annotations

from ..published import File, fetch
from .dataset import TSVDataset
from .hosted import Hosted
from .registry import register

__all__ = ["BaiduErnieXNLI", "BaiduErnieLCQMC", "BaiduErnieChnSentiCorp"]

_SEGMENTS = ["train", "dev", "test"]


class _BaiduErnieDataset(Hosted, TSVDataset):
    """Texts and, but for the test segment, the label, all strings; `return_all_fields` gives all columns."""

    folder = "baidu_ernie_data"
    _columns: list[int]  # the label last

    def _read(self, path, segment, return_all_fields):
        self._check("segment", segment, _SEGMENTS)
        columns = self._columns[:-1] if segment == "test" else self._columns
        TSVDataset.__init__(self, path, num_discard_samples=1, field_indices=None if return_all_fields else columns)

    def _path(self, task, segment, root):
        self._check("segment", segment, _SEGMENTS)
        # Baidu publishes no checksums.
        file = File(f"task_data/{task}/{segment}.tsv", None, "https://ernie.bj.bcebos.com/task_data_zh.tgz", None)
        return fetch(file, self._folder_of(root))


@register(segment=_SEGMENTS)
class BaiduErnieXNLI(_BaiduErnieDataset):
    """The Chinese part of XNLI (Conneau et al., 2018): premise, hypothesis, label.

    >>> gluonnlp.data.list_datasets("BaiduErnieXNLI")
    {'segment': ['train', 'dev', 'test']}
    """

    _columns = [0, 1, 2]

    def __init__(self, segment="train", root=None, return_all_fields=False):
        self._read(self._path("xnli", segment, root), segment, return_all_fields)


@register(segment=_SEGMENTS)
class BaiduErnieLCQMC(_BaiduErnieDataset):
    """Chinese question matching (Liu et al., 2018): two questions, '1' for the same; the file comes on request only.

    >>> gluonnlp.data.list_datasets("BaiduErnieLCQMC")
    {'segment': ['train', 'dev', 'test']}
    """

    _columns = [0, 1, 2]

    def __init__(self, file_path, segment="train", return_all_fields=False):
        self._read(file_path, segment, return_all_fields)


@register(segment=_SEGMENTS)
class BaiduErnieChnSentiCorp(_BaiduErnieDataset):
    """Chinese reviews: text, '1' for positive.

    >>> gluonnlp.data.list_datasets("BaiduErnieChnSentiCorp")
    {'segment': ['train', 'dev', 'test']}
    """

    _columns = [1, 0]

    def __init__(self, segment="train", root=None, return_all_fields=False):
        self._read(self._path("chnsenticorp", segment, root), segment, return_all_fields)
