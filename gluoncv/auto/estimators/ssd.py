"""Single shot detectors (Liu et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from core import autograd, context, nd
from gluoncv.auto.estimators.base import TRAIN, VALID
from gluoncv.auto.estimators.detection import SizedEstimator
from gluoncv.data.transforms.presets.ssd import SSDDefaultTrainTransform, SSDDefaultValTransform
from gluoncv.loss import SSDMultiBoxLoss
from gluoncv.model_zoo.ssd import sized_ssd

__all__ = ["SSDEstimator"]


class SSDEstimator(SizedEstimator):
    """A single shot detector for classes of the user's.

        found = SSDEstimator({"transfer": None, "pretrained_base": False, "epochs": 20})
        found.fit(train)["valid_map"]
        found.predict("a.jpg")  # [{"predict_class": "cat", "predict_score": 0.9, "predict_rois": {"xmin": ...}}]

    Settings, besides those of training and validation that all estimators have (`base.TRAIN`, `base.VALID`): transfer, a
    detector of the zoo, whose published weights (`pretrained`: or those that `get_model` takes by that) and classes of
    the same names are taken over; with None a detector for pictures of `data_shape` pixels on `backbone`, a MobileNet,
    which begins with published weights if `pretrained_base`, or those that are meant by it. nms_thresh, nms_topk: overlap
    above which the lesser of two boxes is dropped, and boxes that compete. score_thresh: least score of what `predict`
    gives.
    """

    GROUP, VIEW, TARGETS = "ssd", SSDDefaultValTransform, 3
    DEFAULTS: ClassVar = {
        "ssd": {
            "transfer": "ssd_512_resnet50_v1_coco", "pretrained": True, "backbone": "mobilenet1.0", "data_shape": 512,
            "pretrained_base": True, "nms_thresh": 0.45, "nms_topk": 400, "score_thresh": 0.1,
        },
        "train": {**TRAIN, "epochs": 20, "lr": 0.001, "wd": 5e-4},
        "valid": VALID,
    }  # fmt: skip

    @property
    def _size(self) -> int:
        """Sides of the inputs: that of the detector that is taken over, or the setting."""
        name = self._settings["ssd"]["transfer"]
        return self._settings["ssd"]["data_shape"] if name is None else int(name.split("_")[1])

    def _own(self, base):
        return sized_ssd(self._settings["ssd"]["backbone"], self._size, self.classes, pretrained_base=base)

    def _train_view(self):
        with autograd.train_mode():
            anchors = self.net(nd.zeros((1, 3, *self._shape), ctx=self._devices[0]))[2].as_in_context(context.cpu())
        return SSDDefaultTrainTransform(self._size, self._size, anchors)

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        found = [(*self.net(x)[:2], classes, boxes) for x, classes, boxes in parts]
        # Means over what is positive on all devices, so that nothing is left to divide by.
        return [loss.sum() for loss in SSDMultiBoxLoss()(*(list(part) for part in zip(*found, strict=True)))[0]]
