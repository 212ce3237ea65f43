"""YOLO, version 3."""

from __future__ import annotations

from functools import cached_property

from core import autograd, cpu, nd
from gluoncv.data.transforms.presets import common
from gluoncv.data.transforms.presets.common import MEAN, STD

__all__ = ["YOLO3DefaultTrainTransform", "YOLO3DefaultValTransform", "load_test", "transform_test"]


def transform_test(imgs, short=416, max_size=1024, stride=1, mean=MEAN, std=STD):
    """(input, picture) of pictures whose sides become multiples of `stride`, see `common.transform_test`."""
    return common.transform_test(imgs, short, max_size, mean, std, mult_base=stride)


def load_test(filenames, short=416, max_size=1024, stride=1, mean=MEAN, std=STD):
    """(input, picture) of the picture in a file, or lists for several files, as `transform_test` makes them."""
    return transform_test(common.load(filenames), short, max_size, stride, mean, std)


class YOLO3DefaultTrainTransform:
    """Augmentation for training; with a network `net` its targets too.

    Gives (input, boxes), or (input, objectness, centers, scales, weights, classes, boxes). mixup: the last column of
    the labels is the share of the picture that a box is from.
    """

    def __init__(self, width, height, net=None, mean=MEAN, std=STD, mixup=False, **kwargs):
        self._width, self._height, self._mean, self._std, self._mixup = width, height, mean, std, mixup
        self._net_known = net is not None
        if net is None:
            return
        self._num_classes, self._kwargs = len(net.classes), kwargs
        self._fake_x = nd.zeros((1, 3, height, width))
        parameters = net.collect_params()
        contexts = next(iter(parameters.values())).list_ctx()
        parameters.reset_ctx(cpu())
        with autograd.train_mode():
            _, self._anchors, self._offsets, self._feat_maps, *_ = net(self._fake_x)
        parameters.reset_ctx(contexts)

    @cached_property
    def _target_generator(self):
        from gluoncv.model_zoo.yolo.yolo_target import YOLOV3PrefetchTargetGenerator

        return YOLOV3PrefetchTargetGenerator(num_class=self._num_classes, **self._kwargs)

    def __call__(self, src, label):
        img, bbox = self._augmented(src, label)
        img = common.to_input(img, self._mean, self._std)
        if not self._net_known:
            return img, bbox.astype("float32")
        gt_bboxes, gt_ids = nd.array(bbox[None, :, :4]), nd.array(bbox[None, :, 4:5])
        ratio = nd.array(bbox[None, :, -1:]) if self._mixup else None
        targets = self._target_generator(
            self._fake_x, self._feat_maps, self._anchors, self._offsets, gt_bboxes, gt_ids, ratio
        )  # fmt: skip
        return (img, *(target[0] for target in targets), gt_bboxes[0])

    def _augmented(self, src, label):
        return common.augment(src, label, self._width, self._height, self._mean)


class YOLO3DefaultValTransform(common.SizedValTransform):
    """The picture at the network's size, and its boxes."""
