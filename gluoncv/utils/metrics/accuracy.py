"""The share of right classes, without some labels."""

import numpy as np

from core.metric import EvalMetric, check_label_shapes


class Accuracy(EvalMetric):
    """Right predictions over all those whose label is none of `ignore_labels`, a number or several.

    Predictions are classes, or scores with classes along `axis`.

    >>> from gluoncv.utils.metrics import Accuracy
    >>> accuracy = Accuracy(ignore_labels=[-1])
    >>> accuracy.update([nd.array([0, 1, -1])], [nd.array([[0.9, 0.1], [0.7, 0.3], [0.5, 0.5]])])
    >>> accuracy.get()
    ('accuracy', np.float64(0.5))
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None, ignore_labels=None):
        self.axis = axis
        self.ignore_labels = [] if ignore_labels is None else np.ravel(ignore_labels)
        super().__init__(name, axis=axis, output_names=output_names, label_names=label_names)

    def update(self, labels, preds):
        """Adds lists of arrays."""
        for label, pred in zip(*check_label_shapes(labels, preds, True)):
            label, pred = label.asnumpy(), pred.asnumpy()
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
            check_label_shapes(label, pred)
            valid = ~np.isin(label, self.ignore_labels)
            self.sum_metric += int(((pred == label) & valid).sum())
            self.num_inst += int(valid.sum())
