"""Metrics of confusion matrices: how often each class is taken for each."""

from __future__ import annotations

import math

import numpy

from core.metric.base import EvalMetric, check_label_shapes, numpy_pairs, register


class Confusion:
    """Counts of true and false positives and negatives of a two-class problem."""

    def __init__(self):
        self.counts = numpy.zeros((2, 2), dtype="int64")  # [label, prediction]

    def add(self, counts):
        self.counts += counts

    @property
    def total(self):
        return int(self.counts.sum())

    def fbeta(self, beta=1.0):
        (_, false_pos), (false_neg, true_pos) = self.counts.tolist()
        precision = true_pos / (true_pos + false_pos) if true_pos + false_pos else 0.0
        recall = true_pos / (true_pos + false_neg) if true_pos + false_neg else 0.0
        if precision + recall == 0:
            return 0.0
        return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

    def matthews(self):
        if not self.total:
            return 0.0
        (true_neg, false_pos), (false_neg, true_pos) = self.counts.tolist()
        sums = (true_pos + false_pos, true_pos + false_neg, true_neg + false_pos, true_neg + false_neg)
        return (true_pos * true_neg - false_pos * false_neg) / math.sqrt(math.prod(s for s in sums if s))


class _BinaryMetric(EvalMetric):
    """A figure of the confusion matrix: averaged over batches ("macro") or of all instances together ("micro")."""

    def __init__(self, name, output_names, label_names, average, **kwargs):
        if average not in ("macro", "micro"):
            raise ValueError(f"average is 'macro' or 'micro', got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def _figure(self, confusion):
        raise NotImplementedError

    def update(self, labels, preds):
        batch = Confusion()
        for label, pred in numpy_pairs(labels, preds):
            batch.add(self._counts(label.astype("int32").ravel(), pred))
        if self.average == "macro":
            self._add(self._figure(batch), 1)
            return
        self._local.add(batch.counts)
        self._global.add(batch.counts)
        self.sum_metric = self._figure(self._local) * self._local.total
        self.num_inst = self._local.total
        self.global_sum_metric = self._figure(self._global) * self._global.total
        self.global_num_inst = self._global.total

    def _counts(self, label, pred):
        check_label_shapes(label, pred)
        if numpy.unique(label).size > 2:
            raise ValueError(f"{type(self).__name__} is for two classes, the labels have more")
        positive = pred.argmax(axis=1) == 1
        counts = numpy.zeros((2, 2), dtype="int64")
        numpy.add.at(counts, ((label == 1).astype(int), positive.astype(int)), 1)
        return counts

    def reset(self):
        self._global = Confusion()
        super().reset()

    def reset_local(self):
        self._local = Confusion()
        super().reset_local()


@register
class F1(_BinaryMetric):
    """Harmonic mean of precision and recall of class 1; predictions (rows, 2).

    average: "macro", the mean of the batches' values, or "micro", that of all instances together. Labels are 0 and 1; ValueError for
    others.

    >>> f1 = metric.F1()
    >>> f1.update(nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    >>> f1.get()
    ('f1', np.float64(0.6666666666666666))
    """

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _figure(self, confusion):
        return confusion.fbeta()


@register
class MCC(_BinaryMetric):
    """Matthews correlation coefficient of two classes; predictions (rows, 2).

    From -1 to 1: 0 is no better than chance, however unequal the classes are. average: "macro", the mean of the batches' values, or
    "micro" (Matthews, 1975).

    >>> mcc = metric.MCC()
    >>> mcc.update(nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    >>> mcc.get()
    ('mcc', np.float64(0.5))
    """

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _figure(self, confusion):
        return confusion.matthews()


@register
class PCC(EvalMetric):
    """Matthews correlation for any number of classes: the correlation of the confusion matrix (Gorodkin, 2004).

    For two classes it is that of `MCC` over all instances. The confusion matrix grows with the classes that occur.

    >>> pcc = metric.PCC()
    >>> pcc.update(nd.array([0, 1, 2]), nd.eye(3))
    >>> pcc.get()
    ('pcc', np.float64(1.0))
    """

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            label = label.astype("int32")
            pred = pred.argmax(axis=1) if pred.shape != label.shape else pred.astype("int32")
            grow = max(int(pred.max()), int(label.max())) + 1 - self.k
            if grow > 0:
                self.k += grow
                self.lcm = numpy.pad(self.lcm, ((0, grow), (0, grow)))
                self.gcm = numpy.pad(self.gcm, ((0, grow), (0, grow)))
            batch = numpy.zeros((self.k, self.k))
            numpy.add.at(batch, (pred.ravel(), label.ravel()), 1)
            self.lcm += batch
            self.gcm += batch
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self):
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self):
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self):
        self.gcm = numpy.zeros((self.k, self.k))
        self.global_num_inst = 0
        self.reset_local()

    def reset_local(self):
        self.lcm = numpy.zeros((self.k, self.k))
        self.num_inst = 0

    @staticmethod
    def _correlation(confusion):
        n, rows, columns = confusion.sum(), confusion.sum(axis=1), confusion.sum(axis=0)
        cov_rows, cov_columns = numpy.sum(rows * (n - rows)), numpy.sum(columns * (n - columns))
        if cov_rows == 0 or cov_columns == 0:
            return float("nan")
        return numpy.sum(confusion.diagonal() * n - rows * columns) / math.sqrt(cov_rows * cov_columns)
