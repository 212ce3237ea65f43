"""YOLOv3 (Redmon and Farhadi, 2018)."""

from itertools import pairwise

import numpy as np

from core import autograd
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.data.classes import COCO, VOC
from gluoncv.loss import YOLOV3Loss
from gluoncv.model_zoo.darknet import convolution
from gluoncv.model_zoo.model_zoo import custom, get_model, model, with_weights
from gluoncv.model_zoo.one_stage import OneStageDetector
from gluoncv.model_zoo.reuse import class_map, replace_layer
from gluoncv.model_zoo.yolo.yolo_target import YOLOV3TargetMerger

ANCHORS = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]
STRIDES = [8, 16, 32]
# name of the network -> where its layers are cut into three stages, channels of the predictors, the smallest map first
BODIES = {
    "darknet53": ((0, 15, 24, None), [512, 256, 128]),
    "mobilenet1.0": ((0, 33, 69, -2), [512, 256, 128]),
    "mobilenet0.25": ((0, 33, 69, -2), [256, 128, 128]),
}
CLASSES = {"voc": VOC, "coco": COCO, "custom": None}


class YOLOOutputV3(HybridBlock):
    """Detections (B, classes N, 6) of class, score and corners of a map (B, C, H, W).

    In training: corners (B, N, 4), centres within positions (B, H W, anchors, 2), logarithms of sizes over those of
    anchors, objects (.., 1) and classes (.., classes), all before the sigmoid, and anchors (1, 1, anchors, 2) and
    positions (1, H W, 1, 2). index: number of the map. anchors: widths and heights in pixels. stride: pixels a place.
    """

    def __init__(self, index, num_class, anchors, stride, alloc_size=(128, 128), **kwargs):
        super().__init__(**kwargs)
        anchors = np.array(anchors, "float32").reshape(1, 1, -1, 2)
        self._classes, self._num_pred, self._num_anchors = num_class, 5 + num_class, anchors.size // 2
        self._stride = stride
        with self.name_scope():
            self.prediction = nn.Conv2D(self._num_pred * self._num_anchors, kernel_size=1)
            self.anchors = self.params.get_constant(f"anchor_{index}", anchors)
            places = np.stack(np.meshgrid(np.arange(alloc_size[1]), np.arange(alloc_size[0])), axis=-1)
            self.offsets = self.params.get_constant(f"offset_{index}", places[None, None].astype("float32"))

    def reset_class(self, classes, reuse_weights=None):
        """Gives the output other classes; reuse_weights: {new index: old index} of those that stay."""
        self._clear_cached_op()
        old, weight = self.prediction, self.prediction.weight
        self._classes, self._num_pred = len(classes), 5 + len(classes)
        new = nn.Conv2D(
            self._num_pred * self._num_anchors, kernel_size=1, prefix=old.prefix,
            in_channels=weight.shape[1] if weight.shape else 0,
        )  # fmt: skip
        self.prediction = replace_layer(old, new, reuse_weights, shared=5, groups=self._num_anchors)

    def hybrid_forward(self, F, x, anchors, offsets):
        pred = F.reshape(self.prediction(x), shape=(0, self._num_anchors * self._num_pred, -1))
        pred = F.reshape(F.transpose(pred, axes=(0, 2, 1)), shape=(0, -1, self._num_anchors, self._num_pred))
        raw_centers, raw_scales, objness, classes = (
            F.slice_axis(pred, axis=-1, begin=i, end=k) for i, k in ((0, 2), (2, 4), (4, 5), (5, None))
        )
        offsets = F.reshape(F.slice_like(offsets, x * 0, axes=(2, 3)), shape=(1, -1, 1, 2))
        centers = F.broadcast_add(F.sigmoid(raw_centers), offsets) * self._stride
        half = F.broadcast_mul(F.exp(raw_scales), anchors) / 2.0
        boxes = F.concat(centers - half, centers + half, dim=-1)
        if autograd.is_training():
            return F.reshape(boxes, shape=(0, -1, 4)), raw_centers, raw_scales, objness, classes, anchors, offsets
        scores = F.broadcast_mul(F.sigmoid(classes), F.sigmoid(objness))
        # One class after the other: (classes, B, H W, anchors, ...)
        boxes = F.tile(boxes, reps=(self._classes, 1, 1, 1, 1))
        scores = F.expand_dims(F.transpose(scores, axes=(3, 0, 1, 2)), axis=-1)
        ids = F.broadcast_add(scores * 0, F.reshape(F.arange(0, self._classes), shape=(0, 1, 1, 1, 1)))
        detections = F.transpose(F.concat(ids, scores, boxes, dim=-1), axes=(1, 0, 2, 3, 4))
        return F.reshape(detections, shape=(0, -1, 6))


