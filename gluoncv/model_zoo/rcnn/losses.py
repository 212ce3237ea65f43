"""The losses of region-based detectors, and the work of one device on a batch."""

from core import autograd, nd
from core.contrib import amp
from gluon.parallel import Parallelizable


class RegionLosses:
    """The losses of a batch of one device, by name, and what metrics of them are computed from.

    net: Faster R-CNN, or with `mask_loss` Mask R-CNN. The losses are functions of predictions, targets and weights, and
    give means over the elements: of proposals' objects and boxes, of classes, boxes and masks.
    """

    def __init__(self, net, rpn_cls_loss, rpn_box_loss, rcnn_cls_loss, rcnn_box_loss, mask_loss=None):
        self.net = net
        self.rpn_cls_loss, self.rpn_box_loss = rpn_cls_loss, rpn_box_loss
        self.rcnn_cls_loss, self.rcnn_box_loss, self.mask_loss = rcnn_cls_loss, rcnn_box_loss, mask_loss

    def __call__(self, data, truth, objects, offsets, offset_masks, masks=None):
        """Each loss (B,), so that the sum over the batch is B times the mean over what counts in it; pairs for metrics.

        data (B, 3, H, W), truth (B, M, 5 or more), targets of proposals (B, A), (B, A, 4) and (B, A, 4); masks (B, M,
        H, W). The pairs are lists of labels and of predictions, of "rpn_class", "rpn_box", "class", "box" and "mask".
        """
        cls_pred, box_pred, *rest = self.net(data, truth[:, :, :4], truth[:, :, 4:5])
        mask_pred = None if self.mask_loss is None else rest.pop(0)
        rois, _, matches, rpn_score, rpn_box, _, cls_targets, box_targets, box_masks, indices = rest
        rpn_score = rpn_score.squeeze(axis=-1)
        with autograd.pause():
            counted = objects >= 0
            anchors, regions = counted.sum(), (cls_targets >= 0).sum()
        losses = {
            "rpn_class": _mean(self.rpn_cls_loss(rpn_score, objects, counted), objects, anchors),
            "rpn_box": _mean(self.rpn_box_loss(rpn_box, offsets, offset_masks), rpn_box, anchors),
            "class": _mean(
                self.rcnn_cls_loss(cls_pred, cls_targets, cls_targets.expand_dims(-1) >= 0), cls_targets, regions
            ),
            "box": _mean(self.rcnn_box_loss(box_pred, box_targets, box_masks), box_pred, regions),
        }
        pairs = {
            "rpn_class": [[objects, counted], [rpn_score]],
            "rpn_box": [[offsets, offset_masks], [rpn_box]],
            "class": [[cls_targets], [cls_pred]],
            "box": [[box_targets, box_masks], [box_pred]],
        }
        if self.mask_loss is not None:
            with autograd.pause():
                count = indices.shape[0]
                own = [nd.stack(*(x[k].take(indices[k]) for k in range(count))) for x in (rois, matches, cls_targets)]
                mask_targets, mask_counts = self.net.mask_target(own[0], masks, own[1], own[2])
                pixels = nd.maximum(mask_counts.sum(), 1)
            losses["mask"] = _mean(self.mask_loss(mask_pred, mask_targets, mask_counts), mask_targets, pixels)
            pairs["mask"] = [[mask_targets, mask_counts], [mask_pred]]
        return losses, pairs


def _mean(loss, over, count):
    """A loss that is a mean over all elements of `over`, as one over `count` of them."""
    return loss * (over.size / count)


class FasterRCNNTask(Parallelizable):
    """Forward and backward of Faster R-CNN on a batch of one device, for `Parallel`.

    mix_ratio: weight of all losses, those of pictures that were blended with others. amp_enabled: losses are scaled for
    `optimizer`, a Trainer in mixed precision.
    """

    def __init__(
        self, net, optimizer, rpn_cls_loss, rpn_box_loss, rcnn_cls_loss, rcnn_box_loss, mix_ratio, amp_enabled
    ):
        super().__init__()
        self._losses = RegionLosses(net, rpn_cls_loss, rpn_box_loss, rcnn_cls_loss, rcnn_box_loss)
        self.net, self.mix_ratio, self.amp_enabled, self._optimizer = net, mix_ratio, amp_enabled, optimizer

    def forward_backward(self, x):
        """The means of the four losses, then labels and predictions of each, from pictures, truth and targets."""
        losses, pairs = self._step(*x)
        return (*(loss.mean() * self.mix_ratio for loss in losses.values()), *pairs.values())

    def _step(self, *parts):
        with autograd.record():
            losses, pairs = self._losses(*parts)
            total = sum(loss.sum() for loss in losses.values()) * self.mix_ratio
            if self.amp_enabled:
                with amp.scale_loss(total, self._optimizer) as scaled:
                    autograd.backward(scaled)
            else:
                total.backward()
        return losses, pairs


class MaskRCNNTask(FasterRCNNTask):
    """Forward and backward of Mask R-CNN on a batch of one device, for `Parallel`."""

    def __init__(
        self, net, optimizer, rpn_cls_loss, rpn_box_loss, rcnn_cls_loss, rcnn_box_loss, rcnn_mask_loss, amp_enabled
    ):
        super().__init__(net, optimizer, rpn_cls_loss, rpn_box_loss, rcnn_cls_loss, rcnn_box_loss, 1, amp_enabled)
        self._losses.mask_loss = rcnn_mask_loss

    def forward_backward(self, x):
        """Five losses, of proposals as means and of regions as sums, then labels and predictions, twice of masks."""
        data, truth, masks, *targets = x
        losses, pairs = self._step(data, truth, *targets, masks)
        shown = [loss.mean() if name.startswith("rpn") else loss.sum() for name, loss in losses.items()]
        return (*shown, *pairs.values(), pairs["mask"])
