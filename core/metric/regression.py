"""Metrics of numbers that are predicted: deviations, correlation, and losses as they come."""

from __future__ import annotations

import numpy

from core.base import as_list
from core.metric.base import EvalMetric, alias, check_label_shapes, numpy_pairs, register


class _Deviation(EvalMetric):
    """The average over batches of a figure of the differences between labels and predictions."""

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            label = label.reshape(-1, 1) if label.ndim == 1 else label
            pred = pred.reshape(-1, 1) if pred.ndim == 1 else pred
            self._add(self._figure(label - pred), 1)

    def _figure(self, difference):
        raise NotImplementedError


@register
class MAE(_Deviation):
    """Mean absolute error.

    ``mean |label - prediction|`` of each batch, averaged over batches. Vectors count as columns.

    >>> mae = metric.MAE()
    >>> mae.update(nd.array([1, 2]), nd.array([2, 4]))
    >>> mae.get()
    ('mae', np.float64(1.5))
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return numpy.abs(difference).mean()


@register
class MSE(_Deviation):
    """Mean squared error.

    ``mean (label - prediction)^2`` of each batch, averaged over batches. Vectors count as columns.

    >>> mse = metric.MSE()
    >>> mse.update(nd.array([1, 2]), nd.array([2, 4]))
    >>> mse.get()
    ('mse', np.float64(2.5))
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return (difference**2.0).mean()


@register
class RMSE(_Deviation):
    """Root mean squared error of each batch, averaged over batches.

    ``sqrt(mean (label - prediction)^2)``. Vectors count as columns.

    >>> rmse = metric.RMSE()
    >>> rmse.update(nd.array([1, 2]), nd.array([2, 4]))
    >>> rmse.get()
    ('rmse', np.float64(1.5811388492584229))
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return numpy.sqrt((difference**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation: averaged over batches ("macro") or of all instances together ("micro").

    From -1 to 1; labels and predictions have one shape.

    >>> correlation = metric.PearsonCorrelation()
    >>> correlation.update(nd.array([1, 2, 3]), nd.array([2, 4, 6]))
    >>> correlation.get()
    ('pearsonr', np.float64(1.0))
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        if average not in ("macro", "micro"):
            raise ValueError(f"average is 'macro' or 'micro', got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self):
        self._count, self._means, self._products = 0, numpy.zeros(2), numpy.zeros((2, 2))
        super().reset()

    def update(self, labels, preds):
        for label, pred in numpy_pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            both = numpy.stack([label.ravel(), pred.ravel()]).astype("float64")
            if self.average == "macro":
                self._add(numpy.corrcoef(both)[0, 1], 1)
            else:
                self._merge(both)
                self._add(0.0, 1)

    def _merge(self, both):
        """Adds a batch to the running means and sums of products of deviations (Chan et al., 1979)."""
        count = both.shape[1]
        means = both.mean(axis=1)
        deviations = both - means[:, None]
        delta = means - self._means
        total = self._count + count
        self._products += deviations @ deviations.T + numpy.outer(delta, delta) * self._count * count / total
        self._means += delta * count / total
        self._count = total

    def get(self):
        if self.average == "macro" or not self.num_inst:
            return super().get()
        (label_label, label_pred), (_, pred_pred) = self._products
        return self.name, label_pred / numpy.sqrt(label_label * pred_pred)


@register
class Loss(EvalMetric):
    """Mean of the predictions, which are losses; labels are not read.

    >>> loss = metric.Loss()
    >>> loss.update(None, nd.array([1, 3]))
    >>> loss.get()
    ('loss', np.float64(2.0))
    """

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _, preds):
        for pred in as_list(preds):
            self._add(float(pred.sum().asscalar() if hasattr(pred, "asscalar") else pred.sum()), pred.size)


@register
class Torch(Loss):
    """`Loss` under another name.

    >>> loss = metric.Torch()
    >>> loss.update(None, nd.array([1, 3]))
    >>> loss.get()
    ('torch', np.float64(2.0))
    """

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """`Loss` under another name.

    >>> loss = metric.Caffe()
    >>> loss.update(None, nd.array([1, 3]))
    >>> loss.get()
    ('caffe', np.float64(2.0))
    """

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)
