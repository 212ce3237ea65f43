"""Metrics as MXNet 2 defines them, which is not always how `core.metric` does: deviations and cross entropies are
averaged over samples, F1 and its kin over all samples and for several classes or labels too.

Under one name both modules know, `create` here gives the metric of this module.
"""

from __future__ import annotations

import math

import numpy

from core import metric as first
from core import registry
from core.documentation.classes import complete as _complete
from core.metric import (  # noqa: F401 - the same in both
    PCC,
    Accuracy,
    CustomMetric,
    EvalMetric,
    Loss,
    TopKAccuracy,
    Torch,
    alias,
    check_label_shapes,
    np,
    register,
)
from core.metric.base import as_numpy, numpy_pairs
from core.metric.confusion import Confusion


def create(metric, *args, **kwargs):
    """A metric from its name, an instance, a function of (label, pred), or a list of these (a composite).

    >>> gluon.metric.create(["accuracy", "mse"]).get()[0]
    ['accuracy', 'mse']
    """
    if isinstance(metric, list):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    if registry.is_description(metric):
        metric, keywords = registry.name_and_keywords(metric, "metric")
        return create(metric, **keywords)
    if isinstance(metric, str) and metric.lower() in registry.get_registry(_Second):
        return _create(metric, *args, **kwargs)
    return first.create(metric, *args, **kwargs)


class _Second(EvalMetric):
    """A metric that MXNet 2 added or changed."""


_register = registry.get_register_func(_Second, "metric")
_alias = registry.get_alias_func(_Second, "metric")
_create = registry.get_create_func(_Second, "metric")


@_register
@_alias("composite")
class CompositeEvalMetric(first.CompositeEvalMetric, _Second):
    """Several metrics updated together; `get` gives lists of names and values.

    >>> both = gluon.metric.CompositeEvalMetric([gluon.metric.Accuracy(), gluon.metric.CrossEntropy()])
    >>> both.update(nd.array([0, 1]), nd.array([[0.9, 0.1], [0.8, 0.2]]))
    >>> dict(zip(*both.get()))
    {'accuracy': np.float64(0.5), 'cross-entropy': np.float64(0.8573992252349854)}
    """

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        super().__init__([create(metric) for metric in metrics or []], name, output_names, label_names)

    def add(self, metric):
        super().add(create(metric))


