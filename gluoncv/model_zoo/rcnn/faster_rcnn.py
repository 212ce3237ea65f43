"""Faster R-CNN (Ren et al., 2015), on one map or on a pyramid (Lin et al., 2017), and its variant with two heads."""

from core import autograd
from core.initializer import Normal
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.rcnn.rcnn_target import RCNNTargetGenerator, RCNNTargetSampler
from gluoncv.model_zoo.rcnn.rpn import RPN
from gluoncv.model_zoo.reuse import class_map, replace_layer
from gluoncv.nn.coder import MultiPerClassDecoder, NormalizedBoxCenterDecoder
from gluoncv.nn.rows import take_rows


class RCNN(HybridBlock):
    """What region-based detectors share: body, predictors and decoders.

    features, top_features, box_features: body, layers on regions, and layers between these and the predictors; the last
    two may be None. short, max_size: what pictures are resized to. train_patterns: regular expression of the parameters
    that are trained. nms_thresh, nms_topk, post_nms, force_nms: see `set_nms`. roi_mode: "align" or "pool". roi_size:
    height and width of regions. strides: pixels a place of the maps. clip: see `NormalizedBoxCenterDecoder`.
    AssertionError for another roi_mode or no classes.

    >>> net = gluoncv.model_zoo.get_model("faster_rcnn_resnet50_v1b_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.RCNN)
    True
    >>> len(net.collect_params())
    276
    """

    def __init__(
        self, features, top_features, classes, box_features, short, max_size, train_patterns, nms_thresh, nms_topk,
        post_nms, roi_mode, roi_size, strides, clip, force_nms=False, minimal_opset=False, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        self.classes, self.num_class = classes, len(classes)
        self.short, self.max_size, self.train_patterns = short, max_size, train_patterns
        self.nms_thresh, self.nms_topk, self.post_nms, self.force_nms = nms_thresh, nms_topk, post_nms, force_nms
        if not classes:
            raise AssertionError("a detector has at least one class")
        if roi_mode.lower() not in ("align", "pool"):
            raise AssertionError(f"roi_mode is 'align' or 'pool', got {roi_mode!r}")
        if len(roi_size) != 2:
            raise AssertionError(f"roi_size is height and width, got {roi_size!r}")
        self._roi_mode, self._roi_size, self._strides = roi_mode.lower(), tuple(roi_size), strides
        with self.name_scope():
            self.features = features
            self.top_features = top_features
            self.box_features = box_features
            self.class_predictor, self.box_predictor = self._predictors()
            self.cls_decoder = MultiPerClassDecoder(num_class=self.num_class + 1)
            self.box_decoder = NormalizedBoxCenterDecoder(clip=clip, convert_anchor=True, minimal_opset=minimal_opset)

    def _predictors(self, prefixes=(None, None), in_units=0):
        rows = zip((self.num_class + 1, self.num_class * 4), (0.01, 0.001), prefixes, strict=True)
        return [nn.Dense(n, weight_initializer=Normal(s), prefix=p, in_units=in_units) for n, s, p in rows]

    def collect_train_params(self, select=None):
        """The parameters that are trained, or those whose names match `select`."""
        return self.collect_params(self.train_patterns if select is None else select)

    def set_nms(self, nms_thresh=0.3, nms_topk=400, force_nms=False, post_nms=100):
        """Overlap above which the lesser of two boxes is dropped, boxes that compete, and boxes that are given.

        force_nms: boxes of different classes compete, too. nms_topk -1: all compete.
        """
        self._clear_cached_op()
        self.nms_thresh, self.nms_topk, self.force_nms, self.post_nms = nms_thresh, nms_topk, force_nms, post_nms

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        self._clear_cached_op()
        mapping = class_map(self.classes, classes, reuse_weights)
        self.classes, self.num_class = classes, len(classes)
        old = self.class_predictor, self.box_predictor
        width = old[0].weight.shape[1] if old[0].weight.shape else 0
        with self.name_scope():
            scores, boxes = self._predictors([layer.prefix for layer in old], width)
            self.class_predictor = replace_layer(old[0], scores, mapping, shared=1)
            self.box_predictor = replace_layer(old[1], boxes, mapping, width=4)
            self.cls_decoder = MultiPerClassDecoder(num_class=self.num_class + 1)


class FasterRCNN(RCNN):
    """Input (1, 3, H, W).

    output: classes (1, N, 1), scores (1, N, 1) and corners (1, N, 4) in pixels, -1 where there is none. In training,
    with boxes (B, M, 4) and labels (B, M, 1) besides pictures, output: class scores (B, num_sample, 1 + classes),
    offsets (B, positive, classes, 4), regions (B, num_sample, 4), samples, matches, then the last three of `RPN`, and
    targets as those of `RCNNTargetGenerator`: classes, offsets, mask, indices. additional_output: the features of the
    regions come before the indices, and last outside of training those of the picture.

    min_stage, max_stage: first and last level of the pyramid, whose positions have 2^level pixels; equal without a
    pyramid. rpn_*, base_size, scales, ratios, alloc_size: of `RPN`. per_device_batch_size: pictures of a batch in
    training. num_sample, pos_iou_thresh, pos_ratio, max_num_gt: of `RCNNTargetSampler`.

    >>> net = gluoncv.model_zoo.get_model("faster_rcnn_resnet50_v1b_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.FasterRCNN)
    True
    >>> len(net.collect_params())
    276
    """

    def __init__(
        self, features, top_features, classes, box_features=None, short=600, max_size=1000, min_stage=4, max_stage=4,
        train_patterns=None, nms_thresh=0.3, nms_topk=400, post_nms=100, roi_mode="align", roi_size=(14, 14),
        strides=16, clip=None, rpn_channel=1024, base_size=16, scales=(8, 16, 32), ratios=(0.5, 1, 2),
        alloc_size=(128, 128), rpn_nms_thresh=0.7, rpn_train_pre_nms=12000, rpn_train_post_nms=2000,
        rpn_test_pre_nms=6000, rpn_test_post_nms=300, rpn_min_size=16, per_device_batch_size=1, num_sample=128,
        pos_iou_thresh=0.5, pos_ratio=0.25, max_num_gt=300, additional_output=False, force_nms=False,
        minimal_opset=False, **kwargs,
    ):  # fmt: skip
        super().__init__(
            features, top_features, classes, box_features, short, max_size, train_patterns, nms_thresh, nms_topk,
            post_nms, roi_mode, roi_size, strides, clip, force_nms, minimal_opset, **kwargs,
        )  # fmt: skip
        self.num_stages = max_stage - min_stage + 1
        if self.num_stages > 1 and not (
            isinstance(strides, (list, tuple)) and len(scales) == len(strides) == self.num_stages
        ):
            raise ValueError(f"{self.num_stages} levels have as many strides and scales, got {strides} and {scales}")
        rpn_train_post_nms = min(rpn_train_post_nms, rpn_train_pre_nms)
        rpn_test_post_nms = min(rpn_test_post_nms, rpn_test_pre_nms)
        self.ashape = alloc_size[0]
        self._min_stage, self._max_stage = min_stage, max_stage
        self._batch_size, self._num_sample = per_device_batch_size, num_sample
        self._rpn_test_post_nms = rpn_test_post_nms
        self._additional_output = additional_output
        self._max_pos = int(num_sample * pos_ratio)
        with self.name_scope():
            self.rpn = RPN(
                rpn_channel, strides, base_size, scales, ratios, alloc_size, clip, rpn_nms_thresh, rpn_train_pre_nms,
                rpn_train_post_nms, rpn_test_pre_nms, rpn_test_post_nms, rpn_min_size, multi_level=self.num_stages > 1,
            )  # fmt: skip
            self.sampler = RCNNTargetSampler(
                per_device_batch_size, rpn_train_post_nms, num_sample, pos_iou_thresh, pos_ratio, max_num_gt
            )
            self.target_generator = RCNNTargetGenerator(self.num_class, self._max_pos, per_device_batch_size)

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        super().reset_class(classes, reuse_weights)
        self.target_generator = RCNNTargetGenerator(self.num_class, self._max_pos, self._batch_size)

    def hybrid_forward(self, F, x, gt_box=None, gt_label=None):
        training = autograd.is_training()
        features = self.features(x)
        features = features if isinstance(features, (list, tuple)) else [features]
        batch, count = (self._batch_size, self._num_sample) if training else (1, self._rpn_test_post_nms)
        rpn_score, rois, *rpn = self.rpn(F.zeros_like(x), *features)
        if training:
            rois, samples, matches = self.sampler(rois, rpn_score, gt_box)
        regions = self._region_features(F, features, rois, batch, count)
        class_features, box_features = self._head_features(F, regions)
        cls_pred = F.reshape(self.class_predictor(class_features), shape=(batch, count, self.num_class + 1))
        if not training:
            result = self._detections(F, cls_pred, self.box_predictor(box_features), rois)
            return (*result, features) if self._additional_output else result
        *targets, indices = self.target_generator(rois, samples, matches, gt_label, gt_box)
        rows = F.reshape(F.flatten(box_features), shape=(-4, batch, -1, 0))
        box_pred = self.box_predictor(F.reshape(take_rows(F, rows, indices), shape=(-3, 0)))
        box_pred = F.reshape(box_pred, shape=(-4, batch, -1, 0))
        box_pred = F.reshape(box_pred, shape=(0, 0, self.num_class, 4))
        last = (regions, indices) if self._additional_output else (indices,)
        return cls_pred, box_pred, rois, samples, matches, *rpn, *targets, *last

    def _head_features(self, F, regions):
        """What the predictors of classes and of boxes see."""
        if self.box_features is None:
            seen = F.contrib.AdaptiveAvgPooling2D(regions, output_size=1)
        else:
            seen = self.box_features(regions)
        return seen, seen

    def _detections(self, F, cls_pred, box_pred, rois):
        """Classes, scores and corners, one class after the other."""
        classes = self.num_class
        labels, scores = (
            F.expand_dims(F.reshape(F.transpose(part, axes=(0, 2, 1)), shape=(-3, 0)), axis=2)
            for part in self.cls_decoder(F.softmax(cls_pred, axis=-1))
        )
        # (B classes, N, 4)
        offsets = F.reshape(F.reshape(box_pred, shape=(0, classes, 4)), shape=(-4, 1, -1, 0, 0))
        offsets = F.reshape(F.transpose(offsets, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))
        result = F.concat(labels, scores, self.box_decoder(offsets, rois), dim=-1)
        if self.force_nms:
            result = F.reshape(result, shape=(1, -1, 6))
        result = F.contrib.box_nms(
            result, overlap_thresh=self.nms_thresh, topk=self.nms_topk, valid_thresh=0.0001, id_index=0, score_index=1,
            coord_start=2, force_suppress=self.force_nms,
        )  # fmt: skip
        result = F.reshape(result, shape=(1, -1, 6))
        return tuple(F.slice_axis(result, axis=-1, begin=i, end=k) for i, k in ((0, 1), (1, 2), (2, 6)))

    def _region_features(self, F, features, boxes, batch, count):
        """Features (B N, C, h, w) of regions (B, N, 4) behind the top layers."""
        with autograd.pause():
            picture = F.reshape(F.repeat(F.arange(0, batch), repeats=count), shape=(-1, 1))
            rois = F.stop_gradient(F.concat(picture, F.reshape(boxes, shape=(-1, 4)), dim=-1))
        if self.num_stages > 1:
            pooled = self._pyramid_roi_feats(F, features, rois)
        else:
            pooled = self._pool(F, features[0], rois, self._strides)
        return pooled if self.top_features is None else self.top_features(pooled)

    def _pyramid_roi_feats(self, F, features, rois, canonical=224.0, eps=1e-6):
        """Features of each region from the level where it has about the size that networks are trained on."""
        last = self._max_stage - 1 if self._max_stage > 5 else self._max_stage
        _, left, top, right, bottom = F.split(rois, axis=-1, num_outputs=5)
        size = F.sqrt((right - left + 1) * (bottom - top + 1))
        level = F.clip(F.floor(4 + F.log2(size / canonical + eps)), self._min_stage, last)
        pooled = []
        for feature, stage, stride in zip(features, range(self._min_stage, last + 1), self._strides, strict=False):
            # Regions of picture -1 give zeros.
            own = F.where(F.broadcast_like(level == stage, rois), rois, F.ones_like(rois) * -1.0)
            pooled.append(self._pool(F, feature, own, stride))
        return F.ElementWiseSum(*pooled)

    def _pool(self, F, feature, rois, stride):
        if self._roi_mode == "pool":
            return F.ROIPooling(feature, rois, self._roi_size, 1.0 / stride)
        return F.contrib.ROIAlign(feature, rois, self._roi_size, 1.0 / stride, sample_ratio=2)


class DoubleHeadRCNN(FasterRCNN):
    """Dense layers for the classes and convolutions for the boxes (Wu et al., 2020).

    >>> net = gluoncv.model_zoo.get_model("doublehead_rcnn_resnet50_v1b_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.DoubleHeadRCNN)
    True
    >>> len(net.collect_params())
    292
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        with self.name_scope():
            self.class_features = nn.HybridSequential(prefix="double_fc_")
            with self.class_features.name_scope():
                for _ in range(2):
                    self.class_features.add(nn.Dense(1024, weight_initializer=Normal(0.01)), nn.Activation("relu"))
            self.newbox_features = nn.HybridSequential(prefix="double_")
            with self.newbox_features.name_scope():
                self.newbox_features.add(BottleneckV1(1024), BottleneckV1(1024))

    def _head_features(self, F, regions):
        boxes = F.contrib.AdaptiveAvgPooling2D(self.newbox_features(regions), output_size=1)
        return self.class_features(regions), boxes


class BottleneckV1(HybridBlock):
    """relu(convolutions(x) + shortcut(x)) without normalisation."""

    def __init__(self, channels, stride=1, downsample=True, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        narrow = channels // 4
        self.body = nn.HybridSequential(prefix="")
        self.body.add(nn.Conv2D(narrow, kernel_size=1, strides=stride), nn.Activation("relu"))
        self.body.add(nn.Conv2D(narrow, 3, padding=1, use_bias=False, in_channels=narrow), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, kernel_size=1))
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels))

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.Activation(self.body(x) + shortcut, act_type="relu")
