"""CenterNet (Zhou, Wang and Kraehenbuehl, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from core import nd
from gluoncv.auto.estimators.base import TRAIN, VALID
from gluoncv.auto.estimators.detection import SizedEstimator
from gluoncv.data.transforms.presets.center_net import CenterNetDefaultTrainTransform, CenterNetDefaultValTransform
from gluoncv.loss import HeatmapFocalLoss, MaskedL1Loss
from gluoncv.model_zoo import get_model

__all__ = ["CenterNetEstimator"]


class CenterNetEstimator(SizedEstimator):
    """CenterNet for classes of the user's.

        found = CenterNetEstimator({"transfer": None, "backbone": "resnet18_v1b", "pretrained_base": False})
        found.fit(train)["valid_map"]

    Settings are those of `SSDEstimator`, in the group "center_net": `transfer` is a detector center_net_..., `backbone`
    one of their bodies, `data_shape` a multiple of 32; wh_weight and center_reg_weight are the weights of the losses of
    sizes and of centres. It is trained by Adam.
    """

    GROUP, VIEW, TARGETS, OPTIMIZER = "center_net", CenterNetDefaultValTransform, 6, "adam"
    DEFAULTS: ClassVar = {
        "center_net": {
            "transfer": "center_net_resnet50_v1b_coco", "pretrained": True, "backbone": "resnet50_v1b",
            "data_shape": 512, "pretrained_base": True, "nms_thresh": 0.0, "nms_topk": 400, "score_thresh": 0.1,
            "wh_weight": 0.1, "center_reg_weight": 1.0,
        },
        "train": {**TRAIN, "epochs": 20, "lr": 1.25e-4},
        "valid": VALID,
    }  # fmt: skip

    def _own(self, base):
        net = get_model(f"center_net_{self._settings['center_net']['backbone']}_voc", pretrained_base=base)
        net.reset_class(self.classes)
        return net

    def _shares(self, boxes, size, of):
        # The picture lies in the middle of a square.
        return ((boxes / size[0] - 0.5) * max(of) + np.array(of * 2) / 2) / np.array(of * 2)

    def _train_view(self):
        view = CenterNetDefaultTrainTransform(self._size, self._size, len(self.classes), self.net.scale)
        view._data_rng = np.random  # which `fit` seeds
        return view

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        model, found = self._settings["center_net"], []
        objects, sizes = HeatmapFocalLoss(from_logits=True), MaskedL1Loss(weight=model["wh_weight"])
        offsets = MaskedL1Loss(weight=model["center_reg_weight"])
        for x, heat, size, sized, offset, moved in parts:
            maps = self.net(x)
            loss = objects(maps[0], heat) + sizes(maps[1], size, sized) + offsets(maps[2], offset, moved)
            found.append(loss.sum() / len(parts))
        return found
