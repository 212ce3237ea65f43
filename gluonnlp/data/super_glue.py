"""The SuperGLUE benchmark (Wang et al., 2019), https://super.gluebenchmark.com.

Samples are the objects of its JSON lines.
"""

from __future__ import annotations

import re

from .dataset import _JsonlDataset
from .hosted import Hosted
from .registry import register

__all__ = [
    "SuperGlueRTE",
    "SuperGlueCB",
    "SuperGlueWSC",
    "SuperGlueWiC",
    "SuperGlueCOPA",
    "SuperGlueMultiRC",
    "SuperGlueBoolQ",
    "SuperGlueReCoRD",
    "SuperGlueAXb",
    "SuperGlueAXg",
]

_SEGMENTS = ["train", "val", "test"]


class _SuperGlueDataset(Hosted, _JsonlDataset):
    """segment: 'train', 'val' or 'test'.  root: where SEGMENT.jsonl lies or is put."""

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, _SEGMENTS)
        super().__init__(self._find(segment, root))


@register(segment=_SEGMENTS)
class SuperGlueRTE(_SuperGlueDataset):
    """Recognizing Textual Entailment: premise, hypothesis, label.

    >>> gluonnlp.data.list_datasets("SuperGlueRTE")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_rte"


@register(segment=_SEGMENTS)
class SuperGlueCB(_SuperGlueDataset):
    """CommitmentBank (de Marneffe et al., 2019): premise, hypothesis, label.

    >>> gluonnlp.data.list_datasets("SuperGlueCB")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_cb"


@register(segment=_SEGMENTS)
class SuperGlueWSC(_SuperGlueDataset):
    """Winograd schema challenge (Levesque et al., 2012): text, target (the two spans), label.

    >>> gluonnlp.data.list_datasets("SuperGlueWSC")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_wsc"


@register(segment=_SEGMENTS)
class SuperGlueWiC(_SuperGlueDataset):
    """Words in Context (Pilehvar and Camacho-Collados, 2019): a word in two sentences, whether it means the same.

    >>> gluonnlp.data.list_datasets("SuperGlueWiC")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_wic"


@register(segment=_SEGMENTS)
class SuperGlueCOPA(_SuperGlueDataset):
    """Choice of Plausible Alternatives (Roemmele et al., 2011): premise, question, two choices, label.

    >>> gluonnlp.data.list_datasets("SuperGlueCOPA")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_copa"


@register(segment=_SEGMENTS)
class SuperGlueMultiRC(_SuperGlueDataset):
    """Multi-sentence reading comprehension (Khashabi et al., 2018): 'text', a list of sentences, and 'questions'.

    >>> gluonnlp.data.list_datasets("SuperGlueMultiRC")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_multirc"

    def __init__(self, segment="train", root=None):
        super().__init__(segment, root)
        paragraphs = [sample["paragraph"] for sample in self._data]
        self._data = [{"text": _sentences(p["text"]), "questions": p["questions"]} for p in paragraphs]


@register(segment=_SEGMENTS)
class SuperGlueBoolQ(_SuperGlueDataset):
    """Yes/no questions (Clark et al., 2019): question, passage, label.

    >>> gluonnlp.data.list_datasets("SuperGlueBoolQ")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_boolq"


@register(segment=_SEGMENTS)
class SuperGlueReCoRD(_SuperGlueDataset):
    """Reading comprehension with commonsense reasoning (Zhang et al., 2018): passage, queries and answers.

    >>> gluonnlp.data.list_datasets("SuperGlueReCoRD")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "superglue_record"


class _Diagnostic(Hosted, _JsonlDataset):
    """root: where the file lies or is put."""

    def __init__(self, root=None):
        super().__init__(self._find("test", root))


class SuperGlueAXb(_Diagnostic):
    """Broadcoverage diagnostics: sentence1, sentence2, the phenomenon, label.

    >>> issubclass(gluonnlp.data.SuperGlueAXb, gluon.data.Dataset)
    True
    """

    folder = "superglue_ax_b"


class SuperGlueAXg(_Diagnostic):
    """Winogender diagnostics (Rudinger et al., 2018): premise, hypothesis, label.

    >>> issubclass(gluonnlp.data.SuperGlueAXg, gluon.data.Dataset)
    True
    """

    folder = "superglue_ax_g"


def _sentences(text):
    """The sentences of a paragraph, without the marks that number them."""
    return [s for s in re.sub(r"<b>Sent .{1,2}: </b>", "", text).split("<br>") if s]
