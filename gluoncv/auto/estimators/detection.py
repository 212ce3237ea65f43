"""What detectors have in common: average precision, and what is found in a picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from core import image, initializer, nd
from gluon import data as gluon_data
from gluon.data import DataLoader
from gluoncv.auto.data import ObjectDetectionDataset, is_path
from gluoncv.auto.estimators.base import BaseEstimator
from gluoncv.data.batchify import Pad, Stack, Tuple
from gluoncv.model_zoo import get_model
from gluoncv.utils.metrics import VOCMApMetric

__all__ = ["DetectionEstimator", "SizedEstimator"]


class DetectionEstimator(BaseEstimator):
    """A network that gives classes (B, N, 1), scores (B, N, 1) and corners (B, N, 4) in pixels of its input.

    GROUP: name of the settings of the network, among them `transfer`, a detector of the zoo that is taken over, its
    weights `pretrained`, `nms_thresh`, `nms_topk` and `score_thresh`, the least score of what `predict` gives.
    """

    Dataset = ObjectDetectionDataset
    FIGURE = "valid_map"
    GROUP: ClassVar[str]

    # ------------------------------------------------------------------ what each detector defines

    def _view(self) -> Callable:
        """From a picture (H, W, 3) as uint8 and its boxes (M, 6) to an input (3, height, width), its boxes, and more."""
        raise NotImplementedError

    def _own(self, base: Any):
        """A detector for `self.classes` that takes over none; base: its body's weights, False for none."""
        raise NotImplementedError

    # ------------------------------------------------------------------ measuring and predicting

    def evaluate(self, val_data: gluon_data.Dataset) -> tuple[list[str], list[float]]:
        """(names, average precisions) of each class and, last, of their mean, as VOC has them from 2010 on."""
        self._check_fitted()
        view, valid = self._view(), self._settings["valid"]
        batches = DataLoader(
            val_data.transform(lambda picture, boxes: view(picture, boxes)[:2]), self._test_batch_size,
            batchify_fn=Tuple(Stack(), Pad(pad_val=-1)), num_workers=valid["num_workers"],
        )  # fmt: skip
        metric = VOCMApMetric(class_names=self.classes)
        for data, truth in batches:
            labels, scores, boxes = self._detected(data)
            hard = truth[:, :, 5:6] if truth.shape[2] > 5 else None
            metric.update(boxes, labels, scores, truth[:, :, :4], truth[:, :, 4:5], hard)
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
        data = self._view()(picture, np.zeros((0, 6), "float32"))[0].expand_dims(0)
        labels, scores, boxes = (part[0].asnumpy() for part in self._detected(data))
        boxes = np.clip(self._shares(boxes, data.shape[:1:-1], picture.shape[1::-1]), 0, 1)
        least, shown = self._settings[self.GROUP]["score_thresh"], {"image": str(source)} if is_path(source) else {}
        rows = [
            {
                "predict_class": self.classes[int(label)], "predict_score": float(score),
                "predict_rois": dict(zip(("xmin", "ymin", "xmax", "ymax"), map(float, box), strict=True)), **shown,
            }
            for label, score, box in zip(labels.ravel(), scores.ravel(), boxes, strict=True)
            if label >= 0 and score >= least
        ]  # fmt: skip
        return sorted(rows, key=lambda row: -row["predict_score"])

    def _shares(self, boxes: np.ndarray, size: tuple[int, int], of: tuple[int, int]) -> np.ndarray:
        """Corners (N, 4) in an input of (width, height) pixels as shares of the picture, of such a pair too."""
        return boxes / np.array(size * 2)

    def _detected(self, data: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray, nd.NDArray]:
        """Classes, scores and corners, which lie in the input."""
        labels, scores, boxes = self.net(data.as_in_context(self._devices[0]))[:3]
        ends = nd.array([data.shape[3], data.shape[2]] * 2, ctx=self._devices[0]).reshape((1, 1, 4))
        return labels, scores, nd.broadcast_minimum(nd.maximum(boxes, 0), ends)

    @property
    def _test_batch_size(self) -> int:
        return self._settings["valid"]["batch_size"]

    # ------------------------------------------------------------------ the network

    def _figure(self, measured):
        return measured[1][-1]

    def _network(self, restored):
        model = self._settings[self.GROUP]
        if model["transfer"] is None:
            net = self._own(False if restored else model["pretrained_base"])
        else:
            weights = False if restored else model["pretrained"]
            net = get_model(model["transfer"], pretrained=weights, pretrained_base=False, **self._keywords)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "parameter .* is initialized already")
            net.initialize(initializer.Xavier())
        if model["transfer"] is not None:
            self._run(net)  # shapes are known before layers are replaced
            net.reset_class(self.classes, reuse_weights=[name for name in self.classes if name in net.classes])
        net.collect_params().reset_ctx(self._devices)
        net.set_nms(nms_thresh=model["nms_thresh"], nms_topk=model["nms_topk"])
        self._run(net, self._devices[0])
        return net

    def _run(self, net, device=None) -> None:
        """Calls the network on an empty picture, so that all shapes are known."""
        net(nd.zeros((1, 3, *self._shape), ctx=device))

    @property
    def _keywords(self) -> dict[str, Any]:
        """What the zoo is told of a detector besides."""
        return {}

    @property
    def _shape(self) -> tuple[int, int]:
        """Height and width of an input."""
        raise NotImplementedError


class SizedEstimator(DetectionEstimator):
    """A detector whose inputs all have the sides of the setting `data_shape`, and what trains it in batches."""

    VIEW: ClassVar[Callable]  # of width and height
    TARGETS: ClassVar[int]  # arrays of a sample to train on that have one shape; boxes (M, N) may follow

    @property
    def _size(self) -> int:
        return self._settings[self.GROUP]["data_shape"]

    @property
    def _shape(self):
        return self._size, self._size

    def _view(self):
        return type(self).VIEW(self._size, self._size)

    def _network(self, restored):
        net = super()._network(restored)
        net.hybridize()
        return net

    def _train_batches(self, data):
        train = self._settings["train"]
        last = "discard" if len(data) >= train["batch_size"] else "keep"
        return DataLoader(
            data.transform(self._train_view()), train["batch_size"], shuffle=True, last_batch=last,
            batchify_fn=self._batchify(), num_workers=train["num_workers"],
        )  # fmt: skip

    def _train_view(self) -> Callable:
        """From a picture and its boxes to what `_losses` takes."""
        raise NotImplementedError

    def _batchify(self) -> Callable:
        return Tuple(*[Stack() for _ in range(self.TARGETS)])
