"""Accuracy in which some positions do not count."""

from __future__ import annotations

from core.metric import EvalMetric, check_label_shapes

__all__ = ["MaskedAccuracy"]


class MaskedAccuracy(EvalMetric):
    """The share of right predictions among the positions whose mask is 1.

    axis: where the classes are, when predictions are scores rather than classes.

    >>> metric = gluonnlp.metric.MaskedAccuracy()
    >>> metric.update([nd.array([0, 1])], [nd.array([0, 0])], [nd.array([1, 0])])
    >>> metric.get()
    ('masked-accuracy', np.float64(1.0))
    """

    def __init__(self, axis=1, name="masked-accuracy", output_names=None, label_names=None):
        super().__init__(name, axis=axis, output_names=output_names, label_names=label_names, has_global_stats=True)
        self.axis = axis

    def update(self, labels, preds, masks=None):
        """Lists of arrays: classes, classes or scores, and (for all or none) 0/1 masks of the shape of the classes."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred, mask in zip(labels, preds, masks or [None] * len(labels)):
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            label, pred = (array.astype("int32").reshape((-1,)).asnumpy() for array in (label, pred))
            check_label_shapes(label, pred)
            right = label == pred
            if mask is not None:
                mask = mask.astype("int32").reshape((-1,)).asnumpy()
                check_label_shapes(label, mask)
                right = right * mask
            self._count(right.sum().item(), label.size if mask is None else mask.sum().item())

    def _count(self, right, places):
        self.sum_metric += right
        self.global_sum_metric += right
        self.num_inst += places
        self.global_num_inst += places
