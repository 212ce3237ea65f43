"""How much of pictures is given the right class."""

import numpy as np

from core.metric import EvalMetric

__all__ = [
    "SegmentationMetric", "batch_intersection_union", "batch_pix_accuracy", "intersectionAndUnion", "pixelAccuracy",
]  # fmt: skip


class SegmentationMetric(EvalMetric):
    """The share of pixels that are right, and the mean over `nclass` classes of intersection
    over union (Long et al., 2015).

    A class that neither truth nor prediction has counts as 0, as in GluonCV.

    >>> from gluoncv.utils.metrics import SegmentationMetric
    >>> metric = SegmentationMetric(2)
    >>> metric.update(nd.array([[[0, 1]]]), nd.array([[[[0.9, 0.2]], [[0.1, 0.8]]]]))
    >>> metric.get()
    (np.float64(1.0), np.float64(0.9999999999999998))
    """

    def __init__(self, nclass):
        self.nclass = nclass
        super().__init__("pixAcc & mIoU")

    def reset(self):
        """Forgets all pictures."""
        self.total_correct = self.total_label = 0
        self.total_inter = self.total_union = np.zeros(self.nclass, "int64")

    def update(self, labels, preds):
        """Adds pictures: classes (B, H, W), -1 where none counts, and scores (B, nclass, H, W); or lists of them."""
        lists = [x if isinstance(x, (list, tuple)) else [x] for x in (labels, preds)]
        for label, pred in zip(*lists, strict=True):
            correct, labelled = batch_pix_accuracy(pred, label)
            inter, union = batch_intersection_union(pred, label, self.nclass)
            self.total_correct, self.total_label = self.total_correct + correct, self.total_label + labelled
            self.total_inter, self.total_union = self.total_inter + inter, self.total_union + union

    def get(self):
        """(pixAcc, mIoU), each between 0 and 1."""
        overlap = self.total_inter / (np.spacing(1) + self.total_union)
        return self.total_correct / (np.spacing(1) + self.total_label), overlap.mean()


def batch_pix_accuracy(output, target):
    """How many pixels are right, and how many count: of scores (B, nclass, H, W) and classes (B, H, W)."""
    _, correct, labelled = pixelAccuracy(*_from_one(output, target))
    return correct, labelled


def batch_intersection_union(output, target, nclass):
    """Pixels in the intersection and in the union of each class, (nclass,) each; inputs as of `batch_pix_accuracy`."""
    return intersectionAndUnion(*_from_one(output, target), nclass)


def pixelAccuracy(imPred, imLab):
    """(share of right pixels, how many, how many count): of NumPy maps of classes from 1 on; 0 does not count."""
    labelled = np.sum(imLab > 0)
    correct = np.sum((imPred == imLab) & (imLab > 0))
    return correct / max(labelled, 1), correct, labelled


def intersectionAndUnion(imPred, imLab, numClass):
    """Pixels in the intersection and in the union of each of `numClass` classes; inputs as of `pixelAccuracy`.

    Maps may be of any type of number; what is no class from 1 to numClass belongs to none.
    """
    counts = imLab > 0
    predicted, truth = imPred[counts], imLab[counts]
    inter, found, there = (
        np.histogram(x, bins=numClass, range=(1, numClass))[0] for x in (truth[predicted == truth], predicted, truth)
    )
    return inter, found + there - inter


def _from_one(output, target):
    """The best class of each pixel and the true one, numbered from 1."""
    return output.asnumpy().argmax(1).astype("int64") + 1, target.asnumpy().astype("int64") + 1
