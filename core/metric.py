"""Metrics: running figures over the labels and predictions of many batches.

Every metric keeps two sums, one since `reset_local` (read by `get`) and one since `reset` (read by `get_global`).
Labels and predictions are lists of arrays, one for each output; a single array is taken for a list of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from core import ndarray, registry  # noqa: F401  ndarray: programs import it from here
from core.base import MXNetError


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """Raises ValueError unless labels and predictions agree in number (or in shape).

    With `wrap` arrays become lists.
    """
    got = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if got[0] != got[1]:
        what = "shape" if shape else "number"
        raise ValueError(f"the {what} of labels {got[0]} does not match the {what} of predictions {got[1]}")
    return (_as_list(labels), _as_list(preds)) if wrap else (labels, preds)


class EvalMetric:
    """Base of all metrics: the average of `sum_metric` over `num_inst` instances.

    output_names, label_names: which entries `update_dict` takes, in this order; None for all.
    """

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """The keywords from which `create` makes this metric again."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label, pred):
        """Like `update`, with dictionaries of arrays by name."""
        preds = list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]
        labels = list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        self.update(labels, preds)

    def update(self, labels, preds):
        """Takes the labels and predictions of a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(labels, preds)")

    def reset(self):
        """Forgets everything."""
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self.reset_local()

    def reset_local(self):
        """Forgets what `get` reports; `get_global` goes on."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self):
        """(name, value) since the last reset; nan before the first update."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self):
        """(name, value) since the last full `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self):
        """`get` as a list of (name, value)."""
        return _pairs(*self.get())

    def get_global_name_value(self):
        """`get_global` as a list of (name, value)."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()

    def _add(self, value, count):
        value = float(value)
        self.sum_metric += value
        self.global_sum_metric += value
        self.num_inst += count
        self.global_num_inst += count

    def _value(self, total, count):
        return total / count if count else float("nan")


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


def create(metric, *args, **kwargs):
    """A metric from its name, an instance, a function of (label, pred), or a list of these (a composite)."""
    if isinstance(metric, EvalMetric):
        return metric
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for child in metric:
            composite.add(create(child, *args, **kwargs))
        return composite
    return _create(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics updated together; `get` gives lists of names and values."""

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [create(m) for m in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric):
        """Appends a metric (or what `create` makes one of)."""
        self.metrics.append(create(metric))

    def get_metric(self, index):
        """The metric at `index`; ValueError when there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"metric index {index} is out of range: there are {len(self.metrics)}") from None

    def update_dict(self, labels, preds):
        if self.label_names is not None:
            labels = {name: a for name, a in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: a for name, a in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def reset_local(self):
        for metric in self.metrics:
            metric.reset_local()

    def get(self):
        return self._collect(metric.get() for metric in self.metrics)

    def get_global(self):
        return self._collect(metric.get_global() for metric in self.metrics)

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}

    @staticmethod
    def _collect(results):
        pairs = [pair for name, value in results for pair in _pairs(name, value)]
        return [name for name, _ in pairs], [value for _, value in pairs]


# ------------------------------------------------------------------------------------------- classification
@register
@alias("acc")
class Accuracy(EvalMetric):
    """Share of correct classes; predictions are classes, or scores with the classes along `axis`."""

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
            check_label_shapes(label, pred)
            self._add(int((pred == label).sum()), pred.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """Share of rows whose class is among the `top_k` highest scores; predictions (rows, classes)."""

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        if top_k <= 1:
            raise AssertionError(f"top_k is above 1 (use Accuracy for 1), got {top_k}")
        self.top_k = top_k
        self.name += f"_{top_k}"

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
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


class _Confusion:
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
        batch = _Confusion()
        for label, pred in _numpy_pairs(labels, preds):
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
        self._global = _Confusion()
        super().reset()

    def reset_local(self):
        self._local = _Confusion()
        super().reset_local()


@register
class F1(_BinaryMetric):
    """Harmonic mean of precision and recall of class 1; predictions (rows, 2)."""

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _figure(self, confusion):
        return confusion.fbeta()


@register
class MCC(_BinaryMetric):
    """Matthews correlation coefficient of two classes; predictions (rows, 2)."""

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _figure(self, confusion):
        return confusion.matthews()


@register
class PCC(EvalMetric):
    """Matthews correlation for any number of classes: the correlation of the confusion matrix (Gorodkin, 2004)."""

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
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


@register
@alias("ce")
class CrossEntropy(EvalMetric):
    """Mean of -log(probability of the label + eps); predictions are probabilities (rows, classes)."""

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            label = label.ravel().astype("int64")
            if label.size != pred.shape[0]:
                raise AssertionError(f"{label.size} labels for predictions of shape {pred.shape}")
            self._add((-numpy.log(pred[numpy.arange(label.size), label] + self.eps)).sum(), label.size)


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """Mean negative log likelihood of the labels; predictions are probabilities (rows, classes)."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """exp of the mean negative log probability of the labels; `ignore_label` (or None) does not count.

    Predictions are probabilities with the classes along `axis`; labels have their other axes.
    """

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels, preds):
        labels, preds = _as_list(labels), _as_list(preds)
        if len(labels) != len(preds):
            raise AssertionError(f"{len(labels)} arrays of labels, {len(preds)} of predictions")
        for label, pred in _numpy_pairs(labels, preds):
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
        return math.exp(total / count) if count else float("nan")


# ------------------------------------------------------------------------------------------- regression
class _Deviation(EvalMetric):
    """The average over batches of a figure of the differences between labels and predictions."""

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
            label = label.reshape(-1, 1) if label.ndim == 1 else label
            pred = pred.reshape(-1, 1) if pred.ndim == 1 else pred
            self._add(self._figure(label - pred), 1)

    def _figure(self, difference):
        raise NotImplementedError


@register
class MAE(_Deviation):
    """Mean absolute error."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return numpy.abs(difference).mean()


@register
class MSE(_Deviation):
    """Mean squared error."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return (difference**2.0).mean()


@register
class RMSE(_Deviation):
    """Root mean squared error of each batch, averaged over batches."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _figure(self, difference):
        return numpy.sqrt((difference**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation: averaged over batches ("macro") or of all instances together ("micro")."""

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        if average not in ("macro", "micro"):
            raise ValueError(f"average is 'macro' or 'micro', got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self):
        self._count, self._means, self._products = 0, numpy.zeros(2), numpy.zeros((2, 2))
        super().reset()

    def update(self, labels, preds):
        for label, pred in _numpy_pairs(labels, preds):
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


# ------------------------------------------------------------------------------------------- others
@register
class Loss(EvalMetric):
    """Mean of the predictions, which are losses; labels are not read."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _, preds):
        for pred in _as_list(preds):
            self._add(float(pred.sum().asscalar() if hasattr(pred, "asscalar") else pred.sum()), pred.size)


@register
class Torch(Loss):
    """`Loss` under another name."""

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """`Loss` under another name."""

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(EvalMetric):
    """The average of `feval(label, pred)` on NumPy arrays, which gives a value or (sum, count)."""

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(_as_list(labels), _as_list(preds))
        for label, pred in zip(_as_list(labels), _as_list(preds)):
            result = self._feval(_numpy(label), _numpy(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self):
        raise NotImplementedError("a CustomMetric holds a function and has no configuration to write down")


def np(numpy_feval: Callable, name=None, allow_extra_outputs=False):
    """A `CustomMetric` from a function of two NumPy arrays (label, pred)."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


# ------------------------------------------------------------------------------------------- helpers
def _as_list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _numpy(array):
    return array.asnumpy() if hasattr(array, "asnumpy") else numpy.asarray(array)


def _numpy_pairs(labels, preds):
    """(label, pred) as NumPy arrays; ValueError when their numbers differ."""
    labels, preds = check_label_shapes(_as_list(labels), _as_list(preds))
    return [(_numpy(label), _numpy(pred)) for label, pred in zip(labels, preds)]


def _pairs(name, value):
    names = name if isinstance(name, list) else [name]
    values = value if isinstance(value, list) else [value]
    if len(names) != len(values):
        raise MXNetError(f"a metric gave {len(names)} names and {len(values)} values")
    return list(zip(names, values))
