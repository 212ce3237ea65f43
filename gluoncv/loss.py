"""Losses of detectors, segmentation networks, trackers and of distillation."""

from core import ndarray as nd
from core.documentation.classes import complete as _complete
from gluon.block import Block, HybridBlock
from gluon.loss import L1Loss, Loss, SigmoidBinaryCrossEntropyLoss, _apply_weighting, _reshape_like
from gluon.loss import SoftmaxCrossEntropyLoss as _CrossEntropy

__all__ = [
    "DistillationSoftmaxCrossEntropyLoss",
    "FocalLoss",
    "HeatmapFocalLoss",
    "ICNetLoss",
    "MaskedL1Loss",
    "MixSoftmaxCrossEntropyLoss",
    "MixSoftmaxCrossEntropyOHEMLoss",
    "SSDMultiBoxLoss",
    "SegmentationMultiLosses",
    "SiamRPNLoss",
    "SoftmaxCrossEntropyLoss",
    "SoftmaxCrossEntropyOHEMLoss",
    "YOLOV3Loss",
]


# ---------------------------------------------------------------------------------------------- detection


class FocalLoss(Loss):
    """Cross-entropy of each class by itself, times (1 - p)^gamma (Lin et al., 2017), one number an instance.

    alpha: weight of the right class, 1 - alpha that of the others. sparse_label: labels are indices, of `num_class`
    classes, else of the shape of `pred`, positive where a class is right. from_logits: `pred` are probabilities.
    size_average: the mean over all other axes, else the sum. ValueError for sparse labels without `num_class`.

    >>> gluoncv.loss.FocalLoss(num_class=2)(nd.array([[2, -2]]), nd.array([0])).shape
    (1,)
    """

    def __init__(
        self, axis=-1, alpha=0.25, gamma=2, sparse_label=True, from_logits=False, batch_axis=0, weight=None,
        num_class=None, eps=1e-12, size_average=True, **kwargs,
    ):  # fmt: skip
        super().__init__(weight, batch_axis, **kwargs)
        if sparse_label and (not isinstance(num_class, int) or num_class < 1):
            raise ValueError(f"with sparse labels num_class is a positive number, got {num_class!r}")
        self._alpha, self._gamma, self._sparse_label, self._num_class = alpha, gamma, sparse_label, num_class
        self._from_logits, self._eps, self._size_average, self._axis = from_logits, eps, size_average, axis

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = F.sigmoid(pred)
        right = F.one_hot(label, depth=self._num_class) if self._sparse_label else label > 0
        p = F.where(right, pred, 1 - pred)
        alpha = F.where(right, F.ones_like(p) * self._alpha, F.ones_like(p) * (1 - self._alpha))
        loss = -alpha * (1 - p) ** self._gamma * F.log(F.minimum(p + self._eps, 1))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return (F.mean if self._size_average else F.sum)(loss, axis=self._batch_axis, exclude=True)


