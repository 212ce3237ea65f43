"""What is watched while Faster and Mask R-CNN train.

Predictions are a list of one array, before the sigmoid or softmax.
"""

from core import nd
from core.metric import EvalMetric


class _Share(EvalMetric):
    """A sum over a count, both of which `_count` gives as arrays or numbers."""

    def __init__(self):
        super().__init__(self.NAME)

    def update(self, labels, preds):
        """Adds labels and a prediction."""
        total, count = self._count(*labels, preds[0])
        self.sum_metric += _number(total)
        self.num_inst += _number(count)


class RPNAccMetric(_Share):
    """Right objects of proposals, of labels and their weights."""

    NAME = "RPNAcc"

    def _count(self, label, weight, logits):
        return (((nd.sigmoid(logits) >= 0.5) == label) * weight).sum(), weight.sum()


class RPNL1LossMetric(_Share):
    """Huber's loss of proposals a positive anchor, of offsets and their weights."""

    NAME, _SCALAR = "RPNL1Loss", 3

    def _count(self, target, weight, offsets):
        return (weight * nd.smooth_l1(offsets - target, scalar=self._SCALAR)).sum(), weight.sum() / 4


class RCNNAccMetric(_Share):
    """Right classes, of labels."""

    NAME = "RCNNAcc"

    def _count(self, label, scores):
        return (nd.argmax(scores, axis=-1) == label).sum(), label.size


class RCNNL1LossMetric(RPNL1LossMetric):
    """Huber's loss a positive box, of offsets and their weights."""

    NAME, _SCALAR = "RCNNL1Loss", 1


class MaskAccMetric(_Share):
    """Right pixels of masks, of targets and their weights."""

    NAME = "MaskAcc"

    def _count(self, target, weight, mask):
        return (((nd.sigmoid(mask) >= 0.5) == (target >= 0.5)) * weight).sum(), weight.sum()


class MaskFGAccMetric(_Share):
    """Right pixels within objects, of targets and their weights."""

    NAME = "MaskFGAcc"

    def _count(self, target, weight, mask):
        inside = target >= 0.5
        return (((nd.sigmoid(mask) >= 0.5) == inside) * inside).sum(), target.sum()


def _number(value):
    return value.asscalar() if isinstance(value, nd.NDArray) else value
