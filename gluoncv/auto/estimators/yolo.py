"""YOLOv3 (Redmon and Farhadi, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from core import nd
from gluoncv.auto.estimators.base import TRAIN, VALID
from gluoncv.auto.estimators.detection import SizedEstimator
from gluoncv.data.batchify import Pad, Stack, Tuple
from gluoncv.data.transforms.presets.yolo import YOLO3DefaultTrainTransform, YOLO3DefaultValTransform
from gluoncv.model_zoo import get_model

__all__ = ["YOLOv3Estimator"]


class YOLOv3Estimator(SizedEstimator):
    """YOLOv3 for classes of the user's.

        found = YOLOv3Estimator({"transfer": None, "backbone": "mobilenet0.25", "pretrained_base": False})
        found.fit(train)["valid_map"]

    Settings are those of `SSDEstimator`, in the group "yolo3": `transfer` is a detector yolo3_..., `backbone` darknet53,
    mobilenet1.0 or mobilenet0.25, and `data_shape` a multiple of 32.
    """

    GROUP, VIEW, TARGETS = "yolo3", YOLO3DefaultValTransform, 6
    DEFAULTS: ClassVar = {
        "yolo3": {
            "transfer": "yolo3_darknet53_coco", "pretrained": True, "backbone": "darknet53", "data_shape": 416,
            "pretrained_base": True, "nms_thresh": 0.45, "nms_topk": 400, "score_thresh": 0.1,
        },
        "train": {**TRAIN, "epochs": 20, "lr": 0.001, "wd": 5e-4},
        "valid": VALID,
    }  # fmt: skip

    def _own(self, base):
        return get_model(
            f"yolo3_{self._settings['yolo3']['backbone']}_custom", classes=self.classes, pretrained_base=base
        )

    def _train_view(self):
        return YOLO3DefaultTrainTransform(self._size, self._size, self.net)

    def _batchify(self):
        return Tuple(*[Stack() for _ in range(self.TARGETS)], Pad(pad_val=-1))

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        pictures = sum(x.shape[0] for x, *_ in parts)
        return [sum(self.net(x, boxes, *targets)).sum() / pictures for x, *targets, boxes in parts]