class SSDMultiBoxLoss(Block):
    """Cross-entropy of classes plus `lambd` times Huber's loss of boxes,
    over the number of positive anchors of all devices.

    Called with lists (or one array each): class scores (B, A, 1 + classes), offsets (B, A, 4), classes (B, A), 0 for
    the background, -1 to be left out of the boxes' loss, and target offsets (B, A, 4); gives three lists of (B,): the
    sum, the classes' and the boxes' loss. negative_mining_ratio: negative anchors that count, the worst ones, for each
    positive one, but `min_hard_negatives` at least. rho: where Huber's loss becomes linear.

    >>> loss = gluoncv.loss.SSDMultiBoxLoss()
    >>> total, classes, boxes = loss(nd.zeros((1, 2, 3)), nd.zeros((1, 2, 4)), nd.array([[1, 0]]), nd.zeros((1, 2, 4)))
    >>> classes[0]
    [2.1972]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, negative_mining_ratio=3, rho=1.0, lambd=1.0, min_hard_negatives=0, **kwargs):
        super().__init__(**kwargs)
        self._negative_mining_ratio, self._min_hard_negatives = (
            max(0, negative_mining_ratio),
            max(0, min_hard_negatives),
        )
        self._rho, self._lambd = rho, lambd

    def forward(self, cls_pred, box_pred, cls_target, box_target):
        lists = [x if isinstance(x, (list, tuple)) else [x] for x in (cls_pred, box_pred, cls_target, box_target)]
        positive = sum(float((target > 0).sum().asscalar()) for target in lists[2])
        if positive < 1 and self._min_hard_negatives < 1:
            none = [(nd.sum(cp * 0), nd.sum(bp * 0)) for cp, bp, *_ in zip(*lists, strict=True)]
        else:
            none = None
        losses = none or [self._losses(*parts, max(1.0, positive)) for parts in zip(*lists, strict=True)]
        factor = 1.0 if none else self._lambd
        classes, boxes = [loss for loss, _ in losses], [loss for _, loss in losses]
        return [c + factor * b for c, b in losses], classes, boxes

    def _losses(self, cls_pred, box_pred, cls_target, box_target, count):
        positive = cls_target > 0
        loss = -nd.pick(nd.log_softmax(cls_pred, axis=-1), cls_target, axis=-1)
        # How many negative anchors are worse.
        rank = (loss * (positive - 1)).argsort(axis=1).argsort(axis=1)
        most = nd.maximum(positive.sum(axis=1) * self._negative_mining_ratio, self._min_hard_negatives)
        counts = positive + nd.broadcast_lesser(rank, most.expand_dims(-1)) > 0
        cls_loss = nd.sum(nd.where(counts, loss, nd.zeros_like(loss)), axis=0, exclude=True) / count
        error = nd.abs(_reshape_like(nd, box_pred, box_target) - box_target)
        error = nd.where(error > self._rho, error - 0.5 * self._rho, (0.5 / self._rho) * nd.square(error))
        return cls_loss, nd.sum(nd.broadcast_mul(error, positive.expand_dims(-1)), axis=0, exclude=True) / count


class YOLOV3Loss(Loss):
    """Four losses (B,), summed over anchors: of objects, centres, sizes and classes.

    Called with what the network predicts: objects (B, N, 1), centres (B, N, 2), sizes (B, N, 2), classes (B, N,
    classes); then their targets, with the weights of centres and sizes before those of classes, and the classes' mask.
    Objects with a target below 0 do not count.

    >>> one, two = nd.zeros((1, 4, 1)), nd.zeros((1, 4, 2))
    >>> losses = gluoncv.loss.YOLOV3Loss()(one, two, two, nd.zeros((1, 4, 3)), one, two, two, two, nd.zeros((1, 4, 3)), nd.ones((1, 4, 3)))
    >>> losses[0]
    [2.7726]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, batch_axis=0, weight=None, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._sigmoid_ce = SigmoidBinaryCrossEntropyLoss(from_sigmoid=False)
        self._l1_loss = L1Loss()

    def hybrid_forward(
        self,
        F,
        objness,
        box_centers,
        box_scales,
        cls_preds,
        objness_t,
        center_t,
        scale_t,
        weight_t,
        class_t,
        class_mask,
    ):
        def count(x):
            sizes = F.slice_axis(F.shape_array(x), axis=0, begin=1, end=None)
            return F.cast(F.prod(sizes, axis=0, keepdims=True), dtype="float32")

        weight_t = F.broadcast_mul(weight_t, objness_t)
        is_object = F.where(objness_t > 0, F.ones_like(objness_t), objness_t)
        weight = F.where(objness_t > 0, objness_t, objness_t >= 0)
        anchors = count(objness_t)
        obj_loss = F.broadcast_mul(self._sigmoid_ce(objness, is_object, weight), anchors)
        center_loss = F.broadcast_mul(self._sigmoid_ce(box_centers, center_t, weight_t), anchors * 2)
        scale_loss = F.broadcast_mul(self._l1_loss(box_scales, scale_t, weight_t), anchors * 2)
        class_mask = F.broadcast_mul(class_mask, objness_t)
        cls_loss = F.broadcast_mul(self._sigmoid_ce(cls_preds, class_t, class_mask), count(class_t))
        return obj_loss, center_loss, scale_loss, cls_loss


