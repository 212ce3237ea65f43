"""Cross-entropy of sequences of different lengths."""

from __future__ import annotations

from gluon.loss import SoftmaxCELoss

__all__ = ["MaskedSoftmaxCrossEntropyLoss", "MaskedSoftmaxCELoss"]


class MaskedSoftmaxCrossEntropyLoss(SoftmaxCELoss):
    """Softmax cross-entropy in which the steps behind the valid length count as 0.

    Called with predictions (batch, length, classes), labels (batch, length) or, with
    `sparse_label=False`, (batch, length, classes), and valid lengths (batch,).  Gives a number for
    each sample: the mean over all steps, the masked ones included.

    >>> loss = gluonnlp.loss.MaskedSoftmaxCELoss()
    >>> loss(nd.zeros((1, 3, 2)), nd.array([[0, 1, 0]]), nd.array([2]))
    [0.4621]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, sparse_label=True, from_logits=False, weight=None, **kwargs):
        super().__init__(-1, sparse_label, from_logits, weight, 0, **kwargs)

    def hybrid_forward(self, F, pred, label, valid_length):
        ones = F.ones_like(label)
        if self._sparse_label:
            ones = F.cast(F.expand_dims(ones, axis=-1), dtype="float32")
        mask = F.SequenceMask(ones, sequence_length=valid_length, use_sequence_length=True, axis=1)
        return super().hybrid_forward(F, pred, label, mask)


MaskedSoftmaxCELoss = MaskedSoftmaxCrossEntropyLoss
