"""Single shot detectors."""

from __future__ import annotations

from functools import cached_property

from core import nd
from gluoncv.data.dali import SSDDALIPipeline
from gluoncv.data.transforms.presets import common
from gluoncv.data.transforms.presets.common import MEAN, STD

__all__ = ["SSDDALIPipeline", "SSDDefaultTrainTransform", "SSDDefaultValTransform", "load_test", "transform_test"]


def transform_test(imgs, short, max_size=1024, mean=MEAN, std=STD):
    """(input, picture) of pictures with a short side of `short` pixels, see `common.transform_test`."""
    return common.transform_test(imgs, short, max_size, mean, std)


def load_test(filenames, short, max_size=1024, mean=MEAN, std=STD):
    """(input, picture) of the picture in a file, or lists for several files, as `transform_test` makes them."""
    return transform_test(common.load(filenames), short, max_size, mean, std)


class SSDDefaultTrainTransform:
    """Augmentation for training; with `anchors` (1, N, 4) the targets of the losses too.

    Gives (input, boxes), or (input, class targets (N,), box targets (N, 4)).
    """

    def __init__(
        self, width, height, anchors=None, mean=MEAN, std=STD, iou_thresh=0.5, box_norm=(0.1, 0.1, 0.2, 0.2), **kwargs
    ):
        self._width, self._height, self._anchors, self._mean, self._std = width, height, anchors, mean, std
        self._targets = {"iou_thresh": iou_thresh, "stds": box_norm, "negative_mining_ratio": -1, **kwargs}

    @cached_property
    def _target_generator(self):
        from gluoncv.model_zoo.ssd.target import SSDTargetGenerator

        return SSDTargetGenerator(**self._targets)

    def __call__(self, src, label):
        img, bbox = self._augmented(src, label)
        img = common.to_input(img, self._mean, self._std)
        if self._anchors is None:
            return img, bbox.astype("float32")
        gt_bboxes, gt_ids = nd.array(bbox[None, :, :4]), nd.array(bbox[None, :, 4:5])
        cls_targets, box_targets, _ = self._target_generator(self._anchors, None, gt_bboxes, gt_ids)
        return img, cls_targets[0], box_targets[0]

    def _augmented(self, src, label):
        return common.augment(src, label, self._width, self._height, self._mean)


class SSDDefaultValTransform(common.SizedValTransform):
    """The picture at the network's size, and its boxes."""