class HeatmapFocalLoss(Loss):
    """Focal loss of heat maps that fall off around centres (Law and Deng, 2018), over the number of centres; (1,).

    pred and label (B, classes, H, W); labels of centres are 1. from_logits: `pred` are probabilities.

    >>> maps = nd.array([[[[1, 0.5], [0, 0]]]])
    >>> gluoncv.loss.HeatmapFocalLoss(from_logits=True)(nd.ones((1, 1, 2, 2)) * 0.5, maps)
    [0.5307]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, from_logits=False, batch_axis=0, weight=None, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits

    def hybrid_forward(self, F, pred, label):
        p = pred if self._from_logits else F.sigmoid(pred)
        center = label == 1
        at_centers = F.sum(F.log(p) * F.square(1 - p) * center)
        elsewhere = F.sum(F.log(1 - p) * F.square(p) * F.power(1 - label, 4) * (label < 1))
        return -(at_centers + elsewhere) / F.clip(F.sum(center), a_min=1, a_max=1e30)


class MaskedL1Loss(Loss):
    """|label - pred| where `mask` is 1, summed, over the sum of the mask, (1,).

    >>> gluoncv.loss.MaskedL1Loss()(nd.array([[1, 2]]), nd.array([[3, 5]]), nd.array([[1, 0]]))
    [2.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, mask, sample_weight=None):
        loss = F.abs(_reshape_like(F, label, pred) * mask - pred * mask)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss) / F.clip(F.sum(mask), a_min=1, a_max=1e30)


