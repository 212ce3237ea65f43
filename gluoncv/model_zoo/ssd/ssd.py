"""Single shot detectors (Liu et al., 2016)."""

from core import autograd
from gluon import nn
from gluoncv.model_zoo.one_stage import OneStageDetector
from gluoncv.model_zoo.reuse import class_map, replace_layer
from gluoncv.model_zoo.ssd.anchor import SSDAnchorGenerator
from gluoncv.nn.coder import STDS, MultiPerClassDecoder, NormalizedBoxCenterDecoder
from gluoncv.nn.feature import FeatureExpander
from gluoncv.nn.predictor import ConvPredictor


class SSD(OneStageDetector):
    """Input (B, 3, H, W).

    output: classes (B, N, 1), scores (B, N, 1) and corners (B, N, 4) in pixels, -1 behind the last.

    In training, output: class scores (B, A, 1 + classes) with the background first, offsets (B, A, 4) and anchors
    (1, A, 4) of centres and sizes.

    network: name of a network in the zoo, of which `features` names layers and `num_filters` channels of further maps
    (see `FeatureExpander`, also for use_1x1_transition, use_bn, reduce_ratio, min_depth and global_pool); None when
    `features` is a function that gives a block. base_size: pixels of the pictures it is for. sizes: of the anchors of
    each map, and one more. ratios: of width to height of anchors, for each map or for all. steps: pixels a place.
    nms_thresh, nms_topk, post_nms: see `set_nms`. anchor_alloc_size: height and width of the largest map.

    >>> net = gluoncv.model_zoo.get_model("ssd_300_vgg16_atrous_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.SSD)
    True
    >>> len(net.collect_params())
    78
    """

    def __init__(
        self, network, base_size, features, num_filters, sizes, ratios, steps, classes, use_1x1_transition=True,
        use_bn=True, reduce_ratio=1.0, min_depth=128, global_pool=False, pretrained=False, stds=STDS, nms_thresh=0.45,
        nms_topk=400, post_nms=100, anchor_alloc_size=128, ctx=None, norm_layer=nn.BatchNorm, norm_kwargs=None,
        root=None, minimal_opset=False, predictors_kernel=(3, 3), predictors_pad=(1, 1),
        anchor_generator=SSDAnchorGenerator, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        layers = len(ratios) if network is None else len(features) + len(num_filters) + int(global_pool)
        ratios = ratios if isinstance(ratios[0], (tuple, list)) else ratios * layers
        if not len(sizes) - 1 == len(ratios) == len(steps) == layers > 0:
            raise AssertionError(
                f"{layers} maps have {layers + 1} sizes, and {layers} ratios and steps; given {len(sizes)}, "
                f"{len(ratios)}, {len(steps)}"
            )
        self.classes = classes
        self.nms_thresh, self.nms_topk, self.post_nms = nms_thresh, nms_topk, post_nms
        base = {"pretrained": pretrained, "ctx": ctx, "root": root}
        if norm_layer is not nn.BatchNorm or norm_kwargs:
            base.update(norm_layer=norm_layer, norm_kwargs=norm_kwargs)
        with self.name_scope():
            if network is None:
                self.features = features(**base)
            else:
                self.features = FeatureExpander(
                    network, features, num_filters, use_1x1_transition=use_1x1_transition, use_bn=use_bn,
                    reduce_ratio=reduce_ratio, min_depth=min_depth, global_pool=global_pool, **base,
                )  # fmt: skip
            self.class_predictors = nn.HybridSequential()
            self.box_predictors = nn.HybridSequential()
            self.anchor_generators = nn.HybridSequential()
            allocated = anchor_alloc_size
            window = {"kernel": predictors_kernel, "pad": predictors_pad}
            for i in range(layers):
                generator = anchor_generator(
                    i, (base_size, base_size), sizes[i : i + 2], ratios[i], steps[i], (allocated, allocated)
                )
                allocated = max(allocated // 2, 16)
                self.anchor_generators.add(generator)
                self.class_predictors.add(ConvPredictor(generator.num_depth * (self.num_classes + 1), **window))
                self.box_predictors.add(ConvPredictor(generator.num_depth * 4, **window))
            self.bbox_decoder = NormalizedBoxCenterDecoder(stds, minimal_opset=minimal_opset)
            self.cls_decoder = MultiPerClassDecoder(self.num_classes + 1, thresh=0.01)

    @property
    def num_classes(self):
        """The number of classes without the background."""
        return len(self.classes)

    def hybrid_forward(self, F, x):
        predicted = self._predicted(F, self.features(x))
        if autograd.is_training():
            return list(predicted)
        result = self._suppressed(F, self._detections(F, *predicted))
        return tuple(F.slice_axis(result, axis=2, begin=i, end=k) for i, k in ((0, 1), (1, 2), (2, 6)))

    def _predicted(self, F, features):
        """Class scores, offsets and anchors, as training gives them."""

        def joined(blocks, width):
            maps = [F.flatten(F.transpose(b(f), axes=(0, 2, 3, 1))) for f, b in zip(features, blocks, strict=True)]
            return F.reshape(F.concat(*maps, dim=1), shape=(0, -1, width))

        cls_preds = joined(self.class_predictors, self.num_classes + 1)
        box_preds = joined(self.box_predictors, 4)
        anchors = F.concat(*[g(f) for f, g in zip(features, self.anchor_generators, strict=True)], dim=1)
        return cls_preds, box_preds, anchors

    def _detections(self, F, cls_preds, box_preds, anchors, further=lambda boxes: ()):
        """Classes, scores, corners and columns that `further` makes of these (B, classes A, 6 or more),
        class after class.
        """
        boxes = self.bbox_decoder(box_preds, anchors)
        columns = [F.tile(column, reps=(1, self.num_classes, 1)) for column in (boxes, *further(boxes))]
        labels, scores = (
            F.reshape(F.transpose(part, axes=(0, 2, 1)), shape=(0, -1, 1))
            for part in self.cls_decoder(F.softmax(cls_preds, axis=-1))
        )
        return F.concat(labels, scores, *columns, dim=-1)

    def _suppressed(self, F, result):
        """What is left after `set_nms`."""
        if 0 < self.nms_thresh < 1:
            result = F.contrib.box_nms(
                result, overlap_thresh=self.nms_thresh, topk=self.nms_topk, valid_thresh=0.01, id_index=0,
                score_index=1, coord_start=2, force_suppress=False,
            )  # fmt: skip
            if self.post_nms > 0:
                result = F.slice_axis(result, axis=1, begin=0, end=self.post_nms)
        return result

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        self._clear_cached_op()
        mapping = class_map(self.classes, classes, reuse_weights)
        self.classes = classes
        with self.name_scope():
            predictors = nn.HybridSequential(prefix=self.class_predictors.prefix)
            for old, generator in zip(self.class_predictors, self.anchor_generators, strict=True):
                weight, window = old.predictor.weight, old.predictor._kwargs
                new = ConvPredictor(
                    generator.num_depth * (self.num_classes + 1), in_channels=weight.shape[1] if weight.shape else 0,
                    kernel=window["kernel"], pad=window["pad"], prefix=old.prefix,
                )  # fmt: skip
                replace_layer(old.predictor, new.predictor, mapping, shared=1, groups=generator.num_depth)
                predictors.add(new)
            self.class_predictors = predictors
            self.cls_decoder = MultiPerClassDecoder(self.num_classes + 1, thresh=0.01)
