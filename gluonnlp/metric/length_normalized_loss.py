"""Loss over the lengths of sequences."""

from __future__ import annotations

from core import nd
from core.metric import EvalMetric

__all__ = ["LengthNormalizedLoss"]


class LengthNormalizedLoss(EvalMetric):
    """The sum of all losses over the sum of all valid lengths.

    >>> metric = gluonnlp.metric.LengthNormalizedLoss()
    >>> metric.update([None, nd.array([2, 3])], nd.array([8.0, 12.0]))
    >>> metric.get()
    ('length-normalized-loss', np.float64(4.0))
    """

    def __init__(self, axis=0, name="length-normalized-loss", output_names=None, label_names=None):
        super().__init__(name, axis=axis, output_names=output_names, label_names=label_names, has_global_stats=True)

    def update(self, labels, preds):
        """labels: [targets, valid lengths]; preds: losses.  Lengths and losses: arrays, numbers, or lists of them."""
        if not isinstance(labels, (list, tuple)) or len(labels) != 2:
            raise ValueError("LengthNormalizedLoss: labels must be [target sequences, their valid lengths].")
        lengths, losses = _total(labels[1]), _total(preds)
        self.num_inst += lengths
        self.global_num_inst += lengths
        self.sum_metric += losses
        self.global_sum_metric += losses


def _total(values):
    values = values if isinstance(values, list) else [values]
    return sum(v.sum().asscalar() if isinstance(v, nd.NDArray) else v for v in values)
