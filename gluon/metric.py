"""Metrics under the name that MXNet 2 gives them, and those that it added."""

from __future__ import annotations

import numpy

from core.metric import (  # noqa: F401 - offered under this name too
    F1,
    MAE,
    MCC,
    MSE,
    PCC,
    RMSE,
    Accuracy,
    Caffe,
    CompositeEvalMetric,
    CrossEntropy,
    CustomMetric,
    EvalMetric,
    Loss,
    NegativeLogLikelihood,
    PearsonCorrelation,
    Perplexity,
    TopKAccuracy,
    Torch,
    _BinaryMetric,
    _numpy_pairs,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)


@register
class Fbeta(_BinaryMetric):
    """Weighted harmonic mean of precision and recall of class 1, recall counting `beta` times as much."""

    def __init__(self, name="fbeta", output_names=None, label_names=None, beta=1, average="micro"):
        super().__init__(name, output_names, label_names, average, beta=beta)
        self.beta = beta

    def _figure(self, confusion):
        return confusion.fbeta(self.beta)


@register
class BinaryAccuracy(EvalMetric):
    """Share of correct decisions between 0 and 1; a prediction above `threshold` stands for 1."""

    def __init__(self, name="binary_accuracy", output_names=None, label_names=None, threshold=0.5):
        super().__init__(name, output_names, label_names, threshold=threshold, has_global_stats=True)
        self.threshold = threshold

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            label, pred = label.astype("int32").ravel(), (pred > self.threshold).astype("int32").ravel()
            check_label_shapes(label, pred)
            self._add(int((label == pred).sum()), pred.size)


@register
class MeanPairwiseDistance(EvalMetric):
    """Mean p-norm of the differences between rows of labels and predictions."""

    def __init__(self, name="mpd", output_names=None, label_names=None, p=2):
        super().__init__(name, output_names, label_names, p=p, has_global_stats=True)
        self.p = p

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            rows = (label - pred).reshape(label.shape[0], -1)
            distances = (numpy.abs(rows) ** self.p).sum(axis=1) ** (1.0 / self.p)
            self._add(distances.sum(), distances.size)


@register
class MeanCosineSimilarity(EvalMetric):
    """Mean cosine between labels and predictions along the last axis; `eps` bounds the product of the norms."""

    def __init__(self, name="cos_sim", output_names=None, label_names=None, eps=1e-8):
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            label, pred = numpy.atleast_2d(label), numpy.atleast_2d(pred)
            norms = numpy.linalg.norm(label, axis=-1) * numpy.linalg.norm(pred, axis=-1)
            cosines = (label * pred).sum(axis=-1) / numpy.maximum(norms, self.eps)
            self._add(cosines.sum(), cosines.size)
