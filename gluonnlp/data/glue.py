"""The General Language Understanding Evaluation benchmark (Wang et al., 2019), https://gluebenchmark.com."""

from __future__ import annotations

import io
import os

from core.files.archives import Archive
from gluon.data import SimpleDataset

from .dataset import TSVDataset
from .hosted import Hosted
from .registry import register

__all__ = [
    "GlueCoLA",
    "GlueSST2",
    "GlueSTSB",
    "GlueQQP",
    "GlueRTE",
    "GlueMNLI",
    "GlueQNLI",
    "GlueWNLI",
    "GlueMRPC",
]


class _GlueDataset(Hosted, TSVDataset):
    """A segment of a task: lists of the sentence (or two) and, but for the test segments, the label, all strings.

    segment: 'train', 'dev' or 'test'.  root: where SEGMENT.tsv lies or is put.
    return_all_fields: gives all columns of the file instead.
    """

    # segment: (lines to skip, columns)
    _columns: dict[str, tuple[int, list[int]]]
    _allow_missing = False

    def __init__(self, segment="train", root=None, return_all_fields=False):
        self._check("segment", segment, self._columns)
        skip, columns = self._columns[segment]
        super().__init__(
            self._source(segment, root),
            num_discard_samples=skip,
            field_indices=None if return_all_fields else columns,
            allow_missing=self._allow_missing,
        )

    def _source(self, segment, root):
        return self._find(segment, root)


@register(segment=["train", "dev", "test"])
class GlueCoLA(_GlueDataset):
    """Corpus of Linguistic Acceptability (Warstadt et al., 2018): sentence, '1' for acceptable.

    Also reads `cola_public_1.1.zip`, as its authors published it, from `root`.

    >>> gluonnlp.data.list_datasets("GlueCoLA")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_cola"
    _columns = {"train": (0, [3, 1]), "dev": (0, [3, 1]), "test": (1, [1])}
    _released = {"train": ["in_domain_train"], "dev": ["in_domain_dev", "out_of_domain_dev"]}

    def _source(self, segment, root):
        released = self._original(root, "cola_public_1.1.zip")
        ours = os.path.join(self._folder_of(root), segment + ".tsv")
        if not released or segment not in self._released or os.path.isfile(ours):
            return super()._source(segment, root)
        parts = []
        for name in self._released[segment]:
            with Archive(released[0]).open(f"cola_public/raw/{name}.tsv") as member:
                parts.append(member.read(member.size).decode())
        return io.StringIO("".join(parts))


@register(segment=["train", "dev", "test"])
class GlueSST2(_GlueDataset):
    """Stanford Sentiment Treebank (Socher et al., 2013): sentence, '1' for positive.

    >>> gluonnlp.data.list_datasets("GlueSST2")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_sst"
    _columns = {"train": (1, [0, 1]), "dev": (1, [0, 1]), "test": (1, [1])}


@register(segment=["train", "dev", "test"])
class GlueSTSB(_GlueDataset):
    """Semantic Textual Similarity Benchmark (Cer et al., 2017): two sentences, similarity from 0 to 5.

    >>> gluonnlp.data.list_datasets("GlueSTSB")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_stsb"
    _columns = {"train": (1, [7, 8, 9]), "dev": (1, [7, 8, 9]), "test": (1, [7, 8])}


@register(segment=["train", "dev", "test"])
class GlueQQP(_GlueDataset):
    """Quora Question Pairs: two questions, '1' for the same; some samples of the file are broken and left out.

    >>> gluonnlp.data.list_datasets("GlueQQP")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_qqp"
    _columns = {"train": (1, [3, 4, 5]), "dev": (1, [3, 4, 5]), "test": (1, [1, 2])}
    _allow_missing = True


@register(segment=["train", "dev", "test"])
class GlueRTE(_GlueDataset):
    """Recognizing Textual Entailment: two sentences, 'entailment' or 'not_entailment'.

    >>> gluonnlp.data.list_datasets("GlueRTE")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_rte"
    _columns = {"train": (1, [1, 2, 3]), "dev": (1, [1, 2, 3]), "test": (1, [1, 2])}


@register(segment=["train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched"])
class GlueMNLI(_GlueDataset):
    """Multi-Genre Natural Language Inference (Williams et al., 2018): two sentences, the label.

    segment: 'train', or 'dev' and 'test' with the genres of training ('_matched') or others ('_mismatched').

    >>> gluonnlp.data.list_datasets("GlueMNLI")
    {'segment': ['train', 'dev_matched', 'dev_mismatched', 'test_matched', 'test_mismatched']}
    """

    folder = "glue_mnli"
    _columns = {
        "train": (1, [8, 9, 11]),
        "dev_matched": (1, [8, 9, 15]),
        "dev_mismatched": (1, [8, 9, 15]),
        "test_matched": (1, [8, 9]),
        "test_mismatched": (1, [8, 9]),
    }


@register(segment=["train", "dev", "test"])
class GlueQNLI(_GlueDataset):
    """Question answering as inference, from SQuAD: question, sentence, 'entailment' or 'not_entailment'.

    >>> gluonnlp.data.list_datasets("GlueQNLI")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_qnli"
    _columns = {"train": (1, [1, 2, 3]), "dev": (1, [1, 2, 3]), "test": (1, [1, 2])}


@register(segment=["train", "dev", "test"])
class GlueWNLI(_GlueDataset):
    """Winograd schemas as inference (Levesque et al., 2011): two sentences, '1' for entailment.

    >>> gluonnlp.data.list_datasets("GlueWNLI")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_wnli"
    _columns = {"train": (1, [1, 2, 3]), "dev": (1, [1, 2, 3]), "test": (1, [1, 2])}


@register(segment=["train", "dev", "test"])
class GlueMRPC(Hosted, SimpleDataset):
    """Microsoft Research Paraphrase Corpus (Dolan and Brockett, 2005): two sentences, '1' for paraphrases.

    Made of the files that Microsoft published, msr_paraphrase_{train,test}.txt, and the list of the
    development pairs, dev_ids.tsv; the test segment comes without labels.

    >>> gluonnlp.data.list_datasets("GlueMRPC")
    {'segment': ['train', 'dev', 'test']}
    """

    folder = "glue_mrpc"

    def __init__(self, segment="train", root=None):
        self._check("segment", segment, ("train", "dev", "test"))
        rows = _rows(self._find("raw_test" if segment == "test" else "raw_train", root))[1:]
        if segment == "test":
            samples = [[first, second] for _, _, _, first, second in rows]
        else:
            dev = {tuple(ids) for ids in _rows(self._find("dev_ids", root))}
            samples = [[a, b, label] for label, id_a, id_b, a, b in rows if ((id_a, id_b) in dev) == (segment == "dev")]
        super().__init__(samples)


def _rows(path):
    with open(path, encoding="utf-8-sig") as lines:
        return [line.strip().split("\t") for line in lines]