class YOLODetectionBlockV3(HybridBlock):
    """Five convolutions, whose output goes on to a larger map, and a sixth one, for the predictor: both are given."""

    def __init__(self, channel, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        if channel % 2:
            raise AssertionError(f"the number of channels is even, got {channel}")
        norm = (norm_layer, norm_kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            for _ in range(2):
                self.body.add(convolution(channel, 1, 1, *norm), convolution(2 * channel, 3, 1, *norm))
            self.body.add(convolution(channel, 1, 1, *norm))
            self.tip = convolution(2 * channel, 3, 1, *norm)

    def hybrid_forward(self, F, x):
        route = self.body(x)
        return route, self.tip(route)


class YOLOV3(OneStageDetector):
    """Input (B, 3, H, W).

    output: classes (B, N, 1), scores (B, N, 1) and corners (B, N, 4) in pixels, -1 behind the last.

    In training without recording: all corners, then lists, one element a map, of anchors, of positions and of arrays as
    large as the maps; then centres, sizes, objects and classes of all maps. When recording: the four losses (B,) of
    `YOLOV3Loss`, for which targets follow the picture: boxes (B, M, 4), objects, centres, sizes, weights, classes.

    stages: the body in parts, the largest map first. channels: of the predictors, the smallest map first. anchors,
    strides: for each map, the largest first. nms_thresh, nms_topk, post_nms: see `set_nms`. ignore_iou_thresh: overlap
    with a box from which on an anchor without one is not trained to be background. NotImplementedError for
    pos_iou_thresh below 1.

    >>> net = gluoncv.model_zoo.get_model("yolo3_mobilenet1.0_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.YOLOV3)
    True
    >>> len(net.collect_params())
    247
    """

    def __init__(
        self, stages, channels, anchors, strides, classes, alloc_size=(128, 128), nms_thresh=0.45, nms_topk=400,
        post_nms=100, pos_iou_thresh=1.0, ignore_iou_thresh=0.7, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if pos_iou_thresh < 1:
            raise NotImplementedError(f"pos_iou_thresh is 1 (no anchor is positive by overlap), got {pos_iou_thresh}")
        self._classes = classes
        self.nms_thresh, self.nms_topk, self.post_nms = nms_thresh, nms_topk, post_nms
        self._ignore_iou_thresh = ignore_iou_thresh
        self._target_generator = YOLOV3TargetMerger(len(classes), ignore_iou_thresh)
        self._loss = YOLOV3Loss()
        norm = (norm_layer, norm_kwargs)
        with self.name_scope():
            self.stages = nn.HybridSequential()
            self.transitions = nn.HybridSequential()
            self.yolo_blocks = nn.HybridSequential()
            self.yolo_outputs = nn.HybridSequential()
            rows = zip(stages, channels, anchors[::-1], strides[::-1], strict=True)
            for i, (stage, channel, anchor, stride) in enumerate(rows):
                self.stages.add(stage)
                self.yolo_blocks.add(YOLODetectionBlockV3(channel, *norm))
                self.yolo_outputs.add(YOLOOutputV3(i, len(classes), anchor, stride, alloc_size=alloc_size))
                if i > 0:
                    self.transitions.add(convolution(channel, 1, 1, *norm))

    @property
    def num_class(self):
        """The number of classes."""
        return len(self._classes)

    @property
    def classes(self):
        """The names of the classes."""
        return self._classes

    def hybrid_forward(self, F, x, *targets):
        if targets and not autograd.is_training():
            raise TypeError("YOLOV3 takes targets only in training")
        outputs, maps = [], []
        for output, tip in zip(self.yolo_outputs, self._tips(F, x), strict=True):
            outputs.append(output(tip))
            maps.append(F.zeros_like(F.slice(tip, begin=(0, 0), end=(1, 1))))
        if autograd.is_training():
            return self._train(F, outputs, maps, targets)
        result = F.concat(*outputs, dim=1)
        if 0 < self.nms_thresh < 1:
            result = F.contrib.box_nms(
                result, overlap_thresh=self.nms_thresh, valid_thresh=0.01, topk=self.nms_topk, id_index=0,
                score_index=1, coord_start=2, force_suppress=False,
            )  # fmt: skip
            if self.post_nms > 0:
                result = F.slice_axis(result, axis=1, begin=0, end=self.post_nms)
        return tuple(F.slice_axis(result, axis=-1, begin=i, end=k) for i, k in ((0, 1), (1, 2), (2, None)))

    def _tips(self, F, x):
        """What the predictors see, the smallest map first."""
        routes = []
        for stage in self.stages:
            x = stage(x)
            routes.insert(0, x)
        for i, block in enumerate(self.yolo_blocks):
            if i > 0:
                x = self.transitions[i - 1](x)
                x = F.repeat(F.repeat(x, axis=-1, repeats=2), axis=-2, repeats=2)
                x = F.concat(F.slice_like(x, routes[i] * 0, axes=(2, 3)), routes[i], dim=1)
            x, tip = block(x)
            yield tip

    def _train(self, F, outputs, maps, targets):
        boxes, centers, scales, objects, classes, anchors, offsets = zip(*outputs, strict=True)
        boxes = F.concat(*boxes, dim=1)
        centers, scales, objects, classes = (
            F.concat(*[F.reshape(x, shape=(0, -3, -1)) for x in parts], dim=1)
            for parts in (centers, scales, objects, classes)
        )
        if autograd.is_recording():
            return self._loss(objects, centers, scales, classes, *self._target_generator(boxes, *targets))
        return boxes, list(anchors), list(offsets), maps, centers, scales, objects, classes

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        self._clear_cached_op()
        mapping = class_map(self._classes, classes, reuse_weights)
        self._classes = classes
        self._target_generator = YOLOV3TargetMerger(len(classes), self._ignore_iou_thresh)
        for output in self.yolo_outputs:
            output.reset_class(classes, mapping)


def get_yolov3(
    name, stages, filters, anchors, strides, classes, dataset, pretrained=False, ctx=None, root=None, **kwargs
):
    """A detector of its parts (see `YOLOV3`), with the weights published for yolo3_NAME_DATASET if `pretrained`."""
    net = YOLOV3(stages, filters, anchors, strides, classes=classes, **kwargs)
    return with_weights(net, f"yolo3_{name}_{dataset}", pretrained, ctx, root)


def custom_yolov3(
    base_network_name, filters, anchors, strides, classes, dataset, pretrained_base=True, pretrained=False,
    norm_layer=nn.BatchNorm, norm_kwargs=None, root=None, ctx=None, **kwargs,
):  # fmt: skip
    """A detector on one of the networks in `BODIES`; ValueError for others."""
    if base_network_name not in BODIES:
        known = ", ".join(BODIES)
        raise ValueError(f"there is no body for YOLOv3 of {base_network_name!r}: there are {known}")
    norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
    base = get_model(base_network_name, pretrained=False if pretrained else pretrained_base, root=root, ctx=ctx, **norm)
    cuts = BODIES[base_network_name][0]
    stages = [base.features[i:k] for i, k in pairwise(cuts)]
    return get_yolov3(
        base_network_name, stages, filters, anchors, strides, classes, dataset, pretrained, ctx, root, **norm, **kwargs
    )


def _yolo3(body, dataset):
    known = CLASSES[dataset]

    def make(classes=known, pretrained_base=True, **kwargs):
        return custom_yolov3(
            body, BODIES[body][1], ANCHORS, STRIDES, classes, dataset, pretrained_base=pretrained_base, **kwargs
        )

    if known is None:
        custom(f"yolo3_{body}_{dataset}", make)
    else:
        model(f"yolo3_{body}_{dataset}", make, base=True)


for _body in BODIES:
    for _dataset in CLASSES:
        _yolo3(_body, _dataset)
