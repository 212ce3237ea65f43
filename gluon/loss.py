"""Losses: one number for each instance of the batch (the mean over its other axes, unless said otherwise).

`weight` multiplies the loss; `sample_weight` multiplies it elementwise, broadcast to its shape. `batch_axis` is the
axis that is kept.
"""

from __future__ import annotations

import math

from core import ndarray as nd
from core.documentation.classes import complete as _complete
from gluon.block import HybridBlock

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


class Loss(HybridBlock):
    """Base of the losses.

    weight: a factor, or None. batch_axis: the axis that stays; the mean over all others is returned. Subclasses define
    `hybrid_forward(F, pred, label, sample_weight=None)`.

    >>> class Cubed(gluon.loss.Loss):
    ...     def __init__(self, weight=None, batch_axis=0):
    ...         super().__init__(weight, batch_axis)
    ...     def hybrid_forward(self, F, pred, label):
    ...         return F.mean(F.abs(pred - label) ** 3, axis=self._batch_axis, exclude=True)
    >>> Cubed()(nd.array([[1, 3]]), nd.array([[1, 1]]))
    [4.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, weight, batch_axis, **kwargs):
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def _finish(self, F, loss, sample_weight, weight=None):
        """Weights the elements and takes the mean over all axes but the batch's."""
        loss = _apply_weighting(F, loss, self._weight if weight is None else weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def _advice(self, pred=None, label=None, *_):
        if pred is None or label is None or math.prod(pred) == math.prod(label):
            return None
        return f"labels of shape {label} do not fit predictions of shape {pred}: they are to have as many elements"

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


class L2Loss(Loss):
    """Half the squared error, ``(label - pred)^2 / 2``, averaged over all axes but the batch.

    weight: a factor, which the half comes on top of. batch_axis: the axis that stays. label has as many elements as pred.
    sample_weight, a third argument of the call, multiplies elements or instances. Returns (batch,). The gradient is
    pred - label over the number of outputs.

    >>> gluon.loss.L2Loss()(nd.array([[1, 2], [3, 4]]), nd.array([[1, 4], [0, 4]]))
    [1.   2.25]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = F.square(_reshape_like(F, label, pred) - pred)
        return self._finish(F, loss, sample_weight, self._weight / 2)


class L1Loss(Loss):
    """The absolute error, ``|label - pred|``, averaged over all axes but the batch.

    weight: a factor. batch_axis: the axis that stays. label has as many elements as pred. sample_weight, a third argument of the
    call, multiplies elements or instances. Returns (batch,). The gradient has the same size everywhere, so outliers count
    less than in `L2Loss`.

    >>> gluon.loss.L1Loss()(nd.array([[1, 2], [3, 4]]), nd.array([[1, 4], [0, 4]]))
    [1.  1.5]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        return self._finish(F, F.abs(_reshape_like(F, label, pred) - pred), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross entropy of two classes: ``-(label log p + (1 - label) log(1 - p))`` with ``p = sigmoid(pred)``.

    from_sigmoid: pred holds p itself. label: 0, 1 or a probability, with as many elements as pred. pos_weight, a fourth argument of
    the call, multiplies the loss of positive labels, sample_weight, the third, elements or instances. weight: a factor. Returns
    (batch,), the mean over the other axes; several labels may hold at once. Also called `SigmoidBinaryCrossEntropyLoss`.

    >>> gluon.loss.SigmoidBCELoss()(nd.array([[2], [-2]]), nd.array([[1], [1]]))
    [0.1269 2.1269]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F, pred, label, sample_weight=None, pos_weight=None):
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            eps = 1e-12
            positive = F.log(pred + eps) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + eps) * (1.0 - label))
        elif pos_weight is None:
            loss = F.relu(pred) - pred * label + _log1p_exp_minus_abs(F, pred)
        else:
            log_weight = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + log_weight * (_log1p_exp_minus_abs(F, pred) + F.relu(-pred))
        return self._finish(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """The cross entropy of classes: ``-log softmax(pred)[label]`` along `axis`, averaged over all other axes but the batch.

    sparse_label: label holds class numbers, of the shape of pred without `axis`; otherwise probabilities of its shape.
    from_logits: pred holds log probabilities already. weight: a factor; sample_weight, a third argument of the call, multiplies
    instances. Returns (batch,). Scores go in, not probabilities: the softmax is taken here, without overflow. Also called
    `SoftmaxCrossEntropyLoss`.

    >>> loss = gluon.loss.SoftmaxCrossEntropyLoss()
    >>> loss(nd.array([[1, 2, 3], [0, 0, 0]]), nd.array([2, 0]))
    [0.4076 1.0986]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * _reshape_like(F, label, pred), axis=self._axis, keepdims=True)
        return self._finish(F, loss, sample_weight)

    def _advice(self, pred=None, label=None, *_):
        if pred is None or label is None:
            return None
        if not self._sparse_label:
            wanted, means = pred, "are probabilities; class numbers take sparse_label=True"
        else:
            wanted, means = _without(pred, self._axis), "are class numbers"
            if label == pred:
                means += "; one-hot labels or probabilities take sparse_label=False"
            for axis in range(1, len(pred)):
                if label == _without(pred, axis):
                    means += f"; where the classes are on axis {axis} of the predictions, give the loss axis={axis}"
        if label == wanted:
            return None
        return f"for predictions of shape {pred} and axis={self._axis}, labels of shape {wanted} {means}; given {label}"


def _without(shape, axis):
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of pred from label: ``label (log label - log pred)``, averaged over all axes but the batch.

    from_logits: pred holds log probabilities; otherwise their softmax is taken along `axis`. label: probabilities of pred's shape.
    weight: a factor. Returns (batch,): the sum over classes divided by their number, as in MXNet. Knowledge is distilled with it.

    >>> pred, label = nd.log(nd.array([[0.5, 0.5]])), nd.array([[0.25, 0.75]])
    >>> gluon.loss.KLDivLoss()(pred, label)
    [0.1308]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al., 2006); the last class is the blank.

    pred: scores in `layout`; label: class numbers in `label_layout`, padded with -1 where no lengths are given.

    The call takes (pred, label, pred_lengths=None, label_lengths=None, sample_weight=None) and returns (batch,): minus the logarithm
    of the probability that the steps spell the label, the softmax over classes being taken here. MXNetError for another
    layout.

    >>> loss = gluon.loss.CTCLoss()
    >>> loss(nd.zeros((1, 2, 3)), nd.array([[0]]))
    [1.0986]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, layout="NTC", label_layout="NT", weight=None, **kwargs):
        if layout not in ("NTC", "TNC"):
            raise AssertionError(f"layout is 'NTC' or 'TNC', got {layout!r}")
        if label_layout not in ("NT", "TN"):
            raise AssertionError(f"label_layout is 'NT' or 'TN', got {label_layout!r}")
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(self, F, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None):
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """d^2 / (2 rho) for d = |label - pred| up to rho, d - rho / 2 beyond (Huber, 1964).

    A parabola near 0 and straight lines beyond, averaged over all axes but the batch: outliers pull no harder than rho allows.
    weight: a factor. label has as many elements as pred; sample_weight, a third argument of the call, multiplies them. Returns
    (batch,).

    >>> gluon.loss.HuberLoss()(nd.array([[0], [0]]), nd.array([[0.5], [3]]))
    [0.125 2.5  ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, rho=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = F.abs(_reshape_like(F, label, pred) - pred)
        loss = F.where(loss > self._rho, loss - 0.5 * self._rho, 0.5 / self._rho * F.square(loss))
        return self._finish(F, loss, sample_weight)


class HingeLoss(Loss):
    """max(0, margin - pred label) with labels -1 and 1.

    0 where the label wins by the margin. pred: scores, with as many elements as label; sample_weight, a third argument of the call,
    multiplies them. weight: a factor. Returns (batch,), the mean over all axes but the batch. Support vector machines are trained
    with it.

    >>> gluon.loss.HingeLoss()(nd.array([[0.5], [2]]), nd.array([[1], [-1]]))
    [0.5 3. ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = F.relu(self._margin - pred * _reshape_like(F, label, pred))
        return self._finish(F, loss, sample_weight)


class SquaredHingeLoss(HingeLoss):
    """max(0, margin - pred label)^2 with labels -1 and 1.

    0 where the label wins by the margin, and smooth there. pred: scores, with as many elements as label; sample_weight, a third
    argument of the call, multiplies them. weight: a factor. Returns (batch,), the mean over all axes but the batch.

    >>> gluon.loss.SquaredHingeLoss()(nd.array([[0.5], [2]]), nd.array([[1], [-1]]))
    [0.25 9.  ]
    <NDArray 2 @cpu(0)>
    """

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = F.square(F.relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._finish(F, loss, sample_weight)


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)) with labels -1 and 1 ("signed") or 0 and 1 ("binary").

    The cross entropy of two classes for scores, computed without overflow. pred has as many elements as label; sample_weight, a
    third argument of the call, multiplies them. weight: a factor. Returns (batch,), the mean over all axes but the batch.
    ValueError for another label_format.

    >>> gluon.loss.LogisticLoss()(nd.array([[2], [2]]), nd.array([[1], [-1]]))
    [0.1269 2.1269]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format is 'signed' or 'binary', got {label_format!r}")
        self._label_format = label_format

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._finish(F, F.relu(pred) - pred * label + _log1p_exp_minus_abs(F, pred), sample_weight)


class TripletLoss(Loss):
    """max(0, |pred - positive|^2 - |pred - negative|^2 + margin) (Schroff et al., 2015).

    Squares are summed over all axes but the batch. pred: vectors of anchors, (batch, ...); positive: of the same class; negative:
    of another. weight: a factor. Returns (batch,): 0 where the negative is further away by the margin.

    >>> one, two, far = nd.array([[0, 0]]), nd.array([[1, 0]]), nd.array([[1.2, 0]])
    >>> gluon.loss.TripletLoss()(one, two, far)
    [0.56]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, pred, positive, negative, sample_weight=None):
        positive, negative = _reshape_like(F, positive, pred), _reshape_like(F, negative, pred)
        distances = F.square(positive - pred) - F.square(negative - pred)
        loss = F.relu(F.sum(distances, axis=self._batch_axis, exclude=True) + self._margin)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of Poisson counts: exp(pred) - target pred, or pred - target log(pred).

    The mean over all, as in MXNet 1; for arrays of `np` one of each instance, as in MXNet 2.

    compute_full adds Stirling's approximation of log(target!) where target > 1.

    from_logits: pred is the logarithm of the rate; otherwise the rate. target has pred's shape; sample_weight, a third argument of
    the call, multiplies its elements. weight: a factor.

    >>> gluon.loss.PoissonNLLLoss()(nd.array([[0.0], [1.0]]), nd.array([[1], [2]]))
    [0.8591]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, weight=None, from_logits=True, batch_axis=0, compute_full=False, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(self, F, pred, target, sample_weight=None, epsilon=1e-8):
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * math.pi * target)
            loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True) if _of_np(loss) else F.mean(loss)


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) for label 1, max(0, cos(input1, input2) - margin) for label -1.

    (batch, 1) as in MXNet 1; for arrays of `np` (batch,) as in MXNet 2.

    input1, input2: vectors, (batch, ..., features); label: (batch,) of 1 for those that belong together and -1 for others. margin: a
    cosine that unlike pairs may have. weight: a factor. Vectors of embeddings are trained with it.

    >>> loss = gluon.loss.CosineEmbeddingLoss()
    >>> loss(nd.array([[1, 0], [1, 0]]), nd.array([[1, 1], [1, 1]]), nd.array([1, -1]))
    [[0.2929]
     [0.7071]]
    <NDArray 2x1 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, input1, input2, label, sample_weight=None):
        input1 = _reshape_like(F, input1, input2)
        label = F.reshape(label, shape=(-1, 1))

        def column(x):
            return F.reshape(x, shape=(-1, 1))

        norms = column(F.norm(input1, axis=-1)) * column(F.norm(input2, axis=-1))
        cosine = column(F.sum(input1 * input2, axis=-1)) / F.maximum(norms, 1e-12)
        loss = (1 - cosine) * (label == 1) + F.relu((label == -1) * (cosine - self._margin))
        if _of_np(loss):
            loss = F.reshape(loss, shape=(-1,))
        return _apply_weighting(F, loss, self._weight, sample_weight)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: pairs (x1[i], x2[i]) match,
    all others of the batch do not (Bonadiman et al., 2019).

    x1, x2: (batch, features).

    The loss is the Kullback-Leibler divergence of the softmax over negated squared distances from a smoothed one-hot distribution.
    smoothing_parameter: the probability that is spread over the other instances. weight: a factor. Returns (batch,).

    >>> gluon.loss.SDMLLoss()(nd.array([[0, 0], [5, 5]]), nd.array([[0, 0], [5, 5]])).shape
    (2,)
    """

    def __init__(self, smoothing_parameter=0.3, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F, x1, x2):
        batch, smoothing = x1.shape[0], self.smoothing_parameter
        gold = F.eye(batch, dtype=x1.dtype, ctx=x1.context)
        labels = gold * (1 - smoothing) + (1 - gold) * smoothing / (batch - 1)
        differences = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        distances = F.sum(F.square(differences), axis=2)
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)


def _apply_weighting(F, loss, weight=None, sample_weight=None):
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    if not isinstance(weight, (int, float)):
        raise AssertionError(f"weight is a number, got {weight!r}")
    return loss if weight == 1 else loss * weight


def _reshape_like(F, x, y):
    if isinstance(x, nd.NDArray):
        return x if x.shape == y.shape else x.reshape(y.shape)
    return F.reshape_like(x, y)


def _of_np(x) -> bool:
    """Whether an array or symbol is of MXNet 2's `np`."""
    return getattr(x, "_zero_dim", False)


def _log1p_exp_minus_abs(F, x):
    """log(1 + exp(-|x|)), which does not overflow."""
    return F.Activation(-F.abs(x), act_type="softrelu")


_complete(globals())