class SiamRPNLoss(HybridBlock):
    """Losses of classes and of positions of a tracker (Li et al., 2018) with five anchors at each of 17 x 17 positions.

    Called with class scores (B, 10, 17, 17), offsets (B, 20, 17, 17), labels, indices of positive and of negative
    anchors among all (each class of anchors counts half), target offsets (B, 4, 5, 17, 17) and their weights (B, 5, 17,
    17).

    >>> loss = gluoncv.loss.SiamRPNLoss(batch_size=1)
    >>> labels = nd.zeros(5 * 17 * 17)
    >>> labels[:2] = 1
    >>> classes, boxes = nd.zeros((1, 10, 17, 17)), nd.zeros((1, 20, 17, 17))
    >>> targets, weights = nd.zeros((1, 4, 5, 17, 17)), nd.ones((1, 5, 17, 17))
    >>> loss(classes, boxes, labels, nd.array([0, 1]), nd.array([2, 3]), targets, weights)
    (
    [0.6931]
    <NDArray 1 @cpu(0)>,
    [0.]
    <NDArray 1 @cpu(0)>)
    """

    def __init__(self, batch_size=128, **kwargs):
        super().__init__(**kwargs)
        self.conf_loss = _CrossEntropy()
        self.h = self.w = 17
        self.b, self.loc_c, self.cls_c = batch_size, 10, 5

    def hybrid_forward(self, F, cls_pred, loc_pred, label_cls, pos_index, neg_index, label_loc, label_loc_weight):
        loc_loss = self.weight_l1_loss(F, loc_pred, label_loc, label_loc_weight)
        return self.cross_entropy_loss(F, cls_pred, label_cls, pos_index, neg_index), loc_loss

    def weight_l1_loss(self, F, pred_loc, label_loc, loss_weight):
        """The weighted sum of differences, an instance."""
        offsets = F.reshape(pred_loc, shape=(self.b, 4, -1, self.h, self.w))
        error = F.reshape(F.sum(F.abs(offsets - label_loc), axis=1), shape=(self.b, -1, self.h, self.w))
        return F.sum(error * loss_weight) / self.b

    def cross_entropy_loss(self, F, pred, label, pos_index, neg_index):
        """Half the loss of positive, half that of negative anchors."""
        scores = F.reshape(pred, shape=(self.b, 2, self.loc_c // 2, self.h, self.h))
        scores = F.reshape(F.transpose(scores, axes=(0, 2, 3, 4, 1)), shape=(-1, 2))
        label = F.reshape(label, shape=(-1,))
        return sum(self.get_cls_loss(F, scores, label, index) * 0.5 for index in (pos_index, neg_index))

    def get_cls_loss(self, F, pred, label, select):
        """The mean loss of some anchors, 0 for none."""
        if len(select) == 0:
            return 0
        select = F.reshape(select, shape=(-1,))
        return F.mean(self.conf_loss(F.take(pred, select), F.take(label, select)))


# ---------------------------------------------------------------------------------------------- segmentation


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of each position, without those labelled `ignore_label`, averaged over all positions,
    one number an instance.

    pred (B, classes, H, W); label (B, H, W), or with `sparse_label` off the probabilities, classes last. The gradient
    is that of `SoftmaxOutput`: over the number of positions that count (size_average), whatever the loss is multiplied
    with.

    >>> loss = gluoncv.loss.SoftmaxCrossEntropyLoss()
    >>> label = nd.array([[[0, 1], [-1, -1]]])  # the lower half does not count
    >>> loss(nd.zeros((1, 3, 2, 2)), label)
    [0.5493]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, sparse_label=True, batch_axis=0, ignore_label=-1, size_average=True, **kwargs):
        super().__init__(None, batch_axis, **kwargs)
        self._sparse_label, self._ignore_label, self._size_average = sparse_label, ignore_label, size_average

    def hybrid_forward(self, F, pred, label):
        return self._entropy(F, pred, label)

    def _entropy(self, F, pred, label):
        probability = self._softmax(F, pred, label)
        if self._sparse_label:
            loss = -F.pick(F.log(probability), label, axis=1, keepdims=True)
        else:
            label = _reshape_like(F, label, pred)
            loss = -F.sum(F.log(probability) * label, axis=-1, keepdims=True)
        loss = F.where(F.expand_dims(label, axis=1) == self._ignore_label, F.zeros_like(loss), loss)
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def _softmax(self, F, pred, label):
        """Probabilities, with the gradient of all places that count."""
        return F.SoftmaxOutput(
            pred, F.cast(label, dtype="float32"), ignore_label=self._ignore_label, multi_output=self._sparse_label,
            use_ignore=True, normalization="valid" if self._size_average else "null",
        )  # fmt: skip


class SoftmaxCrossEntropyOHEMLoss(SoftmaxCrossEntropyLoss):
    """`SoftmaxCrossEntropyLoss` whose gradient comes from hard positions alone (Shrivastava et al., 2016).

    Hard are those whose class has a probability of 0.6 at most, and the 256 of the batch with the least.

    >>> loss = gluoncv.loss.SoftmaxCrossEntropyOHEMLoss()
    >>> scores, label = nd.array([[[[0, 5]], [[0, 0]]]]), nd.array([[[0, 0]]])  # an uncertain and an easy place
    >>> loss(scores, label)
    [0.3499]
    <NDArray 1 @cpu(0)>
    """

    THRESH, MIN_KEEP = 0.6, 256

    def _softmax(self, F, pred, label):
        label = F.cast(label, dtype="float32")
        right = F.pick(F.softmax(F.stop_gradient(pred), axis=1), label, axis=1)
        right = F.where(label == self._ignore_label, F.ones_like(right) * 2, right)
        flat = F.reshape(right, shape=(-1,))
        rank = F.reshape_like(F.argsort(F.argsort(flat)), right)
        hard = (right <= self.THRESH) + (rank < self.MIN_KEEP) > 0
        return super()._softmax(F, pred, F.where(hard, label, F.ones_like(label) * self._ignore_label))


class SegmentationMultiLosses(SoftmaxCrossEntropyLoss):
    """The sum of the losses of three predictions.

    >>> scores = nd.zeros((1, 2, 1, 2))
    >>> gluoncv.loss.SegmentationMultiLosses()(scores, scores, scores, nd.array([[[0, 1]]]))
    [2.0794]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, size_average=True, ignore_label=-1, **kwargs):
        super().__init__(size_average=size_average, ignore_label=ignore_label, **kwargs)

    def hybrid_forward(self, F, pred1, pred2, pred3, label):
        return sum(self._entropy(F, pred, label) for pred in (pred1, pred2, pred3))


class MixSoftmaxCrossEntropyLoss(SoftmaxCrossEntropyLoss):
    """The loss of a prediction and, with `aux`, `aux_weight` times that of a second one.

    mixup: two labels and a weight follow the predictions, in place of one label.

    >>> loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(aux=False)
    >>> loss(nd.zeros((1, 2, 1, 2)), nd.array([[[0, 1]]]))
    [0.6931]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, aux=True, mixup=False, aux_weight=0.2, ignore_label=-1, **kwargs):
        super().__init__(ignore_label=ignore_label, **kwargs)
        self.aux, self.mixup, self.aux_weight = aux, mixup, aux_weight

    def hybrid_forward(self, F, pred, *inputs):
        if not self.aux:
            return self._mixed(F, pred, *inputs)
        second, *labels = inputs
        return self._mixed(F, pred, *labels) + self.aux_weight * self._mixed(F, second, *labels)

    def _mixed(self, F, pred, label, other=None, share=None):
        if not self.mixup:
            return self._entropy(F, pred, label)
        return share * self._entropy(F, pred, label) + (1 - share) * self._entropy(F, pred, other)


