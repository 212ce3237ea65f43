"""Detectors of two stages: pictures keep their aspect."""

from __future__ import annotations

import random

import numpy as np

from core import cpu, nd
from gluoncv.data.feature_sizes import FeatureSizes
from gluoncv.data.transforms import bbox as boxes
from gluoncv.data.transforms import image as pictures
from gluoncv.data.transforms import mask as polygons
from gluoncv.data.transforms.presets import common
from gluoncv.data.transforms.presets.common import MEAN, STD

__all__ = [
    "FasterRCNNDefaultTrainTransform", "FasterRCNNDefaultValTransform", "MaskRCNNDefaultTrainTransform",
    "MaskRCNNDefaultValTransform", "load_test", "transform_test",
]  # fmt: skip


def transform_test(imgs, short=600, max_size=1000, mean=MEAN, std=STD):
    """(input, picture) of pictures with a short side of `short` pixels, see `common.transform_test`."""
    return common.transform_test(imgs, short, max_size, mean, std)


def load_test(filenames, short=600, max_size=1000, mean=MEAN, std=STD):
    """(input, picture) of the picture in a file, or lists for several files, as `transform_test` makes them."""
    return transform_test(common.load(filenames), short, max_size, mean, std)


class FasterRCNNDefaultTrainTransform:
    """Size and mirroring for training; with a network `net` the targets of its region proposals too.

    Gives (input, boxes), or (input, boxes, objects, offsets, masks): lists with (h, w, anchors) or (h, w, 4 * anchors)
    a map.

    short: a length, or (lowest, highest) of a random one. flip_p: probability of mirroring. ashape: size of the largest
    map of anchors; multi_stage: whether `net` has several. box_norm, num_sample, pos_iou_thresh, neg_iou_thresh,
    pos_ratio and other arguments are those of `RPNTargetGenerator`, box_norm as its stds.
    """

    def __init__(
        self, short=600, max_size=1000, net=None, mean=MEAN, std=STD, box_norm=(1.0, 1.0, 1.0, 1.0), num_sample=256,
        pos_iou_thresh=0.7, neg_iou_thresh=0.3, pos_ratio=0.5, flip_p=0.5, ashape=128, multi_stage=False, **kwargs,
    ):  # fmt: skip
        self._short, self._max_size, self._mean, self._std, self._flip_p = short, max_size, mean, std, flip_p
        self._targets = None
        if net is not None:
            from gluoncv.model_zoo.rcnn.rpn.rpn_target import RPNTargetGenerator

            generator = RPNTargetGenerator(
                num_sample=num_sample, pos_iou_thresh=pos_iou_thresh, neg_iou_thresh=neg_iou_thresh,
                pos_ratio=pos_ratio, stds=box_norm, **kwargs,
            )  # fmt: skip
            self._targets = _Targets(net, ashape, multi_stage, generator)

    def __call__(self, src, label):
        img, bbox, _, _ = self._placed(src, label)
        return self._with_targets(img, bbox)

    def _placed(self, src, label):
        """(picture, boxes, whether it is mirrored, its size before as (width, height))."""
        h, w = src.shape[:2]
        short = random.randint(*self._short) if isinstance(self._short, tuple | list) else self._short
        img = pictures.resize_short_within(src, short, self._max_size, interp=1)
        size = (img.shape[1], img.shape[0])
        bbox = boxes.resize(label, (w, h), size)
        img, (flipped, _) = pictures.random_flip(img, px=self._flip_p)
        return img, boxes.flip(bbox, size, flip_x=flipped), flipped, (w, h)

    def _with_targets(self, img, bbox):
        img = common.to_input(img, self._mean, self._std)
        targets = () if self._targets is None else self._targets(bbox, *img.shape[1:])
        return img, bbox.astype("float32"), *targets


class FasterRCNNDefaultValTransform:
    """Gives (input, boxes, how many pixels of the picture are one of the input)."""

    def __init__(self, short=600, max_size=1000, mean=MEAN, std=STD):
        self._short, self._max_size, self._mean, self._std = short, max_size, mean, std

    def __call__(self, src, label):
        h, w = src.shape[:2]
        img = pictures.resize_short_within(src, self._short, self._max_size, interp=1)
        bbox = boxes.resize(label, (w, h), (img.shape[1], img.shape[0]))
        scale = h / img.shape[0]
        return common.to_input(img, self._mean, self._std), bbox.astype("float32"), nd.array([scale])


class MaskRCNNDefaultTrainTransform(FasterRCNNDefaultTrainTransform):
    """`FasterRCNNDefaultTrainTransform` with polygons, which become masks (M, H, W) of 0 and 1, behind all else."""

    def __init__(
        self, short=600, max_size=1000, net=None, mean=MEAN, std=STD, box_norm=(1.0, 1.0, 1.0, 1.0), num_sample=256,
        pos_iou_thresh=0.7, neg_iou_thresh=0.3, pos_ratio=0.5, ashape=128, multi_stage=False, **kwargs,
    ):  # fmt: skip
        super().__init__(
            short, max_size, net, mean, std, box_norm, num_sample, pos_iou_thresh, neg_iou_thresh, pos_ratio,
            ashape=ashape, multi_stage=multi_stage, **kwargs,
        )  # fmt: skip

    def __call__(self, src, label, segm):
        img, bbox, flipped, before = self._placed(src, label)
        size = (img.shape[1], img.shape[0])
        masks = [
            polygons.to_mask(polygons.flip(polygons.resize(polys, before, size), size, flip_x=flipped), size)
            for polys in segm
        ]
        return *self._with_targets(img, bbox), nd.array(np.stack(masks), dtype="float32")


class MaskRCNNDefaultValTransform:
    """Gives (input, (height, width, how many pixels of the input are one of the picture))."""

    def __init__(self, short=600, max_size=1000, mean=MEAN, std=STD):
        self._short, self._max_size, self._mean, self._std = short, max_size, mean, std

    def __call__(self, src, label, mask):
        img = pictures.resize_short_within(src, self._short, self._max_size, interp=1)
        scale = img.shape[0] / src.shape[0]
        return common.to_input(img, self._mean, self._std), nd.array([*img.shape[:2], scale])


class _Targets:
    """Targets of region proposals: called with boxes, height and width of the picture."""

    def __init__(self, net, ashape, multi_stage, generator):
        self._generator, self._sizes = generator, FeatureSizes(net)
        anchors = net.rpn.anchor_generator
        parameters = anchors.collect_params()
        contexts = next(iter(parameters.values())).list_ctx()
        parameters.reset_ctx(cpu())
        self._anchors = []
        for level in anchors if multi_stage else [anchors]:
            self._anchors.append(level(nd.zeros((1, 3, ashape, ashape))).reshape((ashape, ashape, -1)))
            ashape = max(ashape // 2, 16)
        parameters.reset_ctx(contexts)

    def __call__(self, bbox, height, width):
        levels = [a[:h, :w] for a, (h, w) in zip(self._anchors, self._sizes(height, width), strict=True)]
        flat = nd.concat(*(level.reshape((-1, 4)) for level in levels), dim=0)
        found = self._generator(nd.array(bbox[:, :4]), flat, width, height)
        ends = np.cumsum([level.size // 4 for level in levels])[:-1]
        return tuple(
            [part.reshape(*level.shape[:2], -1) for part, level in zip(np.split(target, ends), levels, strict=True)]
            for target in found
        )
