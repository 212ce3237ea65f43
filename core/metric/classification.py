"""Metrics of predicted classes and of their probabilities."""

from __future__ import annotations

import math

import numpy

from core.base import NoAxis, as_list
from core.metric.base import EvalMetric, alias, check_label_shapes, numpy_pairs, register


@register
@alias("acc")
class Accuracy(EvalMetric):
    """Share of correct classes; predictions are classes, or scores with the classes along `axis`.

    labels: classes, of any shape that fits. `update` adds a batch, `get` returns (name, value), `reset` begins anew. ValueError
    where labels and predictions differ in shape.

    >>> accuracy = metric.Accuracy()
    >>> accuracy.update(nd.array([0, 1]), nd.array([[0.9, 0.1], [0.7, 0.3]]))
    >>> accuracy.get()
    ('accuracy', np.float64(0.5))
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            if pred.shape != label.shape:
                if not -pred.ndim <= self.axis < pred.ndim:
                    raise NoAxis(f"Accuracy: predictions of shape {pred.shape} have no axis {self.axis}")
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
            check_label_shapes(label, pred)
            self._add(int((pred == label).sum()), pred.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """Share of rows whose class is among the `top_k` highest scores; predictions (rows, classes).

    labels: classes (rows,). MXNet refuses top_k = 1, which is `Accuracy`. The name becomes `top_k_accuracy_K`.

    >>> accuracy = metric.TopKAccuracy(top_k=2)
    >>> accuracy.update(nd.array([0, 1]), nd.array([[0.1, 0.5, 0.4], [0.3, 0.5, 0.2]]))
    >>> accuracy.get()
    ('top_k_accuracy_2', np.float64(0.5))
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        if top_k <= 1:
            raise AssertionError(f"top_k is above 1 (use Accuracy for 1), got {top_k}")
        self.top_k = top_k
        self.name += f"_{top_k}"

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            if pred.ndim > 2:
                raise AssertionError(f"predictions have at most 2 dimensions, got shape {pred.shape}")
            label = label.astype("int32").ravel()
            check_label_shapes(label, pred)
            if pred.ndim == 1:
                correct = (numpy.argpartition(pred.astype("float32"), -self.top_k) == label).sum()
            else:
                top_k = min(pred.shape[1], self.top_k)
                best = numpy.argpartition(pred.astype("float32"), -top_k)[:, pred.shape[1] - top_k :]
                correct = (best == label[:, None]).sum()
            self._add(int(correct), pred.shape[0])


@register
@alias("ce")
class CrossEntropy(EvalMetric):
    """Mean of -log(probability of the label + eps); predictions are probabilities (rows, classes).

    labels: classes (rows,). eps keeps the logarithm finite where a probability is 0.

    >>> entropy = metric.CrossEntropy()
    >>> entropy.update(nd.array([1]), nd.array([[0.5, 0.5]]))
    >>> entropy.get()
    ('cross-entropy', np.float64(0.6931471824645996))
    """

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            label = label.ravel().astype("int64")
            if label.size != pred.shape[0]:
                raise AssertionError(f"{label.size} labels for predictions of shape {pred.shape}")
            self._add((-numpy.log(pred[numpy.arange(label.size), label] + self.eps)).sum(), label.size)


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """Mean negative log likelihood of the labels; predictions are probabilities (rows, classes).

    labels: classes (rows,). The same number as `CrossEntropy`; MXNet has both.

    >>> likelihood = metric.NegativeLogLikelihood()
    >>> likelihood.update(nd.array([1]), nd.array([[0.5, 0.5]]))
    >>> likelihood.get()
    ('nll-loss', np.float64(0.6931471824645996))
    """

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """exp of the mean negative log probability of the labels; `ignore_label` (or None) does not count.

    Predictions are probabilities with the classes along `axis`; labels have their other axes.

    >>> perplexity = metric.Perplexity(ignore_label=None)
    >>> perplexity.update([nd.array([1, 0])], [nd.array([[0.5, 0.5], [0.25, 0.75]])])
    >>> perplexity.get()
    ('perplexity', np.float64(2.828427132826954))
    """

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels, preds):
        labels, preds = as_list(labels), as_list(preds)
        if len(labels) != len(preds):
            raise AssertionError(f"{len(labels)} arrays of labels, {len(preds)} of predictions")
        for label, pred in numpy_pairs(labels, preds):
            if label.size != pred.size / pred.shape[-1]:
                raise AssertionError(f"labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
            classes = numpy.moveaxis(pred, self.axis, -1).reshape(-1, pred.shape[self.axis])
            index = numpy.clip(label.ravel().astype("int64"), 0, classes.shape[1] - 1)
            chosen = classes[numpy.arange(index.size), index]
            count = index.size
            if self.ignore_label is not None:
                ignored = label.ravel() == self.ignore_label
                chosen = numpy.where(ignored, 1, chosen)
                count -= int(ignored.sum())
            self._add(-float(numpy.log(numpy.maximum(1e-10, chosen)).sum()), count)

    def _value(self, total, count):
        return math.exp(total / count) if count else math.nan
