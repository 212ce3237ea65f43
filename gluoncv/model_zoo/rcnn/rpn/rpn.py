"""Region proposal networks (Ren et al., 2015)."""

import numpy as np

from core import autograd
from core.initializer import Normal
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.nn.bbox import BBoxClipToImage
from gluoncv.nn.coder import NormalizedBoxCenterDecoder


class RPN(HybridBlock):
    """Input: a picture (B, 3, H, W), for its size alone, and maps; output: scores (B, N, 1) and corners (B, N, 4).

    In training also what the proposals come from: scores before the sigmoid (B, A, 1), offsets (B, A, 4), and anchors
    (1, A, 4), which are a list with one element a map if there are several.

    channels: of the layer before the predictors. strides: pixels a place. base_size, scales, ratios: of anchors; there
    are lists of strides and scales, with one element a map, if `multi_level`. alloc_size: height and width of the
    largest map.
    clip: see `NormalizedBoxCenterDecoder`. nms_thresh: overlap above which the lesser proposal is dropped;
    train_pre_nms, test_pre_nms: proposals that compete, for each map by itself if `per_level_nms`; train_post_nms,
    test_post_nms: proposals given. min_size: the least width and height of a proposal, in pixels.
    """

    def __init__(
        self, channels, strides, base_size, scales, ratios, alloc_size, clip, nms_thresh, train_pre_nms, train_post_nms,
        test_pre_nms, test_post_nms, min_size, multi_level=False, per_level_nms=False, minimal_opset=False, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        self._nms_thresh, self._multi_level, self._per_level_nms = nms_thresh, multi_level, per_level_nms
        self._train_pre_nms, self._train_post_nms = max(1, train_pre_nms), max(1, train_post_nms)
        self._test_pre_nms, self._test_post_nms = max(1, test_pre_nms), max(1, test_post_nms)
        with self.name_scope():
            if multi_level:
                self.anchor_generator = nn.HybridSequential()
                size = alloc_size
                for stride, scale in zip(strides, scales, strict=True):
                    self.anchor_generator.add(RPNAnchorGenerator(stride, base_size, ratios, scale, size))
                    size = (max(size[0] // 2, 16),) * 2
                self.rpn_head = RPNHead(channels, self.anchor_generator[0].num_depth)
            else:
                self.anchor_generator = RPNAnchorGenerator(strides, base_size, ratios, scales, alloc_size)
                _add_head(self, channels, self.anchor_generator.num_depth)
            self.region_proposer = RPNProposal(clip, min_size, stds=(1.0, 1.0, 1.0, 1.0), minimal_opset=minimal_opset)

    def get_test_post_nms(self):
        """The number of proposals outside of training."""
        return self._test_post_nms

    def hybrid_forward(self, F, img, *x):
        training = autograd.is_training()
        pre_nms = self._train_pre_nms if training else self._test_pre_nms
        post_nms = self._train_post_nms if training else self._test_post_nms
        head, generators = (
            (self.rpn_head, self.anchor_generator) if self._multi_level else (None, [self.anchor_generator])
        )
        anchors, proposals, scores, offsets = [], [], [], []
        for feature, generator in zip(x, generators, strict=self._multi_level):
            anchors.append(generator(feature))
            score, offset, raw_score, raw_offset = head(feature) if head else _predict(F, self, feature)
            scores.append(raw_score)
            offsets.append(raw_offset)
            proposal = self.region_proposer(anchors[-1], score, offset, img)
            if self._multi_level and self._per_level_nms:
                with autograd.pause():
                    proposal = self._suppress(F, proposal, self._nms_thresh, pre_nms // len(x), force_suppress=False)
            proposals.append(proposal)
        with autograd.pause():
            every = F.concat(*proposals, dim=1)
            if self._multi_level and self._per_level_nms:
                # Sorted, but not suppressed again.
                every = self._suppress(F, every, 2.0, pre_nms + 1)
            else:
                every = self._suppress(F, every, self._nms_thresh, pre_nms)
            best = F.slice_axis(every, axis=1, begin=0, end=post_nms)
            rois = F.slice_axis(best, axis=-1, begin=0, end=1), F.slice_axis(best, axis=-1, begin=1, end=None)
        if not training:
            return rois
        raw = F.concat(*scores, dim=1), F.concat(*offsets, dim=1)
        return *rois, *raw, anchors if self._multi_level else anchors[0]

    @staticmethod
    def _suppress(F, proposals, thresh, topk, force_suppress=True):
        return F.contrib.box_nms(
            proposals, overlap_thresh=thresh, topk=topk, coord_start=1, score_index=0, id_index=-1,
            force_suppress=force_suppress,
        )  # fmt: skip


class RPNHead(HybridBlock):
    """The predictors on a map: scores after and before the sigmoid, the first without gradient; offsets likewise."""

    def __init__(self, channels, anchor_depth, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            _add_head(self, channels, anchor_depth)

    def hybrid_forward(self, F, x):
        score, offset, raw_score, raw_offset = _predict(F, self, x)
        return score, offset, raw_score, raw_offset


def _add_head(block, channels, anchor_depth):
    init = Normal(0.01)
    block.conv1 = nn.HybridSequential()
    block.conv1.add(nn.Conv2D(channels, 3, 1, 1, weight_initializer=init), nn.Activation("relu"))
    block.score = nn.Conv2D(anchor_depth, 1, weight_initializer=init)
    block.loc = nn.Conv2D(anchor_depth * 4, 1, weight_initializer=init)


def _predict(F, block, x):
    x = block.conv1(x)
    scores, offsets = (
        F.reshape(F.transpose(layer(x), axes=(0, 2, 3, 1)), shape=(0, -1, width))
        for layer, width in ((block.score, 1), (block.loc, 4))
    )
    return F.sigmoid(F.stop_gradient(scores)), F.stop_gradient(offsets), scores, offsets


class RPNProposal(HybridBlock):
    """Scores and corners (B, A, 5) of anchors (1, A, 4) that moved and were clipped to the picture; small ones -1."""

    def __init__(self, clip, min_size, stds, minimal_opset=False):
        super().__init__()
        self._box_decoder = NormalizedBoxCenterDecoder(stds=stds, clip=clip, convert_anchor=True)
        self._clipper = BBoxClipToImage()
        self._min_size = min_size

    def hybrid_forward(self, F, anchor, score, bbox_pred, img):
        with autograd.pause():
            roi = self._clipper(self._box_decoder(bbox_pred, anchor), img)
            left, top, right, bottom = F.split(roi, axis=-1, num_outputs=4)
            small = (right - left + 1.0 < self._min_size) + (bottom - top + 1.0 < self._min_size)
            score = F.where(small, F.ones_like(small) * -1, score)
            small = F.broadcast_axis(small, axis=2, size=4)
            return F.concat(score, F.where(small, F.ones_like(small) * -1, roi), dim=-1)


class RPNAnchorGenerator(HybridBlock):
    """Corners (1, A, 4) of the anchors, in pixels, for a map (B, C, H, W).

    scales: of `base_size`; ratios: of height to width; alloc_size: height and width of the largest map.
    """

    def __init__(self, stride, base_size, ratios, scales, alloc_size, **kwargs):
        super().__init__(**kwargs)
        scales = scales if isinstance(scales, (list, tuple)) else [scales]
        base = generate_base_anchors(stride, [scale * base_size for scale in scales], ratios)
        self.num_depth = len(base)
        height, width = alloc_size
        x, y = np.meshgrid(np.arange(width) * stride, np.arange(height) * stride)
        anchors = base + np.stack([x, y, x, y], axis=-1)[:, :, None]
        self.anchors = self.params.get_constant("anchor_", anchors.reshape(1, 1, height, width, -1).astype("float32"))

    def hybrid_forward(self, F, x, anchors):
        return F.reshape(F.slice_like(anchors, x, axes=(2, 3)), shape=(1, -1, 4))


def generate_base_anchors(stride=16, sizes=(32, 64, 128, 256, 512), aspect_ratios=(0.5, 1, 2)):
    """Corners (ratios x sizes, 4) around the middle of the first position; right and bottom belong to the anchor.

    Widths and heights of a place's area in each ratio are rounded before they are scaled to the sizes.
    """
    ratios = np.array(aspect_ratios, dtype=float)
    widths = np.round(np.sqrt(stride * stride / ratios))
    heights = np.round(widths * ratios)
    shapes = np.stack([widths, heights], axis=1)[:, None] * (np.array(sizes, dtype=float) / stride)[:, None]
    half = 0.5 * (shapes.reshape(-1, 2) - 1)
    middle = 0.5 * (stride - 1)
    return np.hstack([middle - half, middle + half])
