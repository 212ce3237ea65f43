"""Faster R-CNN (Ren et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from core import nd
from gluon.data import DataLoader
from gluon.loss import HuberLoss, SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss
from gluoncv.auto.estimators.base import TRAIN, VALID
from gluoncv.auto.estimators.detection import DetectionEstimator
from gluoncv.data.batchify import FasterRCNNTrainBatchify
from gluoncv.data.transforms.presets.rcnn import FasterRCNNDefaultTrainTransform, FasterRCNNDefaultValTransform
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.rcnn.losses import RegionLosses

__all__ = ["FasterRCNNEstimator"]


class FasterRCNNEstimator(DetectionEstimator):
    """Faster R-CNN for classes of the user's.

        found = FasterRCNNEstimator({"transfer": "faster_rcnn_resnet50_v1b_voc", "epochs": 5})
        found.fit(train)["valid_map"]

    Settings are those of `SSDEstimator`, in the group "faster_rcnn": `transfer` is a detector faster_rcnn_...; with None
    one on a pyramid of `backbone` is made, `custom_faster_rcnn_fpn` of the zoo, which takes the keywords `options`, too.
    Pictures keep their aspect: the short side has `image_short` pixels, the long one `image_max_size` at most. batch_size
    of training is that of each device; one of tests has one picture.
    """

    GROUP = "faster_rcnn"
    DEFAULTS: ClassVar = {
        "faster_rcnn": {
            "transfer": "faster_rcnn_resnet50_v1b_coco", "pretrained": True, "backbone": "resnet50_v1b",
            "pretrained_base": True, "image_short": 600, "image_max_size": 1000, "options": {},
            "nms_thresh": 0.3, "nms_topk": 400, "score_thresh": 0.1,
        },
        "train": {**TRAIN, "batch_size": 1, "epochs": 20, "lr": 0.001, "wd": 5e-4},
        "valid": VALID,
    }  # fmt: skip

    def _own(self, base):
        model = self._settings["faster_rcnn"]
        levels = {"min_stage": 2, "max_stage": 6, "strides": (4, 8, 16, 32, 64), "scales": (2, 4, 8, 16, 32)}
        options = {**levels, "rpn_channel": 256, "rpn_min_size": 1, "roi_size": (7, 7), **model["options"]}
        return get_model(
            "custom_faster_rcnn_fpn", classes=self.classes, base_network_name=model["backbone"], pretrained_base=base,
            **self._keywords, **options,
        )  # fmt: skip

    @property
    def _keywords(self):
        return {"per_device_batch_size": self._settings["train"]["batch_size"]}

    @property
    def _shape(self):
        return (self._settings["faster_rcnn"]["image_short"],) * 2

    @property
    def _test_batch_size(self):
        return 1  # pictures have sizes of their own

    def _view(self):
        return FasterRCNNDefaultValTransform(*self._sides)

    @property
    def _sides(self) -> tuple[int, int]:
        model = self._settings["faster_rcnn"]
        return model["image_short"], model["image_max_size"]

    def _trained(self):
        return self.net.collect_train_params()

    def _train_batches(self, data):
        train, net = self._settings["train"], self.net
        batch_size = train["batch_size"] * len(self._devices)
        if len(data) < batch_size:
            raise ValueError(f"a batch has {batch_size} pictures, train_data only {len(data)}: lower batch_size")
        view = FasterRCNNDefaultTrainTransform(*self._sides, net, ashape=net.ashape, multi_stage=net.num_stages > 1)
        return DataLoader(
            data.transform(view), batch_size, shuffle=True, last_batch="rollover", num_workers=train["num_workers"],
            batchify_fn=FasterRCNNTrainBatchify(net, num_shards=len(self._devices)),
        )  # fmt: skip

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        losses = RegionLosses(
            self.net, SigmoidBinaryCrossEntropyLoss(from_sigmoid=False), HuberLoss(rho=1 / 9),
            SoftmaxCrossEntropyLoss(), HuberLoss(),
        )  # fmt: skip
        pictures = sum(x.shape[0] for x, *_ in parts)
        return [sum(loss.sum() for loss in losses(*given)[0].values()) / pictures for given in parts]