class MixSoftmaxCrossEntropyOHEMLoss(SoftmaxCrossEntropyOHEMLoss):
    """The loss of a prediction and, with `aux`, `aux_weight` times that of a second one.

    >>> loss = gluoncv.loss.MixSoftmaxCrossEntropyOHEMLoss(aux=False)
    >>> loss(nd.zeros((1, 2, 4, 4)), nd.zeros((1, 4, 4))).shape
    (1,)
    """

    def __init__(self, aux=True, aux_weight=0.2, ignore_label=-1, **kwargs):
        super().__init__(ignore_label=ignore_label, **kwargs)
        self.aux, self.aux_weight = aux, aux_weight

    def hybrid_forward(self, F, pred, *inputs):
        *second, label = inputs
        loss = self._entropy(F, pred, label)
        return loss + self.aux_weight * self._entropy(F, *second, label) if self.aux else loss


class ICNetLoss(SoftmaxCrossEntropyLoss):
    """The loss of a prediction and those, times `weights`, of three more; all are resized to (height, width) before.

    >>> loss = gluoncv.loss.ICNetLoss(height=8, width=8)
    >>> scores = [nd.zeros((1, 3, side, side)) for side in (8, 1, 2, 4)]  # the prediction and the three branches
    >>> loss(*scores, nd.zeros((1, 8, 8)))  # (1 + 0.4 + 0.4 + 1) log 3
    [3.0761]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, weights=(0.4, 0.4, 1.0), height=None, width=None, crop_size=480, ignore_label=-1, **kwargs):
        super().__init__(ignore_label=ignore_label, **kwargs)
        self.weights = weights
        self.height, self.width = height or crop_size, width or crop_size

    def hybrid_forward(self, F, *inputs):
        *predictions, label = inputs
        total = None
        for pred, weight in zip(predictions, (None, *self.weights), strict=True):
            pred = F.contrib.BilinearResize2D(pred, height=self.height, width=self.width)
            loss = self._entropy(F, pred, label)
            total = loss if total is None else total + weight * loss
        return total


# ---------------------------------------------------------------------------------------------- distillation


class DistillationSoftmaxCrossEntropyLoss(HybridBlock):
    """`hard_weight` times the loss against labels, the rest against a teacher's probabilities (Hinton et al., 2015).

    temperature: what the scores are divided by for the teacher's part, which is multiplied by its square.

    >>> loss = gluoncv.loss.DistillationSoftmaxCrossEntropyLoss()
    >>> loss(nd.array([[0, 0]]), nd.array([1]), nd.array([[0.5, 0.5]]))
    [0.6931]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, temperature=1, hard_weight=0.5, sparse_label=True, **kwargs):
        super().__init__(**kwargs)
        self._temperature, self._hard_weight = temperature, hard_weight
        with self.name_scope():
            self.soft_loss = _CrossEntropy(sparse_label=False, **kwargs)
            self.hard_loss = _CrossEntropy(sparse_label=sparse_label, **kwargs)

    def hybrid_forward(self, F, output, label, soft_target):
        if self._hard_weight == 1:
            return self.hard_loss(output, label)
        soft = self._temperature**2 * self.soft_loss(output / self._temperature, soft_target)
        if self._hard_weight == 0:
            return soft
        return (1 - self._hard_weight) * soft + self._hard_weight * self.hard_loss(output, label)


_complete(globals())
