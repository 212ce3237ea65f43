"""Single shot detectors (Liu et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from core import autograd, context, image, initializer, nd
from gluon.data import DataLoader, Dataset
from gluoncv.auto.data import is_path
from gluoncv.auto.estimators.base import TRAIN, VALID, BaseEstimator
from gluoncv.data.batchify import Pad, Stack, Tuple
from gluoncv.data.transforms.presets.common import MEAN, STD
from gluoncv.data.transforms.presets.ssd import SSDDefaultTrainTransform, SSDDefaultValTransform
from gluoncv.loss import SSDMultiBoxLoss
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.ssd import sized_ssd
from gluoncv.utils.metrics import VOCMApMetric

__all__ = ["SSDEstimator"]


class SSDEstimator(BaseEstimator):
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

    FIGURE = "valid_map"
    DEFAULTS: ClassVar = {
        "ssd": {
            "transfer": "ssd_512_resnet50_v1_coco", "pretrained": True, "backbone": "mobilenet1.0", "data_shape": 512,
            "pretrained_base": True, "nms_thresh": 0.45, "nms_topk": 400, "score_thresh": 0.1,
        },
        "train": {**TRAIN, "epochs": 20, "lr": 0.001, "wd": 5e-4},
        "valid": VALID,
    }  # fmt: skip

    def evaluate(self, val_data: Dataset) -> tuple[list[str], list[float]]:
        """(names, average precisions) of each class and, last, of their mean, as VOC has them from 2010 on."""
        self._check_fitted()
        valid, size = self._settings["valid"], self._size
        batches = DataLoader(
            val_data.transform(SSDDefaultValTransform(size, size)), valid["batch_size"],
            batchify_fn=Tuple(Stack(), Pad(pad_val=-1)), num_workers=valid["num_workers"],
        )  # fmt: skip
        metric = VOCMApMetric(class_names=self.classes)
        for data, truth in batches:
            labels, scores, boxes = self.net(data.as_in_context(self._devices[0]))
            hard = truth[:, :, 5:6] if truth.shape[2] > 5 else None
            metric.update(nd.clip(boxes, 0, size), labels, scores, truth[:, :, :4], truth[:, :, 4:5], hard)
        names, figures = metric.get()
        # No class has boxes that must be found: nothing can be said.
        return names, [float(value) for value in np.nan_to_num(figures)]

    def predict(self, x) -> list[dict[str, Any]] | list[list[dict[str, Any]]]:
        """What is found in a picture, the surest first; lists for several pictures.

        x: the path of a picture, a picture (H, W, 3) as uint8, or a list of either. Each is "predict_class",
        "predict_score", "predict_rois", shares of width and height ("xmin", "ymin", "xmax", "ymax"), and for a path
        "image".
        """
        self._check_fitted()
        if is_path(x) or isinstance(x, (nd.NDArray, np.ndarray)):
            return self._found(x)
        return [self._found(source) for source in x]

    def _found(self, source) -> list[dict[str, Any]]:
        picture = image.imread(str(source), 1) if is_path(source) else nd.array(source, dtype="uint8")
        size = self._size
        x = nd.image.to_tensor(image.imresize(picture, size, size))
        x = nd.image.normalize(x, mean=MEAN, std=STD).expand_dims(0)
        labels, scores, boxes = (part[0].asnumpy() for part in self.net(x.as_in_context(self._devices[0])))
        boxes = np.clip(boxes / size, 0, 1)
        least, shown = self._settings["ssd"]["score_thresh"], {"image": str(source)} if is_path(source) else {}
        return [
            {
                "predict_class": self.classes[int(label)], "predict_score": float(score),
                "predict_rois": dict(zip(("xmin", "ymin", "xmax", "ymax"), map(float, box), strict=True)), **shown,
            }
            for label, score, box in zip(labels.ravel(), scores.ravel(), boxes, strict=True)
            if label >= 0 and score >= least
        ]  # fmt: skip

    # ------------------------------------------------------------------ the parts of training

    def _figure(self, measured):
        return measured[1][-1]

    @property
    def _size(self) -> int:
        """Sides of the inputs: that of the detector that is taken over, or the setting."""
        name = self._settings["ssd"]["transfer"]
        return self._settings["ssd"]["data_shape"] if name is None else int(name.split("_")[1])

    def _network(self, restored):
        model, size = self._settings["ssd"], self._size
        if model["transfer"] is None:
            base = False if restored else model["pretrained_base"]
            net = sized_ssd(model["backbone"], size, self.classes, pretrained_base=base)
            net.initialize(initializer.Xavier(), ctx=self._devices)
            net.collect_params().reset_ctx(self._devices)
        else:
            weights = False if restored else model["pretrained"]
            net = get_model(model["transfer"], pretrained=weights, pretrained_base=False)
            net.initialize(initializer.Xavier())
            net(nd.zeros((1, 3, size, size)))
            net.reset_class(self.classes, reuse_weights=[name for name in self.classes if name in net.classes])
            net.collect_params().reset_ctx(self._devices)
        net.set_nms(nms_thresh=model["nms_thresh"], nms_topk=model["nms_topk"])
        net(nd.zeros((1, 3, size, size), ctx=self._devices[0]))
        net.hybridize()
        return net

    def _train_batches(self, data):
        train, size = self._settings["train"], self._size
        with autograd.train_mode():
            anchors = self.net(nd.zeros((1, 3, size, size), ctx=self._devices[0]))[2].as_in_context(context.cpu())
        last = "discard" if len(data) >= train["batch_size"] else "keep"
        return DataLoader(
            data.transform(SSDDefaultTrainTransform(size, size, anchors)), train["batch_size"], shuffle=True,
            last_batch=last, batchify_fn=Tuple(Stack(), Stack(), Stack()), num_workers=train["num_workers"],
        )  # fmt: skip

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        found = [(*self.net(x)[:2], classes, boxes) for x, classes, boxes in parts]
        # Means over what is positive on all devices, so that nothing is left to divide by.
        return [loss.sum() for loss in SSDMultiBoxLoss()(*(list(part) for part in zip(*found, strict=True)))[0]]
