"""What single shot detectors are taught."""

from core import ndarray as nd
from gluon.block import Block
from gluoncv.nn.bbox import BBoxCenterToCorner
from gluoncv.nn.coder import STDS, MultiClassEncoder, NormalizedBoxCenterEncoder
from gluoncv.nn.matcher import BipartiteMatcher, CompositeMatcher, MaximumMatcher
from gluoncv.nn.sampler import NaiveSampler, OHEMSampler


class SSDTargetGenerator(Block):
    """Classes (B, N), 0 for the background and -1 for what is left out, targets (B, N, 4) of boxes, and their mask.

    iou_thresh: overlap from which on an anchor belongs to a box; the best one of a box does anyway. neg_thresh,
    negative_mining_ratio: those of `OHEMSampler`; a ratio of 0 or less takes all anchors. stds: of the encoder.
    """

    def __init__(self, iou_thresh=0.5, neg_thresh=0.5, negative_mining_ratio=3, stds=STDS, **kwargs):
        super().__init__(**kwargs)
        self._matcher = CompositeMatcher([BipartiteMatcher(share_max=False), MaximumMatcher(iou_thresh)])
        self._use_negative_sampling = negative_mining_ratio > 0
        hard = self._use_negative_sampling
        self._sampler = OHEMSampler(negative_mining_ratio, thresh=neg_thresh) if hard else NaiveSampler()
        self._cls_encoder = MultiClassEncoder()
        self._box_encoder = NormalizedBoxCenterEncoder(stds=stds)
        self._center_to_corner = BBoxCenterToCorner()

    def forward(self, anchors, cls_preds, gt_boxes, gt_ids):
        """anchors (1, N, 4) of centres and sizes; cls_preds (B, N, 1 + classes); gt_boxes (B, M, 4); gt_ids (B, M, 1).

        Rows that pad the truth hold -1. cls_preds is not read without mining.
        """
        anchors = self._center_to_corner(anchors.reshape((1, -1, 4)))
        ious = nd.transpose(nd.contrib.box_iou(anchors.reshape((-1, 4)), gt_boxes), (1, 0, 2))
        matches = self._matcher(ious)
        samples = self._sampler(matches, cls_preds, ious) if self._use_negative_sampling else self._sampler(matches)
        return self._cls_encoder(samples, matches, gt_ids), *self._box_encoder(samples, matches, anchors, gt_boxes)
