"""Mask R-CNN (He et al., 2017)."""

from functools import partial

from core import autograd
from core.initializer import Xavier
from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import SyncBatchNorm
from gluoncv.model_zoo.rcnn.faster_rcnn import FasterRCNN
from gluoncv.model_zoo.rcnn.rcnn_target import MaskTargetGenerator
from gluoncv.model_zoo.reuse import class_map, replace_layer
from gluoncv.nn.rows import take_rows


class Mask(HybridBlock):
    """Masks (B, N, classes, 2 h, 2 w) before the sigmoid, from regions (B N, C, h, w); B is 1 outside of training.

    num_fcn_convs: 3x3 convolutions of `mask_channels` before the size is doubled; they are normalised if `norm_layer`
    is SyncBatchNorm.
    """

    def __init__(
        self, batch_images, classes, mask_channels, num_fcn_convs=0, norm_layer=None, norm_kwargs=None, **kwargs
    ):
        super().__init__(**kwargs)
        self._batch_images, self.classes = batch_images, classes
        norm = [lambda: norm_layer(**(norm_kwargs or {}))] if norm_layer is SyncBatchNorm else []
        with self.name_scope():
            double = partial(nn.Conv2DTranspose, mask_channels, 2, 2, weight_initializer=_init())
            if num_fcn_convs > 0:
                self.deconv = nn.HybridSequential()
                for _ in range(num_fcn_convs):
                    self.deconv.add(nn.Conv2D(mask_channels, 3, padding=1, weight_initializer=_init()))
                    self.deconv.add(*(make() for make in norm), nn.Activation("relu"))
                self.deconv.add(double(), *(make() for make in norm))
            else:
                self.deconv = double()
            self.mask = nn.Conv2D(len(classes), 1, weight_initializer=_init())

    def hybrid_forward(self, F, x):
        x = self.mask(F.relu(self.deconv(x)))
        return F.reshape(x, shape=(-4, self._batch_images if autograd.is_training() else 1, -1, 0, 0, 0))

    def reset_class(self, classes, reuse_weights=None):
        """Gives the head other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        self._clear_cached_op()
        mapping = class_map(self.classes, classes, reuse_weights)
        self.classes = classes
        old, weight = self.mask, self.mask.weight
        with self.name_scope():
            width = weight.shape[1] if weight.shape else 0
            new = nn.Conv2D(len(classes), 1, weight_initializer=_init(), in_channels=width, prefix=old.prefix)
            self.mask = replace_layer(old, new, mapping)


class MaskRCNN(FasterRCNN):
    """Output as that of `FasterRCNN`, of the best `rcnn_max_dets` alone and by falling score;
    then masks (1, N, 2 h, 2 w).

    In training masks (B, positive, classes, 2 h, 2 w) before the sigmoid come third. target_roi_scale: size of the
    masks that are taught over that of regions. mask_channels, num_fcn_convs, norm_layer, norm_kwargs: of `Mask`.

    >>> net = gluoncv.model_zoo.get_model("mask_rcnn_resnet18_v1b_coco", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.MaskRCNN)
    True
    >>> len(net.collect_params())
    115
    """

    def __init__(
        self, features, top_features, classes, mask_channels=256, rcnn_max_dets=1000, rpn_test_pre_nms=6000,
        rpn_test_post_nms=1000, target_roi_scale=1, num_fcn_convs=0, norm_layer=None, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(
            features, top_features, classes, rpn_test_pre_nms=rpn_test_pre_nms, rpn_test_post_nms=rpn_test_post_nms,
            additional_output=True, **kwargs,
        )  # fmt: skip
        self._rcnn_max_dets = min(rcnn_max_dets, rpn_test_pre_nms, rpn_test_post_nms)
        self._target_roi_size = tuple(size * target_roi_scale for size in self._roi_size)
        with self.name_scope():
            self.mask = Mask(self._batch_size, classes, mask_channels, num_fcn_convs, norm_layer, norm_kwargs)
            self.mask_target = self._mask_target()

    def _mask_target(self):
        return MaskTargetGenerator(self._batch_size, self._num_sample, self.num_class, self._target_roi_size)

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        super().reset_class(classes, reuse_weights)
        self.mask.reset_class(classes, reuse_weights)
        self.mask_target = self._mask_target()

    def hybrid_forward(self, F, x, gt_box=None, gt_label=None):
        if autograd.is_training():
            cls_pred, box_pred, *others, regions, indices = super().hybrid_forward(F, x, gt_box, gt_label)
            regions = F.reshape(regions, shape=(-4, self._batch_size, -1, 0, 0, 0))
            mask_pred = self.mask(F.reshape(take_rows(F, regions, indices), shape=(-3, 0, 0, 0)))
            return cls_pred, box_pred, mask_pred, *others, indices
        ids, scores, boxes, features = super().hybrid_forward(F, x)
        count = self._rcnn_max_dets
        order = F.argsort(F.squeeze(scores, axis=-1), axis=1, is_ascend=False)
        order = F.slice_axis(order, axis=1, begin=0, end=count)
        ids, scores, boxes = (take_rows(F, part, order) for part in (ids, scores, boxes))
        masks = F.reshape(self.mask(self._region_features(F, features, boxes, 1, count)), shape=(-3, 0, 0, 0))
        own = F.reshape(F.clip(ids, 0, self.num_class), shape=(-3, 0))
        return ids, scores, boxes, F.sigmoid(F.reshape(take_rows(F, masks, own), shape=(1, count, 0, 0)))


def _init():
    return Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
