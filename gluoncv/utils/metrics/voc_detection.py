"""Average precision of detections, as PASCAL VOC measures it (Everingham et al., 2010)."""

from collections import defaultdict
from itertools import repeat

import numpy as np

from core.metric import EvalMetric
from gluoncv.utils.bbox import bbox_iou
from gluoncv.utils.metrics.pictures import pictures


class VOCMApMetric(EvalMetric):
    """Mean over the classes of the area under the curve of precision over recall, as from 2010 on.

    iou_thresh: overlap from which on a detection finds a box. class_names: `get` gives the figure of each of these and
    "mAP"; without names the mean alone, as "VOCMeanAP".

    >>> from gluoncv.utils.metrics import VOCMApMetric
    >>> metric = VOCMApMetric(class_names=["cat"])
    >>> box = nd.array([[[0, 0, 4, 4]]])
    >>> metric.update(box, nd.array([[[0]]]), nd.array([[[0.9]]]), box, nd.array([[[0]]]))
    >>> metric.get()
    (['cat', 'mAP'], [1.0, 1.0])
    """

    def __init__(self, iou_thresh=0.5, class_names=None):
        names = None if class_names is None else list(class_names)
        if names is not None and not all(isinstance(name, str) for name in names):
            raise AssertionError(f"names of classes are strings, got {class_names!r}")
        self.iou_thresh, self.class_names = iou_thresh, names
        super().__init__("VOCMeanAP")
        if names is not None:
            self.name = [*names, "mAP"]

    def reset(self):
        """Forgets all pictures."""
        self._n_pos = defaultdict(int)
        self._score, self._match = defaultdict(list), defaultdict(list)

    def update(self, pred_bboxes, pred_labels, pred_scores, gt_bboxes, gt_labels, gt_difficults=None):
        """Adds pictures: arrays, or lists of them, of corners (B, N, 4) in pixels,
        classes and scores (B, N) or (B, N, 1).

        The boxes of the truth come likewise; a class below 0 is no detection, or no box. gt_difficults: 1 for boxes
        that need not be found, None, or a list of it, where all must.
        """
        if isinstance(gt_difficults, list | tuple) and all(hard is None for hard in gt_difficults):
            gt_difficults = None
        difficult = repeat(None) if gt_difficults is None else pictures(gt_difficults)
        given = (pred_bboxes, pred_labels, pred_scores, gt_bboxes, gt_labels)
        for *arrays, hard in zip(*map(pictures, given), difficult, strict=gt_difficults is not None):
            self._add(*map(np.asarray, arrays), hard)

    def _add(self, boxes, labels, scores, truth, classes, difficult):
        found, known = np.flatnonzero(labels.ravel() >= 0), np.flatnonzero(classes.ravel() >= 0)
        boxes, labels, scores = boxes[found], labels.ravel()[found].astype(int), scores.ravel()[found]
        hard = np.zeros(classes.size) if difficult is None else np.ravel(difficult)
        truth, classes, hard = truth[known], classes.ravel()[known].astype(int), hard[known].astype(bool)
        for label in np.union1d(labels, classes):
            order = np.flatnonzero(labels == label)
            order = order[np.argsort(-scores[order], kind="stable")]
            own = classes == label
            self._n_pos[label] += int((~hard[own]).sum())
            self._score[label].extend(scores[order])
            self._match[label].extend(self._matches(boxes[order], truth[own], hard[own]))

    def _matches(self, boxes, truth, hard):
        """For each detection, the best first: 1 when it finds a box, 0 when not, -1 when it does not count."""
        if not len(truth):
            return [0] * len(boxes)
        # Right and bottom belong to the box.
        iou = bbox_iou(boxes + [0, 0, 1, 1], truth + [0, 0, 1, 1])
        matches, taken = [], np.zeros(len(truth), bool)
        for row in iou:
            best = row.argmax()
            if row[best] < self.iou_thresh:
                matches.append(0)
            else:
                matches.append(-1 if hard[best] else int(not taken[best]))
                taken[best] = True
        return matches

    def get(self):
        """(name, mean), or (names, figures) when there are names; nan for classes without boxes."""
        figures = {label: self._figure(label) for label in self._n_pos}
        values = np.array(list(figures.values()))
        mean = float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
        if self.class_names is None:
            return self.name, mean
        return self.name, [*(figures.get(label, float("nan")) for label in range(len(self.class_names))), mean]

    def _figure(self, label):
        if not self._n_pos[label]:
            return float("nan")
        order = np.argsort(-np.array(self._score[label], float), kind="stable")
        match = np.array(self._match[label], int)[order]
        right, wrong = np.cumsum(match == 1), np.cumsum(match == 0)
        recall, precision = right / self._n_pos[label], right / np.maximum(right + wrong, 1)
        return float(self._average_precision(recall, precision))

    def _average_precision(self, rec, prec):
        """The area under the curve, whose precision at a recall is the best one at this recall or more."""
        recall, precision = np.concatenate([[0.0], rec, [1.0]]), np.concatenate([[0.0], prec, [0.0]])
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        steps = np.flatnonzero(recall[1:] != recall[:-1])
        return np.sum((recall[steps + 1] - recall[steps]) * precision[steps + 1])


class VOC07MApMetric(VOCMApMetric):
    """Mean of the best precision at eleven recalls, 0, 0.1, ... 1, as in 2007.

    >>> from gluoncv.utils.metrics import VOC07MApMetric
    >>> metric = VOC07MApMetric(class_names=["cat"])
    >>> box = nd.array([[[0, 0, 4, 4]]])
    >>> metric.update(box, nd.array([[[0]]]), nd.array([[[0.9]]]), box, nd.array([[[0]]]))
    >>> metric.get()
    (['cat', 'mAP'], [1.0, 1.0])
    """

    def _average_precision(self, rec, prec):
        return sum(np.max(prec[rec >= t], initial=0) for t in np.arange(0.0, 1.1, 0.1)) / 11
