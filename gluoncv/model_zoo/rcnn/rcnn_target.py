"""What the heads of region-based detectors are taught."""

from core import autograd
from gluon.block import HybridBlock
from gluoncv.nn.bbox import BBoxBatchIOU
from gluoncv.nn.coder import MEANS, STDS, MultiClassEncoder, NormalizedPerClassBoxCenterEncoder
from gluoncv.nn.rows import take_rows


class RCNNTargetSampler(HybridBlock):
    """Regions (B, num_sample, 4) drawn from proposals (B, N, 4) and boxes (B, M, 4),
    samples and matches (B, num_sample).

    Called with the proposals, their scores (B, N, 1), below 0 where there is none, and the boxes, -1 behind the last.
    At most `pos_ratio` of the samples are positive (1), which overlap a box by `pos_iou_thresh`; the others are
    negative (-1), or left out (0) where there are not enough. Regions come by rising area.
    """

    def __init__(self, num_image, num_proposal, num_sample, pos_iou_thresh, pos_ratio, max_num_gt):
        super().__init__()
        self._num_sample, self._max_pos = num_sample, round(num_sample * pos_ratio)
        self._pos_iou_thresh = pos_iou_thresh
        self._batch_iou = BBoxBatchIOU()

    def hybrid_forward(self, F, rois, scores, gt_boxes):
        with autograd.pause():
            regions = F.concat(rois, gt_boxes, dim=1)
            given = F.sum(gt_boxes, axis=-1, keepdims=True) + 1
            scores = F.reshape(F.concat(scores, given, dim=1), shape=(0, -1))
            ious = self._batch_iou(regions, gt_boxes)
            # Ranks: 3 positive, 2 negative, 0 nothing. What is added draws among those of equal rank.
            rank = F.where(scores < 0, F.zeros_like(scores), F.ones_like(scores) * 2)
            rank = F.where(F.max(ious, axis=-1) >= self._pos_iou_thresh, F.ones_like(rank) * 3, rank)
            drawn = rank + F._random_uniform_like(rank) * 0.5
            order = F.argsort(drawn, axis=1, is_ascend=False)
            first = F.slice_axis(order, axis=1, begin=0, end=self._max_pos)
            rest = F.slice_axis(order, axis=1, begin=self._max_pos, end=None)
            # Of the rest, negative ones come before positive ones.
            left = take_rows(F, drawn, rest)
            left = F.where((left >= 2) * (left < 3), left + 2, left)
            best = F.slice_axis(
                F.argsort(left, axis=1, is_ascend=False), axis=1, begin=0, end=self._num_sample - self._max_pos
            )
            indices = F.concat(first, take_rows(F, rest, best), dim=1)
            regions, rank, matches = (take_rows(F, x, indices) for x in (regions, rank, F.argmax(ious, axis=-1)))
            samples = (rank == 3) - (rank == 2)
            left, top, right, bottom = F.split(regions, axis=-1, num_outputs=4, squeeze_axis=True)
            by_area = F.argsort((right - left) * (bottom - top), axis=1)
            return tuple(take_rows(F, x, by_area) for x in (regions, samples, matches))


class RCNNTargetGenerator(HybridBlock):
    """Classes (B, N), 0 for the background, -1 for what is left out;
    targets and masks (B, max_pos, classes, 4), indices.

    Called with regions (B, N, 4), samples and matches (B, N), labels (B, M, 1) and boxes (B, M, 4); the rest as in
    `NormalizedPerClassBoxCenterEncoder`.
    """

    def __init__(self, num_class, max_pos=128, per_device_batch_size=1, means=MEANS, stds=STDS):
        super().__init__()
        self._cls_encoder = MultiClassEncoder()
        self._box_encoder = NormalizedPerClassBoxCenterEncoder(
            num_class=num_class, max_pos=max_pos, per_device_batch_size=per_device_batch_size, means=means, stds=stds
        )

    def hybrid_forward(self, F, roi, samples, matches, gt_label, gt_box):
        with autograd.pause():
            classes = self._cls_encoder(samples, matches, gt_label)
            return classes, *self._box_encoder(samples, matches, roi, gt_label, gt_box)


class MaskTargetGenerator(HybridBlock):
    """Masks of regions (B, N, classes, h, w) cut out of those of the objects, and which of them count.

    Called with regions (B, N, 4), masks (B, M, H, W), matches (B, N) and classes (B, N) from 1 on.
    """

    def __init__(self, num_images, num_rois, num_classes, mask_size, **kwargs):
        super().__init__(**kwargs)
        self._num_images, self._num_classes, self._mask_size = num_images, num_classes, mask_size

    def hybrid_forward(self, F, rois, gt_masks, matches, cls_targets):
        with autograd.pause():
            targets, counts = [], []
            labels = F.reshape(F.arange(1, self._num_classes + 1), shape=(1, -1))
            for i in range(self._num_images):
                roi, mask, match, target = (
                    F.squeeze(F.slice_axis(x, axis=0, begin=i, end=i + 1), axis=0)
                    for x in (rois, gt_masks, F.relu(matches), cls_targets)
                )
                # Each object's mask is a picture of its own.
                regions = F.concat(F.expand_dims(match, axis=1), roi, dim=-1)
                pooled = F.contrib.ROIAlign(F.expand_dims(mask, axis=1), regions, self._mask_size, 1.0, sample_ratio=2)
                same = F.reshape(F.broadcast_equal(F.expand_dims(target, axis=1), labels), shape=(-2, 1, 1))
                counts.append(F.broadcast_like(same, pooled, lhs_axes=(2, 3), rhs_axes=(2, 3)))
                targets.append(F.broadcast_axis(pooled, size=self._num_classes, axis=1))
            return F.stack(*targets, axis=0), F.stack(*counts, axis=0)
