"""What all metrics are, how they are made by name, several of them as one, and one of a function."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from core import registry
from core.base import MXNetError, as_list


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """Raises ValueError unless labels and predictions agree in number (or in shape).

    With `wrap` arrays become lists.

    >>> labels, preds = metric.check_label_shapes(nd.array([1]), nd.array([2]), wrap=True)
    >>> len(labels)
    1
    """
    got = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if got[0] != got[1]:
        what = "shape" if shape else "number"
        raise ValueError(f"the {what} of labels {got[0]} does not match the {what} of predictions {got[1]}")
    return (as_list(labels), as_list(preds)) if wrap else (labels, preds)


class EvalMetric:
    """Base of all metrics: the average of `sum_metric` over `num_inst` instances, a NumPy float64 as in MXNet.

    output_names, label_names: which entries `update_dict` takes, in this order; None for all.

    Subclasses define `update(labels, preds)`, which adds to `sum_metric` and `num_inst`. `get` returns (name, value), NaN before
    the first instance; `reset` begins anew.

    >>> metric.MAE().get()
    ('mae', np.float64(nan))
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
        return self.name, numpy.float64(self._value(self.sum_metric, self.num_inst))

    def get_global(self):
        """(name, value) since the last full `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, numpy.float64(self._value(self.global_sum_metric, self.global_num_inst))

    def get_name_value(self):
        """`get` as a list of (name, value)."""
        return _pairs(*self.get())

    def get_global_name_value(self):
        """`get_global` as a list of (name, value)."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()

    def _add(self, value, count):
        value = numpy.float64(float(value))
        self.sum_metric += value
        self.global_sum_metric += value
        self.num_inst += count
        self.global_num_inst += count

    def _value(self, total, count):
        return total / count if count else math.nan


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


def create(metric, *args, **kwargs):
    """A metric from its name, an instance, a function of (label, pred), or a list of these (a composite).

    Names are those of the classes in small letters, or their short forms: "acc", "ce", "nll_loss".

    >>> type(metric.create("acc")).__name__, metric.create(["mae", "mse"]).get()[0]
    ('Accuracy', ['mae', 'mse'])
    """
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
    """Several metrics updated together; `get` gives lists of names and values.

    `add` appends a metric, `get_metric(index)` returns one.

    >>> both = metric.CompositeEvalMetric([metric.MAE(), metric.MSE()])
    >>> both.update(nd.array([1, 2]), nd.array([2, 4]))
    >>> both.get()
    (['mae', 'mse'], [np.float64(1.5), np.float64(2.5)])
    """

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


@register
class CustomMetric(EvalMetric):
    """The average of `feval(label, pred)` on NumPy arrays, which gives a value or (sum, count).

    >>> largest = metric.CustomMetric(lambda label, pred: float(abs(label - pred).max()), name="largest")
    >>> largest.update(nd.array([1, 2]), nd.array([2, 4]))
    >>> largest.get()
    ('largest', np.float64(2.0))
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(
            name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )  # fmt: skip
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(as_list(labels), as_list(preds))
        for label, pred in zip(as_list(labels), as_list(preds)):
            result = self._feval(as_numpy(label), as_numpy(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self):
        raise NotImplementedError("a CustomMetric holds a function and has no configuration to write down")


def np(numpy_feval: Callable, name=None, allow_extra_outputs=False):
    """A `CustomMetric` from a function of two NumPy arrays (label, pred).

    >>> metric.np(lambda label, pred: float((label == pred).mean()), name="same").name
    'same'
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


def as_numpy(array):
    """An array of any kind, or numbers, as a NumPy array."""
    return array.asnumpy() if hasattr(array, "asnumpy") else numpy.asarray(array)


def numpy_pairs(labels, preds):
    """(label, pred) as NumPy arrays; ValueError when their numbers differ."""
    labels, preds = check_label_shapes(as_list(labels), as_list(preds))
    return [(as_numpy(label), as_numpy(pred)) for label, pred in zip(labels, preds)]


def _pairs(name, value):
    """(name, value), or each of several, as a list of pairs."""
    names = name if isinstance(name, list) else [name]
    values = value if isinstance(value, list) else [value]
    if len(names) != len(values):
        raise MXNetError(f"a metric gave {len(names)} names and {len(values)} values")
    return list(zip(names, values))
