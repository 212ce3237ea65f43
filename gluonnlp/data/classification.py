"""Classification and regression tasks: what the labels are, how answers are judged, where the data is."""

from __future__ import annotations

from core.base import nearest
from core.metric import F1, MCC, Accuracy, CompositeEvalMetric, PearsonCorrelation

from .baidu_ernie_data import BaiduErnieChnSentiCorp, BaiduErnieLCQMC, BaiduErnieXNLI
from .glue import GlueCoLA, GlueMNLI, GlueMRPC, GlueQNLI, GlueQQP, GlueRTE, GlueSST2, GlueSTSB, GlueWNLI

__all__ = [
    "MRPCTask",
    "QQPTask",
    "QNLITask",
    "RTETask",
    "STSBTask",
    "CoLATask",
    "MNLITask",
    "WNLITask",
    "SSTTask",
    "XNLITask",
    "get_task",
]


class GlueTask:
    """A task: `class_labels` (None for regression), `metrics`, `is_pair` (samples have two texts), `label_alias`."""

    _dataset: type
    _labels: list[str] | None = ["0", "1"]
    _is_pair = True
    _alias: dict[str, str] | None = None

    def __init__(self, class_labels=None, metrics=None, is_pair=None, label_alias=None):
        self.class_labels = self._labels if class_labels is None else class_labels
        self.metrics = self._metrics() if metrics is None else metrics
        self.is_pair = self._is_pair if is_pair is None else is_pair
        self.label_alias = self._alias if label_alias is None else label_alias

    def _metrics(self):
        return Accuracy()

    def get_dataset(self, segment="train"):
        """The data set of a segment: 'train', 'dev' or 'test'."""
        return self._dataset(segment)

    def dataset_train(self):
        """('train', data set)"""
        return "train", self.get_dataset("train")

    def dataset_dev(self):
        """('dev', data set), or a list of such pairs."""
        return "dev", self.get_dataset("dev")

    def dataset_test(self):
        """('test', data set), or a list of such pairs."""
        return "test", self.get_dataset("test")


class _WithF1(GlueTask):
    def _metrics(self):
        both = CompositeEvalMetric()
        both.add(Accuracy())
        both.add(F1(average="micro"))
        return both


class MRPCTask(_WithF1):
    """Paraphrases (GlueMRPC).

    >>> task = gluonnlp.data.MRPCTask()
    >>> task.class_labels, task.is_pair
    (['0', '1'], True)
    """

    _dataset = GlueMRPC


class QQPTask(_WithF1):
    """Questions that mean the same (GlueQQP).

    >>> task = gluonnlp.data.QQPTask()
    >>> task.class_labels, task.is_pair
    (['0', '1'], True)
    """

    _dataset = GlueQQP


class QNLITask(GlueTask):
    """Whether a sentence answers a question (GlueQNLI).

    >>> task = gluonnlp.data.QNLITask()
    >>> task.class_labels, task.is_pair
    (['not_entailment', 'entailment'], True)
    """

    _dataset = GlueQNLI
    _labels = ["not_entailment", "entailment"]


class RTETask(GlueTask):
    """Entailment (GlueRTE).

    >>> task = gluonnlp.data.RTETask()
    >>> task.class_labels, task.is_pair
    (['not_entailment', 'entailment'], True)
    """

    _dataset = GlueRTE
    _labels = ["not_entailment", "entailment"]


class STSBTask(GlueTask):
    """Similarity of sentences, a number from 0 to 5 (GlueSTSB).

    >>> task = gluonnlp.data.STSBTask()
    >>> task.class_labels, task.is_pair
    (None, True)
    """

    _dataset = GlueSTSB
    _labels = None

    def _metrics(self):
        return PearsonCorrelation(average="micro")


class CoLATask(GlueTask):
    """Acceptability (GlueCoLA).

    >>> task = gluonnlp.data.CoLATask()
    >>> task.class_labels, task.is_pair
    (['0', '1'], False)
    """

    _dataset = GlueCoLA
    _is_pair = False

    def _metrics(self):
        return MCC(average="micro")


class SSTTask(GlueTask):
    """Sentiment (GlueSST2).

    >>> task = gluonnlp.data.SSTTask()
    >>> task.class_labels, task.is_pair
    (['0', '1'], False)
    """

    _dataset = GlueSST2
    _is_pair = False


class WNLITask(GlueTask):
    """Pronouns (GlueWNLI).

    >>> task = gluonnlp.data.WNLITask()
    >>> task.class_labels, task.is_pair
    (['0', '1'], True)
    """

    _dataset = GlueWNLI


class MNLITask(GlueTask):
    """Inference in several genres (GlueMNLI); two development and two test segments.

    >>> task = gluonnlp.data.MNLITask()
    >>> task.class_labels, task.is_pair
    (['neutral', 'entailment', 'contradiction'], True)
    """

    _dataset = GlueMNLI
    _labels = ["neutral", "entailment", "contradiction"]

    def dataset_dev(self):
        return [(s, self.get_dataset(s)) for s in ("dev_matched", "dev_mismatched")]

    def dataset_test(self):
        return [(s, self.get_dataset(s)) for s in ("test_matched", "test_mismatched")]


class XNLITask(GlueTask):
    """Inference in Chinese (BaiduErnieXNLI).

    >>> task = gluonnlp.data.XNLITask()
    >>> task.class_labels, task.is_pair
    (['neutral', 'entailment', 'contradiction'], True)
    """

    _dataset = BaiduErnieXNLI
    _labels = ["neutral", "entailment", "contradiction"]
    _alias = {"contradictory": "contradiction"}


class LCQMCTask(GlueTask):
    """Chinese questions that mean the same (BaiduErnieLCQMC); the file must be given."""

    def get_dataset(self, file_path, segment="train"):
        """The data set in `file_path`."""
        return BaiduErnieLCQMC(file_path, segment)


class ChnSentiCorpTask(GlueTask):
    """Sentiment of Chinese reviews (BaiduErnieChnSentiCorp)."""

    _dataset = BaiduErnieChnSentiCorp
    _is_pair = False


_TASKS = {
    "mrpc": MRPCTask,
    "qqp": QQPTask,
    "qnli": QNLITask,
    "rte": RTETask,
    "sts-b": STSBTask,
    "cola": CoLATask,
    "mnli": MNLITask,
    "wnli": WNLITask,
    "sst": SSTTask,
    "xnli": XNLITask,
    "lcqmc": LCQMCTask,
    "chnsenticorp": ChnSentiCorpTask,
}


def get_task(task):
    """A new task object by name, in any case, such as 'mrpc' or 'STS-B'; ValueError for others.

    >>> gluonnlp.data.get_task("mrpc").class_labels
    ['0', '1']
    """
    name = task.lower()
    if name not in _TASKS:
        raise ValueError(f"There is no task {task!r}.{nearest(name, _TASKS)} There are: {', '.join(_TASKS)}.")
    return _TASKS[name]()
