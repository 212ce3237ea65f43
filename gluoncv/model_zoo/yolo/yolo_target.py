"""What YOLOv3 is taught: five arrays of objects (B, N, 1), centres, sizes and their weights (B, N, 2),
classes (B, N, classes).

N counts the anchors at all positions of all maps.
"""

import numpy as np

from core import autograd
from core import ndarray as nd
from gluon.block import Block, HybridBlock
from gluoncv.nn.bbox import BBoxBatchIOU


class YOLOV3PrefetchTargetGenerator(Block):
    """Targets that depend on the truth alone: each box belongs to the anchor of the most similar shape,
    where its centre is.
    """

    def __init__(self, num_class, **kwargs):
        super().__init__(**kwargs)
        self._num_class = num_class

    def forward(self, img, xs, anchors, offsets, gt_boxes, gt_ids, gt_mixratio=None):
        """img (B, 3, H, W); xs, anchors and offsets: lists of what the network gives in training; gt_boxes (B, M, 4) of
        corners in pixels, with a -1 behind the last; gt_ids (B, M, 1); gt_mixratio (B, M, 1): weights of the boxes."""
        height, width = img.shape[2:]
        shapes = [a.asnumpy().reshape(-1, 2) for a in anchors]
        sizes = [x.shape[2:] for x in xs]
        anchor = np.concatenate(shapes)
        layer = np.repeat(np.arange(len(shapes)), [len(s) for s in shapes])
        within = np.concatenate([np.arange(len(s)) for s in shapes])
        counts = [o.size // 2 * len(s) for o, s in zip(offsets, shapes, strict=True)]
        start = np.cumsum([0, *counts])

        boxes, labels = gt_boxes.asnumpy(), gt_ids.asnumpy()
        mix = None if gt_mixratio is None else gt_mixratio.asnumpy()
        batch = labels.shape[0]
        objects, centers, scales, weights = (np.zeros((batch, start[-1], n), "float32") for n in (1, 2, 2, 2))
        classes = np.full((batch, start[-1], self._num_class), -1, "float32")
        for b in range(batch):
            for m, box in enumerate(boxes[b]):
                if (box < 0).any():
                    break
                size = box[2:] - box[:2]
                match = int(np.argmax(_shape_overlap(size, anchor)))
                rows, columns = sizes[layer[match]]
                place = (box[:2] + box[2:]) / 2 / (width, height) * (columns, rows)
                column, row = place.astype(int)
                at = start[layer[match]] + (row * columns + column) * len(shapes[layer[match]]) + within[match]
                centers[b, at] = place - (column, row)
                scales[b, at] = np.log(np.maximum(size, 1) / anchor[match])
                weights[b, at] = 2.0 - size[0] * size[1] / width / height
                objects[b, at] = 1 if mix is None else mix[b, m, 0]
                classes[b, at] = 0
                classes[b, at, int(labels[b, m, 0])] = 1
        return tuple(nd.array(x, ctx=gt_ids.context) for x in (objects, centers, scales, weights, classes))


def _shape_overlap(size, anchors):
    """Intersection over union of a box with anchors around the same centre."""
    shared = np.prod(np.minimum(size, anchors), axis=1)
    return shared / (size[0] * size[1] + np.prod(anchors, axis=1) - shared)


class YOLOV3DynamicTargetGeneratorSimple(HybridBlock):
    """Targets that depend on what is predicted: objects are -1 where a prediction overlaps a box by
    more than `ignore_iou_thresh`.
    """

    def __init__(self, num_class, ignore_iou_thresh, **kwargs):
        super().__init__(**kwargs)
        self._num_class, self._ignore_iou_thresh = num_class, ignore_iou_thresh
        self._batch_iou = BBoxBatchIOU()

    def hybrid_forward(self, F, box_preds, gt_boxes):
        """box_preds (B, N, 4) and gt_boxes (B, M, 4): corners."""
        with autograd.pause():
            box_preds = F.reshape(box_preds, shape=(0, -1, 4))
            overlap = F.max(self._batch_iou(box_preds, gt_boxes), axis=-1, keepdims=True)
            objects = (overlap > self._ignore_iou_thresh) * -1
            pairs = F.zeros_like(F.slice_axis(box_preds, axis=-1, begin=0, end=2))
            classes = F.ones_like(F.tile(objects, reps=(1, 1, self._num_class))) * -1
        return objects, pairs, pairs, pairs, classes


class YOLOV3TargetMerger(HybridBlock):
    """The targets of both kinds together, and a mask (B, N, classes) of the classes that count.

    `_label_smooth`: classes are smoothed, by 1 / classes or, if that is less, 1 / 40.
    """

    def __init__(self, num_class, ignore_iou_thresh, **kwargs):
        super().__init__(**kwargs)
        self._num_class = num_class
        self._dynamic_target = YOLOV3DynamicTargetGeneratorSimple(num_class, ignore_iou_thresh)
        self._label_smooth = False

    def hybrid_forward(self, F, box_preds, gt_boxes, obj_t, centers_t, scales_t, weights_t, clas_t):
        with autograd.pause():
            dynamic = self._dynamic_target(box_preds, gt_boxes)
            is_object = obj_t > 0
            merged = []
            fixed = (obj_t, centers_t, scales_t, weights_t, clas_t)
            for known, guess, width in zip(fixed, dynamic, (1, 2, 2, 2, self._num_class), strict=True):
                merged.append(F.where(F.tile(is_object, reps=(width,)), known, guess))
            classes = merged[4]
            if self._label_smooth:
                share = min(1.0 / self._num_class, 1.0 / 40)
                smooth = F.where(classes > 0.5, classes - share, F.ones_like(classes) * share)
                classes = merged[4] = F.where(classes < -0.5, classes, smooth)
            mask = F.tile(is_object, reps=(self._num_class,)) * (classes >= 0)
            return [F.stop_gradient(x) for x in (*merged, mask)]