# ------------------------------------------------------------------------------------------- classification
class _Decisions:
    """Counts of true and false positives and negatives, class by class."""

    def __init__(self, class_type, threshold):
        if class_type not in ("binary", "multiclass", "multilabel"):
            raise ValueError(f"class_type is 'binary', 'multiclass' or 'multilabel', got {class_type!r}")
        self.class_type, self.threshold = class_type, threshold
        self.clear()

    def clear(self):
        self.counts = None  # [label, prediction, class]

    @property
    def total(self):
        return 0 if self.counts is None else int(self.counts[:, :, 0].sum())

    def add(self, label, pred):
        label, pred = self._by_class(label.astype("int32"), pred)
        check_label_shapes(label, pred)
        batch = numpy.array([[((label == i) & (pred == j)).sum(0) for j in (0, 1)] for i in (0, 1)])
        if self.counts is None:
            self.counts = batch
        elif self.counts.shape != batch.shape:
            raise AssertionError(f"{batch.shape[2]} classes after batches of {self.counts.shape[2]}")
        else:
            self.counts += batch

    def _by_class(self, label, pred):
        """Labels and decisions, 0 or 1, of shape (samples, classes)."""
        classes = pred.shape[-1]
        if self.class_type == "binary":
            if label.max() > 1:
                raise ValueError(f"labels of two classes are 0 and 1, got {label.max()}")
            if pred.shape != label.shape and classes > 2:
                raise ValueError(f"predictions of two classes have one score or two, got the shape {pred.shape}")
            if pred.shape != label.shape and classes == 2:
                pred = pred.reshape(-1, 2)[:, 1]
            return label.reshape(-1, 1), self._decide(pred).reshape(-1, 1)
        if self.class_type == "multiclass":
            if label.max() >= classes:
                raise AssertionError(f"a label {label.max()} for predictions of {classes} classes")
            every = numpy.arange(classes)
            return (label.reshape(-1, 1) == every).astype(int), (pred.argmax(-1).reshape(-1, 1) == every).astype(int)
        if pred.shape != label.shape:
            raise AssertionError(f"labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
        return label.reshape(-1, classes), self._decide(pred).reshape(-1, classes)

    def _decide(self, pred):
        return _above(pred, self.threshold).astype(int)

    def fbeta(self, beta, average):
        if self.counts is None:
            return 0.0
        (_, false_pos), (false_neg, true_pos) = self.counts.sum(-1) if average == "micro" else self.counts
        precision = true_pos / numpy.maximum(true_pos + false_pos, 1e-12)
        recall = true_pos / numpy.maximum(true_pos + false_neg, 1e-12)
        score = (1 + beta**2) * precision * recall / numpy.maximum(beta**2 * precision + recall, 1e-12)
        return score.mean() if average == "macro" else score

    def matthews(self):
        confusion = Confusion()
        confusion.add(self.counts[:, :, 0])
        return confusion.matthews()


class _Decided(_Second):
    """A figure of the decisions about all samples."""

    def __init__(self, name, output_names, label_names, class_type="binary", threshold=0.5, **kwargs):
        self._decisions = _Decisions(class_type, threshold)
        super().__init__(name, output_names, label_names, class_type=class_type, threshold=threshold, **kwargs)

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            self._decisions.add(label, pred)
        self.num_inst = self._decisions.total
        self.sum_metric = self._figure() * self.num_inst

    def _figure(self):
        raise NotImplementedError

    def reset(self):
        self._decisions.clear()
        super().reset()


@_register
class F1(_Decided):
    """Harmonic mean of precision and recall.

    class_type: "binary" (labels 0 and 1; predictions of one score, or of two), "multiclass" (labels are classes),
    "multilabel" (labels are 0 or 1 for each class). threshold: scores above it stand for 1, a number or one per class.
    average: "micro" of all decisions together, "macro" the mean of the classes, None an array of one figure per class.

    >>> f1 = gluon.metric.F1()
    >>> f1.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    >>> f1.get()
    ('f1', np.float64(0.6666666666666666))
    """

    def __init__(
        self, name="f1", output_names=None, label_names=None, class_type="binary", threshold=0.5, average="micro"
    ):
        self.average, self.beta = average, 1
        super().__init__(name, output_names, label_names, class_type, threshold, average=average)

    def _figure(self):
        return self._decisions.fbeta(self.beta, self.average)


@_register
class Fbeta(F1):
    """`F1` in which recall counts `beta` times as much as precision.

    >>> fbeta = gluon.metric.Fbeta(beta=2)
    >>> fbeta.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    >>> fbeta.get()
    ('fbeta', np.float64(0.5555555555555556))
    """

    def __init__(
        self, name="fbeta", output_names=None, label_names=None, class_type="binary", beta=1, threshold=0.5,
        average="micro",
    ):  # fmt: skip
        super().__init__(name, output_names, label_names, class_type, threshold, average)
        self.beta = self._kwargs["beta"] = beta


@_register
class MCC(_Decided):
    """Matthews correlation coefficient of two classes.

    >>> mcc = gluon.metric.MCC()
    >>> mcc.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    >>> mcc.get()
    ('mcc', np.float64(0.5))
    """

    def __init__(self, name="mcc", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def get_config(self):
        return {key: value for key, value in super().get_config().items() if key not in ("class_type", "threshold")}

    def _figure(self):
        return self._decisions.matthews()


@_register
class BinaryAccuracy(_Second):
    """Share of correct decisions between 0 and 1.

    A prediction above `threshold` (one, or one per class) stands for 1.

    >>> accuracy = gluon.metric.BinaryAccuracy()
    >>> accuracy.update(np.array([0, 1]), np.array([0.7, 0.9]))
    >>> accuracy.get()
    ('binary_accuracy', np.float64(0.5))
    """

    def __init__(self, name="binary_accuracy", output_names=None, label_names=None, threshold=0.5):
        super().__init__(name, output_names, label_names, threshold=threshold)
        self.threshold = threshold

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            label, pred = label.astype("int32").ravel(), _above(pred, self.threshold).astype("int32").ravel()
            check_label_shapes(label, pred)
            self._add(int((label == pred).sum()), pred.size)


@_register
@_alias("ce")
class CrossEntropy(_Second):
    """Mean of -log(probability of the label), which is `eps` at least; `ignore_label` does not count.

    Predictions have the classes along `axis`, labels their other axes; `from_logits`: predictions go through a softmax.

    >>> entropy = gluon.metric.CrossEntropy()
    >>> entropy.update(np.array([1]), np.array([[0.5, 0.5]]))
    >>> entropy.get()
    ('cross-entropy', np.float64(0.6931471824645996))
    """

    def __init__(
        self, eps=1e-12, ignore_label=None, axis=-1, from_logits=False, name="cross-entropy", output_names=None,
        label_names=None,
    ):  # fmt: skip
        settings = {"eps": eps, "ignore_label": ignore_label, "axis": axis, "from_logits": from_logits}
        super().__init__(name, output_names, label_names, **settings)
        self.eps, self.ignore_label, self.axis, self.from_logits = settings.values()

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            classes = numpy.moveaxis(pred, self.axis, -1).reshape(-1, pred.shape[self.axis])
            if label.size != len(classes):
                raise AssertionError(f"labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
            label = label.ravel().astype("int64")
            if self.from_logits:
                classes = numpy.exp(classes - classes.max(-1, keepdims=True))
                classes /= classes.sum(-1, keepdims=True)
            chosen = classes[numpy.arange(label.size), numpy.clip(label, 0, classes.shape[1] - 1)]
            chosen = chosen[label != self.ignore_label] if self.ignore_label is not None else chosen
            self._add(-numpy.log(numpy.maximum(self.eps, chosen)).sum(), chosen.size)


@_register
class Perplexity(CrossEntropy):
    """exp of the mean `CrossEntropy`.

    >>> perplexity = gluon.metric.Perplexity()
    >>> perplexity.update(np.array([1, 0]), np.array([[0.5, 0.5], [0.25, 0.75]]))
    >>> perplexity.get()
    ('perplexity', np.float64(2.828427132826954))
    """

    def __init__(
        self, eps=1e-12, ignore_label=None, axis=-1, from_logits=False, name="perplexity", output_names=None,
        label_names=None,
    ):  # fmt: skip
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def _value(self, total, count):
        return math.exp(total / count) if count else float("nan")


# ------------------------------------------------------------------------------------------- regression
class _Deviation(_Second):
    """The mean over all samples of a figure of the differences between labels and predictions."""

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            samples = label.shape[0]
            self._add(self._figure((label - pred).reshape(samples, -1)).mean(axis=-1).sum(), samples)

    def _figure(self, difference):
        return difference**2.0


@_register
class MAE(_Deviation):
    """Mean absolute error.

    ``mean |label - prediction|`` over all instances, of all batches together, as in MXNet 2.

    >>> mae = gluon.metric.MAE()
    >>> mae.update(np.array([1, 2]), np.array([2, 4]))
    >>> mae.get()
    ('mae', np.float64(1.5))
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _figure(self, difference):
        return numpy.abs(difference)


@_register
class MSE(_Deviation):
    """Mean squared error.

    ``mean (label - prediction)^2`` over all instances, of all batches together, as in MXNet 2.

    >>> mse = gluon.metric.MSE()
    >>> mse.update(np.array([1, 2]), np.array([2, 4]))
    >>> mse.get()
    ('mse', np.float64(2.5))
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@_register
class RMSE(MSE):
    """Root of the mean squared error of all samples.

    >>> rmse = gluon.metric.RMSE()
    >>> rmse.update(np.array([1, 2]), np.array([2, 4]))
    >>> rmse.get()
    ('rmse', np.float64(1.5811388300841898))
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _value(self, total, count):
        return math.sqrt(total / count) if count else float("nan")


@_register
@_alias("pearsonr")
class PearsonCorrelation(_Second, first.PearsonCorrelation):
    """Pearson's correlation of all labels and predictions.

    >>> correlation = gluon.metric.PearsonCorrelation()
    >>> correlation.update(np.array([1, 2, 3]), np.array([2, 4, 6]))
    >>> correlation.get()
    ('pearsonr', np.float64(1.0))
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None):
        first.PearsonCorrelation.__init__(self, name, output_names, label_names, average="micro")


@_register
class MeanPairwiseDistance(_Second):
    """Mean p-norm of the differences between rows of labels and predictions.

    >>> distance = gluon.metric.MeanPairwiseDistance()
    >>> distance.update(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    >>> distance.get()
    ('mpd', np.float64(5.0))
    """

    def __init__(self, name="mpd", output_names=None, label_names=None, p=2):
        super().__init__(name, output_names, label_names, p=p)
        self.p = p

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            rows = (label - pred).reshape(label.shape[0], -1)
            distances = (numpy.abs(rows) ** self.p).sum(axis=1) ** (1.0 / self.p)
            self._add(distances.sum(), distances.size)


@_register
class MeanCosineSimilarity(_Second):
    """Mean cosine between labels and predictions along the last axis; `eps` bounds the product of the norms.

    >>> similarity = gluon.metric.MeanCosineSimilarity()
    >>> similarity.update(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]))
    >>> similarity.get()
    ('cos_sim', np.float64(0.7071067690849304))
    """

    def __init__(self, name="cos_sim", output_names=None, label_names=None, eps=1e-8):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            label, pred = numpy.atleast_2d(label), numpy.atleast_2d(pred)
            norms = numpy.linalg.norm(label, axis=-1) * numpy.linalg.norm(pred, axis=-1)
            cosines = (label * pred).sum(axis=-1) / numpy.maximum(norms, self.eps)
            self._add(cosines.sum(), cosines.size)


def _above(pred, threshold):
    """Where scores exceed a threshold, or that of their class along the last axis."""
    threshold = as_numpy(threshold)
    if threshold.ndim and threshold.shape[-1] != pred.shape[-1]:
        raise AssertionError(f"{threshold.shape[-1]} thresholds for predictions of shape {pred.shape}")
    return pred > threshold


_complete(globals())
